#!/usr/bin/env python3
"""spelling.py ROOT - checks that names, comments, messages and documents use American spelling."""
import fnmatch
import pathlib
import re
import sys

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
    ("tests/project/spelling.py", "*"),
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
    ("tests/exchange/m2m.py", "behaviour"),
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


def main(root):
    wrong, seen = [], 0
    for path in files(root):
        where = str(path.relative_to(root))
        seen += 1
        for line, word in [*((0, word) for _, word in complaints(path.name)), *complaints(path.read_text(errors="replace"))]:
            if not allowed(where, word):
                wrong.append(f"{where}:{line}: {word}: write {american(word)}")
    print("\n".join([*wrong, f"{seen} files read, {len(wrong)} words with British spelling"]))
    return 1 if wrong or seen < 20 else 0


def judge():
    """Checks that British words are found, and only those."""
    for text in ("the tokeniser is damaged", "int tokeniser_load(void);", "centred", "Colour", "neighbouring", "a behaviour"):
        assert len(complaints(text)) == 1, text
    for text in ("size, noise, raise, otherwise", "centering", "color and center", "an analysis", "serial is"):
        assert not complaints(text), complaints(text)
    assert american("Tokeniser") == "tokenizer" and american("centres") == "centers"
    assert complaints("a\n/* two\n colours */") == [(3, "colours")]


judge()
sys.exit(main(pathlib.Path(sys.argv[1])))
