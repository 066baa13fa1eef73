#!/bin/sh
# search.sh SECONDS FOLDER [NAME...] - searches with the fuzz targets built in FOLDER, or only with those named,
# for SECONDS each, on all processors. New inputs are kept in FOLDER/corpus/NAME and used again the next time;
# inputs that break a law are kept in FOLDER/findings, and the end of their log is printed. Prints the
# executions of each target and their sum. The exit status is 1 if there was a finding.
# FUZZ_JOBS: number of targets that run at once. FUZZ_OPTIONS: options of libFuzzer. FUZZ_GRACE: seconds that
# a target may take longer, to read the inputs found earlier (default: 300).
set -eu
seconds=$1
folder=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- $(cd "$folder/tests" && ls | sed -n 's/^fuzz_//p')
mkdir -p "$folder/findings" "$folder/corpus" "$folder/logs"
FUZZ_GRACE=${FUZZ_GRACE-300}
export folder seconds FUZZ_GRACE
export ASAN_OPTIONS="${ASAN_OPTIONS-detect_stack_use_after_return=1}" OMP_WAIT_POLICY=passive

# More than 10 s or 2 GB for one input is a finding, too. So is a target that does not end: once memory is
# corrupt, libFuzzer may wait for a lock of the allocator forever, so that its own limits have no effect.
printf '%s\n' "$@" | xargs -P "${FUZZ_JOBS-$(nproc)}" -I NAME sh -c '
    mkdir -p "$folder/corpus/NAME" "$folder/findings/NAME"
    seeds=$folder/tests/fuzz/seeds/NAME
    [ -d "$seeds" ] || seeds=
    status=0
    timeout --foreground --kill-after=10 $((seconds + FUZZ_GRACE)) \
        "$folder/tests/fuzz_NAME" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 ${FUZZ_OPTIONS-} \
        -artifact_prefix="$folder/findings/NAME/" "$folder/corpus/NAME" ${seeds:+"$seeds"} >"$folder/logs/NAME" 2>&1 </dev/null || status=$?
    case $status in
    0) ;;
    124 | 137) echo "NAME: a finding, it was killed after $((seconds + FUZZ_GRACE)) s, see $folder/logs/NAME" ;;
    *) echo "NAME: a finding, see $folder/logs/NAME and $folder/findings/NAME" ;;
    esac
    [ $status = 0 ] || tail -n 60 "$folder/logs/NAME"
' | tee "$folder/logs/.findings"

total=0
for name in "$@"; do
    units=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/logs/$name")
    printf '%-16s %12s executions\n' "$name" "${units:-0}"
    total=$((total + ${units:-0}))
done
printf '%-16s %12s executions\n' total "$total"
! grep -q . "$folder/logs/.findings"
