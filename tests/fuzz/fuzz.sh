#!/bin/sh
# fuzz.sh [SECONDS [NAME...]] - builds the fuzz targets twice, with AddressSanitizer and UBSan and optimized
# for speed, and searches with each build for half of SECONDS per target (default: an hour for all targets
# together on all processors). Prints the executions. The exit status is 1 if there was a finding.
#
# fuzz.sh search SECONDS FOLDER [NAME...] - searches with the fuzz targets built in FOLDER, or only with those named,
# for SECONDS each, on all processors. New inputs are kept in FOLDER/corpus/NAME and used again the next time;
# inputs that break a law are kept in FOLDER/findings, and the end of their log is printed. Prints the
# executions of each target and their sum. The exit status is 1 if there was a finding.
# FUZZ_JOBS: number of targets that run at once. FUZZ_OPTIONS: options of libFuzzer. FUZZ_GRACE: seconds that
# a target may take longer, to read the inputs found earlier (default: 300).
#
# fuzz.sh seeds TARGET PATH... - adds files, or the files of folders, to the seeds of a fuzz target in
# seeds/TARGET.tar.gz. A seed with the same name is replaced. The bytes of the archive do not depend on who packs it or
# when: names are sorted, and neither owners nor times are stored.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

add_seeds() {
    [ $# -ge 2 ] || {
        echo "usage: fuzz.sh seeds TARGET PATH..." >&2
        exit 2
    }
    archive=$here/seeds/$1.tar.gz
    shift
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    mkdir "$folder/seeds"
    [ ! -e "$archive" ] || tar -xzf "$archive" -C "$folder/seeds"
    for path in "$@"; do
        if [ -d "$path" ]; then path=$path/.; fi
        cp -R "$path" "$folder/seeds"
    done
    tar -cf "$folder/tar" -C "$folder/seeds" --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 \
        --mode=0644 $(cd "$folder/seeds" && LC_ALL=C ls)
    gzip -9n <"$folder/tar" >"$archive"
}

search() {
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
}

case ${1-} in
seeds | search)
    command=$1
    shift
    if [ $command = seeds ]; then add_seeds "$@"; else search "$@"; fi
    exit
    ;;
esac

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
sh "$here/fuzz.sh" search $((seconds / 2)) "$root/build-fuzz" "$@" || status=1
echo "== fast"
sh "$here/fuzz.sh" search $((seconds - seconds / 2)) "$root/build-fuzz-fast" "$@" || status=1
exit $status
