"""newer.py - compares with operators that only the packages of today have. RAPT_TORCH2 names a Python with PyTorch 2, onnx and
onnxruntime, and for flash_linear_attention also with fla-core and einops. (PyPI's torch takes gigabytes, so that engines.sh does
not install it.)

    flex_attention           FlexAttention and scaled_dot_product_attention of PyTorch, in double precision: causal masks, windows,
                             soft caps, ALiBi, sinks as one more key, a window with global positions, blocks
    onnx_operators           the operators Attention and LinearAttention as ONNX Runtime computes them
    flash_linear_attention   the plain references of flash-linear-attention: linear attention, decays, the delta rule, forgetting
                             attention"""
import ctypes
import math

import bound
import kit
import numpy
import torch
from bound import rapt

HEADS, WIDTH = 4, 16
random = numpy.random.default_rng(2)


def draw(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def agree(what, got, wanted):
    bound.compare(what, [got], [numpy.asarray(wanted)], ["out"])


def doubles(*arrays):
    return [torch.tensor(x, dtype=torch.double)[None] for x in arrays]


# ---- PyTorch ----

def set_window(a):
    a.mask.window, a.mask.before, a.mask.after = 1, 9, 3


def set_sparse(a):
    a.locality, a.radius, a.sparse.global_count = rapt.RAPT_LOCALITY_SPARSE, 5, 2


BLOCKS = numpy.tri(8, 8, dtype=bool) & (numpy.add.outer(numpy.arange(8), numpy.arange(8)) % 3 != 1) | numpy.eye(8, dtype=bool)


def set_blocks(a):
    a.locality, a.kept = rapt.RAPT_LOCALITY_SPARSE, (ctypes.c_uint8 * BLOCKS.size)(*BLOCKS.flatten().tolist())
    a.sparse.blocks, a.sparse.block_queries, a.sparse.block_keys, a.sparse.block_stride.row = a.kept, 16, 16, 8


def set_slopes(a):
    a.kept = (ctypes.c_float * HEADS)(*(2.0 ** -(h + 1) for h in range(HEADS)))
    a.relative.slopes = a.kept


def flex_forms():
    """Yields a name, a function that sets the fields of rapt_attention, mask_mod and score_mod."""
    blocks = torch.tensor(BLOCKS)
    yield "plain", lambda a: None, None, None
    yield "causal", lambda a: setattr(a.mask, "causal", 1), lambda b, h, t, s: t >= s, None
    yield "window", set_window, lambda b, h, t, s: (s >= t - 9) & (s <= t + 3), None
    yield "soft cap", lambda a: setattr(a, "cap", 1.5), None, lambda x, b, h, t, s: 1.5 * torch.tanh(x / 1.5)
    yield "slopes", set_slopes, None, lambda x, b, h, t, s: x - 2.0 ** -(h + 1.0) * abs(t - s)
    yield "window and global positions", set_sparse, lambda b, h, t, s: (abs(t - s) <= 5) | (t < 2) | (s < 2), None
    yield "blocks", set_blocks, lambda b, h, t, s: blocks[t // 16, s // 16], None


def compare_sink(arrays):
    q, k, v = arrays
    a, number = bound.problem(q, k, v), draw(HEADS)
    a.normalizer = rapt.RAPT_NORMALIZER_SINK_SOFTMAX
    got = bound.attend(a, q, k, v, draw(*q.shape), rapt.RAPT_ATTENTION_PARAMETER_SINK, number)[0]
    q, k, v = doubles(q, k, v)
    bias = torch.zeros(1, HEADS, q.shape[2], k.shape[2] + 1, dtype=torch.double)
    bias[..., -1] = torch.tensor(number, dtype=torch.double)[None, :, None]
    k, v = (torch.nn.functional.pad(x, (0, 0, 0, 1)) for x in (k, v))
    agree("sinks", got, torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)[0])


def test_flex_attention():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    arrays = draw(HEADS, 128, WIDTH), draw(HEADS, 128, WIDTH), draw(HEADS, 128, WIDTH)
    count = 0
    for name, change, mask, score in flex_forms():
        a = bound.problem(*arrays)
        change(a)
        got = bound.attend(a, *arrays, draw(HEADS, 128, WIDTH))[0]
        block_mask = mask and create_block_mask(mask, 1, HEADS, 128, 128, device="cpu")
        agree(name, got, flex_attention(*doubles(*arrays), score_mod=score, block_mask=block_mask)[0])
        count += 1
    compare_sink(arrays)
    print(f"{count + 1} comparisons with PyTorch {torch.__version__} agree")


# ---- ONNX Runtime ----

def onnx_run(operator, attributes, given, outputs, opset):
    import onnxruntime
    from onnx import TensorProto, helper
    kinds = {"float32": TensorProto.FLOAT, "bool": TensorProto.BOOL}
    present = {name: x for name, x in given.items() if x is not None}
    node = helper.make_node(operator, [name if name in present else "" for name in given], outputs, **attributes)
    values = [helper.make_tensor_value_info(name, kinds[str(x.dtype)], x.shape) for name, x in present.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    model = helper.make_model(helper.make_graph([node], "g", values, results), opset_imports=[helper.make_opsetid("", opset)], ir_version=11)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, present)


def compare_attention(queries, keys, causal, masked, cap, key_heads):
    q, k, v = draw(HEADS, queries, WIDTH), draw(key_heads, keys, WIDTH), draw(key_heads, keys, WIDTH)
    allowed = random.random((queries, keys)) < 0.7
    allowed[:, 0] = True
    repeated = [numpy.repeat(x, HEADS // key_heads, 0) for x in (k, v)]
    a = bound.problem(q, *repeated)
    a.cap, a.mask.causal, a.mask.causal_alignment = cap, causal, rapt.RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT
    bytes_of = (ctypes.c_uint8 * allowed.size)(*allowed.flatten().tolist())
    if masked:
        a.mask.allowed, a.mask.allowed_stride.row = bytes_of, keys
    got = bound.attend(a, q, *repeated, draw(HEADS, queries, WIDTH))[0]
    given = {"q": q[None], "k": k[None], "v": v[None], "mask": allowed if masked else None}
    wanted = onnx_run("Attention", {"is_causal": int(causal), "softcap": float(cap)}, given, ["out"], 23)[0][0]
    agree(f"Attention, {queries} queries, {keys} keys, causal {causal}, mask {masked}, cap {cap}", got, wanted)


RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}


def linear_arrays(rows, decays, delta):
    q, k, v = draw(HEADS, rows, WIDTH), draw(HEADS, rows, WIDTH), draw(HEADS, rows, WIDTH)
    k /= numpy.linalg.norm(k, axis=2, keepdims=True)
    decay = -random.exponential(0.3, (HEADS, rows)).astype(numpy.float32) if decays else None
    beta = random.uniform(0, 1, (HEADS, rows)).astype(numpy.float32) if delta else None
    return q, k, v, decay, beta, draw(HEADS, WIDTH, WIDTH)


def linear_ours(q, k, v, decay, beta, state):
    a, why = rapt.rapt_linear_attention(), rapt.rapt_message()
    rapt.check(rapt.rapt_linear_attention_init(a, ctypes.sizeof(a), 1, HEADS, q.shape[1], WIDTH, WIDTH))
    if decay is not None:
        a.log_decay = bound.floats(decay)
    if beta is not None:
        a.beta = bound.floats(beta)
    a.initial_state = bound.floats(state)
    out, last = numpy.zeros_like(v), numpy.zeros_like(state)
    memory, address = bound.aligned(rapt.rapt_linear_attention_workspace(a, 0))
    rapt.check(rapt.rapt_linear_attention_forward(a, *map(bound.floats, (q, k, v, out, last)), ctypes.c_void_p(address), why), why)
    return out, last


def compare_linear(rule, rows):
    q, k, v, decay, beta, state = arrays = linear_arrays(rows, *RULES[rule])
    rows_of = [x.transpose(1, 0, 2).reshape(1, rows, -1) for x in (q, k, v)]
    gates = [None if x is None else x.T[None] for x in (decay, beta)]
    given = dict(zip(("q", "k", "v", "state", "decay", "beta"), (*rows_of, state[None], *gates)))
    out, last = onnx_run("LinearAttention", {"q_num_heads": HEADS, "kv_num_heads": HEADS, "update_rule": rule}, given, ["out", "last"], 27)
    got = linear_ours(*arrays)
    agree(f"LinearAttention, {rule}, {rows} rows", got[0], out.reshape(rows, HEADS, WIDTH).transpose(1, 0, 2))
    agree(f"LinearAttention, {rule}, {rows} rows, state", got[1], last[0])


def test_onnx_operators():
    import onnxruntime
    count = 0
    for queries, keys in ((5, 5), (40, 90), (128, 128)):
        for causal, masked, cap, key_heads in ((0, False, 0, 4), (queries == keys, False, 0, 2), (0, True, 0, 1), (0, True, 2, 4)):
            compare_attention(queries, keys, causal, masked, cap, key_heads)
            count += 1
    for rule in RULES:
        for rows in (1, 70, 200):
            compare_linear(rule, rows)
            count += 1
    print(f"{count} comparisons with ONNX Runtime {onnxruntime.__version__} agree")


# ---- flash-linear-attention ----

def fla_results(rule, arrays):
    """Returns out and the last state of the references, which have the layout [batch][rows][heads][width]."""
    from fla.ops.delta_rule.naive import delta_rule_recurrence
    from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule
    from fla.ops.simple_gla.naive import naive_recurrent_simple_gla
    q, k, v, decay, beta, state = (None if x is None else torch.tensor(x)[None] for x in arrays)
    if rule == "delta":
        out, last = delta_rule_recurrence(q, k, v, beta, state)
        return out[0].numpy(), last[0].numpy()
    q, k, v, decay, beta = (None if x is None else x.transpose(1, 2) for x in (q, k, v, decay, beta))
    if rule == "gated_delta":
        out, last = naive_recurrent_gated_delta_rule(q, k, v, beta, decay, initial_state=state, output_final_state=True)
    else:
        out, last = naive_recurrent_simple_gla(q, k, v, torch.zeros_like(q[..., 0]) if decay is None else decay, initial_state=state,
                                               output_final_state=True)
    return out[0].transpose(0, 1).numpy(), last[0].numpy()


def compare_forgetting(rows):
    from fla.ops.forgetting_attn.naive import naive_forgetting_attn
    q, k, v = draw(HEADS, rows, WIDTH), draw(HEADS, rows, WIDTH), draw(HEADS, rows, WIDTH)
    gates = -random.exponential(0.1, (HEADS, rows)).astype(numpy.float32)
    a = bound.problem(q, k, v)
    a.mask.causal, a.log_forget = 1, bound.floats(gates)
    a.log_forget_stride = rapt.rapt_stride(HEADS * rows, rows, 1)
    got = bound.attend(a, q, k, v, draw(HEADS, rows, WIDTH))[0]
    tensors = (torch.tensor(x)[None].transpose(1, 2) for x in (q, k, v, gates))
    agree(f"forgetting attention, {rows} rows", got, naive_forgetting_attn(*tensors)[0].transpose(0, 1))


def test_flash_linear_attention():
    count = 0
    for rows in (1, 70, 200):
        for rule, gates in RULES.items():
            arrays = linear_arrays(rows, *gates)
            for name, x, y in zip(("out", "state"), linear_ours(*arrays), fla_results(rule, arrays)):
                agree(f"{rule}, {rows} rows, {name}", x, y)
            count += 1
        compare_forgetting(rows)
        count += 1
    print(f"{count} comparisons with flash-linear-attention agree")


kit.main(globals())
