"""sparse.py PROGRAM ENGINES LOGITS LIBRARY HEADERS - compares sparse attention, forward and backward, with PyTorch in double
precision: scaled_dot_product_attention with a boolean mask, and the same written out. The masks are those of Longformer (a
window and global positions) and BigBird (blocks: a window of blocks, the first ones, and some at random). LIBRARY is
librapt.so, and HEADERS the folder that holds rapt/."""
import ctypes
import math

import bound
import numpy
import torch
from bound import rapt

HEADS, WIDTH = 2, 16
random = numpy.random.default_rng(3)


def longformer(queries, keys, radius, positions):
    """Returns a mask [queries][keys], true where the key is visible, with the last query at the last key."""
    t, s = numpy.arange(queries)[:, None] + keys - queries, numpy.arange(keys)[None]
    return (abs(t - s) <= radius) | numpy.isin(t, positions) | numpy.isin(s, positions)


def bigbird(side):
    """Returns a mask of blocks: those of neighbors, the first one for all, and one more in each row."""
    blocks = longformer(side, side, 1, [0])
    blocks[numpy.arange(side), random.integers(0, side, side)] = True
    return blocks


def theirs(mask, arrays, dout):
    """Returns out and the gradients of q, k and v. A query without keys gives 0."""
    q, k, v = tensors = [torch.tensor(x, dtype=torch.double, requires_grad=True) for x in arrays]
    hidden = torch.tensor(~mask)
    scores = (q @ k.transpose(1, 2) / math.sqrt(WIDTH)).masked_fill(hidden, -1e4)
    out = torch.softmax(scores, -1).masked_fill(hidden, 0) @ v
    (out * torch.tensor(dout, dtype=torch.double)).sum().backward()
    return [out.detach().numpy(), *(x.grad.numpy() for x in tensors)]


def sdpa(mask, arrays):
    q, k, v = (torch.tensor(x, dtype=torch.double)[None] for x in arrays)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.tensor(mask)[None, None])[0].numpy()


def try_one(what, queries, keys, causal, mask, sparse, radius=0):
    """Compares one problem. `sparse` sets the fields of rapt_sparse and returns what they refer to."""
    *arrays, dout = (random.standard_normal((HEADS, rows, WIDTH)).astype(numpy.float32) for rows in (queries, keys, keys, queries))
    a = bound.problem(*arrays)
    a.locality, a.radius, a.mask.causal = rapt.RAPT_LOCALITY_SPARSE, radius, causal
    kept = sparse(a.sparse)
    if causal:
        mask = mask & numpy.tri(queries, keys, keys - queries, dtype=bool)
    got = bound.attend(a, *arrays, dout)
    bound.compare(what, got, theirs(mask, arrays, dout), bound.ATTENTION)
    if has_sdpa and mask.any(1).all():
        bound.compare(f"{what}, scaled_dot_product_attention", got[:1], [sdpa(mask, arrays)], bound.ATTENTION)
    del kept


def set_positions(positions):
    def sparse(s):
        s.global_count = len(positions)
        if positions == list(range(len(positions))):
            return None
        s.globals = array = (ctypes.c_int * len(positions))(*positions)
        return array
    return sparse


def set_blocks(blocks, block_queries, block_keys):
    def sparse(s):
        s.blocks = array = (ctypes.c_uint8 * blocks.size)(*blocks.flatten().tolist())
        s.block_queries, s.block_keys, s.block_stride.row = block_queries, block_keys, blocks.shape[1]
        return array
    return sparse


has_sdpa = hasattr(torch.nn.functional, "scaled_dot_product_attention")
count = 0
for queries, keys in ((9, 9), (40, 90), (200, 200), (33, 700)):
    for causal in (False, True):
        for radius, positions in ((2, [0]), (5, [0, 1, 2]), (17, [3, keys // 2, keys - 1]), (0, [1])):
            mask = longformer(queries, keys, radius if radius else -1, positions)
            try_one(f"window {radius}, positions {positions}, {queries} queries, {keys} keys, causal {causal}", queries, keys, causal,
                    mask, set_positions(positions), radius)
            count += 1
        for block_queries, block_keys in ((1, 1), (4, 8), (64, 64)):
            side = max(-(-queries // block_queries), -(-keys // block_keys))
            blocks = bigbird(side)
            mask = blocks.repeat(block_queries, 0).repeat(block_keys, 1)[:queries, :keys]
            try_one(f"blocks of {block_queries} x {block_keys}, {queries} queries, {keys} keys, causal {causal}", queries, keys, causal,
                    mask, set_blocks(blocks, block_queries, block_keys))
            count += 1
if not has_sdpa:
    print(f"skipped: exchange/sparse, scaled_dot_product_attention: PyTorch {torch.__version__} does not have it")
print(f"{count} comparisons with PyTorch {torch.__version__} agree")
