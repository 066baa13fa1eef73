#!/bin/sh
# sacremoses_first_syllable.sh - sacremoses joins Hangul syllables without spaces where the language is not Korean, except
# 가 (U+AC00), one of the commonest, since its test for Chinese, Japanese and Korean characters leaves out the ends of ranges.
#
# Guess before the run: all syllables U+AC00 to U+D7A3 are treated alike.
# Needs: python3 with venv, and a package index. Installs sacremoses 0.1.1 into a temporary folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q sacremoses==0.1.1 || {
    echo "skipped: sacremoses 0.1.1 cannot be installed"
    exit 0
}
exec "$folder/venv/bin/python" - <<'END'
import importlib.metadata
import sys

from sacremoses import MosesDetokenizer
from sacremoses.util import is_cjk

SYLLABLES = [chr(code) for code in range(0xAC00, 0xD7A4)]
WORDS = ["각", "각", "가", "각", "가", "가"]

print("sacremoses", importlib.metadata.version("sacremoses"))
others = [syllable for syllable in SYLLABLES if not is_cjk(syllable)]
joined = {language: MosesDetokenizer(language).detokenize(WORDS) for language in ("en", "zh", "ko")}
print("expected: every syllable is recognized, and", "".join(WORDS), "in English and Chinese")
print("seen:", len(others), "of", len(SYLLABLES), "syllables not recognized:", *(f"U+{ord(s):04X}" for s in others))
for language, text in joined.items():
    print(f"seen: {language}: {text}")
spaced = "각각 가 각 가 가"
sys.exit(others != ["가"] or joined != {"en": spaced, "zh": spaced, "ko": " ".join(WORDS)})
END
