#!/bin/sh
# Builds, then runs compare.py with the given arguments: compares with PyTorch, oneDNN, ONNX Runtime and CTranslate2.
# usage: run.sh [--quick] [--json] [--markdown] [--threads 1,2] [--only NAME] [--model FOLDER]
# BUILD is the build folder [build].
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build}

cmake -S "$root" -B "$build" >/dev/null
targets="compare_ours perf_peak"
for peer in compare_onednn compare_ort; do
    cmake --build "$build" --target help | grep "$peer" >/dev/null && targets="$targets $peer"
done
# shellcheck disable=SC2086
cmake --build "$build" --target $targets >/dev/null
. "$root/perf/openblas.sh"

# Only Debian's python3 finds Debian's PyTorch.
python=python3
for candidate in /usr/bin/python3 python3; do
    if "$candidate" -c "import torch" 2>/dev/null; then
        python=$candidate
        break
    fi
done
exec "$python" -B "$root/perf/compare/compare.py" "$build/lib" "$@"
