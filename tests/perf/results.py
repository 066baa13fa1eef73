#!/usr/bin/env python3
"""results.py ROOT - checks what perf/results.py makes of the result files of the project.

Each summary has at most eleven lines at the beginning of the file, and its numbers follow those of the file. Making it twice
gives the same. Every bar of the figure shows its number. Times with units mean the same as bare milliseconds. A file without
results is refused.

The tables of perf/README.md are those that the script makes. The numbers of some cells are compared with the files. A README
without the marks is refused and stays unchanged. Other results must give other tables."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

# ---- summaries and figures ----

SVG = "{http://www.w3.org/2000/svg}"
MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}


def run(root, *arguments):
    return subprocess.run([sys.executable, "-B", root / "perf/results.py", *arguments], capture_output=True, text=True)


def summary(text):
    assert text.startswith("# Summary\n"), text[:80]
    return [line[4:] for line in text.split("\n#\n")[0].splitlines()[1:]]


def check_summary(root, result, folder):
    path = folder / result.name
    shutil.copy(result, path)
    done = run(root, path)
    assert done.returncode == 0, done.stderr
    text = path.read_text()
    lines = summary(text)
    assert 5 <= len(lines) <= 11 and done.stdout.splitlines() == lines, lines
    assert text == result.read_text(), f"{result}: the summary does not match the numbers"
    old = re.sub(r"\A# Summary\n(#   .*\n)*#\n", "", text)
    assert old in text and old.startswith("# Measured"), "the file itself has changed"
    figure = path.with_name(path.stem + "-summary.svg")
    assert figure.read_text() == (result.parent / figure.name).read_text(), f"{result}: the figure differs"
    assert run(root, path).returncode == 0 and path.read_text() == text, "a second run changes the file"

    svg = xml.etree.ElementTree.parse(figure).getroot()
    assert svg.get("role") == "img" and svg.get("aria-label") and svg.find(SVG + "title") is not None
    hints = [g.find(SVG + "title").text for g in svg.iter(SVG + "g")]
    assert len(hints) > 20 and all(hints), hints

    lengths = [(float(g.find(SVG + "rect").get("width")), float(found[1])) for g in svg.iter(SVG + "g") if g.find(SVG + "rect") is not None
               for found in [re.search(r": ([\d.]+) times as fast$", g.find(SVG + "title").text)] if found]
    longest = max(lengths)
    assert longest[0] == 530 and all(abs(width - 530 * times / longest[1]) < 1 for width, times in lengths), f"bars are cut: {lengths}"

    # Other numbers must change the summary.
    path.write_text(re.sub(r"(beam=1 batch=1(?: sampled=0)?\ttokens_per_second=)\S+", r"\g<1>4321", old))
    assert run(root, path).returncode == 0
    assert any("batch 1," in line and "4,321 tokens/s" in line for line in summary(path.read_text()))
    # Bare milliseconds, as in older files, must give the same summary.
    bare = re.sub(r"([\d.]+) (ns|us|ms|s)\t", lambda m: f"{float(m[1]) * MILLISECONDS[m[2]]:.6g}\t", old)
    path.write_text(bare.replace("   fastest\t    median", "fastest ms\t median ms"))
    assert bare != old
    assert run(root, path).returncode == 0 and summary(path.read_text()) == lines


def summaries(root):
    results = sorted((root / "perf/results").glob("*.txt"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for result in results:
            check_summary(root, result, folder)
        empty = folder / "empty.txt"
        empty.write_text("# Measured on 2026-11-21\n")
        assert run(root, empty).returncode != 0 and empty.read_text() == "# Measured on 2026-11-21\n"
    assert results
    print(f"{len(results)} files of results")


# ---- tables ----

def cells(text, label):
    """Returns the cells of a row, by the headings of its table."""
    tables = re.findall(r"(?m)^\|.*\n\| ---.*\n(?:\|.*\n)+", text)
    for table in tables:
        rows = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in table.splitlines()]
        for row in rows[2:]:
            if row[0] == label:
                return dict(zip(rows[0][1:], row[1:]))
    raise AssertionError(f"no row {label}")


def column(text, section, start):
    """Returns the columns of the row that matches `start`, in a section of a result file."""
    part = text.split(f"## {section}\n")[1].split("\n## ")[0].splitlines()
    found = [line.split("\t") for line in part if re.match(start, line)]
    assert len(found) == 1, (section, start, len(found))
    return [cell.strip() for cell in found[0]]


def check_cells(root, text):
    file = (root / "perf/results/amd-epyc-family-26-model-2-avx512-2.txt").read_text()
    forward = [float(column(file, "perf_attention", rf"attention_forward +\t +1\t.*B=1 H=8 T={n} S={n} K=64 *\t?$")[5])
               for n in (512, 1024, 4096)]
    shown = cells(text, "attention forward, 512 / 1024 / 4096 tokens of width 64")["Zen 5"]
    assert shown == " / ".join(f"{x:.2f}" for x in forward), (shown, forward)
    row = r"gemm +\t512 rows, 512 to 2048 +\t +{}\t{}"
    times = [min(float(column(file, "perf/compare/run.sh", row.format(threads, peer))[7])
                 for peer in ("PyTorch", "oneDNN", "ONNX Runtime")) for threads in (1, 2)]
    assert cells(text, "product, 512 rows, 512 to 2048")["Zen 5"] == " / ".join(f"{x:.2f}" for x in times), times


def tables(root):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        readme = folder / "README.md"
        shutil.copy(root / "perf/README.md", readme)
        done = run(root, "--tables", readme)
        assert done.returncode == 0, done.stderr
        text = readme.read_text()
        assert text == (root / "perf/README.md").read_text(), "perf/README.md: run perf/results.py --tables"
        check_cells(root, text)

        readme.write_text("no tables\n")
        assert run(root, "--tables", readme).returncode != 0 and readme.read_text() == "no tables\n"

        copy = folder / "perf"
        shutil.copytree(root / "perf", copy)
        for path in (copy / "results").glob("*family-6-*.txt"):
            path.unlink()
        assert run(folder, "--tables", copy / "README.md").returncode == 0
        more = (copy / "results/amd-epyc-family-26-model-2-avx512-2.txt").read_text()
        more = more.replace("# processors: 2\n", "# processors: 12\n").replace("\t      2\t", "\t     12\t")
        (copy / "results/amd-epyc-family-26-model-2-avx512-12.txt").write_text(more)
        assert run(folder, "--tables", copy / "README.md").returncode == 0
        of = cells((copy / "README.md").read_text(), "peak of 1 / 2 threads, GFLOP/s")
        assert " / " in of["Zen 5"] and " / " not in of["Zen 5, 12 processors"], of
        (copy / "results/amd-epyc-family-26-model-2-avx512-12.txt").unlink()
        assert run(folder, "--tables", copy / "README.md").returncode == 0
        heads = [list(cells(of, "gradients of inputs")) for of in (text, (copy / "README.md").read_text())]
        assert "Emerald Rapids" in heads[0] and heads[1] == [head for head in heads[0] if head != "Emerald Rapids"], heads
    print("the tables of perf/README.md match the result files")


root = pathlib.Path(sys.argv[1])
summaries(root)
tables(root)
