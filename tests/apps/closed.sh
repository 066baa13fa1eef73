#!/bin/sh
# If standard files are closed, what a program prints does not get into the files that it opens.
# usage: closed.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

synthetic_pairs 100 >all.tsv
code 0 "$program" train --data all.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 270 --epochs 1 \
    --threads 1 --out model
printf 'red\nold \303(\nzyzzyva\n' >bad
"$program" translate --model model --threads 1 bad --output wanted 2>messages
check "messages of a wrong line and an unknown word" [ "$(grep -c 'UTF-8\|zyzzyva' messages)" -eq 2 ]
for closed in '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    rm -f out
    eval "\"\$program\" translate --model model --threads 1 bad --output out $closed"
    check "the output with $closed" cmp wanted out
done
eval "\"\$program\" translate --model model --threads 1 bad >&- 2>messages"
check "a closed output is an error" [ $? -eq 1 ]
check "the error is reported" grep -q 'standard output' messages
[ $failures -eq 0 ]
