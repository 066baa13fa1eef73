#!/usr/bin/env python3
"""compare.py FOLDER [--quick | --check] [--json] [--markdown] [--svg FILE] [--threads 1,2] [--only NAME] [--model FOLDER]

Compares rapt with PyTorch, oneDNN, ONNX Runtime and CTranslate2, in one process and on the same numbers. FOLDER holds
libcompare_ours.so and, if these were found, libcompare_onednn.so and libcompare_ort.so; run.sh builds them.

Samples of both sides alternate, so that a slow moment of the machine affects both. `times` is the median of theirs / ours
over these pairs: above 1 rapt is faster. The other figures are those of the fastest sample. Outputs are compared, too, by
the greatest difference relative to the greatest number. If that is too large, the row says so and the exit status is 1."""
import argparse
import json
import os
import statistics
import sys
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import results
import works
from ours import ONEDNN, PASSES, Ours, load


REST = 0.002  # seconds before a sample, for the threads of the other side to stop spinning


class Timer:
    def __init__(self, options):
        self.pairs = 1 if options.check else 3 if options.quick else 7
        self.least = 0 if options.check else 0.005 if options.quick else 0.02

    @staticmethod
    def seconds(run, count):
        """Returns the seconds per call. run(count) returns the seconds of `count` calls if it has measured them itself."""
        time.sleep(REST)
        start = time.perf_counter()
        measured = run(count)
        return (measured or time.perf_counter() - start) / count

    def count(self, run):
        """Returns how many calls make a sample. These calls also warm up."""
        count = 1
        while self.seconds(run, count) * count < self.least:
            count *= 2
        return count

    def compare(self, ours, theirs):
        """Times run(count) of both: fastest and median in seconds, and the median of the ratios of pairs."""
        counts = [self.count(ours), self.count(theirs)]
        pairs = [(self.seconds(ours, counts[0]), self.seconds(theirs, counts[1]))
                 for _ in range(self.pairs)]
        mine, their = zip(*pairs)
        ratios = sorted(b / a for a, b in pairs)
        return {"seconds": min(mine), "peer_seconds": min(their),
                "median_seconds": statistics.median(mine),
                "peer_median_seconds": statistics.median(their), "times": statistics.median(ratios), "least": ratios[0], "most": ratios[-1],
                "pairs": len(pairs)}


def say(row):
    unit, scale, inverse = row["unit"]
    figures = [scale / x if inverse else scale * x for x in (row["seconds"], row["peer_seconds"])]
    print(f"{row['name']:19}\t{row['what']:34}\t{row['threads']:7}\t{row['peer']:15}\t"
          f"{figures[0]:9.2f}\t{figures[1]:9.2f}\t{unit:9}\t{row['times']:6.2f}\t"
          f"{row['least']:.2f}-{row['most']:.2f}\t{row['difference']:.1e}"
          + ("" if row["equal"] else "\tDIFFERS"))


def figure(row, seconds):
    unit, scale, inverse = row["unit"]
    value = scale / seconds if inverse else scale * seconds
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}"


def markdown(rows):
    """Prints a table with a line for each workload and `one thread / all threads` in each cell."""
    threads = sorted({row["threads"] for row in rows})
    peers = sorted({row["peer"] for row in rows}, reverse=True)
    heads = ["work (" + " / ".join(f"{t} thread{'s' * (t > 1)}" for t in threads) + ")", "unit",
             "rapt"] + [head for peer in peers for head in (peer, "times")]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name, what in dict.fromkeys((row["name"], row["what"]) for row in rows):
        mine = [row for row in rows if (row["name"], row["what"]) == (name, what)]

        def cell(pick):
            return " / ".join(pick(t) or "-" for t in threads).replace("- / -", "-")

        def ours(t):
            found = [row["seconds"] for row in mine if row["threads"] == t]
            return figure(mine[0], min(found)) if found else None
        cells = [f"{PASSES.get(name, name.replace('_', ' '))}, {what}", mine[0]["unit"][0], cell(ours)]
        for peer in peers:
            at = {row["threads"]: row for row in mine if row["peer"] == peer}
            cells.append(cell(lambda t: t in at and figure(at[t], at[t]["peer_seconds"])))
            cells.append(cell(lambda t: t in at and f"{at[t]['times']:.2f}"))
        print("| " + " | ".join(cells) + " |")


def draw(path, rows, about):
    """Draws the ratios of all rows, with a chart for each number of threads."""
    shown = [{**row, "unit": row["unit"][0], "ours": figure(row, row["seconds"]), "theirs": figure(row, row["peer_seconds"])}
             for row in rows]
    title = f"rapt {about['commit']} on {about['processor']}, {about['isa']}; load of other programs {about['load']}"
    chart, y = results.Figure(900, title), 66
    chart.text(20, 32, 15, title)
    for threads in sorted({row["threads"] for row in rows}):
        y = results.peer_bars(chart, y, shown, threads) + 15
    with open(path, "w") as file:
        file.write(chart.drawn(y))
    print(f"drawn: {path}", file=sys.stderr)


def import_torch(ours):
    """Returns PyTorch, set to use the vectors of this machine as Debian's does not by itself, or None."""
    if ours.environment["isa"] == "avx512":
        os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx512")
    try:
        import peer_torch
    except ImportError as why:
        print(f"skipped: PyTorch: {why} (apt install python3-torch)", file=sys.stderr)
        return None
    return peer_torch


def import_ort(folder):
    """Returns ONNX Runtime with the writer of its models, or None."""
    try:
        import peer_ort
    except ImportError as why:
        print(f"skipped: ONNX Runtime: {why} (apt install python3-onnx)", file=sys.stderr)
        return None
    peer_ort.runtime = load(folder, "ort", peer_ort.SIGNATURES)
    if peer_ort.runtime is None:
        print("skipped: ONNX Runtime was not found when this was built (-DORT_LIBRARY, -DORT_INCLUDE)",
              file=sys.stderr)
        return None
    return peer_ort


def import_ct2(options):
    """Returns CTranslate2 if --model is given, or None."""
    try:
        import ctranslate2
    except ImportError as why:
        print(f"skipped: CTranslate2: {why} (it is on PyPI)", file=sys.stderr)
        return None
    if options.model:
        return ctranslate2
    print("skipped: CTranslate2: no --model FOLDER was given", file=sys.stderr)
    return None


def read_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--threads", default=None, help="1,2 [1 and the number of processors]")
    parser.add_argument("--model", help="a folder of CTranslate2, for the comparison with it")
    parser.add_argument("--only", help="a name, such as gemm, or a peer, torch, onednn, ort or ctranslate2")
    parser.add_argument("--quick", action="store_true", help="fewer shapes and samples")
    parser.add_argument("--check", action="store_true", help="tiny shapes, to test the programs")
    parser.add_argument("--json", action="store_true", help="one object a row, and nothing else")
    parser.add_argument("--svg", metavar="FILE", help="draw the ratios")
    parser.add_argument("--markdown", action="store_true", help="and a table of all at the end")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    options.threads = ([int(t) for t in options.threads.split(",")] if options.threads
                       else sorted({1, cores}))
    options.quick |= options.check
    options.start, options.cut_short = time.monotonic(), False
    return options


def main():
    options = read_options()
    ours = Ours(options.folder)
    torch = import_torch(ours)
    onednn = load(options.folder, "onednn", ONEDNN)
    if onednn is None:
        print("skipped: oneDNN was not found when this was built (apt install libdnnl-dev)",
              file=sys.stderr)
    ort, ct2 = import_ort(options.folder), import_ct2(options)
    about = dict(ours.environment)
    about["pytorch"] = works.about_torch(torch) if torch else "not installed"
    about["ctranslate2"] = ct2.__version__ if ct2 else "not compared"
    about["onednn"] = onednn.onednn_version().decode() if onednn else "not installed"
    about["onnxruntime"] = ort.runtime.ort_version().decode() if ort else "not compared"
    rows, timer = [], Timer(options)
    if not options.json:
        for key, value in about.items():
            print(f"# {key}: {value}")
        print("name               \twhat                              \tthreads\tpeer           \t"
              "     ours\t   theirs\tunit     \t times\trange    \tdifference", flush=True)
    for row in works.all_rows(options, timer, ours, works.Peers(torch, onednn, ort, ct2)):
        rows.append(row)
        if options.json:
            print(json.dumps({**row, "unit": row["unit"][0], "environment": about}), flush=True)
        else:
            say(row)
            sys.stdout.flush()
    if options.markdown and rows:
        markdown(rows)
    if options.svg and rows:
        draw(options.svg, rows, about)
    if options.cut_short:
        print("the time limit of --quick is reached; the remaining measurements are skipped", file=sys.stderr)
    if not rows:
        print("nothing was compared", file=sys.stderr)
    return 0 if all(row["equal"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
