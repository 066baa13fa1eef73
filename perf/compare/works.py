"""works.py - the workloads: their shapes, how both sides run them, and how much outputs may differ."""
import collections
import ctypes
import math
import pathlib
import re
import subprocess
import sys
import time

from ours import DK, DOUT, DQ, DV, FLOATS, K, OUT, PASSES, Q, RESULT, V, WEIGHT, X, Y, ModelShape

GFLOPS, MILLISECONDS = "GFLOP/s", ("ms", 1e3, False)
ATTENTION = [  # batch, heads, rows, width, causal, slow
    (1, 8, 512, 64, False, False), (1, 8, 1024, 64, False, False), (1, 8, 4096, 64, False, True),
    (1, 8, 1024, 64, True, False), (64, 4, 16, 64, False, True), (64, 4, 32, 32, False, False),
    (64, 4, 64, 64, False, True)]
BACKWARD = [(1, 8, 512, 64, False, False), (1, 8, 1024, 64, False, True),
            (1, 8, 1024, 64, True, True), (64, 4, 16, 64, False, True),
            (64, 4, 32, 32, False, False), (64, 4, 64, 64, False, True)]
PRODUCTS = [  # rows, in, out, slow
    (1, 512, 2048, False), (4, 512, 2048, False), (16, 512, 2048, False), (512, 512, 2048, False),
    (1024, 2048, 512, True), (2048, 128, 256, True)]
GRADIENT_PRODUCTS = [(512, 512, 2048, False), (1024, 2048, 512, True), (2048, 128, 256, True)]
MODELS = {  # encoder and decoder layers, width, heads, hidden, vocab, batch, source, target
    "4+4/128, 64 pairs": (4, 4, 128, 4, 256, 10000, 64, 32, 32),
    "6+6/512, 32 pairs": (6, 6, 512, 8, 2048, 8000, 32, 32, 32)}
TRANSLATIONS = {"6+6/512 greedy, batch 1": (6, 6, 512, 8, 2048, 32000, 1, 24, 32),
                "6+6/512 greedy, batch 16": (6, 6, 512, 8, 2048, 32000, 16, 24, 32)}
CHECK = (2, 1, 32, 2, 48, 50, 3, 7, 6)
RATE = 1e-5  # learning rate
COMPARED = 3  # steps; later ones differ because Adam amplifies rounding errors of gradients near zero
QUICK_SECONDS = 13  # after this, --quick starts no comparison
# Maximum differences allowed: of outputs and gradients in single precision, of losses.
NEAR, GRADIENT, LOSS = 2e-5, 2e-4, 2e-5
LOSS_BF16 = 2e-3  # PyTorch also rounds results and logits to bf16
OTHERS = 0.07  # share of translations that may differ: if two hypotheses are equally likely, rounding decides


SEARCHES = ((1, 1), (1, 16), (4, 16))  # beams, batch
Peers = collections.namedtuple("Peers", "torch onednn ort ct2")  # modules or libraries, or None


def about_torch(torch):
    found = "unknown BLAS"
    for line in open("/proc/self/maps"):
        if "blas" in line and ".so" in line:
            found = "/".join(line.split()[-1].split("/")[-2:])
    capability = re.search("CPU capability usage: (.*)", torch.torch.__config__.show())
    return f"{torch.torch.__version__}, {capability[1] if capability else ''}, BLAS {found}"


def gflops(operations):
    return GFLOPS, operations * 1e-9, True


def row_of(name, what, threads, peer, unit, timing, difference, allowed):
    return {"name": name, "what": what, "threads": threads, "peer": peer, "unit": unit, **timing,
            "difference": difference, "equal": difference <= allowed}


def times(run):
    """Returns a function that runs `count` times, for Timer, which measures how long it takes."""
    def repeat(count):
        for _ in range(count):
            run()
    return repeat


def wanted(options, name, peer):
    if options.only not in (None, name, peer):
        return False
    late = options.quick and time.monotonic() - options.start > QUICK_SECONDS
    options.cut_short |= late
    return not late


def all_rows(options, timer, ours, peers):
    """Yields the rows of all works, each with every number of threads before the next, so that --quick has both."""
    for work in all_works(options, peers):
        for threads in options.threads:
            if peers.torch:
                peers.torch.torch.set_num_threads(threads)
            yield from work((options, timer, ours, threads))


def all_works(options, peers):
    """Yields functions that take (options, timer, ours, threads) and return rows."""
    torch, _, _, ct2 = peers
    if ct2 and wanted(options, "translate_file", "ctranslate2"):
        yield lambda tools: translate_file(tools, ct2)
    if ct2 and wanted(options, "open_file", "ctranslate2"):
        yield lambda tools: open_file(tools, ct2)
    for shape in chosen(options, ATTENTION, (2, 2, 20, 8)):
        yield lambda tools, shape=shape: attention_forward(tools, peers, shape)
    for shape in chosen(options, BACKWARD, (2, 2, 20, 8)):
        yield lambda tools, shape=shape: attention_backward(tools, torch, shape)
    for name in PASSES:
        for shape in chosen(options, PRODUCTS if name == "gemm" else GRADIENT_PRODUCTS, (5, 40, 48)):
            yield lambda tools, name=name, shape=shape: product(tools, peers, name, shape)
    for name, compare, models in (("train_step", train, MODELS), ("train_bf16", train_bf16, MODELS),
                                  ("translate", translate, TRANSLATIONS)):
        for what, sizes in ({"check": CHECK} if options.check else models).items():
            slow = name == "train_step" and sizes[2] > 128 or name == "train_bf16" or name == "translate" and sizes[6] > 3
            if torch and (options.check or not (options.quick and slow)):
                yield lambda tools, name=name, compare=compare, what=what, sizes=sizes: (
                    compare(tools, torch, what, sizes) if wanted(options, name, "torch") else [])


def chosen(options, shapes, least):
    if options.check:
        return [least + shapes[0][len(least):-1]]
    return [shape[:-1] for shape in shapes if not (options.quick and shape[-1])]


# ---- a converted model, opened by both ----

def lines_of(text):
    return [line.split("\t") if line else [] for line in text.decode(errors="replace").split("\n")[:-1]]


def translate_file(tools, ct2):
    """Translates in the precision in which the folder is stored, and in floats if it is another one. CTranslate2 gets a
    replica of one thread for each thread, which is faster than one replica with all threads. rapt gets one translator
    with all threads and, in further rows, a translator of one thread for each thread."""
    options, _, ours, threads = tools
    most = min(threads, ours.c.ours_translator_sentences())
    stored = ct2.Translator(options.model, device="cpu").compute_type
    for kind in sorted({"float32", stored}):
        for beams, batch in SEARCHES:
            for translators in sorted({1, most}):
                yield translate_file_row(tools, ct2, kind, beams, batch, translators)


def translate_file_row(tools, ct2, kind, beams, batch, translators):
    options, timer, ours, threads = tools
    work = ours.c.ours_translator_create(options.model.encode(), beams, batch, translators, threads // translators,
                                         kind == "float32")
    sources = lines_of(ours.c.ours_translator_sources(work))
    theirs = ct2.Translator(options.model, device="cpu", compute_type=kind, inter_threads=threads, intra_threads=1)
    length = ours.c.ours_translator_length()

    def run_theirs():
        return theirs.translate_batch(sources, beam_size=beams, max_batch_size=batch, length_penalty=1,
                                      min_decoding_length=length, max_decoding_length=length)
    timing = timer.compare(times(lambda: ours.c.ours_translator_run(work)), times(run_theirs))
    mine = lines_of(ours.c.ours_translator_run(work))
    differ = sum(a != b.hypotheses[0] for a, b in zip(mine, run_theirs(), strict=True))
    name = options.model.rstrip("/").split("/")[-1]
    replicas = f", {translators} translators" if translators > 1 else ""
    row = row_of("translate_file", f"{name}, {kind}, beam {beams}, batch {batch}{replicas}", threads,
                 f"CTranslate2 {ct2.__version__}", ("tokens/s", ours.c.ours_translator_tokens(work), True),
                 timing, differ / len(mine), OTHERS if kind == "float32" else math.inf)
    ours.c.ours_translator_free(work)
    return row


def open_file(tools, ct2):
    """Opens a folder in the precision in which it is stored: for the first time in a process, and again and again in the
    same process, where the allocator of CTranslate2 still has memory from the last time and rapt gets new memory."""
    options, timer, ours, threads = tools
    name, peer = options.model.rstrip("/").split("/")[-1], f"CTranslate2 {ct2.__version__}"

    def run_ours():
        ours.c.ours_translator_free(ours.c.ours_translator_create(options.model.encode(), 1, 1, 1, threads, False))

    def run_theirs():
        ct2.Translator(options.model, device="cpu", inter_threads=1, intra_threads=threads)

    def first(*libraries):
        command = [sys.executable, "-B", pathlib.Path(__file__).with_name("open_once.py"), options.model, str(threads), *libraries]
        return lambda count: sum(float(subprocess.check_output(command)) for _ in range(count))
    for what, timing in (("first", timer.compare(first(options.folder), first())),
                         ("again", timer.compare(times(run_ours), times(run_theirs)))):
        yield row_of("open_file", f"{name}, {what}", threads, peer, MILLISECONDS, timing, 0, OTHERS)


# ---- attention ----

def attention_name(batch, heads, rows, width, causal):
    return f"B {batch} H {heads} S {rows} D {width}" + (", causal" if causal else "")


def attention_forward(tools, peers, shape):
    options, timer, ours, threads = tools
    torch, onednn, ort, _ = peers
    batch, heads, rows, width, causal = shape
    work = ours.c.ours_attention_create(batch, heads, rows, width, causal, threads)
    arrays = [ours.c.ours_attention_array(work, i) for i in range(8)]
    count = batch * heads * rows * width
    operations = 4 * count * rows / (2 if causal else 1)
    what = attention_name(*shape)

    def run_ours(n):
        ours.c.ours_attention_forward(work, n)

    def row(peer, timing, out):
        return row_of("attention_forward", what, threads, peer, gflops(operations), timing,
                      ours.difference(arrays[OUT], out, count), NEAR)
    if onednn and wanted(options, "attention_forward", "onednn"):
        out = ours.new_floats(count)
        pointer = ctypes.cast(out, FLOATS)
        peer = onednn.onednn_attention(batch * heads, rows, width, causal, 1 / math.sqrt(width),
                                       threads, arrays[Q], arrays[K], arrays[V], pointer)
        timing = timer.compare(run_ours, lambda n: onednn.onednn_run(peer, n))
        onednn.onednn_free(peer)
        yield row("oneDNN " + onednn.onednn_version().decode(), timing, out)
    if ort and wanted(options, "attention_forward", "ort"):
        peer, out = ort.attention(threads, [ort.as_array(arrays[i], *shape[:-1]) for i in (Q, K, V)], causal)
        timing = timer.compare(run_ours, peer.run)
        peer.free()
        yield row(ort.name(), timing, ort.pointer_of(out))
    if torch and wanted(options, "attention_forward", "torch"):
        q, k, v = (torch.tensor(arrays[i], batch, heads, rows, width) for i in (Q, K, V))
        with torch.torch.inference_mode():
            timing = timer.compare(run_ours, times(lambda: torch.attend(q, k, v, causal)))
            out = torch.attend(q, k, v, causal).contiguous()
        yield row(torch.NAME, timing, torch.pointer_of(out))
    ours.c.ours_attention_free(work)


def attention_backward(tools, torch, shape):
    options, timer, ours, threads = tools
    batch, heads, rows, width, causal = shape
    if not torch or not wanted(options, "attention_backward", "torch"):
        return
    work = ours.c.ours_attention_create(batch, heads, rows, width, causal, threads)
    arrays = [ours.c.ours_attention_array(work, i) for i in range(8)]
    count = batch * heads * rows * width
    q, k, v, dout = (torch.tensor(arrays[i], batch, heads, rows, width)
                     for i in (Q, K, V, DOUT))
    for x in (q, k, v):
        x.requires_grad_()
    ours.c.ours_attention_forward(work, 1)
    out = torch.attend(q, k, v, causal)

    def run_torch():
        return torch.torch.autograd.grad(out, (q, k, v), dout, retain_graph=True)
    timing = timer.compare(lambda n: ours.c.ours_attention_backward(work, n), times(run_torch))
    gradients = [x.contiguous() for x in run_torch()]
    far = max(ours.difference(arrays[i], torch.pointer_of(x), count)
              for i, x in zip((DQ, DK, DV), gradients))
    operations = 10 * count * rows / (2 if causal else 1)
    ours.c.ours_attention_free(work)
    yield row_of("attention_backward", attention_name(*shape), threads, torch.NAME,
                 gflops(operations), timing, far, GRADIENT)


# ---- products ----

def product(tools, peers, name, shape):
    """Computes y = x W', or the gradient of x, y W, or adds y' x to that of W."""
    options, timer, ours, threads = tools
    torch, onednn, ort, _ = peers
    rows, width, out = shape
    index, result = list(PASSES).index(name), RESULT[name]
    sizes = {X: (rows, width), WEIGHT: (out, width), Y: (rows, out)}
    count = math.prod(sizes[result])
    work = ours.c.ours_product_create(index, *shape, threads)
    arrays = [ours.c.ours_product_array(work, i) for i in (X, WEIGHT, Y)]

    def run_ours(n):
        ours.c.ours_product_run(work, n)

    def row(peer, timing, theirs):
        mine = ours.c.ours_product_result(work)
        return row_of(name, f"{rows} row{'s' * (rows > 1)}, {width} to {out}", threads, peer,
                      gflops(2 * rows * width * out), timing,
                      ours.difference(mine, theirs, count), NEAR)
    if onednn and wanted(options, name, "onednn"):
        buffer = ours.new_floats(count)
        theirs = ctypes.cast(buffer, FLOATS)
        peer = onednn.onednn_product(index, *shape, threads,
                                     *(theirs if i == result else arrays[i] for i in (X, WEIGHT, Y)))
        timing = timer.compare(run_ours, lambda n: onednn.onednn_run(peer, n))
        ctypes.memset(buffer, 0, ctypes.sizeof(buffer))
        onednn.onednn_run(peer, 1)
        onednn.onednn_free(peer)
        yield row("oneDNN " + onednn.onednn_version().decode(), timing, theirs)
    if ort and wanted(options, name, "ort"):
        peer, theirs = ort.product(threads, name, *(ort.as_array(arrays[i], *sizes[i]) for i in (X, WEIGHT, Y)))
        timing = timer.compare(run_ours, peer.run)
        peer.free()
        yield row(ort.name(), timing, ort.pointer_of(theirs))
    if torch and wanted(options, name, "torch"):
        x, weight, y = (torch.tensor(arrays[i], *sizes[i]) for i in (X, WEIGHT, Y))
        total = torch.torch.zeros(out, width)
        run = {"gemm": lambda: torch.F.linear(x, weight), "gemm_input": lambda: torch.torch.mm(y, weight),
               "gemm_weight": lambda: total.addmm_(y.t(), x)}[name]
        with torch.torch.inference_mode():
            timing = timer.compare(run_ours, times(run))
            total.zero_()
            theirs = run().contiguous()
        yield row(torch.NAME, timing, torch.pointer_of(theirs))
    ours.c.ours_product_free(work)


# ---- models ----

def train(tools, torch, what, sizes):
    return [train_row(tools, torch, what, sizes, "train_step", LOSS)]


def train_bf16(tools, torch, what, sizes):
    """Compares with PyTorch as its users would write it, and compiled, if this version can compile. Where products in bf16
    would be emulated, which is slow, only --check compares."""
    options, _, ours, threads = tools
    work = ours.c.ours_train_create(ModelShape(*CHECK, threads), RATE, True)
    fast = ours.c.ours_train_products(work) == b"bf16"
    ours.c.ours_model_free(work)
    for compiled in [False] + [True] * hasattr(torch.torch, "compile") if fast or options.check else []:
        yield train_row(tools, torch, what, sizes, "train_bf16", LOSS_BF16, bf16=True, compiled=compiled)


def train_row(tools, torch, what, sizes, name, allowed, bf16=False, compiled=False):
    options, timer, ours, threads = tools
    shape = ModelShape(*sizes, threads)
    work = ours.c.ours_train_create(shape, RATE, bf16)
    source = torch.tokens(ours.c.ours_model_tokens(work, 0), shape.batch, shape.source)
    target = torch.tokens(ours.c.ours_model_tokens(work, 1), shape.batch, shape.target + 1)
    peer = torch.Training(shape, ours.weights(work), source, target, RATE, bf16, compiled)
    losses = [], []

    def run(step, into):
        return times(lambda: into.append(step()))
    timing = timer.compare(run(lambda: ours.c.ours_train_step(work), losses[0]),
                           run(peer.step, losses[1]))
    ours.c.ours_model_free(work)
    far = max(abs(a - b) / abs(b) for a, b in list(zip(*losses))[:COMPARED])
    return row_of(name, what, threads, torch.NAME + (", compiled" if compiled else ""), MILLISECONDS, timing, far, allowed)


def translate(tools, torch, what, sizes):
    """Checks that the logits of the first token are equal and, where tokens first differ, that two of them were tied."""
    options, timer, ours, threads = tools
    shape = ModelShape(*sizes, threads)
    work = ours.c.ours_translate_create(shape)
    source = torch.tokens(ours.c.ours_model_tokens(work, 0), shape.batch, shape.source)
    peer = torch.Translation(shape, ours.weights(work), source)
    timing = timer.compare(times(lambda: ours.c.ours_translate(work)), times(peer.run))
    mine = torch.tokens(ours.c.ours_translate(work), shape.batch, shape.target)
    theirs = peer.run()
    logits = peer.first().contiguous()
    far = ours.difference(ours.c.ours_translate_logits(work), torch.pointer_of(logits),
                          shape.batch * shape.vocab)
    same = float((mine == theirs).all(1).float().mean())
    row = row_of("translate", what, threads, torch.NAME,
                 ("tokens/s", shape.batch * shape.target, True), timing, far, GRADIENT)
    row["same_sentences"] = same
    row["equal"] &= same >= 0.8
    ours.c.ours_model_free(work)
    return [row]
