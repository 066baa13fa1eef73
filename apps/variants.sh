#!/bin/sh
# variants.sh - trains one small translator per score, locality, normalizer and change of queries, keys or outputs
# on the corpus of the demo, with all other hyperparameters equal, and prints a Markdown table: parameters, share
# of held-out sentences translated exactly, training time, tokens per second in training and translation.
# usage: variants.sh [PROGRAM [STEPS [OPTIONS]]]
#   PROGRAM  toy_translate [build/bin/toy_translate]
#   STEPS    training steps of each, 1024 tokens per batch [600]
#   OPTIONS  further options of `toy_translate train`, such as "--width 128"
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/bin/toy_translate}
steps=${2:-600}
options=${3:-}
[ -x "$program" ] || { echo "variants.sh: $program is missing; build it first" >&2; exit 1; }
heldout=1000
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
trap 'exit 130' INT TERM

"$program" demo --write-corpus "$here/all" 2>/dev/null
tail -n "$heldout" "$here/all" >"$here/test"
head -n "-$heldout" "$here/all" | tail -n 100 >"$here/valid"
head -n "-$((heldout + 100))" "$here/all" >"$here/train"

# number FILE KEY: the value of that key in the last line of JSON.
number() { tail -n 1 "$1" | sed -n "s/.*\"$2\":\([-+0-9.eE]*\).*/\1/p"; }

# row NAME OPTION...: trains, translates, prints a row.
row() {
    name=$1
    shift
    echo "$name: training" >&2
    # shellcheck disable=SC2086
    "$program" train --data "$here/train" --valid "$here/valid" --out "$here/model" \
        --layers 2 --width 64 --heads 4 --ffn-width 128 --vocab 1200 --dropout 0 --smoothing 0.05 \
        --rate 0.008 --warmup 100 --schedule linear --batch-tokens 1024 --average 1 \
        --steps "$steps" --json $options "$@" >"$here/report" 2>"$here/err" ||
        { cat "$here/err" >&2; exit 1; }
    "$program" evaluate --model "$here/model" --data "$here/test" --beam 1 --json >"$here/score"
    "$program" info --json "$here/model" >"$here/info"
    printf '| %s | %.0f | %.1f %% | %.1f s | %.0f | %.0f |\n' "$name" "$(number "$here/info" parameters)" \
        "$(number "$here/score" exact)" \
        "$(number "$here/report" seconds)" "$(number "$here/report" tokens_per_second)" \
        "$(number "$here/score" tokens_per_second)"
    rm -f "$here"/model*
}

echo "| attention | parameters | exact match | training time | training tokens/s | translation tokens/s |"
echo "|---|---|---|---|---|---|"
row "scaled dot, global, softmax (default)"
for score in dot general cosine location additive location-aware coverage; do
    row "score: $score" --score "$score"
done
row "only cross-attention: additive" --cross-score additive
row "cross-attention: coverage" --cross-score coverage
row "cross-attention: coverage, with coverage loss" --cross-score coverage --coverage-loss 1
for locality in local-m local-p; do
    row "self-attention: $locality" --self-locality "$locality"
    row "cross-attention: $locality" --cross-locality "$locality"
done
row "self-attention: sparse, 2 global tokens" --self-locality sparse --global-tokens 2
for normalizer in sink-softmax sigmoid sparsemax entmax-1.5 entmax argmax sample straight-through gumbel-softmax; do
    row "cross-attention: $normalizer" --cross-normalizer "$normalizer"
done
row "cross-attention: argmax, annealed" --cross-normalizer argmax --anneal 10 --anneal-steps "$steps"
row "cross-attention: sample, variance reduced" --cross-normalizer sample --baseline expected \
    --expected-share 0.5 --reward-decay 1 --reward-scale 0.1 --reward-entropy 0.01
row "rotary positions" --position none --rotary halves
for scaling in linear ntk yarn; do
    row "rotary positions, $scaling" --position none --rotary halves --rotary-scaling "$scaling" \
        --rotary-factor 2 --rotary-positions 64
done
row "norms of queries and keys" --query-key-norm
for gate in head element; do
    row "gated outputs: one per $gate" --output-gate "$gate"
done
row "differential" --differential
row "forget gates" --forget-gate
row "latent rows of 32" --latent-width 32
row "latent rows of 32, rotary positions" --latent-width 32 --position none --rotary halves --rotary-width 8
row "latent rows of 32, also for queries" --latent-width 32 --latent-query-width 32
row "latent rows of 32, also for queries, rotary positions" --latent-width 32 --latent-query-width 32 \
    --position none --rotary halves --rotary-width 8
for kind in shaw-keys shaw transformer-xl deberta; do
    row "relative positions: $kind" --position none --relative-bias "$kind" --relative-distance 16
done
row "relative positions: deberta, 8 buckets" --position none --relative-bias deberta --relative-distance 16 \
    --relative-buckets 8
for kind in linear gated delta gated-delta; do
    row "decoder's self-attention: $kind" --decoder-recurrence "$kind"
done
row "talking heads" --talking-heads
for kind in hard chunk lookback; do
    row "cross-attention: monotonic, $kind" --monotonic "$kind"
done
row "cross-attention: additive, local-p" --cross-score additive --cross-locality local-p
