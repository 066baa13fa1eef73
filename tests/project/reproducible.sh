#!/bin/sh
# reproducible.sh ROOT - builds the same sources in two folders, in different orders, and checks that librapt.so,
# librapt.a and toy_translate have the same bytes, including debugging information.
set -u
root=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# Copies both before building, so that an edit in the meantime affects neither.
for folder in one another/folder; do
    mkdir -p "$scratch/$folder" &&
        cp -r "$root/CMakeLists.txt" "$root/LICENSE" "$root/README.md" "$root/include" "$root/lib" "$root/apps" "$scratch/$folder" || exit 1
done

# build FOLDER JOBS: builds the files to compare.
build() {
    cmake -S "$1" -B "$1/build" -DRAPT_TESTS=OFF -DRAPT_PERF=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo >"$scratch/log" 2>&1 &&
        CCACHE_DISABLE=1 cmake --build "$1/build" --parallel "$2" --target rapt rapt_static toy_translate \
            >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log"; return 1; }
}
build "$scratch/one" 1 && build "$scratch/another/folder" "$(getconf _NPROCESSORS_ONLN)" || exit 1

bad=0
for file in lib/librapt.so lib/librapt.a bin/toy_translate; do
    a=$scratch/one/build/$file b=$scratch/another/folder/build/$file
    cmp "$a" "$b" || bad=1
    # The name of the folder must not appear even if it is the same in both builds.
    ! grep -q "$scratch" "$a" || { echo "$file contains the name of the folder it was built in"; bad=1; }
    echo "$file: $(wc -c <"$a") bytes, $(sha256sum <"$a" | cut -c1-16)"
done
exit $bad
