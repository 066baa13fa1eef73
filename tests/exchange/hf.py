"""hf.py PROGRAM - trains MarianMT models with transformers, saves them as safetensors and by torch.save, in float32 and
float16, and with the package safetensors from numpy's arrays, and compares greedy translations and their scores. hf_beam.py
compares beam search."""
import shutil
import sys

import hf_models
import kit
import safetensors.numpy
import torch
import transformers

program = sys.argv[1]


def translated(model, tokenizer, lines):
    """Returns (score, text) for each line, by transformers."""
    found = []
    for line in lines:
        with torch.no_grad():
            out = model.generate(**tokenizer(line, return_tensors="pt"), num_beams=1, max_length=hf_models.POSITIONS,
                                 return_dict_in_generate=True, output_scores=True)
        steps = model.compute_transition_scores(out.sequences, out.scores, normalize_logits=True)
        text = tokenizer.decode(out.sequences[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        found.append((float(steps.mean()), text))
    return found


def compare(folder, theirs):
    kit.agree(folder, kit.translations(program, folder, "lines"), theirs, 5e-6, 0.9)


def judge(kind, tokenizer, lines):
    model = hf_models.make(kind, tokenizer)
    theirs = translated(model, tokenizer, lines)
    compare(hf_models.save(model, kind), theirs)
    compare(hf_models.save(model, f"{kind}.torch", safe_serialization=False), theirs)
    arrays = safetensors.numpy.load_file(f"{kind}/model.safetensors")
    package = shutil.copytree(kind, f"{kind}.package")
    safetensors.numpy.save_file(dict(reversed(arrays.items())), f"{package}/model.safetensors")
    compare(package, theirs)
    half = hf_models.save(model.half(), f"{kind}.half")
    widened = transformers.MarianMTModel.from_pretrained(half, torch_dtype=torch.float32)
    compare(half, translated(widened, tokenizer, lines))


tokenizer, lines = hf_models.prepare(program, 20)
for kind in hf_models.KINDS:
    judge(kind, tokenizer, lines)
kit.end()
