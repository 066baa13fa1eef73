# script.sh - sourced first by the scripts beside it, with their argument PROGRAM. Changes to a folder that is
# removed at the end, and counts failures. Sets program, scripts (the folder of the scripts) and here.
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
# check WHAT COMMAND...: expects that the command succeeds.
check() {
    what=$1
    shift
    "$@" || fail "failed: $what"
}
# code WANTED COMMAND...: expects the exit code; standard error goes to err.
code() {
    wanted=$1
    shift
    "$@" 2>err
    got=$?
    [ $got -eq "$wanted" ] || { fail "exit code $got, not $wanted: $*"; cat err; }
}
# says TEXT: expects the text on standard error of the last command.
says() {
    grep -qF -- "$1" err || { fail "no '$1' in:"; cat err; }
}
# run_test PROGRAM CASE ARGUMENT...: runs the function test_CASE with the arguments. Exits with 1 if anything failed.
run_test() {
    run=test_${2:?the case to run is missing}
    shift 2
    command -v "$run" >/dev/null || fail "there is no function $run"
    "$run" "$@"
    [ $failures -eq 0 ]
}
# synthetic_pairs N: prints N pairs of one to four of six words, translated in reverse order, separated by a
# tab.
synthetic_pairs() {
    awk -v count="$1" 'BEGIN {
        split("red blue green old new big", s); split("rot blau grün alt neu groß", t); x = 7
        for (n = 0; n < count; n++) {
            length_ = 1 + n % 4; a = b = ""
            for (i = 0; i < length_; i++) {
                x = (x * 1103 + 12345) % 65536; w = 1 + int(x / 16) % 6
                a = a (i ? " " : "") s[w]; b = t[w] (i ? " " : "") b
            }
            print a "\t" b
        }
    }'
}
# synthetic_links FILE: prints the word alignments of such pairs.
synthetic_links() {
    awk -F'\t' '{
        n = split($1, w, " ")
        for (i = 0; i < n; i++) printf "%s%d-%d", i ? " " : "", i, n - 1 - i
        print ""
    }' "$1"
}
# piece TEXT TYPE: prints a piece of a SentencePiece model as bytes of its protobuf; all pieces have the same
# score.
byte() {
    printf "\\$(printf %03o "$1")"
}
piece() {
    size=$(printf %s "$1" | wc -c)
    byte 10; byte $((size + 4)); byte 10; byte "$size"; printf %s "$1"; byte 24; byte "$2"
}
