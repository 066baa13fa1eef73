#!/bin/sh
# install.sh BUILD SOURCE CC CXX GENERATOR - installs into a scratch folder and builds an outside program
# from there, in C and C++, shared and static, with pkg-config and with find_package(rapt).
set -eu
build=$1 source=$2 cc=$3 cxx=$4 generator=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix

cmake --install "$build" --prefix "$prefix" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
libdir=$(dirname "$(find "$prefix" -name librapt.a)")
for file in librapt.so pkgconfig/rapt.pc cmake/rapt/raptConfig.cmake; do
    [ -e "$libdir/$file" ] || { echo "$file was not installed"; exit 1; }
done

# find_package, all four at once
cmake -G "$generator" -S "$source/outside" -B "$scratch/outside" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release >"$scratch/log" &&
    cmake --build "$scratch/outside" >>"$scratch/log" || { cat "$scratch/log"; exit 1; }
(cd "$scratch/outside" && ctest --output-on-failure --no-tests=error)

if ! command -v pkg-config >/dev/null; then
    echo "skipped: install/install, with pkg-config: pkg-config is not installed"
    exit 77
fi
export PKG_CONFIG_PATH="$libdir/pkgconfig"

# outside kind: builds and runs the program in C and in C++ with the flags rapt.pc gives
outside() {
    option=$1
    $cc -std=c11 "$source/outside/outside.c" -o "$scratch/in_c" \
        $(pkg-config $option --cflags --libs rapt) -lm
    $cxx -std=c++11 "$source/outside/outside.cpp" -o "$scratch/in_cpp" \
        $(pkg-config $option --cflags --libs rapt) -lm
    for program in in_c in_cpp; do
        echo "$program ${option:---shared}: $(LD_LIBRARY_PATH=$libdir "$scratch/$program")"
        uses=$(readelf -d "$scratch/$program" | grep -c 'NEEDED.*librapt\.so\.0' || :)
        [ "$uses" = "$2" ] || { echo "$program: linked with the wrong library"; exit 1; }
    done
}
version=$(pkg-config --modversion rapt)
echo "rapt.pc: version $version"
outside "" 1
rm "$libdir"/librapt.so*
outside --static 0
