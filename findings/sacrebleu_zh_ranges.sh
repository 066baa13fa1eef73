#!/bin/sh
# sacrebleu_zh_ranges.sh - sacreBLEU's Chinese tokenizer, which is to surround each Chinese character with spaces, leaves the
# characters of Extension B (U+20000 and later) together, but isolates curly quotes, dashes, arrows, the euro sign and all else
# from U+2001 to U+2A6D. Python reads the escape '\u20000' in its table as U+2000 and a zero. So a reference with "it’s" has two
# more words under `zh` than one with "it's". The international tokenizer keeps a final stop that follows a digit.
#
# Guess before the run: characters of all planes are isolated, and nothing outside the Chinese blocks; a final stop is a word of
# its own after a digit, too.
# Needs: python3 with venv, and a package index. Installs sacrebleu 2.6.0 into a temporary folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q sacrebleu==2.6.0 || {
    echo "skipped: sacrebleu 2.6.0 cannot be installed"
    exit 0
}
exec "$folder/venv/bin/python" - <<'END_OF_PYTHON'
import sys

import sacrebleu
from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

zh, intl = TokenizerZh(), TokenizerV14International()

# What, the result, the result when this was written, and the guess.
ROWS = [
    ("zh: U+4E2D between letters", zh("a\u4e2db"), "a \u4e2d b", "a \u4e2d b"),
    ("zh: U+20000 and U+20001", zh("\U00020000\U00020001"), "\U00020000\U00020001", "\U00020000 \U00020001"),
    ("zh: a curly apostrophe", zh("it\u2019s"), "it \u2019 s", "it\u2019s"),
    ("zh: the euro sign", zh("\u20ac5"), "\u20ac 5", "\u20ac5"),
    ("zh: an arrow", zh("a\u2192b"), "a \u2192 b", "a\u2192b"),
    ("zh: a straight apostrophe", zh("it's"), "it's", "it's"),
    ("intl: a stop after a letter", intl("in May."), "in May .", "in May ."),
    ("intl: a stop after a digit", intl("in 2020."), "in 2020.", "in 2020 ."),
]
print("sacrebleu", sacrebleu.__version__)
changed = 0
for what, got, seen, expected in ROWS:
    print(f"{what}: {got!a}, expected {expected!a}")
    changed |= got != seen
print("seen:", "something else than when this was written" if changed else "as found")
sys.exit(changed)
END_OF_PYTHON
