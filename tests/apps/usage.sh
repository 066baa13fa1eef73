#!/bin/sh
# Exit codes and messages of toy_translate for wrong options and files.
# usage: usage.sh PROGRAM
set -u
program=$(realpath "$1") root=$(realpath "$(dirname "$0")/../..")
here=$(mktemp -d) && cd "$here" || exit 1
trap 'rm -rf "$here"' EXIT
failures=0

# expect CODE TEXT ARGUMENT...: expects the exit code, and the text on standard error.
expect() {
    code=$1 text=$2
    shift 2
    "$program" "$@" >out 2>err </dev/null
    got=$?
    if [ $got -ne "$code" ] || { [ -n "$text" ] && ! grep -qF -- "$text" err; }; then
        echo "toy_translate $*: exit code $got, not $code, or no '$text' in:"
        cat err
        failures=$((failures + 1))
    fi
}

printf 'a b\tc d\ne f\tg h\n' >good.tsv
: >empty.tsv
printf '\n\r\n' >blank.tsv
printf 'a\tb\nno tab\n' >tabless.tsv
printf 'a\tb\nc\t\303(\n' >invalid.tsv
printf '\tb\nc\t\n' >onesided.tsv
printf 'a\tb\nc\td\te\n' >three.tsv
printf 'a\nb\n' >two
printf 'a\n' >one

expect 2 "'1' is not a number from 0 to 0.99999995" train --norm-epsilon 1
expect 2 "unknown command 'nonsense'; toy_translate help lists the commands" nonsense
expect 2 "unknown command 'trian'; did you mean train?" trian
expect 2 "unknown command 'evalute'; did you mean evaluate?" evalute
expect 2 "unknown command 'if'; toy_translate help" if
expect 2 "'--json' must follow a command" --json
expect 2 "'--versoin'; did you mean --version?" --versoin
expect 2 "unknown option '--nonsense'; --help lists the options" train --nonsense
expect 2 "unknown option '-x'; --help lists the options" train a -x
expect 2 "unknown option '-\\xc3'; --help lists the options" train a "$(printf -- '-\303\274')"
expect 2 "unknown option '--datta'; did you mean --data?" train --datta=x
expect 2 "unknown option '--haeds'; did you mean --heads?" train --haeds 3
expect 2 "unknown option '--lr'; did you mean --rate?" train --lr 0.1
expect 2 "unknown option '--source-width'" train --source-width 3
expect 2 "unknown option '--pooling'" train --pooling mean
expect 2 "unknown option '-q'" translate -q
expect 2 "unknown option '-o'" info -o x
expect 2 "--model needs a value" translate -m
expect 2 "'--he' is ambiguous: --heads, --head-width, --help" train --he
expect 2 "'--se' is ambiguous: --sentencepiece, --sentencepiece-target, --separate, --seed, --self-" train --se 1
expect 2 "unexpected argument 'x'" help train x
expect 2 "unknown command 'trian'; did you mean train?" help trian
expect 2 "--width needs a value" train --width
expect 2 "does not take a value" train --json=1
expect 2 "unexpected argument 'b'" info a b
expect 2 "unexpected argument 'b'" info --model a b
expect 2 "unexpected argument 'x'" train x
expect 2 "SENTENCE is missing" attend --model m
expect 2 "'abc' is not an integer from 1" train --width abc
expect 2 "'12 ' is not an integer" train --width "12 "
expect 2 "'99999999999' is not an integer" train --width 99999999999
expect 2 "'-1' is not an integer from 0" train --seed -1
expect 2 "'18446744073709551616' is not" train --seed 18446744073709551616
expect 2 "'1,5' is not a number" train --rate 1,5
expect 2 "'nan' is not a number" train --rate nan
expect 2 "'0x1' is not a number" train --rate 0x1
expect 2 "'1e999' is not a time" train --minutes 1e999
for time in '' s 3x 3ss '3 s' -3s 0s 1e9h 0x10 nan; do
    expect 2 "'$time' is not a time; give minutes, or a number with s, m or h" train --minutes "$time"
done
for time in 1 1m 90s 0.5h 1e1; do
    expect 2 "either --data or both" train --out m --minutes $time
done
expect 2 "invalid value 'big'; choose from tiny, small, base" train --preset big
expect 2 "tiny, small, base; did you mean small?" train --preset smal
expect 2 "did you mean cosine?" train --score cosin
expect 2 "--out is missing" train --data good.tsv
expect 2 "either --data or both" train --out m
expect 2 "either --data or both" train --out m --data a --source b --target c
expect 2 "must be given together" train --out m --source b
expect 2 "heads is 3" train --out m --data good.tsv --heads 3
expect 2 "--nbest 9" translate --lines --model m --beam 5 --nbest 9
expect 2 "--model is missing" translate
expect 2 "MODEL is missing" info

expect 1 "missing.tsv: No such file" train --out m --data missing.tsv
expect 1 "empty.tsv: the file is empty" train --out m --data empty.tsv
expect 1 "tabless.tsv:2: no tab between" train --out m --data tabless.tsv
expect 1 "no sentence pair" train --out m --data blank.tsv
expect 1 "three.tsv:2: there is a third column; use --more-columns to ignore it" train --out m --data three.tsv
expect 1 "empty.tsv: the file is empty" train --out m --data three.tsv --more-columns --valid empty.tsv
expect 1 "invalid.tsv:2: byte 3 is not valid UTF-8" train --out m --data invalid.tsv
expect 1 "no sentence pair" train --out m --data onesided.tsv
expect 1 "one has 1" train --out m --source two --target one
expect 1 "support only" train --out m --data good.tsv --vocab 5000
expect 1 "$here/missing/m" train --out "$here/missing/m" --data good.tsv
expect 1 "not a regular file" train --out /dev/null --data good.tsv
expect 1 "m.checkpoint" train --out m --data good.tsv --resume
expect 1 "MB; give fewer --batch-tokens" train --out m --data good.tsv --batch-tokens 16777216 --memory-limit 1000
expect 1 "missing.safetensors" translate --model missing.safetensors
expect 1 "good.tsv" translate --model good.tsv
expect 1 "empty.tsv" info --model empty.tsv

# Usage, help and version go to standard output, at most 80 columns wide.
narrow() {
    awk 'length($0) > 80 { print "wider than 80 columns: " $0; wrong = 1 } END { exit wrong }' out || failures=$((failures + 1))
}
holds() { # TEXT: out contains it
    grep -qF -- "$1" out || { echo "no '$1' in:"; cat out; failures=$((failures + 1)); }
}
expect 2 "" && holds "usage: toy_translate COMMAND"
narrow
cp out usage
for arguments in help --help -h "help help" "help --help" "version --help"; do
    expect 0 "" $arguments
    cmp out usage || failures=$((failures + 1))
done
for command in $(sed -n "s|^  \([a-z]*\)  .*|\1|p" usage | grep -vxE "help|version"); do
    expect 0 "" $command --help
    head -n 1 out | grep -q "^usage: toy_translate $command " || { echo "$command --help"; failures=$((failures + 1)); }
    narrow
    cp out helped
    for arguments in "help $command" "$command -h" "$command --hel"; do
        expect 0 "" $arguments
        cmp out helped || failures=$((failures + 1))
    done
    grep -qw "$command" usage || { echo "the usage does not name $command"; failures=$((failures + 1)); }
done
# Options are listed once, in groups, with their defaults (also those of presets) in brackets; lists of values
# once.
expect 0 "" train --help
for text in Data Model Training Attention Output Values Examples; do
    [ "$(grep -cx "$text" out)" = 1 ] || { echo "help train: group $text"; failures=$((failures + 1)); }
done
[ "$(grep -c 'straight-through' out)" = 1 ] || { echo "help train: normalizers more than once"; failures=$((failures + 1)); }
[ -z "$(sed -n 's/^  \(-., \)*--\([a-z-]*\).*/\2/p' out | sort | uniq -d)" ] || { echo "an option twice"; failures=$((failures + 1)); }
for text in "except --threads, --memory-limit and --json." "[tiny 0.004, small 0.001, base 0.0007]" "[tiny 128, small 256, base 512]" "[4096]" "[scaled-dot]" "-o, --out FILE"; do
    tr -s ' \n' ' ' <out >joined
    grep -qF -- "$text" joined || { echo "help train: no $text"; failures=$((failures + 1)); }
done
version=$(sed -n "s/^#define RAPT_VERSION_[A-Z]* *\([0-9]*\).*/\1/p" "$root/include/rapt/base.h" | paste -sd .)
for arguments in version --version -V "help version" "train --version" "info -V"; do
    expect 0 "" $arguments
    holds "toy_translate $version"
    holds "library rapt $version, "
    holds " (8 bits: "
done
"$program" train --help >/dev/full 2>err && { echo "a full device is not reported"; failures=1; }
"$program" >/dev/full 2>err && { echo "a full device is not reported"; failures=1; }
[ -e m ] && { echo "a file was written"; failures=1; }
[ $failures -eq 0 ]
