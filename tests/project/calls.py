#!/usr/bin/env python3
"""calls.py ROOT - checks that every function of the public headers that takes a pointer or a rapt_text has one
row in the table of tests/api/calls.c, and that the row is right about its message and number of pointers. Likewise
every pointer in a struct that functions take in arrays, or singly without a size, and every such argument."""
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


def main(root):
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


sys.exit(main(pathlib.Path(sys.argv[1])))
