#!/bin/sh
# programs.sh - lets file calls of toy_translate fail (calls.c, preloaded). The exit code and message must be
# right, each file must be the old or the new one, bit by bit, and nothing may be left beside them. If the
# program is killed at any call, the files must be old or new, and the next start must remove what was left.
# usage: programs.sh TOY_TRANSLATE CALLS.so [all]
set -u
export LC_ALL=C OMP_NUM_THREADS=1
program=$(realpath "$1") calls=$(realpath "$2")
step=17 # tests every 17th call
[ "${3-}" = all ] && step=1
here=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)") && cd "$here" || exit 1
export OMP_WAIT_POLICY=passive
trap 'rm -rf "$here"' EXIT
failures=0 injections=0 kills=0

fail() {
    echo "$*"
    failures=$((failures + 1))
    [ $failures -lt 20 ] || exit 1
}

ONCE=1 FROM=2 INTERRUPT=4 SHORT=5 KILL=6
# inject MODE AT ERROR LIMIT COMMAND...: runs COMMAND and sets got, out and err
inject() {
    RAPT_FAULTS="$1 $2 $3 $4"
    shift 4
    RAPT_FAULTS=$RAPT_FAULTS RAPT_FAULTS_CALLS=$here/counted LD_PRELOAD=$calls "$@" >out 2>err </dev/null
    got=$?
    injections=$((injections + 1))
}
# begin MODE AT ERROR LIMIT COMMAND...: the same in a new folder work/ with the old files
begin() {
    rm -rf work && cp -r old work && cd work || exit 1
    inject "$@"
    cd .. && mv work/out work/err .
}
# are_new WHY: checks that all files are the new ones
are_new() {
    for file in $files; do cmp -s work/$file new/$file || fail "$what: $1, but $file is not the new version"; done
}
# judge COMMAND...: checks that the exit code, the message and the files fit together
judge() {
    for file in $files; do
        cmp -s work/$file old/$file || cmp -s work/$file new/$file || fail "$what: $file is neither old nor new"
    done
    case $mode:$got in
    $KILL:137) kills=$((kills + 1)) ;;
    *:0) are_new "exit code 0" ;;
    *:1) [ -s err ] || fail "$what: no message" ;;
    *) fail "$what: exit code $got: $(cat err)" ;;
    esac
    ls -A work | grep -q '^\.rapt-' || return
    left=$((left + 1))
    [ $mode != $ONCE ] || [ $left -lt 9 ] || fail "$what: a temporary file is left" # only if unlink failed
    (cd work && "$@" >../out 2>../err </dev/null)
    ls -A work | grep -q '^\.rapt-' && fail "$what: the next start does not remove the temporary file"
}
# sweep NAME FILES COMMAND...: runs COMMAND in copies of old/, where it turns old/FILES into new/FILES
sweep() {
    name=$1 files=$2 left=0
    shift 2
    rm -rf new
    cp -r old new
    (cd new && "$@" >/dev/null 2>&1) || fail "$name: does not run"
    for mode in $INTERRUPT $SHORT; do
        begin $mode 0 0 1000 "$@"
        what="$name, mode $mode"
        [ $got -eq 0 ] || fail "$what: exit code $got: $(cat err)"
        are_new "mode $mode"
    done
    for mode in $ONCE $FROM $KILL; do
        limit=0
        [ $mode = $KILL ] && limit=20000 # bytes per write; the last one does only half
        begin $ONCE -1 0 $limit "$@"
        calls_made=$(cat counted) at=0
        [ "$calls_made" -gt 8 ] || fail "$name: $calls_made calls"
        left=0
        while [ $at -lt "$calls_made" ]; do
            error=$(echo 5 28 122 13 | cut -d ' ' -f $((1 + at % 4))) # EIO ENOSPC EDQUOT EACCES
            begin $mode $at $error $limit "$@"
            what="$name, mode $mode, call $at of $calls_made, error $error"
            judge "$@"
            at=$((at + step))
        done
    done
}

printf 'a b\tc d\ne f\tg h\na f\tc h\ne b\tg d\n' >pairs
mkdir old
cp pairs old/
small="--data pairs --layers 1 --width 8 --heads 1 --ffn-width 8 --threads 1 --average 2 --keep-checkpoint"
(cd old && "$program" train $small --epochs 1 --out m) 2>err || fail "$(cat err)"
sweep train "m m.checkpoint" "$program" train $small --epochs 2 --resume --out m
cp new/m model

# Pairs are read during training. Whichever read fails, what was learned before must be kept, and the run that
# resumes from it must end with the same bits.
awk 'BEGIN { for (n = 0; n < 300; n++) print "a" n " b c" n % 7 "\td" n % 5 " e f" n }' >many
stream="--data ../many --layers 1 --width 8 --heads 1 --ffn-width 8 --vocab 270 --batch-tokens 128 --threads 1 --average 1
    --keep-checkpoint --steps 40 --out m"
mkdir whole && cd whole || exit 1
"$program" train $stream --memory-limit 0.001 2>err && fail "too little memory is not refused"
limit="--memory-limit $(sed -n 's/.*at least \([0-9.]*\) MB.*/\1/p' err)"
inject $ONCE -1 0 0 "$program" train $stream $limit
[ $got -eq 0 ] || fail "pairs that are read: $(cat err)"
calls_made=$(cat ../counted) at=0 kept=0
cd ..
[ "$calls_made" -gt 400 ] || fail "pairs that are read: $calls_made calls"
while [ $at -lt "$calls_made" ]; do
    rm -rf work && mkdir work && cd work || exit 1
    inject $ONCE $at 5 0 "$program" train $stream $limit
    what="pairs that are read, call $at of $calls_made"
    case $got in
    0) ;;
    1)
        grep -q "Input/output error" err || fail "$what: no reason: $(cat err)"
        resume=--force
        [ ! -f m.checkpoint ] || resume=--resume
        ! grep -q "checkpoint is from step" err || kept=$((kept + 1))
        "$program" train $stream $resume 2>err || fail "$what: it does not resume: $(cat err)"
        ;;
    *) fail "$what: exit code $got: $(cat err)" ;;
    esac
    for file in m m.checkpoint; do cmp -s $file ../whole/$file || fail "$what: $file differs"; done
    cd ..
    at=$((at + 3 * step))
done
[ $kept -gt 3 ] || fail "pairs that are read: only $kept reads failed within training"

rm -rf old && mkdir old
echo old >old/corpus
sweep corpus "corpus" "$program" demo --force --write-corpus corpus
rm -rf old && mkdir old
echo old >old/page.svg
sweep figure "page.svg" "$program" attend --model ../model --threads 1 --svg page.svg "a b"
echo "$injections injections, $kills kills"
[ $failures -eq 0 ]
