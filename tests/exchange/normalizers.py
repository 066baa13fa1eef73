"""normalizers.py PROGRAM ENGINES LOGITS LIBRARY HEADERS - compares the normalizers of attention, forward and backward, with
PyTorch in double precision: formulas written out from the papers, the functions of the package entmax and, where PyTorch has
it, scaled_dot_product_attention. LIBRARY is librapt.so, and HEADERS the folder that holds rapt/."""
import ctypes
import math
import os
import pathlib
import subprocess
import sys

import entmax
import numpy
import torch

library, include = sys.argv[4:6]
here = pathlib.Path(__file__).resolve().parent
bindings = here.parents[1] / "apps/examples/bindings.py"
pathlib.Path("rapt.py").write_text(subprocess.run([sys.executable, str(bindings), include], check=True, capture_output=True, text=True).stdout)
sys.path.insert(0, os.getcwd())
os.environ["RAPT_LIBRARY"] = library
import rapt  # noqa: E402

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


def floats(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def ours(normalizer, number_array, causal, q, k, v, dout, number):
    """Returns out and the gradients of q, k, v and the numbers."""
    heads, queries, width = q.shape
    keys, value_width = v.shape[1:]
    a = rapt.rapt_attention()
    rapt.check(rapt.rapt_attention_init(a, ctypes.sizeof(a), 1, heads, queries, keys, width))
    a.value_width, a.normalizer = value_width, normalizer
    a.v = rapt.rapt_stride(heads * keys * value_width, keys * value_width, value_width)
    a.out = rapt.rapt_stride(heads * queries * value_width, queries * value_width, value_width)
    a.mask.causal, a.mask.causal_alignment = causal, rapt.RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT
    out, statistics = numpy.zeros_like(dout), numpy.zeros((heads, queries, 2), numpy.float32)
    results = [numpy.zeros_like(x) for x in (q, k, v, number)]
    saved = rapt.sized(rapt.rapt_attention_saved, statistics=floats(statistics))
    d = rapt.sized(rapt.rapt_gradients, q=floats(results[0]), k=floats(results[1]), v=floats(results[2]))
    if number_array is not None:
        a.parameters.array[number_array], d.parameters[number_array] = floats(number), floats(results[3])
    memory = ctypes.create_string_buffer(rapt.rapt_attention_workspace(a) + 64)
    workspace, why = ctypes.c_void_p((ctypes.addressof(memory) + 63) // 64 * 64), rapt.rapt_message()
    q, k, v, dout, to = (floats(x) for x in (q, k, v, dout, out))
    rapt.check(rapt.rapt_attention_forward(a, q, k, v, to, saved, workspace, why), why)
    rapt.check(rapt.rapt_attention_backward(a, q, k, v, to, saved, dout, None, d, workspace, why), why)
    return [out, *results]


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


def compare(what, got, wanted):
    for name, x, y in zip(("out", "dq", "dk", "dv", "dnumber"), got, wanted):
        error, size = abs(x - y).max(), max(1, abs(y).max())
        assert error <= 2e-5 * size, f"{what}: {name} differs by {error:.3g}, its greatest element is {size:.3g}"


def compare_sdpa(what, out, hidden, tensors, sunk):
    """Compares with scaled_dot_product_attention. A sink is one more key, with the value 0 and a bias for its score."""
    q, k, v, number = (x.detach() for x in tensors)
    bias = torch.zeros(HEADS, *hidden.shape, dtype=torch.double).masked_fill(hidden, -math.inf)
    if sunk:
        k, v = (torch.cat([x, torch.zeros_like(x[:, :1])], 1) for x in (k, v))
        bias = torch.cat([bias, number[:, None, None].expand(HEADS, hidden.shape[0], 1)], -1)
    compare(f"{what}, scaled_dot_product_attention", [out],
            [torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=bias[None])[0].numpy()])


random = numpy.random.default_rng(1)
has_sdpa = hasattr(torch.nn.functional, "scaled_dot_product_attention")
count = 0
for queries, keys, width, value_width, causal in SHAPES:
    for name, (normalizer, number_array, weights) in NORMALIZERS.items():
        shapes = (HEADS, queries, width), (HEADS, keys, width), (HEADS, keys, value_width), (HEADS,), (HEADS, queries, value_width)
        *arrays, dout = (random.standard_normal(shape).astype(numpy.float32) for shape in shapes)
        what = f"{name}, {queries} queries, {keys} keys"
        got = ours(normalizer, number_array, causal, *arrays[:3], dout, arrays[3])
        wanted, hidden, tensors = theirs(weights, causal, arrays, dout)
        compare(what, got, wanted)
        if has_sdpa and name in ("softmax", "sink-softmax"):
            compare_sdpa(what, got[0], hidden, tensors, name == "sink-softmax")
        count += 1
if not has_sdpa:
    print(f"skipped: exchange/normalizers, scaled_dot_product_attention: PyTorch {torch.__version__} does not have it")
print(f"{count} comparisons with PyTorch {torch.__version__} and entmax agree")
