#!/bin/sh
# windows.sh ROOT - builds the library for Windows with mingw-w64, with warnings as errors, and runs under wine the
# tests that do not need POSIX, compiled with the replacements cmocka.h and windows.h. Programs of apps/examples,
# linked with the archive and with the DLL, must print the same as elsewhere.
set -eu
root=$1
cc=x86_64-w64-mingw32-gcc-posix
for tool in $cc wine; do
    command -v $tool >/dev/null || { echo "skipped: cross/windows: $tool is not installed"; exit 77; }
done
scratch=$(mktemp -d)
trap 'wineserver -k 2>"$scratch/log"; wineserver -w; rm -rf "$scratch"' EXIT # wine may still be writing to its folder
export WINEPREFIX="$scratch/wine" WINEDEBUG=-all OMP_NUM_THREADS=8 TMPDIR="$scratch"
wine cmd /c exit >"$scratch/log" 2>&1 || { echo "skipped: cross/windows: wine does not start"; exit 77; }

say() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }; }
say cmake -S "$root" -B "$scratch/build" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64 \
    -DCMAKE_C_COMPILER=$cc -DRAPT_WERROR=ON -DRAPT_APPS=OFF -DRAPT_TESTS=OFF -DRAPT_PERF=OFF -DRAPT_SLEEF=OFF \
    -DRAPT_UTF8PROC=OFF -DRAPT_ZLIB=OFF -DRAPT_ZSTD=OFF -DRAPT_ICU=OFF -DCMAKE_INSTALL_PREFIX="$scratch/prefix"
say cmake --build "$scratch/build" --parallel 2
say cmake --install "$scratch/build"
archive="$scratch/prefix/lib/librapt.a -static -lgomp -lm"

# The C library's fma() rounds twice; with -mfma the processor's instruction is used.
compile() {
    $cc -std=c11 -O1 -mfma -ffp-contract=off -Wa,-muse-unaligned-vector-move -D__USE_MINGW_ANSI_STDIO=1 -fopenmp -w \
        -I"$root/tests/cross" -I"$root/include" -I"$root/lib" -I"$root/tests" "$@"
}
mkdir "$scratch/oracle"
for source in "$root"/tests/oracle/*.c; do
    say compile -c "$source" -o "$scratch/oracle/$(basename "$source" .c).o"
done
unpacked="$scratch/unpacked"
unpack() { mkdir -p "$unpacked/$2" && tar -xzf "$1" -C "$unpacked/$2"; }
for seeds in "$root"/tests/fuzz/seeds/*.tar.gz; do
    unpack "$seeds" "fuzz/seeds/$(basename "$seeds" .tar.gz)"
done
unpack "$root/tests/model/files-0.2/files.tar.gz" model/files-0.2
count=0 bad=0
for source in "$root"/tests/base/*.c "$root"/tests/op/*.c "$root"/tests/attention/*.c "$root"/tests/model/*.c \
    "$root"/tests/import/*.c "$root"/tests/generate/*.c "$root"/tests/train/*.c "$root"/tests/translate/*.c \
    "$root"/tests/text/*.c "$root"/tests/format/*.c; do
    name=$(basename "$(dirname "$source")")/$(basename "$source" .c)
    case $name in # need POSIX's file system, processes, or libraries that are missing here
    attention/pages | base/arena | base/struct | format/json | format/paths | model/pages | text/spm_reference) continue ;;
    import/containers | import/firefox_export | import/hf_export) continue ;;
    esac
    compile -include "$root/tests/cross/windows.h" -DRAPT_HAVE_SCALAR -DRAPT_HAVE_AVX2 -DRAPT_HAVE_AVX512 \
        -DRAPT_TESTS_DIR="\"$root/tests\"" -DRAPT_UNPACKED_DIR="\"$unpacked\"" "$source" "$scratch"/oracle/*.o $archive \
        -o "$scratch/test.exe" >"$scratch/log" 2>&1 && (cd "$scratch" && wine test.exe) >>"$scratch/log" 2>&1 ||
        { echo "$name FAILED:" && cat "$scratch/log" && bad=1; }
    count=$((count + 1))
done
[ $count -ge 115 ] || { echo "$count tests, not 115"; exit 1; }
[ $bad = 0 ] && echo "$count programs of tests pass"

cp "$(find "$scratch/prefix" -name 'librapt*.dll')" "$scratch"
for name in libgomp-1 libgcc_s_seh-1 libwinpthread-1; do
    file=$($cc -print-file-name=$name.dll)
    [ -e "$file" ] || file=/usr/x86_64-w64-mingw32/lib/$name.dll
    cp "$file" "$scratch"
done
for name in reverse tagger language_model memory; do
    for libraries in "$archive" "-L$scratch/prefix/lib -lrapt"; do
        say $cc -std=c11 -O2 -I"$scratch/prefix/include" "$root/apps/examples/$name.c" -o "$scratch/$name.exe" $libraries
        (cd "$scratch" && wine $name.exe) 2>"$scratch/log" | tr -d '\r' >"$scratch/out"
        sed -n "/^== $name\$/,/^== /{/^== /!p;}" "$root/tests/install/examples.txt" >"$scratch/wanted"
        diff "$scratch/out" "$scratch/wanted" || { cat "$scratch/log"; bad=1; }
    done
    echo "$name prints the expected output"
done
exit $bad
