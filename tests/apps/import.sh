#!/bin/sh
# toy_translate with a folder of another project: info describes it, and translate uses it.
# usage: import.sh PROGRAM; RAPT_DATA: the folder of models of others
. "$(dirname "$0")/kit/script.sh"

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
[ $failures -eq 0 ]
