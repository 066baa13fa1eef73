#!/usr/bin/env python3
"""coverage.py ROOT BUILD - prints from gcov's counts in BUILD how many lines and branches of lib/ ran, by folder, and
which did not, by function. A line or branch of a kernel counts if it ran for one instruction set. Fails if fewer than LINES
and BRANCHES percent ran, if coverage.txt gives no reason for a function with lines that never ran, or if it lists a
function that no longer exists."""
import collections
import json
import os
import pathlib
import subprocess
import sys

LINES, BRANCHES = 97, 90  # percent; never lower them


def measurements(root, build):
    """Yields (file, its lines as gcov describes them) for each object of the library and each of its sources."""
    for folder in sorted((build / "lib/CMakeFiles").glob("rapt_*.dir")):
        target = folder.stem.removeprefix("rapt_")
        for notes in sorted(folder.rglob("*.gcno")):
            reports = []
            if notes.with_suffix(".gcda").exists():
                answer = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", notes],
                                        cwd=build, check=True, capture_output=True, text=True).stdout
                reports = [json.loads(line) for line in answer.splitlines()]
            if target != "rest" and not any(line["count"] for r in reports for f in r["files"] for line in f["lines"]):
                print(f"skipped: coverage of {target}: this processor cannot run them")
                continue
            for report in reports:
                for file in report["files"]:
                    path = os.path.normpath(os.path.join(report["current_working_directory"], file["file"]))
                    if path.startswith(f"{root}/lib/"):
                        yield os.path.relpath(path, root), file["lines"]


def merged(one, other):
    """Adds the counts of the branches of one line in two objects. If these have different numbers of branches, takes the
    counts of the object in which the greater share ran."""
    if len(one) == len(other):
        return [a + b for a, b in zip(one, other)]
    return max(one, other, key=lambda counts: (sum(map(bool, counts)) / max(len(counts), 1), len(counts)))


def add_up(found):
    """Returns {file: {line: [function, count, branch counts]}}, summed over all objects that contain the line."""
    total = collections.defaultdict(dict)
    for path, lines in found:
        for line in lines:
            branches = [b["count"] for b in line["branches"]]
            if "/simd" in path: # inlined in many places, with at most one condition per line: adds up its two outcomes
                branches = [sum(branches[0::2]), sum(branches[1::2])][: len(branches)]
            old = total[path].setdefault(line["line_number"], [line.get("function_name", ""), 0, branches])
            old[1] += line["count"]
            if old[2] is not branches:
                old[2] = merged(old[2], branches)
    return total


def leftovers(lines):
    """Returns {function: (lines that never ran, lines with branches that never ran)} for one file."""
    left = collections.defaultdict(lambda: ([], []))
    for number, (function, count, branches) in sorted(lines.items()):
        if not count:
            left[function][0].append(number)
        if not all(branches):
            left[function][1].extend([number] * branches.count(0))
    return left


def reasons(path):
    """Returns the set of (file, function) in coverage.txt, whose lines are "lib/file.c: function function...: reason" or
    comments. "-" stands for lines outside functions."""
    listed = set()
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            file, functions, _ = line.split(": ", 2)
            listed |= {(file, "" if function == "-" else function) for function in functions.split()}
    return listed


def main(root, build):
    files = add_up(measurements(root, build))
    folders, never, wrong = collections.defaultdict(lambda: [0] * 4), set(), []
    known = {(path, line[0]) for path, lines in files.items() for line in lines.values()}
    for path, lines in sorted(files.items()):
        left = leftovers(lines)
        sums = len(lines), len(lines) - sum(len(l) for l, _ in left.values())
        branches = sum(len(b) for _, _, b in lines.values())
        sums += branches, branches - sum(len(b) for _, b in left.values())
        for name in (path.split("/")[1], "all"):
            folders[name] = [a + b for a, b in zip(folders[name], sums)]
        if left:
            print(f"{path}: {sums[0] - sums[1]} of {sums[0]} lines, {sums[2] - sums[3]} of {sums[2]} branches never ran")
        for function, (numbers, of_branches) in sorted(left.items()):
            print(f"    {function}: lines {numbers} branches {of_branches}")
            never |= {(path, function)} if numbers else set()

    total = folders.pop("all", [0] * 4)
    for name, (lines, ran, branches, taken) in [*sorted(folders.items()), ("all", total)]:
        print(f"{name:10} lines {ran} of {lines}: {100 * ran / max(lines, 1):.2f} %,"
              f" branches {taken} of {branches}: {100 * taken / max(branches, 1):.2f} %")
    for ran, count, least, what in ((total[1], total[0], LINES, "lines"), (total[3], total[2], BRANCHES, "branches")):
        if 100 * ran < least * count or not count:
            wrong.append(f"less than {least:g} % of the {what} ran")
    listed = reasons(root / "tests/coverage.txt")
    wrong += [f"{file}: {function}: not all lines ran; coverage.txt gives no reason" for file, function in sorted(never - listed)]
    wrong += [f"{file}: {function}: listed in coverage.txt, but it no longer exists" for file, function in sorted(listed - known)]
    for file, function in sorted((listed & known) - never):
        print(f"{file}: {function}: all lines ran: it can leave coverage.txt")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
