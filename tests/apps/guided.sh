#!/bin/sh
# toy_translate train --guided-alignment: in a language with reversed word order, the head that was trained on
# word alignments reproduces them, although words have several tokens; without such training, attention hardly
# does. A resumed run gives the same bits; malformed lines are refused. usage: guided.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

synthetic_pairs 400 >data.tsv
synthetic_links data.tsv >links
train() { # OUT OPTION...
    out=$1
    shift
    code 0 "$program" train --data data.tsv --layers 1 --width 32 --heads 4 --ffn-width 64 --batch-tokens 512 \
        --rate 0.01 --warmup 20 --threads 2 --average 1 --out "$out" "$@"
}
# The share of wrong word alignments in a model's heat map, in %, for sentences of four words.
wrong() { # MODEL
    awk -F'\t' '$1 ~ / .* .* / { print }' data.tsv | sort -u | head -12 | while IFS='	' read -r source target; do
        "$program" attend --model "$1" --threads 1 --json --target "$target" "$source"
    done | python3 -c '
import json, sys
wrong = words = 0
for line in sys.stdin:
    rows = json.loads(line)["weights"]
    for t in range(len(rows) - 1):
        words += 1
        wrong += max(range(len(rows[t])), key=rows[t].__getitem__) != len(rows) - 2 - t
assert words == 48
print(100 * wrong // words)'
}

train free --vocab 270 --steps 200
train guided --vocab 270 --steps 200 --guided-alignment links --guided-alignment-weight 0.5
free=$(wrong free) guided=$(wrong guided)
echo "words aligned wrong: $guided %, without guided alignment $free %"
check "words are aligned" test "$guided" -le 25
check "better than without" test "$free" -ge $((guided + 15))

train whole --steps 30 --guided-alignment links --shards 2 --guided-alignment-layer 1
train part --steps 20 --guided-alignment links --shards 2 --guided-alignment-layer 1 --keep-checkpoint
mv links kept
sed '1s/.*//' kept >links
code 1 "$program" train --resume --out part --steps 30 --threads 2
says "different sentence pairs or word alignments"
mv kept links
code 0 "$program" train --resume --out part --steps 30 --threads 2
check "resumed: the same bits" cmp -s whole part
code 0 "$program" info whole
check "the model contains the layer" sh -c '"$0" info whole --json | grep -q "alignment_layer"' "$program"

refused() { # CODE TEXT OPTION...
    wanted=$1 text=$2
    shift 2
    code "$wanted" "$program" train --data data.tsv --layers 1 --width 32 --out none --steps 1 "$@"
    says "$text"
}
head -300 links >short
refused 1 "short has only 300 lines, but there are more pairs" --guided-alignment short
# There are lines for the pairs that are held out for validation, too, but no further lines.
for more in 9999-9999 junk ""; do
    { cat links; echo "$more"; } >long
    refused 1 "long has more lines than the pairs, which have 400" --guided-alignment long
done
tail -20 data.tsv >valid.tsv
code 0 "$program" train --data data.tsv --valid valid.tsv --layers 1 --width 32 --out all_links --steps 1 \
    --guided-alignment links
refused 1 "long has more lines than the pairs, which have 400" --valid valid.tsv --guided-alignment long
{ cat data.tsv; printf '\n\t\n'; } >gaps.tsv # two more lines, which are skipped
{ cat links; printf '\n'; } >gap_links
code 0 "$program" train --data gaps.tsv --layers 1 --width 32 --out gaps --steps 1 --guided-alignment gap_links
sed '3s/$/ 0_0/' links >bad
refused 1 "bad:3: byte" --guided-alignment bad
sed '2s/$/ 9-0/' links >bad
refused 1 "bad:2: link 9-0: the pair has no such word" --guided-alignment bad
refused 2 "need --guided-alignment" --guided-alignment-weight 1
refused 2 "alignment_layer is 2; decoder_layers is 1" --guided-alignment links --guided-alignment-layer 2
refused 1 "cross_normalizer" --guided-alignment links --cross-normalizer argmax
[ $failures -eq 0 ]
