#!/usr/bin/env python3
"""embed.py ROOT PROGRAM - runs the comparison of sentence encoders with a tiny model. Every engine that is installed must give
the same vectors."""
import pathlib
import re
import subprocess
import sys
import tempfile


def main(root, program):
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


sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
