#!/bin/sh
# translate as a co-process: each line is answered when the input pauses, before the next one is written, and
# the bytes do not depend on the pauses.
# usage: coprocess.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

printf 'a b\tc d\ne f\tg h\na f\tc h\ne b\tg d\n' >pairs
"$program" train --data pairs --layers 1 --width 8 --heads 1 --ffn-width 8 --steps 3 --out model 2>err || fail "$(cat err)"
translate="$program translate --model model --beam 2 --threads 1"

# A dialog: the next line is written after the answer to the last one. Without an answer, the reader waits until
# timeout ends the dialog.
mkfifo to from
$translate <to >from 2>err &
child=$!
exec 3>to 4<from
printf 'a b\n\n  \ne f a\n' >dialog
while IFS= read -r line; do
    printf '%s\n' "$line" >&3
    timeout 60 head -c 1 <&4 >first || fail "no answer to '$line'"
    [ -s first ] || fail "no answer to '$line'"
    cat first >>answers
    [ "$(od -An -tx1 first | tr -d ' ')" = 0a ] || { IFS= read -r rest <&4; printf '%s\n' "$rest" >>answers; }
done <dialog
# Two and a half lines, and the rest later.
printf 'b\nf\ne ' >&3
for line in b f; do
    IFS= read -r answer <&4
    printf '%s\n' "$answer" >>answers
done
printf 'b' >&3
exec 3>&-
cat <&4 >>answers
exec 4<&-
wait $child || fail "exit code $?: $(cat err)"
{ cat dialog; printf 'b\nf\ne b'; } >all
$translate <all >whole || fail "exit code $?"
cmp answers whole || fail "pauses change the output"

# A full window and a partial one, from a file and from a pipe: the same bytes.
awk 'BEGIN { for (i = 0; i < 9001; i++) print substr("a b e f b a e", 1 + 2 * (i % 5), 1 + 2 * (i % 2)) }' >many
$translate <many >whole
cat many | $translate | cmp - whole || fail "a pipe changes the output"
{ head -n 5000 many; sleep 1; tail -n +5001 many; } | $translate | cmp - whole || fail "a pause changes the output"
[ "$(wc -l <whole)" -eq 9001 ] || fail "lines are missing"
$translate <. >whole 2>err && fail "a folder as standard input"
grep -q "cannot read standard input: " err || fail "no reason: $(cat err)"
[ $failures -eq 0 ]
