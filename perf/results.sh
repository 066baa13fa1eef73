#!/bin/sh
# Runs all benchmarks and writes perf/results/<processor>.txt and .svg, named after the processor.
# A summary is put at the beginning and drawn in <processor>-summary.svg. Unless RESULTS is set, the tables of
# perf/README.md are updated, too (both by results.py). Takes twenty minutes, with MPI more than thirty, on an otherwise idle
# machine.
# usage: results.sh [--quick]
# BUILD is the build folder [build]; RESULTS is the folder of the results [perf/results].
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build}
results=${RESULTS:-$root/perf/results}
quick=${1:-}
unset OMP_NUM_THREADS # it would distort results

cmake -S "$root" -B "$build" >/dev/null # records the current commit
programs="peak kernel gemm attention train load translate scaling"
cmake --build "$build" --target help | grep perf_ranks >/dev/null && programs="$programs ranks machines" # with MPI only
# shellcheck disable=SC2046,SC2086
cmake --build "$build" --parallel --target $(printf 'perf_%s ' $programs) >/dev/null
. "$root/perf/openblas.sh"
about=$("$build/bin/perf_peak" --check 2>/dev/null | grep '^# ')
field() {
    printf '%s\n' "$about" | sed -n "s/^# $1: //p"
}
name=$(printf '%s %s %s' "$(field processor)" "$(field isa)" "$(field processors)" |
    tr '[:upper:] @(),' '[:lower:]-----' | tr -s '-')
mkdir -p "$results"
new=$results/.$name.txt
trap 'rm -f "$new" "$new.part" "$new.err" "$new.ranks" "$new.svg" "$new-machines.svg"' EXIT

# part NAME COMMAND...: prints a section with its table, without the environment, which is printed only once.
part() {
    echo
    echo "## $1"
    shift
    "$@" >"$new.part" 2>"$new.err" || { cat "$new.err" >&2; exit 1; }
    grep -vE '^# (processors?|isa|compiler|flags|openblas|commit|variables|load):' "$new.part"
}
{
    echo "# Measured on $(date -u +%Y-%m-%d) by perf/results.sh $quick"
    printf '%s\n' "$about"
    cd "$build/bin"
    for program in $programs; do
        [ "$program" != ranks ] && [ "$program" != machines ] || continue # below
        figure=
        [ "$program" = scaling ] && figure=$new.svg
        part "perf_$program" ./perf_$program $quick ${figure:+--svg "$figure"}
        # Adds every score, locality and normalizer, on the general path too; without --quick they are part of the
        # run above.
        if [ "$program:$quick" = attention:--quick ]; then
            part "perf_attention --only kinds" ./perf_attention $quick --only kinds
        fi
    done
    if [ -x perf_ranks ] && command -v mpirun >/dev/null; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # in a container
        ./perf_scaling --ranks $quick --json >"$new.ranks" 2>"$new.err" || { cat "$new.err" >&2; exit 1; }
        part "perf_scaling --ranks | perf_machines" ./perf_machines --measured "$new.ranks" --svg "$new-machines.svg"
    fi
    cd "$root"
    # shellcheck disable=SC2086
    part perf/compare/run.sh env BUILD="$build" sh perf/compare/run.sh $quick --markdown
} >"$new"
mv "$new" "$results/$name.txt"
mv "$new.svg" "$results/$name.svg"
[ ! -e "$new-machines.svg" ] || mv "$new-machines.svg" "$results/$name-machines.svg"
python3 -B "$root/perf/results.py" "$results/$name.txt"
[ -n "${RESULTS:-}" ] || python3 -B "$root/perf/results.py" --tables
echo "$results/$name.txt"
echo "$results/$name.svg"
echo "$results/$name-summary.svg"
[ ! -e "$results/$name-machines.svg" ] || echo "$results/$name-machines.svg"
