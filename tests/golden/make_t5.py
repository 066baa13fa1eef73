"""Makes t5.txt: the logits of transformers for the models that tests/import/hf_t5.c writes as folders, in double precision.

    build/engines/python/bin/python make_t5.py > t5.txt        (an environment with transformers 4.40 and torch)

A model begins with a line "case model NAME", followed by its config.json, and a line "case tensor NAME SIZES" for each tensor of
its file. Values are not stored, since both sides compute them with the same formula.
"""
import json
import os

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch
import transformers

from drawn import drawn, record

SIZES = {"vocab_size": 14, "d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 2,
         "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20, "decoder_start_token_id": 0}
MODELS = {
    "tied": {},
    "untied": {"tie_word_embeddings": False, "relative_attention_num_buckets": 6, "layer_norm_epsilon": 0.01},
    "unscaled": {"tie_word_embeddings": False, "num_layers": 1, "num_decoder_layers": 1},
    "gated": {"tie_word_embeddings": False, "feed_forward_proj": "gated-silu", "num_decoder_layers": 1},
    "v1_1": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "d_kv": 3, "num_decoder_layers": 2},
    "wide": {"d_kv": 7, "num_heads": 3, "num_layers": 1, "num_decoder_layers": 1, "feed_forward_proj": "gelu"},
    "madlad": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "num_layers": 1, "num_decoder_layers": 1,
               "pad_token_id": 1, "eos_token_id": 2},
    "byt5": {"vocab_size": 262, "tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "num_layers": 1,
             "num_decoder_layers": 1},
}
SOURCES = [[5, 3, 7, 1], [1], [number % 10 + 2 for number in range(0, 90, 3)]]
TARGETS = [[0, 6, 4], [0], [0, 9, 3, 3, 8, 2, 4, 5, 6, 7, 11, 10]]


def draw(name, model):
    """Draws the tensors and returns the names of those that the file has. The output matrix of the model "unscaled" has the
    values of the embeddings, but its logits are not scaled as those of tied models are."""
    names = [key for key in model.state_dict() if "embed_tokens" not in key and key != "lm_head.weight"]
    for key in names:
        value = model.state_dict()[key]
        value.copy_(drawn(key, *value.shape) + key.endswith("norm.weight"))
    if name == "unscaled":
        model.lm_head.weight.copy_(model.shared.weight)
    elif not model.config.tie_word_embeddings:
        model.lm_head.weight.copy_(drawn("lm_head.weight", *model.lm_head.weight.shape))
        names.append("lm_head.weight")
    return names


def announce(name, options, model):
    """Prints the settings and tensors of a model. Models with an output matrix of their own say that it is tied, as
    transformers 5 writes them."""
    settings = {"model_type": "t5", **SIZES, **options, "tie_word_embeddings": name != "unscaled"}
    print("case model", name, json.dumps(settings, separators=(",", ":")))
    for key in draw(name, model):
        print("case tensor", key, *model.state_dict()[key].shape)


torch.set_grad_enabled(False)
for name, options in MODELS.items():
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**{**SIZES, **options})).double().eval()
    announce(name, options, model)
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS)):
        out = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]))
        record(f"{name}.source.{number}", source)
        record(f"{name}.target.{number}", target)
        record(f"{name}.logits.{number}", out.logits)
