#!/bin/sh
# toy_translate with folders as Mozilla ships them and Marian leaves them: files of gzip and other files beside the model,
# which info names; the length limit of the settings; the choice between models.
# usage: folder.sh PROGRAM; RAPT_DATA: the folder of models of others
. "$(dirname "$0")/kit/script.sh"

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
[ $failures -eq 0 ]
