#!/usr/bin/env python3
"""reference.py ROOT [DOXYGEN CMAKE] - checks that functions, types and members of the public headers have a comment, as
include/reference.py reads the headers. With Doxygen, also checks that it writes a page for every public function."""
import pathlib
import re
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


def main(root, *tools):
    reference = root / "include/reference.py"
    judge(reference)
    done = subprocess.run([sys.executable, "-B", reference, "--missing", root / "include"], text=True)
    if done.returncode or not tools:
        return done.returncode
    doxygen, cmake = tools
    functions = {name for header in (root / "include/rapt").glob("*.h") for name in re.findall(
        r"\bRAPT_API\b(?!\s*__attribute__)[^;{]*?\b(rapt_\w+)\s*\(", re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S))}
    with tempfile.TemporaryDirectory() as folder:
        build = [cmake, "-S", root, "-B", folder, "-DRAPT_TESTS=OFF", "-DRAPT_APPS=OFF", "-DRAPT_PERF=OFF", f"-DDOXYGEN={doxygen}"]
        for command in (build, [cmake, "--build", folder, "--target", "reference"]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(done.stdout[-3000:], done.stderr[-3000:])
                return 1
        man = pathlib.Path(folder) / "reference/man/man3"
        without = sorted(name for name in functions if not (man / f"{name}.3").exists())
        strange = sorted(path.name for path in man.iterdir() if not path.name.lower().startswith("rapt"))
        for path in man.iterdir():
            link = re.match(r"\.so man3/(\S+)", path.read_text())
            without += [f"{path.name} -> {link[1]}"] if link and not (man / link[1]).exists() else []
        main_page = (pathlib.Path(folder) / "reference/html/index.html").exists()
        print(f"{len(functions)} functions, {len(list(man.iterdir()))} man pages; without: {without}; strange: {strange}")
        return 1 if without or strange or not main_page or len(functions) < 60 else 0


sys.exit(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
