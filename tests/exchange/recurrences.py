"""recurrences.py - compares attentions that are recurrences with PyTorch in double precision, where the equations of the papers
are written out and differentiated by autograd:

    linear_attention     linear attention and the gated delta rule (Katharopoulos et al. 2020; Yang et al. 2024), forward,
                         backward and step by step; outputs and states also with the reference implementation of LinearAttention
                         in the package onnx, in ENGINES
    monotonic_attention  monotonic attention (Raffel et al. 2017; Chiu and Raffel 2018; Arivazhagan et al. 2019), forward,
                         backward and by hard stops"""
import ctypes
import math
import sys

sys.path.insert(0, f"{sys.argv[2]}/onnx")  # before torch, which loads an older typing_extensions of Debian
try:
    import onnx
except ImportError:
    onnx = None
import bound  # noqa: E402
import kit  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
from bound import rapt  # noqa: E402

random = numpy.random.default_rng(1)


# ---- linear attention ----

LINEAR = ("out", "state", "dq", "dk", "dv", "dlog_decay", "dbeta", "dstate")
RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
# query heads, key heads, rows, key width, value width
LINEAR_SHAPES = ((2, 2, 5, 4, 3), (3, 3, 70, 16, 20), (4, 2, 150, 24, 16), (6, 2, 130, 33, 64))


def feature(x):
    return torch.nn.functional.elu(x) + 1


def recurrence(q, k, v, log_decay, beta, state, normalized):
    """The equations of the papers for [heads][rows][width], with states [heads][value][key] as there. Returns out and states."""
    group, outs, one = len(q) // len(k), [], torch.eye(k.shape[2], dtype=torch.double)
    state, total = state.transpose(1, 2), torch.zeros(k.shape[0], k.shape[2], dtype=torch.double)
    scale = 1 / math.sqrt(q.shape[2])
    if normalized:
        q, k, state, total, scale = feature(q), feature(k), state[:, :-1], state[:, -1], 1
    for t in range(q.shape[1]):
        kt, vt = k[:, t], v[:, t]
        a = torch.ones(len(k), dtype=torch.double) if log_decay is None else log_decay[:, t].exp()
        b = torch.ones(len(k), dtype=torch.double) if beta is None else beta[:, t]
        keep = one.expand(len(k), -1, -1)
        if beta is not None:
            keep = keep - b[:, None, None] * torch.einsum("hi,hj->hij", kt, kt)
        state = a[:, None, None] * state @ keep + b[:, None, None] * torch.einsum("hv,hk->hvk", vt, kt)
        total = a[:, None] * total + kt
        qt, both = q[:, t], state.repeat_interleave(group, 0)
        out = scale * torch.einsum("hvk,hk->hv", both, qt)
        if normalized:
            out = out / torch.einsum("hk,hk->h", qt, total.repeat_interleave(group, 0))[:, None]
        outs.append(out)
    last = torch.cat([state, total[:, None]], 1) if normalized else state
    return torch.stack(outs, 1), last.transpose(1, 2)


def linear_theirs(arrays, dout, dstate, normalized):
    tensors = [None if x is None else torch.tensor(x, dtype=torch.double, requires_grad=True) for x in arrays]
    out, state = recurrence(*tensors, normalized)
    ((out * torch.tensor(dout, dtype=torch.double)).sum() + (state * torch.tensor(dstate, dtype=torch.double)).sum()).backward()
    return [out.detach().numpy(), state.detach().numpy(), *(None if x is None else x.grad.numpy() for x in tensors)]


def linear_problem(arrays, normalized):
    q, k, v, log_decay, beta, state = arrays
    heads, rows, width = q.shape
    key_heads, values = len(k), v.shape[2]
    a = rapt.rapt_linear_attention()
    rapt.check(rapt.rapt_linear_attention_init(a, ctypes.sizeof(a), 1, heads, rows, width, values))
    a.key_heads, a.normalized = key_heads, normalized
    if normalized:
        a.feature_map = rapt.RAPT_FEATURE_MAP_ELU
    if log_decay is not None:
        a.log_decay = bound.floats(log_decay)
    if beta is not None:
        a.beta = bound.floats(beta)
    a.initial_state = bound.floats(state)
    return a


def linear_ours(arrays, dout, dstate, normalized):
    """Returns out, the state, the gradients, and out by steps."""
    a, why = linear_problem(arrays, normalized), rapt.rapt_message()
    memory, address = bound.aligned(rapt.rapt_linear_attention_workspace(a, 1))
    workspace, (q, k, v) = ctypes.c_void_p(address), (bound.floats(x) for x in arrays[:3])
    out, state, steps = numpy.zeros_like(dout), numpy.zeros_like(dstate), numpy.zeros_like(dout)
    gradients = [None if x is None else numpy.zeros_like(x) for x in arrays]
    d = rapt.sized(rapt.rapt_linear_attention_gradients)
    for name, x in zip(("q", "k", "v", "log_decay", "beta", "initial_state"), gradients):
        if x is not None:
            setattr(d, name, bound.floats(x))
    rapt.check(rapt.rapt_linear_attention_forward(a, q, k, v, bound.floats(out), bound.floats(state), workspace, why), why)
    rapt.check(rapt.rapt_linear_attention_backward(a, q, k, v, bound.floats(dout), bound.floats(dstate), d, workspace, why), why)
    stepped = arrays[5].copy()
    rapt.check(rapt.rapt_linear_attention_step(a, q, k, v, bound.floats(stepped), bound.floats(steps), workspace, why), why)
    return [out, state, *gradients], [steps, stepped]


def linear_make(shape, decays, delta, normalized):
    heads, key_heads, rows, width, values = shape
    q, k, v = (random.standard_normal(s).astype(numpy.float32)
               for s in ((heads, rows, width), (key_heads, rows, width), (key_heads, rows, values)))
    if not normalized:
        k /= numpy.linalg.norm(k, axis=2, keepdims=True)
    log_decay = -random.exponential(0.3, (key_heads, rows)).astype(numpy.float32) if decays else None
    beta = random.uniform(0, 1, (key_heads, rows)).astype(numpy.float32) if delta else None
    state = random.uniform(0, 1, (key_heads, width, values + normalized)).astype(numpy.float32)
    dout, dstate = random.standard_normal((heads, rows, values)), random.standard_normal(state.shape)
    return [q, k, v, log_decay, beta, state], dout.astype(numpy.float32), dstate.astype(numpy.float32)


def packed(x):
    """[heads][rows][width] as [1][rows][heads * width]."""
    return x.transpose(1, 0, 2).reshape(1, x.shape[1], -1)


def onnx_results(rule, arrays):
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator
    q, k, v, log_decay, beta, state = arrays
    gates = [None if x is None else x.T[None] for x in (log_decay, beta)]
    given = dict(zip(("q", "k", "v", "state", "decay", "beta"), (packed(q), packed(k), packed(v), state[None], *gates)))
    inputs = [name if given[name] is not None else "" for name in given]
    node = helper.make_node("LinearAttention", inputs, ["out", "last"], q_num_heads=len(q), kv_num_heads=len(k), update_rule=rule)
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (*filter(None, inputs), "out", "last")]
    graph = helper.make_graph([node], "g", value[:-2], value[-2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)])
    out, last = ReferenceEvaluator(model).run(None, {name: given[name] for name in filter(None, inputs)})
    return out.reshape(q.shape[1], len(q), -1).transpose(1, 0, 2), last[0]


def test_linear_attention():
    if not onnx:
        print("skipped: exchange/linear_attention, onnx: sh tests/run.sh --all installs it")
    count = 0
    for shape in LINEAR_SHAPES:
        for rule, (decays, delta) in RULES.items():
            for normalized in (False, True):
                if normalized and delta:
                    continue
                what = f"{rule}{', normalized' * normalized}, shape {shape}"
                arrays, dout, dstate = linear_make(shape, decays, delta, normalized)
                got, steps = linear_ours(arrays, dout, dstate, normalized)
                wanted = linear_theirs(arrays, dout, dstate, normalized)
                pairs = [(n, x, y) for n, x, y in zip(LINEAR, got, wanted) if y is not None]
                bound.compare(what, [p[1] for p in pairs], [p[2] for p in pairs], [p[0] for p in pairs])
                bound.compare(f"{what}, steps", steps, wanted[:2], LINEAR)
                if onnx and not normalized:
                    bound.compare(f"{what}, onnx", got[:2], onnx_results(rule, arrays), LINEAR)
                count += 1
    print(f"{count} comparisons with PyTorch {torch.__version__}{f' and onnx {onnx.__version__}' if onnx else ''} agree")


# ---- monotonic attention ----

MONOTONIC = ("out", "alpha", "weights", "delays", "dq", "dk", "dv", "dchunk_q", "dchunk_k", "doffset")
MODES = {"hard": None, "chunk": 3, "lookback": None}
# query heads, key heads, queries, keys, key width, value width
MONOTONIC_SHAPES = ((2, 2, 5, 7, 4, 3), (3, 3, 20, 30, 16, 20), (4, 2, 33, 50, 24, 16))


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


def monotonic_theirs(arrays, mode, last_stops, losses):
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


def monotonic_problem(arrays, mode, last_stops):
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


def monotonic_ours(arrays, mode, last_stops, losses):
    a, why = monotonic_problem(arrays, mode, last_stops), rapt.rapt_message()
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


def monotonic_stops(arrays, mode, last_stops):
    """Returns out by hard stops, one query after the other."""
    a, why = monotonic_problem(arrays, mode, last_stops), rapt.rapt_message()
    memory, address = bound.aligned(rapt.rapt_monotonic_attention_workspace(a, 0))
    out, positions = numpy.zeros((*arrays[0].shape[:2], arrays[2].shape[2]), numpy.float32), (ctypes.c_int * len(arrays[0]))()
    rapt.check(rapt.rapt_monotonic_attention_step(a, *(bound.floats(x) for x in arrays[:5]), positions, bound.floats(out),
                                                  ctypes.c_void_p(address), why), why)
    return out


def monotonic_make(shape):
    heads, key_heads, queries, keys, width, values = shape
    query, key = (heads, queries, width), (key_heads, keys, width)
    arrays = [random.standard_normal(s).astype(numpy.float32) for s in (query, key, (key_heads, keys, values), query, key, (heads,))]
    arrays[5] -= 1
    losses = [random.standard_normal(s).astype(numpy.float32) for s in ((heads, queries, values), (heads, queries, keys), (heads, queries))]
    return arrays, losses


def test_monotonic_attention():
    count = 0
    for shape in MONOTONIC_SHAPES:
        for mode in MODES:
            for last_stops in (0, 1):
                what = f"{mode}{', last_stops' * last_stops}, shape {shape}"
                arrays, losses = monotonic_make(shape)
                got, wanted = monotonic_ours(arrays, mode, last_stops, losses), monotonic_theirs(arrays, mode, last_stops, losses)
                bound.compare(what, got, wanted, MONOTONIC)
                arrays[0] *= 1e7  # all probabilities become 0 or 1
                bound.compare(f"{what}, stops", [monotonic_stops(arrays, mode, last_stops)], monotonic_theirs(arrays, mode, last_stops, losses)[:1], MONOTONIC)
                count += 1
    print(f"{count} comparisons with PyTorch {torch.__version__} agree")


kit.main(globals())
