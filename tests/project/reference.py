#!/usr/bin/env python3
"""reference.py ROOT [DOXYGEN CMAKE] - checks that functions, types and members of the public headers have a comment, as
include/reference.py reads the headers, and that include/manual.py writes a manual page for each of them. With Doxygen, also
checks that it writes its HTML. Checks what the comment of a function or type says:

    returns rapt_status     the possible errors, as RAPT_*
    takes T **              who frees the object: "free"
    returns a pointer       who owns it, how long it is valid, or that it is static
    arrays                  the shape, in brackets, of arrays of floats, ids and offsets
    typedef struct x x      which threads may use the object at once

A comment that begins with "The same", or contains "as rapt_x", inherits from the comment of the previous function, or of
rapt_x."""
import importlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADER = """/* x.h - a header. */
#include <stddef.h>

/* What it is. */
typedef struct rapt_x { /* size-first */
    size_t size;
    int a, b;           /* of a; of
                           b */
    long long c, d;     /* both */
    int bare;
    int reserved[2];
} rapt_x;

/* Its kinds. */
typedef enum rapt_kinds {
    RAPT_KINDS_A,
    RAPT_KINDS_B, /* the second */
    RAPT_KINDS_COUNT
} rapt_kinds;

/* Of the file. */

RAPT_API int rapt_bare(void);
RAPT_API int rapt_short(int x); /* behind */
/* In front: two
   lines. */
RAPT_API int rapt_long(int a,
                       int b);
"""
BEFORE = r"(?P<before>/\*\*(?:(?!\*/).)*\*/\s*)?"
FUNCTION = re.compile(BEFORE + r"^RAPT_API (?P<returns>[^;(]*?)\b(?P<name>rapt_\w+)\((?P<arguments>[^;]*)\);[ \t]*(?P<behind>/\*\*<.*?\*/)?",
                      re.M | re.S)
OBJECT = re.compile(BEFORE + r"^typedef struct (?P<name>\w+) (?P=name);", re.M | re.S)


def comment(found):
    """Returns the comments before and after a declaration, without a comment about the file."""
    before = found["before"] or ""
    return ("" if "@file" in before else before) + (found.groupdict().get("behind") or "")


def said(name, comments, order, seen=()):
    """Returns the comment of a function with those that it refers to."""
    text = comments[name]
    words = re.sub(r"/\*\*<?|\*/", "", text).strip()
    others = [other for other in re.findall(r"\b(?:[Aa]s|that)\s+(?:for\s+|in\s+)?(rapt_\w+)", text) if other in comments]
    if re.match(r"The same|One of them from", words) and order.index(name) > 0:
        others.append(order[order.index(name) - 1])
    return " ".join([text, *(said(other, comments, order, (*seen, name)) for other in others if other not in (*seen, name))])


def wants(returns, arguments, text):
    """Yields what is missing in the comment of a function."""
    if returns.strip() == "rapt_status" and not re.search(r"RAPT_(BAD|NO|NOT)_", text):
        yield "errors"
    if re.search(r"rapt_\w+ \*\*\w+", arguments) and not re.search(r"\bfree\b", text):
        yield "who frees the object"
    if "*" in returns and not re.search(r"\bowned\b|\bbelongs?\b|\bstatic\b|\bconstant\b|\buntil\b", text, re.I):
        yield "who owns the result"
    arrays = re.findall(r"(?:float|int32_t|uint8_t|int) \*(\w+)", arguments)
    if "[" not in text and any(not re.search(r"\*%s\b" % name, text) for name in arrays):
        yield "shapes"


def lacking(text):
    """Yields the symbols of a converted header and what their comments lack."""
    functions = list(FUNCTION.finditer(text))
    comments = {found["name"]: comment(found) for found in functions}
    order = list(comments)
    for found in functions:
        for what in wants(found["returns"], found["arguments"], said(found["name"], comments, order)):
            yield f"{found['name']}: {what}"
    for found in OBJECT.finditer(text):
        if "thread" not in comment(found):
            yield f"{found['name']}: threads"


def judge_lacking():
    """Checks that each omission is reported, and that complete comments pass."""
    bare = "RAPT_API rapt_status rapt_a(rapt_x **x, const float *data);\nRAPT_API const char *rapt_b(void);\ntypedef struct rapt_x rapt_x;\n"
    full = ("/** Of x, [rows]; the caller's to free. RAPT_NO_MEMORY. */\nRAPT_API rapt_status rapt_a(rapt_x **x, const float *data);\n"
            "/** The same. */\nRAPT_API rapt_status rapt_c(rapt_x **x, const float *data);\n"
            "RAPT_API const char *rapt_b(void); /**< static */\n/** One thread at a time. */\ntypedef struct rapt_x rapt_x;\n")
    assert list(lacking(bare)) == ["rapt_a: errors", "rapt_a: who frees the object", "rapt_a: shapes", "rapt_b: who owns the result",
                                 "rapt_x: threads"], list(lacking(bare))
    assert not list(lacking(full)), list(lacking(full))


def judge(reference):
    """Checks that missing comments are reported, and only those."""
    with tempfile.TemporaryDirectory() as folder:
        include = pathlib.Path(folder)
        (include / "rapt").mkdir()
        (include / "rapt/x.h").write_text(HEADER)
        done = subprocess.run([sys.executable, "-B", reference, "--missing", folder], capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout.split("\n")[:-1] == ["x.h: rapt_x.c", "x.h: rapt_x.d", "x.h: rapt_x.bare", "x.h: rapt_bare"], done.stdout


def write_manual(root, include, folder):
    done = subprocess.run([sys.executable, "-B", root / "include/manual.py", include, "1.2.3", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.stem: path.read_text() for path in pathlib.Path(folder).iterdir()}


def judge_manual(root):
    """Checks the pages of HEADER."""
    with tempfile.TemporaryDirectory() as folder:
        include = pathlib.Path(folder)
        (include / "rapt").mkdir()
        (include / "rapt/x.h").write_text(HEADER)
        pages = write_manual(root, folder, include / "man3")
        assert pages.keys() == {"rapt_x", "rapt_x.h", "rapt_kinds", "RAPT_KINDS_A", "RAPT_KINDS_B", "RAPT_KINDS_COUNT", "rapt_bare",
                                "rapt_short", "rapt_long"}, pages.keys()
        assert pages["RAPT_KINDS_B"] == ".so man3/rapt_kinds.3\n", pages["RAPT_KINDS_B"]
        page = pages["rapt_long"]
        for part in (".SH NAME\nrapt_long \\- in front\n", "#include <rapt/x.h>\n", "\nint rapt_long(int a, int b);\n",
                     ".SH DESCRIPTION\nIn front: two\nlines.\n", ".SH SEE ALSO\n.BR rapt_bare (3),\n.BR rapt_short (3),\n.BR rapt_x.h (3)\n"):
            assert part in page, (part, page)
        assert "behind" not in page and "Of the file." in pages["rapt_x.h"], page


def manual_faults(root):
    """Returns what is wrong with the pages of the public headers."""
    with tempfile.TemporaryDirectory() as folder:
        pages = write_manual(root, root / "include", folder)
        functions = {name: header.name for header in (root / "include/rapt").glob("*.h") for name in re.findall(
            r"\bRAPT_API\b(?!\s*__attribute__)[^;{]*?\b(rapt_\w+)\s*\(", re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S))}
        assert len(functions) >= 60, functions
        faults = [f"{name}: no page that includes <rapt/{header}>" for name, header in functions.items()
                  if f"#include <rapt/{header}>" not in pages.get(name, "") or " \\- " not in pages[name]]
        for name, page in pages.items():
            faults += [f"{name}: {other}(3) is missing" for other in re.findall(r"^\.BR (\S+) \(3\)|^\.so man3/(\S+)\.3$", page, re.M)
                       for other in other if other and other.replace("\\-", "-") not in pages]
        written = [pathlib.Path(folder) / f"{name}.3" for name, page in pages.items() if not page.startswith(".so")]
        if shutil.which("lexgrog"):
            named = subprocess.run(["lexgrog", *written], capture_output=True, text=True)
            faults += [line for line in named.stdout.splitlines() if "parse failed" in line]
        if shutil.which("mandoc"):
            lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *written], capture_output=True, text=True)
            faults += [line for line in lint.stdout.splitlines() if "missing date" not in line]
        print(f"{len(functions)} functions, {len(pages)} manual pages")
        return faults


def html_is_written(root, doxygen, cmake):
    with tempfile.TemporaryDirectory() as folder:
        build = [cmake, "-S", root, "-B", folder, "-DRAPT_TESTS=OFF", "-DRAPT_APPS=OFF", "-DRAPT_PERF=OFF", f"-DDOXYGEN={doxygen}"]
        for command in (build, [cmake, "--build", folder, "--target", "reference"]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(done.stdout[-3000:], done.stderr[-3000:])
                return False
        return (pathlib.Path(folder) / "reference/html/index.html").exists()


def contracts(root):
    """Returns what the comments of the public headers lack."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(root / "include"))
    convert = importlib.import_module("reference").convert
    headers = sorted((root / "include/rapt").glob("*.h"))
    count = sum(len(FUNCTION.findall(convert(path))) for path in headers)
    print(f"{count} functions")
    assert count >= 100
    return [f"{path.name}: {what}" for path in headers for what in lacking(convert(path))]


def main(root, *tools):
    reference = root / "include/reference.py"
    judge_lacking()
    judge(reference)
    judge_manual(root)
    done = subprocess.run([sys.executable, "-B", reference, "--missing", root / "include"], text=True)
    faults = contracts(root) + manual_faults(root)
    print("\n".join(faults))
    return 1 if done.returncode or faults or tools and not html_is_written(root, *tools) else 0


sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
