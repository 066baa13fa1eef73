#!/usr/bin/env python3
"""int8_products.py - times products with 8-bit weights beside ONNX Runtime and oneDNN.

usage: int8_products.py FOLDER [--threads N] [--rounds N]

FOLDER holds the built programs, such as build/bin. Each round runs perf_gemm and then the peers on the same shapes, with
as many copies of the weights. A ratio is the median over the rounds: above 1, rapt is faster.

* ONNX Runtime: DynamicQuantizeLinear, MatMulInteger and the scales as one model, from floats to floats, as in rapt. The
  integer weights are an initializer, which ONNX Runtime packs once.
* oneDNN, the one that PyTorch contains: a packed linear layer of u8 by s8 to floats, whose rows are quantized already.

Results of the peers must agree with the product in floats up to the error of rounding to 8 bits."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("folder")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=3)
options = parser.parse_args()
program = os.path.join(options.folder, "perf_gemm")
if not os.access(program, os.X_OK):
    sys.exit(f"error: {program} is missing; build the target perf_gemm")
os.environ["OMP_NUM_THREADS"] = str(options.threads)


def ours():
    """Returns the median seconds for each shape (rows, outputs, inputs, copies of the weights, used in turn)."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OMP_")}
    command = [program, "--precision", "int8", "--quick", "--threads", str(options.threads), "--json"]
    lines = subprocess.run(command, env=environment, capture_output=True, text=True)
    if lines.returncode:
        sys.exit(f"error: {' '.join(command)}: {lines.stderr.strip()}")
    results = [json.loads(line) for line in lines.stdout.splitlines()]
    return {(*(r["shape"][k] for k in "MNK"), r["copies"]): r["median_seconds"] for r in results}


def median_of(runs):
    end, seconds = time.perf_counter() + 0.3, []
    while len(seconds) < 2 * len(runs) or time.perf_counter() < end:
        run = runs[len(seconds) % len(runs)]
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


class OnnxRuntime:
    def __init__(self):
        import onnx
        import onnxruntime

        self.onnx, self.runtime, self.name = onnx, onnxruntime, f"ONNX Runtime {onnxruntime.__version__}"

    def layer(self, x, weights, scales):
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        nodes = [
            helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
            helper.make_node("MatMulInteger", ["q", "w", "zero"], ["sums"]),
            helper.make_node("Cast", ["sums"], ["floats"], to=kinds.FLOAT),
            helper.make_node("Mul", ["scale", "scales"], ["both"]),
            helper.make_node("Mul", ["floats", "both"], ["y"]),
        ]
        values = [helper.make_tensor_value_info(n, kinds.FLOAT, s)
                  for n, s in (("x", x.shape), ("y", (len(x), len(weights))))]
        constants = [self.onnx.numpy_helper.from_array(a, n)
                     for a, n in ((np.ascontiguousarray(weights.T), "w"), (scales, "scales"))]
        graph = helper.make_graph(nodes, "layer", values[:1], values[1:], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        settings = self.runtime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        session = self.runtime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, {"x": x})[0]


class OneDnn:
    def __init__(self):
        import torch

        torch.set_num_threads(options.threads)
        version = next(line for line in torch.__config__.show().splitlines() if "MKL-DNN" in line).split()[3]
        self.torch, self.name = torch, f"oneDNN {version}"

    def layer(self, x, weights, scales):
        torch, calls = self.torch, self.torch.ops.onednn
        scale = float(x.max() - x.min()) / 255
        zero = int(round(-float(x.min()) / scale))
        rows = torch.from_numpy(np.clip(np.round(x / scale) + zero, 0, 255).astype(np.uint8))
        packed = calls.qlinear_prepack(torch.from_numpy(weights), list(x.shape))
        scales, zeros = torch.from_numpy(scales), torch.zeros(len(scales), dtype=torch.int32)
        return lambda: calls.qlinear_pointwise(rows, scale, zero, packed, scales, zeros, None, 1.0, 0, torch.float32,
                                               "none", [], "")


def check(y, x, weights, scales, name):
    exact = x @ (weights.T * scales)
    error = np.abs(np.asarray(y) - exact).max() / np.abs(exact).max()
    if not error < 0.02:
        sys.exit(f"error: {name} differs from the product in floats by {error:g}")


def main():
    peers = []
    for peer in (OnnxRuntime, OneDnn):
        try:
            peers.append(peer())
        except ImportError as error:
            print(f"left out: {peer.__name__}: {error}")
    if not peers:
        sys.exit("error: pip install onnx onnxruntime torch")
    ratios, generator = {}, np.random.default_rng(1)
    for _ in range(options.rounds):
        for shape, seconds in ours().items():
            rows, outputs, inputs, copies = shape
            x = generator.uniform(-1, 1, (rows, inputs)).astype(np.float32)
            weights = generator.integers(-127, 128, (outputs, inputs)).astype(np.int8)
            scales = generator.uniform(0.5, 1, outputs).astype(np.float32) / 127
            for peer in peers:
                runs = [peer.layer(x, weights, scales) for _ in range(copies)]
                check(runs[0](), x, weights, scales, peer.name)
                ratios.setdefault(shape, {}).setdefault(peer.name, []).append(median_of(runs) / seconds)
    print(f"8-bit products, {options.threads} thread(s), median of {options.rounds} rounds, times as fast\n")
    print("| rows, inputs to outputs | " + " | ".join(p.name for p in peers) + " |\n|" + "---|" * (len(peers) + 1))
    for (rows, outputs, inputs, copies), by_peer in ratios.items():
        cells = [f"{statistics.median(by_peer[p.name]):.2f}" for p in peers]
        memory = ", from memory" if copies > 1 else ""
        print(f"| {rows}, {inputs} to {outputs}{memory} | " + " | ".join(cells) + " |")


main()
