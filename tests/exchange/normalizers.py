"""normalizers.py PROGRAM ENGINES LOGITS LIBRARY HEADERS - compares the normalizers of attention, forward and backward, with
PyTorch in double precision: formulas written out from the papers, the functions of the package entmax and, where PyTorch has
it, scaled_dot_product_attention. LIBRARY is librapt.so, and HEADERS the folder that holds rapt/."""
import math

import bound
import entmax
import numpy
import torch
from bound import rapt

HEADS = 3
SHAPES = ((5, 7, 4, 3, False), (40, 90, 16, 20, False), (70, 150, 24, 16, True), (33, 300, 8, 8, True))


def sink(scores, number):
    """Returns softmax with one more key, whose weight is dropped."""
    column = number[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, column], -1), -1)[..., :-1]


# Each normalizer: its enumerator, its learned array or None, and its weights for scores [H][T][S] and numbers [H].
NORMALIZERS = {
    "softmax": (rapt.RAPT_NORMALIZER_SOFTMAX, None, lambda x, b: torch.softmax(x, -1)),
    "sink-softmax": (rapt.RAPT_NORMALIZER_SINK_SOFTMAX, rapt.RAPT_ATTENTION_PARAMETER_SINK, sink),
    "sigmoid": (rapt.RAPT_NORMALIZER_SIGMOID, rapt.RAPT_ATTENTION_PARAMETER_SIGMOID_BIAS,
                lambda x, b: torch.sigmoid(x + b[:, None, None])),
    "sparsemax": (rapt.RAPT_NORMALIZER_SPARSEMAX, None, lambda x, b: entmax.sparsemax(x, dim=-1)),
    "entmax-1.5": (rapt.RAPT_NORMALIZER_ENTMAX_1_5, None, lambda x, b: entmax.entmax15(x, dim=-1)),
    "entmax": (rapt.RAPT_NORMALIZER_ENTMAX, rapt.RAPT_ATTENTION_PARAMETER_ENTMAX_ALPHA,
               lambda x, b: entmax.entmax_bisect(x, alpha=1 + torch.sigmoid(b)[:, None, None], dim=-1, n_iter=100)),
}


def theirs(weights, causal, arrays, dout):
    """Returns the same from PyTorch, and the tensors q, k, v and number."""
    q, k, v, number = tensors = [torch.tensor(x, dtype=torch.double, requires_grad=True) for x in arrays]
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
    queries, keys = scores.shape[1:]
    hidden = torch.ones(queries, keys, dtype=torch.bool).triu(1 + keys - queries) & bool(causal)
    out = weights(scores.masked_fill(hidden, -1e4), number).masked_fill(hidden, 0) @ v
    (out * torch.tensor(dout, dtype=torch.double)).sum().backward()
    gradients = [numpy.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in tensors]
    return [out.detach().numpy(), *gradients], hidden, tensors


def compare_sdpa(what, out, hidden, tensors, sunk):
    """Compares with scaled_dot_product_attention. A sink is one more key, with the value 0 and a bias for its score."""
    q, k, v, number = (x.detach() for x in tensors)
    bias = torch.zeros(HEADS, *hidden.shape, dtype=torch.double).masked_fill(hidden, -math.inf)
    if sunk:
        k, v = (torch.cat([x, torch.zeros_like(x[:, :1])], 1) for x in (k, v))
        bias = torch.cat([bias, number[:, None, None].expand(HEADS, hidden.shape[0], 1)], -1)
    bound.compare(f"{what}, scaled_dot_product_attention", [out],
            [torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=bias[None])[0].numpy()],
                  bound.ATTENTION)


random = numpy.random.default_rng(1)
has_sdpa = hasattr(torch.nn.functional, "scaled_dot_product_attention")
count = 0
for queries, keys, width, value_width, causal in SHAPES:
    for name, (normalizer, number_array, weights) in NORMALIZERS.items():
        shapes = (HEADS, queries, width), (HEADS, keys, width), (HEADS, keys, value_width), (HEADS,), (HEADS, queries, value_width)
        *arrays, dout = (random.standard_normal(shape).astype(numpy.float32) for shape in shapes)
        what = f"{name}, {queries} queries, {keys} keys"
        a = bound.problem(*arrays[:3])
        a.normalizer, a.mask.causal = normalizer, causal
        got = bound.attend(a, *arrays[:3], dout, number_array, arrays[3])
        wanted, hidden, tensors = theirs(weights, causal, arrays, dout)
        bound.compare(what, got, wanted, bound.ATTENTION)
        if has_sdpa and name in ("softmax", "sink-softmax"):
            compare_sdpa(what, got[0], hidden, tensors, name == "sink-softmax")
        count += 1
if not has_sdpa:
    print(f"skipped: exchange/normalizers, scaled_dot_product_attention: PyTorch {torch.__version__} does not have it")
print(f"{count} comparisons with PyTorch {torch.__version__} and entmax agree")
