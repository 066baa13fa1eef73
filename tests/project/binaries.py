#!/usr/bin/env python3
"""binaries.py CHECK ARGUMENT... - checks what is in the built libraries:

symbols ROOT librapt.so librapt.a: the shared library exports exactly the functions that the public headers declare, and has
the right SONAME. In the static library every global name begins with rapt_. The only mutable globals are those of MUTABLE.
Functions that print, exit, read the environment or change the state of the process are not called. With SLEEF, neither are
elementary functions of the C library, whose last bit depends on the machine.

prefetch librapt.a: the kernels for short heads prefetch. gcc 12 removes calls to functions that only prefetch unless they
are inlined, which no result shows. So this reads the object code of each table of kernels, which contains attend_head.

tiles librapt.a: instructions that use tiles of AMX are in two objects, one of which contains tdpbssd and the other tdpbf16ps.
Each exports only a table of kernels. Only kernel/choose.c, which checks, refers to these tables."""
import pathlib
import re
import subprocess
import sys

# kernel/choose.c, op/gemm_openblas.c, base/processor.c, base/team.c, base/crowd.c
MUTABLE = {"chosen", "int8_chosen", "bf16_chosen", "openblas", "caches", "workers_stack", "machine"}
MEMORY = r" O (?:\.data|\.bss|\.tdata|\.tbss|\*COM\*)(?:\.(?!rel\.ro)\S*)?"  # sections that can be written
REFUSED = set("""abort exit _exit _Exit quick_exit atexit puts putchar putc printf vprintf perror stdout stderr
    __printf_chk __vprintf_chk getenv secure_getenv setenv putenv setlocale signal sigaction raise rand
    srand random drand48 time strtok localtime gmtime fesetround fesetenv feenableexcept
    omp_set_num_threads omp_set_dynamic omp_set_nested omp_set_schedule omp_set_max_active_levels
    openblas_set_num_threads goto_set_num_threads system popen fork""".split())
ELEMENTARY = {name + kind for kind in ("", "f", "l") for name in """sin cos sincos tan asin acos atan atan2 sinh cosh
    tanh exp exp2 exp10 expm1 log log2 log10 log1p pow cbrt hypot erf erfc lgamma tgamma""".split()}

ALLOWED = {("gemm_openblas.c.o", "omp_set_num_threads")}  # restored after each product


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def declared(root):
    names = set()
    for header in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        for found in re.finditer(r"\bRAPT_API\b(?!\s*__attribute__)([^;{]*?)\b(\w+)\s*\(", text):
            names.add(found[2])
    return names


def soname(root):
    """Returns the SONAME. While the major version is 0, minor versions may break programs, so it contains both."""
    text = (root / "include/rapt/base.h").read_text()
    major, minor = (re.search(rf"RAPT_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR"))
    return f"librapt.so.{major}" + (f".{minor}" if major == "0" else "")


def exported(library):
    return {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", library).splitlines()}


def symbols(root, shared, static):
    """Checks the names and globals of the built libraries."""
    root = pathlib.Path(root)
    wrong = []
    names, public = exported(shared), declared(root)
    wrong += [f"{n}: exported, but not public" for n in sorted(names) if not re.match(r"rapt_[a-z]", n)]
    wrong += [f"{n}: exported, but not declared in a public header" for n in sorted(names - public) if n.startswith("rapt_")]
    wrong += [f"{n}: declared, but not exported" for n in sorted(public - names)]
    if soname(root) not in re.findall(r"SONAME.*\[(.*)\]", run("readelf", "-d", shared)):
        wrong.append(f"the SONAME is not {soname(root)}")

    for line in run("nm", "-g", "--defined-only", static).splitlines():
        words = line.split()
        if len(words) == 3 and not words[2].startswith("rapt_"):
            wrong.append(f"{words[2]}: this global name does not begin with rapt_")
    called = run("nm", "-A", "-u", static)
    refused = REFUSED | (ELEMENTARY if "Sleef_" in called else set())
    for line in called.splitlines():
        found = re.search(r":([^:]+):\s+\w (\w+)", line)
        if found and found[2] in refused and (found[1], found[2]) not in ALLOWED:
            wrong.append(f"{found[1]}: {found[2]}: a library must not call this")

    mutable = set()
    for line in run("objdump", "-t", static).splitlines():
        found = re.search(MEMORY + r"\s+[0-9a-f]+\s+(?:\.\w+ )?(\S+)$", line)
        if found:
            mutable.add(found[1])
    wrong += [f"{n}: a mutable global" for n in sorted(mutable - MUTABLE)]
    if mutable != MUTABLE:
        wrong.append(f"mutable globals found: {sorted(mutable)}, expected {sorted(MUTABLE)}")

    print("\n".join(wrong))
    print(f"{len(names)} names exported, {len(public)} declared, {len(wrong)} complaints")
    return 1 if wrong or not names else 0


PREFETCHES = {"elf64-x86-64": r"\tprefetch", "elf64-littleaarch64": r"\tprfm\t"}  # by file format


def prefetch(static):
    """Checks that the kernels for short heads prefetch, in every instruction set."""
    listing = run("objdump", "-d", "--no-show-raw-insn", static)
    known = tables = without = 0
    for member in re.split(r"\n(?=\S+:\s+file format )", listing):
        kind = re.search(r"file format (\S+)", member)
        heads = re.findall(r"^[0-9a-f]+ <(\w*head\w*)[^>]*>:\n((?:.+\n)*)", member, flags=re.M)
        if not kind or kind[1] not in PREFETCHES:
            continue
        known += 1
        if "attend_head" not in [name for name, _ in heads]:
            continue
        tables += 1
        without += not any(re.search(PREFETCHES[kind[1]], code) for _, code in heads)
    if not known:
        print("skipped: no object code for x86-64 or aarch64")
        return 0
    print(f"{tables} tables of kernels read, {without} without a prefetch")
    return 1 if without or not tables else 0


PRODUCTS = {  # objects that use tiles: the product that each contains, and the table that it exports
    "int8_tiles.c.o": ("tdpbssd", "rapt__int8_amx"),
    "bf16_tiles.c.o": ("tdpbf16ps", "rapt__bf16_amx"),
}
TILES = re.compile(r"\t(?:ldtilecfg|sttilecfg|tilerelease|tilezero|tileload\w*|tilestored|tdp\w+)\b")


def objects_of(static):
    """Returns {object: its instructions that use tiles}."""
    members = re.split(r"\n(?=\S+:\s+file format )", run("objdump", "-d", "--no-show-raw-insn", static))
    return {m.split(":", 1)[0].strip(): TILES.findall(m) for m in members if "file format elf64-x86-64" in m}


def symbols_of(static):
    """Returns {object: ({names that it defines}, {names that it refers to})}."""
    found = {}
    for line in run("nm", "-g", "-A", static).splitlines():
        place, kind, name = re.fullmatch(r"(\S+?):?(?:[0-9a-f]{16}| {16}) (\w) (\S+)", line).groups()
        defined, used = found.setdefault(place.rstrip(":").split(":")[-1], (set(), set()))
        (used if kind == "U" else defined).add(name)
    return found


def tiles(static):
    """Checks that tiles of AMX are used only where the library has checked that they may be."""
    objects = objects_of(static)
    if not objects:
        print("skipped: no object code for x86-64")
        return 77
    with_tiles = {name for name, uses in objects.items() if uses}
    if not with_tiles:
        print("skipped: the compiler has no AMX")
        return 77
    wrong = [f"tiles are used in {name}" for name in sorted(with_tiles - PRODUCTS.keys())]
    wrong += [f"tiles are not used in {name}" for name in sorted(PRODUCTS.keys() - with_tiles)]
    names = symbols_of(static)
    for name in sorted(with_tiles & PRODUCTS.keys()):
        product, table = PRODUCTS[name]
        products = {use.strip() for use in objects[name] if use.startswith("\ttdp")}
        if products != {product}:
            wrong.append(f"{name} has the products {sorted(products)} instead of {product}")
        for symbol in names[name][0]:
            users = {other for other, (_, used) in names.items() if symbol in used}
            if symbol != table or users != {"choose.c.o"}:
                wrong.append(f"{name} defines {symbol}, to which {', '.join(sorted(users)) or 'nothing'} refers")
    print("\n".join(wrong) if wrong else f"tiles are used in {', '.join(sorted(with_tiles))} only")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit({"symbols": symbols, "prefetch": prefetch, "tiles": tiles}[sys.argv[1]](*sys.argv[2:]))
