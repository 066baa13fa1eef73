#!/bin/sh
# toy_translate train --quantize-aware: the validation loss is that of the model in 8 bits, only the last part of the
# run differs from one in floats, and the bits are the same for any number of threads and after a resumption.
# usage: quantize_aware.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

synthetic_pairs 300 >all.tsv
head -n 280 all.tsv >train.tsv
tail -n 20 all.tsv >test.tsv
options="--data train.tsv --valid test.tsv --layers 1 --width 64 --heads 2 --ffn-width 128 --vocab 300
    --batch-tokens 512 --warmup 5 --threads 1 --average 1 --keep-checkpoint"

code 0 "$program" train $options --steps 12 --out plain
code 0 "$program" train $options --steps 12 --out late --quantize-aware 0.25
says "the last 25 % of the run are trained, and all of it is validated, in 8-bit arithmetic"
code 0 "$program" train $options --steps 12 --out whole --quantize-aware 1
"$program" info late >info.txt
grep -q "quantize-aware 0.25" info.txt || fail "info does not say how: $(cat info.txt)"

# scores MODEL: what the parameters at the end of its run give in floats
scores() {
    "$program" score --model "$1.checkpoint" --precision f32 --data test.tsv --json 2>/dev/null
}
[ "$(scores plain | wc -l)" -eq 20 ] || fail "no scores: $(scores plain)"
[ "$(scores late)" != "$(scores plain)" ] || fail "--quantize-aware changes nothing"
[ "$(scores late)" != "$(scores whole)" ] || fail "the share changes nothing"

# Nine of twelve steps are in floats.
code 0 "$program" train $options --steps 9 --out nine
"$program" train $options --steps 9 --out begun --quantize-aware 1e-9 2>err || fail "$(cat err)"
[ "$(scores nine)" = "$(scores begun)" ] || fail "a run that is not yet in 8 bits differs from one in floats"

# The validation loss is that of score --precision int8.
valid=$("$program" info --json late | tr ',{}' '\n\n\n' | sed -n 's/.*"valid_loss": *//p')
"$program" score --model late --precision int8 --data test.tsv 2>err >/dev/null
bytes=$(sed -n 's/.*perplexity //p' err)
"$program" score --model late --precision f32 --data test.tsv 2>err >/dev/null
floats=$(sed -n 's/.*perplexity //p' err)
check "the loss $valid is that in 8 bits, log $bytes, and not that in floats, log $floats" \
    awk -v valid="$valid" -v bytes="$bytes" -v floats="$floats" 'BEGIN {
        p = exp(valid); exit !((p / bytes - 1) ^ 2 < 6e-4 ^ 2 && bytes > 1 && bytes != floats) }'

# The same bits.
code 0 "$program" train $options --threads 2 --steps 12 --out same --quantize-aware 0.25
check "the same bits with two threads" cmp late same
code 0 "$program" train $options --steps 5 --out part --force --quantize-aware 1
code 0 "$program" train $options --steps 12 --out part --resume
check "the same bits after a resumption" cmp whole part
code 0 "$program" train $options --steps 400 --out long --quantize-aware 0.5
"$program" train $options --steps 400 --out cut --quantize-aware 0.5 2>err &
while kill -0 $! 2>/dev/null && [ ! -f cut.checkpoint ]; do sleep 0.02; done
kill -INT $! 2>/dev/null
wait $!
if [ $? -eq 130 ]; then
    code 0 "$program" train $options --steps 400 --out cut --resume
    check "the same bits after an interruption" cmp long cut
else
    echo "skipped: apps/quantize_aware: the run ended before it could be interrupted"
fi
code 1 "$program" train $options --steps 14 --out late --resume --quantize-aware 0.5
says "with quantize-aware 0.25, not quantize-aware 0.5"
code 1 "$program" train $options --steps 14 --out plain --resume --quantize-aware 0.5
says "without quantize-aware 0.5"
code 2 "$program" train $options --steps 14 --out late --resume --patience 3
says "--patience could end the run"

# What makes no sense is refused.
code 2 "$program" train $options --steps 12 --out other --quantize-aware 1.5
code 2 "$program" train $options --steps 12 --out other --quantize-aware most
code 2 "$program" train $options --steps 12 --out other --quantize-aware 0.5 --patience 3
says "--patience could end the run"
code 0 "$program" train $options --steps 12 --out other --quantize-aware 1 --patience 3

# A model of floats is tuned; BLEU before and after is that in 8 bits.
code 0 "$program" train --from plain --data train.tsv --valid test.tsv --threads 1 --steps 5 --out tuned --quantize-aware 1
says "20 validation pairs, in 8-bit arithmetic: BLEU"
[ $failures -eq 0 ]
