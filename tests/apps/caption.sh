#!/bin/sh
# caption: its claim, its SVG, its options, and bit-reproducible output.
# The figures are those of seed 1: training gives the same bits on every machine, so the thresholds,
# which are those of the claim, hold or fail everywhere alike; they also hold for seeds 2 and 3.
# usage: caption.sh PROGRAM [sanitized]: then without what takes training to the end
. "$(dirname "$0")/kit/script.sh"
value() {
    grep -o "\"$1\":[0-9.e-]*" out | sed 's/.*://'
}

trained= # to the end
[ "${2-}" = sanitized ] && trained="--steps 20" && echo "skipped: the claim of caption: its training takes minutes here"
"$program" --quick --json --svg page.svg $trained >out || fail "exit code $?"
[ "$(wc -l <out)" -eq 1 ] || fail "not one line of JSON"
if [ -z "$trained" ]; then
    echo "exact $(value exact); weight $(value weight_color) and $(value weight_shape)," \
        "uniform $(value chance)"
    awk "BEGIN { exit !($(value exact) >= 0.8 && $(value chance) > 0.1 && $(value chance) < 0.3 &&
        $(value weight_color) >= 2 * $(value chance) && $(value weight_shape) >= 2 * $(value chance)) }" ||
        fail "the claim fails"
    grep -q '"claim":true' out || fail "the program reports that its claim fails"
fi
grep -q '</svg>' page.svg || fail "the SVG is incomplete"

"$program" --steps 10 --json | sed 's/"seconds":.*//' >first
"$program" --steps 10 --json | sed 's/"seconds":.*//' >second
cmp -s first second || fail "a second run differs"
"$program" --steps 10 --json --seed 2 | sed 's/"seconds":.*//' >second
cmp -s first second && fail "the seed makes no difference"
"$program" --steps 5 2>err >out || fail "exit code $?"
grep -q "does NOT hold" out || fail "the claim holds without training"

"$program" --help | grep -q "^usage: caption \[OPTION\]" || fail "--help prints no usage"
"$program" --steps none 2>err && fail "--steps none was accepted"
"$program" --steps 1 --svg missing/page.svg >out 2>err && fail "a missing folder is not reported"
grep -q "missing/page.svg" err || fail "the file is not named"
[ $failures -eq 0 ]
