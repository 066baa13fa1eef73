"""peer_torch.py - the same workloads in PyTorch, as its users would write them, on our arrays."""
import ctypes
import math

import torch
import torch.nn.functional as F
from torch import nn

NAME = "PyTorch " + ".".join(torch.__version__.split(".")[:2])


def tensor(pointer, *shape):
    """Returns a view of one of our arrays."""
    memory = (ctypes.c_float * math.prod(shape)).from_address(ctypes.addressof(pointer.contents))
    return torch.frombuffer(memory, dtype=torch.float32).reshape(shape)


def tokens(pointer, *shape):
    memory = (ctypes.c_int32 * math.prod(shape)).from_address(ctypes.addressof(pointer.contents))
    return torch.frombuffer(memory, dtype=torch.int32).reshape(shape).long()


def pointer_of(x):
    return ctypes.cast(x.data_ptr(), ctypes.POINTER(ctypes.c_float))


def attend(q, k, v, causal):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    if hasattr(torch._C._nn, "_scaled_dot_product_attention"):  # PyTorch 1.13
        return torch._C._nn._scaled_dot_product_attention(q, k, v, None, 0.0, False, causal)[0]
    raise SystemExit("error: this PyTorch has no scaled dot-product attention")


class Model(nn.Module):
    """nn.TransformerEncoder and nn.TransformerDecoder around one table, which is also the output matrix."""

    def __init__(self, shape):
        super().__init__()
        same = dict(d_model=shape.width, nhead=shape.heads, dim_feedforward=shape.hidden,
                    dropout=0.0, batch_first=True)
        self.table = nn.Parameter(torch.empty(shape.vocab, shape.width))
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(**same),
                                             shape.encoder_layers)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**same),
                                             shape.decoder_layers)
        self.width, self.heads = shape.width, shape.heads
        longest = max(shape.source, shape.target)
        angles = torch.arange(longest)[:, None] / 10000 ** (
            torch.arange(0, shape.width, 2, dtype=torch.float64) / shape.width)
        places = torch.stack((angles.sin(), angles.cos()), 2).reshape(longest, shape.width)
        self.register_buffer("places", places.float())
        self.register_buffer("hidden",
                             nn.Transformer.generate_square_subsequent_mask(shape.target))

    def named(self):
        """Maps our names of parameters to a tensor and its rows."""
        width, pairs = self.width, {"embedding.weight": (self.table, slice(None))}
        for side, stack in (("encoder", self.encoder), ("decoder", self.decoder)):
            for i, layer in enumerate(stack.layers):
                decoder = side == "decoder"
                for kind in ("weight", "bias"):
                    own, into = layer.self_attn, f"in_proj_{kind}"
                    parts = {"self_attn.qkv": getattr(own, into),
                             "self_attn.out": getattr(own.out_proj, kind),
                             "self_attn.norm": getattr(layer.norm1, kind),
                             "feedforward.in": getattr(layer.linear1, kind),
                             "feedforward.out": getattr(layer.linear2, kind),
                             "feedforward.norm": getattr(layer.norm3 if decoder else layer.norm2,
                                                         kind)}
                    if decoder:
                        cross = layer.multihead_attn
                        parts["cross_attn.out"] = getattr(cross.out_proj, kind)
                        parts["cross_attn.norm"] = getattr(layer.norm2, kind)
                        pairs[f"{side}.layers.{i}.cross_attn.q.{kind}"] = (
                            getattr(cross, into), slice(0, width))
                        pairs[f"{side}.layers.{i}.cross_attn.kv.{kind}"] = (
                            getattr(cross, into), slice(width, None))
                    for name, part in parts.items():
                        pairs[f"{side}.layers.{i}.{name}.{kind}"] = (part, slice(None))
        return pairs

    def take(self, weights):
        pairs = self.named()
        with torch.no_grad():
            for name, rows, columns, data in weights:
                part, where = pairs.pop(name)
                part[where].copy_(torch.frombuffer(data, dtype=torch.float32)
                                  .reshape(part[where].shape))
        if pairs:
            raise SystemExit(f"error: we have no {sorted(pairs)}")

    def embed(self, ids, first=0):
        return F.embedding(ids, self.table) * math.sqrt(self.width) + \
            self.places[first:first + ids.shape[1]]

    def forward(self, source, target):
        states = self.encoder(self.embed(source))
        out = self.decoder(self.embed(target), states,
                           tgt_mask=self.hidden[:target.shape[1], :target.shape[1]])
        return F.linear(out, self.table)


class Training:
    """Training steps; with bf16, products are computed in bf16 where torch.autocast chooses it."""

    def __init__(self, shape, weights, source, target, rate, bf16=False, compiled=False):
        self.model = Model(shape).train()
        self.model.take(weights)
        self.run, self.bf16 = torch.compile(self.model) if compiled else self.model, bf16
        self.source, self.fed, self.wanted = source, target[:, :-1], target[:, 1:].reshape(-1)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9)

    def step(self):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            logits = self.run(self.source, self.fed).reshape(len(self.wanted), -1)
            loss = F.cross_entropy(logits, self.wanted, label_smoothing=0.1)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return float(loss)


class Layer:
    """A decoder layer with a key/value cache: one row per target and step."""

    def __init__(self, layer, heads):
        self.layer, self.heads = layer, heads

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def start(self, states, longest):
        cross, width = self.layer.multihead_attn, states.shape[2]
        both = F.linear(states, cross.in_proj_weight[width:], cross.in_proj_bias[width:])
        self.cross_k, self.cross_v = (self.split(x) for x in both.split(width, 2))
        shape = states.shape[0], self.heads, longest, width // self.heads
        self.k, self.v = torch.empty(shape), torch.empty(shape)

    def attend(self, q, k, v, out):
        x = attend(self.split(q), k, v, False).transpose(1, 2)
        return out(x.reshape(q.shape))

    def step(self, x, at):
        layer, own, cross = self.layer, self.layer.self_attn, self.layer.multihead_attn
        width = x.shape[2]
        q, k, v = F.linear(x, own.in_proj_weight, own.in_proj_bias).split(width, 2)
        self.k[:, :, at:at + 1], self.v[:, :, at:at + 1] = self.split(k), self.split(v)
        y = self.attend(q, self.k[:, :, :at + 1], self.v[:, :, :at + 1], own.out_proj)
        x = layer.norm1(x + y)
        q = F.linear(x, cross.in_proj_weight[:width], cross.in_proj_bias[:width])
        x = layer.norm2(x + self.attend(q, self.cross_k, self.cross_v, cross.out_proj))
        return layer.norm3(x + layer.linear2(F.relu(layer.linear1(x))))


class Translation:
    """Decodes greedily with a key/value cache; token 0, the end, is suppressed."""

    def __init__(self, shape, weights, source):
        self.model = Model(shape).eval()
        self.model.take(weights)
        self.source, self.length = source, shape.target
        self.layers = [Layer(x, shape.heads) for x in self.model.decoder.layers]

    def start(self):
        states = self.model.encoder(self.model.embed(self.source))
        for layer in self.layers:
            layer.start(states, self.length)
        return torch.ones(len(self.source), 1, dtype=torch.long)

    def logits(self, ids, at):
        x = self.model.embed(ids, at)
        for layer in self.layers:
            x = layer.step(x, at)
        return F.linear(x[:, 0], self.model.table)

    @torch.inference_mode()
    def first(self):
        return self.logits(self.start(), 0)

    @torch.inference_mode()
    def run(self):
        ids, all_ids = self.start(), []
        for at in range(self.length):
            logits = self.logits(ids, at)
            logits[:, 0] = -math.inf
            ids = logits.argmax(1, keepdim=True)
            all_ids.append(ids)
        return torch.cat(all_ids, 1)
