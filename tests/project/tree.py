#!/usr/bin/env python3
"""tree.py ROOT - checks the entries at the top of the tree, the lengths of files, that no #if is inside a function, that
there are no notes of unfinished work, and that every C file begins with a comment with its name."""
import pathlib
import re
import sys

TOP = {"CMakeLists.txt", "README.md", "LICENSE", "lib", "include", "apps", "tests", "perf", "findings"}
CODE = {".c", ".h", ".def", ".py", ".sh", ".cmake"}
LONGEST = 500
LEFTOVER = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")


def blank(text):
    """Removes comments, strings and character constants from C, but keeps line breaks."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: "\n" * m[0].count("\n") or " ", text, flags=re.S)


def conditions_inside(text):
    """Returns the line numbers of #if, #else, ... inside functions."""
    found, function, depth, last = [], False, 0, ""
    for number, line in enumerate(blank(text).splitlines(), 1):
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


def files(root):
    for folder in sorted(TOP):
        start = root / folder
        paths = [start] if start.is_file() else start.rglob("*")
        yield from sorted(p for p in paths if p.is_file() and "__pycache__" not in p.parts)


def main(root):
    wrong, seen = [], 0
    for entry in sorted(root.iterdir()):
        name = entry.name
        if name not in TOP and not name.startswith((".", "build")):
            wrong.append(f"{name}: does not belong at the top")
    wrong += [f"{name}: missing" for name in sorted(TOP) if not (root / name).exists()]

    for path in files(root):
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


def judge():
    """Checks that conditions inside functions are found, and only those."""
    inside = 'extern "C" {\nint f(void)\n{\n#if A\n    return 1;\n#endif\n}\n}\n'
    outside = "int a[] = {\n#ifdef A\n    1,\n#endif\n    2};\nint f(void) { return a[0]; }\n#if B\n#endif\n"
    assert conditions_inside(inside) == [4], conditions_inside(inside)
    assert conditions_inside(outside) == [], conditions_inside(outside)


judge()
sys.exit(main(pathlib.Path(sys.argv[1])))
