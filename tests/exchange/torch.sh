#!/bin/sh
# torch.sh PROGRAM [FOLDER] - models trained here, saved by PyTorch itself in each of its forms and by numpy in each of its own:
# the same translations and scores as before. Where Python has transformers, too, its scores of a file in float, of one
# in float16 and of one with more tokens. Wants python3-torch of Debian 12 (1.13), or another one with numpy; engines.sh
# installs transformers for it in FOLDER.
engines=$(realpath "${2-.}")
. "$(dirname "$0")/../apps/kit/script.sh"
python=
for one in "$engines/python/bin/python" python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$one" -c 'import numpy, torch' 2>/dev/null || python=$one
done
if [ -z "$python" ]; then
    echo "skipped: exchange/torch: python3 has no torch and numpy: apt-get install python3-torch"
    exit 77
fi
files=$scripts/torch_files.py

code 0 "$program" demo --write-corpus corpus.tsv
head -20000 corpus.tsv >train.tsv
tail -200 corpus.tsv >pairs
cut -f1 pairs >source
tr '\t ' '\n\n' <corpus.tsv | "$python" "$files" pieces >vocab.spm || fail "no vocabulary"

# trained NAME FORMAT OPTION...: a model, as another project keeps it.
trained() {
    name=$1 format=$2
    shift 2
    code 0 "$program" train --data train.tsv --out "$name.model" --sentencepiece vocab.spm --layers 1 --width 32 --heads 2 \
        --ffn-width 64 --steps 600 --warmup 100 --batch-tokens 1024 --output-bias --decoder-start zero "$@" >log
    code 0 "$program" convert --model "$name.model" --to "$format" --out "$name"
}
# same FOLDER AS: the translations and scores of two folders are.
same() {
    for folder in "$1" "$2"; do
        [ ! -r "$folder/scores" ] || continue
        code 0 "$program" translate --lines --model "$folder" --beam 1 source >translations
        code 0 "$program" score --model "$folder" --data pairs >scores
        mv translations scores "$folder"
    done
    check "the same translations of $1" cmp "$1/translations" "$2/translations"
    check "the same scores of $1" cmp "$1/scores" "$2/scores"
}
# near FOLDER: its scores are those of transformers.
near() {
    check "transformers scores with $1" "$python" "$files" score "$1" <pairs >theirs
    code 0 "$program" score --model "$1" --data pairs >ours
    paste ours theirs | awk 'NF != 2 || $1 - $2 > 1e-4 || $2 - $1 > 1e-4 { bad = 1 }
        END { exit bad || NR != 200 }' || fail "$1: other scores than those of transformers"
}

trained hf hf --position concatenated
check "PyTorch writes its files" "$python" "$files" torch hf torch
for folder in torch/*; do
    case $folder in
    */half) ;; # rounded
    */half-*) same "$folder" torch/half ;;
    *) same "$folder" hf ;;
    esac
done
trained marian marian --position concatenated-n1 --norm-epsilon 1e-6
check "numpy writes its files" "$python" "$files" npz marian npz
for folder in npz/*; do same "$folder" marian; done
echo "exchange/torch: $(ls -d torch/* npz/* | wc -l) folders"

if "$python" -c 'import transformers, sentencepiece' 2>/dev/null; then
    check "transformers adds tokens" "$python" "$files" resize hf torch/resized
    for folder in hf torch/legacy2 torch/half torch/half-legacy torch/resized; do near "$folder"; done
else
    echo "skipped: exchange/torch, scores of transformers: $python has no transformers and sentencepiece"
fi
[ $failures -eq 0 ]
