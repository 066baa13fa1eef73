"""hf_beam.py PROGRAM FOLDER - compares beam search with that of transformers 5.24. transformers 5 needs a newer PyTorch than
Debian's, so only its search is run: the functions of its wheel, in FOLDER/search, over models of transformers 4.40. It adds
log-probabilities in float32, toy_translate in double. For long texts of models that hardly prefer one token to another this
decides which of two texts is kept, so the search is also run in double, where all texts must be equal."""
import ast
import glob
import sys
import types
import zipfile

import hf_models
import kit
import torch

program, folder = sys.argv[1:]
FUNCTIONS = ("_beam_search", "_get_top_k_continuations", "_get_running_beams_for_next_iteration", "_update_finished_beams",
             "_check_early_stop_heuristic", "_beam_search_has_unfinished_sequences", "_flatten_beam_dim",
             "_unflatten_beam_dim", "_gather_beams")


def search_class(double):
    """Returns a class with the functions of the search, without the annotations, which name types of transformers."""
    source = zipfile.ZipFile(glob.glob(f"{folder}/search/*.whl")[0]).read("transformers/generation/utils.py")
    mixin = next(node for node in ast.parse(source).body if getattr(node, "name", "") == "GenerationMixin")
    functions = [node for node in mixin.body if getattr(node, "name", "") in FUNCTIONS]
    assert len(functions) == len(FUNCTIONS)
    for node in functions:
        node.returns = None
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
    text = ast.unparse(ast.Module([ast.ClassDef("Search", [], [], functions, [])], []))
    if double:
        assert text.count("torch.float32") > 3
        text = text.replace("torch.float32", "torch.float64").replace("torch.float,", "torch.float64,")
    names = {"torch": torch, "nn": torch.nn, "ALL_CACHE_NAMES": ["past_key_values"],
             "GenerateBeamEncoderDecoderOutput": types.SimpleNamespace}
    exec(text, names)
    return names["Search"]


class Model:
    """Connects the functions with a model; the names of methods are theirs."""

    def __init__(self, model):
        self.model, self.config = model, model.config

    def __call__(self, **given):
        return self.model(**given)

    def _has_unfinished_sequences(self, finished, *_, **__):
        return not finished

    def _prefill(self, ids, config, given, is_first_iteration):
        return self.model(decoder_input_ids=ids, use_cache=True, **given)

    def prepare_inputs_for_generation(self, ids, next_sequence_length=None, **given):
        return {"decoder_input_ids": ids[:, -next_sequence_length:], **given}

    def _update_model_kwargs_for_generation(self, out, given, is_encoder_decoder):
        return {**given, "past_key_values": out.past_key_values, "use_cache": True}

    def _reorder_cache(self, cache, beams):
        return self.model._reorder_cache(cache, beams.long())

    def best(self, source, beams, penalty):
        """Returns (score, ids) for one source."""
        config, limit, end = self.config, hf_models.POSITIONS, self.config.eos_token_id
        pad = config.pad_token_id

        def process(ids, scores):  # bad_words_ids and forced_eos_token_id
            scores[:, pad] = -torch.inf
            if ids.shape[1] == limit - 1:
                scores[:] = -torch.inf
                scores[:, end] = 0
            return scores

        def stop(ids, _):
            return (ids[:, -1] == end) | (ids.shape[1] >= limit)

        options = types.SimpleNamespace(
            _pad_token_tensor=torch.tensor(pad), _eos_token_tensor=torch.tensor([end]), do_sample=False, early_stopping=False,
            length_penalty=penalty, max_length=limit, num_beams=beams, num_return_sequences=1, low_memory=False,
            is_assistant=False, return_dict_in_generate=True, output_scores=True, output_logits=False,
            output_attentions=False, output_hidden_states=False)
        encoded = self.model.get_encoder()(source)
        encoded.last_hidden_state = encoded.last_hidden_state.expand(beams, -1, -1).contiguous()
        out = self._beam_search(torch.full((beams, 1), config.decoder_start_token_id), process, stop, options,
                                encoder_outputs=encoded)
        return float(out.sequences_scores[0]), out.sequences[0]


class FloatSearch(Model, search_class(False)):
    pass


class DoubleSearch(Model, search_class(True)):
    pass


def found(search, tokenizer, line, beams, penalty):
    score, ids = search.best(tokenizer(line, return_tensors="pt")["input_ids"], beams, penalty)
    return score, tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)


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
