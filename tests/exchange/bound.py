"""bound.py - the library by ctypes, for the scripts beside it: attention over numpy arrays, and comparisons."""
import ctypes
import os
import pathlib
import subprocess
import sys

import numpy

library, include = sys.argv[4:6]
here = pathlib.Path(__file__).resolve().parent
bindings = here.parents[1] / "apps/examples/bindings.py"
pathlib.Path("rapt.py").write_text(subprocess.run([sys.executable, str(bindings), include], check=True, capture_output=True, text=True).stdout)
sys.path.insert(0, os.getcwd())
os.environ["RAPT_LIBRARY"] = library
import rapt  # noqa: E402

ATTENTION = ("out", "dq", "dk", "dv", "dnumber")


def floats(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def aligned(size):
    """Returns a buffer and the address of its first 64-byte boundary, with `size` bytes after it."""
    memory = ctypes.create_string_buffer(size + 64)
    return memory, (ctypes.addressof(memory) + 63) // 64 * 64


def problem(q, k, v):
    """Returns the problem of one sequence with arrays [heads][rows][width]."""
    heads, queries, width = q.shape
    keys, value_width = v.shape[1:]
    a = rapt.rapt_attention()
    rapt.check(rapt.rapt_attention_init(a, ctypes.sizeof(a), 1, heads, queries, keys, width))
    a.value_width = value_width
    a.v = rapt.rapt_stride(heads * keys * value_width, keys * value_width, value_width)
    a.out = rapt.rapt_stride(heads * queries * value_width, queries * value_width, value_width)
    a.mask.causal_alignment = rapt.RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT
    return a


def attend(a, q, k, v, dout, number_array=None, number=None, vectors=None):
    """Returns out and the gradients of q, k, v and, if there is such a learned array, of the numbers; then those of `vectors`,
    arrays of rapt_distances by name."""
    out, statistics = numpy.zeros_like(dout), numpy.zeros((*q.shape[:2], 2), numpy.float32)
    results = [numpy.zeros_like(x) for x in (q, k, v, number) if x is not None]
    saved = rapt.sized(rapt.rapt_attention_saved, statistics=floats(statistics))
    d = rapt.sized(rapt.rapt_gradients, q=floats(results[0]), k=floats(results[1]), v=floats(results[2]))
    if number_array is not None:
        a.parameters.array[number_array], d.parameters[number_array] = floats(number), floats(results[3])
    for name, x in (vectors or {}).items():
        results.append(numpy.zeros_like(x))
        setattr(a.distances, name, floats(x))
        setattr(d.distances, name, floats(results[-1]))
    memory, address = aligned(rapt.rapt_attention_workspace(a))
    workspace, why = ctypes.c_void_p(address), rapt.rapt_message()
    q, k, v, dout, to = (floats(x) for x in (q, k, v, dout, out))
    rapt.check(rapt.rapt_attention_forward(a, q, k, v, to, saved, workspace, why), why)
    rapt.check(rapt.rapt_attention_backward(a, q, k, v, to, saved, dout, None, d, workspace, why), why)
    return [out, *results]


def compare(what, got, wanted, names):
    for name, x, y in zip(names, got, wanted):
        error, size = abs(x - y).max(), max(1, abs(y).max())
        assert error <= 2e-5 * size, f"{what}: {name} differs by {error:.3g}, its greatest element is {size:.3g}"
