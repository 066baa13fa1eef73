"""ct2_families.py PROGRAM - converts random models of transformers by CTranslate2's converter and compares translations of the
folders, and their scores, with CTranslate2: NLLB-200, mBART-50, mBART-25, BART and T5. The converter writes words; the files of
the tokenizer are copied beside them, as its option --copy_files does."""
import json
import os
import shutil
import sys

import ct2_converter
import ctranslate2
import hf_judge
import kit
import marian
import tokenizers
import torch
import transformers
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

program = sys.argv[1]
LINES, LENGTH = 200, 24
SIZES = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.3, "max_position_embeddings": 128, "normalize_embedding": True,
         "decoder_start_token_id": 2, "scale_embedding": True}
T5 = {"d_model": 32, "d_kv": 12, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4, "decoder_start_token_id": 0,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}


def convert(name, tokenizer, model, files, changes=None):
    """Returns a folder of CTranslate2."""
    model.save_pretrained(name)
    return ct2_converter.Converter(name, tokenizer, changes, files).convert(f"{name}.ct2")


def pieces(name, file, options=""):
    os.makedirs(name, exist_ok=True)
    return hf_judge.write_pieces(f"{name}/{file}", options)


def shown(tokenizer, tokens):
    """Returns the text of tokens, as toy_translate writes it: special tokens have none."""
    hidden = set(tokenizer.all_special_tokens) - {tokenizer.mask_token}
    hidden -= {token for token in hidden if token.startswith("<extra_id_")}
    tokens = [token for token in tokens if token not in hidden]
    if isinstance(tokenizer, transformers.BartTokenizerFast):
        return hf_judge.byte_text(tokens)
    return "".join(tokens).replace("\u2581", " ").lstrip()


def theirs(folder, tokenizer, lines, beam, prefix):
    """Returns (score, text) for each line by CTranslate2. prefix: the first tokens of a target."""
    engine = ctranslate2.Translator(folder, compute_type="float32", intra_threads=1)
    sources = [tokenizer.convert_ids_to_tokens(tokenizer(line)["input_ids"]) for line in lines]
    out = engine.translate_batch(sources, target_prefix=[prefix] * len(lines) if prefix else None, beam_size=beam,
                                 max_decoding_length=LENGTH, max_batch_size=1, return_scores=True)
    return [(result.scores[0], shown(tokenizer, result.hypotheses[0])) for result in out]


def ours(folder, beam, options):
    found = kit.translations(program, folder, "lines", beam, "--max-length", LENGTH, *options)
    return [(score, text.lstrip()) for score, text in found]


def judge(folder, tokenizer, lines, prefix=None, options=()):
    for beam in 1, 3:
        kit.agree(f"{folder}, beam {beam}", ours(folder, beam, options), theirs(folder, tokenizer, lines, beam, prefix), 2e-5)


def nllb(lines):
    added = [*FAIRSEQ_LANGUAGE_CODES, "<mask>"]
    tokenizer = transformers.NllbTokenizer(
        pieces("nllb", "sentencepiece.bpe.model"), src_lang="eng_Latn", tgt_lang="deu_Latn", added_tokens_decoder={
            151 + i: transformers.AddedToken(token, special=True, normalized=False) for i, token in enumerate(added)})
    model = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(vocab_size=len(tokenizer), **SIZES))
    folder = convert("nllb", tokenizer, hf_judge.shaken(model), ["sentencepiece.bpe.model"])
    judge(folder, tokenizer, lines, ["deu_Latn"], ("--source-lang", "eng_Latn", "--target-lang", "deu_Latn"))


def mbart(name, kind, lines):
    """The converter writes that mBART-50 has no begin token, which CTranslate2 4.8 cannot read; the folder that it reads has one."""
    tokenizer = kind(pieces(name, "sentencepiece.bpe.model"), src_lang="en_XX", tgt_lang="de_DE")
    config = transformers.MBartConfig(vocab_size=len(tokenizer), normalize_before=True, tokenizer_class=kind.__name__, **SIZES)
    model = hf_judge.shaken(transformers.MBartForConditionalGeneration(config))
    model.final_logits_bias.normal_(std=0.3)
    folder, options = convert(name, tokenizer, model, ["sentencepiece.bpe.model"]), ("--source-lang", "English", "--target-lang", "de")
    before = ours(folder, 3, options)
    config = json.load(open(f"{folder}/config.json"))
    config["bos_token"] = config["bos_token"] or "<s>"
    json.dump(config, open(f"{folder}/config.json", "w"))
    judge(folder, tokenizer, lines, ["de_DE"], options)
    kit.agree(f"{folder} as converted", before, ours(folder, 3, options), 0)


def bart(lines):
    os.mkdir("bart")
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train(["train.src", "train.trg"], vocab_size=411, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                  show_progress=False)
    trained.save_model("bart")
    tokenizer = transformers.BartTokenizerFast("bart/vocab.json", "bart/merges.txt")
    config = transformers.BartConfig(vocab_size=len(tokenizer), normalize_before=False, **SIZES)
    model = hf_judge.shaken(transformers.BartForConditionalGeneration(config))
    judge(convert("bart", tokenizer, model, ["vocab.json", "merges.txt"]), tokenizer, lines)


def make_t5(name, settings, more=0):
    """Returns a tokenizer and a model, whose table has `more` rows without a token."""
    tokenizer = transformers.T5Tokenizer(pieces(name, "spiece.model", " --pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1"), extra_ids=10,
                                         legacy=True)
    config = transformers.T5Config(vocab_size=len(tokenizer) + more, **T5, **settings)
    return tokenizer, hf_judge.shaken(transformers.T5ForConditionalGeneration(config))


def t5(lines):
    tokenizer, model = make_t5("t5", {})
    judge(convert("t5", tokenizer, model, ["spiece.model"]), tokenizer, lines)


def repeated_t5():
    """Compares the scores of given targets. Five rows have the names of others; we never produce them, so that translations may
    differ in models of which every row is equally likely."""
    tokenizer, model = make_t5("t5_rows", {}, 5)
    folder = convert("t5_rows", tokenizer, model, ["spiece.model"])
    engine = ctranslate2.Translator(folder, compute_type="float32", intra_threads=1)
    pairs = [line.split("\t") for line in open("pairs.tsv", encoding="utf-8").read().splitlines()]
    sides = [[tokenizer.convert_ids_to_tokens(tokenizer(pair[side])["input_ids"]) for pair in pairs] for side in (0, 1)]
    out = engine.score_batch(sides[0], [target[:-1] for target in sides[1]], max_batch_size=1)
    kit.agree(f"{folder}, given", kit.scores(program, folder, "pairs.tsv"), [(sum(result.log_probs), None) for result in out], 1e-4)


def scaled_t5(lines):
    """Compares a T5 1.1 with a folder in which the converter has stored the factor of T5 1.0, because transformers 5 writes
    tie_word_embeddings: true for both. CTranslate2's scores are then wrong; ours must be those of the right folder."""
    tokenizer, model = make_t5("t5_gated", GATED)
    folder = convert("t5_gated", tokenizer, model, ["spiece.model"])
    judge(folder, tokenizer, lines)
    shutil.copytree("t5_gated", "t5_scaled")
    wrong = convert("t5_scaled", tokenizer, model, ["spiece.model"], {"tie_word_embeddings": True})
    right = theirs(folder, tokenizer, lines, 3, None)
    kit.agree(f"{wrong}, beam 3", ours(wrong, 3, ()), right, 2e-5)
    other = theirs(wrong, tokenizer, lines, 3, None)
    far = sum(abs(a[0] - b[0]) > 1e-3 for a, b in zip(right, other))
    print(f"{wrong}: CTranslate2's scores of {far} of {len(lines)} lines are wrong", flush=True)
    if far < len(lines):
        kit.fail("CTranslate2 reads the folder as ours does")


transformers.logging.set_verbosity_error()
torch.manual_seed(1)
torch.set_grad_enabled(False)
marian.corpus(program)
text = open("train.src", encoding="utf-8").read().splitlines()[:LINES]
open("lines", "w", encoding="utf-8").writelines(line + "\n" for line in text)
nllb(text)
mbart("mbart50", transformers.MBart50Tokenizer, text)
mbart("mbart25", transformers.MBartTokenizer, text)
bart(text)
t5(text)
repeated_t5()
scaled_t5(text)
kit.end()
