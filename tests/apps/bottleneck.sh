#!/bin/sh
# bottleneck: its claim, its picture, its options, and the same numbers twice.
# usage: bottleneck.sh PROGRAM
set -u
program=$(realpath "$1")
here=$(mktemp -d) && cd "$here" || exit 1
trap 'rm -rf "$here"' EXIT
failures=0

fail() {
    echo "$*"
    failures=$((failures + 1))
}
# kept NAME: what a model keeps of its quality just beyond the lengths of training.
kept() {
    grep -o "\"name\":\"$1\"[^}]*\"kept\":[0-9.e-]*" out | sed 's/.*"kept"://'
}

"$program" --quick --json --svg page.svg >out || fail "exit code $?"
[ "$(wc -l <out)" -eq 1 ] || fail "not one line of JSON"
fixed=$(kept "fixed vector") attention=$(kept "attention")
echo "kept: fixed vector $fixed, attention $attention, attention only $(kept "attention only")"
awk "BEGIN { exit !($fixed > 0 && $fixed < 0.5 && $attention >= 0.9) }" || fail "the claim fails"
grep -q '"claim":true' out || fail "it says so itself"
# The negation is translated, and "voit" looks at "see".
grep -q '"french":\["le","chat","ne","voit","pas","la","reine"\]' out || fail "the negation is wrong"
grep -q '"french":\["la","vache","noire","ramasse","le","loup","gris"\]' out ||
    fail "the inversion is wrong"
grep -q '</svg>' page.svg || fail "the picture is not whole"
[ "$(grep -c '<polyline' page.svg)" -eq 3 ] || fail "there are not three curves"

small="--longest 8 --steps 12 --json"
"$program" $small | sed 's/"seconds":.*//' >first
"$program" $small | sed 's/"seconds":.*//' >second
cmp -s first second || fail "a second run differs"
"$program" $small --seed 2 | sed 's/"seconds":.*//' >second
cmp -s first second && fail "the seed makes no difference"
"$program" --steps 5 --longest 8 2>err >out || fail "exit code $?"
grep -q "does NOT hold" out || fail "nothing learned, and the claim holds"

"$program" --help | grep -q "^usage: bottleneck \[OPTION\]" || fail "no help"
"$program" --longest 99 2>err && fail "--longest 99 was accepted"
"$program" --steps 1 --longest 8 --svg missing/page.svg >out 2>err && fail "a missing folder unnoticed"
grep -q "missing/page.svg" err || fail "the file is not named"
[ $failures -eq 0 ]
