#!/usr/bin/env python3
"""bindings.py INCLUDE [CC] - writes rapt.py on standard output: every enumerator, struct and function of the public headers for
ctypes, with a check of all struct sizes. The C compiler CC reads the headers; INCLUDE is the folder that holds rapt/."""
import re
import subprocess
import sys

PLAIN = {"int": "c_int", "float": "c_float", "double": "c_double", "size_t": "c_size_t", "ptrdiff_t": "c_ssize_t",
         "int32_t": "c_int32", "uint8_t": "c_uint8", "unsigned char": "c_ubyte", "uint64_t": "c_uint64", "char": "c_char",
         "long long": "c_longlong"}
HEAD = '''"""rapt.py - the functions, structs and enumerators of rapt {version} for ctypes; written by bindings.py from the headers, not
by hand. import rapt finds librapt where the system finds libraries; the variable RAPT_LIBRARY may name it."""
import ctypes
import ctypes.util
import os
from ctypes import CFUNCTYPE, POINTER, Structure

library = ctypes.CDLL(os.environ.get("RAPT_LIBRARY") or ctypes.util.find_library("rapt") or "librapt.so")


class Error(Exception):
    """Holds the status and the library's message."""


def check(status, why=None):
    """Raises Error unless status is RAPT_OK."""
    if status:
        text = why.text if why is not None and why.text else library.rapt_status_text(status)
        raise Error(status, text.decode())


def sized(kind, **fields):
    """Returns a struct with its size set and these fields."""
    return kind(size=ctypes.sizeof(kind), **fields)

'''


def headers(include, compiler):
    text = subprocess.run([compiler, "-E", "-P", f"-I{include}", "-x", "c", "-"], check=True, text=True,
                          input="#include <rapt/rapt.h>\n", capture_output=True).stdout
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\)*", " ", text[text.index("const char *rapt_version") - 60:])
    return re.sub(r"\s+", " ", text)


def statements(text):
    """Yields the pieces of top-level text that end with a semicolon."""
    depth, start = 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == ";" and depth == 0:
            yield text[start:i].strip()
            start = i + 1


class Writer:
    def __init__(self):
        self.lines, self.values, self.known, self.sized = [], {}, {}, []

    def type(self, base, stars):
        """Returns the ctypes name of a C type with this number of stars."""
        base = re.sub(r"\b(const|struct|enum)\b", "", base).strip()
        if base == "void":
            return "None" if stars == 0 else "POINTER(ctypes.c_void_p)" if stars > 1 else "ctypes.c_void_p"
        if base == "char" and stars == 1:
            return "ctypes.c_char_p"
        name = "ctypes." + PLAIN[base] if base in PLAIN else self.known[base]
        if name.startswith("CALL "):
            return name[5:]
        return "POINTER(" * stars + name + ")" * stars

    def one(self, text):
        """Parses a declaration: 'const float *x' -> (ctypes name, 'x', [array lengths])."""
        call = re.fullmatch(r"(.+?)(\*?) ?\(\*(\w+)\)\((.*)\)", text)
        if call:
            kinds = [self.type(call[1], len(call[2]))] + [self.one(a)[0] for a in call[4].split(",") if a.strip() != "void"]
            return f"CFUNCTYPE({', '.join(kinds)})", call[3], []
        found = re.fullmatch(r"(.*?[\w ])\s*(\**)\s*(\w+)?((?:\[[^\]]*\])*)", text.strip())
        base, stars, name, lengths = found.groups()
        if name is None or base.strip() in ("", "const") or (name in PLAIN or name in self.known or name == "void"):
            base, name = f"{base} {name or ''}", None
        lengths = [self.value(n) for n in re.findall(r"\[([^\]]*)\]", lengths)]
        return self.type(base, len(stars)), name, lengths

    def value(self, text):
        return int(eval(text.replace("/", "//"), {}, dict(self.values)))  # C constants with only + - * / % <<

    def enum(self, body):
        last = -1
        for item in filter(None, (i.strip() for i in body.split(","))):
            name, _, text = item.partition("=")
            last = self.value(text) if text else last + 1
            self.values[name.strip()] = last
            self.lines.append(f"{name.strip()} = {last}")

    def struct(self, name, body):
        fields = []
        for member in filter(None, (m.strip() for m in body.split(";"))):
            parts = [member] if "(" in member else member.split(",")
            base = re.match(r"(.*?)\s*\**\s*\w+(\[|$)", parts[0])
            for i, part in enumerate(parts):
                kind, field, lengths = self.one(part if i == 0 else f"{base[1]} {part}")
                for n in reversed(lengths):
                    kind += f" * {n}"
                fields.append(f'("{field}", {kind})')
        self.lines += ["", "", f"class {name}(Structure):", "    _fields_ = [" + ",\n                ".join(fields) + "]", "", ""]
        self.known[name] = name
        self.sized.append(name)

    def function(self, text):
        found = re.fullmatch(r"(.+?)(\**) ?(rapt_\w+) ?\((.*)\)", text)
        arguments = [] if found[4].strip() in ("", "void") else [self.one(a)[0] for a in found[4].split(",")]
        self.lines.append(f"{found[3]} = library.{found[3]}")
        self.lines.append(f"{found[3]}.restype = {self.type(found[1], len(found[2]))}")
        self.lines.append(f"{found[3]}.argtypes = [{', '.join(arguments)}]")

    def callback(self, text):
        found = re.fullmatch(r"typedef (.+?)(\**) ?(rapt_\w+) ?\((.*)\)", text)
        kinds = [self.type(found[1], len(found[2]))] + [self.one(a)[0] for a in found[4].split(",")]
        self.lines.append(f"{found[3]} = CFUNCTYPE({', '.join(kinds)})")
        self.known[found[3]] = "CALL " + found[3]

    def statement(self, text):
        whole = re.fullmatch(r"(?:typedef )?(enum|struct) ?(\w*) ?\{(.*)\} ?(\w*)", text)
        if whole and whole[1] == "enum":
            self.enum(whole[3])
            self.known[whole[4]] = "ctypes.c_int"
        elif whole:
            self.struct(whole[4], whole[3])
        elif re.fullmatch(r"typedef struct (\w+) \1", text):
            name = text.split()[-1]
            self.lines += ["", "", f"class {name}(Structure):", "    pass  # opaque", "", ""]
            self.known[name] = name
        elif text.startswith("typedef "):
            self.callback(text)
        elif re.search(r"\brapt_\w+ ?\(", text):
            self.function(text)


def main(include, compiler="cc"):
    writer = Writer()
    for statement in statements(headers(include, compiler)):
        writer.statement(statement)
    base = open(f"{include}/rapt/base.h").read()
    version = ".".join(re.search(rf"RAPT_VERSION_{part} (\d+)", base)[1] for part in ("MAJOR", "MINOR", "PATCH"))
    tail = ["", "structs = [" + ", ".join(writer.sized) + "]"]
    if "rapt_struct_size" in "\n".join(writer.lines):
        tail += ["for kind in structs:",
                 "    if rapt_struct_size(kind.__name__.encode()) not in (0, ctypes.sizeof(kind)):",
                 '        raise ImportError(f"{kind.__name__} has another size in the library: write rapt.py anew")']
    text = HEAD.replace("{version}", version) + "\n".join(writer.lines + tail) + "\n"
    sys.stdout.write(re.sub(r"\n{4,}", "\n\n\n", text))


main(*sys.argv[1:])
