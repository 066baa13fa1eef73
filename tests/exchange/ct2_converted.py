"""ct2_converted.py PROGRAM - trains models with Marian, converts them with CTranslate2's converter to each type of numbers
and compares tokens and scores with CTranslate2, which computes in float32."""
import json
import sys

import ctranslate2
import kit
import marian
import numpy
import sentencepiece

program = sys.argv[1]


def write_vocabulary(kind):
    """Writes the pieces as a word list, as in OPUS-MT's models; the converter reads nothing else."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=f"{kind}/vocab.spm")
    with open(f"{kind}/vocab.yml", "w", encoding="utf-8") as file:
        for number in range(len(pieces)):
            file.write(f"{json.dumps(pieces.IdToPiece(number), ensure_ascii=False)}: {number}\n")


def convert(kind, quantization):
    """Converts a copy of the model: the converter fails unless exactly one zero follows the configuration, and Marian pads
    it with several."""
    arrays = dict(numpy.load(f"{kind}/ende.npz"))
    text = arrays["special:model.yml"].tobytes().rstrip(b"\0") + b"\0"
    numpy.savez(f"{kind}/once.npz", **{**arrays, "special:model.yml": numpy.frombuffer(text, "i1")})
    folder = f"{kind}.{quantization}"
    converter = ctranslate2.converters.MarianConverter(f"{kind}/once.npz", [f"{kind}/vocab.yml", f"{kind}/vocab.yml"])
    converter.convert(folder, quantization=None if quantization == "float32" else quantization)
    return folder


def translated(folder, beam):
    """Returns (score, pieces) for each source, by CTranslate2."""
    translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", intra_threads=1)
    lines = [line.split() for line in open("pieces.src", encoding="utf-8")]
    found = translator.translate_batch(lines, beam_size=beam, max_batch_size=1, return_scores=True)
    return [(result.scores[0], " ".join(result.hypotheses[0])) for result in found]


def write_pieces():
    pieces = sentencepiece.SentencePieceProcessor(model_file="post/vocab.spm")
    with open("pieces.src", "w", encoding="utf-8") as out:
        for line in open("pairs.src", encoding="utf-8"):
            out.write(" ".join(pieces.EncodeAsPieces(line.rstrip("\n"))) + "\n")


marian.corpus(program)
for kind in ("post", "pre", "untied"):
    marian.train(kind)
    write_vocabulary(kind)
    write_pieces()
    for quantization in ("float32", "int8", "int16", "float16"):
        folder = convert(kind, quantization)
        for beam in (1, 4):
            kit.agree(f"{folder}: beam {beam}", kit.translations(program, folder, "pieces.src", beam),
                      translated(folder, beam), 5e-5, 0.95)
kit.end()
