"""encoders.py PROGRAM - makes random encoders and cross-encoders of RoBERTa, XLM-RoBERTa and MPNet, and a BERT with the vocabulary
of XLM-RoBERTa, with transformers, each also with no other vocabulary than tokenizer.json. Compares vectors and scores of pairs
with transformers in double precision, and token ids with the package tokenizers."""
import json
import os
import sys

import bert_judge
import hf_judge
import kit
import marian
import torch
import transformers
from bert_judge import merges, pieces, words

program = sys.argv[1]
SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": 66, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "layer_norm_eps": 1e-5}
TEXTS = ["the cat sleeps .", "Unfriendly dogs, running!", "caf\u00e9 M\u00fcnchen 123", "\u4e2d\u6587 is it", "", "a", "the " * 90 + "end"]
FAMILIES = {  # configuration, model, classifier, tokenizer, files of the vocabulary
    "roberta": (transformers.RobertaConfig, transformers.RobertaModel, transformers.RobertaForSequenceClassification, merges,
                ["vocab.json", "merges.txt"]),
    "xlm": (transformers.XLMRobertaConfig, transformers.XLMRobertaModel, transformers.XLMRobertaForSequenceClassification, pieces,
            ["sentencepiece.bpe.model"]),
    "mpnet": (transformers.MPNetConfig, transformers.MPNetModel, transformers.MPNetForSequenceClassification, words, ["vocab.txt"]),
    "bert_xlm": (transformers.BertConfig, transformers.BertModel, transformers.BertForSequenceClassification, pieces,
                 ["sentencepiece.bpe.model"]),
}


def folder(name, model, tokenizer, files, only_json):
    bert_judge.shaken(model).save_pretrained(name)
    if not os.path.exists(f"{name}/tokenizer.json"):
        tokenizer.save_pretrained(name)
    for file in files if only_json else ["tokenizer.json"]:
        os.remove(f"{name}/{file}")
    with open(f"{name}/sentence_bert_config.json", "w") as file:
        json.dump({"max_seq_length": 64}, file)
    return model.double().eval()


def judge(family, only_json):
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
    wanted = [model(**batch).last_hidden_state[0].mean(0).tolist() for batch in bert_judge.inputs(tokenizer, TEXTS)]
    bert_judge.compare(name, bert_judge.embedded(program, name, TEXTS), wanted, 3)
    # MPNet's tokenizer takes a special token in other letters, such as <S>, for that token.
    texts = TEXTS + hf_judge.real_lines() + [line for line in RANDOM if make is merges or make is words and "<" not in line]
    hf_judge.token_ids(program, name, texts, tokenizer(texts, add_special_tokens=False)["input_ids"])
    scorer = f"{name}_pairs"
    os.mkdir(scorer)
    model = folder(scorer, classifier(config(**sizes, num_labels=1)), make(scorer), files, only_json)
    for query in ("is the dog fast ?", "un " * 60):
        wanted = [model(**batch).logits[0].tolist() for batch in bert_judge.inputs(tokenizer, [query] * len(TEXTS), TEXTS)]
        bert_judge.compare(f"{scorer}, {query[:6]}", bert_judge.ranked(program, scorer, query, TEXTS), wanted, 3)


transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
torch.set_grad_enabled(False)
marian.corpus(program)
RANDOM = hf_judge.random_lines(20000)
for family in FAMILIES:
    for only_json in (False, True):
        judge(family, only_json)
kit.end()
