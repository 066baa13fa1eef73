#!/bin/sh
# fuzz.sh [SECONDS [NAME...]] - builds the fuzz targets twice, with AddressSanitizer and UBSan and optimized
# for speed, and searches with each build for half of SECONDS per target (default: an hour for all targets
# together on all processors). Prints the executions. The exit status is 1 if there was a finding.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/apps/packages.sh"
need $build_packages libcmocka-dev clang-14/clang-14 libomp-14-dev libclang-rt-14-dev

options="-DRAPT_FUZZ=ON -DRAPT_PERF=OFF -DRAPT_WERROR=ON -DCMAKE_C_COMPILER=clang-14"
configure "$root/build-fuzz" $options -DRAPT_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O1 -g"
build "$root/build-fuzz" --target rapt_fuzz
configure "$root/build-fuzz-fast" $options "-DCMAKE_C_FLAGS_RELEASE=-O2 -g1"
build "$root/build-fuzz-fast" --target rapt_fuzz

targets=$(ls "$root/build-fuzz/tests" | grep -c '^fuzz_')
seconds=${1:-$((3600 * $(nproc) / targets))}
[ $# -eq 0 ] || shift
status=0
echo "== under sanitizers"
sh "$root/tests/fuzz/search.sh" $((seconds / 2)) "$root/build-fuzz" "$@" || status=1
echo "== fast"
sh "$root/tests/fuzz/search.sh" $((seconds - seconds / 2)) "$root/build-fuzz-fast" "$@" || status=1
exit $status
