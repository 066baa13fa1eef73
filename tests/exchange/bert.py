"""bert.py PROGRAM FOLDER - makes random BERT and DistilBERT encoders and classifiers with transformers and compares vectors and
scores in double precision, and token ids with the package tokenizers; then compares the real all-MiniLM-L6-v2, which engines.sh
has fetched into FOLDER, with what sentence-transformers computes."""
import json
import os
import random
import shutil
import sys

import kit
import numpy
import torch
import transformers
from bert_judge import compare, embedded, inputs, ranked, shaken

program, engines = sys.argv[1:3]
DATA = os.environ.get("RAPT_DATA", "/nowhere")
SIDE = f"{DATA}/models/minilm-l6"
WORDS = """[PAD] [UNK] [CLS] [SEP] [MASK] the a cat cats dog sleep ##s ##ing ##ed un ##friend ##ly . , ! ? \u4e2d \u6587 caf ##e
m ##unch ##en 1 ##2 ##3 see run ##n fast slow house on in of and it is was not e n o t h i r d s l u""".split()
TEXTS = ["the cat sleeps .", "Unfriendly dogs, running!", "caf\u00e9 M\u00fcnchen 123", "\u4e2d\u6587 is it", "", "xyz",
         "the " * 70 + "end", "[MASK] the cat [SEP] dog"]


def vocabulary(folder, **options):
    os.makedirs(folder)
    with open(f"{folder}/vocab.txt", "w", encoding="utf-8") as file:
        file.write("".join(word + "\n" for word in WORDS))
    transformers.BertTokenizerFast(vocab_file=f"{folder}/vocab.txt", **options).save_pretrained(folder)


def encoder(name, model, layers, **options):
    vocabulary(name, **options)
    shaken(model).save_pretrained(name)
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(name), model.double()
    wanted = {"mean": [], "first": []}
    with torch.no_grad():
        for batch in inputs(tokenizer, TEXTS):
            if "token_type_ids" in batch and not hasattr(model.config, "type_vocab_size"):
                del batch["token_type_ids"]
            rows = model(**batch).last_hidden_state[0]
            wanted["mean"].append(rows.mean(0).tolist())
            wanted["first"].append(rows[0].tolist())
    for pooling, vectors in wanted.items():
        compare(f"{name}, {pooling}", embedded(program, name, TEXTS, "--pooling", pooling), vectors, layers)


def cross_encoder(name, model, layers):
    """A classifier of one class orders texts by their answers to a query. The texts that are too long are cut."""
    vocabulary(name)
    shaken(model).save_pretrained(name)
    tokenizer, model = transformers.AutoTokenizer.from_pretrained(name), model.double()
    for query in ("is the dog fast ?", "un " * 60):
        with torch.no_grad():
            wanted = [model(**batch).logits[0].tolist() for batch in inputs(tokenizer, [query] * len(TEXTS), TEXTS)]
        compare(f"{name}, {query[:6]}", ranked(program, name, query, TEXTS), wanted, layers)


def refused(name, model, reason):
    vocabulary(name)
    model.save_pretrained(name)
    kit.refused(program, name, reason)


SIZES = {"vocab_size": len(WORDS) + 3, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": 64}
DISTIL = {"vocab_size": len(WORDS), "dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 40, "max_position_embeddings": 64}


def random_models():
    bert, distil = transformers.BertConfig, transformers.DistilBertConfig
    encoder("bert", transformers.BertModel(bert(**SIZES)), 3)
    encoder("cased", transformers.BertModel(bert(**{**SIZES, "hidden_act": "relu", "type_vocab_size": 1})), 3, do_lower_case=False)
    encoder("masked", transformers.BertForMaskedLM(bert(**SIZES)).bert, 3, strip_accents=False)
    encoder("distilbert", transformers.DistilBertModel(distil(**DISTIL)), 2)
    cross_encoder("cross", transformers.BertForSequenceClassification(bert(**SIZES, num_labels=1)), 3)
    refused("relative", transformers.BertModel(bert(**SIZES, position_embedding_type="relative_key")), "position_embedding_type")
    encoder("gelu_new", transformers.BertModel(bert(**{**SIZES, "hidden_act": "gelu_new"})), 3)
    refused("quick_gelu", transformers.BertModel(bert(**{**SIZES, "hidden_act": "quick_gelu"})), "hidden_act is quick_gelu")
    refused("distil_classes", transformers.DistilBertForSequenceClassification(distil(**DISTIL)), "pre_classifier.weight")
    masked = transformers.BertForMaskedLM(bert(**SIZES))
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
    tokens(names, source)


def tokens(settings, folder):
    """Compares ids of lines of real text and of random Unicode, which the library classifies as tokenizers does."""
    from tokenizers import Tokenizer
    settings["truncation"] = settings["padding"] = None
    theirs = Tokenizer.from_str(json.dumps(settings))
    lines = []
    for name in ("multi30k/test_2016_flickr.en", "multi30k/test_2016_flickr.de", "tatoeba-en-de/test.tsv"):
        if os.path.exists(f"{DATA}/{name}"):
            lines += open(f"{DATA}/{name}", encoding="utf-8").read().split("\n")
    dice = random.Random(1)
    lines += ["".join(character(dice) for _ in range(dice.randrange(1, 24))) for _ in range(20000)]
    lines = [line for line in lines if not set("\n\r\ufeff") & set(line)]
    text = "".join(line + "\n" for line in lines)
    ours = kit.run(program, "tokenize", "-m", folder, "--ids", given=text).split("\n")[:-1]
    wanted = [" ".join(map(str, theirs.encode(line, add_special_tokens=False).ids)) for line in lines]
    wrong = [line for line, our, their in zip(lines, ours, wanted) if our != their]
    print(f"tokenizers: {len(lines) - len(wrong)} of {len(lines)} lines have the same ids", flush=True)
    if wrong or len(ours) != len(wanted):
        kit.fail(f"tokenizers: {wrong[:3]!r}")


def character(dice):
    kind = dice.random()
    if kind < 0.3:
        return chr(dice.randrange(32, 127))
    code = dice.randrange(0x80, 0x600) if kind < 0.5 else dice.randrange(0x600, 0x10000) if kind < 0.8 else dice.randrange(0x10000, 0x110000)
    return "-" if 0xD800 <= code < 0xE000 else chr(code)


random_models()
real_model()
kit.end()
