"""ct2_random.py - writes random models of CTranslate2; shared by the scripts beside it."""
import os

import numpy
from ctranslate2.specs import TransformerSpec

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
