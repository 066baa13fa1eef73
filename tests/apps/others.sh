#!/bin/sh
# Models, settings and vocabularies that other projects made.
# usage: others.sh PROGRAM CASE; RAPT_DATA: the folder of models of others
. "$(dirname "$0")/kit/script.sh"

# toy_translate with a folder of another project: info describes it, and translate uses it.
test_import() {
    model=${RAPT_DATA:-missing}/models/ct2-aren/aren-transliteration
    if ! [ -r "$model/model.bin" ]; then
        echo "skipped: apps/import: RAPT_DATA is not a folder with models"
        exit 77
    fi
    code 0 "$program" info "$model" >out
    check "info: whose it is" grep -qx "  origin  *CTranslate2 model.bin, version 2, TransformerBase 2" out
    check "info: how sources end" grep -qx "  no_source_end  *1" out
    echo "آ ت ز م و ن" >source
    for precision in "" -i16 -i8; do
        code 0 "$program" translate --lines --model "$model$precision" source >out
        check "translate$precision" [ "$(cat out)" = "a t z m o n" ]
    done
    code 0 "$program" translate --lines --model "$model/model.bin" source >out
    check "translate with the file in it" [ "$(cat out)" = "a t z m o n" ]
    code 0 "$program" attend --model "$model" "آ ت ز م و ن" >out 2>err
    check "no word of a model of others is called unseen" [ "$(cat out err | grep -cE 'never seen|\?')" -eq 0 ]
    code 0 "$program" translate --lines --model "$model" --beam 4 --nbest 4 --scores source >out
    check "an n-best list" [ "$(wc -l <out)" -eq 4 ]
    check "its scores" grep -qx "0 ||| a t z m o n ||| -0.1517" out
    printf 'آتزمون\n' >raw
    code 0 "$program" translate --lines --model "$model" raw >out
    says "1 of 1 tokens are not in its vocabulary, so the translation is arbitrary. The model has no tokenizer"
    code 0 "$program" attend --model "$model" "آتزمون" >out
    says "give tokens separated by spaces"
    mkdir empty
    code 1 "$program" translate --lines --model empty source
    says "empty: the folder has no weights file, such as model.safetensors, pytorch_model.bin, model.bin or model.npz; it has no files"
    echo '{"model_type": "marian"}' >empty/config.json
    touch empty/source.spm
    code 1 "$program" translate --lines --model empty source
    says "it has source.spm, config.json"
    code 1 "$program" translate --lines --model empty/config.json source
    says "config.json: byte 14: this is neither a model nor an index of shards"
}

# toy_translate with folders as Mozilla ships them and Marian leaves them: files of gzip and other files beside the model,
# which info names; the length limit of the settings; the choice between models.
test_folder() {
    data=${RAPT_DATA:-missing}/models/firefox-tiny-enpt
    if ! [ -r "$data/vocab.enpt.spm" ]; then
        echo "skipped: apps/folder: RAPT_DATA is not a folder with models"
        exit 77
    fi
    mkdir moz
    for file in model.enpt.intgemm.alphas.bin vocab.enpt.spm lex.50.50.enpt.s2t.bin; do
        gzip -1c "$data/$file" >moz/$file.gz
    done
    echo '{}' >moz/metadata.json
    for file in qualityModel.enpt.bin training_args.bin optimizer.bin model.enpt.intgemm.bin; do echo x >moz/$file; done
    head -20 "$data/expected.en" >source
    translate() {
        code 0 "$program" translate --lines --beam 1 --length-penalty 1 --threads 1 "$@" source
    }

    # ---- what info says ----
    if ! "$program" info moz >out 2>err && grep -q "without zlib" err; then
        echo "skipped: apps/folder: built without zlib"
        exit 77
    fi
    code 0 "$program" info moz >out
    check "info: the model" grep -qx "  model  *model.enpt.intgemm.alphas.bin.gz: the only model" out
    check "info: the vocabulary" grep -qx "  vocabulary  *vocab.enpt.spm.gz" out
    check "info: the shortlist" grep -qx "  shortlist  *lex.50.50.enpt.s2t.bin.gz: a lexical shortlist, used on request" out
    check "info: training state" grep -qx "  ignored  *optimizer.bin: training state" out
    check "info: the model without alphas" grep -qx "  ignored  *model.enpt.intgemm.bin: another model" out
    check "info: all else" grep -qx "  ignored  *metadata.json: not needed" out
    check "info: no factor" [ "$(grep -c max_length_factor out)" -eq 0 ]
    code 0 "$program" info moz --json >out
    check "info --json: the shortlist" grep -q '"name":"lex.50.50.enpt.s2t.bin.gz","use":"shortlist"' out

    # ---- the same text ----
    translate --model moz >out
    head -20 "$data/expected.pt" >wanted
    check "the same lines" cmp -s out wanted
    translate --model moz --shortlist moz/lex.50.50.enpt.s2t.bin.gz >out
    head -20 "$data/expected.shortlist.pt" >wanted
    check "the same lines with the shortlist" cmp -s out wanted
    check "the shortlist changes a line of all" [ "$(cmp -s "$data/expected.pt" "$data/expected.shortlist.pt"; echo $?)" -eq 1 ]

    # ---- the length limit ----
    i=0
    while [ $i -lt 40 ]; do printf 'I am happy and '; i=$((i + 1)); done >source
    translate --model moz >3
    translate --model moz --max-length-factor 2 >2
    check "a factor of 2 is shorter" [ "$(wc -c <2)" -lt "$(wc -c <3)" ]
    printf 'models:\n  - model.enpt.intgemm.alphas.bin\nvocabs: [vocab.enpt.spm, vocab.enpt.spm]\nmax-length-factor: 2\n' >moz/config.yml
    translate --model moz >out
    check "that of the settings" cmp -s out 2
    translate --model moz --max-length-factor 3 >out
    check "the option wins" cmp -s out 3
    printf 'beam-size: 3\nnormalize: 0.6\nword-penalty: 0.1\n' >>moz/config.yml
    code 0 "$program" info moz >out
    check "info: the beam size" grep -qx "  beams  *3" out
    check "info: the normalization" grep -qx "  length_penalty  *0.6" out
    check "info: what is not followed" grep -qx "  not followed  *word-penalty 0.1" out
    code 0 "$program" translate --lines --model moz --threads 1 --json source >out
    says "moz: its settings for decoding include some that are not followed: word-penalty 0.1"
    code 0 "$program" translate --lines --model moz --threads 1 --beam 3 --length-penalty 0.6 --json source >wanted
    check "the settings are the defaults" cmp -s out wanted
    translate --model moz --json >wanted
    check "options win" [ "$(cmp -s out wanted; echo $?)" -eq 1 ]
    code 2 "$program" translate --lines --model moz --nbest 4 source
    says "translate: --nbest 4 is more than the model's beam size, 3: give --beam"
    code 0 "$program" info moz >out
    check "info: the settings" grep -qx "  settings  *config.yml" out
    check "info: the factor" grep -qx "  max_length_factor  *2" out
    code 0 "$program" convert --model moz --out my
    translate --model my >out
    check "a converted model keeps it" cmp -s out 2

    # ---- two models ----
    cp moz/model.enpt.intgemm.alphas.bin.gz moz/other.bin.gz
    translate --model moz >out
    check "the settings choose" cmp -s out 2
    rm moz/config.yml
    code 1 "$program" translate --lines --model moz source
    says "the folder has more than one model, other.bin.gz and model.enpt.intgemm.alphas.bin.gz; give the path"
    translate --model moz/other.bin.gz >out
    check "a path chooses" cmp -s out 3
    head -c 100000 moz/other.bin.gz >moz/cut.bin.gz
    code 1 "$program" translate --lines --model moz/cut.bin.gz source
}

# Compares the translations of a student of Firefox, in RAPT_DATA as it is shipped, with those that
# Marian computed in float32, without and with the shortlist.
test_student() {
    model=${RAPT_DATA:-missing}/models/firefox-tiny-enpt
    if ! [ -r "$model/expected.en" ]; then
        echo "skipped: apps/student: RAPT_DATA is not a folder with models"
        exit 77
    fi
    for kind in "" .shortlist; do
        code 0 "$program" translate --lines --model "$model" --beam 1 --precision f32 --max-length-factor 2 ${kind:+--shortlist "$model/lex.50.50.enpt.s2t.bin"} \
            "$model/expected.en" >out
        check "the texts of Marian ($(cmp out "$model/expected$kind.pt" 2>&1))" cmp -s out "$model/expected$kind.pt"
    done
}

# toy_translate train --sentencepiece: the model file contains the SentencePiece model, so translating and
# resuming do not need that file. A damaged file, one without an end token, and conflicting options are refused.
# Two files give two vocabularies. Also --preprocess opus.
test_sentencepiece() {
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

    # SentencePiece normalizes white space; a vocabulary that train learns keeps it (inspect.sh).
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
}

run_test "$@"
