#!/usr/bin/env python3
"""machines.py BIN - compares the formulas of perf_machines with small cases computed by hand, and tests its figure and
the input that it refuses. If MPI is available, also runs perf_scaling --ranks with 3 ranks and passes its lines to
perf_machines; the models of all ranks must be the same bit for bit, or perf_ranks fails. Nothing is timed."""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SVG = "{http://www.w3.org/2000/svg}"
LINK = ["--latency", "0.01", "--bandwidth", "1e6", "--message", "0.001"]
INPUTS = {"name": "rank_inputs", "model": "tiny", "transport": "hand", "shards": 4, "cores": 2, "bytes": 1000000,
          "shard_seconds": 1.0, "shard_spread": 0.1, "step_seconds": 0.5,
          "shard_seconds_together": [1.0, 1.2, 1.7], "step_seconds_together": [0.5, 0.75, 1.5],
          "bandwidth_together": [0, 1e6, 6e5], "sum_seconds": 1e-7, "last": 0.25, "window": 0.5, "latency_seconds": 0.01,
          "message_seconds": 0.001, "bandwidth": 1e6, "environment": {"processor": "hand"},
          "shape": {"encoder_layers": 1, "decoder_layers": 1, "width": 16, "pairs": 10, "length": 5}}

# Mean of the largest of 2, 3 and 4 normal variables, from tables: 1/sqrt(pi), 3/(2 sqrt(pi)), 1.02938.
LARGEST = {2: 1 / math.sqrt(math.pi), 3: 1.5 / math.sqrt(math.pi), 4: 1.0293753730}

# The terms of a step of 4 shards on several machines, computed by hand. The pieces of 1,000,000 bytes divided over 2, 3
# or 4 ranks are sent in 7, 5 or 3 chunks of at least 65,536 bytes. A quarter of the gradient becomes final last; half a
# second of computation hides the rest.
HAND = {
    1: {"shards": 4, "wait": 0, "records": 0, "scatter": 0, "sum": 0, "gather": 0, "step": 0.5},
    2: {"shards": 2, "wait": 0.1 * math.sqrt(2) * LARGEST[2], "records": 2 * 0.011,
        "scatter": 0.25 * (0.01 + 0.007 + 0.5), "sum": 0.1, "gather": 0.01 + 0.001 + 0.5, "step": 0.5},
    # 1, 1 and 2 shards, one subtree each. Sending takes 0.686667 s, of which 0.515 - 0.5 s are not hidden.
    3: {"shards": 2, "wait": 0.1 * math.sqrt(2) * LARGEST[3], "records": 2 * 0.012,
        "scatter": 0.25 * 0.68666667 + 0.015, "sum": 0.1, "gather": 0.67866667, "step": 0.5},
    4: {"shards": 1, "wait": 0.1 * LARGEST[4], "records": 2 * 0.013,
        "scatter": 0.25 * 0.769 + (0.75 * 0.769 - 0.5), "sum": 0.1, "gather": 0.763, "step": 0.5},
}
# The same on one machine with 2 cores, where sending keeps a core busy.
# - Shards: of three ranks, with 1, 1 and 2 shards, two share a core. If the rank with 2 shards has its own core, both
#   cores compute for 2.4 s. If another rank has it, that rank is done after 1.2 s, when the others have each computed half
#   a shard. They then get a core each and end after another 0.6 and 0.6 + 1 s, the last second with one core busy: 2.8 s.
#   The mean of the three cases is 8/3.
# - Wait: each core has the work of one and a half ranks, whose deviations add up. The faster core waits for the slower.
# - Messages and sums take two turns. Bytes take as long as measured for three ranks.
# - Step: the time of four optimizers at once was not measured, so it is 4/3 of that of three. Four ranks send in two turns.
SHARED = {
    1: {"shards": 4, "wait": 0, "records": 0, "scatter": 0, "sum": 0, "gather": 0, "step": 0.5},
    2: {"shards": 2.4, "wait": HAND[2]["wait"], "records": 0.022, "scatter": 0.517, "sum": 0.1, "gather": 0.511,
        "step": 0.75},
    3: {"shards": 8 / 3, "wait": 0.1 * math.sqrt(3) * LARGEST[2], "records": 0.048, "scatter": 0.04 + 1.11111111,
        "sum": 0.2, "gather": 0.024 + 1.11111111, "step": 1.5},
    4: {"shards": 2.4, "wait": 0.1 * math.sqrt(2) * LARGEST[2], "records": 0.052, "scatter": 2 * 0.769,
        "sum": 0.2, "gather": 2 * 0.763, "step": 1.5 * 4 / 3},
}


class Trial:
    def __init__(self, folder, files):
        self.folder, self.files, self.failures = folder, files, 0

    def fail(self, what):
        self.failures += 1
        print(what)

    def run(self, name, *arguments, code=0, given=None):
        done = subprocess.run([str(self.folder / f"perf_{name}"), *arguments], text=True, capture_output=True,
                              input=given, check=False)
        if done.returncode != code:
            self.fail(f"perf_{name} {' '.join(arguments)}: exit code {done.returncode}, not {code}: {done.stderr}")
        return done

    def machines(self, lines, *arguments):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return [json.loads(line) for line in self.run("machines", "--json", *arguments, given=text).stdout.splitlines()]

    def equal(self, what, got, wanted):
        if not math.isclose(got, wanted, rel_tol=1e-6, abs_tol=1e-9):
            self.fail(f"{what} is {got}, by hand {wanted}")

    def terms(self, line, wanted, what):
        if line["terms"].keys() != wanted.keys():
            self.fail(f"{what}: terms {line['terms']}")
        for key, value in wanted.items():
            self.equal(f"{what}: {key}", line["terms"][key], value)
        self.equal(f"{what}: seconds", line["seconds"], sum(wanted.values()))

    def formulas(self):
        steps = [{"name": "rank_step", "model": "tiny", "ranks": n, "overlap": overlap, "median_seconds": 5.0}
                 for n in SHARED for overlap in ((True, False) if n > 1 else (True,))]
        lines = self.machines([*steps, INPUTS], "--machines", "1,2,3,4", "--shards", "4", *LINK)
        found = {line["machines"]: line for line in lines if line["name"] == "machines"}
        if found.keys() != HAND.keys():
            self.fail(f"machines {sorted(found)}")
        for n, terms in HAND.items():
            self.terms(found[n], terms, f"{n} machines")
            self.equal("efficiency", found[n]["efficiency"], sum(HAND[1].values()) / (n * sum(terms.values())))
            self.equal("tokens per second", found[n]["tokens_per_second"], 200 / sum(terms.values()))
        if found[2]["excess"] != "sums to all" or found[4]["excess"] != "sums to all":
            self.fail(f"the largest excess: {found[2]['excess']}, {found[4]['excess']}")
        limit = [line for line in lines if line["name"] == "limit"]
        if [(line["machines"], line["excess"]) for line in limit] != [(2, "sums to all")]:
            self.fail(f"efficiency below 0.8: {limit}")
        checks = {line["ranks"]: line for line in lines if line["name"] == "check"}
        for n, terms in SHARED.items():
            self.terms(checks[n], terms, f"{n} ranks here")
            self.equal("deviation", checks[n]["deviation"], sum(terms.values()) / 5 - 1)

    def options(self):
        fast = ["--latency", "1e-9", "--bandwidth", "1e15", "--message", "0"]
        calm = {**INPUTS, "shard_spread": 0.0, "step_seconds": 0.0, "sum_seconds": 0.0}
        for line in self.machines([calm], "--machines", "1,2,4", "--shards", "4", *fast):
            if line["name"] == "machines":
                self.equal("the efficiency of what costs nothing", round(line["efficiency"], 6), 1)
            elif line["name"] == "limit" and line["machines"] != 0:
                self.fail(f"a limit without a reason: {line}")
        one = self.machines([calm], "--machines", "2", "--shards", "4", "--speed", "4", *fast)[0]
        self.equal("two machines of four times the speed", round(one["seconds"], 6), 0.5)
        copied = self.machines([INPUTS], "--machines", "2", "--shards", "4", "--copying", "1", *LINK)[0]
        self.equal("with copying, sending is not hidden", copied["terms"]["scatter"], 0.517)
        step = {"name": "rank_step", "ranks": 2, "overlap": True, "median_seconds": 5.0}
        hidden = self.machines([step, INPUTS], "--machines", "2", "--shards", "4", "--copying", "0", *LINK)
        self.equal("without copying, sending is hidden here, too", hidden[0]["terms"]["scatter"], HAND[2]["scatter"])
        self.run("machines", "--help")
        for wrong in (["--machines", "0"], ["--machines", "8,"], ["--machines", "2000"], ["--shards", "3"],
                      ["--shards", "1,2,4,8"], ["--copying", "2"]):
            self.run("machines", *wrong, code=2, given=json.dumps(INPUTS) + "\n")
        self.run("machines", code=1, given="")
        self.run("machines", "--model", "base", code=1, given=json.dumps(INPUTS) + "\n")
        old = {key: value for key, value in INPUTS.items() if not key.endswith("together")}
        found = self.machines([dict(step, ranks=4), old], "--machines", "2", "--shards", "4", *LINK)
        self.equal("shards of four ranks, measured with one", found[0]["terms"]["shards"], 2)
        for key, value in (("shards", 3), ("shards", 2048), ("cores", 0), ("cores", 1 << 30), ("bytes", 0)):
            self.run("machines", code=1, given=json.dumps({**INPUTS, key: value}) + "\n")
        absurd = [{"name": "rank_step", "ranks": n, "median_seconds": 1.0} for n in (-1, 0, 2, 999, 1 << 31)]  # 2: without overlap only
        if any(line["name"] == "check" for line in self.machines([*absurd, INPUTS])):
            self.fail("impossible numbers of ranks were accepted")
        self.run("machines", code=1, given='{"name": 3}\nnonsense\n{"name": "rank_inputs", "shards": -1}\n')

    def figure(self):
        path = self.files / "machines.svg"
        step = [{"name": "rank_step", "ranks": n, "overlap": True, "median_seconds": 4.0 / n} for n in (1, 2, 3)]
        self.machines([*step, INPUTS], "--svg", str(path))
        svg = xml.etree.ElementTree.parse(path).getroot()
        if svg.get("role") != "img" or not svg.get("aria-label") or svg.find(SVG + "title") is None:
            self.fail("the figure has no name")
        if "prefers-color-scheme: dark" not in path.read_text():
            self.fail("the figure has no dark color scheme")
        hints = [g.find(SVG + "title").text for g in svg.iter(SVG + "g")]
        for wanted in ("1024 machines", "100 Gbit/s", "sums to all", "ranks 3"):
            if not any(wanted in hint for hint in hints):
                self.fail(f"no hint of the figure mentions {wanted}")

    def ranks(self):
        done = subprocess.run([str(self.folder / "perf_scaling"), "--ranks", "3", "--check", "--json"], text=True,
                              capture_output=True, check=False)
        if "without MPI" in done.stderr and done.returncode == 1:
            print("skipped: perf_scaling --ranks: MPI is not built in")
            return
        if not shutil.which("mpirun"):
            print("skipped: perf_scaling --ranks: mpirun is not installed")
            return
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        steps = {(line["transport"], line["ranks"], line["overlap"]) for line in lines if line["name"] == "rank_step"}
        wanted = {(transport, n, overlap) for transport in ("shared memory", "TCP") for n in (1, 2, 3)
                  for overlap in ((True, False) if n > 1 else (True,))}
        if done.returncode != 0 or steps != wanted:
            self.fail(f"perf_scaling --ranks: exit code {done.returncode}, lines {sorted(steps)}: {done.stderr[-2000:]}")
        for line in self.machines(lines, "--machines", "8"):
            numbers = [value for value in line.values() if isinstance(value, float)]
            if not all(math.isfinite(value) for value in numbers):
                self.fail(f"not numbers: {line}")


def main(folder):
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_WAIT_POLICY="passive")
    os.environ.pop("TMPDIR", None)  # sockets need short paths
    with tempfile.TemporaryDirectory() as files:
        trial = Trial(folder, pathlib.Path(files))
        trial.formulas()
        trial.options()
        trial.figure()
        trial.ranks()
    return 1 if trial.failures else 0


sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
