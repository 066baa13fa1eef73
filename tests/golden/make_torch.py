"""Makes golden.txt and parity.txt: results of PyTorch, forward and backward, in double precision.

    /usr/bin/python3 make_torch.py golden > golden.txt        (Debian: python3-torch)
    /usr/bin/python3 make_torch.py parity > parity.txt

golden.txt has the cases of golden.c: attention, whole models and steps of training. Weights and inputs are not stored, since both
sides compute them with the same formula. A record is a line with a name and a count, followed by the numbers.

parity.txt has the results of scaled_dot_product_attention and nn.MultiheadAttention for the cases below. A case is a line of names
and numbers that parity.c reads; both sides draw its inputs. The formulas are compared with PyTorch's functions wherever these give
numbers. The output of a fully masked query is 0, as in PyTorch since 2.5; before, it was NaN.
"""
import math
import sys

import torch
import torch.nn.functional as F
from torch import nn

from drawn import drawn, record


# ---- golden ----

WIDTH, HEADS, HIDDEN, SOURCE, TARGET = 8, 2, 12, 11, 13
SENTENCES = [([3, 1, 7, 10], [1, 4, 12, 2]), ([5], [1, 2]), ([9, 9, 0, 2, 6, 4], [1, 11, 3, 3, 8, 2])]
SMOOTHING = 0.1


class Model(nn.Module):
    """nn.TransformerEncoder and nn.TransformerDecoder with embeddings, sinusoids and an output layer."""

    def __init__(self, layers, before, activation):
        super().__init__()
        same = dict(d_model=WIDTH, nhead=HEADS, dim_feedforward=HIDDEN, dropout=0.0,
                    activation=activation, batch_first=True, norm_first=before)
        last = (lambda: nn.LayerNorm(WIDTH)) if before else (lambda: None)
        self.source = nn.Embedding(SOURCE, WIDTH)
        self.target = nn.Embedding(TARGET, WIDTH)
        self.output = nn.Linear(WIDTH, TARGET)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**same), layers, last())
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**same), layers, last())

    def named(self):
        """Maps rapt's names of parameters to a tensor of this model and a range of its rows (None: all)."""
        pairs = {"encoder.embedding.weight": (self.source.weight, None),
                 "decoder.embedding.weight": (self.target.weight, None),
                 "output.weight": (self.output.weight, None),
                 "output.bias": (self.output.bias, None)}
        for side, stack in (("encoder", self.encoder), ("decoder", self.decoder)):
            if stack.norm is not None:
                pairs[f"{side}.norm.weight"] = (stack.norm.weight, None)
                pairs[f"{side}.norm.bias"] = (stack.norm.bias, None)
            for i, layer in enumerate(stack.layers):
                for kind in ("weight", "bias"):
                    def put(name, tensor, rows=None):
                        pairs[f"{side}.layers.{i}.{name}.{kind}"] = (tensor, rows)
                    put("self_attn.qkv", getattr(layer.self_attn, f"in_proj_{kind}"))
                    put("self_attn.out", getattr(layer.self_attn.out_proj, kind))
                    put("self_attn.norm", getattr(layer.norm1, kind))
                    if side == "decoder":
                        cross = layer.multihead_attn
                        put("cross_attn.q", getattr(cross, f"in_proj_{kind}"), slice(0, WIDTH))
                        put("cross_attn.kv", getattr(cross, f"in_proj_{kind}"), slice(WIDTH, None))
                        put("cross_attn.out", getattr(cross.out_proj, kind))
                        put("cross_attn.norm", getattr(layer.norm2, kind))
                    put("feedforward.in", getattr(layer.linear1, kind))
                    put("feedforward.out", getattr(layer.linear2, kind))
                    norm = layer.norm3 if side == "decoder" else layer.norm2
                    put("feedforward.norm", getattr(norm, kind))
        return pairs

    def draw(self):
        with torch.no_grad():
            for name, (tensor, rows) in self.named().items():
                part = tensor if rows is None else tensor[rows]
                gain = 1 if name.endswith("norm.weight") else 0
                part.copy_(drawn(name, *part.shape) + gain)

    def embed(self, table, ids):
        x = table(torch.tensor([ids])) * math.sqrt(WIDTH)
        for p in range(len(ids)):
            for i in range(WIDTH // 2):
                angle = p / 10000 ** (2 * i / WIDTH)
                x[0, p, 2 * i] += math.sin(angle)
                x[0, p, 2 * i + 1] += math.cos(angle)
        return x

    def forward(self, source, target):
        hidden = nn.Transformer.generate_square_subsequent_mask(len(target)).to(torch.float64)
        states = self.encoder(self.embed(self.source, source))
        return states, self.output(self.decoder(self.embed(self.target, target), states,
                                                tgt_mask=hidden))


def batch_loss(model):
    loss = 0
    for source, target in SENTENCES:
        logits = model(source, target[:-1])[1][0]
        loss = loss + F.cross_entropy(logits, torch.tensor(target[1:]), reduction="sum",
                                      label_smoothing=SMOOTHING)
    return loss


def model_case(case, layers, before, activation):
    model = Model(layers, before, activation).train()
    model.draw()
    for i, (source, target) in enumerate(SENTENCES):
        states, logits = model(source, target[:-1])
        record(f"{case}.states.{i}", states)
        record(f"{case}.logits.{i}", logits)
    loss = batch_loss(model)
    loss.backward()
    record(f"{case}.loss", loss)
    for name, (tensor, rows) in model.named().items():
        record(f"{case}.gradient.{name}", tensor.grad if rows is None else tensor.grad[rows])
    adam = torch.optim.Adam(model.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    tokens = sum(len(t) - 1 for _, t in SENTENCES)
    losses = []
    for _ in range(10):
        adam.zero_grad()
        loss = batch_loss(model)
        losses.append(float(loss))
        (loss / tokens).backward()
        adam.step()
    record(f"{case}.losses", losses)


def dot_product(q, k, v, mask):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return torch._C._nn._scaled_dot_product_attention(q, k, v, mask)[0]  # PyTorch 1.13


def attention_case(case, heads, key_heads, queries, keys, width, mask):
    q = drawn(case + ".q", 2, heads, queries, width) * 4
    k = drawn(case + ".k", 2, key_heads, keys, width) * 4
    v = drawn(case + ".v", 2, key_heads, keys, width) * 4
    for x in (q, k, v):
        x.requires_grad_()
    t, s = torch.arange(queries)[:, None], torch.arange(keys)[None, :]
    bias = torch.zeros(queries, keys)
    if mask == "causal":
        bias[s > t] = -math.inf
    if mask == "bottom-right":
        bias[s > t + keys - queries] = -math.inf
    if mask == "window":
        bias[(s < t - 2) | (s > t + 1)] = -math.inf
    if mask == "allowed":
        bias[(s * 3 + t) % 4 == 1] = -math.inf
    if mask == "bias":
        bias = drawn(case + ".bias", queries, keys) * 4
    bias.requires_grad_()
    group = heads // key_heads
    repeat = (lambda x: x.repeat_interleave(group, 1))
    out = dot_product(q, repeat(k), repeat(v), bias.expand(2, heads, queries, keys))
    record(f"{case}.out", out)
    (out * drawn(case + ".dout", *out.shape)).sum().backward()
    for name, x in (("dq", q), ("dk", k), ("dv", v)):
        record(f"{case}.{name}", x.grad)
    if mask == "bias":
        record(f"{case}.dbias", bias.grad)


def golden():
    attention_case("plain", 2, 2, 5, 7, 6, None)
    attention_case("causal", 2, 2, 6, 6, 5, "causal")
    attention_case("bottom-right", 2, 1, 4, 9, 3, "bottom-right")
    attention_case("window", 1, 1, 8, 8, 4, "window")
    attention_case("allowed", 2, 2, 5, 7, 6, "allowed")
    attention_case("bias", 4, 2, 5, 19, 4, "bias")
    model_case("after", 2, False, "relu")
    model_case("before", 1, True, "gelu")


# ---- parity ----

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


def parity():
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


{"golden": golden, "parity": parity}[sys.argv[1]]()
