#!/bin/sh
# host.sh ROOT CC GENERATOR [all] - builds and installs a host project that contains the library by add_subdirectory.
# With FetchContent from an archive it is only configured, unless "all" is given.
set -eu
root=$1 cc=$2 generator=$3 all=${4-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

say() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }; }

# host WAY FROM: configures the host in a folder named WAY, with the library from FROM
host() {
    say cmake -G "$generator" -S "$root/tests/install/host" -B "$scratch/$1" -DWAY="$1" -DRAPT="$2" \
        -DCMAKE_C_COMPILER="$cc" -DRAPT_WERROR=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
    grep -q -- '-O[23] .*lib/model/stack\.c' "$scratch/$1/compile_commands.json" ||
        { echo "$1: a host without a build type compiles the library without optimization"; exit 1; }
    echo "$1: configured"
}

# build WAY: builds and runs both programs, and installs the host
build() {
    say cmake --build "$scratch/$1" --parallel 2
    say cmake -E chdir "$scratch/$1" ctest --output-on-failure --no-tests=error
    grep 'tests passed' "$scratch/log"
    say cmake --install "$scratch/$1" --prefix "$scratch/$1/prefix"
    found=$(cd "$scratch/$1/prefix" && find . -type f | sort | tr '\n' ' ')
    [ "$found" = "./bin/host_static ./share/doc/host/README.md " ] || { echo "the host installed: $found"; exit 1; }
    echo "$1: built, ran, installed nothing of rapt"
}

host add_subdirectory "$root"
build add_subdirectory
# With RAPT_INSTALL the host also installs the library, next to its own documents.
say cmake -DRAPT_INSTALL=ON "$scratch/add_subdirectory"
say cmake --build "$scratch/add_subdirectory" --parallel 2
say cmake --install "$scratch/add_subdirectory" --prefix "$scratch/with"
cmp "$root/tests/install/host/CMakeLists.txt" "$scratch/with/share/doc/host/README.md"
grep -q '^# rapt$' "$scratch/with/share/doc/rapt/README.md" || { echo "README.md was not installed"; exit 1; }
find "$scratch/with" -name rapt.pc | grep -q pkgconfig/rapt.pc || { echo "rapt.pc was not installed"; exit 1; }
(cd "$root" && cmake -E tar czf "$scratch/rapt.tar.gz" CMakeLists.txt include lib apps)
host FetchContent "file://$scratch/rapt.tar.gz"
[ "$all" != all ] || build FetchContent
