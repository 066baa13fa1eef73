#!/bin/sh
# programs.sh CASE ARGUMENT... - what programs ask of their process: memory that may be missing. A case is a function test_CASE
# below.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "$*: exit status $status"
    cat errors
    exit 1
}

# whole FILE: succeeds if FILE is a model that can be loaded
whole() { "$toy" info --model "$1" >/dev/null 2>&1; }

# timeless FILE: writes FILE without the line with the speed to FILE.timeless
timeless() { grep -av '^tokens/s' "$1" >"$1.timeless" || :; }

# one NAME NUMBER COMMAND...: runs COMMAND with allocation NUMBER failing
one() {
    name=$1 number=$2
    shift 2
    status=0
    [ "$name" != anew ] || rm -f new.safetensors*
    FAIL_AT=$number LD_PRELOAD="$preload" timeout 60 "$toy" "$@" <lines >out 2>errors || status=$?
    [ $status -lt 124 ] || fail "$name, allocation $number"
    if [ $status -gt 0 ]; then
        [ -s errors ] || fail "$name, allocation $number: no message"
    else
        timeless out
        cmp -s out.timeless "$name.right.timeless" || fail "$name, allocation $number: other output"
    fi
    case $name in
    anew) [ $status -gt 0 ] && [ ! -e new.safetensors ] || whole new.safetensors || fail "anew, allocation $number: half a model" ;;
    again) whole old.safetensors || fail "again, allocation $number: the old model is lost" ;;
    esac
    cases=$((cases + 1))
}

# each NAME COMMAND...: runs COMMAND with each allocation in turn failing
each() {
    name=$1
    shift
    FAIL_COUNT=count LD_PRELOAD="$preload" "$toy" "$@" <lines >"$name.right" 2>errors || { status=$?; fail "$name"; }
    timeless "$name.right"
    total=$(cat count) number=1
    while [ "$number" -le "$total" ]; do
        one "$name" $number "$@"
        (export FAIL_ON=1; one "$name" $number "$@") || exit 1
        cases=$((cases + 1))
        number=$((number + every))
    done
}

# Lets every EVERY-th allocation of each command of toy_translate fail, by itself and together with all later ones. The command
# must exit with a message and a status above 0 or give the usual result, and never die of a signal. The old model must still
# exist, or a complete new one.
test_programs() { # TOY PRELOAD EVERY
    toy=$1 preload=$2 every=$3 cases=0
    awk 'BEGIN { for (i = 0; i < 60; i++) printf "the cat number %d sees the dog\tdie Katze %d sieht den Hund\n", i % 17, i % 13 }' >pairs
    cut -f 1 pairs | head -3 >lines
    training="train --data pairs --layers 1 --width 16 --heads 2 --ffn-width 16 --vocab 280 --steps 2 --threads 1"
    "$toy" $training --out old.safetensors >out 2>errors || { status=$?; fail train; }
    each info info --model old.safetensors
    each translate translate --model old.safetensors --threads 1
    each evaluate evaluate --model old.safetensors --data pairs --threads 1
    each anew $training --out new.safetensors
    each again $training --force --out old.safetensors
    echo "cases: process/programs: $cases failed allocations"
    [ $cases -gt 0 ]
}

# The library and the programs are not linked with a BLAS, and the programs run in 200 MB of address space.
test_space() { # BIN librapt.so
    bin=$1 library=$2
    count=0
    for file in "$library" "$bin"/toy_translate "$bin"/lessons "$bin"/caption "$bin"/glimpse; do
        [ -e "$file" ] || continue
        needed=$(readelf -d "$file" | grep NEEDED)
        if echo "$needed" | grep -i blas; then
            echo "$file is linked with a BLAS"
            exit 1
        fi
        [ "$file" != "$library" ] || continue
        # The timeout ends a program that hangs.
        (ulimit -v 200000 && timeout 60 "$file" --help) >/dev/null || {
            echo "$file --help in 200 MB of address space: exit status $?"
            exit 1
        }
        count=$((count + 1))
    done
    [ $count -gt 0 ] || { echo "no program in $bin"; exit 1; }
    echo "cases: process/space: $count programs"
}

run=test_$1
shift
"$run" "$@"
