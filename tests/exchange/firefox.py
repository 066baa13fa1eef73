"""firefox.py - compares with models and engines of Firefox:

    student  the translations of a student of Firefox (Portuguese to English, ENGINES/student) with those that Marian computes
             in float32 from the same numbers, without and with the shortlist. Most of its translations in 8 bits must be the
             same. The sources are translations of the opposite student, from RAPT_DATA
    firefox  trains small models, exports them for Firefox, and compares what both of Firefox's engines make of the folders,
             Marian as WebAssembly (int8shiftAlphaAll) and fxtranslate, with our own translations of them. With one vocabulary
             and with two, without and with the shortlist. The engines have no kernels of their own for this: they read the
             scales of activations that convert --calibrate has measured"""
import os
import pathlib
import sys

import kit
import marian
import sentencepiece

program, engines = sys.argv[1], pathlib.Path(sys.argv[2]).absolute()


# ---- a student of Firefox ----

LINES = 60


def found(pattern):
    name, = (engines / "student").glob(pattern)
    return name


def test_student():
    lines = os.path.join(os.environ["RAPT_DATA"], "models", "firefox-tiny-enpt", "expected.pt")
    with open(lines, encoding="utf-8") as file, open("source", "w", encoding="utf-8") as out:
        out.writelines(file.readlines()[:LINES])
    vocabulary, shortlist = found("vocab.*.spm"), found("lex.*.bin")
    marian.widen(found("model.*.bin"), "wide.npz")
    for name, options in (("without a shortlist", ()), ("with it", ("--shortlist", shortlist))):
        floats = kit.translations(program, engines / "student", "source", 1, *options)
        narrow = kit.translations(program, engines / "student", "source", 1, "--precision", "int8", *options)
        kit.agree(f"Portuguese to English {name}", floats,
                  marian.decode(".", "wide.npz", (vocabulary, vocabulary), "source", 1, *options), 5e-5, 0.98)
        kit.agree(f"in 8 bits {name}", narrow, floats, 0.1, 0.85)


# ---- both engines of Firefox ----

LAST = 300  # lines of the corpus
# Fractions of lines: the engines against each other, ours in 8 bits against them, and ours in floats against them.
ENGINES, EIGHT, FLOATS = 0.95, 0.87, 0.84


def text(lines):
    return [line for line in (lines or "").split("\n")[:-1]]


def write(name, lines):
    pathlib.Path(name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def vocabulary(name, lines, pieces):
    """Writes NAME.model as the documentation says, with Mozilla's ids of special pieces."""
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=name, vocab_size=pieces, bos_id=-1,
                                             eos_id=0, unk_id=1, minloglevel=2)


def by_marian(model, vocabularies, shortlist, lines):
    files = (model, ",".join(map(str, vocabularies)), "int8shiftAlphaAll", *([shortlist] if shortlist else []))
    return text(kit.run("node", pathlib.Path(__file__).parent / "marian.js", "translate", *files,
                        given="".join(line + "\n" for line in lines)))


def by_fxtranslate(model, vocabularies, shortlist, lines):
    import fxtranslate
    data = [path.read_bytes() for path in (model, vocabularies[0], vocabularies[-1])]
    engine = fxtranslate.Translator(*data, shortlist.read_bytes() if shortlist else None)
    return [engine.translate(line) for line in lines]


def compare(what, ours, theirs, least):
    equal = sum(a == b for a, b in zip(ours, theirs))
    print(f"{what}: {equal} of {len(theirs)} lines equal", flush=True)
    if len(ours) != len(theirs) or equal < least * len(theirs):
        kit.fail(f"{what}: fewer than {least:.0%} are equal")


def judge(kind, folder, model, lines):
    """Compares the translations of a folder, without and with its shortlist."""
    file = folder / "model.ende.intgemm.alphas.bin"
    vocabularies = [folder / name for name in (["vocab.ende.spm"] if kind == "one vocabulary" else
                                               ["srcvocab.ende.spm", "trgvocab.ende.spm"])]
    for shortlist in None, folder / "lex.50.50.ende.s2t.bin":
        name = f"{kind}, {'with' if shortlist else 'without'} shortlist"
        options = ("translate", "--lines", "--beam", 1, "--max-length-factor", 3, "source")
        options += ("--shortlist", shortlist) if shortlist else ()
        eight = text(kit.run(program, *options, "--model", folder))
        floats = text(kit.run(program, *options, "--model", model, "--like", "marian"))
        present = by_marian(file, vocabularies, shortlist, lines)
        next_one = by_fxtranslate(file, vocabularies, shortlist, lines)
        compare(f"{name}: Marian and fxtranslate", present, next_one, ENGINES)
        for engine, theirs in ("Marian", present), ("fxtranslate", next_one):
            compare(f"{name}: ours in 8 bits and {engine}", eight, theirs, EIGHT)
            compare(f"{name}: ours in floats and {engine}", floats, theirs, FLOATS)


def test_firefox():
    sys.path.insert(0, str(engines / "firefox"))
    os.environ["ENGINE"] = str(engines / "package")
    kit.run(program, "demo", "--write-corpus", "corpus.tsv")
    pairs = pathlib.Path("corpus.tsv").read_text(encoding="utf-8").splitlines()
    write("train.tsv", pairs[:30000])
    sources = [pair.split("\t")[0] for pair in pairs]
    write("calibration", sources[:300])
    write("source", sources[-LAST:])
    vocabulary("vocab", [side for pair in pairs[:30000] for side in pair.split("\t")], 400)
    vocabulary("vocab.src", sources[:30000], 240)
    vocabulary("vocab.trg", [pair.split("\t")[1] for pair in pairs[:30000]], 304)
    for kind, vocabularies in (("one vocabulary", ("--sentencepiece", "vocab.model")),
                               ("two vocabularies", ("--sentencepiece", "vocab.src.model", "--sentencepiece-target",
                                                     "vocab.trg.model"))):
        model, folder = kind.split()[0], pathlib.Path(kind.split()[0] + ".firefox")
        kit.run(program, "train", "--for", "firefox", "--data", "train.tsv", "--out", model, *vocabularies, "--layers", 2, "--width",
                64, "--heads", 4, "--ffn-width", 128, "--steps", 800, "--warmup", 200, "--batch-tokens", 1024, "--output-bias")
        kit.run(program, "shortlist", "--model", model, "--data", "train.tsv", "--output", model + ".lex")
        kit.run(program, "convert", "--model", model, "--to", "firefox", "--source-lang", "en", "--target-lang", "de", "--calibrate",
                "calibration", "--shortlist", model + ".lex", "--out", folder)
        judge(kind, folder, model, sources[-LAST:])


kit.main(globals())
