#!/bin/sh
# search.sh SECONDS FOLDER [NAME...] - searches with the fuzz targets built in FOLDER, or with those named,
# so many seconds each, on all processors. Inputs found are kept in FOLDER/corpus/NAME and used next
# time; one that breaks a law, in FOLDER/findings. Prints the executions of each target and of all; the
# exit status is 1 if there was a finding. FUZZ_JOBS: how many at once; FUZZ_OPTIONS: of libFuzzer.
set -eu
seconds=$1
folder=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
shift 2
[ $# -gt 0 ] || set -- $(cd "$folder/tests" && ls | sed -n 's/^fuzz_//p')
mkdir -p "$folder/findings" "$folder/corpus" "$folder/logs"
export folder here seconds
export ASAN_OPTIONS="${ASAN_OPTIONS-detect_stack_use_after_return=1}" OMP_WAIT_POLICY=passive

# More than 10 s or 2 GB for one input is a finding, too.
printf '%s\n' "$@" | xargs -P "${FUZZ_JOBS-$(nproc)}" -I NAME sh -c '
    mkdir -p "$folder/corpus/NAME" "$folder/findings/NAME"
    seeds=$here/seeds/NAME
    [ -d "$seeds" ] || seeds=
    "$folder/tests/fuzz_NAME" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 ${FUZZ_OPTIONS-} \
        -artifact_prefix="$folder/findings/NAME/" "$folder/corpus/NAME" $seeds >"$folder/logs/NAME" 2>&1 </dev/null ||
        echo "NAME: a finding, see $folder/logs/NAME and $folder/findings/NAME"
' | tee "$folder/logs/.findings"

total=0
for name in "$@"; do
    units=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/logs/$name")
    printf '%-16s %12s executions\n' "$name" "${units:-0}"
    total=$((total + ${units:-0}))
done
printf '%-16s %12s executions\n' "in all" "$total"
! grep -q . "$folder/logs/.findings"
