#!/usr/bin/env python3
"""random_model.py - writes models of random weights, to measure with.

usage: random_model.py encoder FOLDER [large|minilm|tiny]
       random_model.py translator FOLDER [float16|bfloat16|int8|int8_float16|int16]

encoder: a folder of Hugging Face with a BERT, for perf_load --model: large, a file of 600 MB (the default); minilm, the shape
of all-MiniLM-L6; tiny, for tests. Needs nothing but Python.
translator: a folder of CTranslate2 of the base size, for compare.py --model: 6 + 6 layers of width 512 with 8 heads,
feed-forward width 2,048, one vocabulary of 32,000 words; 32-bit floats without a type. Needs numpy and ctranslate2."""
import array
import json
import os
import random
import sys

# ---- an encoder ----

SHAPES = {"large": (768, 18, 12, 3072), "minilm": (384, 6, 12, 1536), "tiny": (16, 1, 2, 32)}  # width, layers, heads, feed-forward width
VOCAB, POSITIONS = 30522, 512


def tensors(width, layers, ffn):
    """Returns (name, shape) of every tensor."""
    norm = lambda name: [(f"{name}.LayerNorm.weight", [width]), (f"{name}.LayerNorm.bias", [width])]
    linear = lambda name, rows, columns: [(f"{name}.weight", [rows, columns]), (f"{name}.bias", [rows])]
    all = [("embeddings.word_embeddings.weight", [VOCAB, width]), ("embeddings.position_embeddings.weight", [POSITIONS, width]),
           ("embeddings.token_type_embeddings.weight", [2, width]), *norm("embeddings")]
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            all += linear(f"{name}.attention.self.{part}", width, width)
        all += linear(f"{name}.attention.output.dense", width, width) + norm(f"{name}.attention.output")
        all += linear(f"{name}.intermediate.dense", ffn, width) + linear(f"{name}.output.dense", width, ffn) + norm(f"{name}.output")
    return all


def write_encoder(folder, width, layers, heads, ffn):
    os.makedirs(folder, exist_ok=True)
    header, at = {}, 0
    for name, shape in tensors(width, layers, ffn):
        size = 4 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    dice = random.Random(1)
    noise = array.array("f", (dice.gauss(0, 0.02) for _ in range(1 << 20))).tobytes()
    with open(f"{folder}/model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for left in range(at, 0, -len(noise)):
            file.write(noise[:left])
    config = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": VOCAB, "hidden_size": width,
              "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": ffn, "hidden_act": "gelu",
              "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0}
    json.dump(config, open(f"{folder}/config.json", "w"))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as file:
        file.writelines(word + "\n" for word in words + [f"word{i}" for i in range(len(words), VOCAB)])


# ---- a translator ----

LAYERS, HEADS, WIDTH, HIDDEN, WORDS = 6, 8, 512, 2048, 32000


def write_translator(folder, quantization=None):
    import numpy
    from ctranslate2.specs import TransformerSpec
    dice = numpy.random.default_rng(1)

    def linear(spec, outputs, inputs):
        """Keeps the variance of what it multiplies, so that rounding errors are not amplified from layer to layer."""
        spec.weight = dice.normal(0, inputs ** -0.5, (outputs, inputs)).astype("float32")
        spec.bias = numpy.zeros(outputs, "float32")

    def norm(spec):
        spec.gamma, spec.beta = numpy.ones(WIDTH, "float32"), numpy.zeros(WIDTH, "float32")

    def attention(spec, *parts):
        for layer, factor in zip(spec.linear, parts):
            linear(layer, factor * WIDTH, WIDTH)
        norm(spec.layer_norm)

    def fill(side):
        table = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        table.weight = dice.normal(0, WIDTH ** -0.5, (WORDS, WIDTH)).astype("float32")
        for layer in side.layer:
            attention(layer.self_attention, 3, 1)
            if hasattr(layer, "attention"):
                attention(layer.attention, 1, 2, 1)
            linear(layer.ffn.linear_0, HIDDEN, WIDTH)
            linear(layer.ffn.linear_1, WIDTH, HIDDEN)
            norm(layer.ffn.layer_norm)
        norm(side.layer_norm)

    translator = TransformerSpec.from_config((LAYERS, LAYERS), HEADS)
    fill(translator.encoder)
    fill(translator.decoder)
    linear(translator.decoder.projection, WORDS, WIDTH)
    translator.config.add_source_eos = True
    names = ["<blank>", "<s>", "</s>", "<unk>"] + [f"\u2581t{i}" for i in range(WORDS - 4)]
    translator.register_source_vocabulary(names)
    translator.register_target_vocabulary(names)
    translator.validate()
    translator.optimize(quantization=quantization)
    os.makedirs(folder)
    translator.save(folder)


if len(sys.argv) in (3, 4) and sys.argv[1] == "encoder":
    write_encoder(sys.argv[2], *SHAPES[sys.argv[3] if len(sys.argv) > 3 else "large"])
elif len(sys.argv) in (3, 4) and sys.argv[1] == "translator":
    write_translator(*sys.argv[2:])
else:
    sys.exit(__doc__)
