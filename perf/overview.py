#!/usr/bin/env python3
"""overview.py [README.md] - writes the two tables of perf/README.md, or of the given file, from perf/results: the fraction of
its ceiling that each workload reaches on each processor, and rapt's speed relative to the best of its peers. Measures
nothing: every number comes from these files."""
import math
import pathlib
import re
import sys

import charts

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER / "compare"))
from ours import PASSES

PROCESSORS = {"family 26, model 2": "Zen 5", "family 25, model 17": "Zen 4", "family 25, model 1": "Zen 3",
              "family 6, model 207": "Emerald Rapids"}
RANGE = "to"  # between the smallest and the greatest of several figures
THREADS = ("1", "2")
BEGIN, END = "<!-- the tables of overview.py -->\n", "<!-- end -->\n"


def name_of(about):
    """Names a column; files of the same processor differ in their number of processors."""
    name = next((name for key, name in PROCESSORS.items() if about["processor"].endswith(key)), about["processor"])
    return name if about["processors"] == "2" else f"{name}, {about['processors']} processors"


def attention(name, shapes, more=""):
    """For each shape, a regular expression, finds the fraction of the peak in the first row that matches."""
    def of(sections):
        rows = [r for r in sections.get("perf_attention", [])
                if r["name"] == "attention_" + name and r["threads"] == "1" and r["more"] == more]
        return [next((float(r["of peak"]) for r in rows if re.fullmatch(s, r["shape"])), None) for s in shapes]
    return of


def square(lengths, rest="K=64"):
    return [f"B=1 H=8 T={n} S={n} {rest}" for n in lengths]


def short(width):
    return [f"B=64 H=4 T={n} S={n} K={width}" for n in (16, 32, 64)]


def product(kind, rows=None):
    """Finds the fraction of products with that many rows, or the smallest and greatest of those with 128 and more."""
    def of(sections):
        all_rows = [r for r in sections.get("perf_gemm", []) if r["threads"] == "1" and r["more"].startswith(f"builtin {kind}")]
        if rows:
            return [next((float(r["of peak"]) for r in all_rows if r["shape"] == f"M={m} N=2048 K=512"), None) for m in rows]
        many = [float(r["of peak"]) for r in all_rows if int(charts.shape(r)["M"]) >= 128]
        return [min(many), RANGE, max(many)] if many else [None]
    return of


def train(sections):
    rows = [r for r in sections.get("perf_train", []) if r["threads"] == "1" and "builtin" in r["more"]]
    return [float(r["of peak"]) for r in sorted(rows, key=lambda r: int(charts.shape(r)["width"]))]


def beam(sections):
    return [float(r["of peak"]) for r in sections.get("perf_translate", [])
            if r["threads"] == "1" and charts.shape(r)["beam"] == "4"]


def greedy(sections):
    """Finds the fraction of the speed at which memory delivers the weights, with one and two threads."""
    rows = [charts.shape(r) for r in sections.get("perf_translate", []) if r["threads"] in THREADS]
    return [float(of["tokens_per_second"]) / float(of["memory_bound"]) for of in rows
            if of["beam"] == of["batch"] == "1" and of.get("sampled", "0") == "0"]


def one_query(sections):
    """Computes gigabytes of keys and values per second (two floats for four operations), over plain arrays and over a cache."""
    rows = [r for r in sections.get("perf_attention", [])
            if r["threads"] == "1" and r["shape"] == "B=1 H=8 T=1 S=4096 K=64"]
    return [f"{2 * float(r['GFLOP/s']):.0f}" for more in ("", "cached") for r in rows if r["more"] == more]


def peak(sections):
    return [f"{float(r['GFLOP/s']):.0f}" for r in sections.get("perf_peak", []) if r["name"] == "peak" and r["threads"] in THREADS]


def memory(sections):
    return [f"{float(charts.shape(r)['gbytes_per_second']):.0f}" for r in sections.get("perf_peak", [])
            if r["name"] == "memory_read" and r["threads"] in THREADS]


FRACTIONS = [
    ("peak of 1 / 2 threads, GFLOP/s", peak),
    ("memory read by 1 / 2 threads, GB/s", memory),
    ("attention forward, 512 / 1024 / 4096 tokens of width 64", attention("forward", square((512, 1024, 4096)))),
    ("the same, causal", attention("forward", square((512, 1024, 4096), "K=64 causal"))),
    ("128 tokens of width 64; 1024 of width 32 / 128",
     attention("forward", square((128,)) + square((1024,), "K=32") + square((1024,), "K=128"))),
    ("attention backward, 512 / 1024 / 4096 tokens", attention("backward", square((512, 1024, 4096)))),
    ("the same, causal, 1024 / 4096; 1 head, 32768 tokens",
     attention("backward", square((1024, 4096), "K=64 causal") + ["B=1 H=1 T=32768 S=32768 K=64"])),
    ("forward, ragged sentences of 16 / 32 / 64 tokens, width 64", attention("forward", short(64), "ragged")),
    ("the same of width 32", attention("forward", short(32), "ragged")),
    ("backward, ragged, width 64", attention("backward", short(64), "ragged")),
    ("the same of width 32", attention("backward", short(32), "ragged")),
    ("1 query, 4096 keys, plain arrays / a cache, GB/s", one_query),
    ("product, 1 / 4 / 16 / 64 rows of 512, 2048 outputs", product("forward", (1, 4, 16, 64))),
    ("products of 128 rows and more", product("forward")),
    ("gradients of inputs", product("backward_input")),
    ("gradients of weights", product("backward_weight")),
    ("training step, 4+4 layers of 128 / 6+6 of 512", train),
    ("translation, 6+6 layers of 512, beam 4, batch 16", beam),
    ("the same, greedy, batch 1, of what memory allows, 1 / 2 threads", greedy),
]


def cell(values):
    """Formats the figures of one cell."""
    shown = [v if isinstance(v, str) else "-" if v is None else f"{v:.2f}" for v in values]
    return (" " if RANGE in shown else " / ").join(shown) or "-"


def table(heads, rows):
    return "".join("| " + " | ".join(row) + " |\n" for row in [heads, ["---"] * len(heads), *rows])


def beside(sections):
    """Returns {(name, what): {threads: the smallest of the times relative to its peers}}."""
    best = {}
    for row in sections.get("perf/compare/run.sh", []):
        if row["threads"] not in THREADS:
            continue
        of = best.setdefault((row["name"], row["what"]), {})
        of[row["threads"]] = min(float(row["times"]), of.get(row["threads"], float("inf")))
    return best


def counted(times):
    """Counts the figures relative to peers that are at least 1, and finds the smallest, for products and for the rest."""
    lines = []
    for kind, products in (("attention, training and translation", False), ("products and their gradients", True)):
        of = [value for best in times for (name, _), values in best.items() if (name in PASSES) == products
              for value in values.values()] or [math.nan]
        lines.append(f"{sum(value >= 1 for value in of)} of {len(of)} figures of {kind} (the smallest {min(of):.2f})")
    return f"At least as fast as every peer: {lines[0]}; {lines[1]}.\n"


def tables(results):
    """results: [(about, sections)]"""
    read = sorted(((name_of(about), sections) for about, sections in results),
                  key=lambda of: [*PROCESSORS.values(), of[0]].index(of[0]))
    names = [name for name, _ in read]
    fractions = table(["1 thread, of the peak unless a unit is named", *names],
                      [[label, *(cell(of(sections)) for _, sections in read)] for label, of in FRACTIONS])
    times = [beside(sections) for _, sections in read]
    works = dict.fromkeys(work for of in times for work in of)
    return fractions + "\n" + table(
        ["times the speed of the best peer, 1 / 2 threads", *names],
        [[f"{PASSES.get(name, name.replace('_', ' '))}, {what}", *(cell(list(of.get((name, what), {}).values())) for of in times)]
         for name, what in works]) + "\n" + counted(times)


def main(readme):
    text = readme.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{readme}: no lines {BEGIN.strip()} and {END.strip()}")
    results = [charts.read(path.read_text()) for path in sorted((FOLDER / "results").glob("*.txt"))]
    readme.write_text(before + begin + "\n" + tables(results) + "\n" + end + after)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "README.md")
