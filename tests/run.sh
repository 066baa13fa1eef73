#!/bin/sh
# run.sh - installs what is missing, builds, and runs all tests. The exit status is the verdict.
#   sh tests/run.sh              in build/
#   sh tests/run.sh --all        also what takes many minutes: ctest -C full
#   sh tests/run.sh --sanitize   in build-sanitize/, with AddressSanitizer and UBSan
#   sh tests/run.sh --threads    in build-tsan/, the threaded tests with ThreadSanitizer and Archer
#   sh tests/run.sh --fuzz [SECONDS [NAME...]]   searches with the fuzz targets, SECONDS each; an hour in all
# What follows is handed to ctest, for example: sh tests/run.sh -R kernel/
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/apps/packages.sh"

kind=plain
case ${1-} in
--all) kind=all ;;
--sanitize) kind=sanitize ;;
--threads) kind=threads ;;
--fuzz)
    shift
    exec sh "$root/tests/fuzz/fuzz.sh" "$@"
    ;;
--help | -h)
    sed -n '2,8s/^# //p' "$0"
    exit 0
    ;;
esac
[ $kind = plain ] || shift

test_packages="libcmocka-dev libopenblas-openmp-dev"
project_packages="g++/g++ pkgconf/pkg-config binutils/objdump python3/python3
    clang-format-14/clang-format-14 qemu-user/qemu-aarch64
    gcc-aarch64-linux-gnu/aarch64-linux-gnu-gcc libc6-dev-arm64-cross"
clang_packages="clang-14/clang-14 libomp-14-dev"

# More threads than cores wait for one another here: let them sleep.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}"

case $kind in
plain | all)
    folder=$root/build
    # Elsewhere than on x86-64 the processor itself runs what is cross-compiled here.
    [ "$(uname -m)" = x86_64 ] || project_packages=$(echo $project_packages | sed 's/qemu.*//')
    need $build_packages $test_packages $project_packages
    configure "$folder" -DRAPT_TESTS=ON -DRAPT_APPS=ON -DRAPT_PERF=ON -DRAPT_WERROR=ON
    [ $kind = plain ] || set -- -C full "$@"
    ;;
sanitize)
    folder=$root/build-sanitize
    need $build_packages $test_packages
    export ASAN_OPTIONS="${ASAN_OPTIONS-detect_stack_use_after_return=1:strict_string_checks=1}"
    export UBSAN_OPTIONS="${UBSAN_OPTIONS-print_stacktrace=1}"
    configure "$folder" -DRAPT_SANITIZE=ON -DRAPT_WERROR=ON -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O1 -g"
    ;;
threads)
    folder=$root/build-tsan
    need $build_packages $test_packages $clang_packages
    # Archer tells ThreadSanitizer what OpenMP's barriers mean.
    export OMP_TOOL_LIBRARIES="${OMP_TOOL_LIBRARIES-/usr/lib/llvm-14/lib/libarcher.so}"
    export TSAN_OPTIONS="${TSAN_OPTIONS-ignore_noninstrumented_modules=1}"
    configure "$folder" -DRAPT_THREAD_SANITIZE=ON -DRAPT_OPENBLAS=OFF -DRAPT_WERROR=ON -DCMAKE_C_COMPILER=clang-14 \
        -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O1 -g"
    set -- -L threads "$@"
    ;;
esac
build "$folder" || {
    echo "The build FAILED ($kind): see above."
    exit 1
}

status=0
cd "$folder"
ctest --output-on-failure --no-tests=error --parallel "$(nproc)" "$@" || status=$?

# What was left out, and why.
grep -hE '^skipped: ' Testing/Temporary/LastTest.log | sort -u || :
if [ $status = 0 ]; then
    echo "All tests passed ($kind)."
else
    echo "Tests FAILED ($kind): see above."
fi
exit $status
