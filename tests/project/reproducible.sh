#!/bin/sh
# reproducible.sh ROOT - the same sources built in two folders, in another order, give the same bytes of librapt.so,
# librapt.a and toy_translate, with their debugging information.
set -u
root=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# Copied before anything is built, so that an edit meanwhile is in neither.
for folder in one another/folder; do
    mkdir -p "$scratch/$folder" &&
        cp -r "$root/CMakeLists.txt" "$root/LICENSE" "$root/README.md" "$root/include" "$root/lib" "$root/apps" "$scratch/$folder" || exit 1
done

# build folder jobs: what is compared.
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
    # Names of folders are no better when both builds have the same one.
    ! grep -q "$scratch" "$a" || { echo "$file names the folder it was built in"; bad=1; }
    echo "$file: $(wc -c <"$a") bytes, $(sha256sum <"$a" | cut -c1-16)"
done
exit $bad
