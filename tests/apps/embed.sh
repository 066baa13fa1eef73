#!/bin/sh
# embed, similarity and rerank, with the encoder of a small translator: the forms of output, the order of lines, and what
# is refused. exchange/bert.py compares the numbers of sentence encoders with other programs.
# usage: embed.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

synthetic_pairs 100 >all.tsv
code 0 "$program" train --data all.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 280 --batch-tokens 256 \
    --epochs 1 --threads 1 --out model
printf 'red old new\nblue\n\nred old new\r\nold house\n' >texts

# One vector of 16 numbers a line; the same text gives the same vector, also in another batch.
code 0 "$program" embed --model model texts >vectors
check "a vector for each line" [ "$(awk 'NF == 16' vectors | wc -l)" -eq 5 ]
check "the same text" [ "$(sed -n 1p vectors)" = "$(sed -n 4p vectors)" ]
code 0 "$program" embed --model model --batch-tokens 1 --threads 1 <texts >again
check "from standard input, in other batches" cmp vectors again
code 0 "$program" embed --model model --json texts >json
check "JSON" grep -q '^{"line":5,"embedding":\[[-0-9.e,]*\]}$' json
code 0 "$program" embed --model model --normalize yes texts >unit
check "norms are 1" awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; if (s < 0.99999 || s > 1.00001) exit 1 }' unit
code 0 "$program" embed --model model --npy --output vectors.npy texts
check "an array of 5 x 16 floats" [ "$(wc -c <vectors.npy)" -eq $((128 + 5 * 16 * 4)) ]
check "with NumPy's header" grep -aq "'fortran_order': False, 'shape': (5, 16)" vectors.npy
for precision in f32 bf16 int8; do
    code 0 "$program" embed --model model --precision $precision texts >"$precision"
    code 0 "$program" convert --force --model model --precision $precision --out packed
    code 0 "$program" embed --model packed texts >converted
    check "$precision: the vectors of a converted model" cmp "$precision" converted
done
check "f32: the stored precision" cmp f32 vectors
check "bf16 and int8: other vectors" [ "$(cat f32 bf16 int8 | sed -n '1p;6p;11p' | sort -u | wc -l)" -eq 3 ]
code 0 "$program" embed --model model </dev/null >none
check "no lines, no vectors" [ ! -s none ]

# Cosines of pairs, and lines by their cosine to a query.
printf 'red old new\tred old new\nred old new\tblue\n' >pairs
code 0 "$program" similarity --model model pairs >cosines
check "equal texts" [ "$(sed -n 1p cosines)" = 1.000000 ]
check "other texts" awk 'NR == 2 && ($1 < -1 || $1 >= 1) { bad = 1 } END { exit bad || NR != 2 }' cosines
code 0 "$program" similarity --model model --query "red old new" texts >ranked
check "the most similar first, equal ones in order" [ "$(cut -f 2 ranked | head -n 2 | sort -u)" = "red old new" ]
check "in falling order" sort -c -s -t "$(printf '\t')" -k 1,1gr ranked
code 0 "$program" similarity --model model --query "red old new" --top 2 --json texts >top
check "only two" [ "$(grep -c '"score":1.0' top)" -eq 2 ]

# Refusals.
code 1 "$program" similarity --model model texts
says "line 1 has no tab"
code 1 "$program" rerank --model model --query red texts
says "rerank needs a classifier of one class"
code 2 "$program" rerank --model model texts
says "rerank: --query is missing"
code 2 "$program" embed texts
says "embed: --model is missing"
code 2 "$program" embed --model model --json --npy texts
says "not both"
code 2 "$program" similarity --model model --top 3 pairs
says "--top needs --query"
code 1 "$program" embed --model nothing texts
says "nothing"
printf '\037\213rest' >packed.gz
code 1 "$program" embed --model model packed.gz
says "packed.gz: "
"$program" embed --model model texts >named 2>err
"$program" embed --model model - <texts 2>err | cmp named - || fail "embed -"
[ $failures -eq 0 ]
