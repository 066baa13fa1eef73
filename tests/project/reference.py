#!/usr/bin/env python3
"""reference.py ROOT [DOXYGEN CMAKE] - checks that functions, types and members of the public headers have a comment, as
include/reference.py reads the headers, and that include/manual.py writes a manual page for each of them. With Doxygen, also
checks that it writes its HTML."""
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


def main(root, *tools):
    reference = root / "include/reference.py"
    judge(reference)
    judge_manual(root)
    done = subprocess.run([sys.executable, "-B", reference, "--missing", root / "include"], text=True)
    faults = manual_faults(root)
    print("\n".join(faults))
    return 1 if done.returncode or faults or tools and not html_is_written(root, *tools) else 0


sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
