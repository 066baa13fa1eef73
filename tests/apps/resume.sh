#!/bin/sh
# toy_translate train: a run that stops anywhere within or between epochs and is resumed ends with the same
# bytes as one that never stopped, also if the model at the stop is better than any that the longer run may
# keep. A checkpoint whose position is beyond its epoch is refused, and so is one without the best model, unless
# that can be written again.
# usage: resume.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

# Synthetic pairs, translated in reverse order, with eight or nine batches per epoch.
synthetic_pairs 300 >all.tsv
head -n 280 all.tsv >train.tsv
tail -n 20 all.tsv >test.tsv

# A path that is not UTF-8 cannot be stored in a checkpoint and must be given again.
odd=$(printf 'odd\351.tsv')
cp train.tsv "$odd"
small="--layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 280 --threads 1 --keep-checkpoint"
code 0 "$program" train --data "$odd" --valid test.tsv $small --out odd --steps 3
says "defaults for small data: --batch-tokens 512 --warmup "
grep -q "few pairs" err && fail "a smaller model than the one given is proposed"
code 2 "$program" train --resume --out odd --steps 5
says "either --data or both"
code 0 "$program" train --resume --out odd --steps 5 --data "$odd"
code 0 "$program" train --data train.tsv --valid test.tsv $small --out even --steps 5
check "the same model whatever its data are called" cmp -s odd even
# Batches and warm-up are smaller for small data than the preset's, unless they are given.
code 0 "$program" info odd --json >about
check "smaller batches" grep -q " batch-tokens 512 " about
check "a shorter warm-up" grep -qE " warmup [1-9][0-9]{0,2} schedule" about
code 0 "$program" train --data train.tsv --valid test.tsv $small --out even --steps 5 --force --batch-tokens 4096 --warmup 1000
says "all 5 steps are warm-up; try --warmup 2 or a longer run"
code 0 "$program" train --data train.tsv --valid test.tsv $small --out rising --minutes 1s --schedule constant --warmup 1000000
says "all steps were warm-up"
code 0 "$program" info even --json >about
check "as given" grep -q " warmup 1000 .*batch-tokens 4096 " about

# validation loss of the last report, from JSON lines
last_loss() {
    sed -n 's/.*"valid_loss":\([0-9.e+-]*\).*"done":true.*/\1/p' "$1"
}

# The learning rate is so high that the validation loss goes up and down.
options="--data train.tsv --valid test.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 280
    --batch-tokens 256 --rate 0.1 --warmup 5 --dropout 0.3 --patience 0 --schedule constant --threads 1 --keep-checkpoint"
stops=0
for average in 1 2; do
    for end in 43 50; do
        code 0 "$program" train $options --average $average --force --out whole --steps $end --json >whole.json
        # At the end of an epoch, within one, in the first one, and twice.
        for cut in 4 33 36 "47 49" "46 46 48" "10 26 44 45"; do
            rm -f parts parts.*
            resume=
            for steps in $cut; do
                [ "$steps" -lt "$end" ] || continue
                code 0 "$program" train $options --average $average --out parts --steps "$steps" --json \
                    $resume >parts.json
                loss=$(last_loss parts.json)
                [ -n "$loss" ] || fail "no loss is reported at the end"
                resume=--resume
                stops=$((stops + 1))
            done
            code 0 "$program" train $options --average $average --out parts --steps $end --json \
                $resume >parts.json
            what="average $average, stopped at $cut, ended at $end"
            check "$what: the same model" cmp whole parts
            check "$what: the same checkpoint" cmp whole.checkpoint parts.checkpoint
            [ "$(last_loss whole.json)" = "$(last_loss parts.json)" ] || fail "$what: another best loss"
        done
    done
done
[ $stops -gt 20 ] || fail "only $stops stops"

# The better model of a stop stays in OUT until the longer run decides at the end of the epoch.
back=0
rough="$options --rate 0.8" # the last rate given counts; here one epoch in three is the best so far
for stop in 27 29 30 35 37 38 43 46 51 54 59 62; do
    rm -f better better.* best best.*
    code 0 "$program" train $rough --average 1 --out better --steps $stop --json >better.json
    [ -f better.checkpoint.best ] || continue
    epoch=$(sed -n 's/.*"step":\([0-9]*\).*"epoch".*/\1/p' better.json | tail -n 2 | head -n 1)
    code 0 "$program" train $rough --average 1 --out best --steps "$epoch"
    check "stop at $stop: the best of the epochs is kept" cmp best better.checkpoint.best
    while [ -f better.checkpoint.best ] && [ $stop -lt 72 ]; do
        stop=$((stop + 1))
        code 0 "$program" train $rough --average 1 --out better --steps $stop --resume
    done
    rm -f whole whole.*
    code 0 "$program" train $rough --average 1 --force --out whole --steps $stop
    check "continued to $stop: as if it had not stopped" cmp whole better
    cmp -s best better && back=$((back + 1))
done
[ $back -gt 0 ] || fail "in no epoch the earlier model was better than that of the stop"

# Options of hard attention, which a resumed run takes from the checkpoint: rewards, and an arg-max that stops
# while it is annealed.
for hard in "--cross-normalizer sample --baseline expected --expected-share 0.4 --reward-scale 0.3 --reward-decay 0.7
        --reward-entropy -0.02" "--cross-normalizer argmax --anneal 7.5 --anneal-steps 20"; do
    code 0 "$program" train $options $hard --force --out hard --steps 24
    code 0 "$program" train $options --force --out plain --steps 24 $(echo $hard | cut -d ' ' -f 1,2)
    rm -f hard_parts hard_parts.*
    code 0 "$program" train $options $hard --out hard_parts --steps 11
    code 0 "$program" train --out hard_parts --steps 24 --resume --threads 1 --keep-checkpoint
    check "$hard: the same model" cmp hard hard_parts
    cmp -s hard plain && fail "$hard: no option has an effect"
    rm -f hard_parts hard_parts.*
done
code 0 "$program" train $options --cross-normalizer argmax --anneal 2 --anneal-steps 1000000000 --out slow --steps 2
code 0 "$program" train --out slow --steps 3 --resume --threads 1
for hard in "--baseline expected" "--expected-share 0.5" "--reward-scale 2" "--reward-decay 0.5" "--reward-entropy -1"; do
    code 2 "$program" train $options --out refused --steps 2 --cross-normalizer argmax $hard
    says "train: $(echo $hard | sed 's/ [-0-9].*//') needs --self-normalizer or --cross-normalizer sample"
done
code 2 "$program" train $options --out refused --steps 2 --anneal 5 --anneal-steps 3
says "train: --anneal needs --self-normalizer or --cross-normalizer argmax"
for hard in "--anneal 5" "--anneal-steps 5"; do
    code 2 "$program" train $options --out refused --steps 2 --self-normalizer argmax $hard
    says "train: --anneal and --anneal-steps must be given together"
done

# Numbers in a checkpoint are checked: each is replaced by another one of the same length.
edit() { # FIELD FROM TO
    LC_ALL=C sed "s/\(${1}..:\)$2/\1$3/" stopped.checkpoint >damaged.checkpoint
    cmp -s stopped.checkpoint damaged.checkpoint && fail "no $1 $2 in the checkpoint"
}
code 0 "$program" train $options --average 1 --out stopped --epochs 2
first=$(sed -n 's/^epoch 1[^ ]*  step \([0-9]*\).*/\1/p' err)
both=$(sed -n 's/^epoch 2[^ ]*  step \([0-9]*\).*/\1/p' err)
batches=$((both - first)) # of the second epoch
code 0 "$program" train $options --average 1 --force --out stopped --steps $((both - 1))
end=$((both + 9))
edit position $((batches - 1)) "$batches"
code 1 "$program" train $options --average 1 --out damaged --steps $end --resume
check "the position is named" grep -q "position is $batches, but epoch 2 has $batches batches" err
edit bad 0 x
code 1 "$program" train $options --average 1 --out damaged --steps $end --resume
check "text that is not JSON" grep -q "training state is damaged" err
edit since 0 5
code 1 "$program" train $options --average 1 --out damaged --steps $end --resume
check "the epochs without progress" grep -q "since is 5, but epoch is 2" err
edit epoch 2 0
code 1 "$program" train $options --average 1 --out damaged --steps $end --resume
check "the epoch is named" grep -q "epoch is 0" err
LC_ALL=C sed 's/\(seconds..:0\).0/\1/; s/\(seed 1\)\(..}\)/\1 \2 /' stopped.checkpoint >damaged.checkpoint
code 1 timeout -s KILL 60 "$program" train $options --average 1 --out damaged --steps $end --resume
check "options that differ only in spaces" grep -q "the list of options is damaged" err

# Without validation files, validation takes pairs of the whole file. A checkpoint of a version that took the last
# ones is refused.
code 0 "$program" train --data train.tsv $small --out held_out --steps 3
code 0 "$program" train --resume --out held_out --steps 5
code 0 "$program" train --data train.tsv $small --out held_out_whole --steps 5
check "the same pairs are held out" cmp held_out held_out_whole
LC_ALL=C sed 's/ split spread/             /' held_out.checkpoint >before
mv before held_out.checkpoint
code 1 "$program" train --resume --out held_out --steps 9
says "held_out.checkpoint is from a version of toy_translate that took the last pairs for validation"
check "the model stays" cmp held_out held_out_whole
awk -F'\t' '{ if (NR > 277) for (i = 0; i < 8; i++) $1 = $1 " " $1; print $1 "\t" $2 }' train.tsv >long_end.tsv
code 0 "$program" train --data long_end.tsv $small --out long_end --steps 3
says "3 such pairs are skipped"
says "275 training pairs, 2 validation pairs"

# A checkpoint without OUT: the best model is written again, with the same bytes, if the last epoch gave it or
# OUT.checkpoint.best exists; otherwise no run begins and nothing changes.
number() { # FIELD: of the state in lone.checkpoint
    LC_ALL=C sed -n "s/.*\"{..epoch.*$1..:\([0-9.a-z]*\).*/\1/p" lone.checkpoint | head -n 1
}
lone() { # FILE: its checkpoints, renamed
    rm -f lone lone.*
    for file in "$1".checkpoint*; do cp "$file" "lone${file#"$1"}"; done
}
again=0 copied=0 refused=0
for average in 1 2; do
    for steps in 5 $((first - 1)) $first $((both - 3)) $both 22 27 29 33 38 43 50; do
        code 0 "$program" train $rough --average $average --force --out best --steps "$steps"
        lone best
        may=$average
        [ "$(number position)" = 0 ] && may=2
        wanted=1
        if [ "$(number best)" = null ]; then
            wanted=0
        elif [ -f lone.checkpoint.best ]; then
            wanted=0 copied=$((copied + 1))
        elif [ "$(number since)" = 0 ] && [ $may = 2 ]; then
            wanted=0 again=$((again + 1))
        fi
        what="average $average, $steps steps, without the model"
        cp lone.checkpoint before
        ls lone.* >names
        code $wanted "$program" train --resume --out lone
        if [ $wanted = 0 ]; then
            check "$what: the same model" cmp best lone
        else
            says "lone, the best model so far, is missing"
            ls lone* | cmp -s - names || fail "$what: files changed"
            refused=$((refused + 1))
        fi
        check "$what: the same checkpoint" cmp before lone.checkpoint
    done
done
[ $again -gt 1 ] && [ $copied -gt 1 ] && [ $refused -gt 1 ] || fail "$again, $copied and $refused cases"
lone best
echo junk >lone
code 1 "$program" train --resume --out lone --steps 60
says "cannot read the best model: lone"
[ "$(cat lone)" = junk ] && cmp -s best.checkpoint lone.checkpoint || fail "files beside a damaged model changed"

# The learning rate changes nothing, so the first epoch is the best. A file that vanishes meanwhile is reported
# as missing.
still="--data test.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --threads 1 --rate 1e-30 --schedule constant --patience 0"
code 0 "$program" train $still --patience 2 --keep-checkpoint --out patient --epochs 4
says "stopped: no improvement for 2 epochs"
code 0 "$program" train --resume --out patient --epochs 20
grep -qx "nothing left to do: give a higher --patience" err || { fail "how a run without patience goes on:"; cat err; }
code 0 "$program" train --resume --out patient --epochs 3
says "give a higher --patience, and a higher --epochs, --steps or --minutes"
code 0 "$program" train --resume --out patient --patience 3
says "stopped: no improvement for 3 epochs"
begin_still() { # OPTION...
    : >err
    "$program" train $still "$@" 2>err &
    while kill -0 $! && [ "$(grep -c '^epoch' err)" -lt 3 ]; do sleep 0.1; done
}
begin_still --out stood --epochs 1000000
# A second run with the same OUT does not begin. A killed run does not prevent the next one.
for how in "" --force "--resume --epochs 9"; do
    "$program" train $still --out ./stood $how 2>other && fail "two runs write the same files: $how"
    grep -q "another run is writing ./stood" other || { fail "the other run is not named:"; cat other; }
done
# The same model under other names: links, also one whose file does not exist when the run begins.
ln -s stood soft && ln -s "$here" around && ln -s around/soft far
for out in soft around/stood around/../"$(basename "$here")"/soft far; do
    "$program" train $still --out $out --force 2>other && fail "two runs write the same files: --out $out"
    grep -q "another run is writing $out" other || { fail "the other run is not named: $out:"; cat other; }
done
"$program" demo --steps 1 --threads 1 --force --out soft >shown 2>other && fail "demo writes the file of a run"
grep -q "another run is writing soft" other || { fail "the other run is not named: demo:"; cat other; }
check "a run of another name" "$program" train $still --out other_name --epochs 1 2>other
ln stood twin && cp stood unchanged
check "a run of a hard link" "$program" train $still --seed 2 --out twin --epochs 1 --force 2>other
cmp -s unchanged stood && ! cmp -s stood twin || fail "a run of a hard link wrote another run's model"
kill -KILL $!
wait $! 2>other
begin_still --out stood --epochs 1000000 --resume
kill -INT $!
wait $!
[ $? -eq 130 ] || fail "not interrupted"
epoch=$(sed -n 's/^epoch \([0-9]*\).*/\1/p' err | tail -n 1)
lone stood
code 1 "$program" train --resume --out lone --epochs $((epoch + 3))
says "lone, the best model so far, is missing"
for file in stood.checkpoint*; do cmp "$file" "lone${file#stood}" || fail "a refused run changed a checkpoint"; done
cp stood lone
code 0 "$program" train --resume --out lone --epochs $((epoch + 3))
check "the best model stays" cmp stood lone
[ "$(echo lone*)" = "lone lone.svg" ] || fail "left beside the model: $(echo lone*)"
rm soft around far
ln -s future present
begin_still --out present --epochs 1000000
code 1 "$program" train $still --out ./future --force
says "another run is writing ./future"
kill -KILL $!
wait $! 2>other
begin_still --out gone --minutes 3s
mv gone elsewhere
wait $!
[ $? -eq 1 ] || fail "a model that vanished is not noticed"
says "cannot read the best model: gone"
check "the checkpoint is kept" "$program" info --model gone.checkpoint >about
[ $failures -eq 0 ]
