#!/usr/bin/env python3
"""structs.py grow INCLUDE OUT - copies the public headers and appends a field, int grown[4], to every struct that may
grow: those that begin with their size, and the two that are passed to callbacks.

structs.py compare PROGRAM GROWN-PROGRAM LIBRARY GROWN-LIBRARY - a program and a library whose headers differ in the
length of structs must work together with the same bits. Fields that only the program knows must be 0."""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SIZE_FIRST = re.compile(r"typedef struct (\w+) \{(?:\s*/\*.*?\*/)?\s*size_t size;", re.S)


def grow(include, out):
    include, out, grown = pathlib.Path(include), pathlib.Path(out), []
    for header in sorted((include / "rapt").iterdir()):
        text = header.read_text()
        for name in SIZE_FIRST.findall(text) + ["rapt_translation", "rapt_text_score"]:
            text, found = re.subn(rf"(?m)^\}} {name};", f"    int grown[4];\n}} {name};", text)
            grown += [name] * found
        (out / "rapt").mkdir(parents=True, exist_ok=True)
        (out / "rapt" / header.name).write_text(text)
    print(" ".join(grown))
    return 0 if len(grown) >= 12 else 1


def output(what, program, library, argument):
    """Runs a program with a library and returns the lines that it prints."""
    environment = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(library)}
    done = subprocess.run([program, argument], env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{what}: failed")
    return done.stdout.splitlines()


def compare(program, grown_program, library, grown_library):
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        model = f"{scratch}/model"
        wanted = output("as built", program, library, model)
        for what, pair in (("old program, new library", (program, grown_library)),
                           ("new program, old library", (grown_program, library))):
            found = output(what, *pair, model)
            if found != wanted:
                wrong += [*difflib.unified_diff(wanted, found, lineterm=""), f"{what}: the results differ"]
    for what, pair, answer in (("long struct, old library", (program, library), "refused"),
                               # proves that this is the grown library
                               ("long struct, new library", (program, grown_library), "known"),
                               ("longest struct", (grown_program, grown_library), "refused")):
        if output(what, *pair, "--tail")[-1:] != [answer]:
            wrong.append(f"{what}: not {answer}")
    print("\n".join(wrong or [f"the same {len(wanted)} lines three times"]))
    return 1 if wrong or not wanted else 0


sys.exit({"grow": grow, "compare": compare}[sys.argv[1]](*sys.argv[2:]))
