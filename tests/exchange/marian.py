"""marian.py - trains models with Marian (PyPI's pymarian), scores and translates with them. The model of a kind is the
folder of that name, as Marian leaves it: ende.npz, the optimizer's state, the best model, configurations."""
import os
import shutil
import sys

import kit

PRE = "--transformer-preprocess n --transformer-postprocess da --transformer-postprocess-top n"
SSRU = "--transformer-decoder-autoreg rnn --dec-cell ssru"
KINDS = {
    "post": "--tied-embeddings-all",
    "ssru": f"--tied-embeddings-all {SSRU}",
    "pre": f"--tied-embeddings-all {PRE}",
    "pre-ssru": f"--tied-embeddings-all {PRE} {SSRU}",
    "untied": "--transformer-ffn-activation relu",
    "output": "--tied-embeddings --transformer-heads 8",
    "sources": "--tied-embeddings-src",
    "rms": "--tied-embeddings-all --transformer-postprocess dar",
    "guided": "--tied-embeddings-all --guided-alignment ../pairs.align --transformer-guided-alignment-layer 1",
    "unbiased": "--tied-embeddings-all --output-omit-bias --enc-depth 3 --dec-depth 1",
    "two": "--tied-embeddings --vocabs vocab.en.spm vocab.de.spm --dim-vocabs 120 160",
    "words": "--vocabs vocab.src.yml vocab.trg.yml --dim-vocabs 40 50",
}


def run(*arguments, **options):
    return kit.run(sys.executable, "-m", "pymarian", *arguments, **options)


def options_of(kind):
    defaults = {"--vocabs": "vocab.spm vocab.spm", "--dim-vocabs": "240 240", "--enc-depth": "2", "--dec-depth": "2",
                "--transformer-heads": "4"}
    given = KINDS[kind]
    return (given + "".join(f" {key} {value}" for key, value in defaults.items() if key not in given)).split()


def vocabularies(kind):
    options = options_of(kind)
    return options[options.index("--vocabs") + 1:][:2]


def train(kind):
    """Trains the kind for 150 updates."""
    os.mkdir(kind)
    if "--vocabs" not in KINDS[kind] and kind != "post":
        shutil.copy("post/vocab.spm", kind)
    if kind == "words":
        for side in ("src", "trg"):  # all words; the model knows only the first --dim-vocabs of them
            texts = open(f"train.{side}", encoding="utf-8").read()
            open(f"words/vocab.{side}.yml", "w", encoding="utf-8").write(run("vocab", given=texts) or "")
    run("train", "--type", "transformer", "--model", "ende.npz", "--train-sets", "../train.src", "../train.trg",
        "--dim-emb", 32, "--transformer-dim-ffn", 48, "--valid-sets", "../pairs.src", "../pairs.trg",
        "--valid-freq", "20u", "--valid-metrics", "ce-mean-words", "--after", "150u", "--mini-batch", 16,
        "--maxi-batch", 4, "--keep-best", "--learn-rate", 0.01, "--seed", 1, "--cpu-threads", 1, "--workspace", 100,
        "--quiet", *options_of(kind), folder=kind)


def scored(kind, model="ende.npz"):
    """Returns (log-probability, None) for each pair, by Marian's scorer."""
    said = run("score", "--model", model, "--vocabs", *vocabularies(kind), "--train-sets", "../pairs.src",
               "../pairs.trg", "--cpu-threads", 1, "--workspace", 100, "--quiet", folder=kind)
    return [(float(line), None) for line in (said or "").split()]


def decode(folder, model, vocabularies, source, beam, *options):
    """Returns (score, text) for each line of the file source, by Marian's decoder. A line has a batch of its own, since
    Marian limits the length of all texts of a batch by the longest source."""
    return decode_with(folder, "--models", model, "--vocabs", *vocabularies, "--input", source, "--beam-size", beam,
                       "--normalize", 1, *options)


def decode_with(folder, *options):
    said = run("decode", "--n-best", "--mini-batch", 1, "--maxi-batch", 1, "--cpu-threads", 1, "--workspace", 100,
               "--quiet", *options, folder=folder)
    best = {}
    for line in (said or "").splitlines():
        number, text, _, score = line.split(" ||| ")
        best.setdefault(int(number), (float(score), text))
    return [best[number] for number in sorted(best)]


def decoded(kind, beam=1, *options, model="ende.npz"):
    return decode(kind, model, vocabularies(kind), "../pairs.src", beam, *options)


def corpus(program):
    """Writes pairs to train with (train.src, .trg, .tsv) and 40 others to compare (pairs.src, .trg, .tsv)."""
    kit.run(program, "demo", "--write-corpus", "corpus.tsv")
    pairs = open("corpus.tsv", encoding="utf-8").read().splitlines()
    for name, lines in (("train", pairs[:2000]), ("pairs", pairs[-40:])):
        sides = zip(*(line.split("\t") for line in lines))
        for side, texts in zip(("src", "trg"), sides):
            open(f"{name}.{side}", "w", encoding="utf-8").write("".join(text + "\n" for text in texts))
        open(f"{name}.tsv", "w", encoding="utf-8").write("".join(line + "\n" for line in lines))
    open("pairs.align", "w").write("0-0\n" * 2000)
