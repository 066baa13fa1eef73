#!/bin/sh
# What models of toy_translate can be trained for besides predicting the next token, and from changed texts.
# usage: objectives.sh PROGRAM CASE
. "$(dirname "$0")/kit/script.sh"

# toy_translate train --augment: the same bits with any number of threads, with few pairs in memory, and when the
# run is resumed, which takes the noise from the checkpoint and refuses another. A model that was trained with
# capital letters translates them better, which evaluate --noise shows. Unknown noise is refused.
test_augment() {
    synthetic_pairs 400 >data.tsv
    head -100 data.tsv >test.tsv
    synthetic_links data.tsv >links
    train() { # OUT OPTION...
        out=$1
        shift
        code 0 "$program" train --data data.tsv --layers 1 --width 32 --heads 4 --ffn-width 64 --batch-tokens 512 \
            --rate 0.01 --warmup 20 --average 1 --vocab 300 --out "$out" "$@"
    }

    # 25 steps are several epochs.
    options="--augment all,caps=.3 --guided-alignment links --shards 2"
    train whole --threads 1 --steps 25 $options
    train two --threads 2 --steps 25 $options
    check "the same model with two threads" cmp -s whole two
    train part --threads 2 --steps 12 $options --keep-checkpoint
    code 2 "$program" train --resume --out part --steps 25 --augment kaps
    code 1 "$program" train --resume --out part --steps 25 --augment caps=.4
    says "augment caps=0.3,title=0.05,typos=0.05,tags=0.005,no-end-punctuation=0.2,concat=0.05"
    code 0 "$program" train --resume --out part --steps 25
    check "the same model when resumed" cmp -s whole part
    code 1 "$program" train --data data.tsv --out small --memory-limit 0.001 $options
    least() {
        sed -n 's/.* at least \([0-9.]*\) MB.*/\1/p' err
    }
    noisy=$(least)
    code 1 "$program" train --data data.tsv --out small --memory-limit 0.001 --guided-alignment links --shards 2
    check "the index takes more memory" awk -v noisy="$noisy" -v clean="$(least)" 'BEGIN { exit !(noisy > clean) }'
    code 0 "$program" info whole --json >about
    check "the noise is described" grep -q " augment caps=0.3,title=0.05" about
    train other --threads 2 --steps 25 $options --seed 2
    cmp -s whole other && fail "another seed gives the same model"

    train clean --threads 2 --steps 300
    train caps --threads 2 --steps 300 --augment caps=.3
    exact() { # MODEL: the share of sentences in capital letters that are translated exactly, in %, rounded down
        code 0 "$program" evaluate --model "$1" --data test.tsv --noise caps --bootstrap 0 >table
        awk '$1 == "caps" { print int($5) }' table
    }
    clean=$(exact clean) caps=$(exact caps)
    echo "capital letters translated exactly: $caps %, without --augment $clean %"
    check "better than without" test "$caps" -ge $((clean + 25))

    # The table
    code 0 "$program" evaluate --model caps --data test.tsv --noise all,caps=.5 --json >table
    check "changed pairs" python3 -c '
import json
noise = json.load(open("table"))["noise"]
assert list(noise) == ["none", "caps", "title", "typos", "tags", "no-end-punctuation", "concat"], noise
assert noise["none"]["changed"] == noise["no-end-punctuation"]["changed"] == 0
assert 25 < noise["caps"]["changed"] < 75
assert all(noise[kind]["changed"] == 100 for kind in ("title", "typos", "tags", "concat"))
assert noise["none"] == noise["no-end-punctuation"]
assert all(0 <= noise[kind][score] <= 100 for kind in noise for score in ("bleu", "chrf", "exact"))'
    code 2 "$program" evaluate --hypotheses test.tsv --data test.tsv --noise caps
    says "--noise needs --model"
    code 2 "$program" evaluate --model caps --data test.tsv --noise typo
    says "did you mean 'typos'?"
    code 2 "$program" train --data data.tsv --out never --augment caps=2
    says "the rate must be a number from 0 to 1"
}

# toy_translate train --coverage-loss: reports the loss, which its weight lowers; a resumed run gives the same bits, in
# shards too, and a model with coverage can be tuned with it.
test_coverage() {
    synthetic_pairs 400 >data.tsv
    train() { # OUT OPTION...
        out=$1
        shift
        code 0 "$program" train --data data.tsv --layers 1 --width 32 --heads 2 --ffn-width 32 --vocab 270 --batch-tokens 512 \
            --rate 0.01 --warmup 20 --threads 2 --average 1 --cross-score coverage --out "$out" "$@"
    }
    # The last coverage loss that a run has reported.
    loss() { grep '"done":true' "$1" | sed -n 's/.*"coverage_loss":\([0-9.e-]*\).*/\1/p'; }

    train free --steps 100 --coverage-loss 1e-9 --json >free.json
    train held --steps 100 --coverage-loss 2 --json >held.json
    free=$(loss free.json) held=$(loss held.json)
    echo "coverage loss: $held, without weight $free"
    check "the loss falls" awk "BEGIN { exit !($held > 0 && $held < 0.7 * $free) }"
    train plain --steps 10 --json >plain.json
    check "without the option there is no loss" sh -c '! grep -q coverage_loss plain.json'

    train whole --steps 30 --coverage-loss 0.5 --shards 2 --json >whole.json
    check "shards report the loss" test -n "$(loss whole.json)"
    train part --steps 20 --coverage-loss 0.5 --shards 2 --keep-checkpoint
    code 1 "$program" train --resume --out part --steps 30 --threads 2 --coverage-loss 0.25
    says "was made with coverage-loss 0.5, not coverage-loss 0.25"
    code 0 "$program" train --resume --out part --steps 30 --threads 2
    check "resumed: the same bits" cmp -s whole part
    code 0 "$program" train --from held --data data.tsv --out tuned --steps 5 --coverage-loss 1 --json >tuned.json
    check "a model is tuned with the loss" test -n "$(loss tuned.json)"

    code 2 "$program" train --data data.tsv --layers 1 --width 32 --out none --steps 1 --coverage-loss 1
    says "--coverage-loss needs --cross-score coverage"
    code 0 "$program" train --data data.tsv --layers 1 --width 32 --out bare --steps 1
    code 1 "$program" train --from bare --data data.tsv --out none --steps 1 --coverage-loss 1
    says "no cross-attention with the score coverage"
    code 2 "$program" train --data data.tsv --cross-score coverage --out none --coverage-loss -1
    code 1 "$program" train --data data.tsv --layers 1 --width 32 --out none --steps 1 --cross-score coverage \
        --cross-normalizer argmax --coverage-loss 1
    says "cross_normalizer argmax"
}

# toy_translate train --guided-alignment: in a language with reversed word order, the head that was trained on
# word alignments reproduces them, although words have several tokens; without such training, attention hardly
# does. A resumed run gives the same bits; malformed lines are refused.
test_guided() {
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
    refused 2 "alignment_layer is 2, but decoder_layers is 1" --guided-alignment links --guided-alignment-layer 2
    refused 1 "cross_normalizer" --guided-alignment links --cross-normalizer argmax
}

# toy_translate train --monotonic: translations, alignments and scores are those of hard stops; a
# resumed run gives the same bits; options that do not fit and projects that cannot hold such models are refused.
test_monotonic() {
    synthetic_pairs 400 >data.tsv
    train() { # OUT OPTION...
        out=$1
        shift
        code 0 "$program" train --data data.tsv --layers 1 --width 32 --heads 2 --ffn-width 32 --vocab 270 --batch-tokens 512 \
            --rate 0.01 --warmup 20 --threads 2 --average 1 --out "$out" "$@"
    }
    cut -f 1 data.tsv | head -n 20 >source
    { cat source; echo; cat source; } >text.txt
    for kind in hard chunk lookback; do
        train "$kind" --monotonic $kind --steps 100
        code 0 "$program" info "$kind" >out
        check "info prints the kind" grep -q "^  monotonic  *$kind" out
        code 0 "$program" translate --lines --model "$kind" --beam 3 --alignments --scores source >all
        check "$kind: alignments of every word" test "$(grep -cE '[|]{3} -[0-9.e-]+ [|]{3} [0-9]+-0' all)" = 20
        code 0 "$program" translate --lines --model "$kind" --beam 3 --alignments --scores --threads 1 --batch-tokens 64 \
            source >again
        check "$kind: the same in other batches" cmp -s all again
        code 0 "$program" translate --model "$kind" text.txt >text
        check "$kind: a document keeps its lines" test "$(wc -l <text)" = "$(wc -l <text.txt)"
        code 0 "$program" translate --lines --model "$kind" --beam 1 --scores source >scored
        sed 's/ [|]\{3\}.*//' scored | paste source - >pairs.tsv
        code 0 "$program" score --normalize --model "$kind" --data pairs.tsv >scores
        same=$(sed 's/.*[|] //' scored | paste scores - | awk '$1 - $2 < 2e-3 && $2 - $1 < 2e-3 { n++ } END { print n + 0 }')
        # translation excludes a few tokens, and may write a word in other pieces than those that it has in the pair
        check "$kind: translations have the scores that they were given" test "$same" -ge 15
    done

    train whole --monotonic chunk --monotonic-chunk 3 --monotonic-noise 0.5 --steps 30
    train part --monotonic chunk --monotonic-chunk 3 --monotonic-noise 0.5 --steps 20 --keep-checkpoint
    code 1 "$program" train --resume --out part --steps 30 --threads 2 --monotonic-noise 0.25
    says "was made with monotonic-noise 0.5, not monotonic-noise 0.25"
    code 0 "$program" train --resume --out part --steps 30 --threads 2
    check "resumed: the same bits" cmp -s whole part
    train loud --monotonic chunk --monotonic-chunk 3 --steps 30
    check "noise changes the model" sh -c '! cmp -s whole loud'
    code 0 "$program" train --from whole --data data.tsv --out tuned --steps 5

    code 2 "$program" train --data data.tsv --out none --steps 1 --monotonic-noise 2
    says "--monotonic-noise needs --monotonic"
    code 2 "$program" train --data data.tsv --out none --steps 1 --monotonic soft
    says "monotonic"
    code 2 "$program" train --data data.tsv --out none --steps 1 --monotonic hard --monotonic-chunk 3
    says "monotonic_chunk is 3, but monotonic is hard"
    code 2 "$program" train --data data.tsv --out none --steps 1 --monotonic hard --cross-score additive
    says "cross_score must be scaled-dot with monotonic hard"
    for project in marian ct2 hf; do
        code 1 "$program" convert --model hard --to $project --out none
        says "monotonic"
    done
}

run_test "$@"
