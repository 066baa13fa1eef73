"""hf_judge.py - compares random encoder-decoders of transformers, in double precision, with toy_translate: logits, greedy
translations and beam search; shared by the scripts beside it."""
import kit
import torch
import transformers

EPSILON = 2.0 ** -23


def shaken(model):
    """Makes every parameter random, so that no initial value hides an error."""
    for _, value in model.named_parameters():
        value.data += 0.1 * torch.randn(value.shape)
    return model


def logits(program, name, model, inputs, targets, layers):
    """Compares logits for ids of decoder inputs, targets: [texts][tokens]. program: that of logits.c. Fails beyond 8 epsilon
    sqrt(layers) of the largest logit."""
    rows = [ids[mask.bool()].tolist() for ids, mask in zip(inputs["input_ids"], inputs["attention_mask"])]
    given = "".join(" ".join(map(str, row)) + "\t" + " ".join(map(str, target)) + "\n" for row, target in zip(rows, targets.tolist()))
    ours = torch.tensor([[float(x) for x in line.split()] for line in (kit.run(program, name, given=given) or "").splitlines()])
    theirs = model(**inputs, decoder_input_ids=targets).logits.flatten(1)
    if ours.shape != theirs.shape:
        return kit.fail(f"{name}: logits {tuple(ours.shape)}, not {tuple(theirs.shape)}")
    worst, limit = float((ours - theirs).abs().max()), 8 * EPSILON * layers ** 0.5 * float(theirs.abs().max())
    print(f"{name}: {ours.numel()} logits within {worst:.1e} of {limit:.1e}", flush=True)
    if not worst <= limit:
        kit.fail(f"{name}: logits differ")


def greedy(model, inputs, forbidden, limit, first=None):
    """Returns scores and ids by transformers. first: the token that is forced at the beginning."""
    out = model.generate(**inputs, num_beams=1, suppress_tokens=forbidden, forced_bos_token_id=first,
                         return_dict_in_generate=True, output_logits=True)
    steps = torch.stack(out.logits, 1).log_softmax(-1).gather(2, out.sequences[:, 1:, None])[..., 0]
    steps[:, limit - 2:] = 0  # the end is forced, whatever its probability is
    if first is not None:
        steps[:, 0] = 0
    ended = (out.sequences[:, 1:] == model.config.eos_token_id).cumsum(1)
    before = torch.nn.functional.pad(ended, (1, 0))[:, :-1] > 0
    return steps.masked_fill(before, 0).sum(1) / (~before).sum(1), out.sequences


def beams(search, inputs, forbidden, limit, count, penalty, first=None):
    """Returns scores and ids by the search of hf_search.py, which never repeats two tokens."""
    repetition, end = transformers.NoRepeatNGramLogitsProcessor(2), search.config.eos_token_id

    def process(ids, scores):
        scores[:, forbidden] = -torch.inf
        scores = repetition(ids, scores)
        forced = first if ids.shape[1] == 1 else end if ids.shape[1] == limit - 1 else None
        if forced is not None:
            scores[:] = -torch.inf
            scores[:, forced] = 0
        return scores

    return search.best(inputs, count, penalty, limit, process)


def token_ids(program, folder, lines, wanted):
    """Compares ids of lines with [lines][ids]."""
    ours = kit.run(program, "tokenize", "-m", folder, "--ids", given="".join(line + "\n" for line in lines)).split("\n")[:-1]
    wrong = [(line, our, their) for line, our, their in zip(lines, ours, (" ".join(map(str, ids)) for ids in wanted)) if our != their]
    print(f"{folder}: ids of {len(ours) - len(wrong)} of {len(lines)} lines", flush=True)
    if wrong or len(ours) != len(lines):
        kit.fail(f"{folder}: {wrong[:3]!r}")
