"""hf_beam.py PROGRAM FOLDER - compares beam search with that of transformers 5.24. It adds log-probabilities in float32,
toy_translate in double. For long texts of models that hardly prefer one token to another this decides which of two texts is
kept, so the search is also run in double, where all texts must be equal."""
import sys

import hf_models
import hf_search
import kit
import torch

program, folder = sys.argv[1:3]
FloatSearch, DoubleSearch = hf_search.search_class(folder, False), hf_search.search_class(folder, True)


def found(search, tokenizer, line, beams, penalty):
    config, limit = search.config, hf_models.POSITIONS

    def process(ids, scores):  # bad_words_ids and forced_eos_token_id
        scores[:, config.pad_token_id] = -torch.inf
        if ids.shape[1] == limit - 1:
            scores[:] = -torch.inf
            scores[:, config.eos_token_id] = 0
        return scores

    score, ids = search.best(tokenizer(line, return_tensors="pt"), beams, penalty, limit, process)
    return float(score[0]), tokenizer.decode(ids[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)


def judge(name, model, tokenizer, lines):
    # transformers counts the pad token's probability, although it forbids the token. With the usual logit of 0 it is at
    # most 1e-6 in a trained model. Here it is none, as in every model that toy_translate reads.
    model.final_logits_bias[0, model.config.pad_token_id] = -1e9
    hf_models.save(model, name)
    with open("some", "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    for beams, penalty in ((2, 1.0), (4, 1.0), (4, 0.5), (3, 2.0)):
        ours = kit.translations(program, name, "some", beams, "--length-penalty", penalty)
        scale = hf_models.POSITIONS ** max(1 - penalty, 0)  # of scores, which are sums / length^penalty
        for kind, search, least in (("float", FloatSearch(model), 0.75), ("double", DoubleSearch(model), 1)):
            kit.agree(f"{name}: {beams} beams, penalty {penalty}, {kind}", ours,
                      [found(search, tokenizer, line, beams, penalty) for line in lines], 5e-6 * scale, least)


tokenizer, lines = hf_models.prepare(program, 40)
trained = hf_models.make("swish", tokenizer)
torch.set_grad_enabled(False)
judge("trained", trained, tokenizer, lines)
judge("untrained", hf_models.make("swish", tokenizer, steps=0), tokenizer, lines[:4])
kit.end()
