#!/usr/bin/env python3
"""charts.py ROOT - checks the summary and figure that perf/charts.py makes for each result file of the project. The summary
has at most eleven lines at the beginning of the file, and its numbers follow those of the file. Making it twice gives the
same. Every bar shows its number. Times with units mean the same as bare milliseconds. A file without results is refused."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}


def charts(root, path):
    return subprocess.run([sys.executable, "-B", root / "perf/charts.py", path], capture_output=True, text=True)


def summary(text):
    assert text.startswith("# Summary\n"), text[:80]
    return [line[4:] for line in text.split("\n#\n")[0].splitlines()[1:]]


def check(root, result, folder):
    path = folder / result.name
    shutil.copy(result, path)
    done = charts(root, path)
    assert done.returncode == 0, done.stderr
    text = path.read_text()
    lines = summary(text)
    assert 5 <= len(lines) <= 11 and done.stdout.splitlines() == lines, lines
    assert text == result.read_text(), f"{result}: the summary does not match the numbers"
    old = re.sub(r"\A# Summary\n(#   .*\n)*#\n", "", text)
    assert old in text and old.startswith("# Measured"), "the file itself has changed"
    figure = path.with_name(path.stem + "-summary.svg")
    assert figure.read_text() == (result.parent / figure.name).read_text(), f"{result}: the figure differs"
    assert charts(root, path).returncode == 0 and path.read_text() == text, "a second run changes the file"

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
    assert charts(root, path).returncode == 0
    assert any("batch 1," in line and "4,321 tokens/s" in line for line in summary(path.read_text()))
    # Bare milliseconds, as in older files, must give the same summary.
    bare = re.sub(r"([\d.]+) (ns|us|ms|s)\t", lambda m: f"{float(m[1]) * MILLISECONDS[m[2]]:.6g}\t", old)
    path.write_text(bare.replace("   fastest\t    median", "fastest ms\t median ms"))
    assert bare != old
    assert charts(root, path).returncode == 0 and summary(path.read_text()) == lines


def main(root):
    results = sorted((root / "perf/results").glob("*.txt"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for result in results:
            check(root, result, folder)
        empty = folder / "empty.txt"
        empty.write_text("# Measured on 2026-11-21\n")
        assert charts(root, empty).returncode != 0 and empty.read_text() == "# Measured on 2026-11-21\n"
    print(f"{len(results)} files of results")
    return 0 if results else 1


sys.exit(main(pathlib.Path(sys.argv[1])))
