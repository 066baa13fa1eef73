#!/bin/sh
# Lines that are typed at a terminal: editing, earlier lines, letters beyond ASCII in any locale.
# usage: typing.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"
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
[ $failures -eq 0 ]
