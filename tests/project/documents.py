#!/usr/bin/env python3
"""documents.py ROOT - every file that a Markdown document of the project names exists.

A name counts as a file if it ends like one of ours (.c .h .def .py .sh .md .txt .svg .cmake) and has a
folder in front, or is the target of a link. It is looked for beside the document, at the root, in lib/
and in include/."""
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
    print(f"{seen} names in {len(documents)} documents, {len(wrong)} of no file")
    return 1 if wrong or seen < 40 else 0


def judge():
    """The checker itself must be able to complain."""
    assert names("see op/gemm.c and [a](lib/x.md), not a.c or http://b/c.h") == {"op/gemm.c", "lib/x.md"}, names(
        "see op/gemm.c and [a](lib/x.md), not a.c or http://b/c.h")


judge()
sys.exit(main(pathlib.Path(sys.argv[1])))
