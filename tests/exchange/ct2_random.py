"""ct2_random.py - writes random models of CTranslate2 and compares with CTranslate2:

    ct2_alignments  models that name every kind of layer and number of heads for alignments: its attention with that of attend,
                    and the word of the source that each word of a translation attends to most with the alignments of translate
    ct2_penalties   translations with a repetition penalty, a coverage penalty and suppressed sequences
    ct2_sources     translations of sources with special and unknown tokens

moses.py writes such models, too."""
import os
import sys

import ctranslate2
import kit
import numpy
from ctranslate2.specs import TransformerSpec

program = sys.argv[1]


# ---- models ----

HEADS, WIDTH, HIDDEN, LAYERS = 4, 16, 32, (1, 3)
NAMES = ["<blank>", "<s>", "</s>", "<unk>"] + [f"\u2581{chr(97 + i)}" for i in range(26)]
random = numpy.random.default_rng(1)


def values(*shape):
    return random.normal(0, 0.5, shape).astype("float32")


def linear(spec, outputs, inputs):
    spec.weight, spec.bias = values(outputs, inputs), values(outputs)


def attention(spec, *parts):
    for linear_spec, factor in zip(spec.linear, parts):
        linear(linear_spec, factor * WIDTH, WIDTH)
    norm(spec.layer_norm)


def norm(spec):
    spec.gamma, spec.beta = 1 + values(WIDTH), values(WIDTH)


def fill(side):
    table = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
    table.weight = values(len(NAMES), WIDTH)
    for layer in side.layer:
        attention(layer.self_attention, 3, 1)
        if hasattr(layer, "attention"):
            attention(layer.attention, 1, 2, 1)
        linear(layer.ffn.linear_0, HIDDEN, WIDTH)
        linear(layer.ffn.linear_1, WIDTH, HIDDEN)
        norm(layer.ffn.layer_norm)
    norm(side.layer_norm)


def write(folder, ends, end_bias=3, **options):
    """Writes a model whose sources get an end token if ends is True. end_bias: of the end token. options: of TransformerSpec."""
    spec = TransformerSpec.from_config(LAYERS, HEADS, **options)
    fill(spec.encoder)
    fill(spec.decoder)
    linear(spec.decoder.projection, len(NAMES), WIDTH)
    spec.decoder.projection.bias[:4] = (-50, -50, end_bias, -50)  # only words, and most translations end
    spec.config.add_source_eos = ends
    spec.register_source_vocabulary(NAMES)
    spec.register_target_vocabulary(NAMES)
    spec.validate()
    os.mkdir(folder)
    spec.save(folder)


def write_sources(count):
    """Writes random sources, which it returns, to the file sources."""
    sources = [[NAMES[4 + letter] for letter in random.integers(0, 26, 2 + line % 9)] for line in range(count)]
    with open("sources", "w", encoding="utf-8") as file:
        file.writelines(" ".join(words) + "\n" for words in sources)
    return sources


def opened(folder):
    return ctranslate2.Translator(folder, device="cpu", compute_type="float32", intra_threads=1)


# ---- alignments ----

ALIGNED = 30
COMPARED = 12  # tokens to compare; some translations do not end
CHOICES = ((-1, 1), (-1, 0), (-3, 0), (-2, 2), (0, 3), (2, 4))  # alignment_layer, alignment_heads


def closest(attention):
    """Returns the column of the largest weight of each row, and the least distance to the second."""
    ordered = numpy.sort(attention, axis=1)
    return attention.argmax(axis=1).tolist(), (ordered[:, -1] - ordered[:, -2]).min()


def weights(folder, words, tokens):
    text = kit.run(program, "attend", "--model", folder, "--json", "--target", " ".join(tokens), " ".join(words))
    return numpy.array(kit.json_lines(text)[0]["weights"]) if text else numpy.zeros((1, 1))


def judge_alignments(folder, sources):
    results = opened(folder).translate_batch(sources, beam_size=1, max_batch_size=1, return_attention=True)
    ours = kit.json_lines(kit.run(program, "translate", "--lines", "--model", folder, "--beam", 1, "--json", "sources"))
    pairs = equal = 0
    worst = 0.0
    for words, result, our in zip(sources, results, ours):
        tokens, theirs = result.hypotheses[0][:COMPARED], numpy.array(result.attention[0][:COMPARED])
        if not tokens:
            continue
        mine = weights(folder, words, tokens)
        worst = max(worst, abs(mine[:len(tokens), :len(words)] - theirs).max())
        best, gap = closest(theirs)
        if our["target_tokens"][:COMPARED] == tokens and gap > 1e-4:
            equal += our["alignment"][:COMPARED] == [[column, row] for row, column in enumerate(best)]
            pairs += 1
    print(f"{folder}: weights within {worst:.1e}, {equal} of {pairs} alignments equal", flush=True)
    if pairs < ALIGNED / 3 or equal < pairs or worst > 1e-5:
        kit.fail(f"{folder}: the alignments differ")


def test_ct2_alignments():
    sources = write_sources(ALIGNED)
    for number, choice in enumerate(CHOICES):
        name = f"layer{choice[0]}.heads{choice[1]}"
        write(name, number % 2 == 1, alignment_layer=choice[0], alignment_heads=choice[1])
        judge_alignments(name, sources)


# ---- penalties ----

LENGTH = 20
SUPPRESSED = [[NAMES[5]], [NAMES[9], NAMES[6]], [NAMES[7], NAMES[7], NAMES[8]], [NAMES[20]], [NAMES[11]]]
PENALTIES = (
    ({}, ()),
    ({"repetition_penalty": 1.3}, ("--repetition-penalty", 1.3)),
    ({"repetition_penalty": 0.8}, ("--repetition-penalty", 0.8)),
    ({"coverage_penalty": 0.2}, ("--coverage-penalty", 0.2)),
    ({"coverage_penalty": 2, "length_penalty": 0}, ("--coverage-penalty", 2, "--length-penalty", 0)),
    ({"suppress_sequences": SUPPRESSED}, ("--suppress", "suppressed")),
    ({"repetition_penalty": 2, "coverage_penalty": 0.5, "suppress_sequences": SUPPRESSED},
     ("--repetition-penalty", 2, "--coverage-penalty", 0.5, "--suppress", "suppressed")),
)


def judge_penalties(folder, sources):
    translator = opened(folder)
    for beam in (1, 4):
        different = []
        for theirs, ours in PENALTIES:
            # Without return_attention, CTranslate2 crashes if beam_size is 1 and coverage_penalty is not 0.
            results = translator.translate_batch(sources, beam_size=beam, max_batch_size=1, return_scores=True,
                                                 return_attention=True, max_decoding_length=LENGTH, **theirs)
            found = [(result.scores[0], " ".join(result.hypotheses[0])) for result in results]
            different.append([text for _, text in found])
            kit.agree(f"{folder}: beam {beam}, {' '.join(theirs)}",
                      kit.translations(program, folder, "sources", beam, "--max-length", LENGTH, *ours), found, 5e-4, 0.97)
        for number, (theirs, _) in enumerate(PENALTIES):
            if beam > 1 and number > 0 and different[number] == different[0]:
                kit.fail(f"{folder}: beam {beam}: {' '.join(theirs)} changes nothing")


def test_ct2_penalties():
    sources = write_sources(60)
    with open("suppressed", "w", encoding="utf-8") as file:
        file.writelines(" ".join(words) + "\n" for words in SUPPRESSED)
    for ends in (False, True):
        write(f"ends{ends}", ends)
        judge_penalties(f"ends{ends}", sources)


# ---- sources ----

SOURCES = """<s>
</s>
<s> </s>
</s> </s>
<s> <s>
</s> <s>
<s> </s> </s>
</s> A
<s> </s> A
<s> A
A </s>
<s> A </s>
A </s> B
A B </s> </s>
<unk>
<blank>
A unknown B""".replace("A", NAMES[4]).replace("B", NAMES[5]).splitlines()


def judge_sources(folder):
    translator = opened(folder)
    for beam in (1, 3):
        results = translator.translate_batch([line.split() for line in SOURCES], beam_size=beam, max_batch_size=1,
                                             return_scores=True)
        theirs = [(result.scores[0], " ".join(result.hypotheses[0])) for result in results]
        kit.agree(f"{folder}: beam {beam}", kit.translations(program, folder, "sources", beam), theirs, 2e-5)
        empty = sum(not text for _, text in theirs)
        if not 3 <= empty <= len(SOURCES) / 2:
            kit.fail(f"{folder}: {empty} translations are empty")


def test_ct2_sources():
    with open("sources", "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in SOURCES)
    for ends in (False, True):
        write(f"ends{ends}", ends)
        judge_sources(f"ends{ends}")


if __name__ == "__main__":
    kit.main(globals())
