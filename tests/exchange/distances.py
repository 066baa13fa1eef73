"""distances.py PROGRAM ENGINES LOGITS LIBRARY HEADERS - compares distance vectors, forward and backward, with PyTorch in
double precision, where three models are written out in the forms in which they are usually computed: Shaw et al. with a vector
for each pair of a query and a key; Transformer-XL with a product for all distances whose rows are shifted by padding and
reshaping; DeBERTa with two products whose elements are gathered. Logarithmic buckets are judged by the DebertaV2 of transformers. LIBRARY is librapt.so, and HEADERS the folder that holds
rapt/."""
import ctypes
import math
import types

import bound
import numpy
import torch
from bound import rapt
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention

HEADS, WIDTH = 3, 16
random = numpy.random.default_rng(5)


def draw(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def pairs(queries, keys):
    """Returns j - i for each query i and key j, with the last query at the last key."""
    return torch.arange(keys)[None] - torch.arange(queries)[:, None] - (keys - queries)


def shaw(q, k, v, keys, values, causal, reach):
    rows = pairs(q.shape[1], k.shape[1]).clamp(-reach, reach) + reach
    scores = torch.einsum("hid,hijd->hij", q, k[:, None] + keys[rows]) / math.sqrt(WIDTH)
    return torch.einsum("hij,hijd->hid", weights(scores, causal), v[:, None] + values[rows])


def transformer_xl(q, k, v, keys, content_bias, position_bias, causal, reach):
    """For as many queries as keys; reach covers all of them. Product n of query i is for distance n - reach. After a column of
    padding, rows of another length begin one distance later each."""
    rows = q.shape[1]
    content = torch.einsum("hid,hjd->hij", q + content_bias[:, None], k)
    position = torch.einsum("hid,nhd->hin", q + position_bias[:, None], keys)[:, :, reach + 1 - rows:reach + rows]
    flat = torch.nn.functional.pad(position, (0, 1)).flatten(1)[:, rows - 1:]
    position = torch.nn.functional.pad(flat, (0, rows - 1))[:, :rows * (2 * rows - 1)].reshape(HEADS, rows, 2 * rows - 1)[:, :, :rows]
    return weights((content + position) / math.sqrt(WIDTH), causal) @ v


def deberta(q, k, v, keys, queries, causal, reach):
    """keys[n] is the key vector for i - j = reach - n, and queries[n] the query vector for j - i = n - reach."""
    rows = (pairs(q.shape[1], k.shape[1]).clamp(-reach, reach) + reach).expand(HEADS, -1, -1)
    content_to_position = torch.einsum("hid,nhd->hin", q, keys).gather(2, rows)
    position_to_content = torch.einsum("hjd,nhd->hjn", k, queries).gather(2, rows.transpose(1, 2)).transpose(1, 2)
    scores = q @ k.transpose(1, 2) + content_to_position + position_to_content
    return weights(scores / math.sqrt(3 * WIDTH), causal) @ v


def deberta_v2(q, k, v, keys, queries, causal, buckets):
    """Scores are those of transformers, which counts i - j where rapt counts j - i, also for query vectors."""
    def flat(rows):
        return rows.flip(0).flatten(1)[None]

    half, far = buckets
    module = types.SimpleNamespace(position_buckets=half, max_relative_positions=far, pos_ebd_size=half, share_att_key=False,
                                   pos_att_type=["c2p", "p2c"], num_attention_heads=HEADS, pos_key_proj=lambda x: flat(keys),
                                   pos_query_proj=lambda x: flat(queries))
    module.transpose_for_scores = types.MethodType(DisentangledSelfAttention.transpose_for_scores, module)
    bias = DisentangledSelfAttention.disentangled_attention_bias(module, q, k, None, torch.zeros(2 * half, 1), 3)
    return weights(q @ k.transpose(1, 2) / math.sqrt(3 * WIDTH) + bias, causal) @ v


def weights(scores, causal):
    if causal:
        scores = scores.masked_fill(pairs(*scores.shape[1:]) > 0, -math.inf)
    return torch.softmax(scores, -1)


def try_one(form, shapes, queries, keys, causal, reach):
    q, k, v, dout = (draw(HEADS, rows, WIDTH) for rows in (queries, keys, keys, queries))
    vectors = {name: draw(*shape) / 2 for name, shape in shapes.items()}
    a = bound.problem(q, k, v)
    a.mask.causal, a.distances.shared = causal, form is shaw
    if form is deberta_v2:
        half, far = reach
        a.distances.before, a.distances.after = far - 1, far
        buckets = (ctypes.c_int * (2 * far))()
        a.distances.bucket_count, a.distances.buckets = rapt.rapt_distance_buckets(far - 1, far, half, far - 1, buckets), buckets
        assert a.distances.bucket_count == 2 * half
    else:
        a.distances.before, a.distances.after = reach, reach
    if form in (deberta, deberta_v2):
        a.scale = 1 / math.sqrt(3 * WIDTH)
    got = bound.attend(a, q, k, v, dout, vectors=vectors)
    tensors = [torch.tensor(x, dtype=torch.double, requires_grad=True) for x in (q, k, v, *vectors.values())]
    out = form(*tensors, causal, reach)
    (out * torch.tensor(dout, dtype=torch.double)).sum().backward()
    bound.compare(f"{form.__name__}, {queries} queries, {keys} keys, causal {causal}, up to {reach}", got,
                  [out.detach().numpy(), *(x.grad.numpy() for x in tensors)], ("out", "dq", "dk", "dv", *vectors))


count = 0
for causal in (False, True):
    for queries, keys in ((9, 9), (40, 90), (200, 200)):
        for reach in (1, 4, 33):
            shared, each = (2 * reach + 1, WIDTH), (2 * reach + 1, HEADS, WIDTH)
            try_one(shaw, {"keys": shared, "values": shared}, queries, keys, causal, reach)
            try_one(deberta, {"keys": each, "queries": each}, queries, keys, causal, reach)
            count += 2
    for rows in (5, 50, 160):
        biases = (HEADS, WIDTH)
        try_one(transformer_xl, {"keys": (2 * rows + 1, HEADS, WIDTH), "content_bias": biases, "position_bias": biases}, rows, rows,
                causal, rows)
        count += 1
    for rows, *buckets in ((30, 8, 20), (70, 16, 64), (150, 32, 128), (90, 48, 96), (600, 256, 512)):
        each = (2 * buckets[0], HEADS, WIDTH)
        try_one(deberta_v2, {"keys": each, "queries": each}, rows, rows, causal, buckets)
        count += 1
print(f"{count} comparisons with PyTorch {torch.__version__} agree")
