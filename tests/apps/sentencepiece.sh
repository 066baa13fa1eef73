#!/bin/sh
# toy_translate train --sentencepiece: the model file carries the SentencePiece model, so that it
# translates and goes on training without that file; a damaged file, one without an end token, and
# options that contradict it are refused.
# usage: sentencepiece.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

# A unigram model.
pieces() {
    piece '<unk>' 2
    piece '<s>' 3
    for letter in ▁ r e d b l u g n o t a ü ▁red ▁rot ▁blue ▁blau ▁green ▁grün; do piece "$letter" 1; done
}
{ pieces; piece '</s>' 3; } >vocabulary.spm
pieces >endless.spm
head -c 100 vocabulary.spm >cut.spm

awk 'BEGIN {
    split("red blue green", s); split("rot blau grün", t); x = 7
    for (n = 0; n < 200; n++) {
        a = b = ""
        for (i = 0; i < 1 + n % 3; i++) {
            x = (x * 1103 + 12345) % 65536; w = 1 + int(x / 16) % 3
            a = a (i ? " " : "") s[w]; b = b (i ? " " : "") t[w]
        }
        print a "\t" b
    }
}' >all.tsv

train() {
    "$program" train --data all.tsv --out model --layers 1 --width 16 --heads 2 --ffn-width 32 \
        --batch-tokens 256 --threads 1 --rate 0.01 --warmup 10 "$@" >out
}
code 0 train --epochs 2 --patience 0 --sentencepiece vocabulary.spm --keep-checkpoint
rm vocabulary.spm
code 0 train --epochs 40 --patience 0 --resume
"$program" info --model model --json >info || fail "info failed"
grep -q '"source_vocab": *22\b' info || { fail "not 22 tokens:"; cat info; }
printf 'red blue\n\n   \ngreen\n' | "$program" translate --model model >translated || fail "translate failed"
[ "$(wc -l <translated)" -eq 4 ] || { fail "not 4 lines:"; cat translated; }
[ "$(sed -n 4p translated)" = grün ] || { fail "green is not grün:"; cat translated; }
code 0 "$program" attend --model model 'red blue' >out

code 1 train --force --epochs 1 --sentencepiece endless.spm
says 'no end token'
code 1 train --force --epochs 1 --sentencepiece cut.spm
says 'cut.spm'
code 1 train --force --epochs 1 --sentencepiece missing.spm
says 'missing.spm'
code 2 train --epochs 1 --sentencepiece cut.spm --vocab 300
says 'excludes --vocab'
[ $failures -eq 0 ]
