#!/bin/sh
# Builds, then runs compare.py with the given arguments: compares with PyTorch, oneDNN, ONNX Runtime and CTranslate2.
# Says what it does on standard error, and draws the ratios to BUILD/compare.svg unless --svg names another file.
# usage: run.sh [--quick] [--json] [--markdown] [--svg FILE] [--threads 1,2] [--only NAME] [--model FOLDER]
# BUILD is the build folder [build].
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$root/build}

cmake -S "$root" -B "$build" >/dev/null
targets="compare_ours perf_peak"
for peer in compare_onednn compare_ort; do
    cmake --build "$build" --target help | grep "$peer" >/dev/null && targets="$targets $peer"
done
echo "building $targets in $build" >&2
# shellcheck disable=SC2086
cmake --build "$build" --parallel --target $targets >/dev/null
. "$root/perf/openblas.sh"

# Only Debian's python3 finds Debian's PyTorch.
python=python3
for candidate in /usr/bin/python3 python3; do
    if "$candidate" -c "import torch" 2>/dev/null; then
        python=$candidate
        break
    fi
done
echo "comparing with $python: every work with each number of threads, samples of both sides in turn" >&2
exec "$python" -B "$root/perf/compare/compare.py" "$build/lib" --svg "$build/compare.svg" "$@"
