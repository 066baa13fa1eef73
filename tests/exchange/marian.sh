#!/bin/sh
# marian.sh PROGRAM FOLDER [LINES] - models trained here, with self-attention and with a recurrent decoder, in Marian
# itself (its WebAssembly, in FOLDER as engines.sh leaves it): in float the same text of every line (10,000 by default),
# unless the first words that differ are as likely, or one text ends at a length limit; in 8 bits of most lines.
ENGINE=$(realpath "$2")/package
. "$(dirname "$0")/../apps/kit/script.sh"
lines=${3:-10000}
export ENGINE
if ! [ -r "$ENGINE/worker/bergamot-translator-worker.wasm" ] || ! command -v node >/dev/null; then
    echo "skipped: exchange/marian: no node, or no engine in $2: sh tests/run.sh --all installs it"
    exit 77
fi

# The pairs of the built-in grammar; a vocabulary of its words and letters.
code 0 "$program" demo --write-corpus corpus.tsv
head -30000 corpus.tsv >train.tsv
tail -"$lines" corpus.tsv | cut -f1 >source
tr '\t ' '\n\n' <corpus.tsv | sort -u | node "$scripts/files.js" pieces >vocab.spm

# judged MODEL FOLDER NAME TIE: what both make of the source, and of each difference the reason.
judged() {
    code 0 "$program" translate --lines --model "$1" --beam 1 --like marian source >ours
    check "the engine translates ($3)" node "$scripts/marian.js" "$2/model.bin" "$2/vocab.spm" float32 <source >theirs
    node "$scripts/compare.js" differ source ours theirs >pairs
    : >scores
    [ ! -s pairs ] || "$program" score --model "$1" --data pairs --json >scores 2>/dev/null
    node "$scripts/compare.js" explain source ours theirs "$4" <scores >said || fail "$3: differences without a reason"
    echo "exchange/marian: $3: $(cat said)"
}

for kind in none ssru; do
    code 0 "$program" train --data train.tsv --out model.$kind --sentencepiece vocab.spm --layers 2 --width 64 --heads 4 \
        --ffn-width 128 --steps "${STEPS-600}" --warmup 200 --batch-tokens 1024 --position concatenated-n1 --decoder-start zero --norm-epsilon 1e-6 \
        --decoder-recurrence $kind --output-bias >log
    code 0 "$program" convert --model model.$kind --to marian --out float.$kind
    judged model.$kind float.$kind "trained here ($kind), in float" 1e-3

    # In 8 bits the engine rounds activations, too.
    code 0 "$program" convert --model model.$kind --to bergamot --out narrow.$kind
    code 0 "$program" translate --lines --model narrow.$kind --beam 1 --like marian source >ours
    check "the engine translates in 8 bits ($kind)" node "$scripts/marian.js" narrow.$kind/model.bin narrow.$kind/vocab.spm \
        int8shiftAll <source >theirs
    equal=$(paste -d'|' ours theirs | awk -F'|' '$1 == $2' | wc -l)
    echo "exchange/marian: trained here ($kind), in 8 bits: $lines lines, $equal equal"
    [ $((equal * 100)) -ge $((lines * 80)) ] || fail "in 8 bits too few lines are equal"

    # A file that neither of us wrote: random weights, which have no preferences.
    vocab=$("$program" vocab --model model.$kind | wc -l)
    mkdir random.$kind
    node "$scripts/files.js" model $kind "$vocab" 7 >random.$kind/model.bin
    cp vocab.spm random.$kind
    mv source all
    head -1000 all >source
    judged random.$kind random.$kind "random weights ($kind)" 1e-3
    mv all source
done
[ $failures -eq 0 ]
