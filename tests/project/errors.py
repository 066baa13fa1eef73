#!/usr/bin/env python3
"""errors.py ROOT [--write] - checks that the table of errors in tests/README.md is that of
tests/attention/errors.txt, or writes it there."""
import pathlib
import re
import sys

LINE = re.compile(r"(\S+) (\d+), queries of \d+: (.*)")


def ratios(text):
    """Returns {(score, keys): [(array, rms ratio, greatest ratio) ...]}: our errors divided by those of plain
    loops, for both magnitudes of queries."""
    found = {}
    for line in text.splitlines():
        score, keys, arrays = LINE.fullmatch(line).groups()
        for name, rms, greatest in re.findall(r"(\S+) (\S+/\S+) (\S+/\S+)", arrays):
            pairs = [x.split("/") for x in (rms, greatest)]
            found.setdefault((score, int(keys)), []).append((name, *(float(a) / float(b) for a, b in pairs)))
    return found


def table(found):
    scores, keys = list(dict.fromkeys(s for s, _ in found)), sorted({k for _, k in found})
    lines = ["| score | " + " | ".join(f"{k:,}" for k in keys) + " |", "|---" * (len(keys) + 1) + "|"]
    for score in scores:
        cells = []
        for key in keys:
            rows = found[score, key]
            out, weights = (max(r[1] for r in rows if r[0] == name) for name in ("out", "weights"))
            gradient = max(r[1] for r in rows if r[0] not in ("out", "weights"))
            cells.append(f"{out:.2f} {weights:.2f} {gradient:.2f}, {max(r[2] for r in rows):.2f}")
        lines.append(f"| {score} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main(root, write):
    errors, readme = root / "tests/attention/errors.txt", root / "tests/README.md"
    wanted, text = table(ratios(errors.read_text())), readme.read_text()
    is_there = re.search(r"(?m)^\| score \|.*\n(?:\|.*\n)*", text)
    if is_there and is_there[0] == wanted:
        return 0
    if write and is_there:
        readme.write_text(text.replace(is_there[0], wanted))
        return 0
    print(f"{readme.relative_to(root)}: the table of errors is not that of {errors.relative_to(root)}; "
          "run errors.py ROOT --write")
    return 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), "--write" in sys.argv[2:]))
