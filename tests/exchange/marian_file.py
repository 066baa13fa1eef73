"""marian_file.py - reads Marian's binary files, without code of lib/format. Source: marian-dev, src/common/binary.cpp and
src/tensors/cpu/integer_common.h."""
import numpy

FLOAT32, INT8, INTGEMM8 = 0x404, 0x101, (0x4101, 0x10001)  # browsermt/marian-dev and marian-nmt/marian-dev


def read(path):
    """Returns a dictionary from names to (type, shape, bytes). The file has version 1."""
    data = open(path, "rb").read()
    version, count = numpy.frombuffer(data, "<u8", 2)
    assert version == 1
    headers = numpy.frombuffer(data, "<u8", 4 * int(count), 16).reshape(-1, 4).tolist()
    at, names, shapes = 16 + 32 * int(count), [], []
    for size, *_ in headers:
        names.append(data[at:at + size - 1].decode())
        at += size
    for _, _, axes, _ in headers:
        shapes.append(numpy.frombuffer(data, "<i4", axes, at).tolist())
        at += 4 * axes
    at += 8 + int(numpy.frombuffer(data, "<u8", 1, at)[0])
    tensors = {}
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers):
        tensors[name] = (kind, shape, data[at:at + size])
        at += size
    return tensors


def widened(kind, name, shape, data):
    """Returns a tensor as an array of float32. One of intgemm8 holds int8 numbers, by columns except in embeddings, and
    then the float by which the weights were multiplied."""
    size = int(numpy.prod(shape))
    if kind == FLOAT32:
        return numpy.frombuffer(data, "<f4", size).reshape(shape)
    if kind == INT8:
        return numpy.frombuffer(data, "i1", size).reshape(shape)
    assert kind in INTGEMM8, f"{name}: type {kind:#x}"
    numbers = numpy.frombuffer(data, "i1", size).astype("f4") / numpy.frombuffer(data, "<f4", 1, size)
    return numbers.reshape(shape) if "Wemb" in name else numbers.reshape(shape[::-1]).T


def widen(path, out):
    """Writes a binary file as an npz that Marian reads, in float and without the alphas of activations."""
    arrays = {name: numpy.ascontiguousarray(widened(kind, name, shape, data))
              for name, (kind, shape, data) in read(path).items() if not name.endswith("_QuantMultA")}
    numpy.savez(out, **arrays)
