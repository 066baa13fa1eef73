#!/usr/bin/env python3
"""overview.py ROOT - checks that the tables of perf/README.md are those that perf/overview.py makes from the result files.
The numbers of some cells are compared with the files. A README without the marks is refused and stays unchanged. Other
results must give other tables."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def overview(root, readme):
    return subprocess.run([sys.executable, "-B", root / "perf/overview.py", readme], capture_output=True, text=True)


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


def check_figures(root, text):
    file = (root / "perf/results/amd-epyc-family-26-model-2-avx512-2.txt").read_text()
    forward = [float(column(file, "perf_attention", rf"attention_forward +\t +1\t.*B=1 H=8 T={n} S={n} K=64 *\t?$")[5])
               for n in (512, 1024, 4096)]
    shown = cells(text, "attention forward, 512 / 1024 / 4096 tokens of width 64")["Zen 5"]
    assert shown == " / ".join(f"{x:.2f}" for x in forward), (shown, forward)
    row = r"gemm +\t512 rows, 512 to 2048 +\t +{}\t{}"
    times = [min(float(column(file, "perf/compare/run.sh", row.format(threads, peer))[7])
                 for peer in ("PyTorch", "oneDNN", "ONNX Runtime")) for threads in (1, 2)]
    assert cells(text, "product, 512 rows, 512 to 2048")["Zen 5"] == " / ".join(f"{x:.2f}" for x in times), times


def main(root):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        readme = folder / "README.md"
        shutil.copy(root / "perf/README.md", readme)
        done = overview(root, readme)
        assert done.returncode == 0, done.stderr
        text = readme.read_text()
        assert text == (root / "perf/README.md").read_text(), "perf/README.md: run perf/overview.py"
        check_figures(root, text)

        readme.write_text("no tables\n")
        assert overview(root, readme).returncode != 0 and readme.read_text() == "no tables\n"

        copy = folder / "perf"
        shutil.copytree(root / "perf", copy)
        for path in (copy / "results").glob("*family-6-*.txt"):
            path.unlink()
        assert overview(folder, copy / "README.md").returncode == 0
        more = (copy / "results/amd-epyc-family-26-model-2-avx512-2.txt").read_text()
        more = more.replace("# processors: 2\n", "# processors: 12\n").replace("\t      2\t", "\t     12\t")
        (copy / "results/amd-epyc-family-26-model-2-avx512-12.txt").write_text(more)
        assert overview(folder, copy / "README.md").returncode == 0
        of = cells((copy / "README.md").read_text(), "peak of 1 / 2 threads, GFLOP/s")
        assert " / " in of["Zen 5"] and " / " not in of["Zen 5, 12 processors"], of
        (copy / "results/amd-epyc-family-26-model-2-avx512-12.txt").unlink()
        assert overview(folder, copy / "README.md").returncode == 0
        heads = [list(cells(of, "gradients of inputs")) for of in (text, (copy / "README.md").read_text())]
        assert "Emerald Rapids" in heads[0] and heads[1] == [head for head in heads[0] if head != "Emerald Rapids"], heads
    print("the tables of perf/README.md match the result files")


main(pathlib.Path(sys.argv[1]))
