#!/usr/bin/env python3
"""coverage.py ROOT BUILD - from gcov's counts in BUILD: how many lines and branches of lib/ ran. Kernels count once
per instruction set. Prints what did not, by file and function, and both shares; fails below LINES and BRANCHES."""
import collections
import json
import os
import pathlib
import subprocess
import sys

LINES, BRANCHES = 97, 90  # percent; once reached they only rise


def measurements(root, build):
    """(instruction set or "", one file as gcov describes it), for each object of the library and each of its sources."""
    for notes in sorted((build / "lib/CMakeFiles").rglob("*.gcno")):
        target = notes.relative_to(build / "lib/CMakeFiles").parts[0][: -len(".dir")]
        if target == "kernels_exact" or not (target == "rest" or target.startswith("kernels_")):
            continue
        isa = target[len("kernels_") :] if target != "rest" else ""
        if isa and not notes.with_suffix(".gcda").exists():
            print(f"skipped: coverage of the kernels for {isa}: this processor cannot run them")
            continue
        answer = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", notes],
                                cwd=build, check=True, capture_output=True, text=True).stdout
        for line in answer.splitlines():
            report = json.loads(line)
            for file in report["files"]:
                path = os.path.normpath(os.path.join(report["current_working_directory"], file["file"]))
                if path.startswith(f"{root}/lib/"):
                    yield isa, os.path.relpath(path, root), file["lines"]


def add_up(found):
    """{(isa, file): {(function, line): [count, branch counts]}}, summed over the objects that contain the line."""
    total = collections.defaultdict(dict)
    for isa, path, lines in found:
        for line in lines:
            key = line.get("function_name", ""), line["line_number"]
            branches = [b["count"] for b in line["branches"]]
            old = total[isa, path].get(key)
            if old and len(old[1]) == len(branches):
                branches = [a + b for a, b in zip(old[1], branches)]
            elif old and sum(map(bool, old[1])) >= sum(map(bool, branches)):
                branches = old[1]
            total[isa, path][key] = [line["count"] + (old[0] if old else 0), branches]
    return total


class Tally:
    """Lines and branches: how many there are and which are left."""

    def __init__(self):
        self.lines = self.branches = 0
        self.left = collections.defaultdict(lambda: [[], []])  # function: lines, lines of branches

    def add(self, lines):
        for (function, number), (count, branches) in lines.items():
            self.lines += 1
            self.branches += len(branches)
            if not count:
                self.left[function][0].append(number)
            self.left[function][1] += [number] * branches.count(0)

    def missing(self, kind):
        return sum(len(left[kind]) for left in self.left.values())


def main(root, build):
    files, wrong = collections.defaultdict(Tally), []
    for (isa, path), lines in add_up(measurements(root, build)).items():
        files[f"{path} ({isa})" if isa else path].add(lines)

    for name, tally in sorted(files.items()):
        left = {f: l for f, l in tally.left.items() if l[0] or l[1]}
        if left:
            print(f"{name}: {tally.missing(0)} of {tally.lines} lines, {tally.missing(1)} of {tally.branches} branches left")
        for function, (lines, branches) in sorted(left.items()):
            print(f"    {function}: lines {sorted(lines)} branches {sorted(branches)}")

    for kind, least, what in ((0, LINES, "lines"), (1, BRANCHES, "branches")):
        count = sum(t.lines if kind == 0 else t.branches for t in files.values())
        ran = count - sum(t.missing(kind) for t in files.values())
        percent = 100 * ran / max(count, 1)
        print(f"{what}: {ran} of {count}, {percent:.2f} % (at least {least:g} %)")
        if percent < least:
            wrong.append(f"fewer {what} than {least:g} % ran")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
