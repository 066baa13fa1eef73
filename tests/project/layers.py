#!/usr/bin/env python3
"""layers.py ROOT - which file may include which (the layers of lib/README.md).

Includes go downwards, and into another layer only through its interface header; BLAS, OpenMP, vector
intrinsics and the helpers for JSON and Unicode only where they are allowed. Programs, oracles and the
tests that judge results include public headers only."""
import pathlib
import re
import sys

BELOW = {  # layers each layer may use
    "base": [],
    "kernel": ["base"],
    "op": ["base", "kernel"],
    "attention": ["base", "kernel", "op"],
    "model": ["base", "kernel", "op", "attention", "format"],
    "run": ["base", "kernel", "op", "attention", "model", "text", "format"],
    "text": ["base"],
    "format": ["base"],
}
INTERFACES = {layer: {f"{layer}.h"} for layer in BELOW}
INTERFACES["kernel"].add("flash.h")  # the problem of the attention kernels
INTERFACES["base"].add("util.h")  # for kernels, which need nothing else of it

PUBLIC = {  # public headers each layer may use
    "base": {"base.h"},
    "kernel": {"base.h"},
    "op": {"base.h"},
    "attention": {"base.h", "attention.h", "learned.def"},
    "model": {"base.h", "attention.h", "learned.def", "transformer.h", "config.def"},
    "run": {"base.h", "attention.h", "transformer.h", "train.h", "generate.h", "text.h", "translator.h"},
    "text": {"base.h", "text.h"},
    "format": {"base.h"},
}
EXTERNAL = {  # headers of others: where they may be included, as a pattern of paths under lib/
    r"cblas\.h|openblas.*": r"op/gemm_openblas\.c",
    r"omp\.h": r"base/team\.c|op/gemm_openblas\.c",
    r".*intrin\.h|arm_neon\.h|sleef\.h": r"kernel/simd_\w+\.h",
    r"jansson\.h": r"nowhere",
    r"utf8proc\.h": r"text/\w+\.[ch]",
}
# Tests of these folders judge by definitions, stored numbers and promises: they see the public headers
# only, so that no internal function judges the library; these files test internal functions themselves.
BY_PUBLIC_HEADERS = ["oracle", "golden", "api", "apps", "attention", "model", "run"]
OF_THE_INSIDE = {"attention/cache.c", "attention/cache_rows.c", "attention/hidden.c", "attention/prepare.c",
                 "model/gradient.c", "run/pick.c", "run/reward.c"}
OPENMP = r"base/team\.c|op/gemm_openblas\.c"


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found[1] == '"', found[2]


def in_lib(layer, name, header, quoted):
    """What is wrong with an include in lib/layer/name, or None."""
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
        return None
    if other not in BELOW:
        return "no such layer"
    if other not in BELOW[layer]:
        return f"{other} is not below {layer}"
    if inner not in INTERFACES[other]:
        return f"not an interface header of {other}"
    return None


def outside(root, path, header, quoted):
    """The same for a file outside lib/: programs and oracles see only <rapt/...>."""
    if quoted and (root / "lib" / header).exists():
        return "the inside of the library"
    if quoted and not (path.parent / header).exists() and header.split("/")[0] in BELOW:
        return "the inside of the library"
    return None


def in_test(root, path):
    """What a test that sees public headers only names of the inside: (line, what, why) each."""
    for number, quoted, header in includes(path):
        if quoted and (root / "lib" / header).exists() and not (root / "tests" / header).exists():
            yield number, header, "the inside of the library"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "rapt__" in line:
            yield number, "rapt__...", "the inside of the library"


def main(root):
    wrong, seen = [], 0
    lib = root / "lib"
    for path in sorted(lib.rglob("*.[ch]")):
        layer = path.relative_to(lib).parts[0]
        where = path.relative_to(root)
        name = str(path.relative_to(lib / layer))
        if layer not in BELOW or name.count("/") > (layer == "attention"):
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
    print("\n".join(wrong))
    print(f"{seen} includes and tests looked at, {len(wrong)} wrong")
    return 1 if wrong or seen < 50 else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
