#!/usr/bin/env python3
"""tables.py ROOT - checks that tables agree with the public headers, which they mirror:

tests/api/calls.c has one row for every function that takes a pointer or a rapt_text, which is right about its message and
number of pointers. Likewise every pointer in a struct that functions take in arrays, or singly without a size, and every
such argument.

tests/fuzz/structs.c, which fills structs with any bytes, names every pointer of those that it passes to the library.

lib/document/struct_size.c lists every struct exactly once, and no other.

lib/model/config.def has the fields, types, order, ranges and defaults of rapt_config; lib/attention/learned.def has the
enumerators of rapt_attention_parameter, their order and whether an array is optional."""
import pathlib
import re
import sys


def declared(root):
    """Returns {name: (whether it takes a message, number of other pointers)}."""
    functions = {}
    for header in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        for found in re.finditer(r"\bRAPT_API\b[^;{()]*?\b(rapt_\w+)\s*\(([^;{]*?)\)\s*;", text):
            arguments = [a.strip() for a in found[2].split(",")]
            message = any("rapt_message" in a for a in arguments)
            pointers = sum("*" in a or a.startswith("rapt_text ") for a in arguments) - message
            if message or pointers:
                functions[found[1]] = message, pointers
    return functions


def listed(root):
    text = (root / "tests/api/calls.c").read_text()
    rows = re.findall(r'\{"(rapt_\w+)", (true|false), (\d+), [^{}]*?, (\w+)\}', text)
    return [(name, (message == "true", int(pointers)), call) for name, message, pointers, call in rows]


def structs_of(root):
    """Returns {name: [(type, pointer?, member)]} of the structs that the public headers define."""
    structs = {}
    for header in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        for found in re.finditer(r"typedef struct (rapt_\w+) \{(.*?)\}\s*\1;", text, re.S):
            members = re.findall(r"(?:const )?(\w+) (\*?)([^;]*);", found[2])
            structs[found[1]] = [(kind, star, name.strip()) for kind, star, name in members]
    return structs


def elements_of(structs):
    """Returns {(struct, member)} of the pointers to data in structs without a size."""
    plain = {name: members for name, members in structs.items() if members[0] != ("size_t", "", "size")}
    callbacks = {name for name, members in plain.items() if any("(" in member for _, _, member in members)}
    return {(name, member) for name, members in plain.items() if name not in callbacks
            for _, star, member in members if star and "[" not in member}


def places_of(root, structs, elements):
    """Returns {(function, argument, struct)} of the arguments, and members of arguments, that lead to such structs."""
    kinds, places = {name for name, _ in elements}, set()
    for header in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        for found in re.finditer(r"\bRAPT_API\b[^;{()]*?\b(rapt_\w+)\s*\(([^;{]*?)\)\s*;", text):
            for kind, argument in re.findall(r"const (rapt_\w+) \*(\w+)", found[2]):
                if kind in kinds:
                    places.add((found[1], argument, kind))
                places |= {(found[1], f"{argument}.{member}", inner) for inner, star, member in structs.get(kind, [])
                           if star and inner in kinds}
    return places


def complaints_about_elements(root):
    """Compares the tables of structs and of their places with the headers."""
    text, structs = (root / "tests/api/calls.c").read_text(), structs_of(root)
    elements = elements_of(structs)
    places = places_of(root, structs, elements)
    used = {name for _, _, name in places}
    elements = {(name, member) for name, member in elements if name in used}
    listed_elements = set(re.findall(r'\{"(rapt_\w+)", "(\w+)", offsetof\(rapt_', text))
    listed_places = set(re.findall(r'\{"(rapt_\w+)", "([\w.]+)", "(rapt_\w+)", offsetof\(struct world', text))
    wrong = [f"{' '.join(row)}: has no row in tests/api/calls.c" for row in
             sorted(elements - listed_elements) + sorted(places - listed_places)]
    wrong += [f"{' '.join(row)}: not in a header" for row in
              sorted(listed_elements - elements) + sorted(listed_places - places)]
    if len(elements) < 9 or len(places) < 30:
        wrong.append(f"only {len(elements)} pointers and {len(places)} places were found in the headers")
    return wrong


def calls(root):
    functions, rows = declared(root), listed(root)
    names = [name for name, _, _ in rows]
    wrong = [f"{n}: has no row in tests/api/calls.c" for n in sorted(functions.keys() - set(names))]
    wrong += [f"{n}: not in a header, or takes no pointer" for n in sorted(set(names) - functions.keys())]
    wrong += [f"{n}: has more than one row" for n in sorted(set(names)) if names.count(n) > 1]
    for name, says, call in rows:
        if name in functions and says != functions[name]:
            wrong.append(f"{name}: the row says {says}, the header {functions[name]} (message, pointers)")
        if name != f"rapt_{call}":
            wrong.append(f"{name}: the row calls {call}")
    wrong += complaints_about_elements(root)
    print("\n".join(wrong))
    print(f"{len(functions)} functions, {len(rows)} rows, {len(wrong)} complaints")
    return 1 if wrong or len(functions) < 50 else 0


def structs(root):
    declared = set()
    for header in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        declared |= set(re.findall(r"\btypedef struct \w* ?\{[^}]*\} (\w+);", text))
    listed = re.findall(r"^    STRUCT\((\w+)\)", (root / "lib/document/struct_size.c").read_text(), re.M)
    wrong = [f"{name}: not in lib/document/struct_size.c" for name in sorted(declared - set(listed))]
    wrong += [f"{name}: not in a public header" for name in sorted(set(listed) - declared)]
    wrong += [f"{name}: listed more than once" for name in sorted(set(listed)) if listed.count(name) > 1]
    print("\n".join(wrong + [f"{len(declared)} structs"]))
    return 1 if wrong or len(declared) < 20 else 0


def pointers_in(structs, name, path=""):
    """Yields the paths, such as mask.bias, of the pointers in a struct and in the structs that it contains."""
    for kind, star, member in structs.get(name, []):
        if star:
            yield path + re.sub(r"\[.*", "", member)
        else:
            yield from pointers_in(structs, kind, f"{path}{member}.")


def fuzzed(root):
    text, structs = (root / "tests/fuzz/structs.c").read_text(), structs_of(root)
    passed = ["rapt_attention", "rapt_config", "rapt_limits", "rapt_train_options", "rapt_train_limits"]
    pointers = [(name, path) for name in passed for path in pointers_in(structs, name)]
    wrong = [f"{name}.{path}: tests/fuzz/structs.c passes it with any bytes" for name, path in pointers
             if not re.search(rf"\.{re.escape(path)}\b", text)]
    print("\n".join([*wrong, f"{len(pointers)} pointers in structs that are fuzzed, {len(wrong)} complaints"]))
    return 1 if wrong or len(pointers) < 15 else 0


POWERS = {str(2 ** n): f"2^{n}" for n in range(10, 25)}


def comments_joined(text):
    """Joins the lines of each comment."""
    return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"\s+", " ", m[0]), text, flags=re.S)


def struct_fields(header):
    """Returns (type, name, comment) of each member between size and reserved, and (RAPT_CONFIG_FIELDS, length of reserved)."""
    body = re.search(r"typedef struct rapt_config \{(.*?)\n\} rapt_config;", comments_joined(header), re.S)[1]
    members = re.findall(r"^ +(\w+)\s+(\w+)(\[\d+\])?; */\* (.*?) \*/$", body, re.M)
    declared = len(re.findall(r";", re.sub(r"/\*.*?\*/", "", body)))
    count = re.search(r"enum \{ RAPT_CONFIG_FIELDS = (\d+) \}", header)
    assert declared == len(members), f"{declared} members, {len(members)} with a comment"
    assert members[0][1] == "size" and members[-1][1] == "reserved", members
    fields = [(kind, name, comment) for kind, name, _, comment in members[1:-1]]
    return fields, (int(count[1]), int(members[-1][2][1:-1]))


def table_fields(table):
    """Returns (type, name, FLAG.., minimum, maximum, default) of each row."""
    rows = re.findall(r"^CONFIG_FIELD\((\w+), +(\w+), +(\w+), +\w+, +(.+?), +(.+?), +([^ ,]+), +\".*\"\)$", table, re.M)
    assert len(rows) == len(re.findall(r"^CONFIG_FIELD\(", table, re.M))
    return [(kind, name, form, low.strip(), high.strip(), zero) for kind, name, form, low, high, zero in rows]


def range_said(form, low, high):
    """Returns what the comment of a field must contain about its range."""
    if form == "INT":
        return f"{low} to {high.replace('1 << ', '2^')}"
    return {"FLAG": "1: ", "FLOAT": "0 or more" if "p127" in high else "at least 0 and below 1", "ENUM": ""}[form]


def config_differences(header, table):
    fields, (count, reserved) = struct_fields(header)
    rows = table_fields(table)
    if count != len(rows):
        yield f"RAPT_CONFIG_FIELDS is {count}, config.def has {len(rows)} rows"
    if reserved != 2 - len(rows) % 2:
        yield f"reserved has {reserved} elements, with {len(rows)} fields it must have {2 - len(rows) % 2}"
    if [field[:2] for field in fields] != [row[:2] for row in rows]:
        yield from (f"{a} in the header, {b} in config.def" for a, b in zip([*fields, *[None] * len(rows)], rows) if (a or (0, 0))[:2] != b[:2])
        yield f"{len(fields)} fields in rapt_config, {len(rows)} rows in config.def"
        return
    for (_, name, comment), (_, _, form, low, high, zero) in zip(fields, rows):
        if range_said(form, low, high) not in comment:
            yield f"{name}: the comment does not give the range, {range_said(form, low, high)}"
        if zero != "0" and not re.search(rf"\b0 means {re.escape(zero.rstrip('f'))}\b", comment):
            yield f"{name}: the comment does not say that 0 stands for {zero}"


def array_differences(header, table):
    body = re.search(r"typedef enum rapt_attention_parameter \{(.*?)\} rapt_attention_parameter;", comments_joined(header), re.S)[1]
    found = re.findall(r"\b(RAPT_ATTENTION_PARAMETER_\w+)( = \w+)?,?(?: */\* (.*?) \*/)?", body)
    values = [name for name, value, _ in found if value]
    names = [name for name, _, _ in found]
    rows = re.findall(r"^ATTENTION_PARAMETER\((\w+),.*?\b(REQUIRED|OPTIONAL),", table, re.M | re.S)
    if values:
        yield f"{values}: enumerators count from 0 without values of their own"
    if names != [name for name, _ in rows] + ["RAPT_ATTENTION_PARAMETER_COUNT"]:
        yield f"the header has {names}, learned.def {[name for name, _ in rows]}"
        return
    for (name, _, comment), (_, need) in zip(found, rows):
        if ("NULL means " in comment) != (need == "OPTIONAL"):
            yield f"{name}: the comment says what NULL means if and only if the array is OPTIONAL"


def judge_config():
    """Checks that additions, removals, moves and changes on one side are reported."""
    header = ("enum { RAPT_CONFIG_FIELDS = 2 };\ntypedef struct rapt_config { /* size-first */\n    size_t size; /* sizeof */\n    int a;  /* 0 to\n"
              "    2^10; 0 means 4 */\n    rapt_b b; /* b */\n    int reserved[2]; /* 0 */\n} rapt_config;\n")
    table = 'CONFIG_FIELD(int,    a, INT,  REQUIRED, 0, 1 << 10,  4, "a")\nCONFIG_FIELD(rapt_b, b, ENUM, OPTIONAL, 0, RAPT_B_C, 0, "b")\n'
    assert not list(config_differences(header, table)), list(config_differences(header, table))
    for old, new in (("rapt_b b;", "int b;"), ("int a;", "int c;"), ("= 2", "= 3"), ("2^10", "2^11"), ("0 means 4", "0 means 5"), ("reserved[2]", "reserved[1]"),
                     ("    rapt_b b; /* b */\n", ""), ("    rapt_b b;", "    int d; /* 0 to 1 */\n    rapt_b b;")):
        assert old in header and list(config_differences(header.replace(old, new), table)), old
    for old, new in (("b, ENUM", "c, ENUM"), ("1 << 10", "1 << 9"), (" 4,", " 5,"), (table.split("\n")[0] + "\n", ""), (table, table * 2)):
        assert old in table and list(config_differences(header, table.replace(old, new))), old
    enum = ("typedef enum rapt_attention_parameter {\n    RAPT_ATTENTION_PARAMETER_A, /* [H]; NULL means 0 */\n    RAPT_ATTENTION_PARAMETER_B, /* [H] */\n"
            "    RAPT_ATTENTION_PARAMETER_COUNT\n} rapt_attention_parameter;\n")
    rows = "ATTENTION_PARAMETER(RAPT_ATTENTION_PARAMETER_A, \"a\",\n  OPTIONAL, H)\nATTENTION_PARAMETER(RAPT_ATTENTION_PARAMETER_B, \"b\",\n  REQUIRED, H)\n"
    assert not list(array_differences(enum, rows)), list(array_differences(enum, rows))
    for old, new in (("_A,", "_B,"), ("_A,", "_A = 1,"), ("; NULL means 0", ""), ("    RAPT_ATTENTION_PARAMETER_B, /* [H] */\n", "")):
        assert list(array_differences(enum.replace(old, new), rows)), old
    assert list(array_differences(enum, rows.replace("OPTIONAL", "REQUIRED"))) and list(array_differences(enum, rows + rows))


def config(root):
    wrong = [*config_differences((root / "include/rapt/config.h").read_text(), (root / "lib/model/config.def").read_text()),
             *array_differences((root / "include/rapt/attention.h").read_text(), (root / "lib/attention/learned.def").read_text())]
    print("\n".join([*wrong, f"{len(wrong)} differences"]))
    return 1 if wrong else 0


judge_config()
sys.exit(max([check(pathlib.Path(sys.argv[1])) for check in (calls, structs, fuzzed, config)]))
