#!/usr/bin/env python3
"""lines.py ROOT BIN - checks the output of the benchmarks that scripts rely on: JSON lines with the promised keys and
shapes, every kernel of the table, exit codes, a figure that is valid XML. With --check nothing is timed, so the values are
not tested."""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

NUMBERS = ["threads", "seconds", "gflops", "peak_gflops", "of_peak", "median_seconds", "runs"]
ENVIRONMENT = ["processor", "isa", "int8", "compiler", "flags", "openblas", "commit", "variables", "load"]
ATTENTION = ["B", "H", "T", "S", "K", "causal"]
MODEL = ["encoder_layers", "decoder_layers", "width", "heads", "hidden", "vocab", "pairs", "length"]
PROGRAMS = {  # names of results: keys of the shape, further keys
    "peak": {"peak": (["operations"], []), "peak_int8": (["operations"], []), "product": (["M", "N", "K"], []),
             "memory_read": (["bytes"], ["gbytes_per_second"]),
             "memory_add": (["bytes"], ["gbytes_per_second"])},
    "kernel": {None: ([], ["isa", "of_ceiling", "bound", "cycles", "gbytes_per_second"])},
    "gemm": {"gemm": (["M", "N", "K"], ["backend", "pass"])},
    "attention": {"attention_forward": (ATTENTION, []), "attention_backward": (ATTENTION, []),
                  **{f"linear_{name}": (["H", "T", "K"], ["rule"]) for name in ("forward", "backward", "step")},
                  **{f"monotonic_{name}": (["H", "T", "S", "K"], ["mode"]) for name in ("forward", "backward", "step")}},
    "train": {"train_step": (MODEL, ["backend", "tokens_per_second"])},
    "ranks": {"rank_step": (MODEL, ["model", "transport", "shards", "ranks", "overlap", "tokens_per_second"]),
              "rank_inputs": (MODEL, ["model", "transport", "shards", "cores", "bytes", "shard_seconds"])},
    "load": {"load": (["weights_mb", "packed", "mapped"], ["gbytes_per_second"])},
    "translate": {"translate": (MODEL + ["beam", "batch", "sampled"], ["tokens_per_second", "peak_rss_mb"]),
                  "load": (["weights_mb"], ["gbytes_per_second"]),
                  "load_model": (["weights_mb"], ["gbytes_per_second"])},
}
OTHER_NAMES = {"activate": "gelu", "activate_backward": "gelu_backward", "dropout_row": "dropout",
               "simplex_row": "sparsemax_row"}


def complaint(line, promised):
    """Returns what is wrong with a line, or None. promised: the keys of one program."""
    try:
        got = json.loads(line)
    except ValueError:
        return "invalid JSON"
    shape, more = promised.get(got.get("name"), promised.get(None, (None, None)))
    if shape is None:
        return f"unknown name {got.get('name')}"
    missing = [key for key in NUMBERS + more + ["shape", "environment"] if key not in got]
    missing += [f"shape.{key}" for key in shape if key not in got.get("shape", {})]
    missing += [f"environment.{key}" for key in ENVIRONMENT if key not in got.get("environment", {})]
    if missing:
        return f"without {missing}"
    wrong = [key for key in NUMBERS if not isinstance(got[key], (int, float))
             or isinstance(got[key], bool) or not math.isfinite(got[key]) or got[key] < 0]
    return f"not numbers: {wrong}" if wrong else None


def judge():
    """Checks that each kind of error is reported."""
    promised = PROGRAMS["gemm"]
    good = {"name": "gemm", "shape": {"M": 1, "N": 2, "K": 3}, "backend": "builtin",
            "pass": "forward", "environment": {key: "" for key in ENVIRONMENT},
            **{key: 1 for key in NUMBERS}}
    assert complaint(json.dumps(good), promised) is None
    for key in good:
        bad = {k: v for k, v in good.items() if k != key}
        assert complaint(json.dumps(bad), promised), key
    assert complaint(json.dumps({**good, "seconds": "1"}), promised)
    assert complaint(json.dumps({**good, "shape": {"M": 1}}), promised)
    assert complaint("name", promised)


class Trial:
    def __init__(self, folder):
        self.folder, self.failures = folder, []

    def fail(self, what):
        self.failures.append(what)
        print(what)

    def run(self, name, *arguments, code=0):
        done = subprocess.run([str(self.folder / f"perf_{name}"), *arguments], text=True,
                              capture_output=True)
        if done.returncode != code:
            self.fail(f"perf_{name} {' '.join(arguments)}: exit code {done.returncode}, not {code}:"
                      f" {done.stderr[-500:]}")
        return done.stdout.splitlines()

    def lines(self, name, *arguments):
        lines = self.run(name, "--check", "--json", *arguments)
        for line in lines:
            wrong = complaint(line, PROGRAMS[name])
            if wrong:
                self.fail(f"perf_{name}: {wrong}: {line[:200]}")
        found = [json.loads(line) for line in lines]
        missing = {n for n in PROGRAMS[name] if n and (name == "load" or not n.startswith("load"))} - {line["name"] for line in found}
        if missing or not lines:
            self.fail(f"perf_{name}: no line is named {missing}")
        return found

    def kernels(self, root, lines):
        """Checks that each function of the table is measured for each instruction set of this machine."""
        header = (root / "lib/kernel/kernel.h").read_text()
        table = header[header.index("struct kernels {"):]
        pointers = set(re.findall(r"\(\*(\w+)\)\(", table[:table.index("\n};")]))
        for isa in {line["isa"] for line in lines}:
            measured = {line["name"] for line in lines if line["isa"] == isa}
            for pointer in sorted(pointers):
                if OTHER_NAMES.get(pointer, pointer) not in measured:
                    self.fail(f"perf_kernel: {pointer} is not measured for {isa}")
        if len(pointers) < 15:
            self.fail("the table of kernels was not parsed")

    def products(self):
        """Checks that text and figure have a series per implementation of the products, and that one thread gives no figure."""
        figure = self.folder / "products.svg"
        rows = [line.split("\t") for line in
                self.run("scaling", "--check", "--threads", "1,2", "--only", "tiny", "--svg", str(figure))
                if line.startswith("train_step")]
        titles = re.findall(r">([^<]*(?:built-in|OpenBLAS|bf16))</text>", figure.read_text())
        if not titles or sorted(titles) != sorted({row[-1] for row in rows}):
            self.fail(f"perf_scaling: charts {titles}")
        for row in rows:
            if row[1].strip() == "1" and float(row[4]) != 1:
                self.fail(f"perf_scaling: one thread has a speed-up: {row}")
            if not re.search(r"\d (ns|us|ms|s)$", row[2]):
                self.fail(f"perf_scaling: a time without its unit: {row}")
        if len({(row[1], row[-1]) for row in rows}) != len(rows):
            self.fail(f"perf_scaling: two products under one label: {rows}")
        figure.unlink()
        self.run("scaling", "--check", "--threads", "1", "--only", "tiny", "--svg", str(figure))
        if figure.exists():
            self.fail("perf_scaling: a figure for a single number of threads")

    def scaling(self):
        figure = self.folder / "check.svg"
        lines = [json.loads(line) for line in
                 self.run("scaling", "--check", "--json", "--threads", "1,2", "--only", "gemm",
                          "--svg", str(figure))]
        for line in lines:
            if not {"speed_up", "efficiency", "scaling", "threads"} <= line.keys():
                self.fail(f"perf_scaling: keys are missing: {line}")
        if {line["threads"] for line in lines} != {1, 2}:
            self.fail("perf_scaling: other numbers of threads than requested")
        if not xml.etree.ElementTree.parse(figure).getroot().tag.endswith("svg"):
            self.fail("perf_scaling: the figure is not an SVG")
        if not re.search(r", \d{4}-\d\d-\d\d, load of other programs \d+\.\d\d<", figure.read_text()):
            self.fail("perf_scaling: the figure does not name its date and load")
        figure.unlink()

    def crowded(self):
        """Checks the lines of each workload, as a table and as JSON."""
        lines = [json.loads(line) for line in self.run("scaling", "--crowded", "--check", "--json")]
        for line in lines:
            if not {"name", "shape", "threads", "seconds", "seconds_of_one", "ratio", "runs"} <= line.keys():
                self.fail(f"perf_scaling --crowded: keys are missing: {line}")
            if abs(line["ratio"] * line["seconds"] - line["seconds_of_one"]) > 1e-3 * line["seconds_of_one"]:
                self.fail(f"perf_scaling --crowded: the ratio is not that of the times: {line}")
        names = [line["name"] for line in lines]
        if set(names) != {"attention_forward", "attention_backward", "train_step", "generate"} or len(names) != 6:
            self.fail(f"perf_scaling --crowded measures {names}")
        table = [line for line in self.run("scaling", "--crowded", "--check", "--only", "generate") if line[:1] != "#"]
        if len(table) != 2 or "ratio" not in table[0] or not table[1].startswith("generate"):
            self.fail(f"perf_scaling --crowded: {table}")

    def load(self):
        """A folder of Hugging Face is opened and its file read."""
        script = pathlib.Path(__file__).parents[2] / "perf/random_model.py"
        with tempfile.TemporaryDirectory() as place:
            self.run("load", "--check", "--model", place, code=1)
            subprocess.run([sys.executable, "-B", script, "encoder", place, "minilm"], check=True)
            lines = [json.loads(line) for line in self.run("load", "--check", "--json", "--model", place)]
            if [line["name"] for line in lines] != ["read", "open"] or any(line["shape"]["file_mb"] != 90 for line in lines):
                self.fail(f"perf_load --model: {lines}")

    def models(self):
        """Runs perf_translate with a small model made by toy_translate, plain and packed."""
        self.load()
        self.run("gemm", "--check", "--model", "x", code=2)
        with tempfile.TemporaryDirectory() as place:
            self.run("translate", "--check", "--model", f"{place}/missing", code=1)
        toy = self.folder / "toy_translate"
        if not toy.exists():
            print("skipped: perf_translate --model: toy_translate, which makes the model, was not built")
            return
        with tempfile.TemporaryDirectory() as place:
            data, plain, packed = (pathlib.Path(place) / name for name in ("pairs", "plain", "packed"))
            data.write_text("".join(f"a red dog {i}\tein roter Hund {i}\n" for i in range(60)))
            subprocess.run([toy, "train", "--data", data, "--out", plain, "--layers", "1", "--width", "16",
                            "--heads", "2", "--ffn-width", "16", "--steps", "2", "--threads", "1"],
                           check=True, capture_output=True)
            subprocess.run([toy, "convert", "--model", plain, "--to", "packed", "--out", packed], check=True)
            for model in plain, packed:
                lines = self.run("translate", "--check", "--json", "--threads", "1", "--model", str(model))
                names = [json.loads(line)["name"] for line in lines]
                wrong = [complaint(line, PROGRAMS["translate"]) for line in lines]
                if names != ["load", "load_model", "translate", "translate", "translate"] or any(wrong):
                    self.fail(f"perf_translate --model: {names}, {wrong}")
                if json.loads(lines[-1])["shape"]["width"] != 16:
                    self.fail("perf_translate --model: not the model's width")


def main(root, folder):
    trial = Trial(folder)
    judge()
    trial.kernels(root, trial.lines("kernel", "--threads", "1"))
    for name in ("peak", "gemm", "attention", "train"):
        counts = {line["threads"] for line in trial.lines(name, "--threads", "1,2")}
        if counts != {1, 2}:
            trial.fail(f"perf_{name}: threads {counts}")
    for precision in ("int8", "bf16", "f16"):
        for line in trial.lines("gemm", "--threads", "1", "--precision", precision):
            if line.get("precision") != precision or not {"copies", "gbytes_per_second", "of_memory", "times_f32"} <= line.keys():
                trial.fail(f"perf_gemm --precision {precision}: {line}")
    trial.run("gemm", "--check", "--precision", "int9", code=2)
    trial.run("peak", "--check", "--precision", "int8", code=2)
    trial.lines("translate", "--threads", "1", "--only", "greedy")
    trial.lines("ranks")  # a single rank, since it is not started by mpirun
    trial.lines("load", "--threads", "1")
    trial.models()
    trial.scaling()
    trial.crowded()
    trial.products()
    for name in list(PROGRAMS) + ["scaling"]:
        trial.run(name, "--help")
        if not "".join(trial.run(name, "--version")[:1]).startswith(f"perf_{name} "):
            trial.fail(f"perf_{name} --version does not begin with its name")
        trial.run(name, "--nonsense", code=2)
        trial.run(name, "--threads", "0", code=2)
    for name in list(PROGRAMS) + ["scaling"]:
        printed = trial.run(name, "--check", "--only", "nonsense", code=2)
        if printed:
            trial.fail(f"perf_{name} prints a header before it refuses --only nonsense: {printed}")
    trial.run("scaling", "--ranks", "17", code=2)
    return 1 if trial.failures else 0


sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
