"""peer_ort.py - the workloads as models of ONNX Runtime: one operator each, on the arrays of ours."""
import ctypes

import numpy
from onnx import TensorProto, helper, numpy_helper

from ours import FLOATS, WORK

SIGNATURES = {
    "ort_version": (ctypes.c_char_p, []),
    "ort_create": (WORK, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]),
    "ort_bind": (None, [WORK, ctypes.c_char_p, FLOATS, ctypes.POINTER(ctypes.c_int64), ctypes.c_int]),
    "ort_run": (None, [WORK, ctypes.c_int]),
    "ort_free": (None, [WORK]),
}
runtime = None  # libcompare_ort, which compare.py loads
VERSIONS = [helper.make_opsetid("", 15), helper.make_opsetid("com.microsoft", 1)]


def as_array(pointer, *size):
    """Returns a view of the numbers at one of our pointers."""
    return numpy.ctypeslib.as_array(pointer, shape=size)


def pointer_of(array):
    array = numpy.ascontiguousarray(array)
    return array.ctypes.data_as(FLOATS)


def name():
    return "ONNX Runtime " + runtime.ort_version().decode()


class Work:
    """Makes a model of one operator. Inputs are given by name; `constant` ones become part of the model."""

    def __init__(self, threads, operator, inputs, out, constant=(), **attributes):
        self.kept = {name: numpy.ascontiguousarray(x) for name, x in inputs.items()} | {"out": out}
        node = helper.make_node(operator, list(inputs), ["out"], **attributes)
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape)
                  for name, x in self.kept.items() if name not in constant]
        weights = [numpy_helper.from_array(self.kept[name], name) for name in constant]
        graph = helper.make_graph([node], "work", values[:-1], values[-1:], weights)
        model = helper.make_model(graph, opset_imports=VERSIONS, ir_version=8).SerializeToString()
        self.work = runtime.ort_create(model, len(model), threads)
        for name, x in self.kept.items():
            if name not in constant:
                size = (ctypes.c_int64 * x.ndim)(*x.shape)
                runtime.ort_bind(self.work, None if name == "out" else name.encode(),
                                 x.ctypes.data_as(FLOATS), size, x.ndim)

    def run(self, times):
        runtime.ort_run(self.work, times)

    def free(self):
        runtime.ort_free(self.work)


def product(threads, name, x, weight, y):
    """Makes y = x W' with constant weights, x = y W, or W + y' x."""
    out = numpy.zeros_like({"gemm": y, "gemm_input": x, "gemm_weight": weight}[name])
    if name == "gemm":
        return Work(threads, "MatMul", {"x": x, "w": weight.T}, out, constant=["w"]), out
    if name == "gemm_input":
        return Work(threads, "MatMul", {"y": y, "w": weight}, out), out
    return Work(threads, "Gemm", {"y": y, "x": x, "w": numpy.zeros_like(weight)}, out,
                transA=1), out


def attention(threads, arrays, causal):
    """Makes attention. Our arrays of q, k, v are [batch][heads][rows][width]; its operator takes [batch][rows][heads][width]."""
    batch, heads, rows, width = arrays[0].shape
    q, k, v = (x.transpose(0, 2, 1, 3).reshape(batch, rows, heads * width) for x in arrays)
    out = numpy.zeros((batch, rows, heads * width), numpy.float32)
    work = Work(threads, "MultiHeadAttention", {"q": q, "k": k, "v": v}, out,
                domain="com.microsoft", num_heads=heads, unidirectional=int(causal))
    return work, out.reshape(batch, rows, heads, width).transpose(0, 2, 1, 3)
