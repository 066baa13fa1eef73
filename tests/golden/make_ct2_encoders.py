"""Makes ct2_encoders.txt: vectors of CTranslate2 for folders of encoders that its converter writes from random models of
transformers. Each folder becomes a seed of the fuzz target import, in the form of fuzz/import.c, from which
tests/import/ct2_encoder.c writes it again.

    mkdir seeds && build/engines/python/bin/python make_ct2_encoders.py seeds > ct2_encoders.txt
    sh ../fuzz/fuzz.sh seeds import seeds               (an environment with ctranslate2 4.8, transformers 4.40 and torch)
"""
import os
import struct
import sys
import tempfile

sys.path.insert(0, f"{os.path.dirname(os.path.abspath(__file__))}/../exchange")
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import ct2_converter
import ctranslate2
import numpy
import tokenizers
import torch
import transformers

from drawn import drawn, record

LENGTH = 20
SIZES = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12, "layer_norm_eps": 1e-5}
DISTIL = {"dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 12, "max_position_embeddings": LENGTH}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "##s", "!"]
TEXTS = ["the cats!", "a", ""]
NUMBER_OF = {"model.bin": 0, "config.json": 1, "tokenizer.json": 17, "vocabulary.json": 24}  # names of fuzz/import.c


def words():
    tokenizer = tokenizers.BertWordPieceTokenizer({word: i for i, word in enumerate(WORDS)})
    return transformers.BertTokenizerFast(tokenizer_object=tokenizer._tokenizer)


def pairs():
    names = ["<s>", "<pad>", "</s>", "<unk>", *sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()), "th", "the", "\u0120c", "<mask>"]
    tokenizer = tokenizers.ByteLevelBPETokenizer({name: i for i, name in enumerate(names)}, [("t", "h"), ("th", "e"), ("\u0120", "c")])
    tokenizer.add_special_tokens([names[i] for i in (0, 1, 2, 3, -1)])
    tokenizer._tokenizer.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False)
    return transformers.RobertaTokenizerFast(tokenizer_object=tokenizer._tokenizer)


MODELS = {  # model, sizes, tokenizer, rows without a token, type of numbers
    "bert": (transformers.BertModel, {"max_position_embeddings": LENGTH, **SIZES}, words, 2, "int8"),
    "distilbert": (transformers.DistilBertModel, DISTIL, words, 0, None),
    "roberta": (transformers.RobertaModel, {"max_position_embeddings": LENGTH + 2, "type_vocab_size": 1, **SIZES}, pairs, 0, "bfloat16"),
}


def make(name):
    kind, sizes, tokenize, more, numbers = MODELS[name]
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


torch.set_default_dtype(torch.float32)  # of models that are loaded; drawn.py sets another
seeds = os.path.realpath(sys.argv[1])
os.chdir(tempfile.mkdtemp())
for name in MODELS:
    seed(make(name), f"{seeds}/ct2-{name}")
