#!/bin/sh
# modes.sh ROOT - checks that tests/run.sh refuses an unknown mode or option before it does anything. Otherwise a
# mistyped --sanitize would run, and pass, the plain tests.
set -u
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
