#!/bin/sh
# toy_translate train --shards: model and checkpoint do not depend on the number of threads or on a stop; one
# shard is the same as a whole step; a run is resumed only with its own number of shards.
# usage: shards.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

synthetic_pairs 300 >all.tsv
head -n 280 all.tsv >train.tsv
tail -n 20 all.tsv >test.tsv
options="--data train.tsv --valid test.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 280
    --batch-tokens 256 --rate 0.02 --warmup 5 --dropout 0.3 --patience 0 --average 2 --keep-checkpoint
    --cross-normalizer sample"

# After the first step, batches of few sequences have empty shards.
for shards in 4 64; do
    code 0 "$program" train $options --shards $shards --threads 1 --force --out whole --steps 30
    code 0 "$program" train $options --shards $shards --threads 2 --force --out parts --steps 13
    code 0 "$program" train --resume --out parts --steps 30 --threads 1
    check "$shards shards, stopped: the same model" cmp whole parts
    check "$shards shards, stopped: the same checkpoint" cmp whole.checkpoint parts.checkpoint
done
code 1 "$program" train --resume --out parts --steps 40 --shards 8
says "shards 64, not shards 8"
code 2 "$program" train $options --shards 6 --out other
says "--shards 6 is not a power of two"

# The same parameters under different options.
digest() { "$program" score --model "$1" --data test.tsv --json; }
code 0 "$program" train $options --shards 1 --force --out one --steps 20
code 0 "$program" train $options --force --out none --steps 20
code 0 "$program" train $options --shards 2 --force --out two --steps 20
digest one >one.json
digest none >none.json
digest two >two.json
check "one shard is a step as a whole" cmp one.json none.json
cmp -s one.json two.json && fail "two shards train as one does"
code 1 "$program" train --resume --out none --steps 40 --shards 2
says "without shards 2"
[ $failures -eq 0 ]
