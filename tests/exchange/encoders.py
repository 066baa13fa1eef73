"""encoders.py - makes random encoders with transformers and compares vectors and scores in double precision, and token ids with
the package tokenizers:

    bert      BERT and DistilBERT, encoders and classifiers; then the real all-MiniLM-L6-v2, which engines.sh has fetched into
              ENGINES, with what sentence-transformers computes
    encoders  encoders and cross-encoders of RoBERTa, XLM-RoBERTa and MPNet, and a BERT with the vocabulary of XLM-RoBERTa, each
              also with no other vocabulary than tokenizer.json"""
import json
import os
import random
import sys

import hf_judge
import kit
import numpy
import torch
import transformers
from hf_judge import compare, embedded, encoder_inputs, mpnet_tokenizer, ranked, roberta_tokenizer, xlm_tokenizer

program, engines = sys.argv[1:3]


def seeded(model):
    torch.manual_seed(1)
    return hf_judge.shaken(model).eval()


# ---- BERT ----

SIDE = f"{hf_judge.DATA}/models/minilm-l6"
WORDS = """[PAD] [UNK] [CLS] [SEP] [MASK] the a cat cats dog sleep ##s ##ing ##ed un ##friend ##ly . , ! ? \u4e2d \u6587 caf ##e
m ##unch ##en 1 ##2 ##3 see run ##n fast slow house on in of and it is was not e n o t h i r d s l u""".split()
BERT_TEXTS = ["the cat sleeps .", "Unfriendly dogs, running!", "caf\u00e9 M\u00fcnchen 123", "\u4e2d\u6587 is it", "", "xyz",
              "the " * 70 + "end", "[MASK] the cat [SEP] dog"]


def vocabulary(folder, **options):
    os.makedirs(folder)
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as file:
        file.write("".join(word + "\n" for word in WORDS))
    transformers.BertTokenizerFast(vocab_file=f"{folder}/vocab.txt", **options).save_pretrained(folder)


def bert_encoder(name, model, layers, **options):
    vocabulary(name, **options)
    seeded(model).save_pretrained(name)
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(name), model.double()
    wanted = {"mean": [], "first": []}
    with torch.no_grad():
        for batch in encoder_inputs(tokenizer, BERT_TEXTS):
            if "token_type_ids" in batch and not hasattr(model.config, "type_vocab_size"):
                del batch["token_type_ids"]
            rows = model(**batch).last_hidden_state[0]
            wanted["mean"].append(rows.mean(0).tolist())
            wanted["first"].append(rows[0].tolist())
    for pooling, vectors in wanted.items():
        compare(f"{name}, {pooling}", embedded(program, name, BERT_TEXTS, "--pooling", pooling), vectors, layers)


def cross_encoder(name, model, layers):
    """A classifier of one class orders texts by their answers to a query. The texts that are too long are cut."""
    vocabulary(name)
    seeded(model).save_pretrained(name)
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(name), model.double()
    for query in ("is the dog fast ?", "un " * 60):
        with torch.no_grad():
            wanted = [model(**batch).logits[0].tolist() for batch in encoder_inputs(tokenizer, [query] * len(BERT_TEXTS), BERT_TEXTS)]
        compare(f"{name}, {query[:6]}", ranked(program, name, query, BERT_TEXTS), wanted, layers)


def refused_bert(name, model, reason):
    vocabulary(name)
    model.save_pretrained(name)
    kit.refused(program, name, reason)


BERT = {"vocab_size": len(WORDS) + 3, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": 64}
DISTIL = {"vocab_size": len(WORDS), "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 40, "max_position_embeddings": 64}


def random_models():
    bert, distil = transformers.BertConfig, transformers.DistilBertConfig
    bert_encoder("bert", transformers.BertModel(bert(**BERT)), 3)
    bert_encoder("cased", transformers.BertModel(bert(**{**BERT, "hidden_act": "relu", "type_vocab_size": 1})), 3, do_lower_case=False)
    bert_encoder("masked", transformers.BertForMaskedLM(bert(**BERT)).bert, 3, strip_accents=False)
    bert_encoder("distilbert", transformers.DistilBertModel(distil(**DISTIL)), 2)
    cross_encoder("cross", transformers.BertForSequenceClassification(bert(**BERT, num_labels=1)), 3)
    refused_bert("relative", transformers.BertModel(bert(**BERT, position_embedding_type="relative_key")), "position_embedding_type")
    bert_encoder("gelu_new", transformers.BertModel(bert(**{**BERT, "hidden_act": "gelu_new"})), 3)
    refused_bert("quick_gelu", transformers.BertModel(bert(**{**BERT, "hidden_act": "quick_gelu"})), "hidden_act is quick_gelu")
    refused_bert("distil_classes", transformers.DistilBertForSequenceClassification(distil(**DISTIL)), "pre_classifier.weight")
    masked = transformers.BertForMaskedLM(bert(**BERT))
    vocabulary("with_head")
    masked.save_pretrained("with_head")
    if kit.run(program, "info", "-m", "with_head") is None:
        kit.fail("a head of pre-training is not ignored")


def real_model():
    """all-MiniLM-L6-v2: 50 sentences as sentence-transformers computes them, within 1e-5 of cosine and 1e-6 of each number."""
    source = f"{engines}/minilm"
    if not os.path.exists(f"{source}/model.safetensors") or not os.path.exists(f"{SIDE}/expected-of-fp32-file.json"):
        print("all-MiniLM-L6-v2 is absent")
        return
    expected = json.load(open(f"{SIDE}/expected-of-fp32-file.json", encoding="utf-8"))["sentences"]
    ours = numpy.array(embedded(program, source, [one["text"] for one in expected]))
    theirs = numpy.array([one["embedding"] for one in expected])
    cosines = (ours * theirs).sum(1) / numpy.sqrt((ours ** 2).sum(1) * (theirs ** 2).sum(1))
    print(f"all-MiniLM-L6-v2: {len(ours)} sentences within {abs(ours - theirs).max():.1e}, cosine {cosines.min():.9f}")
    if abs(ours - theirs).max() > 1e-6 or cosines.min() < 1 - 1e-5:
        kit.fail("all-MiniLM-L6-v2: not equal")
    names = json.loads(open(f"{SIDE}/tokenizer.json", encoding="utf-8").read())
    compare_tokens(names, source)


def compare_tokens(settings, folder):
    """Compares ids of lines of real text and of random Unicode, which the library classifies as tokenizers does."""
    from tokenizers import Tokenizer
    settings["truncation"] = settings["padding"] = None
    theirs = Tokenizer.from_str(json.dumps(settings))
    lines = []
    for name in ("multi30k/test_2016_flickr.en", "multi30k/test_2016_flickr.de", "tatoeba-en-de/test.tsv"):
        if os.path.exists(f"{hf_judge.DATA}/{name}"):
            lines += open(f"{hf_judge.DATA}/{name}", encoding="utf-8").read().split("\n")
    dice = random.Random(1)
    lines += ["".join(any_character(dice) for _ in range(dice.randrange(1, 24))) for _ in range(20000)]
    lines = [line for line in lines if not set("\n\r\ufeff") & set(line)]
    text = "".join(line + "\n" for line in lines)
    ours = kit.run(program, "tokenize", "-m", folder, "--ids", given=text).split("\n")[:-1]
    wanted = [" ".join(map(str, theirs.encode(line, add_special_tokens=False).ids)) for line in lines]
    wrong = [line for line, our, their in zip(lines, ours, wanted) if our != their]
    print(f"tokenizers: {len(lines) - len(wrong)} of {len(lines)} lines have the same ids", flush=True)
    if wrong or len(ours) != len(wanted):
        kit.fail(f"tokenizers: {wrong[:3]!r}")


def any_character(dice):
    kind = dice.random()
    if kind < 0.3:
        return chr(dice.randrange(32, 127))
    code = dice.randrange(0x80, 0x600) if kind < 0.5 else dice.randrange(0x600, 0x10000) if kind < 0.8 else dice.randrange(0x10000, 0x110000)
    return "-" if 0xD800 <= code < 0xE000 else chr(code)


def test_bert():
    random_models()
    real_model()


# ---- RoBERTa, XLM-RoBERTa, MPNet ----

SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": 66, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "layer_norm_eps": 1e-5}
TEXTS = ["the cat sleeps .", "Unfriendly dogs, running!", "caf\u00e9 M\u00fcnchen 123", "\u4e2d\u6587 is it", "", "a", "the " * 90 + "end"]
FAMILIES = {  # configuration, model, classifier, tokenizer, files of the vocabulary
    "roberta": (transformers.RobertaConfig, transformers.RobertaModel, transformers.RobertaForSequenceClassification, roberta_tokenizer,
                ["vocab.json", "merges.txt"]),
    "xlm": (transformers.XLMRobertaConfig, transformers.XLMRobertaModel, transformers.XLMRobertaForSequenceClassification, xlm_tokenizer,
            ["sentencepiece.bpe.model"]),
    "mpnet": (transformers.MPNetConfig, transformers.MPNetModel, transformers.MPNetForSequenceClassification, mpnet_tokenizer, ["vocab.txt"]),
    "bert_xlm": (transformers.BertConfig, transformers.BertModel, transformers.BertForSequenceClassification, xlm_tokenizer,
                 ["sentencepiece.bpe.model"]),
}


def folder(name, model, tokenizer, files, only_json):
    seeded(model).save_pretrained(name)
    if not os.path.exists(f"{name}/tokenizer.json"):
        tokenizer.save_pretrained(name)
    for file in files if only_json else ["tokenizer.json"]:
        os.remove(f"{name}/{file}")
    with open(f"{name}/sentence_bert_config.json", "w") as file:
        json.dump({"max_seq_length": 64}, file)
    return model.double().eval()


def judge(family, only_json, random_lines):
    config, encoder, classifier, make, files = FAMILIES[family]
    name = family + ("_json" if only_json else "")
    torch.manual_seed(1)
    os.mkdir(name)
    tokenizer = make(name)
    sizes = {**SIZES, "vocab_size": len(tokenizer) + 3}
    if family in ("roberta", "xlm"):
        sizes["type_vocab_size"] = 1
    if family == "bert_xlm":
        sizes["max_position_embeddings"] = 64  # the others do not use two of them
    model = folder(name, encoder(config(**sizes)), tokenizer, files, only_json)
    wanted = [model(**batch).last_hidden_state[0].mean(0).tolist() for batch in encoder_inputs(tokenizer, TEXTS)]
    compare(name, embedded(program, name, TEXTS), wanted, 3)
    # MPNet's tokenizer takes a special token in other letters, such as <S>, for that token.
    texts = TEXTS + hf_judge.real_lines() + [line for line in random_lines if make is roberta_tokenizer or make is mpnet_tokenizer and "<" not in line]
    hf_judge.token_ids(program, name, texts, tokenizer(texts, add_special_tokens=False)["input_ids"])
    scorer = f"{name}_pairs"
    os.mkdir(scorer)
    model = folder(scorer, classifier(config(**sizes, num_labels=1)), make(scorer), files, only_json)
    for query in ("is the dog fast ?", "un " * 60):
        wanted = [model(**batch).logits[0].tolist() for batch in encoder_inputs(tokenizer, [query] * len(TEXTS), TEXTS)]
        compare(f"{scorer}, {query[:6]}", ranked(program, scorer, query, TEXTS), wanted, 3)


def test_encoders():
    hf_judge.prepare(program)
    random_lines = hf_judge.random_lines(20000)
    for family in FAMILIES:
        for only_json in (False, True):
            judge(family, only_json, random_lines)


kit.main(globals())
