#!/bin/sh
# attention_tour: its claims hold for every kind, and every kind is shown: in the terminal, as JSON,
# on the page.
# usage: attention_tour.sh PROGRAM
set -u
program=$(realpath "$1")
here=$(mktemp -d) && cd "$here" || exit 1
trap 'rm -rf "$here"' EXIT
failures=0

fail() {
    echo "$*"
    failures=$((failures + 1))
}
# count PATTERN FILE WANTED WHAT
count() {
    got=$(grep -c -- "$1" "$2")
    [ "$got" -eq "$3" ] || fail "$4: $got, not $3"
}

"$program" --json --svg page.svg >out 2>err || fail "exit code $?: $(cat err)"
[ -s err ] && fail "--json speaks on standard error: $(cat err)"
count '^{.*}$' out 119 "lines of JSON"
count '"score":' out 105 "kinds: scores x localities x normalizers"
for score in scaled-dot dot general cosine location additive location-aware; do
    count "\"score\":\"$score\"" out 15 "kinds with score $score"
done
count '"claim":' out 13 "claims"
count '"holds":true' out 13 "claims that hold"
count '"done":true,"claims":13,"broken":0' out 1 "last line"
for claim in weights hull local-p one still jump straight-through causal padding; do
    count "\"claim\":\"$claim\"" out 1 "claim $claim"
done
# The masks are judged for all kinds, soft weights for those that are soft and do not fade.
[ "$(grep -c '"kinds":105,' out)" -eq 4 ] || fail "not four claims about masks of 105 kinds"
[ "$(grep -c '"kinds":28,' out)" -eq 2 ] || fail "not two claims about 28 soft kinds"

# Soft weights are weights; arg-max weights are zeros and ones.
grep '"locality":"global","normalizer":"argmax"' out | sed 's/.*"weights"://; s/,"out".*//' |
    grep -q '0\.[0-9]*[1-9]' && fail "arg-max has weights between 0 and 1"
grep '"locality":"global","normalizer":"softmax"' out | sed 's/.*"weights"://; s/,"out".*//' |
    grep -q '0\.[0-9]*[1-9]' || fail "soft has no weights between 0 and 1"

"$program" --score additive --normalizer softmax >some 2>err || fail "exit code $?: $(cat err)"
count 'additive score, soft' some 1 "kinds asked for"
count ' score, ' some 1 "kinds shown"
count '^yes ' some 13 "claims told"
"$program" --json >again 2>err
cmp out again || fail "another run gives another answer"
"$program" --seed 2 --json 2>err | cmp -s out - && fail "another seed gives the same draws"

[ "$(grep -c '<rect' page.svg)" -gt 10500 ] || fail "the page lacks squares"
if command -v xmllint >/dev/null; then
    xmllint --noout page.svg || fail "the page is no XML"
fi
"$program" --help | grep -q -- "--score .*|location-aware" || fail "--help does not tell of all scores"
"$program" --score none >out 2>&1
[ $? -eq 2 ] || fail "a score that is none is taken"
"$program" --svg /nowhere/page.svg >out 2>&1
[ $? -eq 1 ] || fail "a page that cannot be written: $(tail -1 out)"

[ $failures -eq 0 ]
