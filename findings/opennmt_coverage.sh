#!/bin/sh
# opennmt_coverage.sh - OpenNMT-py's coverage (coverage_attn) is not a term of the score: it is added to the encoder's states, which
# are also the values, so the context is an average of tanh(states + w coverage). It is added in place, so the caller's encoder
# states change with every step of the decoder, and terms of all earlier steps remain in them. In See, Liu and Manning 2017 the
# coverage is inside the tanh of the score, and the context is the average of the states themselves.
#
# Guess before the run: the module computes the paper's score, and leaves its arguments as they are.
# Needs a large package: python3 (or the program in $PYTHON) with PyTorch; without it the script is skipped. OpenNMT-py 3.5.1 is
# installed into a temporary folder, and only its file of attention and what that imports are loaded.
set -eu
python=${PYTHON:-python3}
"$python" -c 'import numpy, torch' 2>/dev/null || {
    echo "skipped: $python does not have PyTorch, which is a large package"
    exit 0
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps --target "$folder" OpenNMT-py==3.5.1
"$python" -W ignore - "$folder" <<'END'
import importlib
import sys
import types

import torch

for name in ("onmt", "onmt.modules", "onmt.utils"):  # packages without their __init__, which imports everything
    package = types.ModuleType(name)
    package.__path__ = [f"{sys.argv[1]}/{name.replace('.', '/')}"]
    sys.modules[name] = package
GlobalAttention = importlib.import_module("onmt.modules.global_attention").GlobalAttention

torch.manual_seed(1)
attention = GlobalAttention(4, coverage=True, attn_type="mlp")
states, query = torch.randn(1, 3, 4), torch.randn(1, 4)
coverage = torch.tensor([[0.2, 0.5, 0.3]])
with torch.no_grad():
    attention.linear_out.forward = lambda x: x[:, :4]  # of [context, query], the context
    given = states.clone()
    context, weights = attention(query, given, coverage=coverage)
    term = coverage.view(1, 3, 1) * attention.linear_cover.weight.view(1, 1, 4)
    average = (weights.view(1, 3, 1) * states).sum(1)
    squashed = (weights.view(1, 3, 1) * torch.tanh(states + term)).sum(1)
    attention(query, given, coverage=coverage)


def near(a, b):
    return bool(torch.allclose(a, b, atol=1e-6))


ROWS = [  # what, whether it holds, and whether that was expected
    ("the context is the average of the encoder's states", near(context, average), True),
    ("the context is the average of tanh(states + w coverage)", near(context, squashed), False),
    ("the caller's states are unchanged after two steps", near(given, states), True),
    ("the caller's states have the term of both steps", near(given, states + 2 * term), False),
]
print("OpenNMT-py 3.5.1, PyTorch", torch.__version__)
changed = 0
for what, seen, expected in ROWS:
    print(f"{what}: {seen}; expected {expected}")
    changed |= seen == expected
print("seen:", "something else than when this was written" if changed else "as found")
sys.exit(changed)
END
