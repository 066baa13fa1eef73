"""encoder_decoders.py - makes random encoder-decoders with transformers and compares logits, greedy translations and beam search in
double precision, and token ids:

    bart  BART, mBART-25 and mBART-50
    m2m   NLLB-200 and M2M-100
    t5    T5, mT5, ByT5 and MADLAD-400; settings that cannot be followed exactly must be refused by name

LOGITS is the program of logits.c; ENGINES has the beam search of transformers 5.24, see hf_search.py."""
import json
import os
import shutil
import sys

import hf_judge
import hf_search
import kit
import sentencepiece
import torch
import transformers
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M_LANGUAGES

program, engines, logits = sys.argv[1:4]
Search = hf_search.search_class(engines, True)
LIMIT = 24
SIZES = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.3, "dropout": 0.0, "max_position_embeddings": 128,
         "decoder_start_token_id": 2}


def test_bart():
    lines = hf_judge.prepare(program, 200)
    for name in BART:
        judge_bart(name, lines)


def test_m2m():
    lines = hf_judge.prepare(program, 200)
    for name in M2M:
        judge_m2m(name, lines)


def test_t5():
    lines = hf_judge.prepare(program, 200)
    for name in T5:
        judge_t5(name, lines)
    refused_t5("tanh", "feed_forward_proj is tanh", feed_forward_proj="tanh")


# ---- BART, mBART-25, mBART-50 ----

BART = {  # options of the model, languages as toy_translate is told and as transformers
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
BART_TEXTS = ["", "  two  blanks ", "\u00dcber 12.5%", "zz", "a de_DE b", "en_XXx", "\u3042\u3042", "en_US zh_CN"]


def bart_tokenizer(name):
    """Returns a tokenizer, which is saved with 150 pieces."""
    os.mkdir(name)
    source, target = BART[name][2]
    if not name.startswith("mbart"):
        return byte_tokenizer(name)
    pieces = hf_judge.write_pieces(f"{name}/sentencepiece.bpe.model")
    kind = transformers.MBartTokenizer if name.startswith("mbart25") else transformers.MBart50Tokenizer
    tokenizer = kind(pieces, src_lang=source, tgt_lang=target)
    tokenizer.save_pretrained(name)
    return tokenizer


def byte_tokenizer(name):
    tokenizer = transformers.BartTokenizerFast(*hf_judge.write_merges(name), add_prefix_space=name == "bart_free")
    json.dump({"add_prefix_space": name == "bart_free"}, open(f"{name}/tokenizer_config.json", "w"))
    return tokenizer


def spelled_bart(tokenizer, ids, hidden):
    """Returns the text of generated ids without special tokens."""
    if not isinstance(tokenizer, transformers.BartTokenizerFast):
        return hf_judge.spelled(tokenizer, ids, hidden)
    return hf_judge.byte_text(tokenizer.convert_ids_to_tokens([i for i in ids.tolist() if i not in hidden]))


def judge_bart(name, lines):
    changes, (source, target), (_, wanted) = BART[name]
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(1)
    tokenizer = bart_tokenizer(name)
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
    hf_judge.judge((program, logits), name, Search(model), inputs, lambda ids: spelled_bart(tokenizer, ids, hidden), forbidden, LIMIT, first,
                   options)
    hf_judge.scores(program, name, model, tokenizer, first, options)
    texts = BART_TEXTS + hf_judge.real_lines()
    if not source:
        texts += BYTES + hf_judge.random_lines(20000)
    hf_judge.token_ids(program, name, texts, tokenizer(texts, add_special_tokens=False)["input_ids"])


# ---- NLLB-200, M2M-100 ----

M2M = {  # options of the model, languages as toy_translate is told and as transformers
    "nllb": ({"decoder_layers": 3}, ("English", "de"), ("eng_Latn", "deu_Latn")),
    "nllb_legacy": ({"scale_embedding": False, "activation_function": "gelu"}, ("deu_Latn", "french"), ("deu_Latn", "fra_Latn")),
    "m2m": ({"activation_function": "gelu_new"}, ("en", "German"), ("en", "de")),
}
M2M_TEXTS = ["", "  two  blanks ", "\u00dcber 12.5%", "zz", "a deu_Latn b", "eng_Latnx__de__ y", "\u3042\u3042", "__en____en_"]


def m2m_tokenizer(name):
    """Returns a tokenizer, which is saved with 150 pieces."""
    os.mkdir(name)
    source, target = M2M[name][2]
    if name == "m2m":
        pieces = hf_judge.write_pieces(f"{name}/sentencepiece.bpe.model")
        model = sentencepiece.SentencePieceProcessor(model_file=pieces)
        known = [model.IdToPiece(i) for i in range(3, len(model)) if i % 10]  # some pieces are not in the vocabulary
        json.dump({word: i for i, word in enumerate(["<s>", "<pad>", "</s>", "<unk>", *known])}, open(f"{name}/vocab.json", "w"))
        tokenizer = transformers.M2M100Tokenizer(f"{name}/vocab.json", pieces, src_lang=source, tgt_lang=target,
                                                 additional_special_tokens=[f"__{code}__" for code in M2M_LANGUAGES["m2m100"]])
    else:
        tokenizer = hf_judge.nllb_tokenizer(name, source, target, legacy_behaviour=name == "nllb_legacy")
    tokenizer.save_pretrained(name)
    return tokenizer


def judge_m2m(name, lines):
    changes, languages, (_, target) = M2M[name]
    torch.set_default_dtype(torch.float32)
    torch.manual_seed(1)
    tokenizer = m2m_tokenizer(name)
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
    texts = M2M_TEXTS + hf_judge.real_lines()
    hf_judge.token_ids(program, name, texts, tokenizer(texts, add_special_tokens=False)["input_ids"])


# ---- T5, mT5, ByT5, MADLAD-400 ----

EXTRA, ROWS_WITHOUT_WORD = 100, 6
T5_SIZES = {"d_model": 32, "num_heads": 4, "d_kv": 8, "d_ff": 48, "num_layers": 2, "relative_attention_num_buckets": 8,
         "relative_attention_max_distance": 20, "dropout_rate": 0.0, "decoder_start_token_id": 0}
T5 = {
    "tied": {"num_decoder_layers": 3},
    "untied": {"tie_word_embeddings": False, "num_layers": 3, "num_heads": 2, "d_kv": 16},
    "gated": {"tie_word_embeddings": False, "feed_forward_proj": "gated-silu"},
    "v1_1": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "d_kv": 12, "num_heads": 3},
    "madlad": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "pad_token_id": 1, "eos_token_id": 2},
    # With its usual initial values, floats of PyTorch are not within the limit of logits either.
    "byt5": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "num_layers": 3, "initializer_factor": 0.5},
    "mt5": {"tie_word_embeddings": False, "feed_forward_proj": "gated-gelu", "d_kv": 4, "num_decoder_layers": 3},
}
T5_TEXTS = ["translate English to German: the house", "", "  two  blanks ", "\u00dcber 12.5%", "zz", "a <extra_id_0> b<extra_id_99>c",
         "<extra_id_1> <extra_id_100> <extra_id_2>", "<extra_id_", "\u3042<extra_id_7>\u3042"]


def t5_tokenizer(name):
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


def spelled_t5(tokenizer, ids):
    """Returns the text of generated ids without special tokens."""
    if not isinstance(tokenizer, transformers.ByT5Tokenizer):
        return hf_judge.spelled(tokenizer, ids, {0, 1, 2})
    return hf_judge.shown(b"".join(bytes([i - 3]) if i < 259 else tokenizer.convert_ids_to_tokens(i).encode() for i in ids.tolist() if i > 2))


def make_t5(name, tokenizer):
    """Saves a random model, as transformers 5 writes it: each configuration says that the output matrix is tied."""
    torch.manual_seed(1)
    family = transformers.MT5ForConditionalGeneration if name == "mt5" else transformers.T5ForConditionalGeneration
    config = family.config_class(**{"vocab_size": len(tokenizer) + ROWS_WITHOUT_WORD, **T5_SIZES, **T5[name]})
    model = hf_judge.shaken(family(config)).eval()
    model.generation_config.update(max_length=LIMIT, no_repeat_ngram_size=2, forced_eos_token_id=tokenizer.eos_token_id)
    model.save_pretrained(name)
    settings = json.load(open(f"{name}/config.json", encoding="utf-8"))
    json.dump({**settings, "tie_word_embeddings": True}, open(f"{name}/config.json", "w", encoding="utf-8"))
    return model.double()


def judge_t5(name, lines):
    tokenizer = t5_tokenizer(name)
    model = make_t5(name, tokenizer)
    inputs = tokenizer(lines, return_tensors="pt", padding=True)
    nameless = list(range(len(tokenizer), model.config.vocab_size))
    hf_judge.judge((program, logits), name, Search(model), inputs, lambda ids: spelled_t5(tokenizer, ids),
                   nameless if name == "madlad" else [tokenizer.pad_token_id, *nameless], LIMIT)
    texts = {"tied": T5_TEXTS + lines, "madlad": ["<2de> the house", "a<2en>b <2de>"] + lines,
             "byt5": T5_TEXTS + hf_judge.random_lines(5000)}.get(name, [])
    if texts:
        hf_judge.token_ids(program, name, texts, tokenizer(texts, add_special_tokens=False)["input_ids"])


def refused_t5(name, reason, **options):
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**{"vocab_size": 250, **T5_SIZES, **options}))
    shutil.copytree("tied", name)
    model.save_pretrained(name)
    kit.refused(program, name, reason)


kit.main(globals())
