"""moses.py - compares tokenizers of Argos packages that have bpe.model with argostranslate's, which are sacremoses and subword-
nmt: pieces and decoded text, on all lines of Multi30k and Tatoeba that RAPT_DATA has, on translations of Debian's programs,
and on random characters; and the translations of a package with CTranslate2's. Compares also the tables of lib/text/moses
with those of sacremoses."""
import base64
import collections
import ctypes
import gettext
import glob
import json
import os
import pathlib
import random
import shutil
import sys

import ct2_random
import ctranslate2
import kit

sys.path.append(f"{sys.argv[2]}/moses")
import moses_tables
from argostranslate.tokenizer import BPETokenizer
from subword_nmt.learn_bpe import learn_bpe

DATA = os.environ.get("RAPT_DATA", "/nowhere")
TABLES = pathlib.Path(__file__).resolve().parents[2] / "lib/text/moses"
LANGUAGES = "en de fr it es cs ru ja ar zh ko pl el pt nl hu fi sv ga ro lt lv sl sk ca ta te hi tr uk he".split()
RANDOM = 100000
TEXTS, MESSAGES = 20000, 3000  # the most lines of each language from the data, and from programs
MARKS = " \u00a0.,'\"`()&|<>[]{}-–—´‘’‚„“”«»…%:;?!@#/º\u3000\t\r\u2009\x01\x1f\x85\u0345$€ssmtlscCn019٣aZéüЯяαあア漢。、한가ค์क्तا"


class Text(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Ours:
    """A tokenizer of the library, made from the form that model files have."""
    rapt = ctypes.CDLL(sys.argv[4])
    message = ctypes.create_string_buffer(512)

    def __init__(self, names, language, merges):
        parts = ["".join(name + "\0" for name in names).encode(), language.encode(), merges]
        text = f"rapt-moses 1 {len(names)} " + "".join(f"{len(part)} {base64.b64encode(part).decode()} " for part in parts)
        hash = 2166136261
        for byte in text.encode():
            hash = (hash ^ byte) * 16777619 & 0xFFFFFFFF
        text = f"{text}#{hash:08x}".encode()
        self.names, self.tokenizer = names, ctypes.c_void_p()
        status = self.rapt.rapt_tokenizer_create(ctypes.byref(self.tokenizer), text, ctypes.c_size_t(len(text)), None, self.message)
        if status:
            sys.exit(f"a tokenizer is refused: {self.message.value.decode()}")

    def encode(self, line):
        """Returns pieces, and the end of each in the bytes of the line."""
        data, count = line.encode(), ctypes.c_size_t()
        room = 6 * len(data) + 1
        ids, ends = (ctypes.c_int32 * room)(), (ctypes.c_size_t * room)()
        if self.rapt.rapt_tokenizer_encode(self.tokenizer, Text(data, len(data)), ids, ends, ctypes.c_size_t(room),
                                              ctypes.byref(count), self.message):
            sys.exit(self.message.value.decode())
        return [self.names[i] for i in ids[:count.value]], ends[:count.value]

    def decode(self, ids):
        size, room = ctypes.c_size_t(), 8 + sum(len(self.names[i].encode()) + 1 for i in ids)
        data = ctypes.create_string_buffer(room)
        if self.rapt.rapt_tokenizer_decode(self.tokenizer, (ctypes.c_int32 * len(ids))(*ids), ctypes.c_size_t(len(ids)), data,
                                              ctypes.c_size_t(room), ctypes.byref(size), self.message):
            sys.exit(self.message.value.decode())
        return data.raw[:size.value].decode()


def real_lines(language):
    """Returns lines of a language, from the data and from messages of programs."""
    lines = set()
    for path in sorted(glob.glob(f"{DATA}/multi30k/*.{language}")):
        lines.update(open(path, encoding="utf-8").read().split("\n"))
    for path in sorted(glob.glob(f"{DATA}/tatoeba-en-de/*.tsv")) if language in ("en", "de") else []:
        lines.update(line.split("\t")[language == "de"] for line in open(path, encoding="utf-8").read().split("\n") if "\t" in line)
    messages = set()
    for path in sorted(glob.glob(f"/usr/share/locale/{language}*/LC_MESSAGES/*.mo")):
        with open(path, "rb") as file:
            try:
                catalog = gettext.GNUTranslations(file)._catalog
            except UnicodeDecodeError:  # older than UTF-8
                continue
        for key, text in catalog.items():
            if isinstance(key, str) and key:
                messages.update((key if language == "en" else text).split("\n"))
    dice = random.Random(1)
    return [line for all, most in ((lines, TEXTS), (messages, MESSAGES)) for line in dice.sample(sorted(all), min(most, len(all)))]


def random_line(dice, prefixes):
    """Returns characters of all of Unicode, or those that rules mention, sometimes with an abbreviation before a full stop."""
    kind, parts = dice.randrange(3), []
    for _ in range(dice.randrange(1, 30)):
        code = dice.randrange(dice.choice((0x250, 0x3100, 0x10000, 0x110000)))
        if kind == 1 or 0xD800 <= code < 0xE000:
            parts.append(dice.choice(MARKS))
        elif kind == 2 and dice.random() < 0.5:
            parts.append(dice.choice(prefixes) + dice.choice((". ", ".", ". 1", "..", " ", ". a", ". B", "'s ", "'")))
        else:
            parts.append(chr(code) + dice.choice(("", "", " ")))
    return "".join(parts)


def compare(language, merges, lines, dice):
    """Compares pieces and texts, both of each line and of its pieces in another order."""
    with open("bpe.model", "wb") as file:
        file.write(merges)
    theirs = BPETokenizer("bpe.model", language, language)
    expected = [theirs.encode(line) for line in lines]
    names = ["<unk>", "<s>", "</s>", *sorted({name for pieces in expected for name in pieces})]
    ids, ours, wrong = {name: i for i, name in enumerate(names)}, Ours(names, language, merges), 0
    for line, pieces in zip(lines, expected):
        found, ends = ours.encode(line)
        mixed = dice.sample(pieces, len(pieces))
        texts = [(sample, ours.decode([ids[name] for name in sample]), theirs.decode(sample)) for sample in (pieces, mixed) if sample]
        size = len(line.encode())
        good = found == pieces and all(a <= b for a, b in zip(ends, ends[1:] + [size])) and all(a == b for _, a, b in texts)
        wrong += not good
        if not good and wrong <= 2:
            print(f"{language}: {line!r}: {found} {ends}, not {pieces}; texts {[t for t in texts if t[1] != t[2]]}")
    print(f"{language}: {len(lines) - wrong} of {len(lines)} lines equal, {len(names)} pieces", flush=True)
    if wrong:
        kit.fail(f"{language}: {wrong} lines differ")


def learn(real):
    """Returns merges that are learned from lines of all languages."""
    with open("words", "w", encoding="utf-8") as file:
        for language, lines in real.items():
            tokenizer = moses_tables.MosesTokenizer(language)
            file.writelines(" ".join(tokenizer.tokenize(line)) + "\n" for line in lines[:50])
    with open("words", encoding="utf-8") as file, open("learned", "w", encoding="utf-8") as to:
        learn_bpe(file, to, 2000)
    return open("learned", "rb").read()


def kinds_of(merges, dice):
    """Returns merges, the same in another order and with repeated lines, and merges of version 0.1, where the end of a word is a
    symbol."""
    head, *body = merges.split(b"\n")[:-1]
    oldest = []
    for line in body:
        left, right = line.split(b" ")
        if right.endswith(b"</w>") and right != b"</w>":
            oldest.append(right[:-4] + b" </w>")
        oldest.append(line)
    return merges, b"\n".join([head, *dice.sample(body, len(body)), *body[:100]]) + b"\n", b"\n".join(oldest)


def package(program, merges, source, target, lines):
    """Compares the translations of a random package with those that Argos Translate makes from the same files. <unk> is never
    generated, since Argos replaces it by a source token."""
    name = f"translate-{source}_{target}"
    os.makedirs(f"{name}/{name}")
    open(f"{name}/{name}/bpe.model", "wb").write(merges)
    json.dump({"from_code": source, "to_code": target, "type": "translate"}, open(f"{name}/{name}/metadata.json", "w"))
    tokenizer = BPETokenizer(f"{name}/{name}/bpe.model", source, target)
    tokens = [tokenizer.encode(line) for line in lines]
    counts = collections.Counter(token for line in tokens for token in line)
    ct2_random.NAMES = ["<blank>", "<s>", "</s>", "<unk>", *sorted(token for token, _ in counts.most_common(1500))]
    ct2_random.write(f"{name}/{name}/model", False, 7, pre_norm=True)
    shutil.make_archive(name, "zip", name)
    os.rename(f"{name}.zip", f"{name}.argosmodel")
    translator = ctranslate2.Translator(f"{name}/{name}/model", device="cpu", compute_type="float32", intra_threads=1)
    results = translator.translate_batch(tokens, replace_unknowns=True, beam_size=4, length_penalty=0.2, max_batch_size=1,
                                         return_scores=True)
    theirs = [(result.scores[0], tokenizer.decode(result.hypotheses[0])) for result in results]
    open("source", "w", encoding="utf-8").writelines(line + "\n" for line in lines)
    for model in (name + "/" + name, name + ".argosmodel"):
        kit.agree(model, kit.translations(program, model, "source", None), theirs, 2e-4, 0.99)


def test_moses():
    program = sys.argv[1]
    for name in ("classes", "prefixes"):
        if getattr(moses_tables, name)() != (TABLES / f"{name}.def").read_text(encoding="utf-8"):
            kit.fail(f"moses_tables.py makes another {name}.def")
    dice = random.Random(3)
    real = {language: real_lines(language) for language in LANGUAGES}
    merges = learn(real)
    for source, target in (("en", "fr"), ("fr", "en"), ("cs", "de"), ("zh", "it")):
        lines = [line.strip() for line in real[source][-2000:] if 20 < len(line) < 90 and not set(line) & set("\r\u2028\x85\x0c\x0b")]
        package(program, merges, source, target, lines[:200])
    kinds = kinds_of(merges, dice)
    for number, language in enumerate(LANGUAGES):
        prefixes = moses_tables.MosesTokenizer(language).NONBREAKING_PREFIXES + ["li", "mail", "can", "DOT"]
        prefixes = [word.split()[0] for word in prefixes]
        lines = real[language] + [random_line(dice, prefixes) for _ in range(RANDOM // len(LANGUAGES) + 1)]
        compare(language, kinds[number % 3], lines, dice)


kit.main(globals())
