#!/bin/sh
# sentencepiece_joiners.sh - SentencePiece's default rules (nmt_nfkc) turn the zero-width non-joiner U+200C into a space,
# which splits Persian words, and keep the zero-width joiner U+200D; its case-folding rules leave U+0130 as a capital.
#
# Guess before the run: both joiners are kept, as by the rule nfkc, since they change how a word reads; and nfkc_cf
# folds U+0130 to "i" and U+0307, as Unicode's full case folding does.
# Needs: python3 with venv, and a package index. Installs sentencepiece 0.2.3 into a temporary folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q sentencepiece==0.2.3 || {
    echo "skipped: sentencepiece 0.2.3 cannot be installed"
    exit 0
}
exec "$folder/venv/bin/python" - <<'END'
import io
import sys

import sentencepiece

TEXTS = {"non-joiner": "می\u200cروم", "joiner": "a\u200db", "U+0130": "\u0130"}
EXPECTED = {"nmt_nfkc": TEXTS["non-joiner"], "nfkc_cf": "i\u0307"}  # the guesses that were wrong
SEEN = {
    "nmt_nfkc": {"non-joiner": "می روم", "joiner": "a\u200db", "U+0130": "\u0130"},
    "nfkc": {"non-joiner": "می\u200cروم", "joiner": "a\u200db", "U+0130": "\u0130"},
    "nfkc_cf": {"non-joiner": "می\u200cروم", "joiner": "a\u200db", "U+0130": "\u0130"},
}


def trained(rule):
    model = io.BytesIO()
    lines = [" ".join("the cat sees a dog and runs home".split()[i % 7:]) for i in range(200)]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=40, minloglevel=2,
                                             hard_vocab_limit=False, normalization_rule_name=rule)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


print("sentencepiece", sentencepiece.__version__)
changed = 0
for rule, texts in SEEN.items():
    processor = trained(rule)
    for name, text in texts.items():
        got = processor.normalize(TEXTS[name]).replace("\u2581", " ").strip()
        print(f"{rule:9} {name:11} {ascii(TEXTS[name])} becomes {ascii(got)}")
        changed |= got != text
print("expected: nmt_nfkc keeps", ascii(EXPECTED["nmt_nfkc"]), "and nfkc_cf folds U+0130 to", ascii(EXPECTED["nfkc_cf"]))
print("seen:", "something else than when this was written" if changed else "as found")
sys.exit(changed)
END
