"""hf_judge.py - makes tokenizers and compares random models of transformers, in double precision, with toy_translate: logits,
translations, vectors, scores and token ids; shared by the scripts beside it."""
import os
import random
import unicodedata

import kit
import numpy
import sentencepiece
import tokenizers
import torch
import transformers
from tokenizers import models, normalizers, pre_tokenizers
from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

DATA = os.environ.get("RAPT_DATA", "/nowhere")
EPSILON = 2.0 ** -23
BYTE_OF = {name: byte for byte, name in bytes_to_unicode().items()}
WORDS = ["<s>", "<pad>", "</s>", "<unk>", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "##s", "dog", "run", "##n", "##ing",
         "sleep", "caf", "##e", "un", "##friend", "##ly", ".", ",", "!", "i", "##s", "n", "o", "t", "<mask>"]


def prepare(program, count=0):
    """Writes the corpus and, if count is not 0, its first sources to the file lines; returns those. Gradients are off."""
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    kit.corpus(program)
    lines = open("train.src", encoding="utf-8").read().splitlines()[:count]
    if count:
        open("lines", "w", encoding="utf-8").writelines(line + "\n" for line in lines)
    return lines


def shaken(model):
    """Makes every parameter random, so that no initial value hides an error."""
    for _, value in model.named_parameters():
        value.data += 0.1 * torch.randn(value.shape)
    return model


def compare(what, ours, theirs, layers):
    """Fails if numbers differ by more than 8 epsilon sqrt(layers) of the largest one. ours, theirs: [texts][numbers]."""
    ours, theirs = numpy.array(ours), numpy.array(theirs)
    if ours.shape != theirs.shape:
        return kit.fail(f"{what}: {ours.shape} numbers, not {theirs.shape}")
    worst, limit = abs(ours - theirs).max(), 8 * EPSILON * layers ** 0.5 * abs(theirs).max()
    print(f"{what}: {ours.size} numbers within {worst:.1e} of {limit:.1e}", flush=True)
    if not worst <= limit:
        kit.fail(f"{what}: not equal")


# ---- tokenizers and texts ----

def write_pieces(path, options=""):
    """Trains a SentencePiece model of 150 pieces on both languages of the corpus."""
    open("both", "w", encoding="utf-8").write(open("train.src", encoding="utf-8").read() + open("train.trg", encoding="utf-8").read())
    sentencepiece.SentencePieceTrainer.Train("--input=both --model_prefix=both --vocab_size=150 --minloglevel=2" + options)
    os.rename("both.model", path)
    return path


def write_merges(folder):
    """Trains a byte-level tokenizer with 150 merges at most and writes its two files."""
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train(["train.src", "train.trg"], vocab_size=411, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                  show_progress=False)
    trained.save_model(folder)
    return f"{folder}/vocab.json", f"{folder}/merges.txt"


def nllb_tokenizer(folder, source, target, **options):
    """Returns NLLB's tokenizer of 150 pieces. Its languages are in the order of the real models."""
    added = [*FAIRSEQ_LANGUAGE_CODES, "<mask>"]
    return transformers.NllbTokenizer(
        write_pieces(f"{folder}/sentencepiece.bpe.model"), src_lang=source, tgt_lang=target, added_tokens_decoder={
            151 + i: transformers.AddedToken(token, special=True, normalized=False) for i, token in enumerate(added)}, **options)


def mpnet_tokenizer(name):
    """MPNet's vocabulary is BERT's, with four tokens before it and one after it."""
    with open(f"{name}/vocab.txt", "w", encoding="utf-8") as file:
        file.writelines(word + "\n" for word in dict.fromkeys(WORDS))
    return transformers.MPNetTokenizerFast(vocab_file=f"{name}/vocab.txt")


def roberta_tokenizer(name):
    return transformers.RobertaTokenizerFast(*write_merges(name))


def xlm_tokenizer(name):
    """The ids are those of the slow tokenizer, which calls SentencePiece."""
    file = write_pieces(f"{name}/sentencepiece.bpe.model")
    unigram(file, ["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"]).save(f"{name}/tokenizer.json")
    return transformers.XLMRobertaTokenizer(file)


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


def character(dice):
    """Returns a random character of Unicode 14, the version that all compared libraries know."""
    kind = dice.random()
    code = dice.randrange(32, 127) if kind < 0.4 else dice.randrange(0x600) if kind < 0.6 else \
        dice.randrange(0x10000 if kind < 0.9 else 0x110000)
    return "-" if code in (10, 13) or unicodedata.category(chr(code)) in ("Cs", "Cn") else chr(code)


def random_lines(count):
    dice = random.Random(1)
    return ["".join(character(dice) for _ in range(dice.randrange(1, 40))) for _ in range(count)]


def real_lines():
    """Returns lines of English and German, if RAPT_DATA has them."""
    lines = []
    for name in ("multi30k/test_2016_flickr.en", "multi30k/test_2016_flickr.de"):
        if os.path.exists(f"{DATA}/{name}"):
            lines += open(f"{DATA}/{name}", encoding="utf-8").read().split("\n")[:1000]
    return lines


def token_ids(program, folder, lines, wanted):
    """Compares ids of lines with [lines][ids]."""
    ours = kit.run(program, "tokenize", "-m", folder, "--ids", given="".join(line + "\n" for line in lines)).split("\n")[:-1]
    wrong = [(line, our, their) for line, our, their in zip(lines, ours, (" ".join(map(str, ids)) for ids in wanted)) if our != their]
    print(f"{folder}: ids of {len(ours) - len(wrong)} of {len(lines)} lines", flush=True)
    if wrong or len(ours) != len(lines):
        kit.fail(f"{folder}: {wrong[:3]!r}")


# ---- encoder-decoders ----

def logits(program, name, model, inputs, targets, layers):
    """Compares logits for ids of decoder inputs, targets: [texts][tokens]. program: that of logits.c."""
    rows = [ids[mask.bool()].tolist() for ids, mask in zip(inputs["input_ids"], inputs["attention_mask"])]
    given = "".join(" ".join(map(str, row)) + "\t" + " ".join(map(str, target)) + "\n" for row, target in zip(rows, targets.tolist()))
    ours = [[float(x) for x in line.split()] for line in (kit.run(program, name, given=given) or "").splitlines()]
    compare(f"{name}, logits", ours, model(**inputs, decoder_input_ids=targets).logits.flatten(1).tolist(), layers)


def greedy(model, inputs, forbidden, limit, first=None):
    """Returns scores and ids by transformers. first: the token that is forced at the beginning."""
    out = model.generate(**inputs, num_beams=1, suppress_tokens=forbidden, forced_bos_token_id=first,
                         return_dict_in_generate=True, output_logits=True)
    steps = torch.stack(out.logits, 1).log_softmax(-1).gather(2, out.sequences[:, 1:, None])[..., 0]
    steps[:, limit - 2:] = 0  # the end is forced, whatever its probability is
    if first is not None:
        steps[:, 0] = 0
    ended = (out.sequences[:, 1:] == model.config.eos_token_id).cumsum(1)
    before = torch.nn.functional.pad(ended, (1, 0))[:, :-1] > 0
    return steps.masked_fill(before, 0).sum(1) / (~before).sum(1), out.sequences


def beams(search, inputs, forbidden, limit, count, penalty, first=None):
    """Returns scores and ids by the search of hf_search.py, which never repeats two tokens."""
    repetition, end = transformers.NoRepeatNGramLogitsProcessor(2), search.config.eos_token_id

    def process(ids, scores):
        scores[:, forbidden] = -torch.inf
        scores = repetition(ids, scores)
        forced = first if ids.shape[1] == 1 else end if ids.shape[1] == limit - 1 else None
        if forced is not None:
            scores[:] = -torch.inf
            scores[:, forced] = 0
        return scores

    return search.best(inputs, count, penalty, limit, process)


def spelled(tokenizer, ids, hidden):
    """Returns the text of generated ids, without those of hidden tokens, as toy_translate writes it."""
    tokens = tokenizer.convert_ids_to_tokens([i for i in ids.tolist() if i not in hidden])
    return "".join(tokens).replace("\u2581", " ").lstrip()


def shown(text):
    """Returns the bytes of a text as toy_translate writes them in a line: with spaces for controls below 32 and U+FFFD for bytes
    that are not UTF-8."""
    text = text.decode("utf-8", "surrogateescape")
    return "".join(" " if ord(c) < 32 else "\ufffd" if 0xDC80 <= ord(c) < 0xDD00 else c for c in text).lstrip(" ")


def byte_text(tokens):
    """Returns the text of byte-level tokens."""
    return shown(bytes(BYTE_OF[name] for name in "".join(tokens)))


def translations(program, name, search, inputs, spell, forbidden, limit, first=None, options=()):
    """Compares translations of the file lines by greedy and by beam search, and returns the ids of the greedy ones. search: a
    model in the class of hf_search.py; spell: turns ids into text; options: those of toy_translate."""
    for count, penalty in ((1, 1.0), (4, 1.0), (3, 0.5)):
        if count == 1:
            scores, ids = greedy(search.model, inputs, forbidden, limit, first)
            best = ids
        else:
            scores, ids = beams(search, inputs, forbidden, limit, count, penalty, first)
        ours = kit.translations(program, name, "lines", count, "--length-penalty", penalty, *options)
        kit.agree(f"{name}, {count} beams, penalty {penalty}", [(score, text.lstrip()) for score, text in ours],
                  [(float(score), spell(row)) for score, row in zip(scores, ids)], 5e-6 * limit ** (1 - penalty))
    return best


def judge(programs, name, search, inputs, *more, **options):
    """Compares translations, as translations() does, and logits for the first of them. programs: toy_translate and that of
    logits.c."""
    config = search.config
    ids = translations(programs[0], name, search, inputs, *more, **options)
    layers = config.num_hidden_layers + getattr(config, "num_decoder_layers", getattr(config, "decoder_layers", 0))
    logits(programs[1], name, search.model, {key: value[:20] for key, value in inputs.items()}, ids[:20], layers)


def scores(program, name, model, tokenizer, first, options):
    """Compares the log-probabilities of the targets of pairs.tsv after the token `first`, which is given unless it is None."""
    given = [] if first is None else [first]
    found, end, start = [], model.config.eos_token_id, model.config.decoder_start_token_id
    for line in open("pairs.tsv", encoding="utf-8").read().splitlines():
        source, target = line.split("\t")
        ids = tokenizer(target, add_special_tokens=False)["input_ids"]
        steps = model(**tokenizer(source, return_tensors="pt"), decoder_input_ids=torch.tensor([[start, *given, *ids]])).logits[0, len(given):]
        found.append((float(steps.log_softmax(-1).gather(1, torch.tensor([*ids, end])[:, None]).sum()), None))
    kit.agree(f"{name}, given", kit.scores(program, name, "pairs.tsv", *options), found, 5e-5)


# ---- encoders ----

def encoder_inputs(tokenizer, texts, pairs=None):
    """Returns the input of each text, or of each pair. Lists are given, because an empty second text by itself would be taken
    for none."""
    return [tokenizer([text], [pair] if pairs else None, return_tensors="pt", truncation=True, max_length=64)
            for text, pair in zip(texts, pairs or texts)]


def embedded(program, folder, texts, *options):
    lines = "".join(text + "\n" for text in texts)
    return [line["embedding"] for line in kit.json_lines(kit.run(program, "embed", "-m", folder, "--json", *options, given=lines))]


def ranked(program, folder, query, texts):
    """Returns [score] of each text by `rerank`."""
    out = kit.run(program, "rerank", "-m", folder, "--json", "--query", query, given="".join(text + "\n" for text in texts))
    found = {line["line"]: line["score"] for line in kit.json_lines(out)}
    return [[found.get(i + 1)] for i in range(len(texts))]
