#!/bin/sh
# transformers_empty_pair.sh - transformers drops an empty second text of a pair that is given by itself, but keeps it in a list:
# the ids differ by one [SEP], so that a cross-encoder scores a query and an empty passage differently one by one and in a batch.
# An empty first text is kept in both forms.
#
# Guess before the run: an empty text is a text; both forms give [CLS] the cat [SEP] [SEP].
# Needs: python3 with venv, and a package index. Installs transformers 5.24.0 (without PyTorch) into a temporary folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q transformers==5.24.0 tokenizers==0.23.3 || {
    echo "skipped: transformers 5.24.0 cannot be installed"
    exit 0
}
exec "$folder/venv/bin/python" - 2>/dev/null <<'END'
import sys

import transformers

words = "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat".split()
tokenizer = transformers.BertTokenizerFast(vocab={word: number for number, word in enumerate(words)})


def names(ids):
    return " ".join(words[number] for number in ids)


# What, the result, the result when this was written, and the guess.
ROWS = [
    ("one pair, second text empty", names(tokenizer("the cat", "")["input_ids"]), "[CLS] the cat [SEP]", "[CLS] the cat [SEP] [SEP]"),
    ("a list, second text empty", names(tokenizer(["the cat"], [""])["input_ids"][0]), "[CLS] the cat [SEP] [SEP]",
     "[CLS] the cat [SEP] [SEP]"),
    ("one pair, first text empty", names(tokenizer("", "cat")["input_ids"]), "[CLS] [SEP] cat [SEP]", "[CLS] [SEP] cat [SEP]"),
]
print("transformers", transformers.__version__)
changed = 0
for what, got, seen, expected in ROWS:
    print(f"{what}: {got}; expected {expected}")
    changed |= got != seen
print("seen:", "something else than when this was written" if changed else "as found")
sys.exit(changed)
END
