#!/bin/sh
# transformers_byt5_count.sh - transformers saves every tokenizer of ByT5 with "extra_ids": 0, however many sentinels it has: 384
# tokens by default, 125 of them <extra_id_0> and so on. The constructor lists the sentinels and passes 0 to its base class, which
# saves that. A reader that takes the number at its word gives a model of 384 tokens a vocabulary of 259.
#
# Guess before the run: the saved number is 125, and 10 for a tokenizer made with extra_ids=10.
# Needs: python3 with venv, and a package index. Installs transformers 5.24.0, without PyTorch, into a temporary folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q transformers==5.24.0 || {
    echo "skipped: transformers 5.24.0 cannot be installed"
    exit 0
}
"$folder/venv/bin/python" - "$folder" 2>/dev/null <<'END'
import json
import os
import sys

import transformers

print("transformers", transformers.__version__)
changed = 0
for made_with, tokens in ((125, 384), (10, 269)):
    tokenizer = transformers.ByT5Tokenizer(extra_ids=made_with)
    where = os.path.join(sys.argv[1], str(made_with))
    tokenizer.save_pretrained(where)
    with open(os.path.join(where, "tokenizer_config.json")) as file:
        saved = json.load(file)["extra_ids"]
    again = len(transformers.ByT5Tokenizer(extra_ids=saved))
    print(f"extra_ids={made_with}: {len(tokenizer)} tokens, saved extra_ids expected {made_with}, seen {saved}; "
          f"a tokenizer made with that has {again} tokens")
    changed |= (len(tokenizer), saved, again) != (tokens, 0, 259)
print("seen:", "something else than when this was written" if changed else "as found")
sys.exit(changed)
END
