"""marian_kinds.py PROGRAM - trains small models of many kinds with Marian and compares the scores of its scorer, and the
translations and scores of its decoder with beams of 1 and 4. Then it does the same with the files of Marian's converter and
with shortlists."""
import collections
import os
import shutil
import sys

import kit
import marian
import marian_file
import sentencepiece

program = sys.argv[1]
# With layers normalized before, Marian's decoder contradicts its own trainer and scorer: from the second word on, its
# self-attention reads keys and values that were not normalized.
SCORED_ONLY = {"pre"}


def compare(kind):
    kit.agree(f"{kind}: scores of pairs", kit.scores(program, kind, "pairs.tsv"), marian.scored(kind), 2e-4)
    for beam in () if kind in SCORED_ONLY else (1, 4):
        kit.agree(f"{kind}: beam {beam}", kit.translations(program, kind, "pairs.src", beam),
                  marian.decoded(kind, beam), 5e-5, 0.95)


def convert(name, *arguments):
    """Converts the model "post" to a binary file, in a folder with the vocabulary."""
    os.mkdir(name)
    shutil.copy("post/vocab.spm", name)
    marian.run("convert", "--from", "post/ende.npz", "--to", f"{name}/model.bin", *arguments)


def compare_binary():
    convert("binary")
    kit.agree("binary file", kit.translations(program, "binary", "pairs.src"), marian.decoded("post"), 5e-5, 0.95)
    # pymarian cannot decode with a file of this type, so it is given the same numbers as float32.
    convert("intgemm8", "--gemm-type", "intgemm8")
    marian_file.widen("intgemm8/model.bin", "post/wide.npz")
    theirs = marian.decoded("post", model="wide.npz")
    os.remove("post/wide.npz")
    kit.agree("intgemm8 file", kit.translations(program, "intgemm8", "pairs.src"), theirs, 5e-5, 0.95)


def compare_length_limit():
    """Most texts of this model reach these limits. 1.1 times 10 tokens is 11 in float, and more in double."""
    for factor in (0.7, 1.1):
        ours = kit.translations(program, "post", "pairs.src", 1, "--max-length-factor", factor)
        kit.agree(f"length factor {factor}", ours, marian.decoded("post", 1, "--max-length-factor", factor), 5e-5)


def compare_settings():
    """The beam size, the normalization and the length limit are those of decoder.yml."""
    os.mkdir("settled")
    for file in ("ende.npz", "vocab.spm"):
        shutil.copy(f"post/{file}", "settled")
    with open("settled/decoder.yml", "w", encoding="utf-8") as file:
        file.write("relative-paths: true\nmodels: [ende.npz]\nvocabs: [vocab.spm, vocab.spm]\nbeam-size: 3\n"
                   "normalize: 0.6\nmax-length-factor: 1.5\n")
    kit.agree("decoder.yml", kit.translations(program, "settled", "pairs.src", None),
              marian.decode_with("settled", "--config", "decoder.yml", "--input", "../pairs.src"), 5e-5, 0.95)


def write_lexicon(path):
    """Writes a text shortlist: for each source piece, the share of each target piece that occurs in the same pairs. Pieces
    that are not in the vocabulary stand for <unk>, and some lines are written twice, of which the last one holds."""
    pieces = sentencepiece.SentencePieceProcessor(model_file="post/vocab.spm")
    together = collections.defaultdict(collections.Counter)
    for line in open("train.tsv", encoding="utf-8"):
        source, target = ([piece if sum(map(ord, piece)) % 7 else f"{piece}?" for piece in pieces.EncodeAsPieces(text)]
                          for text in line.rstrip("\n").split("\t"))
        for piece in set(source):
            together[piece].update(set(target))
    with open(path, "w", encoding="utf-8") as file:
        for source, targets in together.items():
            for target, count in targets.items():
                if count % 3 == 0:
                    file.write(f"{target} {source} {0.9 / count:.6f}\n")
                file.write(f"{target} {source} {count / targets.total():.6f}\n")


def compare_shortlists():
    write_lexicon("lex.txt")
    marian.run("convert", "--shortlist", "lex.txt", 20, 20, 0, "--dump-shortlist", "lex.bin", "--vocabs",
               "post/vocab.spm", "post/vocab.spm")
    for name, file, options in (("binary shortlist", "lex.bin", ()), ("text shortlist", "lex.txt", (100, 100, 0))):
        ours = kit.translations(program, "post", "pairs.src", 1, "--shortlist", file)
        kit.agree(name, ours, marian.decoded("post", 1, "--shortlist", f"../{file}", *options), 5e-5, 0.95)


marian.corpus(program)
for kind in marian.KINDS:
    marian.train(kind)
    compare(kind)
compare_binary()
compare_length_limit()
compare_settings()
compare_shortlists()
kit.end()
