"""coverage.py PROGRAM ENGINES LOGITS LIBRARY HEADERS - compares attention with coverage scores (Tu et al. 2016; See et al. 2017),
forward and backward, with PyTorch in double precision: the formulas, written out query by query. LIBRARY is librapt.so, and
HEADERS the folder that holds rapt/."""
import math

import bound
import numpy
import torch
from bound import rapt

HEADS, HIDDEN = 3, 6
SHAPES = ((5, 7, 4, 3, False), (30, 20, 8, 10, False), (12, 90, 16, 5, False), (33, 33, 8, 8, True))
LEARNED = {
    "W": rapt.RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT,
    "U": rapt.RAPT_ATTENTION_PARAMETER_KEY_WEIGHT,
    "b": rapt.RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS,
    "v": rapt.RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR,
    "w": rapt.RAPT_ATTENTION_PARAMETER_COVERAGE_WEIGHT,
}
random = numpy.random.default_rng(1)


def written_out(p, q, k, v, coverage, causal):
    """Returns out [H][T][V], where query t reads the sum of the weights of the queries before it."""
    projected_q, projected_k, out = q @ p["W"].transpose(1, 2), k @ p["U"].transpose(1, 2), []
    for t in range(q.shape[1]):
        inside = projected_q[:, t, None] + projected_k + coverage[:, :, None] * p["w"][:, None] + p["b"][:, None]
        scores = (torch.tanh(inside) * p["v"][:, None]).sum(-1)
        if causal:
            scores = scores.masked_fill(torch.arange(k.shape[1]) > t, -math.inf)
        weights = torch.softmax(scores, -1)
        coverage = coverage + weights
        out.append((weights[:, None] @ v)[:, 0])
    return torch.stack(out, 1)


def drawn(*shape):
    return (random.standard_normal(shape) * 0.7).astype(numpy.float32)


def theirs(arrays, learned, before, dout, causal):
    """Returns out and the gradients of q, k, v and of the learned arrays."""
    tensors = [torch.tensor(x, dtype=torch.double, requires_grad=True) for x in [*arrays, *learned.values()]]
    out = written_out(dict(zip(learned, tensors[3:])), *tensors[:3], torch.tensor(before, dtype=torch.double), causal)
    (out * torch.tensor(dout)).sum().backward()
    return out.detach().numpy(), [x.grad.numpy() for x in tensors]


count = 0
for queries, keys, width, value_width, causal in SHAPES:
    for given in (False, True):
        arrays = drawn(HEADS, queries, width), drawn(HEADS, keys, width), drawn(HEADS, keys, value_width)
        dout = drawn(HEADS, queries, value_width)
        learned = {"W": drawn(HEADS, HIDDEN, width), "U": drawn(HEADS, HIDDEN, width), "b": drawn(HEADS, HIDDEN),
                   "v": drawn(HEADS, HIDDEN), "w": drawn(HEADS, HIDDEN)}
        before = abs(drawn(HEADS, keys)) if given else numpy.zeros((HEADS, keys), numpy.float32)
        a = bound.problem(*arrays)
        a.score, a.parameters.hidden, a.mask.causal = rapt.RAPT_SCORE_COVERAGE, HIDDEN, causal
        if given:
            a.previous_weights = bound.floats(before)
        for name, array in LEARNED.items():
            a.parameters.array[array] = bound.floats(learned[name])
        out, gradients = theirs(arrays, learned, before, dout, causal)
        for i, (name, array) in enumerate(LEARNED.items()):
            got = bound.attend(a, *arrays, dout, array, learned[name])
            wanted = [out, *gradients[:3], gradients[3 + i]]
            bound.compare(f"{queries} queries, {keys} keys, coverage given: {given}", got, wanted,
                          ("out", "dq", "dk", "dv", f"d{name}"))
            count += 1
print(f"{count} comparisons with PyTorch {torch.__version__} agree")
