#!/bin/sh
# How toy_translate is called: completion by shells, the manual page, exit codes and messages for wrong options.
# usage: command_line.sh PROGRAM CASE
. "$(dirname "$0")/kit/script.sh"

# completion: the script for bash completes commands, options, values and files when it is called as bash does;
# every option in --help of every command is in the scripts and in the manual page, which man reads without
# warnings.
test_completion() {
    for kind in bash zsh fish man; do
        code 0 "$program" completion $kind >$kind
        [ -s $kind ] || fail "completion $kind prints nothing"
    done
    code 2 "$program" completion csh
    says "choose from bash, zsh, fish, man"
    code 2 "$program" completion
    says "bash|zsh|fish|man is missing"

    # The output names every option and nothing else.
    commands=$("$program" help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -vxE 'help|version')
    [ "$(echo "$commands" | wc -l)" -ge 13 ] || fail "commands: $commands"
    for command in $commands; do
        "$program" $command --help | sed -n 's/^  \(-., \)\{0,1\}--\([a-z0-9-]*\).*/\2/p' | sort >options
        [ -s options ] || fail "$command --help lists no options"
        sed -n "s/^    $command) options=\"\(.*\)\" ;;/\1/p" bash | tr ' ' '\n' | sed 's/^--//' | sort | cmp -s - options ||
            fail "bash: other options of $command"
        { echo help; echo version
          sed -n "s/.*toy_translate_in $command' -l \([a-z0-9-]*\) .*/\1/p" fish; } | sort | cmp -s - options ||
            fail "fish: other options of $command"
        sed -n "/^    $command)/,/;;/p" zsh | sed -n "s/^ *'--\([a-z0-9-]*\).*/\1/p; s/.*'(-[a-zA-Z] --\([a-z]*\))'{.*/\1/p" |
            sort | cmp -s - options || fail "zsh: other options of $command"
        { echo help; echo version
          sed -n "/^\.SS toy_translate $command /,/^\.S[SH] [^t]*\$/p" man | sed '2,${/^\.SS/,$d;}' |
            sed 's/\\-/-/g' | sed -n 's/^\.B \(-., \)\{0,1\}--\([a-z0-9-]*\).*/\2/p'; } | sort | cmp -s - options ||
            fail "man: other options of $command"
    done

    if command -v groff >/dev/null; then
        groff -ww -man -Tutf8 man >page 2>err || fail "groff fails"
        [ -s err ] && fail "groff warns: $(head -n 3 err)"
        [ "$(wc -l <page)" -gt 100 ] || fail "a page of $(wc -l <page) lines"
    else
        echo "skipped: apps/completion, the manual page: groff is not installed"
    fi

    # ---- what each shell offers, asked as it asks itself ----
    touch pairs.tsv
    cat >ask.bash <<'ASK'
# WORD...: prints what the last word can become
source ./bash
COMP_WORDS=(toy_translate "$@") COMP_CWORD=$#
_toy_translate
printf '%s\n' "${COMPREPLY[@]}"
ASK
    # zsh completes only in a terminal, so the test makes one and records what zsh offers.
    cat >.zshrc <<'ASK'
fpath=($PWD $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
    local -a found
    if [[ $@[1,(i)--#] != *-[OAD]* ]]; then
        builtin compadd -O found "$@"
        print -rl -- $found >>found
    fi
    builtin compadd "$@"
}
zle-line-init() {
    BUFFER=$ASKED CURSOR=$#ASKED
    zle complete-word
    exit
}
zle -N zle-line-init
ASK
    cat >ask.zsh <<'ASK'
zmodload zsh/zpty
export ASKED="toy_translate $*" ZDOTDIR=$PWD TERM=dumb
rm -f found
zpty asked zsh -d -i
while zpty -r asked shown; do :; done
[[ -e found ]] && cat found
ASK
    cp zsh _toy_translate
    cat >ask.fish <<'ASK'
source ./fish
complete -C "toy_translate $argv"
ASK
    ask() { # SHELL WORD...: what the last word may become, sorted, on one line
        shell=$1
        shift
        case $shell in
        bash) bash --norc ask.bash "$@" ;;
        zsh) zsh -f ask.zsh "$@" ;;
        fish) HOME=$here XDG_CONFIG_HOME=$here fish ask.fish "$@" | cut -f 1 | sed 's/^--[^=]*=//' ;;
        esac 2>&1 | sed '/^ *$/d' | LC_ALL=C sort -u | paste -sd ' ' -
    }
    shells=
    for shell in bash zsh fish; do
        if command -v $shell >/dev/null; then
            shells="$shells $shell"
        else
            echo "skipped: apps/completion, $shell: not installed"
        fi
    done
    # completes WANTED WORD...
    completes() {
        wanted=$1
        shift
        for shell in $shells; do
            got=$(ask "$shell" "$@")
            [ "$got" = "$wanted" ] || fail "$shell: '$*' is completed to '$got', not '$wanted'"
        done
    }
    completes "train translate" tra
    completes "--help --version" --
    completes "train" help trai
    completes "--patience" train --pat
    completes "--model" info --mo
    completes "base small tiny" train --preset ""
    completes "inverse-sqrt" train --out m --schedule inv
    completes "straight-through" demo --cross-normalizer st
    completes "" train --layers ""
    completes "pairs.tsv" train --data pai
    completes "pairs.tsv" translate -m pai
    completes "pairs.tsv" info pai
    completes "" train pai
    completes "" attend --model m pai
    completes "" version ""
    completes "bash" completion b
    completes "bash fish man zsh" completion ""

    # A value after '=' is one word for zsh and fish, and three for bash.
    for shell in $shells; do
        [ $shell = bash ] && set -- = sm || set -- "=sm"
        [ $shell = bash ] && set -- --preset "$@" || set -- "--preset$1"
        [ "$(ask $shell train "$@")" = small ] || fail "$shell: '$*' is not completed"
    done
    case $shells in *bash*)
        [ "$(bash --norc -c 'source ./bash; complete -p toy_translate')" = "complete -o filenames -F _toy_translate toy_translate" ] ||
            fail "bash does not know the completion" ;;
    esac
    # Read from a file in fpath, or sourced as in .zshrc.
    case $shells in *zsh*)
        zsh -f -c 'autoload -Uz compinit; compinit -u -D; source ./zsh; [[ $_comps[toy_translate] == _toy_translate ]]' ||
            fail "zsh does not know the completion that it sources" ;;
    esac
}

# Exit codes and messages of toy_translate for wrong options and files.
test_usage() {
    # expect CODE TEXT ARGUMENT...: expects the exit code, and the text on standard error.
    expect() {
        code=$1 text=$2
        shift 2
        "$program" "$@" >out 2>err </dev/null
        got=$?
        if [ $got -ne "$code" ] || { [ -n "$text" ] && ! grep -qF -- "$text" err; }; then
            fail "toy_translate $*: exit code $got, not $code, or no '$text' in:"
            cat err
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
    expect 2 "'--output' is ambiguous: --output-bias, --output-gate, --out" train --output model
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
        awk 'length($0) > 80 { print; wrong = 1 } END { exit wrong }' out || fail "wider than 80 columns"
    }
    holds() { # TEXT: out contains it
        grep -qF -- "$1" out || { fail "no '$1' in:"; cat out; }
    }
    expect 2 "" && holds "usage: toy_translate COMMAND"
    narrow
    cp out usage
    for arguments in help --help -h "help help" "help --help" "version --help"; do
        expect 0 "" $arguments
        cmp out usage || fail "help is not the usage"
    done
    for command in $(sed -n "s|^  \([a-z]*\)  .*|\1|p" usage | grep -vxE "help|version"); do
        expect 0 "" $command --help
        head -n 1 out | grep -q "^usage: toy_translate $command " || fail "$command --help"
        narrow
        cp out helped
        for arguments in "help $command" "$command -h" "$command --hel"; do
            expect 0 "" $arguments
            cmp out helped || fail "$command: help is not --help"
        done
        grep -qw "$command" usage || fail "the usage does not name $command"
    done
    # Options are listed once, in groups, with their defaults (also those of presets) in brackets; lists of values
    # once.
    expect 0 "" train --help
    for text in Data Model Training Attention Output Values Examples; do
        [ "$(grep -cx "$text" out)" = 1 ] || fail "help train: group $text"
    done
    [ "$(grep -c 'straight-through' out)" = 1 ] || fail "help train: normalizers more than once"
    [ -z "$(sed -n 's/^  \(-., \)*--\([a-z-]*\).*/\2/p' out | sort | uniq -d)" ] || fail "an option twice"
    for text in "except --threads, --memory-limit and --json." "[tiny 0.004, small 0.001, base 0.0007]" "[tiny 128, small 256, base 512]" "[4096]" "[scaled-dot]" "-o, --out FILE"; do
        tr -s ' \n' ' ' <out >joined
        grep -qF -- "$text" joined || fail "help train: no $text"
    done
    version=$(sed -n "s/^#define RAPT_VERSION_[A-Z]* *\([0-9]*\).*/\1/p" "$scripts/../../include/rapt/base.h" | paste -sd .)
    for arguments in version --version -V "help version" "train --version" "info -V"; do
        expect 0 "" $arguments
        holds "toy_translate $version"
        holds "library rapt $version, "
        holds " (8 bits: "
    done
    "$program" train --help >/dev/full 2>err && fail "a full device is not reported"
    "$program" >/dev/full 2>err && fail "a full device is not reported"
    [ -e m ] && fail "a file was written"
}

run_test "$@"
