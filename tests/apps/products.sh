#!/bin/sh
# toy_translate train --products and --precision: the result of the measurement is reported and stored with the model,
# and a resumed run does not measure again; training in bf16 has the same bits for any number of threads.
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

# Products in bf16.
code 0 "$program" train $options --steps 8 --out bf16 --precision bf16
says "matrix products by bf16"
! cmp -s plain bf16 || fail "--precision bf16 changes nothing"
"$program" info bf16 >info.txt
grep -q "^  products  *bf16" info.txt || fail "info does not say who computed: $(cat info.txt)"
code 0 "$program" train $options --threads 2 --steps 8 --out same --precision bf16
check "the same bits with two threads" cmp bf16 same
code 0 "$program" train $options --steps 4 --out part --precision bf16
code 0 "$program" train $options --steps 8 --out part --precision bf16 --resume
check "the same bits after a resumption" cmp bf16 part
code 1 "$program" train $options --steps 9 --out part --precision f32 --resume
says "with precision bf16"
code 1 "$program" train $options --steps 8 --out both --precision bf16 --products openblas
says "omit --products"

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
