#!/bin/sh
# toy_translate train --products: the result of the measurement is reported and stored with the model, and a
# resumed run does not measure again.
# usage: products.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

synthetic_pairs 300 >all.tsv
head -n 280 all.tsv >train.tsv
tail -n 20 all.tsv >test.tsv
options="--data train.tsv --valid test.tsv --layers 1 --width 64 --heads 2 --ffn-width 512 --vocab 300
    --batch-tokens 512 --warmup 5 --patience 0 --threads 1 --keep-checkpoint"

code 0 "$program" train $options --steps 8 --out plain
code 0 "$program" train $options --steps 8 --out named --products builtin
check "builtin is the default" cmp plain named
"$program" info plain >plain.txt
! grep -q "^  products" plain.txt || fail "info tells what is always so"

if ! "$program" train $options --steps 8 --out blas --products openblas >blas.txt 2>&1; then
    grep -q OpenBLAS blas.txt || fail "--products openblas: $(cat blas.txt)"
    echo "skipped: apps/products: $(tail -n 1 blas.txt)"
    [ $failures -eq 0 ]
    exit
fi
grep -q "^matrix products by OpenBLAS: all large products$" blas.txt || fail "train does not say who computes: $(cat blas.txt)"
"$program" info blas >info.txt
grep -q "^  products  *OpenBLAS: all large products$" info.txt || fail "info does not say who computed: $(cat info.txt)"

# Resumed twice with the results of one measurement.
code 0 "$program" train $options --steps 4 --out one --products auto
for file in one one.checkpoint*; do cp "$file" "two${file#one}"; done
code 0 "$program" train $options --steps 8 --out one --products auto --resume
code 0 "$program" train $options --steps 8 --out two --products auto --resume
check "the same products after each resumption" cmp one two
code 2 "$program" train $options --steps 8 --out one --products fast
code 1 "$program" train $options --steps 9 --out one --products builtin --resume
says "with products auto"
[ $failures -eq 0 ]
