#!/usr/bin/env python3
"""prefetch.py librapt.a - checks that the kernels for short heads prefetch, in every instruction set.

gcc 12 removes calls to functions that only prefetch unless they are inlined, which no result shows. So
this reads the object code of each table of kernels, which contains attend_head."""
import re
import subprocess
import sys

INSTRUCTION = {"elf64-x86-64": r"\tprefetch", "elf64-littleaarch64": r"\tprfm\t"}  # by file format


def main(static):
    command = ["objdump", "-d", "--no-show-raw-insn", static]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    known = tables = without = 0
    for member in re.split(r"\n(?=\S+:\s+file format )", listing):
        kind = re.search(r"file format (\S+)", member)
        heads = re.findall(r"^[0-9a-f]+ <(\w*head\w*)[^>]*>:\n((?:.+\n)*)", member, flags=re.M)
        if not kind or kind[1] not in INSTRUCTION:
            continue
        known += 1
        if "attend_head" not in [name for name, _ in heads]:
            continue
        tables += 1
        without += not any(re.search(INSTRUCTION[kind[1]], code) for _, code in heads)
    if not known:
        print("skipped: no object code for x86-64 or aarch64")
        return 0
    print(f"{tables} tables of kernels read, {without} without a prefetch")
    return 1 if without or not tables else 0


sys.exit(main(sys.argv[1]))
