"""json_make.py - makes tokenizers of the package tokenizers from SentencePiece models, as transformers converts them; shared by the
scripts beside it."""
import sentencepiece
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers


def fields(message):
    """Yields (number, value) of a Protocol Buffers message, without fixed32."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 5:
            at += 4
        elif tag & 7 == 2:
            size = varint()
            at += size
            yield tag >> 3, message[at - size:at]
        else:
            yield tag >> 3, varint()


def unigram(pieces, front, after):
    """Returns a tokenizer with the pieces of a SentencePiece model after its first three, between special tokens, in the way in
    which transformers converts it."""
    model = sentencepiece.SentencePieceProcessor(model_file=pieces)
    names = [(model.IdToPiece(i), model.GetScore(i)) for i in range(3, len(model))]
    return with_rules(model, models.Unigram([*((name, 0.0) for name in front), *names, *((name, 0.0) for name in after)],
                                            front.index("<unk>")), front, after)


def byte_pairs(pieces, front, after):
    """Does the same for a SentencePiece model of byte pairs, whose scores say in which order pieces are made of two."""
    model = sentencepiece.SentencePieceProcessor(model_file=pieces)
    scores = {model.IdToPiece(i): model.GetScore(i) for i in range(3, len(model))}
    merges = [(name[:at], name[at:]) for name in sorted(scores, key=scores.get, reverse=True) for at in range(1, len(name))
              if name[:at] in scores and name[at:] in scores]
    ids = {name: i for i, name in enumerate([*front, *scores, *after])}
    return with_rules(model, models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True), front, after)


def with_rules(pieces, model, front, after):
    """Returns a tokenizer with the normalization of a SentencePiece model, which is the same for both kinds of models."""
    charsmap = dict(fields(dict(fields(pieces.serialized_model_proto()))[3]))[2]
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap), normalizers.Strip(left=False),
                                                 normalizers.Replace(tokenizers.Regex(" {2,}"), "\u2581")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=True)
    tokenizer.add_special_tokens([tokenizers.AddedToken(name, lstrip=name == "<mask>", normalized=False) for name in (*front, *after)])
    return tokenizer
