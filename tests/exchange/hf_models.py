"""hf_models.py - trains MarianMT models with transformers and saves them; shared by the scripts beside it."""
import json
import os
import shutil

import marian
import sentencepiece
import torch
import transformers

POSITIONS = 512
KINDS = {
    "swish": {"activation_function": "swish", "scale_embedding": True},
    "relu": {"activation_function": "relu", "scale_embedding": True, "encoder_layers": 3, "decoder_layers": 1},
    "gelu": {"activation_function": "gelu", "scale_embedding": True, "normalize_embedding": False},
}


def write_tokenizer(folder):
    """Writes two SentencePiece models and the ids of all their pieces, as OPUS-MT has them."""
    names = ["</s>", "<unk>"]
    for side, text in (("source", "train.src"), ("target", "train.trg")):
        sentencepiece.SentencePieceTrainer.Train(f"--input={text} --model_prefix={side} --vocab_size=120 --minloglevel=2")
        shutil.move(f"{side}.model", f"{folder}/{side}.spm")
        pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/{side}.spm")
        names += [piece for piece in map(pieces.IdToPiece, range(len(pieces))) if piece not in (*names, "<s>")]
    names.append("<pad>")
    json.dump({name: number for number, name in enumerate(names)}, open(f"{folder}/vocab.json", "w"))
    json.dump({"source_lang": "en", "target_lang": "de"}, open(f"{folder}/tokenizer_config.json", "w"))


def make(kind, tokenizer, steps=150):
    torch.manual_seed(1)
    pad = tokenizer.pad_token_id
    config = transformers.MarianConfig(**{
        "vocab_size": len(tokenizer), "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.06, "dropout": 0,
        "max_position_embeddings": POSITIONS, "pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0,
        "forced_eos_token_id": 0, "bad_words_ids": [[pad]], "max_length": POSITIONS, **KINDS[kind]})
    model = transformers.MarianMTModel(config)
    train(model, tokenizer, steps)
    return model.eval()


def train(model, tokenizer, steps, batch=16):
    model.final_logits_bias.normal_(std=0.1)  # OPUS-MT's is not 0 either
    optimizer = torch.optim.Adam(model.parameters(), lr=0.004)
    pairs = [line.rstrip("\n").split("\t") for line in open("train.tsv", encoding="utf-8")]
    for step in range(steps):
        sources, targets = zip(*(pairs[i % len(pairs)] for i in range(step * batch, (step + 1) * batch)))
        inputs = tokenizer(list(sources), text_target=list(targets), return_tensors="pt", padding=True)
        inputs["labels"][inputs["labels"] == tokenizer.pad_token_id] = -100
        model(**inputs).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def save(model, folder, **options):
    shutil.copytree("tokenizer", folder)
    model.save_pretrained(folder, **options)
    return folder


def prepare(program, count):
    """Writes the corpus and a tokenizer; returns the tokenizer and the first sources, which the file lines holds, too."""
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    marian.corpus(program)
    os.mkdir("tokenizer")
    write_tokenizer("tokenizer")
    lines = open("pairs.src", encoding="utf-8").read().splitlines()[:count]
    open("lines", "w", encoding="utf-8").writelines(line + "\n" for line in lines)
    return transformers.MarianTokenizer.from_pretrained("tokenizer"), lines
