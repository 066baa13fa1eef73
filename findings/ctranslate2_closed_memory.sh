#!/bin/sh
# ctranslate2_closed_memory.sh - the first time that a process closes a model of 390 MB, CTranslate2 gives the memory back to the
# system; from the second time on it keeps more and more of it, until 329 MB remain after the fourth. The next model is opened in
# this memory, so that it does not grow beyond one model, and the second opening is faster than the first. unload_model behaves
# alike. With MALLOC_MMAP_THRESHOLD_ set to 1 MB, each time gives the memory back.
#
# Guess before the run: weights are large blocks, which glibc maps from the system and unmaps when they are freed, so closing a
# model returns the process to what it was before, every time.
# Needs: Linux with glibc, 1 GB of memory, python3 with venv, and a package index. Installs ctranslate2 4.8.5 into a temporary
# folder; the model is random (375 MB on disk).
set -eu
getconf GNU_LIBC_VERSION >/dev/null 2>&1 || {
    echo "skipped: the C library is not glibc"
    exit 0
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q ctranslate2==4.8.5 numpy==2.4.6 || {
    echo "skipped: ctranslate2 4.8.5 cannot be installed"
    exit 0
}
mkdir "$folder/model"
"$folder/venv/bin/python" - "$folder/model" <<'END'
import sys

import ctranslate2
import numpy

LAYERS, WIDTH, HEADS, INNER, TOKENS = 6, 512, 8, 2048, 32000
random = numpy.random.default_rng(1)


def matrix(rows, columns):
    return random.standard_normal((rows, columns), dtype=numpy.float32) / 30


def fill(linear, rows, columns):
    linear.weight, linear.bias = matrix(rows, columns), numpy.zeros(rows, dtype=numpy.float32)


def fill_norm(norm):
    norm.gamma, norm.beta = numpy.ones(WIDTH, dtype=numpy.float32), numpy.zeros(WIDTH, dtype=numpy.float32)


def fill_attention(attention, widths):
    for linear, rows in zip(attention.linear, widths):
        fill(linear, rows, WIDTH)
    fill_norm(attention.layer_norm)


spec = ctranslate2.specs.TransformerSpec.from_config(LAYERS, HEADS, pre_norm=False)
spec.encoder.embeddings[0].weight = matrix(TOKENS, WIDTH)
spec.decoder.embeddings.weight = matrix(TOKENS, WIDTH)
fill(spec.decoder.projection, TOKENS, WIDTH)
for side in (spec.encoder, spec.decoder):
    side.position_encodings.encodings = matrix(512, WIDTH)
    for layer in side.layer:
        fill_attention(layer.self_attention, (3 * WIDTH, WIDTH))
        if side is spec.decoder:
            fill_attention(layer.attention, (WIDTH, 2 * WIDTH, WIDTH))
        fill(layer.ffn.linear_0, INNER, WIDTH)
        fill(layer.ffn.linear_1, WIDTH, INNER)
        fill_norm(layer.ffn.layer_norm)
words = ["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(3, TOKENS)]
spec.register_source_vocabulary(words)
spec.register_target_vocabulary(words)
spec.validate()
spec.save(sys.argv[1])
END
cat >"$folder/open.py" <<'END'
import sys

import ctranslate2


def megabytes():
    return int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmRSS"))) // 1024


before, closed = megabytes(), []
for _ in range(4):
    translator = ctranslate2.Translator(sys.argv[1], device="cpu", inter_threads=1, intra_threads=1)
    opened = megabytes()
    del translator
    closed.append(megabytes())
print(f"{before} MB at first, {opened} MB with the model open, after closing it for the 1st to 4th time: {closed}")
share = [(megabytes - before) / (opened - before) for megabytes in closed]
kept = sys.argv[2] == "kept"
as_found = share[0] < 0.1 and (min(share[2:]) > 0.4 if kept else max(share) < 0.1)
sys.exit(0 if as_found else 1)
END
echo "ctranslate2 4.8.5, $(getconf GNU_LIBC_VERSION)"
echo "expected: the same memory after each closing as before the first opening"
status=0
"$folder/venv/bin/python" "$folder/open.py" "$folder/model" kept || status=1
echo "with MALLOC_MMAP_THRESHOLD_=1048576:"
MALLOC_MMAP_THRESHOLD_=1048576 "$folder/venv/bin/python" "$folder/open.py" "$folder/model" returned || status=1
[ "$status" = 0 ] && echo "seen: as found" || echo "seen: something else than when this was written"
exit "$status"
