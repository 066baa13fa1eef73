"""linear_attention.py PROGRAM ENGINES LOGITS LIBRARY HEADERS - compares linear attention and the gated delta rule, forward,
backward and step by step, with PyTorch in double precision: the recurrences of Katharopoulos et al. 2020 and of Yang et al. 2024,
written out and differentiated by autograd; and outputs and states with the reference implementation of LinearAttention in the
package onnx, in ENGINES. LIBRARY is librapt.so, and HEADERS the folder that holds rapt/."""
import ctypes
import math
import sys

sys.path.insert(0, f"{sys.argv[2]}/onnx")  # before torch, which loads an older typing_extensions of Debian
try:
    import onnx
except ImportError:
    onnx = None
    print("skipped: exchange/linear_attention, onnx: sh tests/run.sh --all installs it")
import bound  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
from bound import rapt  # noqa: E402

NAMES = ("out", "state", "dq", "dk", "dv", "dlog_decay", "dbeta", "dstate")
RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}
# query heads, key heads, rows, key width, value width
SHAPES = ((2, 2, 5, 4, 3), (3, 3, 70, 16, 20), (4, 2, 150, 24, 16), (6, 2, 130, 33, 64))
random = numpy.random.default_rng(1)


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


def theirs(arrays, dout, dstate, normalized):
    tensors = [None if x is None else torch.tensor(x, dtype=torch.double, requires_grad=True) for x in arrays]
    out, state = recurrence(*tensors, normalized)
    ((out * torch.tensor(dout, dtype=torch.double)).sum() + (state * torch.tensor(dstate, dtype=torch.double)).sum()).backward()
    return [out.detach().numpy(), state.detach().numpy(), *(None if x is None else x.grad.numpy() for x in tensors)]


def problem(arrays, normalized):
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


def ours(arrays, dout, dstate, normalized):
    """Returns out, the state, the gradients, and out by steps."""
    a, why = problem(arrays, normalized), rapt.rapt_message()
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


def make(shape, decays, delta, normalized):
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


count = 0
for shape in SHAPES:
    for rule, (decays, delta) in RULES.items():
        for normalized in (False, True):
            if normalized and delta:
                continue
            what = f"{rule}{', normalized' * normalized}, shape {shape}"
            arrays, dout, dstate = make(shape, decays, delta, normalized)
            got, steps = ours(arrays, dout, dstate, normalized)
            wanted = theirs(arrays, dout, dstate, normalized)
            pairs = [(n, x, y) for n, x, y in zip(NAMES, got, wanted) if y is not None]
            bound.compare(what, [p[1] for p in pairs], [p[2] for p in pairs], [p[0] for p in pairs])
            bound.compare(f"{what}, steps", steps, wanted[:2], NAMES)
            if onnx and not normalized:
                bound.compare(f"{what}, onnx", got[:2], onnx_results(rule, arrays), NAMES)
            count += 1
print(f"{count} comparisons with PyTorch {torch.__version__}{f' and onnx {onnx.__version__}' if onnx else ''} agree")
