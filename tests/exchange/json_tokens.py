"""json_tokens.py - makes models whose only vocabulary is tokenizer.json, of each type that is supported, and compares token ids
with those of tokenizers: on all lines of Multi30k and Tatoeba that RAPT_DATA has, and on random characters."""
import json
import os
import random
import sys

import hf_judge
import kit
import regex
import tokenizers
import transformers
from hf_judge import byte_pairs, unigram
from tokenizers import models, normalizers, pre_tokenizers

program = sys.argv[1]
RANDOM = 100000
SIZES = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
         "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "max_position_embeddings": 600, "decoder_start_token_id": 2}
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]


def t5():
    hf_judge.write_pieces("t5.model", " --pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1")
    tokenizer = unigram("t5.model", ["<pad>", "</s>", "<unk>"], [f"<extra_id_{i}>" for i in range(9, -1, -1)])
    return tokenizer, transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=170, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0))


def mbart():
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES
    hf_judge.write_pieces("mbart.model")
    tokenizer = unigram("mbart.model", SPECIALS, [*FAIRSEQ_LANGUAGE_CODES, "<mask>"])
    return tokenizer, transformers.MBartForConditionalGeneration(transformers.MBartConfig(vocab_size=210, **SIZES))


def nllb():
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES
    hf_judge.write_pieces("nllb.model", " --model_type=bpe")
    tokenizer = byte_pairs("nllb.model", SPECIALS, [*FAIRSEQ_LANGUAGE_CODES, "<mask>"])
    return tokenizer, transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(
        vocab_size=tokenizer.get_vocab_size(), **SIZES))


def bart():
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train(["both"], vocab_size=500, special_tokens=SPECIALS, show_progress=False)
    trained.add_special_tokens([tokenizers.AddedToken("<mask>", lstrip=True, normalized=False)])
    return trained, transformers.BartForConditionalGeneration(transformers.BartConfig(vocab_size=502, **SIZES))


def bert():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(33, 127)), *("##" + chr(c) for c in range(33, 127)), "the", "##er"]
    tokenizer = tokenizers.Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(words[:5])
    return tokenizer, transformers.BertModel(transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16))


def lines_of(make):
    """Returns real lines and random ones. In models of SentencePiece those have no character of several code points, since
    tokenizers 0.19 to 0.23 replace all of it if its beginning has a rule, where SentencePiece keeps marks. Nor do they end in U+0085,
    which has no rule and which only tokenizers drops."""
    lines, dice = [], random.Random(2)
    for name in ("multi30k/test_2016_flickr.en", "multi30k/test_2016_flickr.de", "tatoeba-en-de/test.tsv"):
        if os.path.exists(f"{hf_judge.DATA}/{name}"):
            lines += open(f"{hf_judge.DATA}/{name}", encoding="utf-8").read().split("\n")
    while len(lines) < RANDOM:
        line = "".join(hf_judge.character(dice) for _ in range(dice.randrange(1, 40)))
        if make not in (t5, mbart, nllb) or line[-1] != "\u0085" and all(len(part) == 1 for part in regex.findall(r"\X", line)):
            lines.append(line)
    return [line for line in lines if not set("\n\r\ufeff") & set(line)]


def test_json_tokens():
    hf_judge.prepare(program)
    open("both", "w", encoding="utf-8").write(open("train.src", encoding="utf-8").read() + open("train.trg", encoding="utf-8").read())
    for make in (t5, mbart, nllb, bart, bert):
        tokenizer, model = make()
        model.save_pretrained(make.__name__)
        tokenizer.save(f"{make.__name__}/tokenizer.json")
        lines = lines_of(make)
        hf_judge.token_ids(program, make.__name__, lines, [tokenizer.encode(line, add_special_tokens=False).ids for line in lines])


kit.main(globals())
