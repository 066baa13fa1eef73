"""embed.py PROGRAM FOLDER LINES [--threads 1,2] [--samples N] - compares embeddings of sentences with those of
sentence-transformers and ONNX Runtime: time of all lines, peak memory of each process, and the least cosine.

PROGRAM is compare_embedder, FOLDER a sentence encoder as sentence-transformers uses it, LINES a file. --make-lines N writes N
sentences of 20 tokens to LINES first, from words of the vocabulary. Needs PyPI's sentence-transformers, torch, onnx, onnxscript,
onnxruntime and tokenizers; a peer that is missing is left out. The ONNX model is exported from that of sentence-transformers.

Every peer is a process of its own that has loaded the model and embedded the lines once; samples of all take turns."""
import argparse
import array
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

BATCH, TOKENS = 32, 20


# ---- the peers: each returns a function that returns the vectors of sentences, of norm 1 ----

def sentence_transformers(folder, threads, scratch):
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(threads)
    model = SentenceTransformer(folder, device="cpu")
    return lambda lines: model.encode(lines, batch_size=BATCH, normalize_embeddings=True)


def export(folder, path):
    """Writes an ONNX model that computes the rows of the last layer."""
    import torch
    from transformers import AutoModel
    model = AutoModel.from_pretrained(folder).eval()

    class Rows(torch.nn.Module):
        def forward(self, input_ids, attention_mask, token_type_ids):
            return model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]
    ids = torch.ones(2, 8, dtype=torch.int64)
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens")}
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(Rows(), (ids, ids.clone(), ids * 0), path, input_names=names, output_names=["rows"], dynamo=True,
                      dynamic_shapes=dict.fromkeys(names, axes))


def onnxruntime(folder, threads, scratch):
    path = scratch / "model.onnx"
    if not path.exists():
        subprocess.run([sys.executable, __file__, "--export", folder, path], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    import numpy
    import onnxruntime
    import tokenizers
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.enable_padding()
    tokenizer.enable_truncation(256)

    def vectors(lines):
        parts = []
        for i in range(0, len(lines), BATCH):
            batch = tokenizer.encode_batch(lines[i:i + BATCH])
            ids = numpy.array([e.ids for e in batch])
            mask = numpy.array([e.attention_mask for e in batch])
            rows = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids * 0})[0]
            means = (rows * mask[:, :, None].astype(rows.dtype)).sum(1) / mask.sum(1, keepdims=True).astype(rows.dtype)
            parts.append(means / numpy.linalg.norm(means, axis=1, keepdims=True))
        return numpy.concatenate(parts)
    return vectors


PEERS = {"sentence-transformers": (sentence_transformers, "sentence_transformers"), "ONNX Runtime": (onnxruntime, "onnxruntime")}


def serve(name, folder, lines, result, threads):
    """Does what embedder.c does."""
    vectors = PEERS[name][0](folder, threads, pathlib.Path(result).parent)
    sentences = pathlib.Path(lines).read_text(encoding="utf-8").splitlines()
    vectors(sentences).astype("float32").tofile(result)
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.monotonic()
        vectors(sentences)
        print(time.monotonic() - begin, flush=True)


# ---- the comparison ----

class Process:
    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env=environment)
        self.ready = self.process.stdout.readline().strip() == "ready"
        self.seconds = []

    def sample(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.seconds.append(float(self.process.stdout.readline()))

    def megabytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1000

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def least_cosine(path, other):
    """Returns the least cosine of two files of vectors of norm 1 that have the same rows."""
    x, y = array.array("f", path.read_bytes()), array.array("f", other.read_bytes())
    width = len(x) // ROWS
    assert len(x) == len(y)
    dot = lambda a, b, i: math.fsum(a[j] * b[j] for j in range(i, i + width))
    return min(dot(x, y, i) / math.sqrt(dot(x, x, i) * dot(y, y, i)) for i in range(0, len(x), width))


def compare(options, threads, scratch):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), RAYON_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive",
                       TOKENIZERS_PARALLELISM="true" if threads > 1 else "false", HF_HUB_OFFLINE="1")
    environment.pop("OPENBLAS_CORETYPE", None)
    files = {name: scratch / f"{i}.vectors" for i, name in enumerate(["rapt", *PEERS])}
    commands = {"rapt": [options.program, options.folder, options.lines, files["rapt"], str(threads)]}
    for name in PEERS:
        commands[name] = [sys.executable, __file__, "--serve", name, options.folder, options.lines, files[name], str(threads)]
    running = {name: Process(command, environment) for name, command in commands.items()}
    running = {name: process for name, process in running.items() if process.ready}
    for _ in range(options.samples):
        for process in running.values():
            process.sample()
    for name, process in running.items():
        seconds = statistics.median(process.seconds)
        ratio = statistics.median(a / b for a, b in zip(process.seconds, running["rapt"].seconds))
        print(f"{name:22} {threads:2} threads  {1000 * seconds:8.1f} ms  {ratio:5.2f} times ours  {process.megabytes():7.0f} MB  "
              f"least cosine {least_cosine(files[name], files['rapt']):.7f}", flush=True)
    for process in running.values():
        process.end()


def make_lines(folder, path, count):
    vocabulary = pathlib.Path(f"{folder}/vocab.txt").read_text(encoding="utf-8").splitlines()
    words = [word for word in vocabulary if re.fullmatch("[a-z0-9]+", word)]
    dice = random.Random(1)
    lines = (" ".join(dice.choices(words, k=TOKENS - 2)) for _ in range(count))
    pathlib.Path(path).write_text("".join(line + "\n" for line in lines))


if sys.argv[1:2] == ["--export"]:
    export(*sys.argv[2:])
elif sys.argv[1:2] == ["--serve"]:
    serve(*sys.argv[2:6], int(sys.argv[6]))
else:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for argument in ("program", "folder", "lines"):
        parser.add_argument(argument)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--make-lines", type=int)
    given = parser.parse_args()
    if given.make_lines:
        make_lines(given.folder, given.lines, given.make_lines)
    ROWS = len(pathlib.Path(given.lines).read_text(encoding="utf-8").splitlines())
    with tempfile.TemporaryDirectory() as scratch:
        for threads in map(int, given.threads.split(",")):
            compare(given, threads, pathlib.Path(scratch))
