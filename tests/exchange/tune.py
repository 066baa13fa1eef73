"""tune.py - fine-tunes random models of transformers by train --from. Before the first step, the loss must be that of
transformers in double precision, with the tokens of languages and of BART's beginnings; full training, LoRA and a frozen
encoder must lower it, and the saved models must need the same languages."""
import json
import math
import os
import sys

import hf_judge
import kit
import torch
import transformers

program = sys.argv[1]
SIZES = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.3, "dropout": 0.0, "max_position_embeddings": 128,
         "decoder_start_token_id": 2}
HOW = ("", "--lora 4", "--freeze encoder.*,*embedding*")


def pieces(name, file, options=""):
    os.mkdir(name)
    return hf_judge.write_pieces(f"{name}/{file}", options)


def nllb():
    """Returns the tokenizer, the model, the tokens before a target, and the languages."""
    os.mkdir("nllb")
    tokenizer = hf_judge.nllb_tokenizer("nllb", "eng_Latn", "deu_Latn")
    model = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(vocab_size=len(tokenizer), **SIZES))
    return tokenizer, model, [2, tokenizer.convert_tokens_to_ids("deu_Latn")], ("eng_Latn", "German")


def mbart(name, kind, older):
    tokenizer = kind(pieces(name, "sentencepiece.bpe.model"), src_lang="en_XX", tgt_lang="de_DE")
    target = tokenizer.convert_tokens_to_ids("de_DE")
    model = transformers.MBartForConditionalGeneration(transformers.MBartConfig(vocab_size=len(tokenizer), **SIZES))
    if older:
        model.config.decoder_start_token_id = target
    return tokenizer, model, [target] if older else [2, target], ("en", "de")


def bart():
    os.mkdir("bart")
    tokenizer = transformers.BartTokenizerFast(*hf_judge.write_merges("bart"))
    model = transformers.BartForConditionalGeneration(transformers.BartConfig(vocab_size=len(tokenizer), **SIZES))
    model.generation_config.forced_bos_token_id = 0
    return tokenizer, model, [2, 0], None


def t5():
    tokenizer = transformers.T5Tokenizer(pieces("t5", "spiece.model", " --pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1"), extra_ids=10,
                                         legacy=True)
    config = transformers.T5Config(vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
                                   decoder_start_token_id=0, dropout_rate=0.0)
    return tokenizer, transformers.T5ForConditionalGeneration(config), [0], None


def loss_of(tokenizer, model, before, pairs):
    """Returns the mean cross-entropy of all tokens after the first of `before`, the decoder's first input."""
    total = count = 0
    for source, target in pairs:
        ids = [*before, *tokenizer(target, add_special_tokens=False)["input_ids"], model.config.eos_token_id]
        logits = model(**tokenizer(source, return_tensors="pt"), decoder_input_ids=torch.tensor([ids[:-1]])).logits[0]
        total += float(torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:]), reduction="sum"))
        count += len(ids) - 1
    return total / count


def contents(path):
    """Returns the tensors of a safetensors file, and its metadata in any order."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        return file.read(), header


def judge(name, tokenizer, model, before, languages, pairs):
    hf_judge.shaken(model).eval()
    tokenizer.save_pretrained(name)
    model.save_pretrained(name)
    named = ("--source-lang", languages[0], "--target-lang", languages[1]) if languages else ()
    torch.set_default_dtype(torch.float64)
    wanted = loss_of(tokenizer, model.double(), before, pairs)
    torch.set_default_dtype(torch.float32)
    before_tuning = sum(score for score, _ in kit.scores(program, name, "pairs.tsv", *named))
    for how in HOW:
        out = f"{name}.tuned"
        lines = kit.json_lines(kit.run(program, "train", "--from", name, *named, *how.split(), "--data", "pairs.tsv", "--valid",
                                       "pairs.tsv", "--steps", 30, "--rate", 0.005, "--threads", 1, "--force", "--json", "--out", out))
        losses = [line["valid_loss"] for line in lines if "valid_loss" in line]
        print(f"{name} {how}: loss {losses[0]:.6f}, by transformers {wanted:.6f}, after training {losses[-1]:.4f}", flush=True)
        if not math.isclose(losses[0], wanted, rel_tol=2e-6):
            kit.fail(f"{name}: not the loss of transformers")
        if not losses[-1] < losses[0] - 0.02:
            kit.fail(f"{name} {how}: the loss is not lower")
        after = sum(score for score, _ in kit.scores(program, out, "pairs.tsv", *named))
        if not after > before_tuning:
            kit.fail(f"{name} {how}: the saved model scores {after}, the opened one {before_tuning}")
    command = ("--data", "pairs.tsv", "--valid", "pairs.tsv", "--batch-tokens", 256, "--rate", 0.005, "--patience", 0, "--schedule",
               "constant", "--keep-checkpoint", "--threads", 1, "--force", "--out", f"{name}.tuned")
    kit.run(program, "train", "--from", name, *named, *HOW[-1].split(), *command, "--steps", 11)
    kit.run(program, "train", "--resume", "--out", f"{name}.tuned", "--steps", 30)
    parts = contents(f"{name}.tuned")
    kit.run(program, "train", "--from", name, *named, *HOW[-1].split(), *command, "--steps", 30)
    if parts != contents(f"{name}.tuned"):
        kit.fail(f"{name}: not the same model after an interruption")
    if languages:
        for file in name, f"{name}.tuned":
            done = kit.subprocess.run([program, "train", "--from", file, "--data", "pairs.tsv", "--out", "nothing"],
                                      capture_output=True, encoding="utf-8")
            if done.returncode != 1 or "source_language is not set" not in done.stderr:
                kit.fail(f"{file} without languages: {done.stderr}")


def test_tune():
    hf_judge.prepare(program)
    torch.manual_seed(1)
    pairs = [line.split("\t") for line in open("pairs.tsv", encoding="utf-8").read().splitlines()]
    for name, made in {"nllb": nllb, "mbart50": lambda: mbart("mbart50", transformers.MBart50Tokenizer, False),
                       "mbart25": lambda: mbart("mbart25", transformers.MBartTokenizer, True), "bart": bart, "t5": t5}.items():
        judge(name, *made(), pairs)


kit.main(globals())
