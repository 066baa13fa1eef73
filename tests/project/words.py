#!/usr/bin/env python3
"""words.py ROOT [FOLDER...] - one vocabulary: the words of earlier versions do not come back.

An identifier is judged by its parts between underscores, file names as well; prose (comments, strings,
Markdown, scripts) by whole words. With folders named, those are judged instead of CLEAN."""
import fnmatch
import pathlib
import re
import sys

IDENTIFIERS = {  # old part of a name, or whole name -> the field's word
    "crew": "exec (execution context)",
    "crumb": "part",
    "looks": "history, weights",
    "look": "apply_mask",
    "fade": "rescale",
    "soften": "exponentiate",
    "wild": "non_finite",
    "sight": "visible",
    "blind": "fully_masked",
    "squeeze": "compact",
    "spread_row": "rank1_update",
    "weigh_row": "gemv",
    "weighing": "normalizer",
    "weigh": "normalize, weighted_sum",
    "reach": "locality",
    "vf_all": "vf_splat",
    "vf_most": "vf_reduce_max",
    "vf_split": "vf_frexp",
    "vf_load_up": "vf_load_partial",
    "tokeniser": "tokenizer",
    "tokenise": "tokenize",
    "normalise": "normalize",
    "normaliser": "normalizer",
    "initialise": "initialize",
    "centre": "center",
    "colour": "color",
    "neighbour": "neighbor",
    "taps": "filter_width",
    "sharpness": "inverse_temperature",
    "patience": "spin_limit",
    "bell": "condition",
    "door": "mutex",
    "kept": "cache",
    "said": "emitted",
    "fed": "consumed",
    "corner": "causal_alignment",
    "most": "max, capacity",
    "mosts": "row_max",
    "great": "max",
    "least": "min",
    "room": "workspace, capacity",
    "scratch": "workspace",
    "place": "position, offset, slot",
    "places": "positions, offsets, slots",
    "notes": "metadata",
    "core": "projected",
    "pull": "softmax_backward",
    "house": "project",
    "guest": "host",
}
ENGLISH = {"kept", "said", "fed", "fade", "core", "pull", "taps", "patience"}  # old only in lib/ and include/
PROSE = {  # old word or phrase, a pattern -> the field's word
    r"crews?": "execution context",
    r"rooms?": "workspace, capacity, space",
    r"looks? at|looked at": "attend to, read, examine",
    r"wild": "non-finite",
    r"fade[sd]?": "rescale",
    r"soften(s|ed|ing)?": "exponentiate, softmax",
    r"weighing": "normalizer",
    r"sight": "visible range",
    r"blind": "fully masked",
    r"squeez(e|es|ed|ing)": "compact",
    r"night": "checkpoint",
    r"births?": "creation",
    r"stairs?": "layers",
    r"houses?": "project",
    r"floors?": "layer",
    r"doors?": "interface header, mutex",
    r"guests?": "library, program",
    r"bells?": "condition variable",
    r"patience": "spin limit",
    r"riddles?": "(say it plainly)",
    r"in use": "at inference; active",
    r"by the score function": "REINFORCE (score-function estimator)",
    r"keys seen": "visible keys",
    r"sharpness": "inverse temperature",
    r"taps": "filter width",
    r"rows way|tiles way": "general path, flash path",
    r"tokenis\w+": "tokeniz...",
    r"normalis\w+": "normaliz...",
    r"initialis\w+": "initializ...",
    r"optimis\w+": "optimiz...",
    r"neighbours?|neighbouring": "neighbor, adjacent",
    r"centred?|centres": "center",
    r"colou?rs(?<!colors)|colour\w*": "color",
    r"behaviour": "behavior",
}
CLEAN = ["CMakeLists.txt", "README.md", "include", "lib", "apps", "perf", "tests"]  # judged when nothing is named
ALLOWED = [  # (path pattern, word, why it is right there)
    ("tests/project/words.py", "*", "the table itself"),
    ("apps/toy_translate/corpus/*", "*", "English sentences"),
    ("apps/recurrent/french.c", "house", "an English word to translate"),
    ("apps/kit/svg.h", "blind", "color-blind"),
    ("tests/golden/*", "blind", "names of stored cases, which their random numbers depend on"),
    ("tests/apps/corpus.c", "*", "English sentences"),
    ("lib/kernel/*", "in use", "of a table of kernels: active"),
    ("perf/*", "in use", "of an instruction set: active"),
    ("lib/kernel/dropout.c", "kept", "values that dropout keeps"),
    ("lib/generate/sample.c", "kept", "tokens and probability that top-k and top-p keep"),
    ("tests/text/scores.*", "*", "sentences to be scored"),
]
CODE = {".c", ".h", ".def"}
TEXT = {".md", ".py", ".sh", ".cmake", ".txt", ".in"}
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
PROSE_RE = re.compile(r"\b(?:" + "|".join(f"(?P<p{i}>{p})" for i, p in enumerate(PROSE)) + r")\b(?!\()", re.I)
PROSE_NEW = list(PROSE.values())


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def parts(text, is_code):
    """(code, prose): each as long as text, with the other's characters blank."""
    if not is_code:
        return blank(text), text
    code = TOKEN.sub(lambda m: blank(m[0]), text)
    prose = "".join(b if a == " " else blank(b) for a, b in zip(code, text))
    return code, prose


def old_in_name(name):
    """The old word in an identifier or file name, or None."""
    if name in IDENTIFIERS:
        return name
    name = re.sub(r"at_(most|least)|in_place", "", name.lower())
    return next((part for part in re.split(r"[_.]", name) if part in IDENTIFIERS), None)


def complaints(text, is_code):
    """(line, old word, new word) of every old word in a file."""
    found = []
    code, prose = parts(text, is_code)
    for match in re.finditer(r"[A-Za-z_]\w*", code):
        old = old_in_name(match[0])
        if old:
            found.append((text.count("\n", 0, match.start()) + 1, old, IDENTIFIERS[old]))
    for match in PROSE_RE.finditer(prose):
        new = next(PROSE_NEW[int(k[1:])] for k, v in match.groupdict().items() if v)
        found.append((text.count("\n", 0, match.start()) + 1, match[0], new))
    return sorted(set(found))


def allowed(where, word):
    if word.lower() in ENGLISH and not where.startswith(("lib/", "include/")):
        return True
    return any(fnmatch.fnmatch(where, path) and w in ("*", word.lower()) for path, w, why in ALLOWED)


def files(root, folders):
    for folder in folders:
        start = root / folder
        paths = [start] if start.is_file() else sorted(start.rglob("*"))
        for path in paths:
            known = path.suffix in CODE | TEXT or path.name == "CMakeLists.txt"
            if path.is_file() and known and "__pycache__" not in path.parts:
                yield path


def main(root, folders):
    wrong, seen = [], 0
    for path in files(root, folders):
        where = str(path.relative_to(root))
        seen += 1
        name = old_in_name(path.stem)
        if name and not allowed(where, name):
            wrong.append(f"{where}: its name: {name}: say {IDENTIFIERS[name]}")
        for line, old, new in complaints(path.read_text(errors="replace"), path.suffix in CODE):
            if not allowed(where, old):
                wrong.append(f"{where}:{line}: {old}: say {new}")
    print("\n".join(wrong))
    print(f"{seen} files read, {len(wrong)} old words")
    return 1 if wrong or not seen else 0


def judge():
    """The checker itself must complain, and only where it should."""
    def old(text, is_code=True):
        return [word for _, word, _ in complaints(text, is_code)]

    assert old("int crew_size; /* a team */") == ["crew"]
    assert old("x = vf_most(y);") == ["vf_most"] and old("x = almost + mostly;") == []
    assert old("size_t at; /* no room left */") == ["room"]
    assert old('fail("the tokeniser is damaged");') == ["tokeniser"]
    assert old("y = floor(x); /* floor(x) is exact */") == []
    assert old("/* at most as many; the place is kept */") == []
    assert old("A query looks at keys\non this floor.", False) == ["looks at", "floor"]
    assert allowed("apps/toy_translate/commands/train.c", "Patience") and not allowed("lib/base/team.c", "patience")
    assert not allowed("apps/toy_translate/commands/train.c", "room")
    assert old_in_name("rows_room") == "room" and old_in_name("headroom_at_most") is None
    assert complaints("a;\n/* two\n doors */\n", True) == [(3, "doors", PROSE[r"doors?"])]


judge()
if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2:] or CLEAN))
