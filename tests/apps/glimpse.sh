#!/bin/sh
# glimpse: the estimate meets the exact gradient; learned looks are worth far more than random ones;
# the same seed gives the same answer; the picture is XML.
# usage: glimpse.sh PROGRAM
set -u
program=$(realpath "$1")
here=$(mktemp -d) && cd "$here" || exit 1
trap 'rm -rf "$here"' EXIT
failures=0

fail() {
    echo "$*"
    failures=$((failures + 1))
}
# figure KEY PATTERN: the number of that key in the first line of `out` with the pattern.
figure() {
    grep -m 1 "$2" out | sed -n "s/.*\"$1\":\(-\{0,1\}[0-9.e-]*\).*/\1/p"
}
# least WHAT NUMBER BOUND, most WHAT NUMBER BOUND
least() {
    awk -v x="$2" -v y="$3" 'BEGIN { exit !(x != "" && x + 0 >= y) }' || fail "$1: $2, not at least $3"
}
most() {
    awk -v x="$2" -v y="$3" 'BEGIN { exit !(x != "" && x + 0 <= y) }' || fail "$1: $2, not at most $3"
}

"$program" --quick --json --svg page.svg >out 2>err || fail "exit code $?: $(cat err)"
[ -s err ] && fail "--json speaks on standard error: $(cat err)"
[ "$(grep -c '^{.*}$' out)" -eq 4 ] || fail "not four lines of JSON: $(cat out)"

most "standard errors from the exact gradient" "$(figure worst_in_standard_errors 'two places')" 3
least "digits read with learned looks" "$(figure right '"learned"')" 0.9
most "digits read with random looks" "$(figure right '"random"')" 0.65
least "what choosing is worth" "$(figure margin '"done"')" 0.3
least "learned looks at the digit" "$(figure landed '"learned"')" 0.3

# Before anything is learned, choosing is worth nothing: the figures above can fail.
"$program" --quick --steps 1 --json >out 2>err || fail "exit code $?: $(cat err)"
most "digits read after one step" "$(figure right '"learned"')" 0.5
sed 's/"seconds":.*//' out >first
"$program" --quick --steps 1 --json | sed 's/"seconds":.*//' >second
cmp first second || fail "the same seed gives another answer"
"$program" --quick --steps 1 --seed 2 --json | sed 's/"seconds":.*//' | cmp -s first - &&
    fail "another seed gives the same answer"

grep -q '^<svg ' page.svg || fail "there is no picture"
if command -v xmllint >/dev/null; then
    xmllint --noout page.svg || fail "the picture is no XML"
fi
"$program" --help | grep -q -- --svg || fail "--help does not tell of --svg"
"$program" --looks 1 >out 2>&1
[ $? -eq 2 ] || fail "one look is no sequence: $(cat out)"
"$program" --quick --steps 1 --svg /nowhere/page.svg >out 2>&1
[ $? -eq 1 ] || fail "a picture that cannot be written: $(cat out)"

[ $failures -eq 0 ]
