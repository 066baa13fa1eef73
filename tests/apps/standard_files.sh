#!/bin/sh
# Standard input and output: closed, paused, compressed, and a terminal.
# usage: standard_files.sh PROGRAM CASE
. "$(dirname "$0")/kit/script.sh"

# If standard files are closed, what a program prints does not get into the files that it opens.
test_closed() {
    synthetic_pairs 100 >all.tsv
    code 0 "$program" train --data all.tsv --layers 1 --width 16 --heads 2 --ffn-width 32 --vocab 270 --epochs 1 \
        --threads 1 --out model
    printf 'red\nold \303(\nzyzzyva\n' >bad
    "$program" translate --model model --threads 1 bad --output wanted 2>messages
    check "messages of a wrong line and an unknown word" [ "$(grep -c 'UTF-8\|zyzzyva' messages)" -eq 2 ]
    for closed in '2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
        rm -f out
        eval "\"\$program\" translate --model model --threads 1 bad --output out $closed"
        check "the output with $closed" cmp wanted out
    done
    eval "\"\$program\" translate --model model --threads 1 bad >&- 2>messages"
    check "a closed output is an error" [ $? -eq 1 ]
    check "the error is reported" grep -q 'standard output' messages
}

# translate as a co-process: each line is answered when the input pauses, before the next one is written, and
# the bytes do not depend on the pauses.
test_coprocess() {
    printf 'a b\tc d\ne f\tg h\na f\tc h\ne b\tg d\n' >pairs
    "$program" train --data pairs --layers 1 --width 8 --heads 1 --ffn-width 8 --steps 3 --out model 2>err || fail "$(cat err)"
    translate="$program translate --model model --beam 2 --threads 1"

    # A dialog: the next line is written after the answer to the last one. Without an answer, the reader waits until
    # timeout ends the dialog.
    mkfifo to from
    $translate <to >from 2>err &
    child=$!
    exec 3>to 4<from
    printf 'a b\n\n  \ne f a\n' >dialog
    while IFS= read -r line; do
        printf '%s\n' "$line" >&3
        timeout 60 head -c 1 <&4 >first || fail "no answer to '$line'"
        [ -s first ] || fail "no answer to '$line'"
        cat first >>answers
        [ "$(od -An -tx1 first | tr -d ' ')" = 0a ] || { IFS= read -r rest <&4; printf '%s\n' "$rest" >>answers; }
    done <dialog
    # Two and a half lines, and the rest later.
    printf 'b\nf\ne ' >&3
    for line in b f; do
        IFS= read -r answer <&4
        printf '%s\n' "$answer" >>answers
    done
    printf 'b' >&3
    exec 3>&-
    cat <&4 >>answers
    exec 4<&-
    wait $child || fail "exit code $?: $(cat err)"
    { cat dialog; printf 'b\nf\ne b'; } >all
    $translate <all >whole || fail "exit code $?"
    cmp answers whole || fail "pauses change the output"

    # A full window and a partial one, from a file and from a pipe: the same bytes.
    awk 'BEGIN { for (i = 0; i < 9001; i++) print substr("a b e f b a e", 1 + 2 * (i % 5), 1 + 2 * (i % 2)) }' >many
    $translate <many >whole
    cat many | $translate | cmp - whole || fail "a pipe changes the output"
    { head -n 5000 many; sleep 1; tail -n +5001 many; } | $translate | cmp - whole || fail "a pause changes the output"
    [ "$(wc -l <whole)" -eq 9001 ] || fail "lines are missing"
    $translate <. >whole 2>err && fail "a folder as standard input"
    grep -q "cannot read standard input: " err || fail "no reason: $(cat err)"
}

# Texts that are compressed with gzip and zstd, by other programs and into files for them; damaged ones.
test_packed() {
    "$program" demo --write-corpus plain 2>err
    head -n 60 plain >pairs
    cut -f 1 pairs >texts
    small="--layers 1 --width 8 --heads 1 --ffn-width 8 --vocab 270 --steps 2 --threads 1"
    code 0 "$program" train --data pairs $small --out model
    code 0 "$program" translate --model model --beam 1 texts -o wanted
    printf x >x.gz
    "$program" translate --model model --beam 1 texts -o x.gz 2>err
    grep -q "built without" err && { echo "skipped: apps/packed: built without zlib or zstd"; exit 77; }
    command -v zstd >/dev/null && command -v gzip >/dev/null || { echo "skipped: apps/packed: no gzip or zstd"; exit 77; }

    # pack NAME: compresses standard input as the end of the name says.
    pack() {
        case $1 in
        *.gz) gzip -c ;;
        *.zst) zstd -qc ;;
        esac
    }
    unpack() {
        case $1 in
        *.gz) gunzip -c "$1" ;;
        *.zst) zstd -qdc "$1" ;;
        esac
    }
    for end in gz zst; do
        pack texts.$end <texts >texts.$end
        cp texts.$end named_otherwise
        head -n 30 texts | pack texts.$end >both.$end # two members
        tail -n +31 texts | pack texts.$end >>both.$end
        for file in texts.$end named_otherwise both.$end; do
            code 0 "$program" translate --model model --beam 1 $file -o out.$end
            unpack out.$end | cmp -s - wanted || fail "$file and out.$end"
            "$program" translate --model model --beam 1 <$file 2>err | cmp -s - wanted || fail "$file by standard input"
            cat $file | "$program" translate --model model --beam 1 - 2>err | cmp -s - wanted || fail "$file by a pipe"
        done

        # Pairs, and other files that are read as a whole.
        pack pairs.$end <pairs >pairs.$end
        code 0 "$program" train --data pairs.$end $small --force --out again
        check "train --data pairs.$end" cmp model again
        cut -f 2 pairs | pack targets.$end >targets.$end
        code 0 "$program" score --model model --source texts.$end --target targets.$end >scores
        code 0 "$program" score --model model --data pairs >plain_scores
        check "score" cmp scores plain_scores
        code 0 "$program" evaluate --data pairs.$end --hypotheses targets.$end >scores
        check "evaluate" grep -q 100 scores
        "$program" tokenize --model model <texts.$end >tokens 2>err
        "$program" tokenize --model model <texts 2>err | cmp -s - tokens || fail "tokenize"

        # Files that are cut off or damaged keep the output as it was.
        echo old >out
        head -c 200 texts.$end >cut.$end
        code 1 "$program" translate --model model --beam 1 cut.$end -o out
        says "cannot read cut.$end: its compressed data is cut off"
        { head -c 100 texts.$end; printf 'damage'; tail -c +107 texts.$end; } >damaged.$end
        code 1 "$program" translate --model model --beam 1 damaged.$end -o out
        says "cannot read damaged.$end: its compressed data is damaged"
        check "no output" [ "$(cat out)" = old ]
        code 1 "$program" train --data cut.$end $small --out none
        says "cut.$end: its compressed data is cut off"
        head -c 60000000 /dev/zero | pack bomb.$end >bomb.$end
        code 1 "$program" train --data bomb.$end $small --out none
        says "bomb.$end: it inflates to more than 100 times its size"
        rm bomb.$end
        pack texts.$end <texts.$end >twice.$end
        code 1 "$program" translate --model model twice.$end
        says "but text in UTF-8 is needed"
        pack empty.$end </dev/null >empty.$end
        code 0 "$program" translate --model model empty.$end -o out
        check "an empty text" cmp out /dev/null
    done

    # Beginnings that compressed files have, too.
    for text in '(' '(\265/' '\037' '\037.'; do
        printf "$text" | "$program" translate --model model - >out 2>err
        printf "$text" | cmp - out || fail "the text $text"
    done
}

# Lines that are typed at a terminal: editing, earlier lines, letters beyond ASCII in any locale.
test_typing() {
    command -v python3 >/dev/null || { echo "skipped: apps/typing: no python3"; exit 77; }

    printf 'A dog runs.\tHund\n\303\211t\303\251.\tSommer\nA cat runs.\tKatze\n' >pairs
    "$program" train --data pairs --valid pairs --layers 1 --width 32 --heads 2 --ffn-width 32 --epochs 80 --patience 0 --warmup 10 \
        --rate 0.01 --vocab 260 --dropout 0 --threads 1 --out model 2>err || fail "$(cat err)"
    printf 'A dog runs.\n\303\211t\303\251.\nA dog runs.\nA cat runs.\n' >typed
    "$program" translate --model model --beam 1 --threads 1 --max-length 20 --lines typed >wanted 2>err || fail "$(cat err)"
    cat >type.py <<'END'
"""type.py LOCALE COMMAND... - types lines and keys, and prints what the command writes to its terminal."""
import os
import pty
import sys
import termios
import time

KEYS = (b"A dog runs.\r", b"\xc3\x89t\xc3\xa9.\r", b"\x1b[A\x1b[A\r", b"cat runs.\x01A \r", b"\x04")
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", LC_ALL=sys.argv[1], HOME=os.getcwd())
    os.execvp(sys.argv[2], sys.argv[2:])


def until(end):
    seen = b""
    while not seen.endswith(end):
        try:
            more = os.read(terminal, 4096)
        except OSError:
            more = b""
        if not more:
            break
        seen += more
    return seen


def wait_for_editing():
    """libedit prints its prompt before it turns the terminal's own editing off, which would take keys for itself."""
    while termios.tcgetattr(terminal)[3] & termios.ICANON:
        time.sleep(0.01)


shown = [until(b"> ")]
for keys in KEYS:
    wait_for_editing()
    os.write(terminal, keys)
    shown.append(until(b"\r\n> "))
os.close(terminal)
print(b"".join(shown).decode("utf-8", "replace").replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
    check "translations that differ" [ "$(sort -u wanted | wc -l)" = 3 ]
    translate="$program translate --model model --beam 1 --threads 1 --max-length 20 --lines"
    timeout 5 python3 type.py C $translate >shown 2>err
    grep -q '^> ' shown || { echo "skipped: apps/typing: built without libedit"; exit 77; }
    for locale in C C.UTF-8; do
        check "typing in the locale $locale" timeout 60 python3 type.py $locale $translate >shown
        while IFS= read -r line; do
            grep -qxF -- "$line" shown || fail "not shown: $line"
        done <wanted
        check "four answers" [ "$(grep -c '^> ' shown)" -ge 5 ]
    done
    "$program" translate --model model --beam 1 --threads 1 --max-length 20 --lines <typed 2>err | cmp - wanted || fail "no terminal"
}

run_test "$@"
