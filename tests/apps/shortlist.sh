#!/bin/sh
# toy_translate shortlist: the shortlist that a small model learns from its own attention contains the words of
# the right translations, and the model translates as well with it. A text file works too; damaged files are
# refused. usage: shortlist.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

synthetic_pairs 300 >data.tsv
cut -f1 data.tsv | head -60 >source
code 0 "$program" train --data data.tsv --out model --vocab 290 --layers 1 --width 32 --heads 2 --ffn-width 64 --steps 400 \
    --batch-tokens 512 --rate 0.01 --warmup 20 --threads 1
code 0 "$program" shortlist --model model --data data.tsv --output lex.bin --first 3 --best 10 --threads 2 --json >learned
value() { # NAME FILE
    sed "s/.*\"$1\": *\([0-9.]*\).*/\1/" "$2"
}
check "the words of the pairs are in it" awk "BEGIN { exit !($(value coverage learned) > 99) }"
check "and few others" awk "BEGIN { exit !($(value candidates learned) < 60) }"
code 0 "$program" evaluate --model model --data data.tsv --threads 1 --bootstrap 0 --json >whole
code 0 "$program" evaluate --model model --data data.tsv --threads 1 --bootstrap 0 --json --shortlist lex.bin >listed
check "translations are as good" awk "BEGIN { exit !($(value bleu listed) > $(value bleu whole) - 2) }"
check "and good" awk "BEGIN { exit !($(value bleu whole) > 60) }"
code 0 "$program" translate --lines --model model --threads 1 --shortlist lex.bin source >batches
code 0 "$program" translate --lines --model model --threads 2 --batch-tokens 1 --shortlist lex.bin source >out
check "one sentence per batch: the same" cmp -s batches out

printf 'x y 0.5\nz y 1e-2\n' >lex.txt
code 0 "$program" translate --lines --model model --threads 1 --shortlist lex.txt source >out
check "a lexicon of three words leaves others out" sh -c '! cmp -s batches out'
printf 'x y\n' >bad.txt
code 1 "$program" translate --lines --model model --shortlist bad.txt source
says "line 1"
: >empty.txt
printf 'hund qqq 0.5\n' >useless.txt
for list in empty useless; do
    code 1 "$program" translate --lines --model model --shortlist $list.txt source
    says "no line has a token of each vocabulary"
done
head -c 100 lex.bin >cut.bin
code 1 "$program" translate --lines --model model --shortlist cut.bin source
says "its size does not match"
code 2 "$program" shortlist --model model --data data.tsv
says "--output is missing"
[ $failures -eq 0 ]
