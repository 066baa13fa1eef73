#!/bin/sh
# run.sh [MODE] [ARGUMENT OF CTEST]... - installs what is missing, builds, and runs tests; the exit status is
# the verdict. For example: sh tests/run.sh -R kernel/
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/apps/packages.sh"

# Packages beyond build_packages. The plain run makes do with little and says what it skips; --all installs the rest.
light="libcmocka-dev libopenblas-openmp-dev locales python3/python3" # locales: what localedef reads
rules="g++/g++ pkgconf/pkg-config binutils/objdump clang-format-14/clang-format-14 qemu-user/qemu-aarch64"
judges="sentencepiece/spm_encode libxml2-utils/xmllint zsh/zsh fish/fish"
analyzers="valgrind/valgrind cppcheck/cppcheck clang-14/clang-14 clang-tidy-14/clang-tidy-14"
arm64="gcc-aarch64-linux-gnu/aarch64-linux-gnu-gcc libc6-dev-arm64-cross"
machines="openmpi-bin/mpirun libopenmpi-dev"
engines="python3-venv python3-torch nodejs/node npm/npm" # for tests/exchange/engines.sh
elsewhere="doxygen/doxygen chromium/chromium musl-tools/musl-gcc gcc-11/gcc-11 wine/wine wine64 \
gcc-mingw-w64-x86-64-posix/x86_64-w64-mingw32-gcc-posix"
[ "$(uname -m)" = x86_64 ] || arm64= # elsewhere the processor itself runs what is cross-compiled here
clang="libcmocka-dev clang-14/clang-14 libomp-14-dev libclang-rt-14-dev"

# Options of CMake: everything; without the measuring programs, and hardly optimized; the same by clang.
full="-DRAPT_TESTS=ON -DRAPT_APPS=ON -DRAPT_PERF=ON -DRAPT_WERROR=ON"
slow="-DRAPT_TESTS=ON -DRAPT_APPS=ON -DRAPT_PERF=OFF -DRAPT_WERROR=ON -DCMAKE_BUILD_TYPE=Debug"
by_clang="$slow -DRAPT_OPENBLAS=OFF -DCMAKE_C_COMPILER=clang-14"
alone="-DRAPT_OPENMP=OFF -DRAPT_SLEEF=OFF -DRAPT_UTF8PROC=OFF -DRAPT_ZLIB=OFF" # others' code does not say what it initializes

modes() { # mode | folder | packages | options of CMake | of ctest | what runs
    cat <<END
plain      | build          | $light | $full                                                |            | every test that takes seconds (the default)
--all      | build          | $light $rules $judges $analyzers $arm64 $machines $engines $elsewhere | $full               | -C full    | those, and what takes minutes or many packages
--sanitize | build-sanitize | $light | $slow -DRAPT_SANITIZE=ON                             |            | under AddressSanitizer and UBSan
--threads  | build-tsan     | $clang | $by_clang -DRAPT_THREAD_SANITIZE=ON                  | -L threads | the threaded tests under ThreadSanitizer and Archer
--memory   | build-msan     | $clang | $by_clang -DRAPT_MEMORY_SANITIZE=ON $alone           | -L memory  | the layers of lib/ under MemorySanitizer, in one thread
--coverage | build-coverage | $light | $slow -DRAPT_COVERAGE=ON                             | -LE apps   | all but the programs with gcov; fails below what coverage.py asks
--fuzz     | build-fuzz     |        |                                                      |            | searches with the fuzz targets: --fuzz [SECONDS [NAME...]]
END
}

# A list of packages that has two lines would end its row.
modes | awk -F'|' 'NF != 6 { print "run.sh: no row of six: " $0; wrong = 1 } END { exit wrong }' >&2

unknown() {
    echo "run.sh: $1; --help lists the modes" >&2
    exit 2
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
--all | --sanitize | --threads | --memory | --coverage)
    mode=$1
    shift
    ;;
esac
# ctest takes what it does not know for nothing, and runs all tests.
case ${1--} in
-*) ;;
*) unknown "\"$1\" is no option of ctest, such as -R $1" ;;
esac
for argument; do
    case $argument in
    --all | --sanitize | --threads | --memory | --coverage | --fuzz) unknown "$argument must come first" ;;
    --*) ! command -v ctest >/dev/null || ctest --help | grep -qE -e "(^|[ ,])${argument%%=*}([ ,=<]|\$)" ||
        unknown "\"$argument\" is neither a mode nor an option of ctest" ;;
    esac
done
field() { modes | awk -F'|' -v mode="$mode" -v i="$1" '$1 ~ "^" mode " *$" { gsub(/^ +| +$/, "", $i); print $i }'; }
folder=$root/$(field 2)

# More threads than cores wait for one another here: let them sleep.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}"
# What only the observing builds read. Archer tells ThreadSanitizer what OpenMP's barriers mean.
export ASAN_OPTIONS="${ASAN_OPTIONS-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS-ignore_noninstrumented_modules=1}"
export OMP_TOOL_LIBRARIES="${OMP_TOOL_LIBRARIES-/usr/lib/llvm-14/lib/libarcher.so}"

# Unquoted on purpose: words of the table.
need $build_packages $(field 3)
[ "$mode" != --all ] || sh "$root/tests/exchange/engines.sh" "$folder/engines" || : # tests say what is skipped
configure "$folder" $(field 4)
case $mode/$* in # what ran before counts where only the failures run again
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

# What was left out, and why.
grep -hE '^skipped: ' Testing/Temporary/LastTest.log | sort -u || :
[ "$mode$#" != --all0 ] || sh "$root/tests/fuzz/fuzz.sh" 5 || status=1 # five seconds for each target
[ "$mode" != --coverage ] || python3 -B "$root/tests/coverage.py" "$root" "$folder" || status=1
if [ $status = 0 ]; then
    echo "All tests passed ($mode)."
else
    echo "Tests FAILED ($mode): see above."
fi
exit $status
