#!/bin/sh
# marian_long_lines.sh - Marian's decoder stops at a line of more than --max-length tokens (1000 by default): this line and
# all lines after it are missing from the output, without a message and with exit status 0. Only --max-length-crop keeps them.
#
# Guess before the run: the line is cut to 1000 tokens, or answered by an empty line, so that line numbers stay the same.
# Needs: python3 with venv, and a package index. Installs pymarian 1.12.42 into a temporary folder; the model is trained there
# for 20 updates.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q pymarian==1.12.42 || {
    echo "skipped: pymarian 1.12.42 cannot be installed"
    exit 0
}
cd "$folder"
marian() {
    "$folder/venv/bin/python" -m pymarian "$@"
}
decode() {
    marian decode --models model.npz --vocabs v.yml v.yml --beam-size 1 --cpu-threads 1 --mini-batch 1 --maxi-batch 1 \
        --workspace 200 --quiet "$@" <input
}
i=0
while [ $i -lt 200 ]; do echo "a b c d e" && i=$((i + 1)); done >text
marian vocab <text >v.yml 2>/dev/null
marian train --type transformer --model model.npz --train-sets text text --vocabs v.yml v.yml --enc-depth 1 --dec-depth 1 \
    --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 --after 20u --mini-batch 16 --cpu-threads 1 --workspace 100 \
    --seed 1 --quiet >train.log 2>&1
echo "a b c" >input
i=0
while [ $i -lt 1100 ]; do printf 'a ' && i=$((i + 1)); done >>input
printf '\nc d e\nb c d\n' >>input
whole=$(decode --max-length-crop 2>/dev/null | wc -l)
code=0
decode >output 2>messages || code=$?
echo "marian $(marian --version 2>&1 | grep -o 'v[0-9.]*' | head -1), four lines, of which the second has 1100 tokens"
echo "expected: four lines of output"
echo "seen: $(wc -l <output) lines, exit status $code, $(wc -c <messages) bytes of messages; $whole lines with --max-length-crop"
[ "$(wc -l <output)" -eq 1 ] && [ $code -eq 0 ] && [ ! -s messages ] && [ "$whole" -eq 4 ]
