#!/bin/sh
# toy_translate train --sentencepiece: the model file contains the SentencePiece model, so translating and
# resuming do not need that file. A damaged file, one without an end token, and conflicting options are refused.
# Two files give two vocabularies. Also --preprocess opus.
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
for file in missing.spm cut.spm; do
    code 1 train --epochs 3 --patience 0 --resume --sentencepiece $file
    says $file
done
{ pieces; piece '</s>' 3; piece x 1; } >other.spm
code 1 train --epochs 3 --patience 0 --resume --sentencepiece other.spm
says "model.checkpoint was made with a different vocabulary"
code 1 train --epochs 3 --patience 0 --resume --sentencepiece vocabulary.spm --sentencepiece-target vocabulary.spm
says "was made with separate 0, not separate 1"
code 0 train --epochs 3 --patience 0 --resume --sentencepiece vocabulary.spm --keep-checkpoint
rm vocabulary.spm
code 0 train --epochs 40 --patience 0 --resume
"$program" info --model model --json >info || fail "info failed"
grep -q '"source_vocab": *22\b' info || { fail "not 22 tokens:"; cat info; }
printf 'red blue\n\n   \ngreen\n' | "$program" translate --lines --model model >translated || fail "translate failed"
[ "$(wc -l <translated)" -eq 4 ] || { fail "not 4 lines:"; cat translated; }
[ "$(sed -n 4p translated)" = grün ] || { fail "green is not grün:"; cat translated; }
code 0 "$program" attend --model model 'red blue' >out

# SentencePiece normalizes white space; a vocabulary that train learns keeps it (attend.sh).
printf '  red   blue \n' | "$program" tokenize --ids --model model | "$program" detokenize --model model >again
[ "$(cat again)" = "red blue" ] || fail "white space with SentencePiece: '$(cat again)'"

# Full-width and control characters are not pieces, unless the text is preprocessed as for OPUS-MT.
printf '\tgreen\302\255 \n' >odd
code 0 "$program" translate --lines --model model --preprocess opus odd >translated
check "a prepared text is translated" [ "$(cat translated)" = grün ]
code 0 "$program" translate --lines --model model odd >translated
check "as it is, it is another text" [ "$(cat translated)" != grün ]

# Two files, one for each side; the model file contains both.
pieces_of() { # WORD...
    piece '<unk>' 2
    piece '<s>' 3
    piece '</s>' 3
    for letter in ▁ "$@"; do piece "$letter" 1; done
}
pieces_of r e d b l u g n ▁red ▁blue ▁green >source.spm
pieces_of r o t b l a u g n ü ▁rot ▁blau ▁grün >target.spm
code 0 train --force --epochs 2 --patience 0 --sentencepiece source.spm --sentencepiece-target target.spm --keep-checkpoint
code 1 train --epochs 3 --patience 0 --resume --sentencepiece target.spm
says "model.checkpoint was made with a different vocabulary"
code 0 train --epochs 3 --patience 0 --resume --sentencepiece source.spm --sentencepiece-target target.spm --keep-checkpoint
rm source.spm
code 0 train --epochs 40 --patience 0 --resume
code 0 "$program" info --model model --json >info
grep -q '"source_vocab": *15\b' info && grep -q '"target_vocab": *17\b' info || { fail "not 15 and 17 tokens:"; cat info; }
code 0 "$program" convert --model model --to packed --out packed
printf 'green\n' >green
for file in model packed; do
    code 0 "$program" translate --lines --model $file green >translated
    check "two vocabularies translate ($file)" [ "$(cat translated)" = grün ]
done
code 2 train --force --epochs 1 --sentencepiece-target target.spm
says 'needs --sentencepiece'
code 1 train --force --epochs 1 --sentencepiece target.spm --sentencepiece-target endless.spm
says 'endless.spm: the vocabulary has no end token'

code 1 train --force --epochs 1 --sentencepiece endless.spm
says 'no end token'
code 1 train --force --epochs 1 --sentencepiece cut.spm
says 'cut.spm'
code 1 train --force --epochs 1 --sentencepiece missing.spm
says 'missing.spm'
code 2 train --epochs 1 --sentencepiece cut.spm --vocab 300
says 'cannot be combined with --vocab'
[ $failures -eq 0 ]
