#!/bin/sh
# run.sh [MODE] [ARGUMENT OF CTEST]... - installs missing packages, builds, and runs tests. The exit status is 0 if all
# tests pass. For example: sh tests/run.sh -R kernel/
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/apps/packages.sh"

# Packages in addition to build_packages. The plain run needs few and reports what it skips; --all installs the rest.
light="libcmocka-dev libopenblas-openmp-dev libedit-dev locales python3/python3" # locales: the files that localedef reads
rules="g++/g++ pkgconf/pkg-config binutils/objdump clang-format-14/clang-format-14 qemu-user/qemu-aarch64"
judges="sentencepiece/spm_encode lintian/lintian libxml2-utils/xmllint zsh/zsh fish/fish"
analyzers="valgrind/valgrind cppcheck/cppcheck clang-14/clang-14 clang-tidy-14/clang-tidy-14"
cross="gcc-aarch64-linux-gnu/aarch64-linux-gnu-gcc libc6-dev-arm64-cross gcc-s390x-linux-gnu/s390x-linux-gnu-gcc \
libc6-dev-s390x-cross gcc-riscv64-linux-gnu/riscv64-linux-gnu-gcc libc6-dev-riscv64-cross"
machines="openmpi-bin/mpirun libopenmpi-dev"
engines="python3-venv python3-torch nodejs/node npm/npm" # for tests/exchange/engines.sh
pages="chromium/chromium clang/clang lld/wasm-ld wasi-libc libclang-rt-dev-wasm32" # of lessons
elsewhere="doxygen/doxygen musl-tools/musl-gcc gcc-11/gcc-11 wine/wine wine64 \
gcc-mingw-w64-x86-64-posix/x86_64-w64-mingw32-gcc-posix"
[ "$(uname -m)" = x86_64 ] || cross= # cross-compiled only on x86-64
clang="libcmocka-dev clang-14/clang-14 libomp-14-dev libclang-rt-14-dev"

# Options of CMake: everything; without perf/ and hardly optimized; the same with clang.
full="-DRAPT_TESTS=ON -DRAPT_APPS=ON -DRAPT_PERF=ON -DRAPT_WERROR=ON"
slow="-DRAPT_TESTS=ON -DRAPT_APPS=ON -DRAPT_PERF=OFF -DRAPT_WERROR=ON -DCMAKE_BUILD_TYPE=Debug"
by_clang="$slow -DRAPT_OPENBLAS=OFF -DCMAKE_C_COMPILER=clang-14"
alone="-DRAPT_OPENMP=OFF -DRAPT_SLEEF=OFF -DRAPT_UTF8PROC=OFF -DRAPT_ZLIB=OFF -DRAPT_ZSTD=OFF -DRAPT_ICU=OFF -DRAPT_LIBEDIT=OFF" # MemorySanitizer does not see what uninstrumented libraries initialize

modes() { # mode | folder | packages | options of CMake | of ctest | what runs
    cat <<END
plain      | build          | $light | $full                                                |            | all tests that take seconds (the default)
--all      | build          | $light $rules $judges $analyzers $cross $machines $engines $pages $elsewhere | $full               | -C full    | also the tests that take minutes or need many packages
--sanitize | build-sanitize | $light | $slow -DRAPT_SANITIZE=ON                             |            | the plain tests under AddressSanitizer and UBSan
--threads  | build-tsan     | $clang | $by_clang -DRAPT_THREAD_SANITIZE=ON                  | -L threads | the threaded tests under ThreadSanitizer and Archer
--memory   | build-msan     | $clang | $by_clang -DRAPT_MEMORY_SANITIZE=ON $alone           | -L memory  | the tests of lib/ under MemorySanitizer, with one thread
--coverage | build-coverage | $light | $slow -DRAPT_COVERAGE=ON                             | -LE apps   | all but the programs with gcov; fails below the minimum in coverage.py
--fuzz     | build-fuzz     |        |                                                      |            | search with the fuzz targets: --fuzz [SECONDS [NAME...]]
--soak     | build          |        |                                                      |            | random calls for hours; fails if memory grows: --soak [SECONDS]
END
}

# A list of packages must not contain a line break, which would end the row.
modes | awk -F'|' 'NF != 6 { print "run.sh: not six columns: " $0; wrong = 1 } END { exit wrong }' >&2

unknown() {
    echo "run.sh: $1; --help lists the modes" >&2
    exit 2
}

# soak [SECONDS [SEEDS]]: builds process/soak and runs it for SECONDS (default: two hours), printing a line per minute.
soak() {
    case ${1-1}${2-1} in
    *[!0-9]*) unknown "--soak: \"$*\" are not numbers of seconds and seeds" ;;
    esac
    need $build_packages libcmocka-dev
    configure "$root/build" $full
    build "$root/build" --target process_soak
    export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}" RAPT_DATA="${RAPT_DATA-$root/../shared/data}"
    exec "$root/build/tests/process_soak" "${1-7200}" "${2-300}"
}

mode=plain
case ${1-} in
--help | -h)
    sed -n '2,3s/^# //p' "$0"
    modes | awk -F'|' '{ print "    " $1 $2 $6 }'
    exit 0
    ;;
--fuzz)
    shift
    exec sh "$root/tests/fuzz/fuzz.sh" "$@"
    ;;
--soak)
    shift
    soak "$@"
    ;;
--all | --sanitize | --threads | --memory | --coverage)
    mode=$1
    shift
    ;;
esac
# ctest ignores unknown arguments and runs all tests.
case ${1--} in
-*) ;;
*) unknown "\"$1\" is neither a mode nor an option of ctest; to run the tests with this name, write -R $1" ;;
esac
for argument; do
    case $argument in
    --all | --sanitize | --threads | --memory | --coverage | --fuzz | --soak) unknown "$argument must come first" ;;
    --*) ! command -v ctest >/dev/null || ctest --help | grep -qE -e "(^|[ ,])${argument%%=*}([ ,=<]|\$)" ||
        unknown "\"$argument\" is neither a mode nor an option of ctest" ;;
    esac
done
field() { modes | awk -F'|' -v mode="$mode" -v i="$1" '$1 ~ "^" mode " *$" { gsub(/^ +| +$/, "", $i); print $i }'; }
folder=$root/$(field 2)

# Tests use more threads than there are cores, so let waiting threads sleep.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}"
# Only sanitizers read these. Archer explains OpenMP's barriers to ThreadSanitizer.
export ASAN_OPTIONS="${ASAN_OPTIONS-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS-ignore_noninstrumented_modules=1}"
export OMP_TOOL_LIBRARIES="${OMP_TOOL_LIBRARIES-/usr/lib/llvm-14/lib/libarcher.so}"

# The fields of the table are unquoted so that they are split into words.
need $build_packages $(field 3)
[ "$mode" != --all ] || sh "$root/tests/exchange/engines.sh" "$folder/engines" || : # tests say what is skipped
configure "$folder" $(field 4)
case $mode/$* in # --rerun-failed adds to the counts of the previous run
--coverage/*--rerun-failed*) ;;
--coverage/*) find "$folder" -name '*.gcda' -delete ;;
esac
build "$folder" || {
    echo "The build FAILED ($mode): see above."
    exit 1
}

status=0
cd "$folder"
ctest --output-on-failure --no-tests=error --parallel "$(nproc)" $(field 5) "$@" || status=$?

# Prints what was skipped, and why.
grep -hE '^skipped: ' Testing/Temporary/LastTest.log | sort -u || :
[ "$mode$#" != --all0 ] || sh "$root/tests/fuzz/fuzz.sh" 5 || status=1 # five seconds per target
[ "$mode" != --coverage ] || python3 -B "$root/tests/coverage.py" "$root" "$folder" || status=1
if [ $status = 0 ]; then
    echo "All tests passed ($mode)."
else
    echo "Tests FAILED ($mode): see above."
fi
exit $status
