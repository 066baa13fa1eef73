#!/usr/bin/env python3
"""attention.py - the example of README.md with weights, from Python by ctypes: values V in; weights a and the context c
out. It needs rapt.py: python3 bindings.py PREFIX/include > rapt.py, where the library is installed in PREFIX."""
import ctypes
import math

import rapt

KEYS, WIDTH = 3, 2


def floats(*values):
    return (ctypes.c_float * len(values))(*values)


why = rapt.rapt_message()
problem = rapt.rapt_attention()
rapt.check(rapt.rapt_attention_init(problem, ctypes.sizeof(problem), 1, 1, 1, KEYS, WIDTH))
q, k = floats(2, 0), floats(1, 0, 0, 1, -1, 0)
v, c, a, statistics = floats(1, 2, 3, 4, 5, 6), floats(0, 0), floats(0, 0, 0), floats(0, 0)
saved = rapt.sized(rapt.rapt_attention_saved, statistics=statistics)

size = rapt.rapt_attention_workspace(problem)
memory = ctypes.create_string_buffer(size + 64)
workspace = ctypes.c_void_p((ctypes.addressof(memory) + 63) // 64 * 64)
rapt.check(rapt.rapt_attention_forward(problem, q, k, v, c, saved, workspace, why), why)
rapt.check(rapt.rapt_attention_weights(problem, q, k, saved, 0, 0, 0, 1, a, workspace, why), why)
print("a ", *(f"{x:.3f}" for x in a))
print("c ", *(f"{x:.3f}" for x in c))

exponentials = [math.exp(x / math.sqrt(2)) for x in (2, 0, -2)]
assert all(abs(e / sum(exponentials) - x) < 1e-6 for e, x in zip(exponentials, a))

problem.mask.causal = 1  # needs mask.causal_alignment
try:
    rapt.check(rapt.rapt_attention_check(problem, why), why)
except rapt.Error as error:
    print(error.args[1])
