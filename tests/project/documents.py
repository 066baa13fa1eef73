#!/usr/bin/env python3
"""documents.py ROOT - checks that every file named in a Markdown document of the project exists.

A name counts as a file if it has one of our extensions (.c .h .def .py .sh .md .txt .svg .cmake) and a
folder, or if it is the target of a link. It may be relative to the document, the root, lib/, include/ or
tests/."""
import glob
import pathlib
import re
import sys

NAME = re.compile(r"(?<![\w./{-])((?:[\w.*-]+/)+[\w.*-]+\.(?:c|h|def|py|sh|md|txt|svg|cmake))(?![\w/])")
LINK = re.compile(r"\]\(([^)#:]+)\)")
MADE = re.compile(r"^(build|perf/results/<|out/)")  # written by programs


def names(text):
    return set(NAME.findall(text)) | set(LINK.findall(text))


def exists(root, document, name):
    for start in (document.parent, root, root / "lib", root / "include", root / "tests"):
        if glob.glob(str(start / name)):
            return True
    return False


def main(root):
    wrong, seen = [], 0
    documents = [root / "README.md", *sorted(p for d in ("lib", "include", "apps", "tests", "perf", "findings", ".github") for p in (root / d).rglob("*.md"))]
    for document in documents:
        for name in sorted(names(document.read_text())):
            seen += 1
            if not MADE.match(name) and not exists(root, document, name):
                wrong.append(f"{document.relative_to(root)}: {name}: no such file")
    print("\n".join(wrong))
    print(f"{seen} names in {len(documents)} documents, {len(wrong)} of missing files")
    return 1 if wrong or seen < 40 else 0


def judge():
    """Checks that names are recognized."""
    assert names("see op/gemm.c and [a](lib/x.md), not a.c or http://b/c.h") == {"op/gemm.c", "lib/x.md"}, names(
        "see op/gemm.c and [a](lib/x.md), not a.c or http://b/c.h")


judge()
sys.exit(main(pathlib.Path(sys.argv[1])))
