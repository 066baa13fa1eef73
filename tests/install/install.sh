#!/bin/sh
# install.sh BUILD SOURCE CC CXX GENERATOR - installs into a scratch folder and builds a program outside the tree with
# it, in C and C++, shared and static, with pkg-config and with find_package(rapt).
set -eu
build=$1 source=$2 cc=$3 cxx=$4 generator=$5
unset TMPDIR # may be in the source, and CMake refuses to install there
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

cmake --install "$build" --prefix "$prefix" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
libdir=$(dirname "$(find "$prefix" -name librapt.a)")
for file in "$libdir"/librapt.so "$libdir"/pkgconfig/rapt.pc "$libdir"/cmake/rapt/raptConfig.cmake \
    "$prefix"/share/doc/rapt/LICENSE "$prefix"/share/doc/rapt/README.md; do
    [ -e "$file" ] || { echo "$file was not installed"; exit 1; }
done
[ -e "$prefix/share/man/man3/rapt_attention_forward.3" ] || ! command -v python3 >/dev/null || {
    echo "no manual page of rapt_attention_forward was installed"
    exit 1
}
find "$prefix/share/doc/rapt" -name '*.md' | while read -r document; do
    grep -o '](\([^)#]*\)' "$document" | cut -c 3- | grep -v '^$\|^https\?:' | sort -u | while read -r link; do
        [ -e "$(dirname "$document")/$link" ] || echo "${document#"$prefix/"}: $link is not installed"
    done
done >"$scratch/dead"
[ ! -s "$scratch/dead" ] || { cat "$scratch/dead"; exit 1; }
if [ -x "$build/bin/toy_translate" ]; then
    "$prefix/bin/toy_translate" --version
    for kind in man:man/man1/toy_translate.1 bash:bash-completion/completions/toy_translate \
        zsh:zsh/site-functions/_toy_translate fish:fish/vendor_completions.d/toy_translate.fish; do
        "$prefix/bin/toy_translate" completion "${kind%%:*}" | cmp - "$prefix/share/${kind#*:}" || exit 1
    done
    for program in lessons glimpse caption; do
        "$prefix/bin/$program" --version || exit 1
    done
fi

# find_package, all four programs at once
cmake -G "$generator" -S "$source/outside" -B "$scratch/outside" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release >"$scratch/log" &&
    cmake --build "$scratch/outside" >>"$scratch/log" || { cat "$scratch/log"; exit 1; }
(cd "$scratch/outside" && ctest --output-on-failure --no-tests=error)

if ! command -v pkg-config >/dev/null; then
    echo "skipped: install/install, with pkg-config: pkg-config is not installed"
    exit 77
fi
export PKG_CONFIG_PATH="$libdir/pkgconfig"

# Absolute folders for libraries and headers, outside the prefix, as some distributions set them.
cmake -G "$generator" -S "$source/../.." -B "$scratch/build" -DCMAKE_C_COMPILER="$cc" -DRAPT_APPS=OFF -DRAPT_TESTS=OFF \
    -DRAPT_PERF=OFF -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR="$scratch/apart/libraries" \
    -DCMAKE_INSTALL_INCLUDEDIR="$scratch/apart/headers" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
mkdir -p "$scratch/apart/libraries/pkgconfig" "$scratch/apart/headers"
cp "$scratch/build/lib/rapt.pc" "$scratch/apart/libraries/pkgconfig"
for variable in includedir:headers libdir:libraries; do
    folder=$(PKG_CONFIG_PATH=$scratch/apart/libraries/pkgconfig pkg-config --variable="${variable%:*}" rapt)
    [ "$(cd "$folder" && pwd -P)" = "$(cd "$scratch/apart/${variable#*:}" && pwd -P)" ] || {
        echo "rapt.pc: ${variable%:*} is $folder"
        exit 1
    }
done

# outside PACKAGE USES: builds and runs the program in C and in C++ with the flags of PACKAGE.pc, and checks that it is
# linked with the shared library (USES is 1) or not (0)
outside() {
    $cc -std=c11 "$source/outside/outside.c" -o "$scratch/in_c" \
        $(pkg-config --cflags --libs "$1") -lm
    $cxx -std=c++11 -x c++ "$source/outside/outside.c" -x none -o "$scratch/in_cpp" \
        $(pkg-config --cflags --libs "$1") -lm
    for program in in_c in_cpp; do
        echo "$program with $1.pc: $(LD_LIBRARY_PATH=$libdir "$scratch/$program")"
        uses=$(readelf -d "$scratch/$program" | grep -c 'NEEDED.*librapt\.so\.0' || :)
        [ "$uses" = "$2" ] || { echo "$program: linked with the wrong library"; exit 1; }
    done
}
version=$(pkg-config --modversion rapt)
echo "rapt.pc: version $version"
outside rapt 1
outside rapt-static 0
[ "$(pkg-config --modversion rapt-static)" = "$version" ]

# Without any shared library. Where the C library or SLEEF lacks an archive, lib/rapt has a fallback.
if echo 'int main(void) { return 0; }' | $cc -static -x c - -o "$scratch/static" 2>"$scratch/log"; then
    $cc -std=c11 -static "$source/outside/outside.c" -o "$scratch/static" $(pkg-config --static --cflags --libs rapt) -lm \
        2>"$scratch/log" || { cat "$scratch/log"; exit 1; } # ld warns of dlopen
    echo "static with rapt.pc: $("$scratch/static")"
    readelf -d "$scratch/static" | grep NEEDED && { echo "a static program needs shared libraries"; exit 1; }
    [ "$("$scratch/static")" = "$(LD_LIBRARY_PATH=$libdir "$scratch/in_c")" ] || { echo "it prints other text"; exit 1; }
else
    echo "skipped: install/install, with -static: the C library has no archive"
fi
