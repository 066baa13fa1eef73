#!/bin/sh
# completion: the script for bash completes commands, options, values and files when it is called as bash does;
# every option in --help of every command is in the scripts and in the manual page, which man reads without
# warnings.
# usage: completion.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"

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
[ $failures -eq 0 ]
