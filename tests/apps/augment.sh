#!/bin/sh
# toy_translate train --augment: the same bits with any number of threads, with few pairs in memory, and when the
# run is resumed, which takes the noise from the checkpoint and refuses another. A model that was trained with
# capital letters translates them better, which evaluate --noise shows. Unknown noise is refused.
# usage: augment.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

synthetic_pairs 400 >data.tsv
head -100 data.tsv >test.tsv
synthetic_links data.tsv >links
train() { # OUT OPTION...
    out=$1
    shift
    code 0 "$program" train --data data.tsv --layers 1 --width 32 --heads 4 --ffn-width 64 --batch-tokens 512 \
        --rate 0.01 --warmup 20 --average 1 --vocab 300 --out "$out" "$@"
}

# 25 steps are several epochs.
options="--augment all,caps=.3 --guided-alignment links --shards 2"
train whole --threads 1 --steps 25 $options
train two --threads 2 --steps 25 $options
check "the same model with two threads" cmp -s whole two
train part --threads 2 --steps 12 $options --keep-checkpoint
code 2 "$program" train --resume --out part --steps 25 --augment kaps
code 1 "$program" train --resume --out part --steps 25 --augment caps=.4
says "augment caps=0.3,title=0.05,typos=0.05,tags=0.005,no-end-punctuation=0.2,concat=0.05"
code 0 "$program" train --resume --out part --steps 25
check "the same model when resumed" cmp -s whole part
code 1 "$program" train --data data.tsv --out small --memory-limit 0.001 $options
least() {
    sed -n 's/.* at least \([0-9.]*\) MB.*/\1/p' err
}
noisy=$(least)
code 1 "$program" train --data data.tsv --out small --memory-limit 0.001 --guided-alignment links --shards 2
check "the index takes more memory" awk -v noisy="$noisy" -v clean="$(least)" 'BEGIN { exit !(noisy > clean) }'
code 0 "$program" info whole --json >about
check "the noise is described" grep -q " augment caps=0.3,title=0.05" about
train other --threads 2 --steps 25 $options --seed 2
cmp -s whole other && fail "another seed gives the same model"

train clean --threads 2 --steps 300
train caps --threads 2 --steps 300 --augment caps=.3
exact() { # MODEL: the share of sentences in capital letters that are translated exactly, in %, rounded down
    code 0 "$program" evaluate --model "$1" --data test.tsv --noise caps --bootstrap 0 >table
    awk '$1 == "caps" { print int($5) }' table
}
clean=$(exact clean) caps=$(exact caps)
echo "capital letters translated exactly: $caps %, without --augment $clean %"
check "better than without" test "$caps" -ge $((clean + 25))

# The table
code 0 "$program" evaluate --model caps --data test.tsv --noise all,caps=.5 --json >table
check "changed pairs" python3 -c '
import json
noise = json.load(open("table"))["noise"]
assert list(noise) == ["none", "caps", "title", "typos", "tags", "no-end-punctuation", "concat"], noise
assert noise["none"]["changed"] == noise["no-end-punctuation"]["changed"] == 0
assert 25 < noise["caps"]["changed"] < 75
assert all(noise[kind]["changed"] == 100 for kind in ("title", "typos", "tags", "concat"))
assert noise["none"] == noise["no-end-punctuation"]
assert all(0 <= noise[kind][score] <= 100 for kind in noise for score in ("bleu", "chrf", "exact"))'
code 2 "$program" evaluate --hypotheses test.tsv --data test.tsv --noise caps
says "--noise needs --model"
code 2 "$program" evaluate --model caps --data test.tsv --noise typo
says "did you mean 'typos'?"
code 2 "$program" train --data data.tsv --out never --augment caps=2
says "the rate must be a number from 0 to 1"
[ $failures -eq 0 ]
