"""hf_judge.py - compares random encoder-decoders of transformers, in double precision, with toy_translate: logits, greedy
translations and beam search; shared by the scripts beside it."""
import os
import random
import unicodedata

import kit
import sentencepiece
import torch
import transformers
from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode

DATA = os.environ.get("RAPT_DATA", "/nowhere")
EPSILON = 2.0 ** -23
BYTE_OF = {name: byte for byte, name in bytes_to_unicode().items()}


def shaken(model):
    """Makes every parameter random, so that no initial value hides an error."""
    for _, value in model.named_parameters():
        value.data += 0.1 * torch.randn(value.shape)
    return model


def logits(program, name, model, inputs, targets, layers):
    """Compares logits for ids of decoder inputs, targets: [texts][tokens]. program: that of logits.c. Fails beyond 8 epsilon
    sqrt(layers) of the largest logit."""
    rows = [ids[mask.bool()].tolist() for ids, mask in zip(inputs["input_ids"], inputs["attention_mask"])]
    given = "".join(" ".join(map(str, row)) + "\t" + " ".join(map(str, target)) + "\n" for row, target in zip(rows, targets.tolist()))
    ours = torch.tensor([[float(x) for x in line.split()] for line in (kit.run(program, name, given=given) or "").splitlines()])
    theirs = model(**inputs, decoder_input_ids=targets).logits.flatten(1)
    if ours.shape != theirs.shape:
        return kit.fail(f"{name}: logits {tuple(ours.shape)}, not {tuple(theirs.shape)}")
    worst, limit = float((ours - theirs).abs().max()), 8 * EPSILON * layers ** 0.5 * float(theirs.abs().max())
    print(f"{name}: {ours.numel()} logits within {worst:.1e} of {limit:.1e}", flush=True)
    if not worst <= limit:
        kit.fail(f"{name}: logits differ")


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


def character(dice):
    """Returns a random character of Unicode 14, the version that all compared libraries know."""
    kind = dice.random()
    code = dice.randrange(32, 127) if kind < 0.4 else dice.randrange(0x600) if kind < 0.6 else \
        dice.randrange(0x10000 if kind < 0.9 else 0x110000)
    return "-" if code in (10, 13) or unicodedata.category(chr(code)) in ("Cs", "Cn") else chr(code)


def random_lines(count):
    dice = random.Random(1)
    return ["".join(character(dice) for _ in range(dice.randrange(1, 40))) for _ in range(count)]


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


def real_lines():
    """Returns lines of English and German, if RAPT_DATA has them."""
    lines = []
    for name in ("multi30k/test_2016_flickr.en", "multi30k/test_2016_flickr.de"):
        if os.path.exists(f"{DATA}/{name}"):
            lines += open(f"{DATA}/{name}", encoding="utf-8").read().split("\n")[:1000]
    return lines


def write_pieces(path, options=""):
    """Trains a SentencePiece model of 150 pieces on both languages of the corpus."""
    open("both", "w", encoding="utf-8").write(open("train.src", encoding="utf-8").read() + open("train.trg", encoding="utf-8").read())
    sentencepiece.SentencePieceTrainer.Train("--input=both --model_prefix=both --vocab_size=150 --minloglevel=2" + options)
    os.rename("both.model", path)
    return path


def token_ids(program, folder, lines, wanted):
    """Compares ids of lines with [lines][ids]."""
    ours = kit.run(program, "tokenize", "-m", folder, "--ids", given="".join(line + "\n" for line in lines)).split("\n")[:-1]
    wrong = [(line, our, their) for line, our, their in zip(lines, ours, (" ".join(map(str, ids)) for ids in wanted)) if our != their]
    print(f"{folder}: ids of {len(ours) - len(wrong)} of {len(lines)} lines", flush=True)
    if wrong or len(ours) != len(lines):
        kit.fail(f"{folder}: {wrong[:3]!r}")
