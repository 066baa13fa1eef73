#!/usr/bin/env python3
"""structs.py ROOT - checks that rapt_struct_size (lib/document/struct_size.c) lists every struct of the public headers
exactly once, and no other."""
import pathlib
import re
import sys


def main(root):
    declared = set()
    for header in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        declared |= set(re.findall(r"\btypedef struct \w* ?\{[^}]*\} (\w+);", text))
    listed = re.findall(r"^    STRUCT\((\w+)\)", (root / "lib/document/struct_size.c").read_text(), re.M)
    wrong = [f"{name}: not in lib/document/struct_size.c" for name in sorted(declared - set(listed))]
    wrong += [f"{name}: not in a public header" for name in sorted(set(listed) - declared)]
    wrong += [f"{name}: listed more than once" for name in sorted(set(listed)) if listed.count(name) > 1]
    print("\n".join(wrong + [f"{len(declared)} structs"]))
    return 1 if wrong or len(declared) < 20 else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
