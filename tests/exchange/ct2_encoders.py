"""ct2_encoders.py PROGRAM - converts random encoders of BERT, DistilBERT, RoBERTa and XLM-RoBERTa by CTranslate2's converter to
each type of numbers. Compares vectors of the folders with CTranslate2's Encoder, which computes in float32, and with
transformers in double precision. Those of a folder in float32 must have the bits of those of the folder that was converted."""
import os
import sys

import bert_judge
import ct2_converter
import ctranslate2
import hf_judge
import kit
import marian
import numpy
import torch
import transformers

program = sys.argv[1]
TEXTS = ["the cat sleeps .", "Unfriendly dogs, running!", "caf\u00e9 M\u00fcnchen 123", "\u4e2d\u6587 is it", "", "a", "the " * 50 + "end"]
TYPES = ["float32", "int8", "int16", "float16", "bfloat16", "int8_float32", "int8_float16"]
LAYERS, BATCH, LENGTH = 3, 16, 160
SIZES = {"hidden_size": 32, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": LENGTH, "layer_norm_eps": 1e-5}
PADDED = {**SIZES, "max_position_embeddings": LENGTH + 2, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
          "type_vocab_size": 1}
DISTIL = {"dim": 32, "n_layers": LAYERS, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": LENGTH}


def words(name):
    """Without the special tokens of MPNet, which stand for BERT's where a vocabulary has both."""
    with open(f"{name}/vocab.txt", "w", encoding="utf-8") as file:
        file.writelines(word + "\n" for word in dict.fromkeys(bert_judge.WORDS) if not word.startswith("<"))
    return transformers.BertTokenizerFast(f"{name}/vocab.txt")


FAMILIES = {  # configuration, its sizes, model, tokenizer, files of the tokenizer, rows of the table without a token
    "bert": (transformers.BertConfig, SIZES, transformers.BertModel, words, ["tokenizer.json"], 3),
    "distilbert": (transformers.DistilBertConfig, DISTIL, transformers.DistilBertModel, words, ["vocab.txt", "tokenizer_config.json"], 0),
    "roberta": (transformers.RobertaConfig, PADDED, transformers.RobertaModel, bert_judge.merges, ["vocab.json", "merges.txt"], 0),
    "xlm": (transformers.XLMRobertaConfig, PADDED, transformers.XLMRobertaModel, bert_judge.pieces,
            ["sentencepiece.bpe.model"], 0),
}


def theirs(folder, ids):
    """Returns the mean of the rows of each text, by CTranslate2. Texts of a batch are padded there."""
    encoder = ctranslate2.Encoder(folder, device="cpu", compute_type="float32", intra_threads=1)
    means = []
    for first in range(0, len(ids), BATCH):
        some = ids[first:first + BATCH]
        rows = numpy.array(encoder.forward_batch(some).last_hidden_state).astype("float64")
        means += [rows[n, :len(text)].mean(0).tolist() for n, text in enumerate(some)]
    return means


def convert(name, tokenizer, files, kind):
    """Returns a folder that has the files of the tokenizer, except for bfloat16, whose folder is in that of the model."""
    inner = kind == "bfloat16"
    folder = f"{name}/ct2" if inner else f"{name}.{kind}"
    converter = ct2_converter.Converter(name, tokenizer, files=None if inner else files)
    return converter.convert(folder, quantization=None if kind == "float32" else kind)


def judge(name, texts):
    config, sizes, kind, make, files, more = FAMILIES[name]
    os.mkdir(name)
    tokenizer = make(name)
    model = bert_judge.shaken(kind(config(vocab_size=len(tokenizer) + more, **sizes)))
    model.save_pretrained(name)
    tokenizer.save_pretrained(name)
    if make is words:
        os.remove(f"{name}/tokenizer.json" if "vocab.txt" in files else f"{name}/vocab.txt")
    ids = [tokenizer(text, truncation=True, max_length=LENGTH)["input_ids"] for text in texts]
    folders = {numbers: convert(name, tokenizer, files, numbers) for numbers in TYPES}
    ours = {numbers: bert_judge.embedded(program, folder, texts, "--precision", "f32") for numbers, folder in folders.items()}
    model = model.double()
    wanted = [model(torch.tensor([one])).last_hidden_state[0].mean(0).tolist() for one in ids]
    bert_judge.compare(f"{name}, transformers", ours["float32"], wanted, LAYERS)
    if ours["float32"] != bert_judge.embedded(program, name, texts, "--precision", "f32"):
        kit.fail(f"{name}: the folder that was converted gives other vectors")
    # Each program may be off by the rounding errors of a float pass.
    for numbers, folder in folders.items():
        bert_judge.compare(folder, ours[numbers], theirs(folder, ids), 4 * LAYERS)


transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
torch.set_grad_enabled(False)
marian.corpus(program)
lines = TEXTS + hf_judge.real_lines() + hf_judge.random_lines(500)
for family in FAMILIES:
    judge(family, lines)
os.remove("bert.int8/tokenizer.json")
kit.refused(program, "bert.int8", "its vocabulary has no rules for splitting texts; copy tokenizer.json")
kit.end()
