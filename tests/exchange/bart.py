"""bart.py PROGRAM FOLDER LOGITS - makes random models of BART, mBART-25 and mBART-50 with transformers and compares logits, greedy translations
and beam search in double precision, and token ids. LOGITS is the program of logits.c; FOLDER has the beam search of transformers 5.24, see
hf_search.py."""
import json
import os
import sys

import hf_judge
import hf_search
import kit
import marian
import tokenizers
import torch
import transformers

program, folder, logits = sys.argv[1:4]
Search = hf_search.search_class(folder, True)
LIMIT = 24
SIZES = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.3, "dropout": 0.0, "max_position_embeddings": 128,
         "decoder_start_token_id": 2}
KINDS = {  # options of the model, languages as toy_translate is told and as transformers
    "mbart": ({"decoder_layers": 3, "scale_embedding": True}, ("English", "de"), ("en_XX", "de_DE")),
    "mbart_relu": ({"activation_function": "relu"}, ("de_DE", "french"), ("de_DE", "fr_XX")),
    "mbart_to_one": ({"scale_embedding": True}, ("cs", None), ("cs_CZ", "en_XX")),
    "mbart25": ({"scale_embedding": True}, ("cs_CZ", "english"), ("cs_CZ", "en_XX")),  # the decoder starts with the language
    "mbart25_to_one": ({"decoder_layers": 3}, ("de", None), ("de_DE", "ro_RO")),
    "bart": ({"decoder_layers": 3}, (None, None), (None, "<s>")),  # forced, as in models that write summaries
    "bart_free": ({"scale_embedding": True, "activation_function": "gelu_new"}, (None, None), (None, None)),
}
BYTES = ["", " ", "  two  blanks ", "tab\tand\u2003em\u00a0space\u2028x", "I'll we've 'tis it's 'S'", "a<mask> b <mask></s><pad>x <unk>",
         "12345 \u00bd\u0663 x1y", "\U0001f600 e\u0301\u0301 \u3042\u3042\uac00", "x" * 300 + " " * 40 + "y" + " " * 40]
TEXTS = ["", "  two  blanks ", "\u00dcber 12.5%", "zz", "a de_DE b", "en_XXx", "\u3042\u3042", "en_US zh_CN"]


def write_tokenizer(name):
    """Returns a tokenizer, which is saved with 150 pieces."""
    os.mkdir(name)
    source, target = KINDS[name][2]
    if not name.startswith("mbart"):
        return write_merges(name)
    pieces = hf_judge.write_pieces(f"{name}/sentencepiece.bpe.model")
    kind = transformers.MBartTokenizer if name.startswith("mbart25") else transformers.MBart50Tokenizer
    tokenizer = kind(pieces, src_lang=source, tgt_lang=target)
    tokenizer.save_pretrained(name)
    return tokenizer


def write_merges(name):
    """Returns a byte-level tokenizer, which is saved with 150 merges at most."""
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train(["train.src", "train.trg"], vocab_size=411, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                  show_progress=False)
    trained.save_model(name)
    tokenizer = transformers.BartTokenizerFast(f"{name}/vocab.json", f"{name}/merges.txt", add_prefix_space=name == "bart_free")
    json.dump({"add_prefix_space": name == "bart_free"}, open(f"{name}/tokenizer_config.json", "w"))
    return tokenizer


def spelled(tokenizer, ids, hidden):
    """Returns the text of generated ids without special tokens."""
    if not isinstance(tokenizer, transformers.BartTokenizerFast):
        return hf_judge.spelled(tokenizer, ids, hidden)
    return hf_judge.byte_text(tokenizer.convert_ids_to_tokens([i for i in ids.tolist() if i not in hidden]))


def judge(name, lines):
    changes, (source, target), (_, wanted) = KINDS[name]
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(1)
    tokenizer = write_tokenizer(name)
    first, named = wanted and tokenizer.convert_tokens_to_ids(wanted), len(tokenizer)
    family = transformers.MBartForConditionalGeneration if name.startswith("mbart") else transformers.BartForConditionalGeneration
    if name.startswith("mbart25"):
        changes, first = {**changes, "decoder_start_token_id": first}, None
    model = hf_judge.shaken(family(family.config_class(vocab_size=named + 5, **{**SIZES, **changes}))).eval()
    model.final_logits_bias.normal_(std=0.3)
    model.generation_config.update(max_length=LIMIT, no_repeat_ngram_size=2, forced_eos_token_id=2,
                                   forced_bos_token_id=None if target else first)
    model.save_pretrained(name)
    torch.set_default_dtype(torch.float64)  # masks of double have no place in float
    model, forbidden = model.double(), [1, *range(named, named + 5)]
    inputs = tokenizer(lines, return_tensors="pt", padding=True)
    hidden = set(tokenizer.all_special_ids) - {tokenizer.mask_token_id}
    options = (*(("--source-lang", source) if source else ()), *(("--target-lang", target) if target else ()))
    hf_judge.judge((program, logits), name, Search(model), inputs, lambda ids: spelled(tokenizer, ids, hidden), forbidden, LIMIT, first,
                   options)
    hf_judge.scores(program, name, model, tokenizer, first, options)
    texts = TEXTS + hf_judge.real_lines()
    if not source:
        texts += BYTES + hf_judge.random_lines(20000)
    hf_judge.token_ids(program, name, texts, tokenizer(texts, add_special_tokens=False)["input_ids"])


transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
torch.set_grad_enabled(False)
marian.corpus(program)
lines = open("train.src", encoding="utf-8").read().splitlines()[:200]
open("lines", "w", encoding="utf-8").writelines(line + "\n" for line in lines)
for name in KINDS:
    judge(name, lines)
kit.end()
