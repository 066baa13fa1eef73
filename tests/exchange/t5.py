"""t5.py PROGRAM FOLDER LOGITS - makes random T5 models with transformers and compares logits, greedy translations and beam search
in double precision, and token ids. Settings that cannot be followed exactly must be refused by name. LOGITS is the program of
logits.c; FOLDER has the beam search of transformers 5.24, see hf_search.py."""
import json
import os
import shutil
import sys

import hf_judge
import hf_search
import kit
import marian
import torch
import transformers

program, folder, logits = sys.argv[1:4]
Search = hf_search.search_class(folder, True)
EXTRA, ROWS_WITHOUT_WORD, LIMIT = 100, 6, 24
SIZES = {"d_model": 32, "num_heads": 4, "d_kv": 8, "d_ff": 48, "num_layers": 2, "relative_attention_num_buckets": 8,
         "relative_attention_max_distance": 20, "dropout_rate": 0.0, "decoder_start_token_id": 0}
KINDS = {
    "tied": {"num_decoder_layers": 3},
    "untied": {"tie_word_embeddings": False, "num_layers": 3, "num_heads": 2, "d_kv": 16},
    "gated": {"tie_word_embeddings": False, "feed_forward_proj": "gated-silu"},
    "v1_1": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "d_kv": 12, "num_heads": 3},
    "madlad": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "pad_token_id": 1, "eos_token_id": 2},
    # With its usual initial values, floats of PyTorch are not within the limit of logits either.
    "byt5": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "num_layers": 3, "initializer_factor": 0.5},
    "mt5": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "d_kv": 4, "num_decoder_layers": 3},
}
TEXTS = ["translate English to German: the house", "", "  two  blanks ", "\u00dcber 12.5%", "zz", "a <extra_id_0> b<extra_id_99>c",
         "<extra_id_1> <extra_id_100> <extra_id_2>", "<extra_id_", "\u3042<extra_id_7>\u3042"]


def write_tokenizer(name):
    """T5's ids: <pad> 0, </s> 1, <unk> 2, pieces, then the extra ids. MADLAD-400 has <unk> 0, <s> 1, </s> 2 and no extra ids."""
    os.mkdir(name)
    if name == "byt5":
        tokenizer = transformers.ByT5Tokenizer()
        tokenizer.save_pretrained(name)
        return tokenizer
    ids = " --unk_id=0 --bos_id=1 --eos_id=2 --user_defined_symbols=<2de>,<2en>" if name == "madlad" else \
        " --pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1"
    hf_judge.write_pieces(f"{name}/spiece.model", ids)
    if name == "madlad":
        json.dump({"extra_ids": 0}, open(f"{name}/tokenizer_config.json", "w"))
        return transformers.T5Tokenizer(vocab_file=f"{name}/spiece.model", extra_ids=0, legacy=True, pad_token="<s>")
    return transformers.T5Tokenizer(vocab_file=f"{name}/spiece.model", extra_ids=EXTRA, legacy=True)


def spelled(tokenizer, ids):
    """Returns the text of generated ids without special tokens."""
    if not isinstance(tokenizer, transformers.ByT5Tokenizer):
        return hf_judge.spelled(tokenizer, ids, {0, 1, 2})
    return hf_judge.shown(b"".join(bytes([i - 3]) if i < 259 else tokenizer.convert_ids_to_tokens(i).encode() for i in ids.tolist() if i > 2))


def make(name, tokenizer):
    """Saves a random model, as transformers 5 writes it: each configuration says that the output matrix is tied."""
    torch.manual_seed(1)
    family = transformers.MT5ForConditionalGeneration if name == "mt5" else transformers.T5ForConditionalGeneration
    config = family.config_class(**{"vocab_size": len(tokenizer) + ROWS_WITHOUT_WORD, **SIZES, **KINDS[name]})
    model = hf_judge.shaken(family(config)).eval()
    model.generation_config.update(max_length=LIMIT, no_repeat_ngram_size=2, forced_eos_token_id=tokenizer.eos_token_id)
    model.save_pretrained(name)
    settings = json.load(open(f"{name}/config.json", encoding="utf-8"))
    json.dump({**settings, "tie_word_embeddings": True}, open(f"{name}/config.json", "w", encoding="utf-8"))
    return model.double()


def judge(name, lines):
    tokenizer = write_tokenizer(name)
    model = make(name, tokenizer)
    inputs = tokenizer(lines, return_tensors="pt", padding=True)
    nameless = list(range(len(tokenizer), model.config.vocab_size))
    hf_judge.judge((program, logits), name, Search(model), inputs, lambda ids: spelled(tokenizer, ids),
                   nameless if name == "madlad" else [tokenizer.pad_token_id, *nameless], LIMIT)
    texts = {"tied": TEXTS + lines, "madlad": ["<2de> the house", "a<2en>b <2de>"] + lines,
             "byt5": TEXTS + hf_judge.random_lines(5000)}.get(name, [])
    if texts:
        hf_judge.token_ids(program, name, texts, tokenizer(texts, add_special_tokens=False)["input_ids"])


def refused(name, reason, **options):
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**{"vocab_size": 250, **SIZES, **options}))
    shutil.copytree("tied", name)
    model.save_pretrained(name)
    kit.refused(program, name, reason)


transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
torch.set_grad_enabled(False)
marian.corpus(program)
lines = open("train.src", encoding="utf-8").read().splitlines()[:200]
open("lines", "w", encoding="utf-8").writelines(line + "\n" for line in lines)
for name in KINDS:
    judge(name, lines)
refused("tanh", "feed_forward_proj is tanh", feed_forward_proj="tanh")
kit.end()
