"""t5.py PROGRAM FOLDER LOGITS - makes random T5 models with transformers and compares logits, greedy translations and beam search
in double precision, and token ids. Settings that cannot be followed exactly must be refused by name. LOGITS is the program of
logits.c; FOLDER has the beam search of transformers 5.24, see hf_search.py."""
import json
import os
import shutil
import subprocess
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
    "mt5": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "d_kv": 4, "num_decoder_layers": 3},
}
TEXTS = ["translate English to German: the house", "", "  two  blanks ", "\u00dcber 12.5%", "zz", "a <extra_id_0> b<extra_id_99>c",
         "<extra_id_1> <extra_id_100> <extra_id_2>", "<extra_id_", "\u3042<extra_id_7>\u3042"]


def write_tokenizer(folder):
    """T5's ids: <pad> 0, </s> 1, <unk> 2, pieces, then the extra ids."""
    os.mkdir(folder)
    hf_judge.write_pieces(f"{folder}/spiece.model", " --pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1")
    return transformers.T5Tokenizer(vocab_file=f"{folder}/spiece.model", extra_ids=EXTRA, legacy=True)


def make(name, tokenizer):
    """Saves a random model, as transformers 5 writes it: each configuration says that the output matrix is tied."""
    torch.manual_seed(1)
    family = transformers.MT5ForConditionalGeneration if name == "mt5" else transformers.T5ForConditionalGeneration
    config = family.config_class(**{"vocab_size": len(tokenizer) + ROWS_WITHOUT_WORD, **SIZES, **KINDS[name]})
    model = hf_judge.shaken(family(config)).eval()
    model.generation_config.update(max_length=LIMIT, no_repeat_ngram_size=2, forced_eos_token_id=1)
    shutil.copytree("tokenizer", name)
    model.save_pretrained(name)
    settings = json.load(open(f"{name}/config.json", encoding="utf-8"))
    json.dump({**settings, "tie_word_embeddings": True}, open(f"{name}/config.json", "w", encoding="utf-8"))
    return model.double()


def judge(name, tokenizer, lines):
    model = make(name, tokenizer)
    inputs = tokenizer(lines, return_tensors="pt", padding=True)
    forbidden = [tokenizer.pad_token_id, *range(len(tokenizer), model.config.vocab_size)]
    hf_judge.judge((program, logits), name, Search(model), inputs, lambda ids: hf_judge.spelled(tokenizer, ids, {0, 1, 2}), forbidden,
                   LIMIT)


def refused(name, reason, **options):
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**{"vocab_size": 250, **SIZES, **options}))
    shutil.copytree("tokenizer", name)
    model.save_pretrained(name)
    done = subprocess.run([program, "info", "-m", name], capture_output=True, encoding="utf-8")
    if done.returncode == 0 or reason not in done.stderr:
        kit.fail(f"{name}: {done.stderr!r} does not say {reason!r}")


transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
torch.set_grad_enabled(False)
marian.corpus(program)
tokenizer = write_tokenizer("tokenizer")
lines = open("train.src", encoding="utf-8").read().splitlines()[:200]
open("lines", "w", encoding="utf-8").writelines(line + "\n" for line in lines)
for name in KINDS:
    judge(name, tokenizer, lines)
hf_judge.token_ids(program, "tied", TEXTS + lines, tokenizer(TEXTS + lines, add_special_tokens=False)["input_ids"])
refused("tanh", "feed_forward_proj is tanh", feed_forward_proj="tanh")
kit.end()
