#!/bin/sh
# How toy_translate computes training steps: the same bits for any number of threads, shards and ranks, and after a
# resumption.
# usage: steps.sh PROGRAM CASE [sanitized]
. "$(dirname "$0")/kit/script.sh"

# toy_translate train --products and --precision: the result of the measurement is reported and stored with the model,
# and a resumed run does not measure again; training in bf16 has the same bits for any number of threads.
test_products() {
    synthetic_pairs 300 >all.tsv
    head -n 280 all.tsv >train.tsv
    tail -n 20 all.tsv >test.tsv
    options="--data train.tsv --valid test.tsv --layers 1 --width 64 --heads 2 --ffn-width 512 --vocab 300
    --batch-tokens 512 --warmup 5 --patience 0 --threads 1 --keep-checkpoint"

    code 0 "$program" train $options --steps 8 --out plain
    code 0 "$program" train $options --steps 8 --out named --products builtin
    check "builtin is the default" cmp plain named
    "$program" info plain >plain.txt
    ! grep -q "^  products" plain.txt || fail "info tells what is always so"

    # Products in bf16.
    code 0 "$program" train $options --steps 8 --out bf16 --precision bf16
    says "matrix products by bf16"
    ! cmp -s plain bf16 || fail "--precision bf16 changes nothing"
    "$program" info bf16 >info.txt
    grep -q "^  products  *bf16" info.txt || fail "info does not say who computed: $(cat info.txt)"
    code 0 "$program" train $options --threads 2 --steps 8 --out same --precision bf16
    check "the same bits with two threads" cmp bf16 same
    code 0 "$program" train $options --steps 4 --out part --precision bf16
    code 0 "$program" train $options --steps 8 --out part --precision bf16 --resume
    check "the same bits after a resumption" cmp bf16 part
    code 1 "$program" train $options --steps 9 --out part --precision f32 --resume
    says "with precision bf16"
    code 1 "$program" train $options --steps 8 --out both --precision bf16 --products openblas
    says "omit --products"

    if ! "$program" train $options --steps 8 --out blas --products openblas >blas.txt 2>&1; then
        grep -q OpenBLAS blas.txt || fail "--products openblas: $(cat blas.txt)"
        echo "skipped: apps/products: $(tail -n 1 blas.txt)"
        [ $failures -eq 0 ]
        exit
    fi
    grep -q "^matrix products by OpenBLAS: all large products$" blas.txt || fail "train does not say who computes: $(cat blas.txt)"
    "$program" info blas >info.txt
    grep -q "^  products  *OpenBLAS: all large products$" info.txt || fail "info does not say who computed: $(cat info.txt)"

    # Resumed twice with the results of one measurement.
    code 0 "$program" train $options --steps 4 --out one --products auto
    for file in one one.checkpoint*; do cp "$file" "two${file#one}"; done
    code 0 "$program" train $options --steps 8 --out one --products auto --resume
    code 0 "$program" train $options --steps 8 --out two --products auto --resume
    check "the same products after each resumption" cmp one two
    code 2 "$program" train $options --steps 8 --out one --products fast
    code 1 "$program" train $options --steps 9 --out one --products builtin --resume
    says "with products auto"
}

# toy_translate train --quantize-aware: the validation loss is that of the model in 8 bits, only the last part of the
# run differs from one in floats, and the bits are the same for any number of threads and after a resumption.
test_quantize_aware() {
    synthetic_pairs 300 >all.tsv
    head -n 280 all.tsv >train.tsv
    tail -n 20 all.tsv >test.tsv
    options="--data train.tsv --valid test.tsv --layers 1 --width 64 --heads 2 --ffn-width 128 --vocab 300
    --batch-tokens 512 --warmup 5 --threads 1 --average 1 --keep-checkpoint"

    code 0 "$program" train $options --steps 12 --out plain
    code 0 "$program" train $options --steps 12 --out late --quantize-aware 0.25
    says "the last 25 % of the run are trained, and all of it is validated, in 8-bit arithmetic"
    code 0 "$program" train $options --steps 12 --out whole --quantize-aware 1
    "$program" info late >info.txt
    grep -q "quantize-aware 0.25" info.txt || fail "info does not say how: $(cat info.txt)"

    # scores MODEL: what the parameters at the end of its run give in floats
    scores() {
        "$program" score --model "$1.checkpoint" --precision f32 --data test.tsv --json 2>/dev/null
    }
    [ "$(scores plain | wc -l)" -eq 20 ] || fail "no scores: $(scores plain)"
    [ "$(scores late)" != "$(scores plain)" ] || fail "--quantize-aware changes nothing"
    [ "$(scores late)" != "$(scores whole)" ] || fail "the share changes nothing"

    # Nine of twelve steps are in floats.
    code 0 "$program" train $options --steps 9 --out nine
    "$program" train $options --steps 9 --out begun --quantize-aware 1e-9 2>err || fail "$(cat err)"
    [ "$(scores nine)" = "$(scores begun)" ] || fail "a run that is not yet in 8 bits differs from one in floats"

    # The validation loss is that of score --precision int8.
    valid=$("$program" info --json late | tr ',{}' '\n\n\n' | sed -n 's/.*"valid_loss": *//p')
    "$program" score --model late --precision int8 --data test.tsv 2>err >/dev/null
    bytes=$(sed -n 's/.*perplexity //p' err)
    "$program" score --model late --precision f32 --data test.tsv 2>err >/dev/null
    floats=$(sed -n 's/.*perplexity //p' err)
    check "the loss $valid is that in 8 bits, log $bytes, and not that in floats, log $floats" \
        awk -v valid="$valid" -v bytes="$bytes" -v floats="$floats" 'BEGIN {
            p = exp(valid); exit !((p / bytes - 1) ^ 2 < 6e-4 ^ 2 && bytes > 1 && bytes != floats) }'

    # The same bits.
    code 0 "$program" train $options --threads 2 --steps 12 --out same --quantize-aware 0.25
    check "the same bits with two threads" cmp late same
    code 0 "$program" train $options --steps 5 --out part --force --quantize-aware 1
    code 0 "$program" train $options --steps 12 --out part --resume
    check "the same bits after a resumption" cmp whole part
    code 0 "$program" train $options --steps 400 --out long --quantize-aware 0.5
    "$program" train $options --steps 400 --out cut --quantize-aware 0.5 2>err &
    while kill -0 $! 2>/dev/null && [ ! -f cut.checkpoint ]; do sleep 0.02; done
    kill -INT $! 2>/dev/null
    wait $!
    if [ $? -eq 130 ]; then
        code 0 "$program" train $options --steps 400 --out cut --resume
        check "the same bits after an interruption" cmp long cut
    else
        echo "skipped: apps/quantize_aware: the run ended before it could be interrupted"
    fi
    code 1 "$program" train $options --steps 14 --out late --resume --quantize-aware 0.5
    says "with quantize-aware 0.25, not quantize-aware 0.5"
    code 1 "$program" train $options --steps 14 --out plain --resume --quantize-aware 0.5
    says "without quantize-aware 0.5"
    code 2 "$program" train $options --steps 14 --out late --resume --patience 3
    says "--patience could end the run"

    # What makes no sense is refused.
    code 2 "$program" train $options --steps 12 --out other --quantize-aware 1.5
    code 2 "$program" train $options --steps 12 --out other --quantize-aware most
    code 2 "$program" train $options --steps 12 --out other --quantize-aware 0.5 --patience 3
    says "--patience could end the run"
    code 0 "$program" train $options --steps 12 --out other --quantize-aware 1 --patience 3

    # A model of floats is tuned; BLEU before and after is that in 8 bits.
    code 0 "$program" train --from plain --data train.tsv --valid test.tsv --threads 1 --steps 5 --out tuned --quantize-aware 1
    says "20 validation pairs, in 8-bit arithmetic: BLEU"
}

# toy_translate train --shards: model and checkpoint do not depend on the number of threads or on a stop; one
# shard is the same as a whole step; a run is resumed only with its own number of shards.
test_shards() {
    synthetic_pairs 300 >all.tsv
    head -n 280 all.tsv >train.tsv
    tail -n 20 all.tsv >test.tsv
    options="--data train.tsv --valid test.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 280
    --batch-tokens 256 --rate 0.02 --warmup 5 --dropout 0.3 --patience 0 --average 2 --keep-checkpoint
    --cross-normalizer sample"

    # After the first step, batches of few sequences have empty shards.
    for shards in 4 64; do
        code 0 "$program" train $options --shards $shards --threads 1 --force --out whole --steps 30
        code 0 "$program" train $options --shards $shards --threads 2 --force --out parts --steps 13
        code 0 "$program" train --resume --out parts --steps 30 --threads 1
        check "$shards shards, stopped: the same model" cmp whole parts
        check "$shards shards, stopped: the same checkpoint" cmp whole.checkpoint parts.checkpoint
    done
    code 1 "$program" train --resume --out parts --steps 40 --shards 8
    says "shards 64, not shards 8"
    code 2 "$program" train $options --shards 6 --out other
    says "--shards 6 is not a power of two"

    # The same parameters under different options.
    digest() { "$program" score --model "$1" --data test.tsv --json; }
    code 0 "$program" train $options --shards 1 --force --out one --steps 20
    code 0 "$program" train $options --force --out none --steps 20
    code 0 "$program" train $options --shards 2 --force --out two --steps 20
    digest one >one.json
    digest none >none.json
    digest two >two.json
    check "one shard is a step as a whole" cmp one.json none.json
    cmp -s one.json two.json && fail "two shards train as one does"
    code 1 "$program" train --resume --out none --steps 40 --shards 2
    says "without shards 2"
}

# toy_translate train under mpirun: one model and one checkpoint for any number of ranks and threads, also if
# the run is stopped and resumed with others. Ranks that differ do not begin. If a rank is killed, any number of
# ranks continue from the checkpoint with the same bits. A rank that keeps the others waiting is named.
test_mpi() {
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
    if [ "${1-}" = sanitized ]; then
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
    if [ "${1-}" != sanitized ]; then # no smaller than the default model
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
}

run_test "$@"
