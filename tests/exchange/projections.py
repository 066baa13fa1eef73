"""projections.py - compares what changes queries, keys and outputs of attention, forward and backward. Norms of queries and
keys, gates of outputs, differences, forget gates, talking heads and linear attention, in blocks, are judged by PyTorch with
the norm of transformers 4.40; latent rows by the DeepseekV2Attention of transformers 5.24, in ENGINES; scaled rotary angles,
on arrays, by the functions of transformers 5.24, in ENGINES, and by the paper's formula of YaRN."""
import ast
import ctypes
import math
import sys
import types

import bound
import hf_search
import kit
import numpy
import torch
from bound import rapt
from torch.nn.utils.stateless import functional_call
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
from transformers.models.qwen2.modeling_qwen2 import Qwen2RMSNorm

HEADS, KEY_HEADS, WIDTH, ROWS, EPSILON = 4, 2, 24, 19, 0.01
K = WIDTH // HEADS
INITIAL = 0.8 - 0.6  # of lambda in the first layer
random = numpy.random.default_rng(1)


# ---- norms of queries and keys, gates of outputs ----

class Block:
    """A function of block.h with random parameters."""

    def __init__(self, config):
        self.block, self.why = ctypes.POINTER(rapt.rapt_block)(), rapt.rapt_message()
        limits = rapt.sized(rapt.rapt_block_limits, batch=1, rows=ROWS, threads=1)
        rapt.check(rapt.rapt_block_create(self.block, rapt.RAPT_BLOCK_KIND_CAUSAL_ATTENTION, config, limits, None, self.why), self.why)
        self.count = rapt.rapt_block_floats(self.block)
        self.memory, address = bound.aligned(4 * self.count)
        self.parameters = ctypes.cast(address, ctypes.POINTER(ctypes.c_float))
        self.tensors = {}
        for i in range(rapt.rapt_block_tensors(self.block)):
            t = rapt.rapt_block_tensor(self.block, i)
            data = (random.standard_normal((t.rows, t.columns)) / math.sqrt(WIDTH) + ("norm" in t.name.decode())).astype(numpy.float32)
            rapt.check(rapt.rapt_block_write(self.block, self.parameters, i, bound.floats(data), self.why), self.why)
            self.tensors[t.name.decode()] = data

    def run(self, x, dy):
        """Returns y and the gradients of x and of all tensors."""
        y, dx, gradients = numpy.zeros_like(x), numpy.zeros_like(x), numpy.zeros(self.count, numpy.float32)
        starts = (ctypes.c_int * 2)(0, ROWS)
        rows = rapt.sized(rapt.rapt_block_rows, starts=starts, batch=1, learning=1)
        to = bound.floats(gradients)
        rapt.check(rapt.rapt_block_forward(self.block, self.parameters, rows, bound.floats(x), bound.floats(y), self.why), self.why)
        rapt.check(rapt.rapt_block_backward(self.block, self.parameters, rows, bound.floats(dy), bound.floats(dx), None, to, self.why),
                   self.why)
        results = [y, dx]
        for i, data in enumerate(self.tensors.values()):
            results.append(numpy.zeros_like(data))
            rapt.check(rapt.rapt_block_read(self.block, to, i, bound.floats(results[-1]), self.why), self.why)
        rapt.rapt_block_free(self.block)
        return results


def normed(x, gain):
    norm = Qwen2RMSNorm(K, eps=EPSILON)
    del norm.weight
    norm.weight = gain
    return norm(x)


def attention(x, p, gate):
    """Returns causal attention with the tensors p of a block."""
    q, k, v = torch.split(x @ p["self_attn.qkv.weight"].T + p["self_attn.qkv.bias"], [WIDTH, KEY_HEADS * K, KEY_HEADS * K], 1)
    q, k, v = (t.view(ROWS, -1, K).transpose(0, 1) for t in (q, k, v))
    if "self_attn.query_norm.weight" in p:
        q, k = normed(q, p["self_attn.query_norm.weight"][0]), normed(k, p["self_attn.key_norm.weight"][0])
    k, v = (t.repeat_interleave(HEADS // KEY_HEADS, 0) for t in (k, v))
    hidden, added = torch.ones(ROWS, ROWS, dtype=torch.bool).triu(1), 0
    if "self_attn.forget.weight" in p:
        log_forget = torch.nn.functional.logsigmoid(x @ p["self_attn.forget.weight"].T + p["self_attn.forget.bias"]).T
        sums = log_forget.cumsum(1)
        added = sums[:, :, None] - sums[:, None]

    def talk(x, which):
        """Returns x [HEADS][ROWS][ROWS], mixed over the heads."""
        return torch.einsum("hg,gts->hts", p["self_attn.talking." + which], x) if "self_attn.talking.scores" in p else x

    def weights(q, k):
        scores = talk(q @ k.transpose(1, 2) / math.sqrt(q.shape[2]), "scores") + added
        return talk(torch.softmax(scores.masked_fill(hidden, -math.inf), -1), "weights")

    if "self_attn.differential.weight" in p:
        vectors = p["self_attn.differential.weight"]
        factor = torch.exp(vectors[0] @ vectors[1]) - torch.exp(vectors[2] @ vectors[3]) + INITIAL
        # The first halves of heads that share keys come first, before the second ones.
        q, q2 = q.transpose(0, 1).reshape(ROWS, KEY_HEADS, 2, -1, K // 2).permute(2, 1, 3, 0, 4).reshape(2, HEADS, ROWS, K // 2)
        k, k2 = k.split(K // 2, 2)
        out = (1 - INITIAL) * normed((weights(q, k) - factor * weights(q2, k2)) @ v, p["self_attn.differential_norm.weight"][0])
    else:
        out = weights(q, k) @ v
    return project(x, p, gate, out, "self_attn")


def project(x, p, gate, out, part):
    if gate:
        gates = torch.sigmoid(x @ p[f"{part}.gate.weight"].T).T.reshape(HEADS, -1, ROWS).transpose(1, 2)
        out = out * gates
    return out.transpose(0, 1).reshape(ROWS, WIDTH) @ p[f"{part}.out.weight"].T + p[f"{part}.out.bias"]


def linear_attention(x, p, gate, kind):
    """Returns linear attention with the tensors p of a block, row by row. The last column of the state is that of values 1."""
    q, k, v = torch.split(x @ p["linear_attn.qkv.weight"].T + p["linear_attn.qkv.bias"], [WIDTH, KEY_HEADS * K, KEY_HEADS * K], 1)
    plain = kind == rapt.RAPT_RECURRENCE_LINEAR
    q, k, v = (t if plain else torch.nn.functional.silu(t) for t in (q, k, v))
    q, k = (torch.nn.functional.elu(t) + 1 if plain else unit(t) for t in (q, k))
    q, k, v = q.view(ROWS, KEY_HEADS, -1, K), k.view(ROWS, KEY_HEADS, K), v.view(ROWS, KEY_HEADS, K)
    v = torch.cat((v, torch.ones_like(v[:, :, :1])), 2)
    decay = rate = torch.ones(ROWS, KEY_HEADS)
    if "linear_attn.forget.weight" in p:
        decay = torch.sigmoid(x @ p["linear_attn.forget.weight"].T + p["linear_attn.forget.bias"])
    delta = "linear_attn.rate.weight" in p
    if delta:
        rate = torch.sigmoid(x @ p["linear_attn.rate.weight"].T)
    state, rows = torch.zeros(KEY_HEADS, K, K + 1, dtype=torch.double), []
    for t in range(ROWS):
        state = decay[t][:, None, None] * state
        known = torch.einsum("gk,gkv->gv", k[t], state) if delta else 0
        state = state + torch.einsum("gk,gv->gkv", k[t], rate[t][:, None] * (v[t] - known))
        rows.append(q[t] @ state)
    out = torch.stack(rows).reshape(ROWS, HEADS, K + 1)
    out = out[..., :K] / out[..., K:] if plain else normed(out[..., :K], p["linear_attn.output_norm.weight"][0])
    return project(x, p, gate, out.transpose(0, 1), "linear_attn")


def unit(x):
    heads = x.view(ROWS, -1, K)
    return heads / (heads.square().sum(2, keepdim=True) + EPSILON).sqrt()


def compare_block(norm, gate, differential=0, forget=0, kind=0, talking=0):
    config = rapt.sized(rapt.rapt_config, width=WIDTH, heads=HEADS, key_heads=KEY_HEADS, norm_epsilon=EPSILON, query_key_norm=norm,
                        output_gate=gate, differential=differential, forget_gate=forget, decoder_recurrence=kind, talking_heads=talking)
    block = Block(config)
    x, dy = (random.standard_normal((ROWS, WIDTH)).astype(numpy.float32) for _ in range(2))
    got = block.run(x, dy)
    tensors = {name: torch.tensor(data, dtype=torch.double, requires_grad=True) for name, data in block.tensors.items()}
    input = torch.tensor(x, dtype=torch.double, requires_grad=True)
    y = linear_attention(input, tensors, gate, kind) if kind else attention(input, tensors, gate)
    (y * torch.tensor(dy)).sum().backward()
    wanted = [y.detach().numpy(), input.grad.numpy(), *(t.grad.numpy() for t in tensors.values())]
    bound.compare(f"query_key_norm {norm}, output_gate {gate}, differential {differential}, forget_gate {forget}, recurrence {kind}, talking {talking}",
                  got, wanted, ("y", "dx", *tensors))


# ---- latent rows ----

LATENT, LATENT_HEADS, LATENT_K, ROTATED = 32, 3, 16, 8
DEEPSEEK = ("DeepseekV2RMSNorm", "repeat_kv", "eager_attention_forward", "apply_rotary_emb", "yarn_get_mscale", "yarn_apply_mscale",
            "DeepseekV2Attention")


def deepseek_attention(folder):
    """Returns the class of transformers 5, which computes in double here."""
    statements = [node for node in hf_search.parse(folder, "transformers/models/deepseek_v2/modeling_deepseek_v2.py")
                  if getattr(node, "name", "") in DEEPSEEK]
    assert len(statements) == len(DEEPSEEK)
    for node in ast.walk(ast.Module(statements, [])):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.decorator_list = []
    text = "from __future__ import annotations\n" + ast.unparse(ast.Module(statements, []))
    assert text.count("torch.float32") == 2 and text.count(".float()") == 2
    functions = types.SimpleNamespace(get_interface=lambda _, eager: eager)
    names = {"torch": torch, "nn": torch.nn, "math": math, "ALL_ATTENTION_FUNCTIONS": functions}
    exec(text.replace("torch.float32", "torch.float64").replace(".float()", ".double()"), names)
    return names["DeepseekV2Attention"]


def latent_attention(theirs, x, p, rotated, rank):
    """Returns causal attention with the tensors p of a block and with `theirs`, whose heads have their rotated elements last."""
    heads = LATENT_HEADS * (rotated + LATENT_K)
    first = rank or heads

    def last(q):
        q = q.view(LATENT_HEADS, rotated + LATENT_K, -1)
        return torch.cat([q[:, rotated:], q[:, :rotated]], 1).reshape(heads, -1)

    def turned(t):
        q, kv = t[:first], t[first:]
        return q if rank else last(q), torch.cat([kv[rotated:], kv[:rotated]])

    q, kv = turned(p["self_attn.qkv.weight"])
    q_bias, kv_bias = turned(p["self_attn.qkv.bias"].T)
    queries = {"q_proj.weight": q, "q_proj.bias": q_bias[:, 0]}
    if rank:
        queries = {"q_a_proj.weight": q, "q_a_proj.bias": q_bias[:, 0],
                   "q_a_layernorm.weight": p["self_attn.latent_query_norm.weight"][0], "q_b_proj.weight": last(p["self_attn.query_up.weight"])}
    keys = p["self_attn.key_up.weight"].view(LATENT_HEADS, LATENT, LATENT_K).transpose(1, 2)
    values = p["self_attn.value_up.weight"].view(LATENT_HEADS, LATENT_K, LATENT)
    given = {**queries, "kv_a_proj_with_mqa.weight": kv, "kv_a_proj_with_mqa.bias": kv_bias[:, 0],
             "kv_a_layernorm.weight": p["self_attn.latent_norm.weight"][0], "kv_b_proj.weight": torch.cat([keys, values], 1).reshape(-1, LATENT),
             "o_proj.weight": p["self_attn.out.weight"], "o_proj.bias": p["self_attn.out.bias"][0]}
    angles = torch.arange(ROWS)[:, None] * BASE ** (-2 * torch.arange(rotated // 2, dtype=torch.double) / rotated)
    hidden = torch.full((ROWS, ROWS), -math.inf, dtype=torch.double).triu(1)
    return functional_call(theirs, given, (x[None], hidden), {"position_embeddings": torch.polar(torch.ones_like(angles), angles)[None]})[0][0]


def compare_latent(folder, rank):
    block = Block(rapt.sized(rapt.rapt_config, width=WIDTH, heads=LATENT_HEADS, head_width=LATENT_K, norm_epsilon=EPSILON,
                             rotary=rapt.RAPT_ROTARY_PAIRS, rotary_width=ROTATED, latent_width=LATENT, latent_query_width=rank))
    config = types.SimpleNamespace(
        attention_dropout=0, hidden_size=WIDTH, num_attention_heads=LATENT_HEADS, num_key_value_heads=LATENT_HEADS, q_lora_rank=rank or None,
        qk_rope_head_dim=ROTATED, kv_lora_rank=LATENT, v_head_dim=LATENT_K, qk_nope_head_dim=LATENT_K, attention_bias=True,
        rope_parameters={}, _attn_implementation="eager")
    theirs = deepseek_attention(folder)(config, 0)
    if rank:
        theirs.q_a_layernorm.variance_epsilon = EPSILON
    else:
        theirs.q_proj = torch.nn.Linear(WIDTH, LATENT_HEADS * (ROTATED + LATENT_K))  # theirs has no bias
    theirs.kv_a_layernorm.variance_epsilon = EPSILON
    x, dy = (random.standard_normal((ROWS, WIDTH)).astype(numpy.float32) for _ in range(2))
    got = block.run(x, dy)
    tensors = {name: torch.tensor(data, dtype=torch.double, requires_grad=True) for name, data in block.tensors.items()}
    input = torch.tensor(x, dtype=torch.double, requires_grad=True)
    y = latent_attention(theirs, input, tensors, ROTATED, rank)
    (y * torch.tensor(dy)).sum().backward()
    wanted = [y.detach().numpy(), input.grad.numpy(), *(t.grad.numpy() for t in tensors.values())]
    bound.compare(f"latent_width, latent_query_width {rank}", got, wanted, ("y", "dx", *tensors))


# ---- scaled rotary angles ----

PAIRS, BASE, FACTOR, ORIGINAL, POSITIONS = 32, 10000, 4.0, 1024, 60
NAMES = {"linear": "_compute_linear_scaling_rope_parameters", "dynamic": "_compute_dynamic_ntk_parameters",
         "yarn": "_compute_yarn_parameters"}


def load_functions(folder):
    functions = hf_search.functions_of(hf_search.parse(folder, "transformers/modeling_rope_utils.py"), NAMES.values())
    names = {"torch": torch, "math": math}
    exec(ast.unparse(ast.Module(functions, [])), names)
    return names


def of_transformers(functions, kind):
    """Returns the angles per position and the factor of sines and cosines. The factor of `dynamic` grows with the sequence."""
    parameters = {"rope_theta": BASE, "factor": 1.0 if kind == "dynamic" else FACTOR, "original_max_position_embeddings": ORIGINAL}
    config = types.SimpleNamespace(head_dim=2 * PAIRS, hidden_size=2 * PAIRS, num_attention_heads=1, max_position_embeddings=ORIGINAL,
                                   rope_parameters=parameters, standardize_rope_params=lambda: None)
    angles, magnitude = functions[NAMES[kind]](config, torch.device("cpu"), seq_len=int(FACTOR * ORIGINAL))
    return angles.double(), magnitude


def of_paper(plain):
    """Returns YaRN's angles and factor as Peng et al. 2023 define them, with a ramp of the number of turns."""
    share = ((plain * ORIGINAL / (2 * math.pi) - 1) / (32 - 1)).clamp(0, 1)
    return share * plain + (1 - share) * plain / FACTOR, 0.1 * math.log(FACTOR) + 1


def compare_angles(what, scaling, angles, magnitude, used):
    """Compares causal attention with these angles. Elements of pairs that are not used are 0 in queries and keys."""
    q, k, v, dout = (random.standard_normal((HEADS, POSITIONS, 2 * PAIRS)).astype(numpy.float32) for _ in range(4))
    for x in q, k:
        x *= numpy.tile(used.numpy(), 2)
    a = bound.problem(q, k, v)
    a.mask.causal, a.relative.rotary, a.relative.rotary_scaling = 1, rapt.RAPT_ROTARY_HALVES, scaling
    a.relative.rotary_base, a.relative.rotary_factor, a.relative.rotary_positions = BASE, FACTOR, ORIGINAL
    got = bound.attend(a, q, k, v, dout)
    tensors = [torch.tensor(x, dtype=torch.double, requires_grad=True) for x in (q, k, v)]
    turned = torch.arange(POSITIONS)[:, None] * angles.repeat(2)
    cosine, sine = turned.cos()[None] * magnitude, turned.sin()[None] * magnitude
    rotated = apply_rotary_pos_emb(tensors[0][None], tensors[1][None], cosine, sine)
    scores = rotated[0][0] @ rotated[1][0].transpose(1, 2) / math.sqrt(2 * PAIRS)
    hidden = torch.ones(POSITIONS, POSITIONS, dtype=torch.bool).triu(1)
    out = torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ tensors[2]
    (out * torch.tensor(dout)).sum().backward()
    bound.compare(what, got, [out.detach().numpy(), *(t.grad.numpy() for t in tensors)], bound.ATTENTION)


def compare_rotary(folder):
    functions = load_functions(folder)
    plain = BASE ** (-torch.arange(PAIRS, dtype=torch.double) / PAIRS)
    everything = torch.ones(PAIRS)
    compare_angles("linear", rapt.RAPT_ROTARY_SCALING_LINEAR, *of_transformers(functions, "linear"), everything)
    compare_angles("NTK-aware", rapt.RAPT_ROTARY_SCALING_NTK, *of_transformers(functions, "dynamic"), everything)
    compare_angles("YaRN, paper", rapt.RAPT_ROTARY_SCALING_YARN, *of_paper(plain), everything)
    # The ramp of transformers is linear in the index of the pair, so only pairs outside of both ramps are compared.
    angles, magnitude = of_transformers(functions, "yarn")
    kept, divided = ((abs(angles / wanted - 1) < 1e-5) & (abs(of_paper(plain)[0] / wanted - 1) < 1e-9)
                     for wanted in (plain, plain / FACTOR))
    assert kept.sum() >= 4 and divided.sum() >= 8 and abs(magnitude - of_paper(plain)[1]) < 1e-9
    compare_angles("YaRN, transformers", rapt.RAPT_ROTARY_SCALING_YARN, angles, magnitude, (kept | divided).float())


def test_projections():
    for norm in 0, 1:
        for gate in rapt.RAPT_OUTPUT_GATE_NONE, rapt.RAPT_OUTPUT_GATE_HEAD, rapt.RAPT_OUTPUT_GATE_ELEMENT:
            compare_block(norm, gate)
    compare_block(0, rapt.RAPT_OUTPUT_GATE_ELEMENT, 1)
    compare_block(0, rapt.RAPT_OUTPUT_GATE_ELEMENT, forget=1)
    compare_block(1, rapt.RAPT_OUTPUT_GATE_NONE, forget=1, talking=1)
    for kind in range(rapt.RAPT_RECURRENCE_LINEAR, rapt.RAPT_RECURRENCE_GATED_DELTA + 1):
        compare_block(0, kind % 3, kind=kind)
    for rank in (0, 7, 40):
        compare_latent(sys.argv[2], rank)
    compare_rotary(sys.argv[2])
    print(f"20 comparisons with PyTorch {torch.__version__} and transformers agree")


kit.main(globals())
