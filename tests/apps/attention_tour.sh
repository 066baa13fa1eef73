#!/bin/sh
# attention_tour: its claims hold for every variant, and every variant is printed as text, as JSON and in the
# figure.
# usage: attention_tour.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"
# count PATTERN FILE WANTED WHAT
count() {
    got=$(grep -c -- "$1" "$2")
    [ "$got" -eq "$3" ] || fail "$4: $got, not $3"
}

"$program" --json --svg page.svg >out 2>err || fail "exit code $?: $(cat err)"
[ -s err ] && fail "--json writes to standard error: $(cat err)"
count '^{.*}$' out 120 "lines of JSON"
count '"score":' out 105 "variants: scores x localities x normalizers"
for score in scaled-dot dot general cosine location additive location-aware; do
    count "\"score\":\"$score\"" out 15 "variants with score $score"
done
count '"claim":' out 14 "claims"
count '"holds":true' out 14 "claims that hold"
count '"done":true,"claims":14,"failed":0' out 1 "last line"
for claim in weights hull local-p "own key" one still jump straight-through causal padding; do
    count "\"claim\":\"$claim\"" out 1 "claim $claim"
done
# Masks are checked for all variants, softmax weights for those without local-p.
[ "$(grep -c '"variants":105,' out)" -eq 4 ] || fail "not four claims about masks of 105 variants"
[ "$(grep -c '"variants":28,' out)" -eq 2 ] || fail "not two claims about 28 softmax variants"

# Softmax weights are fractions; argmax weights are zeros and ones.
grep '"locality":"global","normalizer":"argmax"' out | sed 's/.*"weights"://; s/,"out".*//' |
    grep -q '0\.[0-9]*[1-9]' && fail "argmax has weights between 0 and 1"
grep '"locality":"global","normalizer":"softmax"' out | sed 's/.*"weights"://; s/,"out".*//' |
    grep -q '0\.[0-9]*[1-9]' || fail "softmax has no weights between 0 and 1"

"$program" --score additive --normalizer softmax >some 2>err || fail "exit code $?: $(cat err)"
count 'additive score, softmax' some 1 "selected variants"
count ' score, ' some 1 "printed variants"
count '^yes ' some 14 "printed claims"
"$program" >brief 2>err || fail "exit code $?: $(cat err)"
count ' score, ' brief 0 "tables that nobody asked for"
count '^yes ' brief 14 "printed claims"
check "claims come first" [ "$(head -c 4 brief)" = "yes " ]
"$program" --all >every 2>err || fail "exit code $?: $(cat err)"
count ' score, ' every 35 "tables: scores x normalizers"
for text in some brief every; do
    [ "$(LC_ALL=C.UTF-8 wc -L <$text)" -le 80 ] || fail "$text: lines are too wide"
done
"$program" --json >again 2>err
cmp out again || fail "another run prints other output"
"$program" --seed 2 --json 2>err | cmp -s out - && fail "another seed gives the same draws"

[ "$(grep -c '<rect' page.svg)" -gt 10500 ] || fail "the figure lacks squares"
if command -v xmllint >/dev/null; then
    xmllint --noout page.svg || fail "the figure is no XML"
fi
"$program" --help | tr -s " \n" " " | grep -q "SCORE scaled-dot, .*, location-aware" || fail "--help does not list all scores"
"$program" --score none >out 2>&1
[ $? -eq 2 ] || fail "an unknown score is accepted"
"$program" --svg /nowhere/page.svg >out 2>&1
[ $? -eq 1 ] || fail "a figure that cannot be written: $(tail -1 out)"

[ $failures -eq 0 ]
