#!/usr/bin/env python3
"""tiles.py librapt.a - checks that tiles of AMX are used only where the library has checked that they may be.

Instructions that use tiles are in one object, which contains tdpbssd and exports only a table of kernels. Only
kernel/int8_choose.c, which checks, refers to this table."""
import re
import subprocess
import sys

USES = re.compile(r"\t(?:ldtilecfg|sttilecfg|tilerelease|tilezero|tileload\w*|tilestored|tdp\w+)\b")


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def objects_of(static):
    """Returns {object: its instructions that use tiles}."""
    members = re.split(r"\n(?=\S+:\s+file format )", run("objdump", "-d", "--no-show-raw-insn", static))
    return {m.split(":", 1)[0].strip(): USES.findall(m) for m in members if "file format elf64-x86-64" in m}


def symbols_of(static):
    """Returns {object: ({names that it defines}, {names that it refers to})}."""
    found = {}
    for line in run("nm", "-g", "-A", static).splitlines():
        place, kind, name = re.fullmatch(r"(\S+?):?(?:[0-9a-f]{16}| {16}) (\w) (\S+)", line).groups()
        defined, used = found.setdefault(place.rstrip(":").split(":")[-1], (set(), set()))
        (used if kind == "U" else defined).add(name)
    return found


def main(static):
    objects = objects_of(static)
    if not objects:
        print("skipped: no object code for x86-64")
        return 77
    with_tiles = {name for name, uses in objects.items() if uses}
    if not with_tiles:
        print("skipped: the compiler has no AMX")
        return 77
    wrong = [] if len(with_tiles) == 1 else [f"tiles are used in {', '.join(sorted(with_tiles))}"]
    symbols = symbols_of(static)
    for name in with_tiles:
        if not any("tdpbssd" in use for use in objects[name]):
            wrong.append(f"{name} has no tdpbssd")
        for symbol in symbols[name][0]:
            users = {other for other, (_, used) in symbols.items() if symbol in used}
            if symbol != "rapt__int8_amx" or users != {"int8_choose.c.o"}:
                wrong.append(f"{name} defines {symbol}, to which {', '.join(sorted(users)) or 'nothing'} refers")
    print("\n".join(wrong) if wrong else f"tiles are used in {', '.join(with_tiles)} only")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
