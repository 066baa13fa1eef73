#!/usr/bin/env python3
"""functions.py ROOT - checks that every function of the public headers is called by an operation of
tests/process/operations*.h, or by scene.h, and that every operation is in the table."""
import pathlib
import re
import sys


def main(root):
    declared = set()
    for header in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        declared |= set(re.findall(r"\bRAPT_API\b(?!\s*__attribute__)[^;{]*?\b(\w+)\s*\(", text))
    folder = root / "tests/process"
    table = "".join(path.read_text() for path in sorted(folder.glob("operations*.h")))
    calls = re.sub(r"/\*.*?\*/", " ", table + (folder / "scene.h").read_text(), flags=re.S)
    called = set(re.findall(r"\b(rapt_\w+)\s*\(", calls))
    wrong = [f"{name}: not called by any operation of tests/process/operations*.h" for name in sorted(declared - called)]
    defined = set(re.findall(r"^static rapt_status (do_\w+)\(", table, flags=re.M))
    listed = set(re.findall(r'^    \{"\w+", (do_\w+),', table, flags=re.M))
    wrong += [f"{name}: not in the table" for name in sorted(defined - listed)]
    print("\n".join(wrong + [f"cases: process/functions: {len(declared)} public functions"]))
    return 1 if wrong or not declared or not listed else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
