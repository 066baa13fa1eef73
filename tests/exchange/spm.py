"""spm.py train TEXT FOLDER - trains a SentencePiece model of each type into FOLDER/*.model, with the Python package.
spm.py encode|decode OPTION... - replaces the programs spm_encode and spm_decode with the options --model=FILE and
--output_format=id or --input_format=id, and does their work with the package."""
import os
import sys

import sentencepiece

KINDS = {
    "unigram": "--model_type=unigram",
    "bpe": "--model_type=bpe",
    "word": "--model_type=word",
    "char": "--model_type=char",
    "bytes": "--model_type=unigram --byte_fallback --vocab_size=500",
    "bpe-bytes": "--model_type=bpe --byte_fallback --vocab_size=500",
    "folded": "--model_type=unigram --normalization_rule_name=nmt_nfkc_cf",
    "nfkc": "--model_type=bpe --normalization_rule_name=nfkc",
    "identity": "--model_type=unigram --normalization_rule_name=identity",
    "suffix": "--model_type=unigram --treat_whitespace_as_suffix",
    "bare": "--model_type=bpe --add_dummy_prefix=false --remove_extra_whitespaces=false",
    "across": "--model_type=unigram --split_by_whitespace=false --split_by_number=false",
    "digits": "--model_type=bpe --split_digits --split_by_unicode_script=false",
    "symbols": "--model_type=unigram --user_defined_symbols=<a>,-- --control_symbols=<2de> --hard_vocab_limit=false",
    "ids": "--model_type=unigram --pad_id=3 --eos_id=0 --unk_id=1 --bos_id=-1 --unk_surface=?",
}


def train(text, folder):
    for name, options in KINDS.items():
        size = "" if "--vocab_size" in options or name == "char" else " --vocab_size=300"
        limit = " --vocab_size=60" if name == "char" else ""
        sentencepiece.SentencePieceTrainer.Train(
            f"--input={text} --model_prefix={folder}/{name} --minloglevel=2 --num_threads=1 {options}{size}{limit}")
        os.remove(f"{folder}/{name}.vocab")


def run(what, options):
    model = next(option[len("--model="):] for option in options if option.startswith("--model="))
    processor = sentencepiece.SentencePieceProcessor(model_file=model)
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        line = line.removesuffix(b"\n")
        if what == "encode":
            out.write(" ".join(map(str, processor.EncodeAsIds(line))).encode() + b"\n")
        else:
            ids = [int(word) for word in line.split()]
            out.write(processor.DecodeIds(ids).encode() + b"\n")


if sys.argv[1] == "train":
    train(*sys.argv[2:])
else:
    run(sys.argv[1], sys.argv[2:])
