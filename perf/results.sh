#!/bin/sh
# Measures everything on this machine and keeps it in perf/results/: a text and a drawing, named
# after the processor. Takes about eight minutes; nothing else should run meanwhile.
# usage: results.sh [--quick]
# BUILD names the build folder [build]; RESULTS where the files go [perf/results].
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build}
results=${RESULTS:-$root/perf/results}
quick=${1:-}
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE OMP_NUM_THREADS # they would distort

cmake -S "$root" -B "$build" >/dev/null # so that the commit is the present one
programs="peak kernel gemm attention train translate scaling"
# shellcheck disable=SC2046,SC2086
cmake --build "$build" --target $(printf 'perf_%s ' $programs) >/dev/null
about=$("$build/bin/perf_peak" --check 2>/dev/null | grep '^# ')
field() {
    printf '%s\n' "$about" | sed -n "s/^# $1: //p"
}
name=$(printf '%s %s %s' "$(field processor)" "$(field isa)" "$(field processors)" |
    tr '[:upper:] @()' '[:lower:]----' | tr -s '-')
mkdir -p "$results"
new=$results/.$name.txt
trap 'rm -f "$new" "$new.part" "$new.said"' EXIT

# One program: its table without the environment, which stands at the top once.
part() {
    echo
    echo "## $1"
    shift
    "$@" >"$new.part" 2>"$new.said" || { cat "$new.said" >&2; exit 1; }
    grep -vE '^# (processors?|isa|compiler|flags|openblas|commit|variables|load):' "$new.part"
}
{
    echo "# Measured on $(date -u +%Y-%m-%d) by perf/results.sh $quick"
    printf '%s\n' "$about"
    cd "$build/bin"
    for program in $programs; do
        drawing=
        [ "$program" = scaling ] && drawing="--svg $results/$name.svg"
        # shellcheck disable=SC2086
        part "perf_$program" ./perf_$program $quick $drawing
    done
    cd "$root"
    # shellcheck disable=SC2086
    part perf/compare/run.sh env BUILD="$build" sh perf/compare/run.sh $quick --markdown
} >"$new"
mv "$new" "$results/$name.txt"
echo "$results/$name.txt"
echo "$results/$name.svg"
