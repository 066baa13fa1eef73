#!/usr/bin/env python3
"""contracts.py ROOT - checks what the comment of a public function or type says (reference.py checks that it exists):

    returns rapt_status     the possible errors, as RAPT_*
    takes T **              who frees the object: "free"
    returns a pointer       who owns it, how long it is valid, or that it is static
    arrays                  the shape, in brackets, of arrays of floats, ids and offsets
    typedef struct x x      which threads may use the object at once

A comment that begins with "The same", or contains "as rapt_x", inherits from the comment of the previous function, or of
rapt_x."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "include"))
sys.dont_write_bytecode = True
import reference

BEFORE = r"(?P<before>/\*\*(?:(?!\*/).)*\*/\s*)?"
FUNCTION = re.compile(BEFORE + r"^RAPT_API (?P<returns>[^;(]*?)\b(?P<name>rapt_\w+)\((?P<arguments>[^;]*)\);[ \t]*(?P<behind>/\*\*<.*?\*/)?",
                      re.M | re.S)
OBJECT = re.compile(BEFORE + r"^typedef struct (?P<name>\w+) (?P=name);", re.M | re.S)


def comment(found):
    """Returns the comments before and after a declaration, without a comment about the file."""
    before = found["before"] or ""
    return ("" if "@file" in before else before) + (found.groupdict().get("behind") or "")


def said(name, comments, order, seen=()):
    """Returns the comment of a function with those that it refers to."""
    text = comments[name]
    words = re.sub(r"/\*\*<?|\*/", "", text).strip()
    others = [other for other in re.findall(r"\b(?:[Aa]s|that)\s+(?:for\s+|in\s+)?(rapt_\w+)", text) if other in comments]
    if re.match(r"The same|One of them from", words) and order.index(name) > 0:
        others.append(order[order.index(name) - 1])
    return " ".join([text, *(said(other, comments, order, (*seen, name)) for other in others if other not in (*seen, name))])


def wants(returns, arguments, text):
    """Yields what is missing in the comment of a function."""
    if returns.strip() == "rapt_status" and not re.search(r"RAPT_(BAD|NO|NOT)_", text):
        yield "errors"
    if re.search(r"rapt_\w+ \*\*\w+", arguments) and not re.search(r"\bfree\b", text):
        yield "who frees the object"
    if "*" in returns and not re.search(r"\bowned\b|\bbelongs?\b|\bstatic\b|\bconstant\b|\buntil\b", text, re.I):
        yield "who owns the result"
    arrays = re.findall(r"(?:float|int32_t|uint8_t|int) \*(\w+)", arguments)
    if "[" not in text and any(not re.search(r"\*%s\b" % name, text) for name in arrays):
        yield "shapes"


def judge(text):
    """Yields the symbols of a converted header and what their comments lack."""
    functions = list(FUNCTION.finditer(text))
    comments = {found["name"]: comment(found) for found in functions}
    order = list(comments)
    for found in functions:
        for what in wants(found["returns"], found["arguments"], said(found["name"], comments, order)):
            yield f"{found['name']}: {what}"
    for found in OBJECT.finditer(text):
        if "thread" not in comment(found):
            yield f"{found['name']}: threads"


def judge_itself():
    """Checks that each omission is reported, and that complete comments pass."""
    bare = "RAPT_API rapt_status rapt_a(rapt_x **x, const float *data);\nRAPT_API const char *rapt_b(void);\ntypedef struct rapt_x rapt_x;\n"
    full = ("/** Of x, [rows]; the caller's to free. RAPT_NO_MEMORY. */\nRAPT_API rapt_status rapt_a(rapt_x **x, const float *data);\n"
            "/** The same. */\nRAPT_API rapt_status rapt_c(rapt_x **x, const float *data);\n"
            "RAPT_API const char *rapt_b(void); /**< static */\n/** One thread at a time. */\ntypedef struct rapt_x rapt_x;\n")
    assert list(judge(bare)) == ["rapt_a: errors", "rapt_a: who frees the object", "rapt_a: shapes", "rapt_b: who owns the result",
                                 "rapt_x: threads"], list(judge(bare))
    assert not list(judge(full)), list(judge(full))


judge_itself()
headers = sorted((ROOT / "include/rapt").glob("*.h"))
lacking = [f"{path.name}: {what}" for path in headers for what in judge(reference.convert(path))]
count = sum(len(FUNCTION.findall(reference.convert(path))) for path in headers)
print("\n".join([*lacking, f"{count} functions"]))
sys.exit(1 if lacking or count < 100 else 0)
