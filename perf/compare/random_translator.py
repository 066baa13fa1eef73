#!/usr/bin/env python3
"""random_translator.py - writes a translator of the base size with random weights as a folder of CTranslate2, for
compare.py --model: 6 + 6 layers of width 512 with 8 heads, feed-forward width 2,048, one vocabulary of 32,000 words.

usage: random_translator.py FOLDER [float16|bfloat16|int8|int8_float16|int16]     (32-bit floats without a type)"""
import os
import sys

import numpy
from ctranslate2.specs import TransformerSpec

LAYERS, HEADS, WIDTH, HIDDEN, WORDS = 6, 8, 512, 2048, 32000
random = numpy.random.default_rng(1)


def linear(spec, outputs, inputs):
    """Keeps the variance of what it multiplies, so that rounding errors are not amplified from layer to layer."""
    spec.weight = random.normal(0, inputs ** -0.5, (outputs, inputs)).astype("float32")
    spec.bias = numpy.zeros(outputs, "float32")


def norm(spec):
    spec.gamma, spec.beta = numpy.ones(WIDTH, "float32"), numpy.zeros(WIDTH, "float32")


def attention(spec, *parts):
    for layer, factor in zip(spec.linear, parts):
        linear(layer, factor * WIDTH, WIDTH)
    norm(spec.layer_norm)


def fill(side):
    table = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
    table.weight = random.normal(0, WIDTH ** -0.5, (WORDS, WIDTH)).astype("float32")
    for layer in side.layer:
        attention(layer.self_attention, 3, 1)
        if hasattr(layer, "attention"):
            attention(layer.attention, 1, 2, 1)
        linear(layer.ffn.linear_0, HIDDEN, WIDTH)
        linear(layer.ffn.linear_1, WIDTH, HIDDEN)
        norm(layer.ffn.layer_norm)
    norm(side.layer_norm)


if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
translator = TransformerSpec.from_config((LAYERS, LAYERS), HEADS)
fill(translator.encoder)
fill(translator.decoder)
linear(translator.decoder.projection, WORDS, WIDTH)
translator.config.add_source_eos = True
names = ["<blank>", "<s>", "</s>", "<unk>"] + [f"\u2581t{i}" for i in range(WORDS - 4)]
translator.register_source_vocabulary(names)
translator.register_target_vocabulary(names)
translator.validate()
translator.optimize(quantization=sys.argv[2] if len(sys.argv) > 2 else None)
os.makedirs(sys.argv[1])
translator.save(sys.argv[1])
