"""m2m.py PROGRAM FOLDER LOGITS - makes random models of NLLB-200 and M2M-100 with transformers and compares logits, greedy
translations and beam search in double precision, and token ids. LOGITS is the program of logits.c; FOLDER has the beam search of
transformers 5.24, see hf_search.py."""
import json
import os
import sys

import hf_judge
import hf_search
import kit
import marian
import sentencepiece
import torch
import transformers
from transformers.models.m2m_100 import tokenization_m2m_100
from transformers.models.nllb import tokenization_nllb

program, folder, logits = sys.argv[1:4]
Search = hf_search.search_class(folder, True)
LIMIT = 24
SIZES = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.3, "dropout": 0.0, "max_position_embeddings": 128}
KINDS = {  # options of the model, languages as toy_translate is told and as transformers
    "nllb": ({"decoder_layers": 3}, ("English", "de"), ("eng_Latn", "deu_Latn")),
    "nllb_legacy": ({"scale_embedding": False, "activation_function": "gelu"}, ("deu_Latn", "french"), ("deu_Latn", "fra_Latn")),
    "m2m": ({"activation_function": "gelu_new"}, ("en", "German"), ("en", "de")),
}
TEXTS = ["", "  two  blanks ", "\u00dcber 12.5%", "zz", "a deu_Latn b", "eng_Latnx__de__ y", "\u3042\u3042", "__en____en_"]


def write_tokenizer(name):
    """Returns a tokenizer, which is saved with 150 pieces."""
    os.mkdir(name)
    pieces = hf_judge.write_pieces(f"{name}/sentencepiece.bpe.model")
    source, target = KINDS[name][2]
    if name == "m2m":
        model = sentencepiece.SentencePieceProcessor(model_file=pieces)
        known = [model.IdToPiece(i) for i in range(3, len(model)) if i % 10]  # some pieces are not in the vocabulary
        json.dump({word: i for i, word in enumerate(["<s>", "<pad>", "</s>", "<unk>", *known])}, open(f"{name}/vocab.json", "w"))
        tokenizer = transformers.M2M100Tokenizer(
            f"{name}/vocab.json", pieces, src_lang=source, tgt_lang=target,
            additional_special_tokens=[f"__{code}__" for code in tokenization_m2m_100.FAIRSEQ_LANGUAGE_CODES["m2m100"]])
    else:
        added = [*tokenization_nllb.FAIRSEQ_LANGUAGE_CODES, "<mask>"]  # in the order of the real models
        tokenizer = transformers.NllbTokenizer(
            pieces, src_lang=source, tgt_lang=target, legacy_behaviour=name == "nllb_legacy",
            added_tokens_decoder={151 + i: transformers.AddedToken(token, special=True, normalized=False) for i, token in enumerate(added)})
    tokenizer.save_pretrained(name)
    return tokenizer


def judge(name, lines):
    changes, languages, (_, target) = KINDS[name]
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(1)
    tokenizer = write_tokenizer(name)
    first = tokenizer.get_lang_id(target) if name == "m2m" else tokenizer.convert_tokens_to_ids(target)
    named = len(tokenizer.encoder) + 100 if name == "m2m" else len(tokenizer)  # rows with a name
    config = transformers.M2M100Config(vocab_size=named + 5, **{**SIZES, **changes})
    model = hf_judge.shaken(transformers.M2M100ForConditionalGeneration(config)).eval()
    model.generation_config.update(max_length=LIMIT, no_repeat_ngram_size=2, forced_eos_token_id=2)
    model.save_pretrained(name)
    torch.set_default_dtype(torch.float64)  # masks of double have no place in float
    model, forbidden = model.double(), [1, *range(named, named + 5)]
    inputs = tokenizer(lines, return_tensors="pt", padding=True)
    hidden = set(tokenizer.all_special_ids) - {tokenizer.mask_token_id}
    options = ("--source-lang", languages[0], "--target-lang", languages[1])
    hf_judge.judge((program, logits), name, Search(model), inputs, lambda ids: hf_judge.spelled(tokenizer, ids, hidden), forbidden,
                   LIMIT, first, options)
    hf_judge.scores(program, name, model, tokenizer, first, options)
    texts = TEXTS + hf_judge.real_lines()
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
