#!/bin/sh
# ctranslate2_mbart50_begin.sh - CTranslate2 cannot open what its own converter makes of mBART-50: the tokenizer of mBART-50 has no
# begin token, the converter writes "bos_token": null into config.json, and the reader wants a text and raises an error of its JSON
# library. mBART-25, whose tokenizer has a begin token, opens. With the line removed, the error is the
# same; with a token in its place, the folder opens.
#
# Guess before the run: what the converter writes opens; a missing token is left out.
# Needs a large package: python3 (or the program in $PYTHON) with CTranslate2 4.8.5, PyTorch, transformers 4.x and sentencepiece;
# without them the script is skipped.
set -eu
python=${PYTHON:-python3}
"$python" -c 'import ctranslate2, sentencepiece, torch, transformers
assert ctranslate2.__version__ == "4.8.5" and transformers.__version__.startswith("4.")' 2>/dev/null || {
    echo "skipped: $python does not have CTranslate2 4.8.5, PyTorch, transformers 4 and sentencepiece, of which some are large"
    exit 0
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
exec 3>&1
"$python" - "$folder" 2>/dev/null <<'END' >&3
import json
import os
import pathlib
import shutil
import sys

import ctranslate2
import sentencepiece
import transformers

transformers.logging.set_verbosity_error()
os.chdir(sys.argv[1])
WORDS = [f"word{a}{b}" for a in "abcdefgh" for b in "abcdefgh"]
pathlib.Path("text").write_text("".join(" ".join(WORDS[i:] + WORDS[:i]) + "\n" for i in range(64)), encoding="utf-8")
sentencepiece.SentencePieceTrainer.train(input="text", model_prefix="pieces", vocab_size=60, hard_vocab_limit=False,
                                         minloglevel=9)


class Converter(ctranslate2.converters.TransformersConverter):
    def load_model(self, model_class, name, **options):
        options.pop("dtype", None)  # unknown to early versions of transformers 4
        return super().load_model(model_class, name, **options)

    def load_tokenizer(self, tokenizer_class, name, **options):
        return super().load_tokenizer(tokenizer_class, name, use_fast=False, **options)  # the fast one needs more packages


def converted(kind, name):
    """Returns a folder that CTranslate2's converter made of a small random mBART."""
    tokenizer = kind("pieces.model", src_lang="en_XX", tgt_lang="de_DE")
    config = transformers.MBartConfig(vocab_size=len(tokenizer), d_model=16, encoder_layers=1, decoder_layers=1,
                                      encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
                                      decoder_ffn_dim=32, tokenizer_class=kind.__name__, normalize_before=True)
    tokenizer.save_pretrained(f"{name}-hf")
    transformers.MBartForConditionalGeneration(config).save_pretrained(f"{name}-hf")
    Converter(f"{name}-hf").convert(name)
    return pathlib.Path(name)


def opens(path):
    try:
        ctranslate2.Translator(str(path))
        return "opens"
    except RuntimeError as error:
        return f"error: {error}"


fifty, twenty_five = converted(transformers.MBart50Tokenizer, "fifty"), converted(transformers.MBartTokenizer, "twenty-five")
shutil.copytree(fifty, "named")
config = json.loads((fifty / "config.json").read_text())
begin, config["bos_token"] = config["bos_token"], "<s>"
pathlib.Path("named/config.json").write_text(json.dumps(config))
print("CTranslate2", ctranslate2.__version__, "transformers", transformers.__version__)
seen = {"mBART-50": opens(fifty), "mBART-25": opens(twenty_five), "mBART-50 with a begin token": opens("named")}
for name, what in seen.items():
    print(f"{name}: {what}; expected: opens")
found = [what == "opens" for what in seen.values()] == [False, True, True] and begin is None
print("seen:", "as found" if found else "something else than when this was written")
sys.exit(not found)
END
