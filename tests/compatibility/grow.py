#!/usr/bin/env python3
"""grow.py INCLUDE OUT - copies the public headers and appends a field, int grown[4], to every struct that may
grow: those that begin with their size, and the two that are passed to callbacks."""
import pathlib
import re
import sys

SIZE_FIRST = re.compile(r"typedef struct (\w+) \{(?:\s*/\*.*?\*/)?\s*size_t size;", re.S)


def main(include, out):
    grown = []
    for header in sorted((include / "rapt").iterdir()):
        text = header.read_text()
        for name in SIZE_FIRST.findall(text) + ["rapt_translation", "rapt_text_score"]:
            text, found = re.subn(rf"(?m)^\}} {name};", f"    int grown[4];\n}} {name};", text)
            grown += [name] * found
        (out / "rapt").mkdir(parents=True, exist_ok=True)
        (out / "rapt" / header.name).write_text(text)
    print(" ".join(grown))
    return 0 if len(grown) >= 12 else 1


sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
