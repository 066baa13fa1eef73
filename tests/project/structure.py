#!/usr/bin/env python3
"""structure.py layers ROOT - checks which files include and call each other (the layers of lib/README.md and the folders
of apps/toy_translate), that the calls between files of apps/kit have no cycle, that struct tags are unique in lib/, and that
scores and localities are named in their tables only.

Includes go downwards, and enter another layer or folder only through its interface header. Calls between the
parts of lib/attention go downwards. BLAS, OpenMP, vector intrinsics and the helpers for JSON and Unicode are
used only where they are allowed. Programs, oracles and the tests that judge results include only public
headers.

structure.py tree ROOT - checks the entries at the top of the tree, the lengths of files, that no #if is inside a function,
that there are no notes of unfinished work, and that every C file begins with a comment with its name."""
import pathlib
import re
import sys

BELOW = {  # layers each layer may use
    "base": [],
    "kernel": ["base"],
    "op": ["base", "kernel"],
    "attention": ["base", "kernel", "op"],
    "model": ["base", "kernel", "op", "attention", "format"],
    "import": ["base", "kernel", "op", "attention", "model", "text", "format"],
    "generate": ["base", "kernel", "op", "attention", "model", "text", "format"],
    "train": ["base", "kernel", "op", "attention", "model", "format"],
    "translate": ["base", "kernel", "op", "attention", "model", "import", "generate", "text", "format"],
    "document": ["base", "text", "translate"],
    "text": ["base", "format"],
    "format": ["base"],
}
NESTED = {"attention", "text", "format"}  # layers with folders
INTERFACES = {layer: {f"{layer}.h"} for layer in BELOW}
INTERFACES["kernel"] |= {"flash.h", "ahead.h", "int8.h", "bf16.h"}  # attention kernels; those for bytes; for bf16
INTERFACES["attention"] |= {"learned.def"}  # what scores learn, for the layout of models
INTERFACES["text"] |= {"glossary.h"}  # what a glossary finds in a sentence
INTERFACES["base"] |= {"util.h"}  # all that kernels need

PUBLIC = {  # public headers each layer may use
    "base": {"base.h"},
    "kernel": {"base.h"},
    "op": {"base.h"},
    "attention": {"base.h", "attention.h", "distances.h", "linear_attention.h", "monotonic_attention.h"},
    "model": {"precision.h", "base.h", "attention.h", "linear_attention.h", "monotonic_attention.h", "file.h", "transformer.h", "block.h"},
    "import": {"base.h", "file.h", "transformer.h", "shortlist.h", "text.h"},
    "generate": {"base.h", "attention.h", "transformer.h", "generate.h", "shortlist.h", "text.h"},
    "train": {"base.h", "attention.h", "transformer.h", "train.h"},
    "translate": {"precision.h", "base.h", "encoder.h", "transformer.h", "generate.h", "glossary.h", "shortlist.h", "text.h", "translator.h"},
    "document": {"base.h", "text.h", "translator.h", "document.h", "rapt.h"},
    "text": {"base.h", "file.h", "text.h", "shortlist.h", "metrics.h", "glossary.h"},
    "format": {"base.h", "file.h"},
}
# lib/attention: folders, which have one interface header each, and files. Each comes before those it calls.
PARTS = ["cache", "linear", "monotonic", "attention.c", "check.c", "dispatch.c", "score", "flash", "general",
         "bias.c", "distances.c", "mask.c", "problem.c"]
FOLDERS = {  # folders whose interface headers a folder may include; SHARED is open to all
    "": {"score", "flash", "general"},
    "score": set(),
    "flash": set(),
    "general": set(),
    "linear": set(),
    "monotonic": set(),
    "cache": {"score", "flash", "general"},
}
SHARED = {"attention.h", "problem.h", "projected.h", "learned.def"}
# apps/toy_translate: the folders whose interface headers each folder may include.
PROGRAM = {
    "corpus": [],
    "ranks": [],
    "data": ["ranks", "corpus"],
    "training": ["data", "ranks"],
    "commands": ["training", "data", "ranks", "corpus"],
}
TAGS = r"^\s*(?:static |const |typedef )*(?:struct|union|enum) (\w+)\s*\{"

EXTERNAL = {  # headers of other projects: where they may be included, as a pattern of paths in lib/
    r"cblas\.h|openblas.*": r"nowhere",
    r"dlfcn\.h": r"op/gemm_openblas\.c",
    r"omp\.h": r"base/team\.c|op/gemm_openblas\.c",
    r".*intrin\.h|arm_neon\.h": r"kernel/simd_\w+\.h",
    r"sleef\.h": r"base/numbers\.c|kernel/elementary\.c",
    r"windows\.h|io\.h": r"format/windows/\w+\.[ch]",
    r"jansson\.h": r"nowhere",
    r"zlib\.h": r"format/deflate\.c",
    r"zstd\.h": r"format/zstd\.c",
    r"utf8proc\.h": r"text/\w+\.[ch]",
    r"unicode/\w+\.h": r"document/breaks\.c",
}
# Tests of these folders compare with definitions, stored numbers and documented behavior. They include only public
# headers, so that the library is not tested against its own internals. OF_THE_INSIDE lists the exceptions, which test
# internal functions.
BY_PUBLIC_HEADERS = ["oracle", "golden", "api", "apps", "attention", "model", "import", "generate",
                    "train", "translate"]
OF_THE_INSIDE = {"attention/ahead.c", "attention/cache.c", "attention/cache_scores.c", "attention/hidden.c",
                 "attention/prepare.c", "attention/tickets.c", "attention/workspace.c", "generate/pick.c", "train/reward.c"}
SCORE = re.compile(r"\bRAPT_(SCORE|LOCALITY)_(?!COUNT\b)\w+")
SCORES = {  # the only files that name a score or locality: reason
    "lib/attention/score/scores.def": "the table of scores",
    "lib/attention/mask.c": "the table of localities",
    "include/rapt/attention.h": "the enumerators",
    "lib/attention/learned.def": "which of them reads an array",
    "lib/import/hf_t5.c": "T5 does not scale its scores",
    "lib/import/ct2_attention.c": "likewise, in CTranslate2's format",
}
OPENMP = r"base/team\.c|op/gemm_openblas\.c"


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found[1] == '"', found[2]


def in_lib(layer, name, header, quoted):
    """Returns what is wrong with an include in lib/layer/name, or None."""
    for pattern, where in EXTERNAL.items():
        if re.fullmatch(pattern, header) and not re.fullmatch(where, f"{layer}/{name}"):
            return "does not belong here"
    if header.startswith("rapt/"):
        if header[5:] not in PUBLIC[layer]:
            return "this public header is above this layer"
        return None
    if not quoted:
        return None
    if "/" not in header:
        return None  # in the same folder
    other, _, inner = header.partition("/")
    if other == layer:
        return in_attention(name, inner) if layer == "attention" else None
    if other not in BELOW:
        return "no such layer"
    if other not in BELOW[layer]:
        return f"{other} is not below {layer}"
    if inner not in INTERFACES[other]:
        return f"not an interface header of {other}"
    return None


def in_attention(name, header):
    """Returns what is wrong with an include of attention/... in lib/attention/name, or None."""
    folder, other = name.rpartition("/")[0], header.rpartition("/")
    if other[0] in (folder, "") and (other[0] or other[2] in SHARED):
        return None
    if other[0] not in FOLDERS[folder]:
        return f"{folder or 'a shared file'} does not use {other[0] or other[2]}"
    return None if other[2] == f"{other[0]}.h" else f"not the interface header of {other[0]}"


def upward_calls(lib):
    """Returns a complaint for each name used in a part of lib/attention and defined in one above it."""
    texts, home, wrong = {}, {}, []
    for path in sorted((lib / "attention").rglob("*.c")):
        parts = path.relative_to(lib / "attention").parts
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        texts[path] = parts[0], text
        for name in re.findall(r"^[a-z][\w \*]*?\b(rapt_\w+)\([^;{]*\)\s*\{", text, re.M):
            home[name] = parts[0]
    for path, (part, text) in texts.items():
        for name in sorted(set(re.findall(r"\brapt_\w+", text)) & home.keys()):
            if PARTS.index(home[name]) < PARTS.index(part):
                wrong.append(f"{path.relative_to(lib.parent)}: {name} is above, in {home[name]}")
    return wrong if len(home) > 50 else wrong + ["lib/attention: no functions found"]


def cycle(folder):
    """Returns a list with one complaint if the calls between the files of a folder have a cycle, or []."""
    texts, home, below = {}, {}, {}
    for path in sorted(folder.glob("*.c")):
        texts[path.name] = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        for name in re.findall(r"^(?!static\b)[a-z_][\w \*]*?\b(\w+)\([^;{]*\)\s*\{", texts[path.name], re.M):
            home[name] = path.name
    for file, text in texts.items():
        called = {home[name] for name in re.findall(r"\b(\w+)\(", text) if name in home}
        below[file] = called - {file}
    while True:  # remove files that call no remaining file, or are called by none
        called = set().union(*below.values())
        ends = [file for file in below if not below[file] & below.keys() or file not in called]
        if not ends:
            break
        for file in ends:
            del below[file]
    if len(home) < 50:
        return [f"{folder.name}: no functions found"]
    return [f"apps/{folder.name}: a cycle of calls through {', '.join(sorted(below))}"] if below else []


def repeated_tags(lib):
    """Returns a complaint for each struct, union or enum tag that is defined more than once in lib/."""
    places = {}
    for path in sorted(lib.rglob("*.[ch]")):
        for tag in re.findall(TAGS, path.read_text(), re.M):
            places.setdefault(tag, []).append(str(path.relative_to(lib.parent)))
    return [f"{tag}: defined in {', '.join(where)}" for tag, where in places.items() if len(where) > 1]


def outside(root, path, header, quoted):
    """The same for a file outside lib/: programs and oracles may include only <rapt/...>."""
    if quoted and (root / "lib" / header).exists():
        return "internal to the library"
    if quoted and not (path.parent / header).exists() and header.split("/")[0] in BELOW:
        return "internal to the library"
    return None


def in_program(name, header, quoted):
    """Returns what is wrong with an include in apps/toy_translate/name, or None."""
    if header == "mpi.h":
        return None if name == "ranks/mpi.c" else "only ranks/mpi.c may use MPI"
    folder, _, inner = header.partition("/")
    if not quoted or not inner or folder == "kit":
        return None
    if folder not in PROGRAM:
        return "no such folder"
    if folder not in PROGRAM[name.partition("/")[0]]:
        return f"{folder} is not below {name.partition('/')[0]}"
    return None if inner == f"{folder}.h" else f"not the interface header of {folder}"


def in_test(root, path):
    """Yields (line, what, why) for each use of internals in a test that may use only public headers."""
    for number, quoted, header in includes(path):
        if quoted and (root / "lib" / header).exists() and not (root / "tests" / header).exists():
            yield number, header, "internal to the library"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "rapt__" in line:
            yield number, "rapt__...", "internal to the library"


def named_scores(root):
    """Returns a complaint for each file other than those of SCORES that names the enumerator of a score or locality. All others
    read the properties from the tables, so that a new score or locality is added in few places."""
    wrong, used = [], set()
    for folder in ("lib", "include"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".c", ".h", ".def"}:
                continue
            where = str(path.relative_to(root))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = SCORE.search(line)
                if found and where in SCORES:
                    used.add(where)
                elif found:
                    wrong.append(f"{where}:{number}: {found[0]}: read the table instead")
    wrong += [f"{where}: names no enumerator, so it can leave SCORES ({why})" for where, why in SCORES.items() if where not in used]
    return wrong


def layers(root):
    wrong, seen = [], 0
    lib = root / "lib"
    for path in sorted(lib.rglob("*.[ch]")):
        layer = path.relative_to(lib).parts[0]
        where = path.relative_to(root)
        name = str(path.relative_to(lib / layer))
        if layer not in BELOW or name.count("/") > (layer in NESTED):
            wrong.append(f"{where}: no such layer")
            continue
        for number, quoted, header in includes(path):
            seen += 1
            why = in_lib(layer, name, header, quoted)
            if why:
                wrong.append(f"{where}:{number}: {header}: {why}")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r"\s*#\s*pragma\s+omp\b", line):
                if not re.fullmatch(OPENMP, f"{layer}/{name}"):
                    wrong.append(f"{where}:{number}: OpenMP does not belong here")
    for folder in ("apps", "tests/oracle"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            for number, quoted, header in includes(path):
                seen += 1
                why = outside(root, path, header, quoted)
                if why:
                    wrong.append(f"{path.relative_to(root)}:{number}: {header}: {why}")
    program = root / "apps" / "toy_translate"
    for path in sorted(program.rglob("*.[ch]")):
        name = str(path.relative_to(program))
        if name.partition("/")[0] not in PROGRAM or name.count("/") != 1:
            wrong.append(f"{path.relative_to(root)}: no such folder")
            continue
        for number, quoted, header in includes(path):
            seen += 1
            why = in_program(name, header, quoted)
            if why:
                wrong.append(f"{path.relative_to(root)}:{number}: {header}: {why}")
    for folder in BY_PUBLIC_HEADERS:
        for path in sorted((root / "tests" / folder).rglob("*.[ch]")):
            if str(path.relative_to(root / "tests")) in OF_THE_INSIDE:
                continue
            seen += 1
            for number, what, why in in_test(root, path):
                wrong.append(f"{path.relative_to(root)}:{number}: {what}: {why}")
    wrong += [f"tests/{name}: missing" for name in OF_THE_INSIDE if not (root / "tests" / name).exists()]
    for path in sorted((root / "include").rglob("*.h")):
        for number, quoted, header in includes(path):
            seen += 1
            if quoted and not (path.parent / header).exists():
                wrong.append(f"{path.relative_to(root)}:{number}: {header}: not a public header")
    wrong += upward_calls(lib) + repeated_tags(lib) + cycle(root / "apps" / "kit") + named_scores(root)
    print("\n".join(wrong))
    print(f"{seen} includes and tests read, {len(wrong)} wrong")
    return 1 if wrong or seen < 50 else 0


TOP = {"CMakeLists.txt", "README.md", "LICENSE", "lib", "include", "apps", "tests", "perf", "findings"}
CODE = {".c", ".h", ".def", ".py", ".sh", ".cmake"}
LONGEST = 500
LEFTOVER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def without_comments(text):
    """Removes comments, strings and character constants from C, but keeps line breaks."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: "\n" * m[0].count("\n") or " ", text, flags=re.S)


def conditions_inside(text):
    """Returns the line numbers of #if, #else, ... inside functions."""
    found, function, depth, last = [], False, 0, ""
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("#"):
            if function and re.match(r"#\s*(if|ifdef|ifndef|elif|else)\b", stripped):
                found.append(number)
            continue
        for letter in line:
            if letter == "{":
                if depth == 0:
                    function = last == ")"
                depth += 1
            elif letter == "}":
                depth = max(depth - 1, 0)
                function = function and depth > 0
            if not letter.isspace():
                last = letter
        if re.match(r"extern\s*\{", stripped):  # extern "C" does not count as a level
            depth -= 1
    return found


def tree_files(root):
    for folder in sorted(TOP):
        start = root / folder
        paths = [start] if start.is_file() else start.rglob("*")
        yield from sorted(p for p in paths if p.is_file() and "__pycache__" not in p.parts)


def tree(root):
    wrong, seen = [], 0
    for entry in sorted(root.iterdir()):
        name = entry.name
        if name not in TOP and not name.startswith((".", "build")):
            wrong.append(f"{name}: does not belong at the top")
    wrong += [f"{name}: missing" for name in sorted(TOP) if not (root / name).exists()]

    for path in tree_files(root):
        where = path.relative_to(root)
        if path.suffix not in CODE and path.name != "CMakeLists.txt":
            continue
        seen += 1
        text = path.read_text()
        lines = text.splitlines()
        if len(lines) > LONGEST:
            wrong.append(f"{where}: {len(lines)} lines, more than {LONGEST}")
        for number, line in enumerate(lines, 1):
            if LEFTOVER.search(line):
                wrong.append(f"{where}:{number}: {line.strip()}")
            if line != line.rstrip() or "\t" in line and path.suffix in {".c", ".h"}:
                wrong.append(f"{where}:{number}: a tab or trailing white space")
        if path.suffix in {".c", ".h", ".def"} and not re.match(rf"/\* {re.escape(path.name)}( [A-Z]+)* - ", text):
            wrong.append(f"{where}: does not begin with /* {path.name} - and a description")
        if path.suffix in {".c", ".h"}:
            wrong += [f"{where}:{n}: #if inside a function" for n in conditions_inside(text)]
    print("\n".join(wrong))
    print(f"{seen} files read, {len(wrong)} complaints")
    return 1 if wrong or seen < 20 else 0


def judge_tree():
    """Checks that conditions inside functions are found, and only those."""
    inside = 'extern "C" {\nint f(void)\n{\n#if A\n    return 1;\n#endif\n}\n}\n'
    outside = "int a[] = {\n#ifdef A\n    1,\n#endif\n    2};\nint f(void) { return a[0]; }\n#if B\n#endif\n"
    assert conditions_inside(inside) == [4], conditions_inside(inside)
    assert conditions_inside(outside) == [], conditions_inside(outside)


judge_tree()
sys.exit({"layers": layers, "tree": tree}[sys.argv[1]](pathlib.Path(sys.argv[2])))
