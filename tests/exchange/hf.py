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


def translated(model, tokenizer, lines, **options):
    """Returns (score, text) for each line, by transformers."""
    found = []
    options = options or {"num_beams": 1, "max_length": hf_models.POSITIONS}
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


def judge_settings(tokenizer, lines):
    """Compares the translations by the settings in generation_config.json."""
    model = hf_models.make("swish", tokenizer)
    avoided = tokenizer(text_target=lines[0])["input_ids"][0]
    for number, settings in enumerate((
            {"max_length": 9}, {"min_length": 14, "no_repeat_ngram_size": 2},
            {"min_new_tokens": 12, "no_repeat_ngram_size": 1, "max_length": 21},
            {"bad_words_ids": [[tokenizer.pad_token_id], [avoided]]})):
        for name, value in {"num_beams": 1, "max_length": hf_models.POSITIONS, **settings}.items():
            setattr(model.generation_config, name, value)
        folder = hf_models.save(model, f"settings{number}")
        theirs = translated(model, tokenizer, lines, generation_config=model.generation_config)
        ours = [(score, text.strip()) for score, text in kit.translations(program, folder, "lines", None)]
        kit.agree(f"{folder}: {settings}", ours, theirs, 5e-6, 0.9)
        for name in settings:
            setattr(model.generation_config, name, None if name.endswith("tokens") else 0)
        model.generation_config.bad_words_ids = [[tokenizer.pad_token_id]]


tokenizer, lines = hf_models.prepare(program, 20)
for kind in hf_models.KINDS:
    judge(kind, tokenizer, lines)
judge_settings(tokenizer, lines)
kit.end()
