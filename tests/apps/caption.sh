#!/bin/sh
# caption: its claims, its SVG, its options, and reproducible output. The numbers are for seed 1: training gives
# the same bits on every machine, so the thresholds, which are those of the claims, hold everywhere or nowhere.
# They also hold for seeds 2 and 3.
# usage: caption.sh PROGRAM [sanitized]: then without what takes training to the end
. "$(dirname "$0")/kit/script.sh"
value() { # KEY [N]: its N-th value, 1: of soft attention, 2: of hard attention
    grep -o "\"$1\":[0-9.e-]*" out | sed 's/.*://' | sed -n "${2-1}p"
}

trained= # to the end
[ "${2-}" = sanitized ] && trained="--steps 20" && echo "skipped: the claims of caption: its training takes minutes here"
"$program" --quick --json --svg page.svg $trained >out || fail "exit code $?"
[ "$(wc -l <out)" -eq 1 ] || fail "not one line of JSON"
grep -q '"normalizer":"softmax".*"normalizer":"sample"' out || fail "not soft and hard attention"
if [ -z "$trained" ]; then
    for kind in 1 2; do
        echo "exact $(value exact $kind); weight $(value weight_color $kind) and $(value weight_shape $kind)," \
            "uniform $(value chance $kind); reads $(value read $kind) patches"
    done
    awk "BEGIN { exit !($(value exact) >= 0.8 && $(value chance) > 0.1 && $(value chance) < 0.3 &&
        $(value weight_color) >= 2 * $(value chance) && $(value weight_shape) >= 2 * $(value chance)) }" ||
        fail "the claim about soft attention fails"
    awk "BEGIN { exit !($(value exact 2) >= 0.7 && $(value read 2) <= 2 && $(value read) > 4 &&
        $(value weight_color 2) + $(value weight_shape 2) >= 4 * $(value chance 2)) }" ||
        fail "the claim about hard attention fails"
    [ "$(grep -o '"claim":true' out | wc -l)" -eq 3 ] || fail "the program reports that a claim fails"
fi
grep -q '</svg>' page.svg || fail "the SVG is incomplete"

"$program" --steps 10 --json | sed 's/"seconds":.*//' >first
"$program" --steps 10 --json --threads 1 | sed 's/"seconds":.*//' >second
cmp -s first second || fail "a run in one thread differs"
"$program" --steps 10 --json --seed 2 | sed 's/"seconds":.*//' >second
cmp -s first second && fail "the seed makes no difference"
for normalizer in argmax gumbel-softmax softmax; do
    "$program" --steps 5 --normalizer $normalizer --json >out || fail "$normalizer: exit code $?"
    grep -q "\"normalizer\":\"$normalizer\"" out || fail "$normalizer was not trained"
done
[ "$(grep -o '"normalizer"' out | wc -l)" -eq 1 ] || fail "softmax: there is a second model"
"$program" --steps 5 --normalizer hardest 2>err && fail "--normalizer hardest was accepted"
"$program" --steps 5 2>err >out || fail "exit code $?"
grep -q "does NOT hold" out || fail "the claim holds without training"
[ "$(LC_ALL=C.UTF-8 wc -L <out)" -le 80 ] || fail "lines are too wide"
[ "$(grep -c '^(reference: ' out)" -ge 1 ] || fail "no caption is wrong without training"
"$program" --steps 5 --json --svg page.svg >again || fail "exit code $?"
grep -q 'wrong; reference: a ' page.svg || fail "the figure marks no wrong caption"

"$program" --help | grep -q "^usage: caption \[OPTION\]" || fail "--help prints no usage"
"$program" --steps none 2>err && fail "--steps none was accepted"
"$program" --steps 1 --svg missing/page.svg >out 2>err && fail "a missing folder is not reported"
grep -q "missing/page.svg" err || fail "the file is not named"
[ $failures -eq 0 ]
