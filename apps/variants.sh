#!/bin/sh
# variants.sh - trains one small translator for each kind of attention on the pairs of the demo, all
# alike in everything else, and prints a Markdown table: what share of the held-out sentences it
# translates exactly, how long training took, and how fast it trained and translates.
# usage: variants.sh [PROGRAM [STEPS [SIZE]]]
#   PROGRAM  toy_translate [build/bin/toy_translate]
#   STEPS    batches of 1024 tokens to train each [600]
#   SIZE     further options of `toy_translate train`, such as "--width 128"
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/bin/toy_translate}
steps=${2:-600}
size=${3:-}
[ -x "$program" ] || { echo "variants.sh: $program is not there; build it first" >&2; exit 1; }
heldout=1000
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
trap 'exit 130' INT TERM

"$program" demo --write-corpus "$here/all" 2>/dev/null
tail -n "$heldout" "$here/all" >"$here/test"
head -n "-$heldout" "$here/all" | tail -n 100 >"$here/valid"
head -n "-$((heldout + 100))" "$here/all" >"$here/train"

# number FILE KEY: the number behind that key in the last line of JSON.
number() { tail -n 1 "$1" | sed -n "s/.*\"$2\":\([-+0-9.eE]*\).*/\1/p"; }

# row NAME OPTION...: trains, translates, prints.
row() {
    name=$1
    shift
    echo "$name: training" >&2
    # shellcheck disable=SC2086
    "$program" train --data "$here/train" --valid "$here/valid" --out "$here/model" \
        --layers 2 --width 64 --heads 4 --ffn-width 128 --vocab 1200 --dropout 0 --smoothing 0.05 \
        --rate 0.008 --warmup 100 --schedule linear --batch-tokens 1024 --average 1 \
        --steps "$steps" --json $size "$@" >"$here/report" 2>"$here/said" ||
        { cat "$here/said" >&2; exit 1; }
    "$program" evaluate --model "$here/model" --data "$here/test" --beam 1 --json >"$here/score"
    printf '| %s | %.1f %% | %.1f s | %.0f | %.0f |\n' "$name" "$(number "$here/score" exact)" \
        "$(number "$here/report" seconds)" "$(number "$here/report" tokens_per_second)" \
        "$(number "$here/score" tokens_per_second)"
    rm -f "$here"/model*
}

echo "| attention | exact | training | tokens/s training | tokens/s translating |"
echo "|---|---|---|---|---|"
row "scaled dot, global, soft: the usual"
for score in dot general cosine location additive location-aware; do
    row "score: $score" --score "$score"
done
row "cross-attention alone: additive" --cross-score additive
for keys in local-m local-p; do
    row "self-attention: $keys" --self-locality "$keys"
    row "cross-attention: $keys" --cross-locality "$keys"
done
for weighing in argmax sample straight-through gumbel-softmax; do
    row "cross-attention: $weighing" --cross-normalizer "$weighing"
done
row "cross-attention: additive, local-p" --cross-score additive --cross-locality local-p
