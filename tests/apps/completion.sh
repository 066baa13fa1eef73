#!/bin/sh
# completion: the script for bash completes commands, options, values and files as bash calls it; every
# option of every command's --help is in the scripts and in the manual page, which man reads without
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

# What is printed names every option and nothing else.
for command in train translate evaluate score attend info demo tokenize detokenize vocab; do
    "$program" $command --help | sed -n 's/^  \(-., \)\{0,1\}--\([a-z0-9-]*\).*/\2/p' | sort >options
    [ -s options ] || fail "$command --help lists no options"
    sed -n "s/^    $command) options=\"\(.*\)\" ;;/\1/p" bash | tr ' ' '\n' | sed 's/^--//' | sort | cmp -s - options ||
        fail "bash: other options of $command"
    { echo help; echo version
      sed -n "s/.*seen_subcommand_from $command' -l \([a-z0-9-]*\) .*/\1/p" fish; } | sort | cmp -s - options ||
        fail "fish: other options of $command"
    { echo version
      sed -n "/^ *$command)/,/;;/s/^ *'--\([a-z0-9-]*\)\[.*/\1/p; /^ *$command)/,/;;/s/.*(-h --help).*/help/p" zsh; } |
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

command -v bash >/dev/null || { echo "skipped: apps/completion, bash: not installed"; [ $failures -eq 0 ]; exit; }
touch pairs.tsv
cat >ask.sh <<'ASK'
# complete WORD...: what the last word may become, sorted, on one line
source ./bash
ask() {
    COMP_WORDS=(toy_translate "$@") COMP_CWORD=$#
    _toy_translate
    printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd ' '
}
ask "$@"
ASK
# completes WANTED WORD...
completes() {
    wanted=$1
    shift
    got=$(bash --norc ask.sh "$@" 2>&1)
    [ "$got" = "$wanted" ] || fail "'$*' is completed to '$got', not '$wanted'"
}
completes "train translate" tra
completes "train" help trai
completes "--patience" train --pat
completes "base small tiny" train --preset ""
completes "inverse-sqrt" train --out m --schedule inv
completes "straight-through" demo --cross-normalizer st
completes "" train --layers ""
completes "pairs.tsv" train --data pai
completes "pairs.tsv" translate -m pai
completes "pairs.tsv" info pai
completes "bash" completion b
completes "--model" info --mo
[ "$(bash --norc -c 'source ./bash; complete -p toy_translate')" = "complete -o filenames -F _toy_translate toy_translate" ] ||
    fail "bash does not know the completion"
[ $failures -eq 0 ]
