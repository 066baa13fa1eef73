# script.sh - sourced first by the scripts beside it, with their argument PROGRAM: goes to a folder that
# is removed at the end; counts failures. Sets program, scripts (the folder of the scripts), here.
set -u
program=$(realpath "$1")
scripts=$(realpath "$(dirname "$0")")
here=$(mktemp -d) && cd "$here" || exit 1
trap 'rm -rf "$here"' EXIT
failures=0

fail() {
    echo "$*"
    failures=$((failures + 1))
}
# check WHAT COMMAND...: the command succeeds.
check() {
    what=$1
    shift
    "$@" || fail "failed: $what"
}
# code WANTED COMMAND...: the exit code; standard error goes to err.
code() {
    wanted=$1
    shift
    "$@" 2>err
    got=$?
    [ $got -eq "$wanted" ] || { fail "exit code $got, not $wanted: $*"; cat err; }
}
# says TEXT: on standard error of the last command.
says() {
    grep -qF -- "$1" err || { fail "no '$1' in:"; cat err; }
}
