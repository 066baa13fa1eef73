#!/bin/sh
# Errors of toy_translate for wrong options and wrong files: exit code and message.
# usage: usage.sh PROGRAM
set -u
program=$(realpath "$1")
here=$(mktemp -d) && cd "$here" || exit 1
trap 'rm -rf "$here"' EXIT
failures=0

# expect CODE TEXT ARGUMENT...: that exit code, and that text on standard error.
expect() {
    code=$1 text=$2
    shift 2
    "$program" "$@" >out 2>err </dev/null
    got=$?
    if [ $got -ne "$code" ] || ! grep -qF -- "$text" err; then
        echo "toy_translate $*: exit code $got, not $code, or no '$text' in:"
        cat err
        failures=$((failures + 1))
    fi
}

printf 'a b\tc d\ne f\tg h\n' >good.tsv
: >empty.tsv
printf 'a\tb\nno tab\n' >tabless.tsv
printf 'a\tb\nc\t\303(\n' >invalid.tsv
printf '\tb\nc\t\n' >onesided.tsv
printf 'a\nb\n' >two
printf 'a\n' >one

expect 2 "unknown command 'nonsense'" nonsense
expect 2 "unknown option '--nonsense'" train --nonsense
expect 2 "unknown option '-q'" translate -q
expect 2 "--width needs a value" train --width
expect 2 "takes no value" train --json=1
expect 2 "one argument too many" info good.tsv
expect 2 "SENTENCE is missing" attend --model m
expect 2 "'abc' is not an integer from 1" train --width abc
expect 2 "'12 ' is not an integer" train --width "12 "
expect 2 "'99999999999' is not an integer" train --width 99999999999
expect 2 "'-1' is not an integer from 0" train --seed -1
expect 2 "'18446744073709551616' is not" train --seed 18446744073709551616
expect 2 "'1,5' is not a number" train --rate 1,5
expect 2 "'nan' is not a number" train --rate nan
expect 2 "'0x1' is not a number" train --rate 0x1
expect 2 "'1e999' is not a number" train --minutes 1e999
expect 2 "'big' is none of tiny|small|base" train --preset big
expect 2 "--out is missing" train --data good.tsv
expect 2 "either --data or both" train --out m
expect 2 "either --data or both" train --out m --data a --source b --target c
expect 2 "go together" train --out m --source b
expect 2 "heads is 3" train --out m --data good.tsv --heads 3
expect 2 "--nbest 9" translate --model m --nbest 9
expect 2 "--model is missing" translate
expect 2 "--model is missing" info

expect 1 "missing.tsv: No such file" train --out m --data missing.tsv
expect 1 "empty.tsv: the file is empty" train --out m --data empty.tsv
expect 1 "tabless.tsv:2: there is no tab" train --out m --data tabless.tsv
expect 1 "invalid.tsv:2: byte 3 is not valid UTF-8" train --out m --data invalid.tsv
expect 1 "no sentence pair" train --out m --data onesided.tsv
expect 1 "one has 1" train --out m --source two --target one
expect 1 "support only" train --out m --data good.tsv --vocab 5000
expect 1 "/missing/m" train --out /missing/m --data good.tsv
expect 1 "not a regular file" train --out /dev/null --data good.tsv
expect 1 "m.checkpoint" train --out m --data good.tsv --resume
expect 1 "missing.safetensors" translate --model missing.safetensors
expect 1 "good.tsv" translate --model good.tsv
expect 1 "empty.tsv" info --model empty.tsv

for command in train translate evaluate attend info demo; do
    "$program" $command --help >out || failures=1
    grep -q "^usage: toy_translate $command" out || { echo "$command --help"; failures=1; }
done
"$program" train --help >/dev/full 2>err && { echo "a full device is not reported"; failures=1; }
[ -e m ] && { echo "a file was written"; failures=1; }
[ $failures -eq 0 ]
