#!/bin/sh
# toy_translate convert: a model trained for Marian is written to a folder that Marian reads, and read again
# with the same translations; what Marian cannot represent is refused; a copy in our own format is identical.
# usage: convert.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

# A unigram model, written as the bytes of its protobuf: all pieces have the same score.
byte() {
    printf "\\$(printf %03o "$1")"
}
piece() { # TEXT TYPE
    size=$(printf %s "$1" | wc -c)
    byte 10; byte $((size + 4)); byte 10; byte "$size"; printf %s "$1"; byte 24; byte "$2"
}
{
    piece '</s>' 3
    piece '<unk>' 2
    for letter in ▁ r e d b l u g n o t a w i ü ß ▁red ▁rot ▁blue ▁blau ▁green ▁grün ▁old ▁alt ▁new ▁neu ▁big ▁groß; do
        piece "$letter" 1
    done
} >vocabulary.spm
{ cat vocabulary.spm; piece x 1; piece y 1; } >vocabulary32.spm
synthetic_pairs 200 >data.tsv
cut -f1 data.tsv | head -30 >source

pieces=vocabulary.spm
train() { # OUT OPTION...
    out=$1
    shift
    code 0 "$program" train --data data.tsv --out "$out" --sentencepiece $pieces --layers 1 --width 16 --heads 2 \
        --ffn-width 16 --steps 20 --threads 1 "$@"
}
for kind in none ssru; do
    train model.$kind --position concatenated-n1 --decoder-start zero --norm-epsilon 1e-6 --decoder-recurrence $kind \
        --output-bias
    code 0 "$program" convert --model model.$kind --to marian --out marian.$kind
    check "the vocabulary is the one it was trained with" cmp -s vocabulary.spm marian.$kind/vocab.spm
    code 0 "$program" translate --lines --model model.$kind --threads 1 source >wanted
    code 0 "$program" translate --lines --model marian.$kind --like rapt --threads 1 source >got
    check "the same translations ($kind)" cmp -s wanted got
    code 0 "$program" translate --lines --model model.$kind --like marian --threads 1 source >wanted.marian
    code 0 "$program" translate --lines --model marian.$kind --threads 1 source >got
    check "by itself as Marian translates ($kind)" cmp -s wanted.marian got
    code 0 "$program" info marian.$kind >got
    check "info says whose it is" grep -q "^  origin  *Marian " got
    code 0 "$program" convert --model marian.$kind --out own --force
    code 0 "$program" translate --lines --model own --like rapt --threads 1 source >got
    check "the same translations of our own file ($kind)" cmp -s wanted got
    code 1 "$program" convert --model model.$kind --to bergamot --out bergamot.$kind
    says "target_vocab must be a multiple of 8, such as 24 or 32, not 30"
    pieces=vocabulary32.spm
    train narrow.$kind --position concatenated-n1 --decoder-start zero \
        --norm-epsilon 1e-6 --decoder-recurrence $kind --output-bias
    pieces=vocabulary.spm
    code 0 "$program" convert --model narrow.$kind --to bergamot --out bergamot.$kind
    check "8 bits take less" [ "$(wc -c <bergamot.$kind/model.bin)" -lt "$(wc -c <marian.$kind/model.bin)" ]
    code 0 "$program" translate --lines --model bergamot.$kind --threads 1 source >got
    check "8 bits translate" [ "$(wc -l <got)" -eq 30 ]
done
# A folder for Firefox, whose engines need scales of activations, and the options that make such a model.
languages="--source-lang en --target-lang de"
code 0 "$program" train --for firefox --data data.tsv --out student --sentencepiece vocabulary32.spm --layers 1 --width 16 \
    --heads 2 --ffn-width 16 --steps 20 --threads 1
code 0 "$program" convert --model student --to bergamot --out unmeasured
check "no scales were measured" sh -c '! grep -q none_QuantMultA unmeasured/model.bin'
code 0 "$program" convert --model student --to bergamot --calibrate source --out measured
check "scales were measured" grep -q none_QuantMultA measured/model.bin
code 0 "$program" shortlist --model student --data data.tsv --output student.lex
code 0 "$program" convert --model student --to firefox --calibrate source $languages --shortlist student.lex --out firefox
check "Mozilla's names" [ "$(ls firefox | tr '\n' ' ')" = "config.yml lex.50.50.ende.s2t.bin metadata.json model.ende.intgemm.alphas.bin vocab.ende.spm " ]
check "the same model" cmp -s measured/model.bin firefox/model.ende.intgemm.alphas.bin
check "the same shortlist" cmp -s student.lex firefox/lex.50.50.ende.s2t.bin
code 0 "$program" translate --lines --model measured --beam 1 --max-length-factor 2 --threads 1 source >wanted
code 0 "$program" translate --lines --model firefox --threads 1 source >got
check "opened as it was written" cmp -s wanted got
check "without a word about its settings" [ ! -s err ]
code 0 "$program" convert --model firefox --to firefox $languages --out again
check "it can be written again" cmp -s again/model.ende.intgemm.alphas.bin firefox/model.ende.intgemm.alphas.bin
rm -r again
check "the hash of the model" grep -q "\"hash\": \"$(sha256sum <firefox/model.ende.intgemm.alphas.bin | cut -d' ' -f1)\"" firefox/metadata.json
if "$program" convert --model firefox --to firefox $languages --shortlist student.lex --gzip --out packed 2>err; then
    check "compressed names" [ "$(ls packed | tr '\n' ' ')" = "config.yml lex.50.50.ende.s2t.bin.gz metadata.json model.ende.intgemm.alphas.bin.gz vocab.ende.spm.gz " ]
    for file in lex.50.50.ende.s2t.bin model.ende.intgemm.alphas.bin vocab.ende.spm; do
        gzip -dc <packed/$file.gz >unpacked
        check "gzip reads $file.gz" cmp -s unpacked firefox/$file
    done
    check "the same metadata" cmp -s packed/metadata.json firefox/metadata.json
    code 0 "$program" translate --lines --model packed --threads 1 source >got
    check "opened compressed" cmp -s wanted got
    rm -r packed unpacked
else
    says "gzip must be 0, since rapt was built without zlib"
fi
code 2 "$program" convert --model student --to ct2 --gzip --out nothing
says "--gzip is only for --to firefox"
code 1 "$program" convert --model student --to firefox $languages --out nothing
says "cannot export this model to Firefox: alphas must be in the model's metadata: calibrate the model first"
echo >blank
code 1 "$program" convert --model student --to firefox $languages --calibrate blank --out nothing
says "blank: calibration needs at least one text with a word"
code 1 "$program" convert --model narrow.none --to firefox $languages --calibrate source --out nothing
says "decoder_recurrence must be ssru"
check "nothing is left" [ ! -e nothing ]
code 2 "$program" convert --model student --to firefox --calibrate source --out nothing
says "--to firefox needs --source-lang and --target-lang"
code 2 "$program" convert --model student --to ct2 --calibrate source --out nothing
says "--calibrate is only for --to firefox and --to bergamot"
code 2 "$program" convert --model student --to bergamot --source-lang en --out nothing
says "--source-lang is only for --to firefox"
code 1 "$program" train --for firefox --data data.tsv --out nothing --sentencepiece vocabulary.spm --width 24 --heads 2 \
    --activation silu --decoder-recurrence none --score additive --steps 20
says "--for firefox: cannot export this model to Firefox: "
for reason in "self_score must be left at its default" "target_vocab must be a multiple of 8, such as 24 or 32, not 30" \
    "width must be a multiple of 16, such as 16 or 32, not 24" "activation must be relu" "decoder_recurrence must be ssru"; do
    says "$reason"
done
code 2 "$program" train --for firefox --data data.tsv --out nothing
says "train: --for firefox needs --sentencepiece"
for project in marian hf ct2; do
    code 0 "$program" train --for $project --data data.tsv --out for.$project --sentencepiece vocabulary.spm --layers 1 \
        --width 16 --heads 2 --ffn-width 16 --steps 2 --threads 1
    code 0 "$program" convert --model for.$project --to $project --out folder.$project
    code 0 "$program" translate --lines --model folder.$project --like rapt --threads 1 source >got
    check "translates ($project)" [ "$(wc -l <got)" -eq 30 ]
done
# The same for Hugging Face and CTranslate2.
train model.both --position concatenated --decoder-start zero
code 0 "$program" translate --lines --model model.both --threads 1 source >wanted
for format in hf ct2; do
    code 0 "$program" convert --model model.both --to $format --out $format
    check "the pieces are those it was trained with ($format)" cmp -s vocabulary.spm $format/target.spm
    code 0 "$program" translate --lines --model $format --like rapt --threads 1 source >got
    check "the same translations ($format)" cmp -s wanted got
    code 0 "$program" convert --model $format --to $format --out again
    code 0 "$program" translate --lines --model again --like rapt --threads 1 source >got
    check "the same translations of what was opened and written again ($format)" cmp -s wanted got
    rm -r again
done
# A model that was tuned from a folder, whose settings become metadata, does not depend on interruptions.
tune() { # OPTION...
    code 0 "$program" train --from hf --data data.tsv --valid data.tsv --patience 0 --schedule constant --force --threads 1 "$@"
}
tune --steps 4 --out tuned
tune --steps 2 --keep-checkpoint --out parts
code 0 "$program" train --resume --out parts --steps 4 --threads 1
check "tuned: the same file after an interruption" cmp tuned parts
check "tuned: the settings of the folder" grep -q rapt.beams tuned
code 0 "$program" info hf >got
check "info says that it is MarianMT" grep -q "^  origin  *MarianMT (Hugging Face), safetensors" got
code 0 "$program" info ct2 >got
check "info says that it is CTranslate2's" grep -q "^  origin  *CTranslate2 model.bin, version 6" got
cp -r hf part
for file in vocab.json source.spm config.json; do
    mv part/$file away
    code 1 "$program" info part
    says "toy_translate: part/$file cannot be opened: No such file or directory"
    mv away part/$file
done
# A folder of tokens in CTranslate2's format whose sources have no end token: attention by token.
cp -r ct2 tokens
rm tokens/*.spm
sed -i 's/"add_source_eos": true/"add_source_eos": false/; s/"decoder_start_token": "[^"]*"/"decoder_start_token": "<unk>"/' tokens/config.json
code 0 "$program" attend --model tokens --json "▁red ▁old ▁new" --target "▁neu ▁alt" >got
check "words of a list, without an end of the source" grep -q '"source":\["▁red","▁old","▁new"\],"target":\["▁neu","▁alt","(end)"\]' got
code 0 "$program" attend --model tokens --json --self encoder "▁red ▁old ▁new" >got
check "words that attend to one another" grep -q '"source":\["▁red","▁old","▁new"\],"target":\["▁red","▁old","▁new"\]' got
code 0 "$program" translate --lines --model tokens --alignments source >got
echo "red old new" >raw
code 0 "$program" translate --lines --model tokens raw >got
says 'tokens: 3 of 3 tokens are not in its vocabulary, so the translation is arbitrary'
says 'such as "▁The ▁house", which spm_encode gives; or copy its SentencePiece models into the folder'
printf 'red old new\tneu alt\n' >pairs.raw
code 0 "$program" evaluate --model tokens --data pairs.raw >got
says 'tokens: 3 of 3 tokens are not in its vocabulary, so the scores are meaningless'
code 0 "$program" score --model tokens --data pairs.raw >got
says 'tokens: 2 of 2 tokens are not in its vocabulary, so the scores are meaningless'
echo "▁red ▁old ▁new" >raw
printf '▁red ▁old ▁new\t▁neu ▁alt\n' >pairs.raw
code 0 "$program" translate --lines --model tokens raw >got
check "no warning about tokens" [ ! -s err ]
for command in evaluate score; do
    code 0 "$program" $command --model tokens --data pairs.raw >got
    check "$command: no warning about tokens" [ "$(grep -c vocabulary err)" -eq 0 ]
done
code 1 "$program" convert --model model.ssru --to ct2 --out nothing
says "decoder_recurrence must be left at its default"
check "no folder is left" [ ! -e nothing ]
train plain
code 0 "$program" convert --model plain --to packed --out packed
check "a packed file is another one" sh -c '! cmp -s plain packed'
code 0 "$program" translate --lines --model plain --threads 1 source >wanted
code 0 "$program" translate --lines --model packed --threads 1 source >got
check "the same translations of a packed file" cmp -s wanted got
code 0 "$program" convert --model packed --out again
check "the plain file again" cmp -s plain again
code 1 "$program" convert --model plain --to marian --out nothing
says "cannot export this model to Marian: position must be concatenated-n1; decoder_start must be zero; norm_epsilon must be 1e-6"
code 2 "$program" convert --model plain --to marian
says "--out is missing"
code 2 "$program" convert --out nothing
says "--model is missing"
# Existing files are replaced only with --force.
cp again another
code 1 "$program" convert --model packed --out another
says "another exists; --force replaces it"
mkdir settled
echo mine >settled/config.json
code 1 "$program" convert --model model.both --to ct2 --out settled
says "settled is not empty; --force"
check "nothing was written" [ "$(cat settled/config.json)" = mine -a "$(ls settled)" = config.json ]
check "nor replaced" cmp -s again another
code 0 "$program" convert --model packed --out another --force
code 0 "$program" convert --model model.both --to ct2 --out settled --force
code 0 "$program" translate --lines --model settled --like rapt --threads 1 source >got
check "--force replaces the model of a folder" [ "$(wc -l <got)" -eq 30 ]
mkdir empty
code 0 "$program" convert --model model.both --to ct2 --out empty
# A model of another format is not mixed with the new one, and nothing in its folder changes.
train model.other --position concatenated --decoder-start zero --seed 2
code 0 "$program" translate --lines --model model.other --threads 1 source >wanted
contents() {
    (cd "$1" && md5sum -- *)
}
refuses() { # MODEL FORMAT FOLDER FILE
    cp -r "$3" folder
    contents folder >before
    code 1 "$program" convert --model "$1" --to "$2" --out folder --force
    grep -q "folder: $4 is a file of another model or format; choose another folder" err || { fail "$3 to $2:"; cat err; }
    contents folder >after
    check "nothing is written ($3 to $2)" cmp -s before after
    rm -r folder
}
refuses model.other hf ct2 '[a-z_]*[.][a-z]*'
refuses model.other ct2 hf '[a-z_]*[.][a-z]*'
refuses model.none marian hf '[a-z_]*[.][a-z]*'
refuses model.other hf marian.none '[a-z_]*[.][a-z]*'
refuses narrow.none bergamot ct2 '[a-z_]*[.][a-z]*'
mkdir notes own.folder
cp vocabulary.spm notes/my.spm
refuses model.none marian notes my.spm
cp model.both own.folder/model.safetensors
refuses model.other hf own.folder model.safetensors
for format in hf ct2; do
    cp -r $format replaced
    echo mine >replaced/notes
    code 0 "$program" convert --model model.other --to $format --out replaced --force
    code 0 "$program" translate --lines --model replaced --like rapt --threads 1 source >got
    check "the model of the same format is replaced ($format)" cmp -s wanted got
    check "other files stay" [ "$(cat replaced/notes)" = mine ]
    rm -r replaced
done
code 0 "$program" convert --model narrow.none --to bergamot --out marian.none --force
code 0 "$program" translate --lines --model marian.none --threads 1 source >got
check "8 bits replace floats" [ "$(wc -l <got)" -eq 30 ]
# A file where a folder should be, and a folder where a file should be.
for force in "" --force; do
    code 1 "$program" convert --model model.both --to hf --out data.tsv $force
    says "data.tsv is not a folder; --to hf writes a folder"
    code 1 "$program" convert --model model.both --out empty $force
    says "empty is a folder; --to rapt writes a file"
    code 2 "$program" convert --model model.both --out "" $force
    says "--out is missing"
done
ln plain other
for out in plain other; do
    code 2 "$program" convert --model plain --to packed --out $out
    says "is the same file as --model plain"
done
for model in ct2 ct2/model.bin; do # a folder, which would be written into
    code 2 "$program" convert --model $model --to ct2 --out ct2/
    says "is the same file as --model $model"
done
check "neither has changed" cmp -s plain again
code 2 "$program" convert --model plain --to moses --out nothing
says "moses"
[ $failures -eq 0 ]
