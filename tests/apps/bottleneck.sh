#!/bin/sh
# bottleneck: its claim, its SVG, its options, and reproducible output. The numbers are for seed 1: training
# gives the same bits on every machine and for any number of threads, so the thresholds, which are those of the
# claim, hold everywhere or nowhere. They also hold for seeds 2 and 3.
# usage: bottleneck.sh PROGRAM [sanitized]: then without what takes training to the end
. "$(dirname "$0")/kit/script.sh"
# retained NAME: BLEU just beyond the training lengths, divided by BLEU on short sentences.
retained() {
    grep -o "\"name\":\"$1\"[^}]*\"retained\":[0-9.e-]*" out | sed 's/.*"retained"://'
}

trained= # to the end
[ "${2-}" = sanitized ] && trained="--steps 20" && echo "skipped: the claim of bottleneck: its training takes minutes here"
"$program" --quick --json --svg page.svg $trained >out || fail "exit code $?"
[ "$(wc -l <out)" -eq 1 ] || fail "not one line of JSON"
if [ -z "$trained" ]; then
    fixed=$(retained "fixed vector") attention=$(retained "attention")
    echo "retained: fixed vector $fixed, attention $attention, attention only $(retained "attention only")"
    awk "BEGIN { exit !($fixed > 0 && $fixed < 0.5 && $attention >= 0.9) }" || fail "the claim fails"
    grep -q '"claim":true' out || fail "the program reports that its claim fails"
    # Both examples are translated exactly.
    grep -q '"french":\["le","chat","ne","voit","pas","la","reine"\]' out || fail "the negation is wrong"
    grep -q '"french":\["la","vache","noire","ramasse","le","loup","gris"\]' out ||
        fail "the inversion is wrong"
fi
grep -q '</svg>' page.svg || fail "the SVG is incomplete"
[ "$(grep -c '<polyline' page.svg)" -eq 3 ] || fail "there are not three curves"

small="--max-words 10 --steps 12 --json"
"$program" $small | sed 's/"seconds":.*//' >first
"$program" $small --threads 1 | sed 's/"seconds":.*//' >second
cmp -s first second || fail "a run in one thread differs"
"$program" $small --seed 2 | sed 's/"seconds":.*//' >second
cmp -s first second && fail "the seed makes no difference"
[ "$(grep -o '"words":[0-9]*' first | sort -u | wc -l)" -eq 12 ] || fail "not twelve lengths"
"$program" --steps 5 --max-words 10 2>err >out || fail "exit code $?"
grep -q "does NOT hold" out || fail "the claim holds without training"
[ "$(LC_ALL=C.UTF-8 wc -L <out)" -le 80 ] || fail "lines are too wide"

# Every choice gives a different model, and options that cannot be combined are refused.
tiny="--max-words 10 --steps 1 --json"
"$program" $tiny | sed 's/"seconds":.*//' >first
for choice in "--cell lstm" "--pass mlp" "--encoder none" "--reads past" "--query present --score dot" "--projected" \
    "--normalizer sample --locality local-m"; do
    "$program" $tiny $choice >second || fail "$choice: exit code $?"
    sed 's/"seconds":.*//' second | cmp -s first - && fail "$choice makes no difference"
done
"$program" $tiny --pass mlp --encoder again 2>err && fail "an initial state without an encoding was accepted"
grep -q "initial state" err || fail "the reason is not named"

"$program" --help | grep -q "^usage: bottleneck \[OPTION\]" || fail "--help prints no usage"
for words in 9 99; do # of 9 two points would have 4 words
    "$program" --max-words $words 2>err && fail "--max-words $words was accepted"
done
"$program" --steps 1 --max-words 10 --svg missing/page.svg >out 2>err && fail "a missing folder is not reported"
grep -q "missing/page.svg" err || fail "the file is not named"
[ $failures -eq 0 ]
