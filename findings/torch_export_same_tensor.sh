#!/bin/sh
# torch_export_same_tensor.sh - torch.export, and torch.onnx.export on top of it, merge two inputs if the example inputs are the
# same tensor object, such as one tensor of ones for token ids and attention mask: the program reads only the last of them, in
# silence. Two equal tensors are not merged, nor are a tensor and a view of it. torch.jit.trace and torch.compile, given the same
# object, keep both inputs. An encoder exported in this way reads the mask in place of the ids.
#
# Guess before the run: examples give types and shapes; the program depends on both inputs.
# Needs a large package: python3 (or the program in $PYTHON) with PyTorch 2.15.0, which PyPI has only as a build of several GB for
# CUDA. It is not installed here; without it the script is skipped.
set -eu
python=${PYTHON:-python3}
"$python" -c 'import torch; assert torch.__version__.startswith("2.15.0")' 2>/dev/null || {
    echo "skipped: $python does not have PyTorch 2.15.0, which is a large package"
    exit 0
}
exec "$python" - 2>/dev/null <<'END'
import sys

import torch


class Digits(torch.nn.Module):
    def forward(self, tens, ones):
        return 10 * tens + ones


def exported(*example, **options):
    return torch.export.export(Digits(), example, **options).module()


example, tens, ones = torch.ones(2), torch.full((2,), 3.0), torch.full((2,), 4.0)
# What, the program, and its result for 3 and 4 when this was written; 34 was expected of all.
ROWS = [
    ("torch.export, one tensor twice", exported(example, example), 44),
    ("the same with strict=True", exported(example, example, strict=True), 44),
    ("torch.export, a tensor and its clone", exported(example, example.clone()), 34),
    ("torch.export, a tensor and a view", exported(example, example[:]), 34),
    ("torch.jit.trace, one tensor twice", torch.jit.trace(Digits(), (example, example)), 34),
]
print("PyTorch", torch.__version__)
changed = 0
for what, program, seen in ROWS:
    got = int(program(tens, ones)[0])
    print(f"{what}: {got}; expected 34")
    changed |= got != seen
print("seen:", "something else than when this was written" if changed else "as found")
sys.exit(changed)
END
