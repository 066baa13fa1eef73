"""Makes bart.txt: the logits of transformers for the models that tests/import/hf_bart.c writes as folders, in double precision.

    build/engines/python/bin/python make_bart.py > bart.txt        (an environment with transformers 4.40 and torch)

The form of the file is that of t5.txt, see make_t5.py.
"""
import json
import os

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch
import transformers

from drawn import drawn, record

SIZES = {"vocab_size": 64, "d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
         "decoder_attention_heads": 2, "encoder_ffn_dim": 12, "decoder_ffn_dim": 12, "max_position_embeddings": 40,
         "decoder_start_token_id": 2}
MODELS = {
    "mbart": {"scale_embedding": True, "encoder_layers": 2, "decoder_layers": 2},
    "mbart_relu": {"activation_function": "relu"},
    "bart": {"vocab_size": 280, "encoder_layers": 2, "decoder_layers": 2},
    "bart_scaled": {"vocab_size": 280, "scale_embedding": True, "activation_function": "gelu_new"},
}
SOURCES = [[9, 5, 3, 7, 2], [2], [number % 58 + 4 for number in range(0, 90, 3)]]
TARGETS = [[2, 10], [2], [2, 9, 3]]


def draw(model):
    """Draws the tensors, of which shared tables have one name, and returns their names."""
    names = [key for key in model.state_dict() if "embed_tokens" not in key and key != "lm_head.weight"]
    for key in names:
        value = model.state_dict()[key]
        value.copy_(drawn(key, *value.shape) + key.endswith("norm.weight"))
    return names


torch.set_grad_enabled(False)
for name, options in MODELS.items():
    family = name.split("_")[0]
    kind = {"bart": transformers.BartForConditionalGeneration, "mbart": transformers.MBartForConditionalGeneration}[family]
    model = kind(kind.config_class(**{**SIZES, **options})).double().eval()
    print("case model", name, json.dumps({"model_type": family, **SIZES, **options}, separators=(",", ":")))
    for key in draw(model):
        print("case tensor", key, *model.state_dict()[key].shape)
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS)):
        out = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]))
        record(f"{name}.source.{number}", source)
        record(f"{name}.target.{number}", target)
        record(f"{name}.logits.{number}", out.logits)
