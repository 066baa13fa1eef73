#!/usr/bin/env python3
"""results.py - evaluates the result files of perf/results.sh. Measures nothing: every number comes from these files.

usage: results.py FILE.txt
       results.py --tables [README.md]

With a file, puts a summary at its beginning, in place of an older one, and draws FILE-summary.svg: fractions of the machine's
peak, attention by length, and rapt compared with PyTorch, oneDNN and ONNX Runtime.
With --tables, writes the two tables of perf/README.md, or of the given file, from perf/results: the fraction of its ceiling that
each workload reaches on each processor, and rapt's speed relative to the best of its peers."""
import html
import math
import pathlib
import re
import statistics
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER / "compare"))
from ours import PASSES

BLUE, ORANGE, GREEN, GRAY = "#0072B2", "#D55E00", "#009E73", "#888888"
PEERS = {"PyTorch": ORANGE, "oneDNN": GREEN, "ONNX Runtime": BLUE, "CTranslate2": "#CC79A7"}
DARK = "@media (prefers-color-scheme: dark) { svg { filter: invert(0.9) hue-rotate(180deg); } }"


# ---- reading ----

def read(text):
    """Returns (about, sections): the lines '# key: value'; and for each '## name' its rows as dictionaries by column."""
    about, sections, rows, columns = {}, {}, None, []
    for line in text.splitlines():
        if line.startswith("## "):
            rows, columns = sections.setdefault(line[3:].strip(), []), []
        elif rows is None and re.match(r"# \w+: ", line):
            key, _, about[key] = line[2:].partition(": ")
        elif rows is None and line.startswith("# Measured on "):
            about["date"] = line.split()[3]
        elif rows is not None and "\t" in line:
            cells = [cell.strip() for cell in line.split("\t")]
            if not columns:
                columns = [re.sub(" ms$", "", cell) for cell in cells]
            else:
                row = dict(zip(columns, cells))
                row["more"] = " ".join(cells[len(columns):])
                rows.append(row)
    return about, sections


def shape(row):
    return dict(re.findall(r"(\w+)=([\d.e+-]+)", row["shape"] + " " + row.get("more", "")))


def peaks(rows, threads, **wanted):
    """Returns [(row, its fraction of the peak)] of the rows with these names, shapes and words."""
    name, words = wanted.get("name"), wanted.get("words", ())
    return [(row, float(row["of peak"])) for row in rows
            if row["name"] == name and row["threads"] == str(threads)
            and all(word in row["shape"] + " " + row["more"] for word in words)
            and not any(word in row["shape"] + " " + row["more"] for word in wanted.get("without", ()))]


def plain_attention(sections, threads, name):
    """Returns {length: fraction of the peak} of square attention with 8 heads of 64 and without a mask."""
    rows = peaks(sections.get("perf_attention", []), threads, name=name, words=["B=1 H=8 "], without=["causal", "cached"])
    return {int(shape(row)["S"]): value for row, value in rows
            if shape(row)["T"] == shape(row)["S"] and shape(row)["K"] == "64"
            and not re.search(r"[a-z]", row["more"])}


# ---- the summary ----

def span(values):
    return f"{100 * min(values):.0f} to {100 * max(values):.0f} % of the machine's peak" if values else "not measured"


def rate(row):
    return float(shape(row)["tokens_per_second"])


def beside(sections, threads, peer):
    rows = [r for r in sections.get("perf/compare/run.sh", [])
            if r["peer"].startswith(peer) and r["threads"] == str(threads)]
    if not rows:
        return f"beside {peer}: not measured"
    times = [float(row["times"]) for row in rows]
    return (f"beside {rows[0]['peer']}: faster in {sum(t > 1 for t in times)} of {len(times)} works, "
            f"{statistics.median(times):.2f} times in the median, {min(times):.2f} to {max(times):.2f}")


def model(row):
    of = shape(row)
    return f"{of['encoder_layers']}+{of['decoder_layers']} layers of {of['width']}"


def summary(about, sections):
    """Returns the summary, at most eleven lines."""
    last = max([int(r["threads"]) for r in sections.get("perf_peak", [])], default=1)
    lines = [f"{about.get('processor')}, {about.get('isa')}, {about.get('processors')} processors; commit "
             f"{about.get('commit')}, {about.get('date')}; load by others {about.get('load', 'unknown')}"]
    for name in ("attention_forward", "attention_backward"):
        of = plain_attention(sections, 1, name)
        lines.append(f"{name.replace('_', ' ')}, 512 keys and more, 1 thread: {span([v for s, v in of.items() if s >= 512])}")
    gemm = sections.get("perf_gemm", [])
    many = [[v for r, v in peaks(gemm, 1, name="gemm", words=[who]) if int(shape(r)["M"]) >= 128]
            for who in ("builtin", "openblas")]
    lines.append(f"products of 128 rows and more, 1 thread: {span(many[0])}; OpenBLAS {span(many[1])}")
    for row in sections.get("perf_train", []):
        if row["threads"] == str(last) and "builtin" in row["more"]:
            lines.append(f"training, {model(row)}, {last} threads: {rate(row):,.0f} target tokens/s")
    for row in sections.get("perf_translate", []):
        if row["threads"] == str(last) and shape(row).get("sampled") != "1":
            lines.append(f"translation, {model(row)}, batch {shape(row)['batch']}, beam {shape(row)['beam']}, "
                         f"{last} threads: {rate(row):,.0f} tokens/s")
    lines += [beside(sections, last, peer) for peer in PEERS]
    return lines[:11]


def with_summary(text, lines):
    """Returns the file with a new summary at its beginning."""
    old = re.compile(r"\A# Summary\n(?:#   .*\n)*#\n")
    return "# Summary\n" + "".join(f"#   {line}\n" for line in lines) + "#\n" + old.sub("", text)


# ---- the figure ----

class Figure:
    """A figure whose height is known at its end."""

    def __init__(self, width, title):
        self.width = width
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="HEIGHT" viewBox="0 0 {width} '
                      f'HEIGHT" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" role="img" aria-label='
                      f'"{html.escape(title)}">', f"<title>{html.escape(title)}</title><style>{DARK}</style>",
                      f'<rect width="{width}" height="HEIGHT" fill="white"/>']

    def drawn(self, height):
        head = [part.replace("HEIGHT", f"{height:.0f}") for part in self.parts[:3]]
        return "\n".join([*head, *self.parts[3:], "</svg>", ""])

    def text(self, x, y, size, text, anchor="start", color="#222222"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{color}">'
                          f"{html.escape(text)}</text>")

    def number(self, x, y, value):
        """A number that stays legible on a line."""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="10" stroke="white" stroke-width="3" '
                          f'paint-order="stroke">{value:.2f}</text>')

    def line(self, x1, y1, x2, y2, color, thickness=1.0):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
                          f'stroke-width="{thickness}"/>')

    def shape(self, hint, drawn):
        self.parts.append(f"<g><title>{html.escape(hint)}</title>{drawn}</g>")

    def bar(self, x, y, width, height, color, hint):
        self.shape(hint, f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height}" fill="{color}"/>')


def bars(figure, x, y, width, title, rows, mark):
    """Draws rows: (label, [(value, color, hint)]). The longest bar has the whole width; mark: the value of a line."""
    full = max([mark, *(value for _, values in rows for value, _, _ in values)])
    figure.text(x, y, 15, title)
    top, left = y + 18, x + 275
    bottom = top + sum(5 + 12 * len(values) for _, values in rows)
    figure.line(left + width * mark / full, y + 12, left + width * mark / full, bottom, GRAY, 1.5)
    for label, values in rows:
        figure.text(left - 8, top + 5 + 6 * len(values), 11, label, "end", "#444444")
        for value, color, hint in values:
            figure.bar(left, top, width * value / full, 10, color, hint)
            figure.number(left + width * value / full + 5, top + 9, value)
            top += 12
        top += 5
    return top + 20


def sweep(figure, x, y, width, height, curves):
    """Draws curves: (label, color, {length: fraction of the peak})."""
    lengths = sorted({length for _, _, of in curves for length in of})
    figure.text(x, y, 15, "Attention by length: fraction of the machine's peak, 1 thread, 8 heads of 64")
    low, high = math.log2(lengths[0]), math.log2(lengths[-1])
    across = lambda s: x + 40 + width * (math.log2(s) - low) / max(high - low, 1)
    up = lambda v: y + 20 + height * (1 - v)
    for tick in (0, 0.25, 0.5, 0.75, 1):
        figure.line(x + 40, up(tick), x + 40 + width, up(tick), "#E4E4E4")
        figure.text(x + 34, up(tick) + 4, 11, f"{tick:g}", "end", "#444444")
    for s in lengths:
        figure.text(across(s), up(0) + 17, 11, str(s), "middle", "#444444")
    figure.text(x + 40 + width / 2, up(0) + 34, 12, "queries and keys", "middle", "#444444")
    for i, (label, color, of) in enumerate(curves):
        points = " ".join(f"{across(s):.1f},{up(v):.1f}" for s, v in sorted(of.items()))
        figure.parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.5"/>')
        for s, v in sorted(of.items()):
            figure.shape(f"{label}, {s} keys: {v:.2f} of the peak",
                         f'<circle cx="{across(s):.1f}" cy="{up(v):.1f}" r="4" fill="{color}" stroke="white"/>')
        figure.bar(x + 60 + width, y + 30 + 20 * i, 12, 12, color, label)
        figure.text(x + 78 + width, y + 40 + 20 * i, 12, label)
    return up(0) + 60


def peer_bars(figure, y, rows, threads):
    """Draws how many times as fast as each peer rapt is in the rows of compare.py with a number of threads."""
    works = {}
    for row in rows:
        if str(row["threads"]) == str(threads):
            color = next((PEERS[peer] for peer in PEERS if row["peer"].startswith(peer)), GRAY)
            hint = f"{row['peer']}: {row['theirs']} {row['unit']}, rapt {row['ours']}: {float(row['times']):.2f} times as fast"
            works.setdefault(f"{row['name'].replace('_', ' ')} {row['what']}", []).append((float(row["times"]), color, hint))
    found = [peer for peer in PEERS if any(row["peer"].startswith(peer) for row in rows)]
    y = bars(figure, 20, y, 530, f"Times as fast as others, {threads} thread{'s' * (int(threads) > 1)} (the line: as fast)",
             list(works.items()), 1)
    for i, peer in enumerate(found):
        figure.bar(295 + 130 * i, y - 10, 12, 12, PEERS[peer], peer)
        figure.text(313 + 130 * i, y, 12, peer)
    return y + 25


def draw(about, sections):
    last = max([int(r["threads"]) for r in sections.get("perf_peak", [])], default=1)
    works = []
    for section, name in (("perf_gemm", "gemm"), ("perf_attention", "attention_forward"),
                          ("perf_attention", "attention_backward"), ("perf_train", "train_step")):
        for row, value in peaks(sections.get(section, []), 1, name=name, without=["openblas", "cached"]):
            if name != "train_step" and not re.fullmatch(r"(M=\d+ N=2048 K=512|B=1 H=8 T=(\d+) S=\2 K=64( causal)?)", row["shape"]):
                continue
            if row["more"] not in ("", "builtin forward packed") and name != "train_step":
                continue
            words = model(row) if name == "train_step" else re.sub(r"B=1 H=8 T=(\d+) S=\1 K=64", r"\1 keys", row["shape"])
            works.append((f"{name.replace('_', ' ')} {words}", [(value, BLUE, f"{row['fastest']}: {value:.2f} of the peak")]))
    figure = Figure(900, f"rapt on {about.get('processor')}: fractions of the peak, by length, beside others")
    figure.text(20, 32, 18, f"rapt on {about.get('processor')}, {about.get('isa')}, commit {about.get('commit')}")
    y = bars(figure, 20, 66, 530, "Fraction of the machine's peak, 1 thread (the line: all of it)", works, 1)
    curves = [(name.replace("_", " "), color, plain_attention(sections, 1, name))
              for name, color in (("attention_forward", BLUE), ("attention_backward", ORANGE))]
    if all(of for _, _, of in curves):
        y = sweep(figure, 20, y + 10, 540, 220, curves)
    return figure.drawn(peer_bars(figure, y + 10, sections.get("perf/compare/run.sh", []), last))


def write_summary(path):
    text = path.read_text()
    about, sections = read(text)
    if not any(sections.values()):
        sys.exit(f"{path}: no results")
    lines = summary(about, sections)
    path.write_text(with_summary(text, lines))
    path.with_name(path.stem + "-summary.svg").write_text(draw(about, sections))
    print("\n".join(lines))


# ---- the tables of README.md ----

PROCESSORS = {"family 26, model 2": "Zen 5", "family 25, model 17": "Zen 4", "family 25, model 1": "Zen 3",
              "family 6, model 207": "Emerald Rapids"}
RANGE = "to"  # between the smallest and the greatest of several figures
THREADS = ("1", "2")
BEGIN, END = "<!-- the tables of results.py -->\n", "<!-- end -->\n"


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
        many = [float(r["of peak"]) for r in all_rows if int(shape(r)["M"]) >= 128]
        return [min(many), RANGE, max(many)] if many else [None]
    return of


def train(sections):
    rows = [r for r in sections.get("perf_train", []) if r["threads"] == "1" and "builtin" in r["more"]]
    return [float(r["of peak"]) for r in sorted(rows, key=lambda r: int(shape(r)["width"]))]


def beam(sections):
    return [float(r["of peak"]) for r in sections.get("perf_translate", [])
            if r["threads"] == "1" and shape(r)["beam"] == "4"]


def greedy(sections):
    """Finds the fraction of the speed at which memory delivers the weights, with one and two threads."""
    rows = [shape(r) for r in sections.get("perf_translate", []) if r["threads"] in THREADS]
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
    return [f"{float(shape(r)['gbytes_per_second']):.0f}" for r in sections.get("perf_peak", [])
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


def best_peers(sections):
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
    times = [best_peers(sections) for _, sections in read]
    works = dict.fromkeys(work for of in times for work in of)
    return fractions + "\n" + table(
        ["times the speed of the best peer, 1 / 2 threads", *names],
        [[f"{PASSES.get(name, name.replace('_', ' '))}, {what}", *(cell(list(of.get((name, what), {}).values())) for of in times)]
         for name, what in works]) + "\n" + counted(times)


def write_tables(readme):
    text = readme.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        sys.exit(f"{readme}: no lines {BEGIN.strip()} and {END.strip()}")
    results = [read(path.read_text()) for path in sorted((FOLDER / "results").glob("*.txt"))]
    readme.write_text(before + begin + "\n" + tables(results) + "\n" + end + after)


def main(arguments):
    if arguments[:1] == ["--tables"]:
        write_tables(pathlib.Path(arguments[1]) if len(arguments) > 1 else FOLDER / "README.md")
    elif len(arguments) == 1:
        write_summary(pathlib.Path(arguments[0]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
