#!/bin/sh
# tokenizers_precompiled_marks.sh - the Precompiled normalizer of Hugging Face's tokenizers, which gets SentencePiece's own table of
# replacements, replaces a whole grapheme if the table has only its first character: a full-width letter or a fraction followed by
# a combining mark loses the mark, and U+FF21 U+0301 becomes "A". SentencePiece composes it to U+00C1, and so trains on other text.
#
# Guess before the run: with the same table, both give the same text.
# Needs: python3 with venv, and a package index. Installs tokenizers 0.23.3 and sentencepiece 0.2.0 into a temporary folder.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" &&
    "$folder/venv/bin/pip" install -q tokenizers==0.23.3 sentencepiece==0.2.0 protobuf==5.29.3 || {
    echo "skipped: tokenizers 0.23.3 or sentencepiece 0.2.0 cannot be installed"
    exit 0
}
"$folder/venv/bin/python" - <<'END'
import io
import sys

import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2

# A small model has the whole table of the rule nmt_nfkc.
written = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(["a b c d e f g h i j"] * 50), model_writer=written, vocab_size=24, hard_vocab_limit=False,
    normalization_rule_name="nmt_nfkc", minloglevel=2)
model = sentencepiece_model_pb2.ModelProto()
model.ParseFromString(written.getvalue())
theirs = tokenizers.normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap).normalize_str
own = sentencepiece.SentencePieceNormalizer(model_proto=written.getvalue()).normalize

# The text, and what SentencePiece and tokenizers gave when this was written.
ROWS = [
    ("\uff21", "A", "A"),
    ("\uff21\u0301", "\u00c1", "A"),
    ("\u2460\u0301", "1\u0301", "1"),
    ("\u00bd\u0301", "1\u20442\u0301", "1\u20442"),
    ("\u00ba\u05b0", "o\u05b0", "o"),
    ("a\u0301", "\u00e1", "\u00e1"),
]
print("tokenizers", tokenizers.__version__, "sentencepiece", sentencepiece.__version__)
changed = 0
for text, first, second in ROWS:
    got = own(text), theirs(text)
    print(f"{text!a}: sentencepiece {got[0]!a}, tokenizers {got[1]!a}, expected equal")
    changed |= got != (first, second)
print("seen:", "something else than when this was written" if changed else "as found")
sys.exit(changed)
END
