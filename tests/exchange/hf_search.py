"""hf_search.py - the beam search of transformers 5.24 over models of transformers 4.40; shared by the scripts beside it.
transformers 5 needs a newer PyTorch than Debian's, so only its search is run: the functions of its wheel."""
import ast
import glob
import types
import zipfile

import torch

FUNCTIONS = ("_beam_search", "_get_top_k_continuations", "_get_running_beams_for_next_iteration", "_update_finished_beams",
             "_check_early_stop_heuristic", "_beam_search_has_unfinished_sequences", "_flatten_beam_dim",
             "_unflatten_beam_dim", "_gather_beams")


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

    def best(self, inputs, beams, penalty, limit, process):
        """Returns (scores, ids) of the best outputs. inputs: a batch of a tokenizer. process: changes the log-probabilities of
        each step, given the ids."""
        config, end = self.config, self.config.eos_token_id

        def stop(ids, _):
            return (ids[:, -1] == end) | (ids.shape[1] >= limit)

        options = types.SimpleNamespace(
            _pad_token_tensor=torch.tensor(config.pad_token_id), _eos_token_tensor=torch.tensor([end]), do_sample=False,
            early_stopping=False, length_penalty=penalty, max_length=limit, num_beams=beams, num_return_sequences=1,
            low_memory=False, is_assistant=False, return_dict_in_generate=True, output_scores=True, output_logits=False,
            output_attentions=False, output_hidden_states=False)
        mask = inputs["attention_mask"]
        encoded = self.model.get_encoder()(inputs["input_ids"], attention_mask=mask)
        encoded.last_hidden_state = encoded.last_hidden_state.repeat_interleave(beams, 0)
        start = torch.full((len(mask) * beams, 1), config.decoder_start_token_id)
        out = self._beam_search(start, process, stop, options, encoder_outputs=encoded,
                                attention_mask=mask.repeat_interleave(beams, 0))
        return out.sequences_scores, out.sequences


def parse(folder, path):
    """Returns the statements of a file in the wheel in FOLDER/search."""
    return ast.parse(zipfile.ZipFile(glob.glob(f"{folder}/search/*.whl")[0]).read(path)).body


def functions_of(statements, names):
    """Returns the functions with these names, without annotations, because these name types of transformers."""
    functions = [node for node in statements if getattr(node, "name", "") in names]
    assert len(functions) == len(names)
    for node in functions:
        node.returns = None
        for argument in (*node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
    return functions


def search_class(folder, double):
    """Returns a class of the search that adds log-probabilities in float32, as transformers does, or in double."""
    mixin = next(node for node in parse(folder, "transformers/generation/utils.py") if getattr(node, "name", "") == "GenerationMixin")
    functions = functions_of(mixin.body, FUNCTIONS)
    text = ast.unparse(ast.Module([ast.ClassDef("Search", [], [], functions, [])], []))
    if double:
        assert text.count("torch.float32") > 3
        text = text.replace("torch.float32", "torch.float64").replace("torch.float,", "torch.float64,")
    names = {"torch": torch, "nn": torch.nn, "ALL_CACHE_NAMES": ["past_key_values"],
             "GenerateBeamEncoderDecoderOutput": types.SimpleNamespace}
    exec(text, names)
    return type("Search", (Model, names["Search"]), {})
