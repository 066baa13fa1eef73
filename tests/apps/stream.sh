#!/bin/sh
# toy_translate train with more pairs than it may hold: the same model and checkpoint for any memory limit, from
# pipes, from two files, and stopped at any batch and resumed. A corpus that changes is detected, one that is
# removed is not needed. Memory is planned, reported and not exceeded.
# usage: stream.sh PROGRAM [sanitized | full]
. "$(dirname "$0")/kit/script.sh"

# pairs_of COUNT: prints that many different pairs of 5 to 13 words per side.
pairs_of() {
    awk -v count="$1" 'BEGIN {
        split("the red blue green old new big small garden tree dog cat sees likes finds river mountain book paper", s)
        split("das rot blau grün alt neu groß klein Garten Baum Hund Katze sieht mag findet Fluss Berg Buch Blatt", t)
        x = 7
        for (n = 0; n < count; n++) {
            length_ = 4 + n % 9; a = "n" n; b = "m" n
            for (i = 0; i < length_; i++) {
                x = (x * 1103515245 + 12345) % 2147483648; w = 1 + int(x / 65536) % 19
                a = a " " s[w]; b = t[w] " " b
            }
            print a "\t" b
        }
    }'
}
model="--layers 1 --width 16 --heads 2 --ffn-width 32 --dropout 0.2 --warmup 5 --threads 1"
small="$model --vocab 300 --batch-tokens 128 --keep-checkpoint --average 2"

# The least memory that a run reports with these options, in MB.
least() {
    "$program" train "$@" --out never --memory-limit 0.001 2>least.err
    sed -n 's/.*training needs at least \([0-9.]*\) MB.*/\1/p' least.err
}
same() { # WHAT: the model "parts" and its checkpoint are those of "whole"
    check "$1: the same model" cmp whole parts
    check "$1: the same checkpoint" cmp whole.checkpoint parts.checkpoint
    rm -f parts parts.*
}

if [ "${2-}" = full ]; then
    # Ten million pairs take less than 1 GB. The times until training begins are only printed.
    pairs_of 10000000 >all.tsv
    run="--data all.tsv $model --vocab 2000 --batch-tokens 1024 --average 1 --keep-checkpoint"
    start=$(date +%s)
    "$program" train $run --steps 60 --out parts 2>err &
    process=$!
    while kill -0 $process && ! grep -q '^memory in MB' err; do sleep 0.2; done
    wall=$(($(date +%s) - start))
    cut -d ' ' -f 14,15 "/proc/$process/stat" >ticks
    while grep VmHWM "/proc/$process/status" >now 2>/dev/null && [ -s now ]; do mv now high; sleep 0.2; done
    wait $process || { fail "ten million pairs"; cat err; }
    kilobytes=$(tr -dc 0-9 <high)
    seconds=$(awk -v hz="$(getconf CLK_TCK)" '{ print int(($1 + $2) / hz) }' ticks)
    echo "10,000,000 pairs: $((kilobytes / 1000)) MB at most, $seconds s of processor time, $wall s until training begins"
    cat err
    [ "$kilobytes" -lt 976562 ] || fail "$kilobytes KB"
    code 0 "$program" train $run --steps 20 --out cut
    code 0 "$program" train --resume --out cut --steps 60 --threads 1 --memory-limit 600
    check "ten million pairs, resumed: the same checkpoint" cmp parts.checkpoint cut.checkpoint
    [ $failures -eq 0 ]
    exit
fi

pairs_of 3000 >all.tsv
data="--data all.tsv"
code 0 "$program" train $data $small --out whole --steps 25
awk '/^memory in MB/ { n++ } END { exit n != 1 }' err || fail "memory is not reported exactly once: $(cat err)"
bytes=$(least $data $small)
[ -n "$bytes" ] || fail "no least memory: $(cat least.err)"
[ ! -e never ] && [ ! -e never.checkpoint ] || fail "a run that is refused wrote files"

# Pairs that are not held are read from the file.
for more in 0 0.05 0.3; do
    limit=$(awk -v a="$bytes" -v b=$more 'BEGIN { print a + b }')
    code 0 "$program" train $data $small --out parts --steps 25 --memory-limit "$limit"
    held=$(sed -n 's/.*their tokens \([0-9.]*\),.*/\1/p' err)
    awk -v held="$held" -v more=$more 'BEGIN { exit !(held != "" && held <= more + 0.05) }' ||
        fail "limit $limit: $held MB of tokens are held"
    same "with $limit MB"
done
least="--memory-limit $(awk -v a="$bytes" 'BEGIN { print a + 0.1 }')" # the index of two files, gradients of shards
code 0 "$program" train $data $small $least --shards 4 --force --out parts --steps 9
code 0 "$program" train $data $small --shards 4 --force --out shards --steps 9
check "shards that are read: the same model" cmp shards parts
rm -f parts parts.*

# The same pairs in two files, with a byte order mark, CRLF and skipped lines, and through pipes.
cut -f 1 all.tsv | sed '1s/^/\xef\xbb\xbf/; s/$/\r/; 7s/^/\r\n/' >source
cut -f 2 all.tsv | sed '7s/^/skipped\n/' | head -c -1 >target
code 0 "$program" train --source source --target target $small $least --out parts --steps 25
check "two files: the same model" cmp whole parts
rm -f parts parts.*
sed 's/$/\tmore/; 2s/^/\t\n/' all.tsv >columns
code 0 "$program" train --data columns --more-columns $small $least --out parts --steps 25
check "three columns: the same model" cmp whole parts
rm -f parts parts.*
# Batches and warm-up depend only on the pairs, not on skipped lines, further columns or line ends.
plain="--layers 1 --width 16 --heads 2 --ffn-width 32 --threads 1 --vocab 300 --steps 5"
{ awk 'BEGIN { for (i = 0; i < 80000; i++) printf "x "; print "\ty\tmore" }'; sed 's/$/\tand more\r/' all.tsv; } >columns
code 0 "$program" train $data $plain --out clean
code 0 "$program" train --data columns --more-columns $plain --out parts
check "the same batches and warm-up without what is not used" cmp clean parts
code 0 "$program" train --source source --target target $plain --force --out parts
check "the same batches and warm-up of two files" cmp clean parts
rm -f parts parts.*
cat all.tsv | "$program" train --data /dev/stdin $small --out parts --steps 25 2>err || { fail "a pipe"; cat err; }
check "a pipe: the same model" cmp whole parts
rm -f parts parts.*
bytes=$(cat all.tsv | least --data /dev/stdin $small)
cat all.tsv | "$program" train --data /dev/stdin $small --out parts --steps 25 --memory-limit "$bytes" 2>err ||
    { fail "a pipe that is held as text"; cat err; }
check "a pipe that is held as text: the same model" cmp whole parts
rm -f parts parts.*

# Stopped at any batch, each time with another limit.
options=
for steps in 1 2 6 7 13 20 24 25; do
    code 0 "$program" train $data $small --out parts --steps $steps $options
    [ $((steps % 2)) -eq 0 ] && options=--resume || options="--resume $least"
done
same "stopped at seven batches"

# A letter or the order changes between two runs: the corpus is refused, and nothing is lost.
code 0 "$program" train $data $small --out parts --steps 5
cp parts.checkpoint kept
sed '1500s/n/k/' all.tsv >changed
sed '100{h;d};200G' all.tsv >moved
for other in changed moved; do
    code 1 "$program" train --resume --out parts --steps 25 --data $other $least
    says "was trained on different sentence pairs"
done
check "the checkpoint stays" cmp kept parts.checkpoint

# The corpus changes during a run: what was learned is kept, and training continues with the right corpus. A
# file that loses its name can still be read.
during() { # COMMAND...: is run once the first epochs have ended; then the run goes on
    rm -f parts parts.*
    cp all.tsv work.tsv
    : >err
    "$program" train --data work.tsv $small $least --out parts --steps 1000000 --patience 0 2>err &
    process=$!
    while kill -0 $process 2>/dev/null && ! grep -q '^epoch 1 ' err; do sleep 0.1; done
    "$@"
}
for how in "cp changed work.tsv" "truncate -s 1000 work.tsv" "truncate -s 0 work.tsv"; do
    sed 's/n/k/' all.tsv >changed
    during $how
    wait $process && fail "$how: the run ends well"
    says "work.tsv has changed since training began"
    step=$(sed -n 's/.*the checkpoint is from step \([0-9]*\); continue.*/\1/p' err)
    [ -n "$step" ] || { fail "$how: no checkpoint is mentioned"; cat err; continue; }
    code 0 "$program" train --resume --out parts --data all.tsv --steps $((step + 5))
    code 0 "$program" train $data $small --force --out whole --steps $((step + 5)) --patience 0
    check "$how: the same parameters" cmp whole parts
done
during rm work.tsv
sleep 0.3
kill -INT $process
wait $process
[ $? -eq 130 ] || { fail "a corpus without a name"; cat err; }

# In a small address space, which the whole corpus would not fit.
rm -f whole whole.* parts parts.*
pairs_of 300000 >all.tsv
large="$data $model --vocab 300 --batch-tokens 128 --average 1 --steps 2"
code 0 "$program" train $large --out whole
if [ "${2-}" != sanitized ]; then # which takes terabytes of addresses
    (ulimit -v 185000 && exec "$program" train $large --out parts) 2>err || { fail "185 MB"; cat err; }
    check "in 185 MB: the same model" cmp whole parts
fi
[ $failures -eq 0 ]
