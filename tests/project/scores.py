#!/usr/bin/env python3
"""scores.py ROOT - checks that only the files of ALLOWED name the enumerator of a score or locality. All others read the
properties from the tables, so that a new score or locality is added in few places."""
import pathlib
import re
import sys

NAMED = re.compile(r"\bRAPT_(SCORE|LOCALITY)_(?!COUNT\b)\w+")
ALLOWED = {  # file: reason
    "lib/attention/score/scores.def": "the table of scores",
    "lib/attention/mask.c": "the table of localities",
    "include/rapt/attention.h": "the enumerators",
    "lib/attention/learned.def": "which of them reads an array",
    "lib/import/hf_t5.c": "T5 does not scale its scores",
    "lib/import/ct2_attention.c": "likewise, in CTranslate2's format",
}


def main(root):
    wrong, used = [], set()
    for folder in ("lib", "include"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in {".c", ".h", ".def"}:
                continue
            where = str(path.relative_to(root))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = NAMED.search(line)
                if found and where in ALLOWED:
                    used.add(where)
                elif found:
                    wrong.append(f"{where}:{number}: {found[0]}: read the table instead")
    wrong += [f"{where}: names no enumerator, so it can leave ALLOWED ({why})" for where, why in ALLOWED.items() if where not in used]
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
