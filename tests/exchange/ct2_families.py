"""ct2_families.py PROGRAM - converts random models of transformers by CTranslate2's converter: NLLB-200, whose translations of
the folder must be those of CTranslate2, and T5, which is refused with a reason. The folders have words but no tokenizers, so
both are given pieces."""
import os
import sys

import ctranslate2
import hf_judge
import kit
import marian
import sentencepiece
import torch
import transformers
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

program = sys.argv[1]
LINES, LENGTH = 200, 24
SIZES = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
         "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "init_std": 0.3, "max_position_embeddings": 128}


class Converter(ctranslate2.converters.TransformersConverter):
    """The converter of 4.8 wants transformers 5 or protobuf to load a model and its tokenizer; these are loaded here."""

    def __init__(self, folder, tokenizer):
        super().__init__(folder)
        self.tokenizer = tokenizer

    def load_model(self, kind, folder, **options):
        return kind.from_pretrained(folder)

    def load_tokenizer(self, kind, folder, **options):
        return self.tokenizer


def convert(folder, tokenizer, model):
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return Converter(folder, tokenizer).convert(folder + ".ct2")


def nllb():
    os.mkdir("nllb")
    pieces = hf_judge.write_pieces("nllb/sentencepiece.bpe.model")
    added = [*FAIRSEQ_LANGUAGE_CODES, "<mask>"]
    tokenizer = transformers.NllbTokenizer(pieces, src_lang="eng_Latn", tgt_lang="deu_Latn", added_tokens_decoder={
        151 + i: transformers.AddedToken(token, special=True, normalized=False) for i, token in enumerate(added)})
    config = transformers.M2M100Config(vocab_size=len(tokenizer), **SIZES)
    folder = convert("nllb", tokenizer, hf_judge.shaken(transformers.M2M100ForConditionalGeneration(config)))
    encoder = sentencepiece.SentencePieceProcessor(model_file=pieces)
    lines = [encoder.encode(line, out_type=str) for line in open("train.src", encoding="utf-8").read().splitlines()[:LINES]]
    with open("pieces", "w", encoding="utf-8") as file:
        file.writelines(" ".join(line) + " </s>\n" for line in lines)  # add_source_eos is false
    engine = ctranslate2.Translator(folder, compute_type="float32", intra_threads=1)
    for beam in 1, 3:
        out = engine.translate_batch([["eng_Latn", *line, "</s>"] for line in lines], target_prefix=[["deu_Latn"]] * len(lines),
                                     beam_size=beam, max_decoding_length=LENGTH, max_batch_size=1)
        ours = kit.run(program, "translate", "--lines", "--model", folder, "--beam", beam, "--max-length", LENGTH, "--source-lang",
                       "eng_Latn", "--target-lang", "deu_Latn", "pieces")
        theirs = [" ".join(word for word in result.hypotheses[0] if word != "<s>") for result in out]  # no text
        equal = sum(our == their for our, their in zip((ours or "").splitlines(), theirs))
        print(f"NLLB-200, beam {beam}: {equal} of {len(lines)} lines equal", flush=True)
        if equal != len(lines):
            kit.fail("NLLB-200: not the translations of CTranslate2")


def t5():
    os.mkdir("t5")
    pieces = hf_judge.write_pieces("t5/spiece.model", " --pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1")
    tokenizer = transformers.T5Tokenizer(pieces, extra_ids=10, legacy=True)
    folder = convert("t5", tokenizer, transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0)))
    done = kit.subprocess.run([program, "info", folder], capture_output=True, encoding="utf-8")
    if done.returncode != 1 or "decoder/scale_outputs is 0.176777, which is not supported" not in done.stderr:
        kit.fail(f"T5: {done.stderr}")


transformers.logging.set_verbosity_error()
torch.manual_seed(1)
marian.corpus(program)
nllb()
t5()
kit.end()
