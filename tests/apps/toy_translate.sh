#!/bin/sh
# toy_translate from pairs to translations: interrupted and resumed training gives the same bits; translations
# of lines; scores, attention and reports as JSON. Training gives the same bits on every machine, so the
# threshold on translations holds everywhere or nowhere.
# usage: toy_translate.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

# Synthetic pairs: six words, translated in reverse order; 700 pairs, the last 20 held out.
synthetic_pairs 700 >all.tsv
head -n 680 all.tsv >train.tsv
tail -n 20 all.tsv >test.tsv
options="--data train.tsv --valid test.tsv --layers 1 --width 32 --heads 2 --ffn-width 64 --vocab 290
    --batch-tokens 256 --rate 0.01 --warmup 30 --average 3 --dropout 0.1 --keep-checkpoint"

# Resumed within an epoch and at its end, with other thread counts, and as JSON: the same bits.
code 0 "$program" train $options --out whole --steps 70 --threads 2
code 0 "$program" train $options --out parts --epochs 1 --threads 1
code 0 "$program" train $options --out parts --steps 43 --threads 2 --resume --json >reports
code 0 "$program" train $options --out parts --steps 70 --threads 1 --resume
check "resuming gives the same model" cmp whole parts
check "and the same checkpoint" cmp whole.checkpoint parts.checkpoint
check "reports end with done" grep -q '"done":true' reports
code 0 "$program" train $options --out whole_epochs --epochs 2 --threads 1 --json >ends
[ "$(sed -n 's/.*"epoch":\([0-9]*\).*/\1/p' ends | uniq | tr '\n' ' ')" = "1 2 " ] || fail "epochs: $(cat ends)"
check "reports are JSON objects" [ "$(grep -vc '^{"step":.*}$' reports)" -eq 0 ]

# Interrupted: saves a checkpoint, reports it, exits with 130; resuming gives the same bits.
rm -f err # its old lines would be taken for those of this run
"$program" train $options --out cut --steps 100000 --threads 1 2>err &
while kill -0 $! && ! grep -q '^epoch' err 2>/dev/null; do sleep 0.1; done
kill -INT $!
wait $!
got=$?
[ $got -eq 130 ] || fail "interrupted: exit code $got, not 130"
check "the interruption is reported" grep -q "interrupted at step .*; continue with: toy_translate train --resume --out cut" err
step=$(sed -n 's/.*interrupted at step \([0-9]*\).*/\1/p' err)
code 0 "$program" train $options --out cut --steps $((step + 60)) --patience 0 --resume
check "resuming says where" grep -q "^resuming at step $step, epoch" err
code 0 "$program" train $options --out uncut --steps $((step + 60)) --patience 0
check "an interrupted run ends with the same bits" cmp cut.checkpoint uncut.checkpoint

# Mismatched options and data are rejected, and the old checkpoint is unchanged.
cp whole.checkpoint before
code 1 "$program" train $options --out whole --steps 90 --seed 2 --resume
check "the differing option is named" grep -q "made with seed 1, not seed 2" err
code 1 "$program" train $options --data test.tsv --out whole --steps 90 --resume
check "other data" grep -q "different sentence pairs" err
check "untouched" cmp before whole.checkpoint
head -c 20000 before >damaged.checkpoint
code 1 "$program" train $options --out damaged --steps 90 --resume
says "damaged.checkpoint"
check "no word of a run that has ended" [ "$(grep -c keep-checkpoint err)" -eq 0 ]
(ulimit -f 20 && "$program" train $options --out large --steps 9) 2>err && fail "a full disk is not reported"
check "missing space is reported before training" grep -q "large: cannot write" err

# A loss that is not finite: batches are skipped with a message; ten in a row end the run.
code 1 "$program" train $options --out diverged --steps 90 --rate 1e30 --warmup 1 --schedule constant
check "skipping is reported" grep -q "the batch is skipped: the " err
check "the end is reported" grep -q "10 batches in a row" err
cp whole old
code 1 "$program" train $options --out old --force --steps 5 --rate 1e30 --warmup 1 --schedule constant
says "no validation loss was finite; no model was written"
check "the old model stands" cmp whole old

# A vocabulary smaller than the default, CRLF, no line feed at the end, one long line.
{ head -n 30 train.tsv | sed 's/$/\r/'; head -c 1000000 /dev/zero | tr '\0' x; printf '\ty\n'
  printf 'red\trot'; } >odd.tsv
code 0 "$program" train --data odd.tsv --out odd --layers 1 --width 16 --heads 1 --steps 3
check "the long line is named" grep -q "odd.tsv:31: a sentence has more than 65536 bytes" err

# Options that are not given come from the checkpoint; the curve continues; the files of a finished run are
# removed.
check "the curve of a resumed run" cmp whole.svg parts.svg
code 0 "$program" train --resume --out parts --steps 90
code 0 "$program" train $options --out longer --steps 90
check "resumed with the options of the checkpoint: the same model" cmp longer parts
check "and the same checkpoint" cmp longer.checkpoint parts.checkpoint
code 0 "$program" train --resume --out parts
says "nothing left to do"
check "which keeps the checkpoint" cmp longer.checkpoint parts.checkpoint
code 1 "$program" train $options --out whole --steps 90
says "whole exists; --force replaces it, --resume continues"
code 2 "$program" train $options --out whole --resume --force
code 0 "$program" train $options --out whole --epochs 1 --force
[ "$(echo whole.checkpoint*)" = "whole.checkpoint whole.checkpoint.1" ] || fail "stale files: $(echo whole*)"
rm whole
code 1 "$program" train $options --out whole --steps 90
says "whole.checkpoint belongs to an unfinished run; --resume continues it, --force starts again"
code 1 "$program" train --resume --out nothing
says "nothing.checkpoint"
says "a finished run leaves a checkpoint only with --keep-checkpoint"
code 0 "$program" train --data train.tsv --valid test.tsv --out tidy --layers 1 --width 16 --heads 1 --epochs 3 --seed 3
[ "$(echo tidy*)" = "tidy tidy.svg" ] || fail "left beside the model: $(echo tidy*)"
says "the model is tidy; its learning curve is tidy.svg"
says "next: toy_translate translate --model tidy"
lines=$(grep -c '^epoch [123]/3  step .*  ppl .*  valid .*  lr ' err)
[ "$lines" -eq 3 ] || { fail "not a line for each epoch:"; cat err; }
[ "$(grep -c '^    .* -> ' err)" -eq 3 ] || { fail "not a sentence for each epoch:"; cat err; }
# The perplexity of training is of one kind: at the end of the first epoch it is not that of the whole epoch.
code 0 "$program" train --data train.tsv --valid test.tsv --out tidy --force --layers 1 --width 16 --heads 1 --epochs 1 \
    --warmup 5 --batch-tokens 64 --json >reports
whole=$(sed -n 's/.*"loss":\([0-9.e+-]*\),.*"valid_loss":[0-9].*/\1/p' reports | head -n 1)
sed -n 's/^epoch 1.* ppl \([0-9.]*\)  valid.*/\1/p' err | awk -v whole="$whole" '{ n++; if (!($1 < 0.95 * exp(whole))) bad = 1 }
    END { exit bad || n != 1 }' || { fail "the perplexity at the end of an epoch, whose mean loss is $whole:"; cat err; }
code 0 "$program" train --data train.tsv --valid test.tsv --out tidy --force --layers 1 --width 16 --heads 1 --epochs 3 --seed 3
check "at most 80 columns" awk 'length($0) > 80 { exit 1 }' err
code 0 "$program" train --data train.tsv --valid test.tsv --out "it's tidy" --layers 1 --width 16 --heads 1 --epochs 1
next=$(sed -n "s/^next: toy_translate //p" err)
eval "set -- $next"
[ "$1/$2/$3" = "translate/--model/it's tidy" ] || fail "the next command is not a valid shell command: $next"
{ cat tidy.svg; head -c 2000000 /dev/zero | tr '\0' ' '; } >tall.svg # as after thousands of epochs
code 0 "$program" train --data train.tsv --valid test.tsv --out tall --layers 1 --width 16 --heads 1 --epochs 3 --seed 3
says "the model is tall; its learning curve is tall.svg"
check "a large curve is drawn anew" cmp tidy.svg tall.svg
echo mine >mine.svg
code 0 "$program" train --data train.tsv --out mine --layers 1 --width 16 --heads 1 --epochs 3
says "mine.svg is not a learning curve; it is not overwritten"
says "the model is mine"
[ "$(grep -c 'mine\.svg' err)" -eq 1 ] || { fail "mine.svg is not named once:"; cat err; }
[ "$(cat mine.svg)" = mine ] || fail "a file of the user's is overwritten"
if command -v xmllint >/dev/null; then check "the curve is XML" xmllint --noout tidy.svg; fi
check "a title" grep -q '<title>Learning curve of toy_translate, best validation perplexity [0-9.]*</title>' tidy.svg
[ "$(grep -c '<title>epoch [123]: \(training\|validation\) perplexity' tidy.svg)" -eq 6 ] || fail "hover texts of the curve"
check "dark pages" grep -q 'prefers-color-scheme: dark' tidy.svg
# Giving both radii is a contradiction if that of self-attention differs from the checkpoint.
code 0 "$program" train $options --self-locality sparse --global-tokens 2 --cross-locality local-p --radius 3 --out near --steps 3
code 1 "$program" train --resume --radius 2 --steps 5 --out near
says "was made with self-radius 3, not self-radius 2"
code 1 "$program" train --resume --global-tokens 3 --steps 5 --out near
says "was made with global-tokens 2, not global-tokens 3"
code 0 "$program" train --resume --steps 5 --out near

# So is a preset with other sizes.
code 1 "$program" train --resume --preset tiny --steps 5 --out near
says "was made with layers 1, not layers 4"
code 0 "$program" train --resume --preset small --layers 1 --width 32 --heads 2 --ffn-width 64 --steps 6 --out near

# A model that can translate.
code 0 "$program" train $options --out model --epochs 40 --patience 0
cut -f 1 test.tsv >source
cut -f 2 test.tsv >target
code 0 "$program" translate --model model <source >lines
check "one line per line" [ "$(wc -l <lines)" -eq 20 ]
right=$(paste lines target | awk -F '\t' '$1 == $2' | wc -l)
[ "$right" -ge 16 ] || fail "only $right of 20 sentences are right"
code 0 "$program" translate --model model --batch-tokens 8 --threads 3 <source >again
check "independent of batches and threads" cmp lines again
while read -r line; do echo "$line" | "$program" translate --model model; done <source >again
check "line by line" cmp lines again

printf 'red\r\n\n   \na\377\nnew red' >odd
head -c 100000 /dev/zero | tr '\0' '\001' >>odd
code 1 "$program" translate --lines --model model <odd >again
check "five lines" [ "$(wc -l <again)" -eq 5 ]
check "empty ones" [ "$(sed -n '2,5p' again | tr -d '\n' | wc -c)" -eq 0 ]
check "invalid UTF-8 is named" grep -q "input:4: byte 2 is not valid UTF-8" err
check "too long is named" grep -q "input:5: more tokens than" err

code 0 "$program" translate --model model source -o written >again
cmp written lines && [ ! -s again ] || fail "translate -o"
code 1 "$program" translate --lines --model model <odd --output written
[ "$(wc -l <written)" -eq 5 ] || fail "translate -o with a line that is not UTF-8"
cp written unchanged
code 1 "$program" translate --model model missing -o written
cmp written unchanged || fail "a failed translate -o changed the file"
code 2 "$program" translate --model model written -o written
says "translate: --output written is the same file as the input"
code 2 "$program" translate --model model -o written <written
code 2 "$program" translate --model model -o model <source
cmp written unchanged || fail "a refused translate -o changed the file"
code 0 "$program" translate --model model source -o /dev/stdout >again
cmp again lines || fail "translate -o /dev/stdout"
code 0 "$program" translate --model model </dev/null >again
check "no input, no output" [ ! -s again ]

echo "red old" | "$program" translate --lines --model model --nbest 3 >again
check "n-best" [ "$(grep -c '^0 ||| .* ||| -[0-9.]*$' again)" -eq 3 ]
echo "red old" | "$program" translate --lines --model model --scores --alignments >again
check "scores and alignments" grep -qE '^[^|]* \|\|\| -[0-9.]+ \|\|\| [0-9]+-0( [0-9]+-[0-9]+)*$' again
echo "red old" | "$program" translate --lines --model model --json >again
check "JSON lines" grep -qE '^[{]"sentence":0,"rank":0,"translation":"[^"]*","score":-[0-9.e-]*,"source_tokens":\["[^]]*\],"target_tokens":\["[^]]*\],"alignment":\[\[[0-9],0\].*\][}]$' again
printf 'red\na\377\nnew\n' >broken
code 1 "$program" translate --lines --model model broken --placeholder '???' >again
[ "$(sed -n 2p again)" = '???' ] && [ "$(wc -l <again)" -eq 3 ] || fail "the placeholder: $(cat again)"
says "broken:2: byte 2 is not valid UTF-8"
code 2 "$program" translate --lines --model model broken --json --placeholder "$(printf 'a\377')" >again
says "--placeholder is not UTF-8"
code 1 "$program" translate --lines --model model broken --scores --placeholder '???' >again
check "no score of what is not translated" [ "$(sed -n 2p again)" = '??? ||| ' ]
check "a score of what is" [ "$(sed '2d' again | grep -c ' ||| -[0-9]*[.][0-9]*$')" -eq 2 ]
code 1 "$program" translate --lines --model model broken --nbest 2 --alignments >again
check "nor of --nbest" grep -q '^1 |||  |||  ||| $' again
for text in 'a
b' "$(printf 'a\rb')"; do
    code 2 "$program" translate --lines --model model --placeholder "$text" source
    says "--placeholder contains a line break"
done
code 1 "$program" translate --lines --model model broken --json >again
check "the error of a line" grep -qx '{"sentence":1,"translation":"","error":"not UTF-8"}' again
{ printf '\357\273\277'; cat source; } >marked
code 0 "$program" translate --lines --model model marked >again
check "a file, and no byte order mark" cmp lines again
"$program" translate --lines --model model <marked 2>err >again
check "no byte order mark of standard input" cmp lines again
says_not() { if grep -qF -- "$1" err; then fail "'$1' in:"; cat err; fi; }
says_not "never seen"
printf 'red xylophone old\nzyzzyva xylophone\n' | "$program" translate --model model 2>err >again
says "never seen in training: xylophone, zyzzyva"
printf 'red xylophone old\nred\n' | "$program" translate --lines --model model --json 2>/dev/null >again
check "a word that training never saw in JSON" grep -q '^{"sentence":0,.*"unseen":\["xylophone"\]}$' again
check "no such word" grep -q '^{"sentence":1,.*"unseen":\[\]}$' again
printf 'red, (old) redder Red 42\n' | "$program" translate --model model 2>err >again
says "never seen in training: redder, Red"
echo 'red xylophone. «old» (zebra)?' | "$program" translate --model model 2>err >again
grep -qx "$(basename "$program"): never seen in training: xylophone, zebra" err || { fail "punctuation of unseen words:"; cat err; }
echo 'red 小猫睡。' | "$program" translate --model model 2>err >again
says "never seen in training: 小, 猫, 睡"
code 1 "$program" translate --model model missing
says "missing: No such file"

# On a terminal, progress and the remaining time are shown while translations go to a file, and only then.
if command -v script >/dev/null; then
    awk 'BEGIN { for (i = 0; i < 1500; i++) print i % 2 ? "red" : "old new" }' >few
    script -qec "'$program' translate --lines --model model --beam 1 --threads 1 few -o few.out" /dev/null </dev/null >shown 2>&1
    check "lines and the time left" grep -qE '1024 lines, [0-9]+ per second, [0-9]+:[0-9]{2} left' shown
    check "all lines" grep -qE "1500 lines, [0-9]+ per second" shown
    "$program" translate --model model --beam 1 few -o few.out 2>shown
    grep -q 'per second' shown && fail "progress without a terminal"
    script -qec "'$program' translate --model model --beam 1 few" /dev/null </dev/null >shown 2>&1
    grep -q 'per second' shown && fail "progress among translations on the terminal"
else
    echo "skipped: apps/toy_translate, progress on a terminal: script is not installed"
fi

# score and evaluate, and comparisons.
code 0 "$program" score --model model --data test.tsv >again
check "a score per pair" [ "$(grep -c '^-[0-9]*[.][0-9]*$' again)" -eq 20 ]
says "20 pairs, "
code 0 "$program" score --model model --source source --target target --json >twofold
sed 's/.*"log_probability":\([-0-9.e]*\).*/\1/' twofold | awk '{ printf "%.4f\n", $1 }' | cmp - again ||
    fail "scores as text and as JSON"
"$program" translate --lines --model model --scores --length-penalty 0 <source | sed 's/\(.*\) ||| .*/\1/' >hyp
"$program" translate --lines --model model --scores --length-penalty 0 <source | sed 's/.* ||| //' >found
code 0 "$program" score --model model --source source --target hyp >again
# The search never generates a second begin token, so it gives the others a slightly higher probability.
paste found again | awk '{ d = $1 - $2; if (d > 0.05 || d < -0.0002) exit 1 }' || fail "search and score differ"
code 0 "$program" score --model model --data test.tsv --normalize --words >again
check "words" grep -qE '^-[0-9.]+	[^ ]+ -[0-9.]+  .*\(end\) -[0-9.]+$' again
code 0 "$program" evaluate --model model --data test.tsv --output output >again
cmp output lines || fail "--output differs from translate"
code 0 "$program" evaluate --hypotheses output --data test.tsv >judged
grep -v '^tokens/s' again | cmp - judged || fail "a model and its output are judged differently"
check "the signature" grep -q '^signature    nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:rapt-' judged
awk '/^precisions/ { split($2, p, "/") } /^brevity/ { b = $2 } /^bleu / { s = $2 }
    END { d = b * exp((log(p[1]) + log(p[2]) + log(p[3]) + log(p[4])) / 4) - s; exit !(d < 0.2 && d > -0.2) }' judged ||
    { fail "BLEU is not what its parts say:"; cat judged; }
# A script without spaces: 13a has a hint, and the tokenizers the scores of sacreBLEU 2.6.
printf 'cat\t小猫睡在窗台上。\ndog\t小狗在2019年跑,跳。\n' >chinese.tsv
printf '小猫睡在窗台上!\n小狗在2019年跑、跳。\n' >chinese.out
code 0 "$program" evaluate --hypotheses chinese.out --data chinese.tsv >again
says "chinese.tsv: the targets are written without spaces, so --tokenize 13a takes a whole clause for one word"
says "use --tokenize zh"
for score in "13a 0.00" "intl 31.95" "none 0.00" "zh 74.68" "char 79.62"; do
    code 0 "$program" evaluate --hypotheses chinese.out --data chinese.tsv --tokenize "${score% *}" >again
    check "bleu by $score" grep -q "^bleu  *${score#* } " again
    check "the signature of ${score% *}" grep -q "|tok:${score% *}|" again
done
[ ! -s err ] || fail "a hint about --tokenize char: $(cat err)"
printf 'cat\t猫は窓で眠る。\n' >japanese.tsv
code 0 "$program" evaluate --hypotheses japanese.tsv --data japanese.tsv >again
says "use --tokenize char"
for words in 'der Hund schläft' '小猫 睡 在 窗台 上 。' 'кот спит'; do
    printf 'cat\t%s\n' "$words" >spaced.tsv
    code 0 "$program" evaluate --hypotheses spaced.tsv --data spaced.tsv >again
    [ ! -s err ] || fail "a hint for $words: $(cat err)"
done
code 0 "$program" evaluate --hypotheses target --data test.tsv --versus output --json >again
check "the references themselves" grep -q '"bleu":100.0,.*"versus":{"bleu":{"score":[0-9.]*,"difference":[0-9.]*,"p":[0-9.]*}' again
code 0 "$program" evaluate --hypotheses output --data test.tsv --versus output >again
check "a system against itself" grep -q '^bleu  *[0-9.]*  +0.00  p = 1.0000' again
code 0 "$program" evaluate --model model --data test.tsv --versus-model model --bootstrap 0 >again
check "a model against itself" grep -q '^chrf  *[0-9.]*  +0.00$' again
# Skipped pairs have a line in the output.
awk 'NR == 1 || NR == 6 { print "" } NR == 3 { print "red\t" } NR == 5 { printf "rot"; for (i = 0; i < 20000; i++) printf " rot"; print "\trot" }
    { print } END { print "\trot" }' test.tsv >mid.tsv
skipped="1 4 7 9 25"
code 0 "$program" evaluate --model model --data mid.tsv --output mid.out >again
says "4 such pairs are skipped"
check "--output has the lines of the pairs" [ "$(wc -l <mid.out)" -eq 25 ]
for line in $skipped; do check "line $line is empty" [ -z "$(sed -n ${line}p mid.out)" ]; done
grep . mid.out | cmp - output || fail "the translations of the other pairs"
code 0 "$program" evaluate --hypotheses mid.out --data mid.tsv --versus mid.out >judged
sed '/^$/,$d' judged >judged.alone
grep -v '^tokens/s' again | cmp - judged.alone || fail "with skipped pairs a model and its output are judged differently"
cut -f1 mid.tsv >mid.source
cut -f2 mid.tsv >mid.target
code 0 "$program" score --model model --data test.tsv >wanted
code 0 "$program" score --model model --source mid.source --target mid.target >again
says "20 pairs, "
for line in $skipped; do check "score: line $line is empty" [ -z "$(sed -n ${line}p again)" ]; done
grep . again | cmp - wanted || fail "the scores of the other pairs"
check "an empty line for each skipped pair" [ "$(wc -l <again)" -eq 25 ]
code 0 "$program" score --model model --data mid.tsv --json >again
check "JSON: all lines in order" [ "$(sed 's/^{"line":\([0-9]*\),.*/\1/' again)" = "$(seq 25)" ]
check "JSON: no score" [ "$(grep -c '"log_probability":null}' again)" -eq 5 ]
head -n 1 test.tsv >one.tsv
code 0 "$program" score --model model --data one.tsv >again
says "1 pair, "
head -n 19 output >short
code 1 "$program" evaluate --hypotheses short --data test.tsv
says "short has 19 lines, but test.tsv has 20"
code 2 "$program" evaluate --hypotheses short --model model --data test.tsv
code 2 "$program" evaluate --data test.tsv
says "give --model or --hypotheses"
yes red | head -n 20000 | "$program" translate --model model --beam 1 2>err | head -n 1 >again
check "a closed pipe ends without a message" [ ! -s err ]

code 0 "$program" evaluate --model model --data test.tsv --json >again
for key in sentences bleu bleu_lc_tok chrf exact target_tokens seconds tokens_per_second threads; do
    check "evaluate --json: $key" grep -q "\"$key\":[0-9]" again
done
code 0 "$program" evaluate --model model --source source --target target --json >twofold
check "one file or two files" [ "$(grep -o '"bleu":[^,]*' again)" = "$(grep -o '"bleu":[^,]*' twofold)" ]

code 0 "$program" attend --model model "red old new" --layer 1 --head 2 >again
check "a row per word and end token" [ "$(grep -c '[·░▒▓█]' again)" -ge 3 ]
code 2 "$program" attend --model model "red old new" --layer 7 >/dev/null
code 0 "$program" attend --model model "red old new" --json >again
check "attention as JSON" grep -q '"source":\["red","old","new","(end)"\]' again
code 0 "$program" info model >again
check "info" grep -q "^  width  *32" again
check "info: how it was trained" grep -q "^  pairs  *680 training, 20 validation, digest [0-9a-f]*$" again
check "info: its options" grep -q "^  options  *layers 1 width 32 heads 2" again
check "info: only what differs" [ "$(grep -c score again)" -eq 0 ]
check "info: at most 80 columns" awk 'length($0) > 80 { exit 1 }' again
code 0 "$program" info parts.checkpoint >again
check "info of a checkpoint" grep -q "^A checkpoint at epoch " again
check "and how to go on" grep -qx "  toy_translate train --resume --out parts" again
code 0 "$program" info model --tensors >again
check "info --tensors: as many parameters as it says" [ "$(awk '{ n += $2 * $4 } END { print n }' again)" = \
    "$("$program" info model --json | sed 's/.*"parameters":\([0-9]*\).*/\1/')" ]
code 1 "$program" info /etc/passwd
says "/etc/passwd is not a model or tensor file"
code 1 "$program" translate --model /etc/passwd
says "/etc/passwd is not a model or tensor file"
date=1700000000
SOURCE_DATE_EPOCH=$date "$program" train --data test.tsv --out dated --layers 1 --width 8 --heads 1 --steps 1 2>err
"$program" info dated >again
check "a date only if it is given" grep -qx "  date  *2023-11-14" again
code 0 "$program" info --model parts.checkpoint --json >again
check "a checkpoint is a model too" grep -q '"parameters":[0-9]' again

code 0 "$program" train $options --vocab 270 --separate --out apart --steps 5
code 0 "$program" info --model apart --json >again
check "two vocabularies" grep -q '"vocabulary":"separate"' again
code 0 "$program" translate --model apart <source >again

# Options of attention are stored in the model and checked against the checkpoint.
variant="--score additive --cross-locality local-p --cross-normalizer gumbel-softmax --radius 3 --temperature 0.5"
code 0 "$program" train $options $variant --out other --steps 6
code 0 "$program" train $options $variant --out others --steps 3
code 0 "$program" train $options $variant --out others --steps 6 --threads 1 --resume
check "resuming gives the same model" cmp other others
code 1 "$program" train $options --score additive --cross-locality global --out others --steps 9 --resume
check "the differing option is named" grep -q "was made with cross-locality local-p" err
code 1 "$program" train $options $variant --self-normalizer argmax --out others --steps 9 --resume
check "the option that was not there is named" grep -q "was made without self-normalizer argmax" err
code 0 "$program" info --model other >again
check "info prints the score" grep -q "^  cross_score  *additive" again
check "info prints the locality" grep -q "^  cross_locality  *local-p" again
check "info prints the normalizer" grep -q "^  cross_normalizer  *gumbel" again
check "info prints the temperature" grep -q "^  cross_temperature  *0.5" again
code 0 "$program" evaluate --model other --data test.tsv --json >again
code 0 "$program" attend --model other "red old new" >again
code 2 "$program" train $options --cross-score cosin --out nothing
check "the choices are listed" grep -q "'cosin'; choose from scaled-dot, .*, coverage; did you mean cosine?" err

# A run that version 0.2 began with the last pairs for validation cannot be resumed, and is left as it is.
cat >pairs.tsv <<'PAIRS'
a dog	ein Hund
a cat	eine Katze
the dog	der Hund
the cat	die Katze
a red dog	ein roter Hund
a red cat	eine rote Katze
the red dog	der rote Hund
the red cat	die rote Katze
PAIRS
old="--data pairs.tsv --layers 1 --width 2 --heads 1 --vocab 264 --epochs 3 --threads 1 --seed 7 --average 1
    --self-locality local-m --cross-score additive --cross-normalizer gumbel-softmax --temperature 0.3"
tar -xzf "$scripts/../model/files-0.2/files.tar.gz" toy_translate.checkpoint
mv toy_translate.checkpoint old.checkpoint
cp old.checkpoint before
code 1 "$program" train $old --ffn-width 2 --radius 3 --resume --out old
says "old.checkpoint is from a version of toy_translate that took the last pairs for validation"
check "0.2: the checkpoint stays" cmp before old.checkpoint
code 0 "$program" info old.checkpoint >about
check "0.2: its step" grep -q "at epoch 3, step 2" about

# The demo, with far too few steps to learn.
code 0 "$program" demo --steps 3 --json --out kept >again
check "how many pairs it had" grep -q '"train_pairs":59900,' again
for key in exact heldout train_pairs steps seconds threads; do
    check "demo --json: $key" grep -q "\"$key\":[0-9]" again
done
check "one line only" [ "$(wc -l <again)" -eq 1 ]
check "it ends at its steps" grep -q '"steps":3,' again
code 0 "$program" demo --steps 3 >again
check "demo: layer and head" grep -q "^Cross-attention weights of layer 2, head [1-4]," again
check "demo: columns are the source" grep -q "^ *cats *do *not *like *dogs *(end)$" again
check "demo: rows are the translation" [ "$(grep -c "^ *dogs " again)" -eq 0 ]
code 0 "$program" demo --steps 2 --score cosine --normalizer straight-through --json --out chosen
code 0 "$program" info --model chosen --json >again
check "the attention options of demo" grep -q '"self_normalizer":"straight-through"' again
# It ends when the loss is low enough twice.
code 0 "$program" demo --enough 100 --json --out enough >again
check "it ends at the second validation" grep -q '"steps":100,' again
code 0 "$program" demo --write-corpus corpus.tsv
check "corpus" [ "$(wc -l <corpus.tsv)" -ge 20000 ]
[ $failures -eq 0 ]
