#!/bin/sh
# tokenizers_unicode.sh - the BERT tokenizer of Hugging Face's tokenizers follows two versions of Unicode at once: marks and
# punctuation are those of Unicode 8 (2015), so that U+2E52, punctuation since 2020, is not split off and the mark U+0898, since
# 2021, is not removed; but lower case is that of Unicode 16 (2024), such as of U+A7DC.
#
# Guess before the run: one recent version for all three, as in Python, which splits off every character of category P.
# Needs: python3 with venv, and a package index. Installs tokenizers 0.23.3 into a temporary folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q tokenizers==0.23.3 || {
    echo "skipped: tokenizers 0.23.3 cannot be installed"
    exit 0
}
exec "$folder/venv/bin/python" - <<'END'
import sys

import tokenizers
from tokenizers import normalizers, pre_tokenizers

split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
clean = normalizers.BertNormalizer(lowercase=True).normalize_str


def isolated(code):
    return len(split(f"a{chr(code)}b")) == 3


# What, the result, the result when this was written, and the guess. The versions are those that added the character.
ROWS = [
    ("U+2E41 (Unicode 7) is split off as punctuation", isolated(0x2E41), True, True),
    ("U+2E52 (Unicode 14) is split off as punctuation", isolated(0x2E52), False, True),
    ("U+11F43 (Unicode 15) is split off as punctuation", isolated(0x11F43), False, True),
    ("U+08E3 (Unicode 8) is removed as a mark", clean("a\u08e3") == "a", True, True),
    ("U+0898 (Unicode 14) is removed as a mark", clean("a\u0898") == "a", False, True),
    ("U+1ABF (Unicode 13) is removed as a mark", clean("a\u1abf") == "a", False, True),
    ("U+A7DC (Unicode 16) becomes the lower-case letter U+019B", clean("\ua7dc") == "\u019b", True, True),
]
print("tokenizers", tokenizers.__version__)
changed = 0
for what, got, seen, expected in ROWS:
    print(f"{what}: {got}, expected {expected}")
    changed |= got != seen
print("seen:", "something else than when this was written" if changed else "as found")
sys.exit(changed)
END
