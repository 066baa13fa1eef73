"""random_encoder.py FOLDER [SIZE] - writes a folder of Hugging Face with a BERT of random weights, for perf_load --model. SIZE:
large, a file of 600 MB (the default), minilm, the shape of all-MiniLM-L6, or tiny, for tests. Needs nothing but Python."""
import array
import json
import os
import random
import sys

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


def write(folder, width, layers, heads, ffn):
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


write(sys.argv[1], *SHAPES[sys.argv[2] if len(sys.argv) > 2 else "large"])
