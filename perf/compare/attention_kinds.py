#!/usr/bin/env python3
"""attention_kinds.py - times each kind of attention beside the fastest form that PyTorch has on a CPU, in float32.

usage: attention_kinds.py FOLDER [--threads N] [--rows 512,1024] [--only NAME] [--seconds S] [--eager]

FOLDER holds the built programs, such as build/bin. B 1, H 8, width 64. Each form of attention_forms.py is compiled
with torch.compile and, where that does not work, run as it is; the reason is printed. perf_attention runs before and
after PyTorch for each variant, and the ratio is that of the medians: above 1, rapt is faster. Forms of a variant
must agree with one another."""
import argparse
import json
import os
import subprocess
import sys
import time
import warnings

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("folder")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rows", default="512,1024")
parser.add_argument("--only", action="append", help="a name of the first column; may be repeated")
parser.add_argument("--seconds", type=float, default=1, help="of samples of each form and pass")
parser.add_argument("--eager", action="store_true", help="do not compile")
options = parser.parse_args()
program = os.path.join(options.folder, "perf_attention")
if not os.access(program, os.X_OK):
    sys.exit(f"error: {program} is missing; build the target perf_attention")
os.environ["OMP_NUM_THREADS"] = str(options.threads)
try:
    import torch
except ImportError:
    sys.exit("error: this Python has no torch; pip install torch")
import attention_forms as forms

warnings.filterwarnings("ignore")
torch.set_num_threads(options.threads)
torch._dynamo.config.cache_size_limit = 64


def ours(only, rows, wanted):
    """Returns our median seconds of forward and of both passes."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OMP_")}
    command = [program, "--only", only, "--rows", str(rows), "--threads", str(options.threads), "--json"]
    lines = subprocess.run(command, env=environment, capture_output=True, text=True)
    if lines.returncode:
        sys.exit(f"error: {' '.join(command)}: {lines.stderr.strip()}")
    seconds = {}
    for line in map(json.loads, lines.stdout.splitlines()):
        shape = line["shape"]
        same = shape.get("B", 1) == 1 and shape["T"] == rows and shape["K"] == forms.WIDTH
        heads = shape["H"] in (forms.HEADS, 2 * forms.HEADS)
        if same and heads and all(line.get(k) == v for k, v in wanted.items()):
            seconds.setdefault(line["name"].split("_")[1], line["median_seconds"])
    return seconds["forward"], seconds["forward"] + seconds["backward"]


def median_of(run):
    run()
    seconds, end = [], time.perf_counter() + options.seconds
    while len(seconds) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[len(seconds) // 2]


def first_line(error):
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text[:100]}" if text else type(error).__name__


class Timed:
    """One form of a variant, compiled if possible, and its times."""

    def __init__(self, name, function, variant, inputs):
        self.name, self.seconds, self.reasons = name, {}, []
        self.function, self.variant, self.inputs = function, variant, inputs
        loops = getattr(variant, "loops", False)
        why = "not asked for" if options.eager else "a loop over queries is too long" if loops else None
        compiled = None if why else torch.compile(function, dynamic=False)
        for which, run in (("forward", self.forward), ("both", self.both)):
            if compiled is not None:
                try:
                    self.time(which, run, compiled, "compiled")
                    continue
                except Exception as error:
                    self.reasons.append(f"{name}, {which}: {first_line(error)}")
            elif why:
                self.reasons.append(f"{name}: not compiled, {why}")
            if name.startswith("Flex"):
                continue  # flex_attention that is not compiled computes all scores, as written-out forms do
            try:
                self.time(which, run, function, "eager")
            except Exception as error:
                self.reasons.append(f"{name}, {which}, eager: {first_line(error)}")

    def time(self, which, run, function, how):
        out = run(function)
        if which == "forward":
            self.out = out
        self.seconds[which] = median_of(lambda: run(function)), f"{self.name}, {how}"

    def forward(self, function):
        for x in self.variant.learned:
            x.requires_grad_(False)
        with torch.no_grad():
            return function(*(x.detach() for x in self.inputs))

    def both(self, function):
        for x in (*self.inputs, *self.variant.learned):
            x.requires_grad_()
            x.grad = None
        out = function(*self.inputs)
        out.backward(self.variant.dout)
        return out


def agree(all_forms):
    outs = [(f.name, f.out) for f in all_forms if "forward" in f.seconds]
    for name, out in outs[1:]:
        error = (out - outs[0][1]).abs().max().item()
        if not error < 1e-3 * max(1, outs[0][1].abs().max().item()):
            sys.exit(f"error: {name} and {outs[0][0]} differ by {error:g}")


def measure(title, only, wanted, kind, rows):
    torch.manual_seed(1)
    variant = kind(rows)
    inputs = [(torch.rand(1, forms.HEADS, rows, forms.WIDTH) * 2 - 1).requires_grad_() for _ in range(3)]
    variant.dout = torch.rand(1, forms.HEADS, rows, forms.WIDTH)
    before = ours(only, rows, wanted)
    timed = [Timed(name, f, variant, inputs) for name, f in variant.forms().items()]
    after = ours(only, rows, wanted)
    agree(timed)
    cells = [title, str(rows)]
    for i, which in enumerate(("forward", "both")):
        mine = (before[i] + after[i]) / 2
        theirs = [f.seconds[which] for f in timed if which in f.seconds]
        if theirs:
            seconds, name = min(theirs)
            cells += [f"{mine * 1e3:.2f}", f"{seconds * 1e3:.2f}", f"{seconds / mine:.2f}", name]
        else:
            cells += [f"{mine * 1e3:.2f}", "-", "-", "none works"]
    print("| " + " | ".join(cells) + " |", flush=True)
    return [reason for f in timed for reason in f.reasons]


def main():
    chosen = [v for v in forms.VARIANTS if not options.only or v[0] in options.only]
    if not chosen:
        sys.exit("error: --only takes one of: " + ", ".join(v[0] for v in forms.VARIANTS))
    print(f"PyTorch {torch.__version__}, {options.threads} thread(s), float32, B 1 H 8 D 64; milliseconds, "
          "and times as fast as PyTorch's fastest form\n")
    print("| variant | S | rapt | PyTorch | forward | form | rapt | PyTorch | forward and backward | form |")
    print("|" + "---|" * 10, flush=True)
    reasons = {}
    for title, only, wanted, kind in chosen:
        for rows in map(int, options.rows.split(",")):
            reasons.setdefault(title, []).extend(measure(title, only, wanted, kind, rows))
    print("\nForms that were not used, and why:\n")
    for title, why in reasons.items():
        for reason in dict.fromkeys(why):
            print(f"* {title}: {reason}")


main()
