"""attention_forms.py - kinds of attention in PyTorch, as its users would write them, for attention_kinds.py.

Each variant is a class with the tensors that it learns and its forms: functions of q, k and v, [1][8][rows][64],
which return the output. A form that starts with "SDPA" calls scaled_dot_product_attention, one that starts with
"Flex" calls flex_attention, and the others are written out."""
import math

import torch
import torch.nn.functional as F

HEADS, WIDTH, NEAR, RADIUS, GLOBAL = 8, 64, 64, 16, 4
SCALE = WIDTH ** -0.5
sdpa = F.scaled_dot_product_attention


def flex(*args, **options):
    from torch.nn.attention.flex_attention import flex_attention
    return flex_attention(*args, **options)


def block_mask(visible, rows):
    from torch.nn.attention.flex_attention import create_block_mask
    return create_block_mask(visible, None, None, rows, rows, device="cpu")


def scores(q, k):
    return q @ k.transpose(-1, -2) * SCALE


class Variant:
    def __init__(self, rows):
        self.rows, self.learned = rows, []
        self.positions = torch.arange(rows)
        self.start()

    def start(self):
        pass

    def learn(self, *shape):
        x = (torch.rand(shape) - 0.5).requires_grad_()
        self.learned.append(x)
        return x

    def distances(self):
        return self.positions[None, :] - self.positions[:, None]


class Plain(Variant):
    def forms(self):
        return {"SDPA": sdpa, "Flex": flex}


class Causal(Variant):
    def forms(self):
        return {"SDPA": lambda q, k, v: sdpa(q, k, v, is_causal=True)}


class Sink(Variant):
    def start(self):
        self.sink = self.learn(HEADS)

    def one_more_key(self, q, k, v):
        none = k.new_zeros(1, HEADS, 1, WIDTH)
        bias = torch.cat((k.new_zeros(HEADS, self.rows), self.sink[:, None]), 1)[None, :, None]
        return sdpa(q, torch.cat((k, none), 2), torch.cat((v, none), 2),
                    attn_mask=bias.expand(1, HEADS, self.rows, -1))

    def from_lse(self, q, k, v):
        out, lse = flex(q, k, v, return_lse=True)
        return out * torch.sigmoid(lse - self.sink[:, None])[..., None]

    def written(self, q, k, v):
        sink = self.sink[None, :, None, None].expand(1, -1, self.rows, 1)
        return torch.cat((scores(q, k), sink), -1).softmax(-1)[..., :-1] @ v

    def forms(self):
        return {"SDPA, one more key": self.one_more_key, "Flex, lse": self.from_lse, "softmax": self.written}


class Normed(Variant):
    def start(self):
        self.gain = self.learn(WIDTH)

    def attend(self, q, k, v):
        norm = (lambda x: F.rms_norm(x, (WIDTH,), self.gain, 1e-5)) if hasattr(F, "rms_norm") else \
            (lambda x: x * torch.rsqrt(x.square().mean(-1, True) + 1e-5) * self.gain)
        return sdpa(norm(q), norm(k), v)

    def forms(self):
        return {"SDPA": self.attend}


class Gated(Variant):
    def start(self):
        self.gate = self.learn(1, HEADS, self.rows, WIDTH)

    def forms(self):
        return {"SDPA": lambda q, k, v: sdpa(q, k, v) * torch.sigmoid(self.gate)}


class Sigmoid(Variant):
    def start(self):
        self.bias = self.learn(HEADS, 1, 1)

    def forms(self):
        return {"sigmoid": lambda q, k, v: torch.sigmoid(scores(q, k) + self.bias) @ v}


class Simplex(torch.autograd.Function):
    """Entmax of any alpha by bisection, with the gradient of Peters et al. 2019; alpha gets none."""

    @staticmethod
    def forward(ctx, x, alpha):
        x = x * (alpha - 1)
        low = x.amax(-1, True) - 1
        step = 1 - float(x.shape[-1]) ** (1 - alpha)
        for _ in range(30):
            step = step / 2
            p = (x - low - step).clamp(min=0) ** (1 / (alpha - 1))
            low = torch.where(p.sum(-1, True) >= 1, low + step, low)
        p = (x - low).clamp(min=0) ** (1 / (alpha - 1))
        p = p / p.sum(-1, True)
        ctx.save_for_backward(p)
        ctx.alpha = alpha
        return p

    @staticmethod
    def backward(ctx, dp):
        p, = ctx.saved_tensors
        g = torch.where(p > 0, p ** (2 - ctx.alpha), 0)
        dx = g * dp
        return dx - dx.sum(-1, True) / g.sum(-1, True) * g, None


class Entmax(Variant):
    alpha = 1.6

    def sorted_threshold(self, x):
        """Martins and Astudillo 2016, and Peters et al. 2019, algorithm 2: exact, by sorting."""
        half = self.alpha == 1.5
        x = (x - x.amax(-1, True)) / (2 if half else 1)
        z = x.sort(-1, descending=True)[0]
        n = torch.arange(1, self.rows + 1, dtype=x.dtype)
        mean = z.cumsum(-1) / n
        spread = (1 - (z.square().cumsum(-1) - n * mean.square())).clamp(min=0) / n
        tau = mean - (spread.sqrt() if half else 1 / n)
        count = (tau <= z).sum(-1, True)
        p = (x - tau.gather(-1, count - 1)).clamp(min=0)
        return p.square() if half else p

    def forms(self):
        forms = {"bisection": lambda q, k, v: Simplex.apply(scores(q, k), self.alpha) @ v}
        if self.alpha in (1.5, 2):
            forms["sort"] = lambda q, k, v: self.sorted_threshold(scores(q, k)) @ v
        return forms


class Sparsemax(Entmax):
    alpha = 2


class Entmax15(Entmax):
    alpha = 1.5


class Differential(Variant):
    def start(self):
        self.share, self.gain = self.learn(HEADS, 1, 1), self.learn(WIDTH)

    def attend(self, q, k, v):
        (q1, q2), (k1, k2) = q.split(WIDTH // 2, -1), k.split(WIDTH // 2, -1)
        out = sdpa(q1, k1, v) - self.share * sdpa(q2, k2, v)
        return out * torch.rsqrt(out.square().mean(-1, True) + 1e-5) * self.gain

    def forms(self):
        return {"SDPA twice": self.attend}


class Coverage(Variant):
    loops = True

    def start(self):
        self.vector, self.weight = self.learn(HEADS, WIDTH, 1), self.learn(HEADS, 1, WIDTH)

    def attend(self, q, k, v):
        past, rows = k.new_zeros(1, HEADS, self.rows), []
        for t in range(self.rows):
            x = torch.tanh(q[:, :, t:t + 1] + k + past[..., None] * self.weight) @ self.vector
            w = x[..., 0].softmax(-1)
            past = past + w
            rows.append(w)
        return torch.stack(rows, 2) @ v

    def forms(self):
        return {"loop over queries": self.attend}


class Window(Variant):
    def sees(self, b, h, t, s):
        return (t - s).abs() <= RADIUS

    def start(self):
        self.mask = self.sees(0, 0, self.positions[:, None], self.positions[None, :])

    def flex_blocks(self, q, k, v):
        return flex(q, k, v, block_mask=self.blocks)

    def forms(self):
        self.blocks = None
        try:
            self.blocks = block_mask(lambda b, h, t, s: self.sees(b, h, t, s), self.rows)
        except Exception as error:
            print(f"note: create_block_mask: {type(error).__name__}: {error}"[:150])
        forms = {"SDPA, mask": lambda q, k, v: sdpa(q, k, v, attn_mask=self.mask)}
        if self.blocks is not None:
            forms["Flex, blocks"] = self.flex_blocks
        return forms


class WindowAndGlobal(Window):
    def sees(self, b, h, t, s):
        return ((t - s).abs() <= RADIUS) | (s < GLOBAL) | (t < GLOBAL)


class Near(Variant):
    """Vectors for distances: of keys, of queries (DeBERTa), of values (Shaw). All heads share those of Shaw."""
    queries = values = False
    shared = True

    def start(self):
        n = 2 * NEAR + 1
        self.index = (self.distances().clamp(-NEAR, NEAR) + NEAR)[None, None].expand(1, HEADS, -1, -1)
        shape = (n, WIDTH) if self.shared else (HEADS, n, WIDTH)
        self.of_keys = self.learn(*shape)
        self.of_queries = self.learn(*shape) if self.queries else None
        self.of_values = self.learn(*shape) if self.values else None

    def written(self, q, k, v):
        x = q @ k.transpose(-1, -2) + (q @ self.of_keys.mT).gather(-1, self.index)
        if self.queries:
            x = x + (k @ self.of_queries.mT).gather(-1, self.index.transpose(-1, -2)).transpose(-1, -2)
        w = (x * SCALE).softmax(-1)
        out = w @ v
        if self.values:
            sums = w.new_zeros(*w.shape[:-1], 2 * NEAR + 1).scatter_add(-1, self.index, w)
            out = out + sums @ self.of_values
        return out

    def by_score(self, q, k, v):
        added = (q @ self.of_keys.mT) * SCALE

        def change(score, b, h, t, s):
            return score + added[b, h, t, (s - t).clamp(-NEAR, NEAR) + NEAR]
        return flex(q, k, v, score_mod=change)

    def forms(self):
        forms = {"gather": self.written}
        if not self.queries and not self.values:
            forms["Flex, score_mod"] = self.by_score
        return forms


class NearValues(Near):
    values = True


class NearQueries(Near):
    queries = True
    shared = False


class Rotary(Variant):
    def start(self):
        angles = self.positions[:, None] * 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
        self.cos, self.sin = angles.cos(), angles.sin()

    def turn(self, x):
        a, b = x.split(WIDTH // 2, -1)
        return torch.cat((a * self.cos - b * self.sin, a * self.sin + b * self.cos), -1)

    def forms(self):
        return {"SDPA": lambda q, k, v: sdpa(self.turn(q), self.turn(k), v)}


class Talking(Variant):
    def start(self):
        self.before, self.after = self.learn(HEADS, HEADS), self.learn(HEADS, HEADS)

    def written(self, q, k, v):
        x = torch.einsum("hg,bgts->bhts", self.before, scores(q, k)).softmax(-1)
        return torch.einsum("hg,bgts->bhts", self.after, x) @ v

    def forms(self):
        return {"einsum": self.written}


class Forget(Variant):
    def start(self):
        self.gates = self.learn(HEADS, self.rows)

    def sums(self):
        return F.logsigmoid(self.gates).cumsum(-1)

    def biased(self, q, k, v):
        c = self.sums()
        bias = (c[:, :, None] - c[:, None, :]).masked_fill(self.distances() > 0, -math.inf)
        return sdpa(q, k, v, attn_mask=bias[None])

    def by_score(self, q, k, v):
        c = self.sums()

        def change(score, b, h, t, s):
            return torch.where(s <= t, score + c[h, t] - c[h, s], -math.inf)
        return flex(q, k, v, score_mod=change)

    def forms(self):
        return {"SDPA, bias": self.biased, "Flex, score_mod": self.by_score}


class Linear(Variant):
    """Chunks of 64 rows, as in Yang et al. 2024."""
    gated = delta = False

    def start(self):
        self.gate = (torch.rand(1, HEADS, self.rows) * -0.1).requires_grad_()
        self.beta = torch.full((1, HEADS, self.rows), 0.5).requires_grad_()
        self.learned += [self.gate] * self.gated + [self.beta] * self.delta

    def written(self, q, k, v):
        C = 64
        n = self.rows // C
        q, k, v = (x.unflatten(2, (n, C)) for x in (q * SCALE, k / 8, v))
        g = self.gate.unflatten(2, (n, C)).cumsum(-1) if self.gated else q.new_zeros(1, HEADS, n, C)
        lower = torch.ones(C, C, dtype=torch.bool).tril()
        decay = (g[..., :, None] - g[..., None, :]).masked_fill(~lower, -math.inf).exp()
        if self.delta:
            beta = self.beta.unflatten(2, (n, C))[..., None]
            a = (k * beta @ k.transpose(-1, -2) * decay).tril(-1) + torch.eye(C)
            both = torch.cat((v * beta, k * beta * g.exp()[..., None]), -1)
            v, w = torch.linalg.solve_triangular(a, both, upper=False).split(WIDTH, -1)
        inner, state, out = q @ k.transpose(-1, -2) * decay, q.new_zeros(1, HEADS, WIDTH, WIDTH), []
        for i in range(n):
            u = v[:, :, i] - w[:, :, i] @ state if self.delta else v[:, :, i]
            out.append(q[:, :, i] * g[:, :, i].exp()[..., None] @ state + inner[:, :, i] @ u)
            last = g[:, :, i, -1:]
            state = state * last.exp()[..., None] + \
                (k[:, :, i] * (last - g[:, :, i]).exp()[..., None]).transpose(-1, -2) @ u
        return torch.cat(out, 2)

    def forms(self):
        return {"chunks of 64": self.written}


class LinearGated(Linear):
    gated = True


class GatedDelta(Linear):
    gated = delta = True


class Monotonic(Variant):
    """Raffel et al. 2017, appendix C: cumulative sums and products, with a floor under the products."""
    loops = True

    def written(self, q, k, v):
        p = torch.sigmoid(scores(q, k) - 2)
        a, rows = F.one_hot(torch.zeros(1, HEADS, dtype=torch.long), self.rows).float(), []
        for t in range(self.rows):
            left = torch.cumprod(F.pad(1 - p[:, :, t, :-1], (1, 0), value=1.0), -1)
            a = p[:, :, t] * left * torch.cumsum(a / left.clamp(min=1e-10), -1)
            rows.append(a)
        return torch.stack(rows, 2) @ v

    def forms(self):
        return {"loop over queries": self.written}


# Title, name for --only of perf_attention, what its lines must contain, and the variant.
VARIANTS = [
    ("softmax", "scaled-dot", {}, Plain),
    ("causal", "causal", {}, Causal),
    ("attention sinks", "sink-softmax", {}, Sink),
    ("norms of queries and keys", "norms of q and k", {}, Normed),
    ("gated output", "gates per element", {}, Gated),
    ("sigmoid", "sigmoid", {}, Sigmoid),
    ("sparsemax", "sparsemax", {}, Sparsemax),
    ("entmax 1.5", "entmax-1.5", {}, Entmax15),
    ("entmax, learned alpha", "entmax", {}, Entmax),
    ("differential", "differential", {}, Differential),
    ("coverage", "coverage", {}, Coverage),
    ("distances of Shaw, keys", "distances of Shaw, keys", {}, Near),
    ("distances of Shaw", "distances of Shaw", {}, NearValues),
    ("distances of DeBERTa", "distances of DeBERTa", {}, NearQueries),
    ("rotary positions (YaRN)", "rotary, yarn", {}, Rotary),
    ("talking heads", "talking heads", {}, Talking),
    ("forget gates", "forget gates", {}, Forget),
    ("window", "local-m", {}, Window),
    ("window and global keys", "sparse", {}, WindowAndGlobal),
    ("linear", "linear", {"rule": "linear"}, Linear),
    ("linear, gated", "linear", {"rule": "gated"}, LinearGated),
    ("gated delta rule", "linear", {"rule": "gated-delta"}, GatedDelta),
    ("monotonic, hard", "monotonic", {"mode": "hard"}, Monotonic),
]
