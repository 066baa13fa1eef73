#!/bin/sh
# analyze.sh TOOL ROOT - checks that a static analyzer (cppcheck, clang-tidy, clang or gcc) finds nothing in lib/ and
# apps/. Where a tool is wrong, a comment in the code silences it and gives the reason.
set -u
tool=$1
cd "$2" || exit 1
case $tool in
clang*) command=$tool-14 ;;
*) command=$tool ;;
esac
command -v "$command" >/dev/null || { echo "skipped: full/analyze_$tool: $command is not installed"; exit 77; }

# The options of lib/CMakeLists.txt and apps/CMakeLists.txt that determine what is compiled.
made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
cmake -D GIT= -D FOLDER="$made" -D OPENMP=OpenMP -D OUT="$made/commit.h" -P apps/kit/commit.cmake || exit 1
folders="-Iinclude -Ilib -Iapps -I$made"
for folder in toy_translate recurrent caption glimpse; do folders="$folders -Iapps/$folder"; done
flags="-std=c11 -ffp-contract=off -DRAPT_HAVE_SCALAR -DRAPT_HAVE_UTF8PROC -DRAPT_HAVE_ZLIB -DRAPT_HAVE_ZSTD -DRAPT_HAVE_ICU $folders"
kernels='-O3 -DRAPT_ISA=scalar -DRAPT_SIMD_HEADER="simd_scalar.h"'
library=$(find lib -name '*.c' ! -path 'lib/kernel/*' ! -path 'lib/format/windows/*')
programs=$(find apps -name '*.c' ! -path '*/ranks/mpi.c')

# each COMMAND...: runs COMMAND for every file named on standard input, on all processors. Fails if any fails.
each() { xargs -P "$(getconf _NPROCESSORS_ONLN)" -n 1 "$@"; }

case $tool in
cppcheck)
    cppcheck -q -j "$(getconf _NPROCESSORS_ONLN)" --error-exitcode=1 --inline-suppr --std=c11 --language=c \
        --enable=warning,performance,portability --suppress=missingIncludeSystem \
        $folders $library $programs
    ;;
clang-tidy)
    # Functions that are not thread-safe, recursion, products of ints that should be size_t, and common mistakes.
    checks='-*,concurrency-mt-unsafe,misc-no-recursion,bugprone-implicit-widening-of-multiplication-result'
    checks="$checks,bugprone-misplaced-widening-cast,bugprone-suspicious-*"
    checks="$checks,bugprone-assert-side-effect,bugprone-signal-handler,bugprone-too-small-loop-variable,cert-flp30-c"
    checks="$checks,-bugprone-suspicious-include"
    echo $library | tr ' ' '\n' | each sh -c 'clang-tidy-14 --quiet --checks="$1" --warnings-as-errors="*" "$3" -- $2 2>&1 |
        grep -v "warnings generated\|^Suppressed" | grep . && exit 1 || exit 0' sh "$checks" "$flags"
    ;;
clang)
    echo $library $programs | tr ' ' '\n' | each clang-14 --analyze --analyzer-output text -Xclang -analyzer-werror $flags
    ;;
gcc)
    echo $library $programs | tr ' ' '\n' | each gcc -O1 -fanalyzer -Werror $flags -c -o /dev/null
    ;;
*)
    echo "analyze.sh: $tool: unknown tool"
    exit 1
    ;;
esac
