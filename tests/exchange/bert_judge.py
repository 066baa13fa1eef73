"""bert_judge.py - makes tokenizers of encoders, and compares vectors and scores of toy_translate with those of transformers;
shared by the scripts beside it."""
import hf_judge
import json_make
import kit
import numpy
import tokenizers
import torch
import transformers

EPSILON = 2.0 ** -23
WORDS = ["<s>", "<pad>", "</s>", "<unk>", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "a", "cat", "##s", "dog", "run", "##n", "##ing",
         "sleep", "caf", "##e", "un", "##friend", "##ly", ".", ",", "!", "i", "##s", "n", "o", "t", "<mask>"]


def words(name):
    """MPNet's vocabulary is BERT's, with four tokens before it and one after it."""
    with open(f"{name}/vocab.txt", "w", encoding="utf-8") as file:
        file.writelines(word + "\n" for word in dict.fromkeys(WORDS))
    return transformers.MPNetTokenizerFast(vocab_file=f"{name}/vocab.txt")


def merges(name):
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train(["train.src", "train.trg"], vocab_size=411, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                  show_progress=False)
    trained.save_model(name)
    return transformers.RobertaTokenizerFast(f"{name}/vocab.json", f"{name}/merges.txt")


def pieces(name):
    """The ids are those of the slow tokenizer, which calls SentencePiece."""
    file = hf_judge.write_pieces(f"{name}/sentencepiece.bpe.model")
    json_make.unigram(file, ["<s>", "<pad>", "</s>", "<unk>"], ["<mask>"]).save(f"{name}/tokenizer.json")
    return transformers.XLMRobertaTokenizer(file)


def shaken(model):
    """Makes every parameter random, so that no initial value hides an error."""
    torch.manual_seed(1)
    for name, value in model.named_parameters():
        value.data += 0.1 * torch.randn(value.shape)
    return model.eval()


def inputs(tokenizer, texts, pairs=None):
    """Returns the input of each text, or of each pair. Lists are given, because an empty second text by itself would be taken
    for none."""
    return [tokenizer([text], [pair] if pairs else None, return_tensors="pt", truncation=True, max_length=64)
            for text, pair in zip(texts, pairs or texts)]


def compare(what, ours, theirs, layers):
    """ours, theirs: [texts][numbers]. Fails beyond 8 epsilon sqrt(layers) of the largest number."""
    ours, theirs = numpy.array(ours), numpy.array(theirs)
    if ours.shape != theirs.shape:
        return kit.fail(f"{what}: {ours.shape} numbers, not {theirs.shape}")
    worst, limit = abs(ours - theirs).max(), 8 * EPSILON * layers ** 0.5 * abs(theirs).max()
    print(f"{what}: within {worst:.1e} of {limit:.1e}", flush=True)
    if not worst <= limit:
        kit.fail(f"{what}: not equal")


def embedded(program, folder, texts, *options):
    lines = "".join(text + "\n" for text in texts)
    return [line["embedding"] for line in kit.json_lines(kit.run(program, "embed", "-m", folder, "--json", *options, given=lines))]


def ranked(program, folder, query, texts):
    """Returns [score] of each text by `rerank`."""
    out = kit.run(program, "rerank", "-m", folder, "--json", "--query", query, given="".join(text + "\n" for text in texts))
    found = {line["line"]: line["score"] for line in kit.json_lines(out)}
    return [[found.get(i + 1)] for i in range(len(texts))]
