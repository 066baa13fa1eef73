"""hf.py - trains MarianMT models with transformers and compares translations and scores:

    hf       greedy, of models that are saved as safetensors and by torch.save, in float32 and float16, and with the package
             safetensors from numpy's arrays
    hf_beam  beam search of transformers 5.24. It adds log-probabilities in float32, toy_translate in double. For long texts of
             models that hardly prefer one token to another this decides which of two texts is kept, so the search is also run
             in double, where all texts must be equal"""
import json
import os
import shutil
import sys

import hf_search
import kit
import safetensors.numpy
import sentencepiece
import torch
import transformers

program, engines = sys.argv[1:3]


# ---- models ----

POSITIONS = 512
KINDS = {
    "swish": {"activation_function": "swish", "scale_embedding": True},
    "relu": {"activation_function": "relu", "scale_embedding": True, "encoder_layers": 3, "decoder_layers": 1},
    "gelu": {"activation_function": "gelu", "scale_embedding": True, "normalize_embedding": False},
}


def write_tokenizer(folder):
    """Writes two SentencePiece models and the ids of all their pieces, as OPUS-MT has them."""
    names = ["</s>", "<unk>"]
    for side, text in (("source", "train.src"), ("target", "train.trg")):
        sentencepiece.SentencePieceTrainer.Train(f"--input={text} --model_prefix={side} --vocab_size=120 --minloglevel=2")
        shutil.move(f"{side}.model", f"{folder}/{side}.spm")
        pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/{side}.spm")
        names += [piece for piece in map(pieces.IdToPiece, range(len(pieces))) if piece not in (*names, "<s>")]
    names.append("<pad>")
    json.dump({name: number for number, name in enumerate(names)}, open(f"{folder}/vocab.json", "w"))
    json.dump({"source_lang": "en", "target_lang": "de"}, open(f"{folder}/tokenizer_config.json", "w"))


def make(kind, tokenizer, steps=150):
    torch.manual_seed(1)
    pad = tokenizer.pad_token_id
    config = transformers.MarianConfig(**{
        "vocab_size": len(tokenizer), "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.06, "dropout": 0,
        "max_position_embeddings": POSITIONS, "pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0,
        "forced_eos_token_id": 0, "bad_words_ids": [[pad]], "max_length": POSITIONS, **KINDS[kind]})
    model = transformers.MarianMTModel(config)
    train(model, tokenizer, steps)
    return model.eval()


def train(model, tokenizer, steps, batch=16):
    model.final_logits_bias.normal_(std=0.1)  # OPUS-MT's is not 0 either
    optimizer = torch.optim.Adam(model.parameters(), lr=0.004)
    pairs = [line.rstrip("\n").split("\t") for line in open("train.tsv", encoding="utf-8")]
    for step in range(steps):
        sources, targets = zip(*(pairs[i % len(pairs)] for i in range(step * batch, (step + 1) * batch)))
        inputs = tokenizer(list(sources), text_target=list(targets), return_tensors="pt", padding=True)
        inputs["labels"][inputs["labels"] == tokenizer.pad_token_id] = -100
        model(**inputs).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def save(model, folder, **options):
    shutil.copytree("tokenizer", folder)
    model.save_pretrained(folder, **options)
    return folder


def prepare(count):
    """Writes the corpus and a tokenizer; returns the tokenizer and the first sources, which the file lines holds, too."""
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    kit.corpus(program)
    os.mkdir("tokenizer")
    write_tokenizer("tokenizer")
    lines = open("pairs.src", encoding="utf-8").read().splitlines()[:count]
    open("lines", "w", encoding="utf-8").writelines(line + "\n" for line in lines)
    return transformers.MarianTokenizer.from_pretrained("tokenizer"), lines


# ---- greedy translations ----

def translated(model, tokenizer, lines, **options):
    """Returns (score, text) for each line, by transformers."""
    found = []
    options = options or {"num_beams": 1, "max_length": POSITIONS}
    limit = options.get("max_length") or options["generation_config"].max_length
    for line in lines:
        with torch.no_grad():
            out = model.generate(**tokenizer(line, return_tensors="pt"), return_dict_in_generate=True, output_logits=True,
                                 **options)
        logits = torch.cat(out.logits)
        logits[:, tokenizer.pad_token_id] = -torch.inf
        steps = logits.log_softmax(1).gather(1, out.sequences[0, 1:, None])
        if out.sequences.shape[1] == limit:
            steps[-1] = 0  # the end is forced, whatever its probability is
        text = tokenizer.decode(out.sequences[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        found.append((float(steps.mean()), text.strip()))
    return found


def compare(folder, theirs):
    kit.agree(folder, kit.translations(program, folder, "lines"), theirs, 5e-6, 0.9)


def judge(kind, tokenizer, lines):
    model = make(kind, tokenizer)
    theirs = translated(model, tokenizer, lines)
    compare(save(model, kind), theirs)
    compare(save(model, f"{kind}.torch", safe_serialization=False), theirs)
    arrays = safetensors.numpy.load_file(f"{kind}/model.safetensors")
    package = shutil.copytree(kind, f"{kind}.package")
    safetensors.numpy.save_file(dict(reversed(arrays.items())), f"{package}/model.safetensors")
    compare(package, theirs)
    half = save(model.half(), f"{kind}.half")
    widened = transformers.MarianMTModel.from_pretrained(half, torch_dtype=torch.float32)
    compare(half, translated(widened, tokenizer, lines))


def judge_settings(tokenizer, lines):
    """Compares the translations by the settings in generation_config.json."""
    model = make("swish", tokenizer)
    avoided = tokenizer(text_target=lines[0])["input_ids"][0]
    for number, settings in enumerate((
            {"max_length": 9}, {"min_length": 14, "no_repeat_ngram_size": 2},
            {"min_new_tokens": 12, "no_repeat_ngram_size": 1, "max_length": 21},
            {"bad_words_ids": [[tokenizer.pad_token_id], [avoided]]})):
        for name, value in {"num_beams": 1, "max_length": POSITIONS, **settings}.items():
            setattr(model.generation_config, name, value)
        folder = save(model, f"settings{number}")
        theirs = translated(model, tokenizer, lines, generation_config=model.generation_config)
        ours = [(score, text.strip()) for score, text in kit.translations(program, folder, "lines", None)]
        kit.agree(f"{folder}: {settings}", ours, theirs, 5e-6, 0.9)
        for name in settings:
            setattr(model.generation_config, name, None if name.endswith("tokens") else 0)
        model.generation_config.bad_words_ids = [[tokenizer.pad_token_id]]


def test_hf():
    tokenizer, lines = prepare(20)
    for kind in KINDS:
        judge(kind, tokenizer, lines)
    judge_settings(tokenizer, lines)


# ---- beam search ----

def found(search, tokenizer, line, beams, penalty):
    config, limit = search.config, POSITIONS

    def process(ids, scores):  # bad_words_ids and forced_eos_token_id
        scores[:, config.pad_token_id] = -torch.inf
        if ids.shape[1] == limit - 1:
            scores[:] = -torch.inf
            scores[:, config.eos_token_id] = 0
        return scores

    score, ids = search.best(tokenizer(line, return_tensors="pt"), beams, penalty, limit, process)
    return float(score[0]), tokenizer.decode(ids[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)


def judge_beams(name, model, tokenizer, lines, searches):
    # transformers counts the pad token's probability, although it forbids the token. With the usual logit of 0 it is at
    # most 1e-6 in a trained model. Here it is none, as in every model that toy_translate reads.
    model.final_logits_bias[0, model.config.pad_token_id] = -1e9
    save(model, name)
    with open("some", "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    for beams, penalty in ((2, 1.0), (4, 1.0), (4, 0.5), (3, 2.0)):
        ours = kit.translations(program, name, "some", beams, "--length-penalty", penalty)
        scale = POSITIONS ** max(1 - penalty, 0)  # of scores, which are sums / length^penalty
        for kind, search, least in zip(("float", "double"), (search(model) for search in searches), (0.75, 1)):
            kit.agree(f"{name}: {beams} beams, penalty {penalty}, {kind}", ours,
                      [found(search, tokenizer, line, beams, penalty) for line in lines], 5e-6 * scale, least)


def test_hf_beam():
    searches = [hf_search.search_class(engines, double) for double in (False, True)]
    tokenizer, lines = prepare(40)
    trained = make("swish", tokenizer)
    torch.set_grad_enabled(False)
    judge_beams("trained", trained, tokenizer, lines, searches)
    judge_beams("untrained", make("swish", tokenizer, steps=0), tokenizer, lines[:4], searches)


kit.main(globals())
