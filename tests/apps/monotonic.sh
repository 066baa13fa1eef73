#!/bin/sh
# toy_translate train --monotonic: translations, alignments and scores are those of hard stops; a
# resumed run gives the same bits; options that do not fit and projects that cannot hold such models are refused.
# usage: monotonic.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

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
[ $failures -eq 0 ]
