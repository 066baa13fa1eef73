"""monotonic_attention.py PROGRAM ENGINES LOGITS LIBRARY HEADERS - compares monotonic attention, forward, backward and by hard
stops, with PyTorch in double precision: the recurrences of Raffel et al. 2017, Chiu and Raffel 2018 and Arivazhagan et al. 2019,
written out and differentiated by autograd. LIBRARY is librapt.so, and HEADERS the folder that holds rapt/."""
import ctypes
import math

import bound
import numpy
import torch
from bound import rapt

NAMES = ("out", "alpha", "weights", "delays", "dq", "dk", "dv", "dchunk_q", "dchunk_k", "doffset")
MODES = {"hard": None, "chunk": 3, "lookback": None}
# query heads, key heads, queries, keys, key width, value width
SHAPES = ((2, 2, 5, 7, 4, 3), (3, 3, 20, 30, 16, 20), (4, 2, 33, 50, 24, 16))
random = numpy.random.default_rng(1)


def align(p):
    """Equations 13 and 14 of Raffel et al. for p [heads][queries][keys]."""
    before, rows = torch.zeros_like(p[:, 0]), []
    before[:, 0] = 1
    for t in range(p.shape[1]):
        q, row = torch.zeros_like(p[:, 0, 0]), []
        for j in range(p.shape[2]):
            q = (1 - p[:, t, j - 1]) * q + before[:, j] if j else before[:, j]
            row.append(p[:, t, j] * q)
        before = torch.stack(row, 1)
        rows.append(before)
    return torch.stack(rows, 1)


def weigh(alpha, u, window):
    """Moving sums of exponentials, as in Chiu and Raffel's appendix; lookback has a window of all keys."""
    keys = alpha.shape[2]
    window = min(window or keys, keys)
    position = torch.arange(keys)
    within = (position[:, None] >= position) & (position[:, None] < position + window)  # [end of a window][key]
    exponentials = torch.exp(u - u.amax(2, keepdim=True))
    sums = exponentials @ within.T.double()
    return exponentials * ((alpha / sums) @ within.double())


def theirs(arrays, mode, last_stops, losses):
    tensors = [torch.tensor(x, dtype=torch.double, requires_grad=True) for x in arrays]
    q, k, v, chunk_q, chunk_k, offset = tensors
    group, scale = len(q) // len(k), 1 / math.sqrt(q.shape[2])
    k, v, chunk_k = (x.repeat_interleave(group, 0) for x in (k, v, chunk_k))
    p = torch.sigmoid(scale * q @ k.transpose(1, 2) + offset[:, None, None])
    if last_stops:
        p = torch.cat([p[:, :, :-1], torch.ones_like(p[:, :, :1])], 2)
    alpha = align(p)
    weights = alpha if mode == "hard" else weigh(alpha, scale * chunk_q @ chunk_k.transpose(1, 2), MODES[mode])
    out, delays = weights @ v, (alpha * torch.arange(1, k.shape[1] + 1)).sum(2)
    sum((x * torch.tensor(d, dtype=torch.double)).sum() for x, d in zip((out, alpha, delays), losses)).backward()
    gradients = [numpy.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in tensors]
    return [x.detach().numpy() for x in (out, alpha, weights, delays)] + gradients


def problem(arrays, mode, last_stops):
    q, k, v, offset = arrays[0], arrays[1], arrays[2], arrays[5]
    (heads, queries, width), (key_heads, keys, values) = q.shape, v.shape
    a = rapt.rapt_monotonic_attention()
    rapt.check(rapt.rapt_monotonic_attention_init(a, ctypes.sizeof(a), 1, heads, queries, keys, width))
    a.key_heads, a.value_width, a.last_stops = key_heads, values, last_stops
    a.v = rapt.rapt_stride(key_heads * keys * values, keys * values, values)
    a.out = rapt.rapt_stride(heads * queries * values, queries * values, values)
    a.mode, a.chunk = getattr(rapt, f"RAPT_MONOTONIC_{mode.upper()}"), MODES[mode] or 0
    a.offset = bound.floats(offset)
    return a


def ours(arrays, mode, last_stops, losses):
    a, why = problem(arrays, mode, last_stops), rapt.rapt_message()
    memory, address = bound.aligned(rapt.rapt_monotonic_attention_workspace(a, 1))
    workspace, inputs = ctypes.c_void_p(address), [bound.floats(x) for x in arrays[:5]]
    out, alpha, delays = (numpy.zeros_like(x) for x in losses)
    weights, gradients = numpy.zeros_like(alpha), [numpy.zeros_like(x) for x in arrays]
    outputs = rapt.sized(rapt.rapt_monotonic_attention_outputs, alpha=bound.floats(alpha), weights=bound.floats(weights),
                         delays=bound.floats(delays))
    names = ("q", "k", "v", "chunk_q", "chunk_k", "offset")
    d = rapt.sized(rapt.rapt_monotonic_attention_gradients, **{n: bound.floats(x) for n, x in zip(names, gradients)})
    rapt.check(rapt.rapt_monotonic_attention_forward(a, *inputs, bound.floats(out), outputs, workspace, why), why)
    rapt.check(rapt.rapt_monotonic_attention_backward(a, *inputs, *(bound.floats(x) for x in losses), d, workspace, why), why)
    return [out, alpha, weights, delays, *gradients]


def stops(arrays, mode, last_stops):
    """Returns out by hard stops, one query after the other."""
    a, why = problem(arrays, mode, last_stops), rapt.rapt_message()
    memory, address = bound.aligned(rapt.rapt_monotonic_attention_workspace(a, 0))
    out, positions = numpy.zeros((*arrays[0].shape[:2], arrays[2].shape[2]), numpy.float32), (ctypes.c_int * len(arrays[0]))()
    rapt.check(rapt.rapt_monotonic_attention_step(a, *(bound.floats(x) for x in arrays[:5]), positions, bound.floats(out),
                                                  ctypes.c_void_p(address), why), why)
    return out


def make(shape):
    heads, key_heads, queries, keys, width, values = shape
    query, key = (heads, queries, width), (key_heads, keys, width)
    arrays = [random.standard_normal(s).astype(numpy.float32) for s in (query, key, (key_heads, keys, values), query, key, (heads,))]
    arrays[5] -= 1
    losses = [random.standard_normal(s).astype(numpy.float32) for s in ((heads, queries, values), (heads, queries, keys), (heads, queries))]
    return arrays, losses


count = 0
for shape in SHAPES:
    for mode in MODES:
        for last_stops in (0, 1):
            what = f"{mode}{', last_stops' * last_stops}, shape {shape}"
            arrays, losses = make(shape)
            got, wanted = ours(arrays, mode, last_stops, losses), theirs(arrays, mode, last_stops, losses)
            bound.compare(what, got, wanted, NAMES)
            arrays[0] *= 1e7  # all probabilities become 0 or 1
            bound.compare(f"{what}, stops", [stops(arrays, mode, last_stops)], theirs(arrays, mode, last_stops, losses)[:1], NAMES)
            count += 1
print(f"{count} comparisons with PyTorch {torch.__version__} agree")
