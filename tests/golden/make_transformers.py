"""Makes the results of transformers and CTranslate2 that tests/import compares with: CASE.txt for each CASE.

    build/engines/python/bin/python make_transformers.py t5 > t5.txt       (an environment with transformers 4.40 and torch)
    build/engines/python/bin/python make_transformers.py bart > bart.txt
    build/engines/python/bin/python make_transformers.py m2m > m2m.txt
    mkdir seeds && build/engines/python/bin/python make_transformers.py ct2_encoders seeds > ct2_encoders.txt   (ctranslate2 4.8, too)
    sh ../fuzz/fuzz.sh seeds import seeds

t5, bart and m2m are logits for the models that tests/import/hf_t5.c, hf_bart.c and hf_m2m.c write as folders, in double precision. A
model begins with a line "case model NAME", followed by its config.json, and a line "case tensor NAME SIZES" for each tensor of its
file. Values are not stored, since both sides compute them with the same formula.

ct2_encoders are vectors of CTranslate2 for folders of encoders that its converter writes from random models of transformers. Each
folder becomes a seed of the fuzz target import, in the form of fuzz/import.c, from which tests/import/ct2_encoder.c writes it
again.
"""
import json
import os
import struct
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import numpy
import torch
import transformers

from drawn import drawn, record


def draw(model):
    """Draws the tensors, of which shared tables have one name, and returns their names."""
    names = [key for key in model.state_dict() if "embed_tokens" not in key and key != "lm_head.weight"]
    for key in names:
        value = model.state_dict()[key]
        value.copy_(drawn(key, *value.shape) + key.endswith("norm.weight"))
    return names


def announce(name, settings, names, model):
    """Prints the settings and tensors of a model."""
    print("case model", name, json.dumps(settings, separators=(",", ":")))
    for key in names:
        print("case tensor", key, *model.state_dict()[key].shape)


def record_logits(name, model, sources, targets):
    for number, (source, target) in enumerate(zip(sources, targets)):
        out = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]))
        record(f"{name}.source.{number}", source)
        record(f"{name}.target.{number}", target)
        record(f"{name}.logits.{number}", out.logits)


# ---- t5 ----

T5_SIZES = {"vocab_size": 14, "d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 2,
         "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20, "decoder_start_token_id": 0}
T5 = {
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
T5_SOURCES = [[5, 3, 7, 1], [1], [number % 10 + 2 for number in range(0, 90, 3)]]
T5_TARGETS = [[0, 6, 4], [0], [0, 9, 3, 3, 8, 2, 4, 5, 6, 7, 11, 10]]


def draw_t5(name, model):
    """Draws the tensors and returns the names of those that the file has. The output matrix of the model "unscaled" has the
    values of the embeddings, but its logits are not scaled as those of tied models are."""
    names = draw(model)
    if name == "unscaled":
        model.lm_head.weight.copy_(model.shared.weight)
    elif not model.config.tie_word_embeddings:
        model.lm_head.weight.copy_(drawn("lm_head.weight", *model.lm_head.weight.shape))
        names.append("lm_head.weight")
    return names


def t5():
    """Models with an output matrix of their own say that it is tied, as transformers 5 writes them."""
    for name, options in T5.items():
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(**{**T5_SIZES, **options})).double().eval()
        settings = {"model_type": "t5", **T5_SIZES, **options, "tie_word_embeddings": name != "unscaled"}
        announce(name, settings, draw_t5(name, model), model)
        record_logits(name, model, T5_SOURCES, T5_TARGETS)


# ---- bart, m2m ----

SIZES = {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
         "encoder_ffn_dim": 12, "decoder_ffn_dim": 12, "max_position_embeddings": 40}
BART = {
    "mbart": {"scale_embedding": True, "encoder_layers": 2, "decoder_layers": 2},
    "mbart_relu": {"activation_function": "relu"},
    "bart": {"vocab_size": 280, "encoder_layers": 2, "decoder_layers": 2},
    "bart_scaled": {"vocab_size": 280, "scale_embedding": True, "activation_function": "gelu_new"},
}
M2M = {
    "scaled": {},
    "plain": {"scale_embedding": False, "activation_function": "gelu", "encoder_layers": 2, "decoder_layers": 2},
}


def sources_of(tokens):
    """Returns sources of a vocabulary of `tokens` tokens after the first four."""
    return [[9, 5, 3, 7, 2], [2], [number % tokens + 4 for number in range(0, 90, 3)]]


def family(models, kind_of, sizes, tokens):
    """kind_of: returns the class and the model_type of a model by its name."""
    for name, options in models.items():
        kind, model_type = kind_of(name)
        model = kind(kind.config_class(**{**sizes, **options})).double().eval()
        announce(name, {"model_type": model_type, **sizes, **options}, draw(model), model)
        record_logits(name, model, sources_of(tokens), [[2, 10], [2], [2, 9, 3]])


def bart():
    kinds = {"bart": transformers.BartForConditionalGeneration, "mbart": transformers.MBartForConditionalGeneration}
    family(BART, lambda name: (kinds[name.split("_")[0]], name.split("_")[0]),
           {"vocab_size": 64, **SIZES, "decoder_start_token_id": 2}, 58)


def m2m():
    family(M2M, lambda name: (transformers.M2M100ForConditionalGeneration, "m2m_100"), {"vocab_size": 213, **SIZES}, 200)


# ---- ct2_encoders ----

LENGTH = 20
ENCODER = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12, "layer_norm_eps": 1e-5}
DISTIL = {"dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 12, "max_position_embeddings": LENGTH}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "##s", "!"]
TEXTS = ["the cats!", "a", ""]
NUMBER_OF = {"model.bin": 0, "config.json": 1, "tokenizer.json": 17, "vocabulary.json": 24}  # names of fuzz/import.c


def words():
    import tokenizers
    tokenizer = tokenizers.BertWordPieceTokenizer({word: i for i, word in enumerate(WORDS)})
    return transformers.BertTokenizerFast(tokenizer_object=tokenizer._tokenizer)


def pairs():
    import tokenizers
    names = ["<s>", "<pad>", "</s>", "<unk>", *sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()), "th", "the", "\u0120c", "<mask>"]
    tokenizer = tokenizers.ByteLevelBPETokenizer({name: i for i, name in enumerate(names)}, [("t", "h"), ("th", "e"), ("\u0120", "c")])
    tokenizer.add_special_tokens([names[i] for i in (0, 1, 2, 3, -1)])
    tokenizer._tokenizer.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False)
    return transformers.RobertaTokenizerFast(tokenizer_object=tokenizer._tokenizer)


ENCODERS = {  # model, sizes, tokenizer, rows without a token, type of numbers
    "bert": (transformers.BertModel, {"max_position_embeddings": LENGTH, **ENCODER}, words, 2, "int8"),
    "distilbert": (transformers.DistilBertModel, DISTIL, words, 0, None),
    "roberta": (transformers.RobertaModel, {"max_position_embeddings": LENGTH + 2, "type_vocab_size": 1, **ENCODER}, pairs, 0, "bfloat16"),
}


def convert(name):
    import ct2_converter
    import ctranslate2
    kind, sizes, tokenize, more, numbers = ENCODERS[name]
    tokenizer = tokenize()
    model = kind(kind.config_class(vocab_size=len(tokenizer) + more, **sizes)).eval()
    for key, value in model.named_parameters():
        value.data.copy_(drawn(key, *value.shape) + key.endswith("orm.weight"))
    model.save_pretrained(name)
    tokenizer.save_pretrained(name)
    folder = ct2_converter.Converter(name, tokenizer, {}, ["tokenizer.json"]).convert(f"{name}.ct2", quantization=numbers)
    encoder = ctranslate2.Encoder(folder, device="cpu", compute_type="float32")
    for number, text in enumerate(TEXTS):
        rows = numpy.array(encoder.forward_batch([tokenizer(text)["input_ids"]]).last_hidden_state)[0]
        record(f"{name}.{number}", rows.astype("float64").mean(0))
    return folder


def seed(folder, path):
    with open(path, "wb") as out:
        for name, number in NUMBER_OF.items():
            data = open(f"{folder}/{name}", "rb").read()
            out.write(struct.pack("<BI", number, len(data)) + data)


def ct2_encoders():
    sys.path.insert(0, f"{os.path.dirname(os.path.abspath(__file__))}/../exchange")
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)  # of models that are loaded; drawn.py sets another
    seeds = os.path.realpath(sys.argv[2])
    os.chdir(tempfile.mkdtemp())
    for name in ENCODERS:
        seed(convert(name), f"{seeds}/ct2-{name}")


torch.set_grad_enabled(False)
{case.__name__: case for case in (t5, bart, m2m, ct2_encoders)}[sys.argv[1]]()
