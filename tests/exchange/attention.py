"""attention.py - compares attention, forward and backward, with PyTorch in double precision, where it is written out from the
papers or computed by other packages:

    normalizers    the package entmax and, where PyTorch has it, scaled_dot_product_attention
    coverage       coverage scores (Tu et al. 2016; See et al. 2017), query by query
    distances      distance vectors in the forms in which three models are usually computed: Shaw et al. with a vector for each
                   pair of a query and a key; Transformer-XL with a product for all distances whose rows are shifted by padding
                   and reshaping; DeBERTa with two products whose elements are gathered. Logarithmic buckets are judged by the
                   DebertaV2 of transformers
    sparse         scaled_dot_product_attention with a boolean mask. The masks are those of Longformer (a window and global
                   positions) and BigBird (blocks: a window of blocks, the first ones, and some at random)
    talking_heads  Shazeer et al. 2020; PyTorch has no operator for them"""
import ctypes
import math
import types

import bound
import kit
import numpy
import torch
from bound import rapt

HEADS, WIDTH = 3, 16
random = numpy.random.default_rng(1)
has_sdpa = hasattr(torch.nn.functional, "scaled_dot_product_attention")


def draw(*shape):
    return random.standard_normal(shape).astype(numpy.float32)


def doubles(arrays):
    """Returns tensors that gradients are wanted of."""
    return [torch.tensor(x, dtype=torch.double, requires_grad=True) for x in arrays]


def backward(out, dout):
    (out * torch.tensor(dout, dtype=torch.double)).sum().backward()


def sink(scores, number):
    """Returns softmax with one more key, whose weight is dropped."""
    column = number[:, None, None].expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, column], -1), -1)[..., :-1]


def later(queries, keys, causal):
    """Returns a mask [queries][keys]: the keys that a causal mask hides, with the last query at the last key."""
    return torch.ones(queries, keys, dtype=torch.bool).triu(1 + keys - queries) & bool(causal)


def report(case, count, *others):
    """Says what was compared."""
    if not has_sdpa and case in ("normalizers", "sparse"):
        print(f"skipped: exchange/{case}, scaled_dot_product_attention: PyTorch {torch.__version__} does not have it")
    print(f"{count} comparisons with {' and '.join((f'PyTorch {torch.__version__}', *others))} agree")


# ---- normalizers ----

def normalizers():
    """Returns for each normalizer its enumerator, its learned array or None, and its weights for scores [H][T][S] and numbers
    [H]."""
    import entmax
    return {
        "softmax": (rapt.RAPT_NORMALIZER_SOFTMAX, None, lambda x, b: torch.softmax(x, -1)),
        "sink-softmax": (rapt.RAPT_NORMALIZER_SINK_SOFTMAX, rapt.RAPT_ATTENTION_PARAMETER_SINK, sink),
        "sigmoid": (rapt.RAPT_NORMALIZER_SIGMOID, rapt.RAPT_ATTENTION_PARAMETER_SIGMOID_BIAS,
                    lambda x, b: torch.sigmoid(x + b[:, None, None])),
        "sparsemax": (rapt.RAPT_NORMALIZER_SPARSEMAX, None, lambda x, b: entmax.sparsemax(x, dim=-1)),
        "entmax-1.5": (rapt.RAPT_NORMALIZER_ENTMAX_1_5, None, lambda x, b: entmax.entmax15(x, dim=-1)),
        "entmax": (rapt.RAPT_NORMALIZER_ENTMAX, rapt.RAPT_ATTENTION_PARAMETER_ENTMAX_ALPHA,
                   lambda x, b: entmax.entmax_bisect(x, alpha=1 + torch.sigmoid(b)[:, None, None], dim=-1, n_iter=100)),
    }


def normalized(weights, hidden, arrays, dout):
    """Returns out and the gradients of q, k, v and the numbers, and these as tensors."""
    q, k, v, number = tensors = doubles(arrays)
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
    out = weights(scores.masked_fill(hidden, -1e4), number).masked_fill(hidden, 0) @ v
    backward(out, dout)
    gradients = [numpy.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in tensors]
    return [out.detach().numpy(), *gradients], tensors


def compare_sdpa(what, out, hidden, tensors, sunk):
    """Compares with scaled_dot_product_attention. A sink is one more key, with the value 0 and a bias for its score."""
    q, k, v, number = (x.detach() for x in tensors)
    bias = torch.zeros(HEADS, *hidden.shape, dtype=torch.double).masked_fill(hidden, -math.inf)
    if sunk:
        k, v = (torch.cat([x, torch.zeros_like(x[:, :1])], 1) for x in (k, v))
        bias = torch.cat([bias, number[:, None, None].expand(HEADS, hidden.shape[0], 1)], -1)
    bound.compare(f"{what}, scaled_dot_product_attention", [out],
                  [torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=bias[None])[0].numpy()],
                  bound.ATTENTION)


def test_normalizers():
    count = 0
    for queries, keys, width, value_width, causal in ((5, 7, 4, 3, False), (40, 90, 16, 20, False), (70, 150, 24, 16, True),
                                                      (33, 300, 8, 8, True)):
        for name, (normalizer, number_array, weights) in normalizers().items():
            arrays = draw(HEADS, queries, width), draw(HEADS, keys, width), draw(HEADS, keys, value_width), draw(HEADS)
            what, hidden, dout = f"{name}, {queries} queries, {keys} keys", later(queries, keys, causal), draw(HEADS, queries, value_width)
            a = bound.problem(*arrays[:3])
            a.normalizer, a.mask.causal = normalizer, causal
            got = bound.attend(a, *arrays[:3], dout, number_array, arrays[3])
            wanted, tensors = normalized(weights, hidden, arrays, dout)
            bound.compare(what, got, wanted, bound.ATTENTION)
            if has_sdpa and name in ("softmax", "sink-softmax"):
                compare_sdpa(what, got[0], hidden, tensors, name == "sink-softmax")
            count += 1
    report("normalizers", count, "entmax")


# ---- coverage scores ----

HIDDEN = 6
COVERAGE = {
    "W": rapt.RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT,
    "U": rapt.RAPT_ATTENTION_PARAMETER_KEY_WEIGHT,
    "b": rapt.RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS,
    "v": rapt.RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR,
    "w": rapt.RAPT_ATTENTION_PARAMETER_COVERAGE_WEIGHT,
}


def covered(p, q, k, v, coverage, causal):
    """Returns out [H][T][V], where query t reads the sum of the weights of the queries before it."""
    projected_q, projected_k, out = q @ p["W"].transpose(1, 2), k @ p["U"].transpose(1, 2), []
    for t in range(q.shape[1]):
        inside = projected_q[:, t, None] + projected_k + coverage[:, :, None] * p["w"][:, None] + p["b"][:, None]
        scores = (torch.tanh(inside) * p["v"][:, None]).sum(-1)
        if causal:
            scores = scores.masked_fill(torch.arange(k.shape[1]) > t, -math.inf)
        weights = torch.softmax(scores, -1)
        coverage = coverage + weights
        out.append((weights[:, None] @ v)[:, 0])
    return torch.stack(out, 1)


def try_coverage(queries, keys, width, value_width, causal, given):
    """Compares one problem, with the gradients of one learned array after the other. Returns the number of comparisons."""
    *arrays, dout = (0.7 * draw(HEADS, rows, columns) for rows, columns in (
        (queries, width), (keys, width), (keys, value_width), (queries, value_width)))
    shapes = {"W": (HIDDEN, width), "U": (HIDDEN, width), "b": (HIDDEN,), "v": (HIDDEN,), "w": (HIDDEN,)}
    learned = {name: 0.7 * draw(HEADS, *shape) for name, shape in shapes.items()}
    before = abs(draw(HEADS, keys)) if given else numpy.zeros((HEADS, keys), numpy.float32)
    a = bound.problem(*arrays)
    a.score, a.parameters.hidden, a.mask.causal = rapt.RAPT_SCORE_COVERAGE, HIDDEN, causal
    if given:
        a.previous_weights = bound.floats(before)
    for name, array in COVERAGE.items():
        a.parameters.array[array] = bound.floats(learned[name])
    tensors = doubles([*arrays, *learned.values()])
    out = covered(dict(zip(learned, tensors[3:])), *tensors[:3], torch.tensor(before, dtype=torch.double), causal)
    backward(out, dout)
    wanted, gradients = [out.detach().numpy(), *(x.grad.numpy() for x in tensors[:3])], [x.grad.numpy() for x in tensors[3:]]
    for gradient, (name, array) in zip(gradients, COVERAGE.items()):
        got = bound.attend(a, *arrays, dout, array, learned[name])
        bound.compare(f"{queries} queries, {keys} keys, coverage given: {given}", got, [*wanted, gradient],
                      ("out", "dq", "dk", "dv", f"d{name}"))
    return len(COVERAGE)


def test_coverage():
    shapes = ((5, 7, 4, 3, False), (30, 20, 8, 10, False), (12, 90, 16, 5, False), (33, 33, 8, 8, True))
    report("coverage", sum(try_coverage(*shape, given) for shape in shapes for given in (False, True)))


# ---- distance vectors ----

def pairs(queries, keys):
    """Returns j - i for each query i and key j, with the last query at the last key."""
    return torch.arange(keys)[None] - torch.arange(queries)[:, None] - (keys - queries)


def weights_of(scores, causal):
    if causal:
        scores = scores.masked_fill(pairs(*scores.shape[1:]) > 0, -math.inf)
    return torch.softmax(scores, -1)


def shaw(q, k, v, keys, values, causal, reach):
    rows = pairs(q.shape[1], k.shape[1]).clamp(-reach, reach) + reach
    scores = torch.einsum("hid,hijd->hij", q, k[:, None] + keys[rows]) / math.sqrt(WIDTH)
    return torch.einsum("hij,hijd->hid", weights_of(scores, causal), v[:, None] + values[rows])


def transformer_xl(q, k, v, keys, content_bias, position_bias, causal, reach):
    """For as many queries as keys; reach covers all of them. Product n of query i is for distance n - reach. After a column of
    padding, rows of another length begin one distance later each."""
    rows = q.shape[1]
    content = torch.einsum("hid,hjd->hij", q + content_bias[:, None], k)
    position = torch.einsum("hid,nhd->hin", q + position_bias[:, None], keys)[:, :, reach + 1 - rows:reach + rows]
    flat = torch.nn.functional.pad(position, (0, 1)).flatten(1)[:, rows - 1:]
    position = torch.nn.functional.pad(flat, (0, rows - 1))[:, :rows * (2 * rows - 1)].reshape(HEADS, rows, 2 * rows - 1)[:, :, :rows]
    return weights_of((content + position) / math.sqrt(WIDTH), causal) @ v


def deberta(q, k, v, keys, queries, causal, reach):
    """keys[n] is the key vector for i - j = reach - n, and queries[n] the query vector for j - i = n - reach."""
    rows = (pairs(q.shape[1], k.shape[1]).clamp(-reach, reach) + reach).expand(HEADS, -1, -1)
    content_to_position = torch.einsum("hid,nhd->hin", q, keys).gather(2, rows)
    position_to_content = torch.einsum("hjd,nhd->hjn", k, queries).gather(2, rows.transpose(1, 2)).transpose(1, 2)
    scores = q @ k.transpose(1, 2) + content_to_position + position_to_content
    return weights_of(scores / math.sqrt(3 * WIDTH), causal) @ v


def deberta_v2(q, k, v, keys, queries, causal, buckets):
    """Scores are those of transformers, which counts i - j where rapt counts j - i, also for query vectors."""
    from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention

    def flat(rows):
        return rows.flip(0).flatten(1)[None]

    half, far = buckets
    module = types.SimpleNamespace(position_buckets=half, max_relative_positions=far, pos_ebd_size=half, share_att_key=False,
                                   pos_att_type=["c2p", "p2c"], num_attention_heads=HEADS, pos_key_proj=lambda x: flat(keys),
                                   pos_query_proj=lambda x: flat(queries))
    module.transpose_for_scores = types.MethodType(DisentangledSelfAttention.transpose_for_scores, module)
    bias = DisentangledSelfAttention.disentangled_attention_bias(module, q, k, None, torch.zeros(2 * half, 1), 3)
    return weights_of(q @ k.transpose(1, 2) / math.sqrt(3 * WIDTH) + bias, causal) @ v


def try_distances(form, shapes, queries, keys, causal, reach):
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
    tensors = doubles((q, k, v, *vectors.values()))
    out = form(*tensors, causal, reach)
    backward(out, dout)
    bound.compare(f"{form.__name__}, {queries} queries, {keys} keys, causal {causal}, up to {reach}", got,
                  [out.detach().numpy(), *(x.grad.numpy() for x in tensors)], ("out", "dq", "dk", "dv", *vectors))


def test_distances():
    count = 0
    for causal in (False, True):
        for queries, keys in ((9, 9), (40, 90), (200, 200)):
            for reach in (1, 4, 33):
                shared, each = (2 * reach + 1, WIDTH), (2 * reach + 1, HEADS, WIDTH)
                try_distances(shaw, {"keys": shared, "values": shared}, queries, keys, causal, reach)
                try_distances(deberta, {"keys": each, "queries": each}, queries, keys, causal, reach)
                count += 2
        for rows in (5, 50, 160):
            biases = (HEADS, WIDTH)
            try_distances(transformer_xl, {"keys": (2 * rows + 1, HEADS, WIDTH), "content_bias": biases, "position_bias": biases}, rows,
                          rows, causal, rows)
            count += 1
        for rows, *buckets in ((30, 8, 20), (70, 16, 64), (150, 32, 128), (90, 48, 96), (600, 256, 512)):
            each = (2 * buckets[0], HEADS, WIDTH)
            try_distances(deberta_v2, {"keys": each, "queries": each}, rows, rows, causal, buckets)
            count += 1
    report("distances", count)


# ---- sparse attention ----

def longformer(queries, keys, radius, positions):
    """Returns a mask [queries][keys], true where the key is visible, with the last query at the last key."""
    t, s = numpy.arange(queries)[:, None] + keys - queries, numpy.arange(keys)[None]
    return (abs(t - s) <= radius) | numpy.isin(t, positions) | numpy.isin(s, positions)


def bigbird(side):
    """Returns a mask of blocks: those of neighbors, the first one for all, and one more in each row."""
    blocks = longformer(side, side, 1, [0])
    blocks[numpy.arange(side), random.integers(0, side, side)] = True
    return blocks


def masked(mask, arrays, dout):
    """Returns out and the gradients of q, k and v. A query without keys gives 0."""
    q, k, v = tensors = doubles(arrays)
    hidden = torch.tensor(~mask)
    scores = (q @ k.transpose(1, 2) / math.sqrt(WIDTH)).masked_fill(hidden, -1e4)
    out = torch.softmax(scores, -1).masked_fill(hidden, 0) @ v
    backward(out, dout)
    return [out.detach().numpy(), *(x.grad.numpy() for x in tensors)]


def masked_sdpa(mask, arrays):
    q, k, v = (torch.tensor(x, dtype=torch.double)[None] for x in arrays)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.tensor(mask)[None, None])[0].numpy()


def try_sparse(what, queries, keys, causal, mask, sparse, radius=0):
    """Compares one problem. `sparse` sets the fields of rapt_sparse and returns what they refer to."""
    *arrays, dout = (draw(HEADS, rows, WIDTH) for rows in (queries, keys, keys, queries))
    a = bound.problem(*arrays)
    a.locality, a.radius, a.mask.causal = rapt.RAPT_LOCALITY_SPARSE, radius, causal
    kept = sparse(a.sparse)
    if causal:
        mask = mask & numpy.tri(queries, keys, keys - queries, dtype=bool)
    got = bound.attend(a, *arrays, dout)
    bound.compare(what, got, masked(mask, arrays, dout), bound.ATTENTION)
    if has_sdpa and mask.any(1).all():
        bound.compare(f"{what}, scaled_dot_product_attention", got[:1], [masked_sdpa(mask, arrays)], bound.ATTENTION)
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


def test_sparse():
    count = 0
    for queries, keys in ((9, 9), (40, 90), (200, 200), (33, 700)):
        for causal in (False, True):
            for radius, positions in ((2, [0]), (5, [0, 1, 2]), (17, [3, keys // 2, keys - 1]), (0, [1])):
                mask = longformer(queries, keys, radius if radius else -1, positions)
                try_sparse(f"window {radius}, positions {positions}, {queries} queries, {keys} keys, causal {causal}", queries, keys, causal,
                        mask, set_positions(positions), radius)
                count += 1
            for block_queries, block_keys in ((1, 1), (4, 8), (64, 64)):
                side = max(-(-queries // block_queries), -(-keys // block_keys))
                blocks = bigbird(side)
                mask = blocks.repeat(block_queries, 0).repeat(block_keys, 1)[:queries, :keys]
                try_sparse(f"blocks of {block_queries} x {block_keys}, {queries} queries, {keys} keys, causal {causal}", queries, keys, causal,
                        mask, set_blocks(blocks, block_queries, block_keys))
                count += 1
    report("sparse", count)


# ---- talking heads ----

TALKING = ("out", "dq", "dk", "dv", "dtalking_scores", "dtalking_weights")


def talked(arrays, number, mixes, hidden, dout):
    """Returns out and the gradients of q, k, v and the matrices. Without a number, weights are those of softmax."""
    q, k, v, *mixes = tensors = doubles((*arrays, *mixes))
    group = len(q) // len(k)
    k, v = (x.repeat_interleave(group, 0) for x in (k, v))
    scores = torch.einsum("hg,gts->hts", mixes[0], q @ k.transpose(1, 2) / math.sqrt(q.shape[2])).masked_fill(hidden, -1e4)
    weights = torch.softmax(scores, -1) if number is None else sink(scores, torch.tensor(number, dtype=torch.double))
    out = torch.einsum("hg,gts->hts", mixes[1], weights.masked_fill(hidden, 0)) @ v
    backward(out, dout)
    return [out.detach().numpy(), *(x.grad.numpy() for x in tensors)]


def talk(a, arrays, number, mixes, dout):
    out, statistics = numpy.zeros_like(dout), numpy.zeros((*dout.shape[:2], 2), numpy.float32)
    results = [numpy.zeros_like(x) for x in (*arrays, *mixes)]
    a.talking_scores, a.talking_weights = (bound.floats(x) for x in mixes)
    if number is not None:
        a.normalizer = rapt.RAPT_NORMALIZER_SINK_SOFTMAX
        a.parameters.array[rapt.RAPT_ATTENTION_PARAMETER_SINK] = bound.floats(number)
    saved = rapt.sized(rapt.rapt_attention_saved, statistics=bound.floats(statistics))
    q, k, v, talking_scores, talking_weights = (bound.floats(x) for x in results)
    d = rapt.sized(rapt.rapt_gradients, q=q, k=k, v=v, talking_scores=talking_scores, talking_weights=talking_weights)
    memory, address = bound.aligned(rapt.rapt_attention_workspace(a))
    workspace, why = ctypes.c_void_p(address), rapt.rapt_message()
    q, k, v, dout, to = (bound.floats(x) for x in (*arrays, dout, out))
    rapt.check(rapt.rapt_attention_forward(a, q, k, v, to, saved, workspace, why), why)
    rapt.check(rapt.rapt_attention_backward(a, q, k, v, to, saved, dout, None, d, workspace, why), why)
    return [out, *results]


def test_talking_heads():
    heads, count = 4, 0
    for queries, keys, width, value_width, key_heads in ((5, 7, 4, 3, 4), (40, 90, 16, 20, 2), (70, 150, 24, 16, 1), (33, 300, 8, 8, 4)):
        for causal in (False, True):
            for sunk in (False, True):
                arrays = draw(heads, queries, width), draw(key_heads, keys, width), draw(key_heads, keys, value_width)
                mixes, dout = (draw(heads, heads), draw(heads, heads)), draw(heads, queries, value_width)
                number = draw(heads) if sunk else None
                a = bound.problem(*arrays)
                a.key_heads, a.mask.causal = key_heads, causal
                bound.compare(f"{queries} queries, {keys} keys, {key_heads} key heads, causal {causal}, sink {sunk}",
                              talk(a, arrays, number, mixes, dout),
                              talked(arrays, number, mixes, later(queries, keys, causal), dout), TALKING)
                count += 1
    report("talking_heads", count)


kit.main(globals())
