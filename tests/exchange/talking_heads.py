"""talking_heads.py PROGRAM ENGINES LOGITS LIBRARY HEADERS - compares talking heads, forward and backward, with PyTorch in double
precision, written out from the paper (Shazeer et al. 2020). It has no operator for them. LIBRARY is librapt.so, and HEADERS the
folder that holds rapt/."""
import ctypes
import math

import bound
import numpy
import torch
from bound import rapt

HEADS = 4
SHAPES = ((5, 7, 4, 3, 4), (40, 90, 16, 20, 2), (70, 150, 24, 16, 1), (33, 300, 8, 8, 4))
NAMES = ("out", "dq", "dk", "dv", "dtalking_scores", "dtalking_weights")
random = numpy.random.default_rng(7)


def normal(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def sink(scores, number):
    """Returns softmax with one more key, whose weight is dropped."""
    column = number[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, column], -1), -1)[..., :-1]


def theirs(arrays, number, mixes, hidden, dout):
    """Returns out and the gradients of q, k, v and the matrices. Without a number, weights are those of softmax."""
    q, k, v, *mixes = tensors = [torch.tensor(x, dtype=torch.double, requires_grad=True) for x in (*arrays, *mixes)]
    group = HEADS // len(k)
    k, v = (x.repeat_interleave(group, 0) for x in (k, v))
    scores = torch.einsum("hg,gts->hts", mixes[0], q @ k.transpose(1, 2) / math.sqrt(q.shape[2])).masked_fill(hidden, -1e4)
    weights = torch.softmax(scores, -1) if number is None else sink(scores, torch.tensor(number, dtype=torch.double))
    out = torch.einsum("hg,gts->hts", mixes[1], weights.masked_fill(hidden, 0)) @ v
    (out * torch.tensor(dout, dtype=torch.double)).sum().backward()
    return [out.detach().numpy(), *(x.grad.numpy() for x in tensors)]


def ours(a, arrays, number, mixes, dout):
    out, statistics = numpy.zeros_like(dout), numpy.zeros((HEADS, dout.shape[1], 2), numpy.float32)
    results = [numpy.zeros_like(x) for x in (*arrays, *mixes)]
    a.talking_scores, a.talking_weights = (bound.floats(x) for x in mixes)
    if number is not None:
        a.normalizer = rapt.RAPT_NORMALIZER_SINK_SOFTMAX
        a.parameters.array[rapt.RAPT_ATTENTION_PARAMETER_SINK] = bound.floats(number)
    saved = rapt.sized(rapt.rapt_attention_saved, statistics=bound.floats(statistics))
    q, k, v, talking_scores, talking_weights = (bound.floats(x) for x in results)
    d = rapt.sized(rapt.rapt_gradients, q=q, k=k, v=v, talking_scores=talking_scores, talking_weights=talking_weights)
    memory, address = bound.aligned(rapt.rapt_attention_workspace(a))
    workspace, why = ctypes.c_void_p(address), rapt.rapt_message()
    q, k, v, dout, to = (bound.floats(x) for x in (*arrays, dout, out))
    rapt.check(rapt.rapt_attention_forward(a, q, k, v, to, saved, workspace, why), why)
    rapt.check(rapt.rapt_attention_backward(a, q, k, v, to, saved, dout, None, d, workspace, why), why)
    return [out, *results]


count = 0
for queries, keys, width, value_width, key_heads in SHAPES:
    for causal in (False, True):
        for sunk in (False, True):
            arrays = normal(HEADS, queries, width), normal(key_heads, keys, width), normal(key_heads, keys, value_width)
            mixes, dout = (normal(HEADS, HEADS), normal(HEADS, HEADS)), normal(HEADS, queries, value_width)
            number = normal(HEADS) if sunk else None
            a = bound.problem(*arrays)
            a.key_heads, a.mask.causal = key_heads, causal
            hidden = torch.ones(queries, keys, dtype=torch.bool).triu(1 + keys - queries) & causal
            bound.compare(f"{queries} queries, {keys} keys, {key_heads} key heads, causal {causal}, sink {sunk}",
                          ours(a, arrays, number, mixes, dout), theirs(arrays, number, mixes, hidden, dout), NAMES)
            count += 1
print(f"{count} comparisons with PyTorch {torch.__version__} agree")
