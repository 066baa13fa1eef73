#!/usr/bin/env python3
"""documents.py ROOT [--write] - checks that

every file named in a Markdown document of the project exists. A name counts as a file if it has one of our extensions (.c
.h .def .py .sh .md .txt .svg .cmake) and a folder, or if it is the target of a link. It may be relative to the document, the
root, lib/, include/ or tests/;

names, comments, messages and documents use American spelling;

the table of errors in tests/README.md is that of tests/attention/errors.txt, or writes it there."""
import fnmatch
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


def links(root):
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


def judge_links():
    """Checks that names are recognized."""
    assert names("see op/gemm.c and [a](lib/x.md), not a.c or http://b/c.h") == {"op/gemm.c", "lib/x.md"}, names(
        "see op/gemm.c and [a](lib/x.md), not a.c or http://b/c.h")


WORDS = {  # the British word -> the American one
    r"(token|normal|initial|optim|real|serial|parallel|recogn|summar|vector|factor)is(e|es|ed|er|ers|ing|ation|ations|able)": r"\1iz\2",
    r"neighbour(s|ing|hood)?": r"neighbor\1",
    r"centre(s)?": r"center\1",
    r"centred": "centered",
    r"colour(s|ed|ing)?": r"color\1",
    r"behaviour(s)?": r"behavior\1",
    r"favour(s|ed|able|ite)?": r"favor\1",
    r"analyse(s|d|r|rs)?": r"analyze\1",
    r"grey": "gray",
    r"artefacts?": "artifact",
    r"licence": "license",
}
ALLOWED = [  # (path pattern, word): names that other projects or old files gave
    ("tests/project/documents.py", "*"),
    ("apps/toy_translate/corpus/*", "*"),
    ("apps/toy_translate/state_0_1*", "*"),
    ("lib/attention/learned.def", "centre"),
    ("lib/model/config_0_1*", "*"),
    ("lib/model/metadata.c", "tokeniser"),
    ("tests/model/files?0?1*", "*"),
    ("tests/model/load.c", "*"),
    ("tests/text/scores.*", "*"),
    ("lib/import/hf_languages.c", "behaviour"),
    ("tests/import/hf_m2m.c", "behaviour"),
    ("tests/exchange/encoder_decoders.py", "behaviour"),
]
FOLDERS = ["CMakeLists.txt", "README.md", "include", "lib", "apps", "perf", "tests"]
SUFFIXES = {".c", ".h", ".cpp", ".def", ".md", ".py", ".sh", ".cmake", ".txt", ".in"}
# A word begins and ends where letters do, also inside names: tokeniser_load, TokeniserKind.
WORD = re.compile(r"(?<![A-Za-z])(?:" + "|".join(f"(?:{word})" for word in WORDS) + r")(?![a-z])", re.I)


def american(word):
    for pattern, replacement in WORDS.items():
        if re.fullmatch(pattern, word, re.I):
            return re.sub(pattern, replacement, word.lower())
    return None


def complaints(text):
    """Returns (line, word) for every British word."""
    return [(text.count("\n", 0, found.start()) + 1, found[0]) for found in WORD.finditer(text)]


def allowed(where, word):
    return any(fnmatch.fnmatch(where, path) and only in ("*", word.lower()) for path, only in ALLOWED)


def files(root):
    for folder in FOLDERS:
        start = root / folder
        paths = [start] if start.is_file() else sorted(start.rglob("*"))
        yield from (p for p in paths if p.is_file() and p.suffix in SUFFIXES and "__pycache__" not in p.parts)


def spelling(root):
    wrong, seen = [], 0
    for path in files(root):
        where = str(path.relative_to(root))
        seen += 1
        for line, word in [*((0, word) for _, word in complaints(path.name)), *complaints(path.read_text(errors="replace"))]:
            if not allowed(where, word):
                wrong.append(f"{where}:{line}: {word}: write {american(word)}")
    print("\n".join([*wrong, f"{seen} files read, {len(wrong)} words with British spelling"]))
    return 1 if wrong or seen < 20 else 0


def judge_spelling():
    """Checks that British words are found, and only those."""
    for text in ("the tokeniser is damaged", "int tokeniser_load(void);", "centred", "Colour", "neighbouring", "a behaviour"):
        assert len(complaints(text)) == 1, text
    for text in ("size, noise, raise, otherwise", "centering", "color and center", "an analysis", "serial is"):
        assert not complaints(text), complaints(text)
    assert american("Tokeniser") == "tokenizer" and american("centres") == "centers"
    assert complaints("a\n/* two\n colours */") == [(3, "colours")]


ERRORS = re.compile(r"(\S+) (\d+), queries of \d+: (.*)")


def ratios(text):
    """Returns {(score, keys): [(array, rms ratio, greatest ratio) ...]}: our errors divided by those of plain
    loops, for both magnitudes of queries."""
    found = {}
    for line in text.splitlines():
        score, keys, arrays = ERRORS.fullmatch(line).groups()
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


def errors(root, write):
    measured, readme = root / "tests/attention/errors.txt", root / "tests/README.md"
    wanted, text = table(ratios(measured.read_text())), readme.read_text()
    is_there = re.search(r"(?m)^\| score \|.*\n(?:\|.*\n)*", text)
    if is_there and is_there[0] == wanted:
        return 0
    if write and is_there:
        readme.write_text(text.replace(is_there[0], wanted))
        return 0
    print(f"{readme.relative_to(root)}: the table of errors is not that of {measured.relative_to(root)}; "
          "run documents.py ROOT --write")
    return 1


judge_links()
judge_spelling()
ROOT = pathlib.Path(sys.argv[1])
sys.exit(max([links(ROOT), spelling(ROOT), errors(ROOT, "--write" in sys.argv[2:])]))
