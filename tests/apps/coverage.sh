#!/bin/sh
# toy_translate train --coverage-loss: reports the loss, which its weight lowers; a resumed run gives the same bits, in
# shards too, and a model with coverage can be tuned with it. usage: coverage.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

synthetic_pairs 400 >data.tsv
train() { # OUT OPTION...
    out=$1
    shift
    code 0 "$program" train --data data.tsv --layers 1 --width 32 --heads 2 --ffn-width 32 --vocab 270 --batch-tokens 512 \
        --rate 0.01 --warmup 20 --threads 2 --average 1 --cross-score coverage --out "$out" "$@"
}
# The last coverage loss that a run has reported.
loss() { grep '"done":true' "$1" | sed -n 's/.*"coverage_loss":\([0-9.e-]*\).*/\1/p'; }

train free --steps 100 --coverage-loss 1e-9 --json >free.json
train held --steps 100 --coverage-loss 2 --json >held.json
free=$(loss free.json) held=$(loss held.json)
echo "coverage loss: $held, without weight $free"
check "the loss falls" awk "BEGIN { exit !($held > 0 && $held < 0.7 * $free) }"
train plain --steps 10 --json >plain.json
check "without the option there is no loss" sh -c '! grep -q coverage_loss plain.json'

train whole --steps 30 --coverage-loss 0.5 --shards 2 --json >whole.json
check "shards report the loss" test -n "$(loss whole.json)"
train part --steps 20 --coverage-loss 0.5 --shards 2 --keep-checkpoint
code 1 "$program" train --resume --out part --steps 30 --threads 2 --coverage-loss 0.25
says "was made with coverage-loss 0.5, not coverage-loss 0.25"
code 0 "$program" train --resume --out part --steps 30 --threads 2
check "resumed: the same bits" cmp -s whole part
code 0 "$program" train --from held --data data.tsv --out tuned --steps 5 --coverage-loss 1 --json >tuned.json
check "a model is tuned with the loss" test -n "$(loss tuned.json)"

code 2 "$program" train --data data.tsv --layers 1 --width 32 --out none --steps 1 --coverage-loss 1
says "--coverage-loss needs --cross-score coverage"
code 0 "$program" train --data data.tsv --layers 1 --width 32 --out bare --steps 1
code 1 "$program" train --from bare --data data.tsv --out none --steps 1 --coverage-loss 1
says "no cross-attention with the score coverage"
code 2 "$program" train --data data.tsv --cross-score coverage --out none --coverage-loss -1
code 1 "$program" train --data data.tsv --layers 1 --width 32 --out none --steps 1 --cross-score coverage \
    --cross-normalizer argmax --coverage-loss 1
says "cross_normalizer argmax"
[ $failures -eq 0 ]
