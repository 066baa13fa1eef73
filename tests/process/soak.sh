#!/bin/sh
# soak.sh [SECONDS [SEEDS]] - builds process/soak and runs it for SECONDS (default: two hours), printing a line per minute.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/apps/packages.sh"
need $build_packages libcmocka-dev
case ${1-1}${2-1} in
*[!0-9]*)
    echo "soak.sh: \"$*\" are not numbers of seconds and seeds; --help of tests/run.sh lists the modes" >&2
    exit 2
    ;;
esac
configure "$root/build" -DRAPT_TESTS=ON -DRAPT_APPS=ON -DRAPT_PERF=ON -DRAPT_WERROR=ON
build "$root/build" --target process_soak

export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}" RAPT_DATA="${RAPT_DATA-$root/../shared/data}"
exec "$root/build/tests/process_soak" "${1-7200}" "${2-300}"
