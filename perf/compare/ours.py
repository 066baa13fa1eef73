"""ours.py - libcompare_ours and libcompare_onednn for Python, by ctypes."""
import ctypes
import json
import pathlib

FLOATS = ctypes.POINTER(ctypes.c_float)
WORK = ctypes.c_void_p
Q, K, V, DOUT, OUT, DQ, DK, DV = range(8)  # arrays of attention
X, WEIGHT, Y = range(3)  # arrays of a product
PASSES = {  # in the order of pass.h
    "gemm": "product", "gemm_input": "gradient of input", "gemm_weight": "gradient of weights"}
RESULT = {"gemm": Y, "gemm_input": X, "gemm_weight": WEIGHT}  # the array that a pass computes


class ModelShape(ctypes.Structure):
    names = ["encoder_layers", "decoder_layers", "width", "heads", "hidden", "vocab", "batch",
             "source", "target", "threads"]
    _fields_ = [(name, ctypes.c_int) for name in names]


SIGNATURES = {  # result, arguments
    "ours_environment": (ctypes.c_char_p, []),
    "ours_fill": (None, [FLOATS, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_float]),
    "ours_difference": (ctypes.c_double, [FLOATS, FLOATS, ctypes.c_size_t]),
    "ours_attention_create": (WORK, [ctypes.c_int] * 6),
    "ours_attention_array": (FLOATS, [WORK, ctypes.c_int]),
    "ours_attention_forward": (None, [WORK, ctypes.c_int]),
    "ours_attention_backward": (None, [WORK, ctypes.c_int]),
    "ours_attention_free": (None, [WORK]),
    "ours_product_create": (WORK, [ctypes.c_int] * 5),
    "ours_product_array": (FLOATS, [WORK, ctypes.c_int]),
    "ours_product_run": (None, [WORK, ctypes.c_int]),
    "ours_product_result": (FLOATS, [WORK]),
    "ours_product_free": (None, [WORK]),
    "ours_model_tensors": (ctypes.c_int, [WORK]),
    "ours_model_tensor": (ctypes.c_char_p, [WORK, ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                                            ctypes.POINTER(ctypes.c_int)]),
    "ours_model_read": (None, [WORK, ctypes.c_int, FLOATS]),
    "ours_model_tokens": (ctypes.POINTER(ctypes.c_int32), [WORK, ctypes.c_int]),
    "ours_train_create": (WORK, [ctypes.POINTER(ModelShape), ctypes.c_float, ctypes.c_bool]),
    "ours_train_products": (ctypes.c_char_p, [WORK]),
    "ours_train_step": (ctypes.c_double, [WORK]),
    "ours_translate_create": (WORK, [ctypes.POINTER(ModelShape)]),
    "ours_translate": (ctypes.POINTER(ctypes.c_int32), [WORK]),
    "ours_translate_logits": (FLOATS, [WORK]),
    "ours_model_free": (None, [WORK]),
    "ours_translator_create": (WORK, [ctypes.c_char_p] + [ctypes.c_int] * 5),
    "ours_translator_length": (ctypes.c_int, []),
    "ours_translator_sentences": (ctypes.c_int, []),
    "ours_translator_sources": (ctypes.c_char_p, [WORK]),
    "ours_translator_run": (ctypes.c_char_p, [WORK]),
    "ours_translator_tokens": (ctypes.c_int, [WORK]),
    "ours_translator_free": (None, [WORK]),
}
ONEDNN = {
    "onednn_version": (ctypes.c_char_p, []),
    "onednn_product": (WORK, [ctypes.c_int] * 5 + [FLOATS] * 3),
    "onednn_attention": (WORK, [ctypes.c_int] * 4 + [ctypes.c_float, ctypes.c_int] + [FLOATS] * 4),
    "onednn_run": (None, [WORK, ctypes.c_int]),
    "onednn_free": (None, [WORK]),
}


def load(folder, name, signatures):
    """Returns the library, or None if it was not built."""
    path = pathlib.Path(folder) / f"libcompare_{name}.so"
    if not path.exists():
        return None
    library = ctypes.CDLL(str(path))
    for function, (result, arguments) in signatures.items():
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


class Ours:
    def __init__(self, folder):
        self.c = load(folder, "ours", SIGNATURES)
        if self.c is None:
            raise SystemExit(f"error: {folder} holds no libcompare_ours.so: build compare_ours")
        self.environment = json.loads(self.c.ours_environment())

    def new_floats(self, count, key=None):
        x = (ctypes.c_float * count)()
        if key is not None:
            self.c.ours_fill(x, count, key, 1)
        return x

    def difference(self, x, y, count):
        return self.c.ours_difference(ctypes.cast(x, FLOATS), ctypes.cast(y, FLOATS), count)

    def weights(self, work):
        """Yields name, rows, columns and values of every parameter."""
        rows, columns = ctypes.c_int(), ctypes.c_int()
        for i in range(self.c.ours_model_tensors(work)):
            name = self.c.ours_model_tensor(work, i, rows, columns).decode()
            data = self.new_floats(rows.value * columns.value)
            self.c.ours_model_read(work, i, data)
            yield name, rows.value, columns.value, data
