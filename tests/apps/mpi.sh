#!/bin/sh
# toy_translate train under mpirun: one model and one checkpoint for any number of ranks and threads, also if
# the run is stopped and resumed with others. Ranks that differ do not begin. If a rank is killed, any number of
# ranks continue from the checkpoint with the same bits. A rank that keeps the others waiting is named.
# usage: mpi.sh PROGRAM [sanitized]
. "$(dirname "$0")/kit/script.sh"

leave_out() {
    echo "skipped: apps/mpi, training by several processes: $1"
    [ $failures -eq 0 ] || exit 1
    exit 77
}
if ! ldd "$program" | grep -q libmpi; then # each of several would write the same files
    code 1 env OMPI_COMM_WORLD_SIZE=2 "$program" train --data all.tsv --out model
    says "built without MPI"
    leave_out "MPI is not built in"
fi
command -v mpirun >/dev/null || leave_out "mpirun is not installed"
# Memory that Open MPI never frees, by library; whole stacks, since it unloads its modules. Other leaks are
# ours.
printf 'leak:%s\n' libmpi.so libopen-pal.so libopen-rte.so libpmix.so libhwloc.so libevent_core >suppressed
enough=3s # for a step
if [ "${2-}" = sanitized ]; then
    enough=20s
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}fast_unwind_on_malloc=0"
    export LSAN_OPTIONS="suppressions=$here/suppressed:print_suppressions=0"
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_WAIT_POLICY=passive
unset TMPDIR # of sockets, whose paths must be short
local="--oversubscribe --bind-to none --mca mpi_yield_when_idle 1 --mca plm isolated"
ranks() { # COUNT OPTION...
    count=$1
    shift
    timeout 120 mpirun $local -n "$count" "$program" train "$@"
}

synthetic_pairs 300 >all.tsv
head -n 280 all.tsv >train.tsv
tail -n 20 all.tsv >test.tsv
head -n 279 all.tsv >less.tsv
options="--data train.tsv --valid test.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 280
    --batch-tokens 256 --rate 0.02 --warmup 5 --dropout 0.3 --patience 0 --average 2 --keep-checkpoint
    --cross-normalizer sample"

same() { # WHAT: the model "parts" and its checkpoint are those of "whole"
    check "$1: the same model" cmp whole parts
    check "$1: the same checkpoint" cmp whole.checkpoint parts.checkpoint
    rm -f parts parts.*
}

fair_share() { # COUNT: checks that rank 0 of COUNT tokenized about 1/COUNT of the pairs, not all of them
    sed -n 's/.*this one tokenized \([0-9]*\) of \([0-9]*\) pairs.*/\1 \2/p' err |
        awk -v count="$1" '{ n++; if ($1 < 1 || $1 * count > 1.5 * $2) bad = 1 } END { exit bad || n != 1 }' ||
        { fail "$1 ranks: what is a rank's part of the pairs?"; cat err; }
}

# One process without mpirun, then ranks with one subtree and ranks with several.
code 0 "$program" train $options --shards 8 --threads 1 --out whole --steps 30
for count in 1 2 3 4; do
    code 0 ranks $count $options --threads $((1 + count % 2)) --out parts --steps 30
    [ $count = 1 ] || fair_share $count
    same "$count ranks"
done
code 0 "$program" train $options --augment all,caps=.3 --shards 8 --threads 1 --out noisy --steps 12
code 0 ranks 3 $options --augment all,caps=.3 --threads 2 --out parts --steps 12
check "noise: the same model" cmp noisy parts
rm -f parts parts.*
code 0 ranks 2 $options --threads 2 --out parts --steps 13
[ $(grep -c '^epoch' err) -le 2 ] || fail "more than one rank reports"
code 0 ranks 3 --resume --threads 1 --out parts --steps 22
code 0 "$program" train --resume --out parts --steps 30
same "2 ranks, then 3, then one process"
code 0 ranks 2 $options --threads 1 --out parts --steps 13
rm -f parts parts.checkpoint.best # the last epoch was the best one, which is made again
code 0 ranks 2 --resume --threads 1 --out parts --steps 30
same "2 ranks, without the best model"
code 0 ranks 2 $options --rate 1e-30 --schedule constant --threads 1 --out parts --epochs 3
mv parts elsewhere
code 1 ranks 2 --resume --threads 1 --out parts --epochs 4
says "parts, the best model so far, is missing"
[ "$(grep -c 'best model so far, is missing' err)" -eq 1 ] || fail "more than one rank says that the model is missing"
rm parts.*
ranks 2 $options --threads 1 --out parts --steps 30 --memory-limit 0.001 2>err && fail "too little memory is not refused"
least=$(sed -n 's/.*training needs at least \([0-9.]*\) MB.*/\1/p' err)
code 0 ranks 2 $options --threads 1 --out parts --steps 30 --memory-limit "$(awk -v a="$least" 'BEGIN { print a + 0.003 }')"
same "2 ranks that read their pairs"
code 0 "$program" train $options --shards 2 --force --out whole --steps 20
code 0 ranks 2 $options --shards 2 --out parts --steps 20
same "as many ranks as shards"
transport="--mca btl self,tcp --mca btl_tcp_if_include lo" # instead of shared memory
code 0 timeout 120 mpirun $local $transport -n 2 "$program" train $options --shards 2 --out parts --steps 20
same "by TCP"
tuning="--from whole --lora 2 --freeze decoder.* --data train.tsv --valid test.tsv --batch-tokens 256 --shards 8
    --schedule constant --keep-checkpoint"
code 0 "$program" train $tuning --threads 1 --out tuned --steps 20
code 0 ranks 3 $tuning --threads 1 --out parts --steps 9
code 0 ranks 2 --resume --threads 1 --out parts --steps 20
check "ranks that tune a model: the same model" cmp tuned parts
check "ranks that tune a model: the same checkpoint" cmp tuned.checkpoint parts.checkpoint
rm -f parts parts.*
code 0 ranks 3 $options --out timed --minutes $enough # rank 0 has the clock
check "a run by the clock ends" test -s timed

# The script in the README, with this machine as its machines.
readme=$scripts/../../apps/README.md
sed -n '/^    # train.sh - /,/^    *--shards 16/s/^    //p' "$readme" | sed 's/--epochs 30/--epochs 2/' >train.sh
grep -q -- '--shards 16' train.sh && sh -n train.sh || fail "apps/README.md: what is its train.sh?"
if [ "${2-}" != sanitized ]; then # no smaller than the default model
    mkdir cluster && cp train.tsv cluster/pairs.tsv && echo 'localhost slots=2' >cluster/hosts
    (cd cluster && PATH=$(dirname "$program"):$PATH OMPI_MCA_plm=isolated timeout 120 sh ../train.sh) 2>err ||
        { fail "train.sh of apps/README.md"; cat err; }
    says "2 ranks; this one"
    check "train.sh leaves a model" test -s cluster/model.safetensors
fi

# A difference between ranks is named, and nothing is written.
both() { # OPTIONS OF RANK 1...
    timeout 120 mpirun $local -n 1 "$program" train $options --out parts --steps 5 : \
        -n 1 "${other-$program}" train $options --out parts --steps 5 "$@"
}
code 1 both --data less.tsv
says "rank 1 has different data"
code 1 both --rate 0.01
says "rank 1 was started with rate 0.01, not rate 0.02"
code 1 both --steps 6
says "rank 1 was started with steps 6, not steps 5"
code 1 both --data lacking.tsv
says "rank 1 cannot start"
cp "$program" other_program && echo >>other_program
other=./other_program
code 1 both
says "rank 1 runs another program"
code 2 ranks 3 $options --shards 2 --out parts
says "3 ranks cannot share 2 shards"
vocabulary() { # LETTER...
    piece '<unk>' 2; piece '<s>' 3; piece '</s>' 3
    for letter; do piece "$letter" 1; done
}
vocabulary ▁ r e d b l u g n w i o a t ü ß h >one.spm
vocabulary ▁ e r d b l u g n w i o a t ü ß h >two.spm
given=$(echo $options | sed 's/--vocab 280/--out parts --steps 5/')
code 1 timeout 120 mpirun $local -n 1 "$program" train $given --sentencepiece one.spm : \
    -n 1 "$program" train $given --sentencepiece two.spm
says "rank 1 has a different vocabulary"
[ ! -e parts ] && [ ! -e parts.checkpoint ] || fail "a run that did not begin wrote files"

# ---- faults: a run that would go on for long, until something happens ----

begin() { # COUNT
    : >run.err # what is waited for is not that of the run before
    timeout 120 mpirun $local -n "$1" "$program" train $options --threads 1 --force --out parts \
        --steps 1000000 2>run.err &
    launched=$!
    wait_until "the run begins" grep -q '^epoch 3 ' run.err
}
wait_until() { # WHAT COMMAND...: within a minute
    what=$1
    shift
    tries=600
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { fail "never: $what"; cat run.err; return; }
        sleep 0.1
    done
}
children() { cat /proc/"$1"/task/*/children 2>/dev/null; } # of all threads, each followed by a space
rank() { # NUMBER: its process
    for process in $(children $(children $launched)); do
        tr '\0' '\n' <"/proc/$process/environ" | grep -q "^OMPI_COMM_WORLD_RANK=$1\$" && echo "$process"
    done
}
send() { # SIGNAL PROCESS
    [ -n "$2" ] && kill "-$1" "$2" || { fail "no process for signal $1"; kill $launched; }
}
ended() { # WHAT: the ranks have ended by themselves, and a checkpoint can be gone on from
    wait $launched && fail "$1: mpirun reports success"
    check "$1: the checkpoint is whole" "$program" info --model parts.checkpoint >/dev/null
}
[ -r /proc/$$/task/$$/children ] || leave_out "killed ranks: /proc does not name children"

for killed in 1 0; do
    begin 3
    send KILL "$(rank $killed)"
    ended "rank $killed is killed"
    [ $killed = 0 ] || grep -q 'continue with' run.err || { fail "nobody says how to continue"; cat run.err; }
    made=$(LC_ALL=C grep -ao 'step\\":[0-9]*' parts.checkpoint | head -n 1 | tr -dc 0-9)
    end=$((${made:-0} + 12))
    code 0 "$program" train $options --shards 8 --threads 1 --force --out whole --steps $end
    cp parts.checkpoint kept && for file in parts.checkpoint.*; do cp "$file" "kept${file#parts.checkpoint}"; done
    code 0 ranks 2 --resume --threads 1 --out parts --steps $end
    same "rank $killed killed, resumed on fewer"
    for file in kept*; do mv "$file" "parts.checkpoint${file#kept}"; done
    cp whole parts # the best model so far, which the first resumed run may have replaced
    code 0 ranks 4 --resume --threads 1 --out parts --steps $end
    check "rank $killed killed, resumed on more: the same checkpoint" cmp whole.checkpoint parts.checkpoint
done

begin 2
send STOP "$(rank 1)"
wait_until "a rank is named that keeps the others waiting" grep -q 'waiting for rank 1' run.err
send CONT "$(rank 1)"
send TERM $(children $launched)
ended "mpirun is asked to end"
[ $failures -eq 0 ]
