"""ct2_converter.py - converts models by CTranslate2's converters and compares with CTranslate2, which computes in float32:

    ct2_converted  models that Marian has trained, in each type of numbers: tokens and scores
    ct2_encoders   random encoders of BERT, DistilBERT, RoBERTa and XLM-RoBERTa, in each type of numbers: vectors, also with
                   transformers in double precision. Those of a folder in float32 must have the bits of those of the folder that
                   was converted
    ct2_families   random models of NLLB-200, mBART-50, mBART-25, BART and T5: translations and scores

The converter of transformers' models writes words; the files of the tokenizer are copied beside them, as its option --copy_files
does. golden/make_transformers.py converts models, too."""
import json
import os
import shutil
import sys

import ctranslate2
import hf_judge
import kit
import marian
import numpy
import sentencepiece
import torch
import transformers

program = sys.argv[1]


class Converter(ctranslate2.converters.TransformersConverter):
    """The converter of 4.8 wants transformers 5 or protobuf to load a model and its tokenizer; these are loaded here. options
    replace settings of the model's configuration once it is loaded; files of the model are copied."""

    def __init__(self, folder, tokenizer, options=None, files=None):
        super().__init__(folder, copy_files=files)
        self.tokenizer, self.options = tokenizer, options or {}

    def load_model(self, kind, folder, **options):
        model = kind.from_pretrained(folder)
        model.config.update(self.options)
        return model

    def load_tokenizer(self, kind, folder, **options):
        return self.tokenizer


# ---- models of Marian ----

def write_vocabulary(kind):
    """Writes the pieces as a word list, as in OPUS-MT's models; the converter reads nothing else."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=f"{kind}/vocab.spm")
    with open(f"{kind}/vocab.yml", "w", encoding="utf-8") as file:
        for number in range(len(pieces)):
            file.write(f"{json.dumps(pieces.IdToPiece(number), ensure_ascii=False)}: {number}\n")


def convert_marian(kind, quantization):
    """Converts a copy of the model: the converter fails unless exactly one zero follows the configuration, and Marian pads
    it with several."""
    arrays = dict(numpy.load(f"{kind}/ende.npz"))
    text = arrays["special:model.yml"].tobytes().rstrip(b"\0") + b"\0"
    numpy.savez(f"{kind}/once.npz", **{**arrays, "special:model.yml": numpy.frombuffer(text, "i1")})
    folder = f"{kind}.{quantization}"
    converter = ctranslate2.converters.MarianConverter(f"{kind}/once.npz", [f"{kind}/vocab.yml", f"{kind}/vocab.yml"])
    converter.convert(folder, quantization=None if quantization == "float32" else quantization)
    return folder


def translated(folder, beam):
    """Returns (score, pieces) for each source, by CTranslate2."""
    translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", intra_threads=1)
    lines = [line.split() for line in open("pieces.src", encoding="utf-8")]
    found = translator.translate_batch(lines, beam_size=beam, max_batch_size=1, return_scores=True)
    return [(result.scores[0], " ".join(result.hypotheses[0])) for result in found]


def write_pieces():
    pieces = sentencepiece.SentencePieceProcessor(model_file="post/vocab.spm")
    with open("pieces.src", "w", encoding="utf-8") as out:
        for line in open("pairs.src", encoding="utf-8"):
            out.write(" ".join(pieces.EncodeAsPieces(line.rstrip("\n"))) + "\n")


def test_ct2_converted():
    kit.corpus(program)
    for kind in ("post", "pre", "untied"):
        marian.train(kind)
        write_vocabulary(kind)
        write_pieces()
        for quantization in ("float32", "int8", "int16", "float16"):
            folder = convert_marian(kind, quantization)
            for beam in (1, 4):
                kit.agree(f"{folder}: beam {beam}", kit.translations(program, folder, "pieces.src", beam),
                          translated(folder, beam), 5e-5, 0.95)


# ---- encoders ----

ENCODED = ["the cat sleeps .", "Unfriendly dogs, running!", "caf\u00e9 M\u00fcnchen 123", "\u4e2d\u6587 is it", "", "a", "the " * 50 + "end"]
TYPES = ["float32", "int8", "int16", "float16", "bfloat16", "int8_float32", "int8_float16"]
LAYERS, BATCH, POSITIONS = 3, 16, 160
ENCODER = {"hidden_size": 32, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "intermediate_size": 48,
           "max_position_embeddings": POSITIONS, "layer_norm_eps": 1e-5}
PADDED = {**ENCODER, "max_position_embeddings": POSITIONS + 2, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
          "type_vocab_size": 1}
DISTIL = {"dim": 32, "n_layers": LAYERS, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": POSITIONS}


def bert_tokenizer(name):
    """Returns BERT's tokenizer without the special tokens of MPNet, which stand for BERT's where a vocabulary has both."""
    with open(f"{name}/vocab.txt", "w", encoding="utf-8") as file:
        file.writelines(word + "\n" for word in dict.fromkeys(hf_judge.WORDS) if not word.startswith("<"))
    return transformers.BertTokenizerFast(f"{name}/vocab.txt")


ENCODERS = {  # configuration, its sizes, model, tokenizer, files of the tokenizer, rows of the table without a token
    "bert": (transformers.BertConfig, ENCODER, transformers.BertModel, bert_tokenizer, ["tokenizer.json"], 3),
    "distilbert": (transformers.DistilBertConfig, DISTIL, transformers.DistilBertModel, bert_tokenizer, ["vocab.txt", "tokenizer_config.json"], 0),
    "roberta": (transformers.RobertaConfig, PADDED, transformers.RobertaModel, hf_judge.roberta_tokenizer, ["vocab.json", "merges.txt"], 0),
    "xlm": (transformers.XLMRobertaConfig, PADDED, transformers.XLMRobertaModel, hf_judge.xlm_tokenizer,
            ["sentencepiece.bpe.model"], 0),
}


def encoded(folder, ids):
    """Returns the mean of the rows of each text, by CTranslate2. Texts of a batch are padded there."""
    encoder = ctranslate2.Encoder(folder, device="cpu", compute_type="float32", intra_threads=1)
    means = []
    for first in range(0, len(ids), BATCH):
        some = ids[first:first + BATCH]
        rows = numpy.array(encoder.forward_batch(some).last_hidden_state).astype("float64")
        means += [rows[n, :len(text)].mean(0).tolist() for n, text in enumerate(some)]
    return means


def convert_encoder(name, tokenizer, files, kind):
    """Returns a folder that has the files of the tokenizer, except for bfloat16, whose folder is in that of the model."""
    inner = kind == "bfloat16"
    folder = f"{name}/ct2" if inner else f"{name}.{kind}"
    converter = Converter(name, tokenizer, files=None if inner else files)
    return converter.convert(folder, quantization=None if kind == "float32" else kind)


def judge_encoder(name, texts):
    config, sizes, kind, make, files, more = ENCODERS[name]
    os.mkdir(name)
    tokenizer = make(name)
    torch.manual_seed(1)
    model = hf_judge.shaken(kind(config(vocab_size=len(tokenizer) + more, **sizes))).eval()
    model.save_pretrained(name)
    tokenizer.save_pretrained(name)
    if make is bert_tokenizer:
        os.remove(f"{name}/tokenizer.json" if "vocab.txt" in files else f"{name}/vocab.txt")
    ids = [tokenizer(text, truncation=True, max_length=POSITIONS)["input_ids"] for text in texts]
    folders = {numbers: convert_encoder(name, tokenizer, files, numbers) for numbers in TYPES}
    ours = {numbers: hf_judge.embedded(program, folder, texts, "--precision", "f32") for numbers, folder in folders.items()}
    model = model.double()
    wanted = [model(torch.tensor([one])).last_hidden_state[0].mean(0).tolist() for one in ids]
    hf_judge.compare(f"{name}, transformers", ours["float32"], wanted, LAYERS)
    if ours["float32"] != hf_judge.embedded(program, name, texts, "--precision", "f32"):
        kit.fail(f"{name}: the folder that was converted gives other vectors")
    # Each program may be off by the rounding errors of a float pass.
    for numbers, folder in folders.items():
        hf_judge.compare(folder, ours[numbers], encoded(folder, ids), 4 * LAYERS)


def test_ct2_encoders():
    hf_judge.prepare(program)
    lines = ENCODED + hf_judge.real_lines() + hf_judge.random_lines(500)
    for family in ENCODERS:
        judge_encoder(family, lines)
    os.remove("bert.int8/tokenizer.json")
    kit.refused(program, "bert.int8", "its vocabulary has no rules for splitting texts; copy the original model's tokenizer.json")


# ---- encoder-decoders ----

LENGTH = 24
ENCODER_DECODER = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
                   "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.3,
                   "max_position_embeddings": 128, "normalize_embedding": True, "decoder_start_token_id": 2, "scale_embedding": True}
T5 = {"d_model": 32, "d_kv": 12, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4, "decoder_start_token_id": 0,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
GATED = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}


def convert(name, tokenizer, model, files, changes=None):
    """Returns a folder of CTranslate2."""
    model.save_pretrained(name)
    return Converter(name, tokenizer, changes, files).convert(f"{name}.ct2")


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
    os.mkdir("nllb")
    tokenizer = hf_judge.nllb_tokenizer("nllb", "eng_Latn", "deu_Latn")
    model = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(vocab_size=len(tokenizer), **ENCODER_DECODER))
    folder = convert("nllb", tokenizer, hf_judge.shaken(model), ["sentencepiece.bpe.model"])
    judge(folder, tokenizer, lines, ["deu_Latn"], ("--source-lang", "eng_Latn", "--target-lang", "deu_Latn"))


def mbart(name, kind, lines):
    """The converter writes that mBART-50 has no begin token, which CTranslate2 4.8 cannot read; the folder that it reads has one."""
    tokenizer = kind(pieces(name, "sentencepiece.bpe.model"), src_lang="en_XX", tgt_lang="de_DE")
    config = transformers.MBartConfig(vocab_size=len(tokenizer), normalize_before=True, tokenizer_class=kind.__name__, **ENCODER_DECODER)
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
    tokenizer = transformers.BartTokenizerFast(*hf_judge.write_merges("bart"))
    config = transformers.BartConfig(vocab_size=len(tokenizer), normalize_before=False, **ENCODER_DECODER)
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


def test_ct2_families():
    lines = hf_judge.prepare(program, 200)
    torch.manual_seed(1)
    nllb(lines)
    mbart("mbart50", transformers.MBart50Tokenizer, lines)
    mbart("mbart25", transformers.MBartTokenizer, lines)
    bart(lines)
    t5(lines)
    repeated_t5()
    scaled_t5(lines)


if __name__ == "__main__":
    kit.main(globals())
