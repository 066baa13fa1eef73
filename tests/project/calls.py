#!/usr/bin/env python3
"""calls.py ROOT - checks that every function of the public headers that takes a pointer or a rapt_text has one
row in the table of tests/api/calls.c, and that the row is right about its message and number of pointers."""
import pathlib
import re
import sys


def declared(root):
    """Returns {name: (whether it takes a message, number of other pointers)}."""
    functions = {}
    for header in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        for found in re.finditer(r"\bRAPT_API\b[^;{()]*?\b(rapt_\w+)\s*\(([^;{]*?)\)\s*;", text):
            arguments = [a.strip() for a in found[2].split(",")]
            message = any("rapt_message" in a for a in arguments)
            pointers = sum("*" in a or a.startswith("rapt_text ") for a in arguments) - message
            if message or pointers:
                functions[found[1]] = message, pointers
    return functions


def listed(root):
    text = (root / "tests/api/calls.c").read_text()
    rows = re.findall(r'\{"(rapt_\w+)", (true|false), (\d+), [^{}]*?, (\w+)\}', text)
    return [(name, (message == "true", int(pointers)), call) for name, message, pointers, call in rows]


def main(root):
    functions, rows = declared(root), listed(root)
    names = [name for name, _, _ in rows]
    wrong = [f"{n}: has no row in tests/api/calls.c" for n in sorted(functions.keys() - set(names))]
    wrong += [f"{n}: not in a header, or takes no pointer" for n in sorted(set(names) - functions.keys())]
    wrong += [f"{n}: has more than one row" for n in sorted(set(names)) if names.count(n) > 1]
    for name, says, call in rows:
        if name in functions and says != functions[name]:
            wrong.append(f"{name}: the row says {says}, the header {functions[name]} (message, pointers)")
        if name != f"rapt_{call}":
            wrong.append(f"{name}: the row calls {call}")
    print("\n".join(wrong))
    print(f"{len(functions)} functions, {len(rows)} rows, {len(wrong)} complaints")
    return 1 if wrong or len(functions) < 50 else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
