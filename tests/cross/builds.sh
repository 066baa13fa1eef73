#!/bin/sh
# builds.sh ROOT COMPILER - builds the library with another compiler, with warnings as errors, and runs a program with
# the shared library and with the archive. COMPILER is one of
#   gcc-11, clang-15, ...
#   musl           musl-gcc; the archive in a statically linked program
#   scalar         for a processor without vector instructions, where training by default measures whether OpenBLAS
#                  is faster
#   plain-linker   cc with a linker that rejects the options of GNU's, as macOS's does
#   arm64-library  the archive in programs for an emulated processor; some of apps/examples must print the same as here
set -eu
root=$1 compiler=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cc=$compiler options= program=$root/tests/install/outside/outside.c linked="shared archive" flags= emulator= examples=

case $compiler in
musl)
    cc=musl-gcc linked=archive flags=-static
    options="-DRAPT_OPENMP=OFF -DRAPT_SLEEF=OFF -DRAPT_UTF8PROC=OFF -DRAPT_ZLIB=OFF -DRAPT_ZSTD=OFF -DRAPT_ICU=OFF -DRAPT_OPENBLAS=OFF"
    ;;
scalar)
    cc=cc linked=shared program=$root/tests/cross/scalar.c
    options="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=unknown"
    ;;
arm64-library)
    cc=aarch64-linux-gnu-gcc linked=archive flags=-static emulator=qemu-aarch64 examples="attention ragged tagger memory"
    options="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DRAPT_SLEEF=OFF -DRAPT_UTF8PROC=OFF -DRAPT_ZLIB=OFF -DRAPT_ZSTD=OFF -DRAPT_ICU=OFF -DRAPT_OPENBLAS=OFF"
    ;;
plain-linker)
    cc=$scratch/cc
    cat >"$cc" <<'END'
#!/bin/sh
for word; do
    case $word in
    -Wl,-z,* | -Wl,--as-needed | -Wl,--no-undefined | -Wl,--exclude-libs*) echo "ld: unknown option: $word" >&2; exit 1 ;;
    esac
done
exec cc "$@"
END
    chmod +x "$cc"
    ! echo 'int main(void) { return 0; }' | "$cc" -x c - -Wl,--as-needed -o "$scratch/it" 2>"$scratch/log" || exit 1
    ;;
esac
for tool in "$cc" $emulator; do
    command -v "$tool" >/dev/null || { echo "skipped: cross/$compiler: $tool is not installed"; exit 77; }
done

say() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }; }
# OpenMP's library for some versions of clang may be missing. Then the library uses one thread.
say cmake -S "$root" -B "$scratch/build" -DCMAKE_C_COMPILER="$cc" -DRAPT_WERROR=ON -DRAPT_APPS=OFF -DRAPT_TESTS=OFF \
    -DRAPT_PERF=OFF -DCMAKE_INSTALL_PREFIX="$scratch/prefix" $options
grep '^-- rapt ' "$scratch/log"
say cmake --build "$scratch/build" --parallel 2
say cmake --install "$scratch/build"
libdir=$(dirname "$(find "$scratch/prefix" -name librapt.a)")
archive=$(sed -n "s|^Libs: [^ ]* |$libdir/librapt.a |p" "$libdir/pkgconfig/rapt-static.pc")

for kind in $linked; do
    libraries="-L$libdir -lrapt"
    [ "$kind" = shared ] || libraries=$archive
    say "$cc" -std=c11 $flags "$program" -o "$scratch/program" -I"$scratch/prefix/include" \
        $libraries -lm
    said=$(LD_LIBRARY_PATH=$libdir $emulator "$scratch/program") || { echo "$compiler, $kind: $said"; exit 1; }
    echo "$compiler, $kind: $said"
done
# For large products OpenBLAS is faster than plain loops.
if [ "$compiler" = scalar ] && ldconfig -p | grep -q libopenblas.so.0; then
    case $said in OpenBLAS:*) ;; *) echo "OpenBLAS was not chosen for any product"; exit 1 ;; esac
fi
for name in $examples; do
    say "$cc" -std=c11 $flags "$root/apps/examples/$name.c" -o "$scratch/program" -I"$scratch/prefix/include" $archive -lm
    $emulator "$scratch/program" >"$scratch/out"
    sed -n "/^== $name\$/,/^== /{/^== /!p;}" "$root/tests/install/examples.txt" >"$scratch/wanted"
    diff "$scratch/out" "$scratch/wanted" || { echo "$compiler: the output of $name differs"; exit 1; }
    echo "$compiler: $name prints the expected output"
done
