#!/usr/bin/env python3
"""compare.py engines ROOT FOLDER - runs the comparison on tiny shapes. The outputs of the peers must equal ours, and missing
peers must be reported. The exit status is 77 if nothing could be compared.
compare.py encoders ROOT PROGRAM - runs the comparison of sentence encoders with a tiny model. Every engine that is installed
must give the same vectors."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

KEYS = {"name", "what", "threads", "peer", "unit", "seconds", "peer_seconds", "times", "difference",
        "equal", "environment"}


def engines(root, folder):
    pythons = [p for p in ("/usr/bin/python3", sys.executable) if pathlib.Path(p).exists()]
    with_torch = [p for p in pythons if subprocess.run(
        [p, "-c", "import torch"], capture_output=True, check=False).returncode == 0]
    with tempfile.TemporaryDirectory() as place:
        chart = pathlib.Path(place) / "chart.svg"
        done = subprocess.run([(with_torch + pythons)[0], "-B", root / "perf/compare/compare.py", folder,
                               "--check", "--json", "--threads", "1,2", "--svg", chart], text=True,
                              capture_output=True, check=False)
        bars = len(list(xml.etree.ElementTree.parse(chart).getroot().iter("{http://www.w3.org/2000/svg}g"))) if chart.exists() else 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    print(done.stderr, end="")
    if "skipped: CTranslate2: " not in done.stderr:
        print("the comparison does not report that CTranslate2 was skipped for lack of a model")
        return 1
    if done.returncode != 0:
        print(f"exit code {done.returncode}; rows that differ: "
              f"{[row for row in rows if not row['equal']]}")
        return 1
    for row in rows:
        if not KEYS <= row.keys():
            print(f"keys are missing: {sorted(KEYS - row.keys())}")
            return 1
    if bars < len(rows):
        print(f"{len(rows)} rows, but the chart has only {bars} bars")
        return 1
    order = [name for name, _ in dict.fromkeys((row["name"], row["threads"]) for row in rows)]
    if order != sorted(order, key=order.index):
        print(f"a work does not have all numbers of threads before the next begins: {order}")
        return 1
    names = {row["name"] for row in rows}
    if with_torch and names != {"attention_forward", "attention_backward", "gemm", "gemm_input",
                                "gemm_weight", "train_step", "train_bf16", "translate"}:
        print(f"these were compared: {names}")
        return 1
    return 0 if rows else 77


def encoders(root, program):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, root / "perf/random_model.py", "encoder", folder, "tiny"], check=True)
        lines = pathlib.Path(folder, "lines")
        done = subprocess.run([sys.executable, "-B", root / "perf/compare/embed.py", program, folder, lines, "--make-lines", "40",
                               "--threads", "1,2", "--samples", "2"], text=True, capture_output=True, check=False)
        print(done.stdout, done.stderr)
        sentences = lines.read_text().splitlines()
    rows = re.findall(r"^(.+?) +(\d+) threads .* times ours .* MB  least cosine (\S+)$", done.stdout, re.M)
    ours = [int(threads) for name, threads, _ in rows if name == "rapt"]
    same = all(float(cosine) > 0.99999 for _, _, cosine in rows)
    return 0 if ours == [1, 2] and same and len(sentences) == 40 and {len(s.split()) for s in sentences} == {18} else 1


sys.exit({"engines": engines, "encoders": encoders}[sys.argv[1]](pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])))
