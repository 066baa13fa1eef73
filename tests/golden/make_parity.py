"""Makes parity.txt: the results of PyTorch's scaled_dot_product_attention and nn.MultiheadAttention
for the cases below, forward and backward, in double precision.

    /usr/bin/python3 make_parity.py > parity.txt        (Debian: python3-torch)

A case is a line of names and numbers that parity.c reads; both sides draw its inputs. The formulas
below are compared with PyTorch's functions wherever these give numbers. The output of a fully masked
query is 0, as in PyTorch since 2.5; before, it was NaN.
"""
import math

import torch
from torch import nn

from drawn import drawn, record

SDPA = dict(batch=2, heads=2, key_heads=0, queries=3, keys=5, width=3, value_width=4, scale=0,
            causal=0, allowed=0, bias=0, fully_masked=0, huge=0)
MHA = dict(batch=2, heads=2, queries=3, keys=4, width=4, key_width=0, value_width=0, own=0,
           allowed=0, bias=0, padding=0, bias_kv=0, zero_attn=0, fully_masked=0)
PER_BATCH, PER_HEAD, PER_ROW, SHARED = 1, 2, 4, 8
ALL = PER_BATCH | PER_HEAD | PER_ROW | SHARED
UPPER, LOWER = 1, 2


def announce(name, case):
    print("case", name, " ".join(f"{key} {value:g}" for key, value in case.items() if value))


def masked_softmax(x):
    """Softmax over the last dimension, or 0 if all is -infinity."""
    fully_masked = (x == -math.inf).all(-1, keepdim=True)
    p = torch.softmax(torch.where(fully_masked, torch.zeros_like(x), x), -1)
    return torch.where(fully_masked, torch.zeros_like(p), p)


def mask_shape(own, batch, heads, queries, keys):
    return (batch if own & PER_BATCH else 1, heads if own & PER_HEAD else 1,
            queries if own & PER_ROW else 1, keys)


def drawn_masks(name, case, heads):
    """Returns the bias, which is differentiated, and which keys are hidden."""
    shape = (case["batch"], heads, case["queries"], case["keys"])
    bias = drawn(name + ".bias", *mask_shape(case["bias"], *shape)) * 4
    if case["bias"]:
        bias[drawn(name + ".holes", *bias.shape) > 0.35] = -math.inf
    bias.requires_grad_()
    hidden = torch.zeros(shape, dtype=torch.bool)
    if case["allowed"]:
        allowed = drawn(name + ".allowed", *mask_shape(case["allowed"], *shape)) > -0.2
        hidden |= ~allowed
    if case["fully_masked"]:
        hidden[:, :, case["fully_masked"] - 1] = True
    return bias, hidden


def sdpa(name, **choices):
    case = {**SDPA, **choices}
    announce(name, case)
    B, H, T, S = case["batch"], case["heads"], case["queries"], case["keys"]
    G = case["key_heads"] or H
    q = drawn(name + ".q", B, H, T, case["width"]) * 4
    k = drawn(name + ".k", B, G, S, case["width"]) * 4
    v = drawn(name + ".v", B, G, S, case["value_width"]) * 4
    for x in (q, k, v):
        x.requires_grad_()
    bias, hidden = drawn_masks(name, case, H)
    t, s = torch.arange(T)[:, None], torch.arange(S)[None, :]
    if case["causal"]:
        hidden = hidden | (s > t + (S - T if case["causal"] == LOWER else 0))
    added = torch.where(hidden, -math.inf, bias.expand(B, H, T, S)) if case["bias"] else \
        torch.zeros(B, H, T, S).masked_fill(hidden, -math.inf)
    if case["huge"]:  # a finite mask hides nothing
        added = torch.where(added == -math.inf, torch.tensor(-3.4028234663852886e38), added)
    wide_k, wide_v = (x.repeat_interleave(H // G, 1) for x in (k, v))
    scores = (q @ wide_k.transpose(2, 3)) * (case["scale"] or 1 / math.sqrt(case["width"])) + added
    out = masked_softmax(scores) @ wide_v
    if S and T and not case["scale"] and not (added == -math.inf).all(-1).any():
        theirs = torch._C._nn._scaled_dot_product_attention(q, wide_k, wide_v, added)[0]
        assert torch.allclose(theirs, out, rtol=1e-12, atol=1e-12)
    record(f"{name}.out", out)
    record(f"{name}.lse", torch.logsumexp(scores, -1) if S else torch.full((B, H, T), -math.inf))
    (out * drawn(name + ".dout", *out.shape)).sum().backward()
    for what, x in (("dq", q), ("dk", k), ("dv", v)):
        record(f"{name}.{what}", torch.zeros_like(x) if x.grad is None else x.grad)
    if case["bias"]:
        record(f"{name}.dbias", bias.grad)


def mha_formula(module, query, key, value, added, case):
    """Computes nn.MultiheadAttention; `added` [N][H][L][S] is added to the scores."""
    N, H, L, E = case["batch"], case["heads"], case["queries"], case["width"]
    if module.in_proj_weight is None:
        weights = module.q_proj_weight, module.k_proj_weight, module.v_proj_weight
    else:
        weights = module.in_proj_weight.chunk(3)
    q, k, v = (nn.functional.linear(x, w, b) for x, w, b in
               zip((query, key, value), weights, module.in_proj_bias.chunk(3)))
    if case["bias_kv"]:
        k, v = (torch.cat([x, b.expand(N, 1, E)], 1) for x, b in
                ((k, module.bias_k), (v, module.bias_v)))
    if case["zero_attn"]:
        k, v = (torch.cat([x, torch.zeros(N, 1, E)], 1) for x in (k, v))
    added = nn.functional.pad(added, (0, k.shape[1] - added.shape[-1]))
    q, k, v = (x.reshape(N, -1, H, E // H).transpose(1, 2) for x in (q, k, v))
    p = masked_softmax(q @ k.transpose(2, 3) / math.sqrt(E // H) + added)
    out = (p @ v).transpose(1, 2).reshape(N, L, E)
    return module.out_proj(out), p


def mha(name, **choices):
    case = {**MHA, **choices}
    announce(name, case)
    N, H, L, S, E = (case[x] for x in ("batch", "heads", "queries", "keys", "width"))
    kdim, vdim = case["key_width"] or E, case["value_width"] or E
    module = nn.MultiheadAttention(E, H, add_bias_kv=bool(case["bias_kv"]), kdim=kdim, vdim=vdim,
                                   add_zero_attn=bool(case["zero_attn"]), batch_first=True)
    with torch.no_grad():
        for parameter, p in module.named_parameters():
            p.copy_(drawn(f"{name}.{parameter}", *p.shape) * 2)
    query = (drawn(name + ".query", N, L, E) * 4).requires_grad_()
    key = (drawn(name + ".key", N, S, kdim) * 4).requires_grad_()
    value = (drawn(name + ".value", N, S, vdim) * 4).requires_grad_()
    if case["own"]:
        key = value = query
    bias, hidden = drawn_masks(name, case, H)
    padding = torch.zeros(N, S, dtype=torch.bool)
    for n in range(N if case["padding"] else 0):
        padding[n, S - n:] = True  # sequence n loses n keys
    added = torch.where(hidden, -math.inf, bias.expand(N, H, L, S)) if case["bias"] else \
        torch.zeros(N, H, L, S).masked_fill(hidden, -math.inf)
    everything = added.masked_fill(padding[:, None, None], -math.inf)
    out, p = mha_formula(module, query, key, value, everything, case)
    if not (everything == -math.inf).all(-1).any():
        mask = added.reshape(N * H, L, S)
        if case["allowed"] and not case["bias"]:
            mask = hidden.reshape(N * H, L, S)  # true: not attended
        if case["allowed"] | case["bias"] in (0, PER_ROW | SHARED):
            mask = mask[0]
        for each in (False, True):
            theirs, weights = module(query, key, value, attn_mask=mask, average_attn_weights=each,
                                     key_padding_mask=padding if case["padding"] else None)
            assert torch.allclose(theirs, out, rtol=1e-12, atol=1e-12)
            assert torch.allclose(weights, p.mean(1) if each else p, rtol=1e-12, atol=1e-12)
    record(f"{name}.out", out)
    record(f"{name}.weights", p)
    record(f"{name}.average", p.mean(1))
    (out * drawn(name + ".dout", *out.shape)).sum().backward()
    for what, x in (("dquery", query), ("dkey", key), ("dvalue", value)):
        if what == "dquery" or not case["own"]:
            record(f"{name}.{what}", x.grad)
    for parameter, x in module.named_parameters():
        record(f"{name}.gradient.{parameter}", x.grad)


sdpa("plain")
sdpa("square", queries=4, keys=4, width=4)
sdpa("one-key", keys=1)
sdpa("one-query", queries=1)
sdpa("no-keys", keys=0)
sdpa("no-queries", queries=0)
sdpa("scale", scale=0.3)
sdpa("negative-scale", scale=-1.5)
sdpa("large-scale", scale=20)
sdpa("groups", heads=4, key_heads=2)
sdpa("one-key-head", heads=3, key_heads=1)
sdpa("bool", allowed=ALL)
sdpa("bool-shared", allowed=PER_ROW | SHARED)
sdpa("bool-keys", allowed=PER_BATCH | SHARED)
sdpa("bool-blind", allowed=ALL, fully_masked=2)
sdpa("float", bias=ALL)
sdpa("float-shared", bias=PER_ROW | SHARED)
sdpa("float-head", bias=PER_HEAD | SHARED)
sdpa("float-batch", bias=PER_BATCH | PER_ROW | SHARED)
sdpa("float-blind", bias=ALL, fully_masked=1)
sdpa("float-groups", heads=4, key_heads=2, bias=PER_HEAD | PER_ROW | SHARED)
sdpa("float-lowest", allowed=PER_ROW | SHARED, fully_masked=3, huge=1)
sdpa("upper", causal=UPPER, queries=4, keys=4)
sdpa("upper-wide", causal=UPPER, queries=3, keys=6)
sdpa("upper-tall", causal=UPPER, queries=5, keys=3)
sdpa("lower-wide", causal=LOWER, queries=3, keys=6)
sdpa("lower-tall", causal=LOWER, queries=5, keys=3)
sdpa("lower-one", causal=LOWER, queries=1, keys=6)
sdpa("upper-bias", causal=UPPER, bias=PER_ROW | SHARED)
mha("mha")
mha("mha-self", own=1, keys=3)
mha("mha-one-head", heads=1)
mha("mha-four-heads", heads=4)
mha("mha-bool", allowed=PER_ROW | SHARED)
mha("mha-bool-heads", allowed=ALL)
mha("mha-float", bias=PER_ROW | SHARED)
mha("mha-float-heads", bias=ALL)
mha("mha-padding", padding=1, batch=3)
mha("mha-padding-bool", padding=1, allowed=PER_ROW | SHARED)
mha("mha-padding-float", padding=1, bias=ALL)
mha("mha-blind", padding=1, fully_masked=2, allowed=PER_ROW | SHARED)
mha("mha-bias-kv", bias_kv=1)
mha("mha-zero", zero_attn=1, allowed=PER_ROW | SHARED)
mha("mha-both", bias_kv=1, zero_attn=1, padding=1)
mha("mha-widths", key_width=3, value_width=5)
