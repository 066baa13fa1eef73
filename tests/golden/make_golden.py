"""Makes golden.txt: the results of PyTorch for the cases of golden.c, in double precision.

    /usr/bin/python3 make_golden.py > golden.txt        (Debian: python3-torch)

Weights and inputs are not stored, since both sides compute them with the same formula. A record is a
line with a name and a count, followed by the numbers.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

from drawn import drawn, record

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


attention_case("plain", 2, 2, 5, 7, 6, None)
attention_case("causal", 2, 2, 6, 6, 5, "causal")
attention_case("bottom-right", 2, 1, 4, 9, 3, "bottom-right")
attention_case("window", 1, 1, 8, 8, 4, "window")
attention_case("allowed", 2, 2, 5, 7, 6, "allowed")
attention_case("bias", 4, 2, 5, 19, 4, "bias")
model_case("after", 2, False, "relu")
model_case("before", 1, True, "gelu")
