#!/bin/sh
# Compilers, analyzers and clang-format find nothing in the sources; tests/run.sh refuses unknown modes.
# usage: tools.sh CHECK ARGUMENT...
set -u

# analyze TOOL ROOT - checks that a static analyzer (cppcheck, clang-tidy, clang or gcc) finds nothing in lib/ and
# apps/. Where a tool is wrong, a comment in the code silences it and gives the reason.
analyze() {
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
    cmake -D GIT= -D FOLDER="$made" -D OPENMP=OpenMP -D OUT="$made/commit.h" -P apps/kit/generate.cmake || exit 1
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
        echo "analyze: $tool: unknown tool"
        exit 1
        ;;
    esac
}

# format ROOT - checks that clang-format 14 would not change any C file.
format() {
    cd "$1" || exit 1
    format=$(command -v clang-format-14) || {
        echo "skipped: project/format: clang-format-14 is not installed"
        exit 77
    }
    find include lib apps tests perf -name '*.[ch]' -exec "$format" --dry-run -Werror {} +
}

# headers ROOT CC CXX - compiles each public header by itself as C99, C11 and C++11, with warnings as errors.
headers() {
    root=$1 cc=$2 cxx=$3
    flags="-fsyntax-only -pedantic -Wall -Wextra -Werror"
    bad=0
    for header in "$root"/include/rapt/*.h; do
        name=rapt/$(basename "$header")
        for standard in c99 c11; do
            echo "#include <$name>" | $cc -std=$standard $flags -I"$root/include" -Wstrict-prototypes -x c - ||
                { echo "$name: not valid $standard"; bad=1; }
        done
        echo "#include <$name>" | $cxx -std=c++11 $flags -I"$root/include" -x c++ - || { echo "$name: not valid C++11"; bad=1; }
    done
    exit $bad
}

# modes ROOT - checks that tests/run.sh refuses an unknown mode or option before it does anything. Otherwise a
# mistyped --sanitize would run, and pass, the plain tests.
modes() {
    bad=0
    for arguments in --sanitise --memroy "-R kernel/ --sanitize" "kernel/" "--sanitize --all" "--threads kernel/"; do
        # shellcheck disable=SC2086
        said=$(sh "$1/tests/run.sh" $arguments 2>&1)
        status=$?
        [ $status -eq 2 ] && printf %s "$said" | grep -q "^run.sh: .*--help lists the modes$" ||
            { echo "run.sh $arguments: status $status: $said"; bad=1; }
    done
    sh "$1/tests/run.sh" --help | grep -q "^    --sanitize " || { echo "run.sh --help lists no modes"; bad=1; }
    exit $bad
}

"$@"
