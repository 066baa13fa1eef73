#!/usr/bin/env python3
"""manual.py INCLUDE VERSION MAN3 - writes manual pages of section 3 to the folder MAN3, one for each public function, type,
constant and header in INCLUDE/rapt. The page of an enumerator refers to that of its type. A page shows the header to include,
the declaration, its comment, what a function returns, and the types of its arguments. Comments that belong to several
declarations are on the page of their header."""
import pathlib
import re
import sys
import textwrap

import reference

ITEM = re.compile(r"\s*(?:(?P<comment>/\*.*?\*/)|(?P<skipped>extern \"C\" \{|\}|#(?!define RAPT_[A-Z_]+ )[^\n]*)"
                  r"|(?P<code>#define [^\n/]*|(?:\{(?:/\*.*?\*/|[^{}])*\}|/\*.*?\*/|[^;{}#])*;))", re.S)
ONLY_IN_HEADERS = re.compile(r"#ifdef __cplusplus.*?#endif\n|#if defined\(__GNUC__\).*?#endif\n", re.S)


class Item:
    """A declaration with its comment, or a comment that belongs to several declarations, whose code is empty."""

    def __init__(self, header, group, code, comment):
        self.header, self.group, self.comment = header, group, comment
        self.code = re.sub(r"^RAPT_API ", "", code.strip())
        bare = re.sub(r"\s+", " ", reference.COMMENT.sub(" ", self.code))
        function = re.match(r"(?!typedef)(.*?)\b(rapt_\w+) ?\(", bare)
        self.returns = function[1].strip() if function else ""  # type
        self.names = [function[2]] if function else re.findall(r"#define (\w+)", bare)
        if not self.names:  # a type and its enumerators, or constants
            own = re.match(r"typedef (?:struct|enum) (rapt_\w+)|typedef .*?\b(rapt_\w+)\(", bare)
            self.names = ([own[1] or own[2]] if own else []) + re.findall(r"\b(RAPT_[A-Z0-9_]+)(?= ?(?:=[^,}]*)?[,}])", bare)
        self.name = self.names[0] if self.names else ""

    def summary(self):
        """Returns the first sentence of the comment in the form that the NAME section needs."""
        first = first_sentence(self.comment)
        return first[0].lower() + first[1:] if re.match(r"[A-Z][a-z ]", first) else first


def first_sentence(comment):
    """Returns the first sentence of a comment, up to a colon or semicolon."""
    return re.split(r"(?<!\bal)(?<! to)(?<! of)[.:;](?:\s|$)", re.sub(r"\s+", " ", comment), maxsplit=1)[0]


def items(path):
    """Returns the comment at the beginning of a header, and its items in order. A blank line begins a new group."""
    text = ONLY_IN_HEADERS.sub("", path.read_text())
    found, at, group, comment, lead = [], 0, 0, "", None
    while match := ITEM.match(text, at):
        at = match.end()
        if match["skipped"]:
            continue
        if match["comment"]:
            comment = reference.body(match["comment"])
            if lead is None:
                lead, comment = comment, ""
            elif text.startswith("\n\n", at):
                found.append(Item(path.name, -1, "", comment))
                comment = ""
            continue
        trailing = re.compile(r"[ \t]*(/\*.*?\*/)", re.S).match(text, at)
        if trailing:
            comment, at = reference.body(trailing[1]), trailing.end()
        found.append(Item(path.name, group, match["code"], comment))
        group, comment = group + text.startswith("\n\n", at), ""
    assert not text[at:].strip(), f"{path}: not understood: {text[at:at + 200]!r}"
    return lead, found


# ---- troff ----

def escaped(line):
    """Returns the line with all troff commands escaped."""
    for plain, command in (("\\", "\\e"), ("-", "\\-"), ("^", "\\(ha"), ("~", "\\(ti"), ("`", "\\(ga"), ("'", "\\(aq")):
        line = line.replace(plain, command)
    return "\\&" + line if line.startswith(".") else line


def fixed(lines):
    return [".nf", *map(escaped, lines), ".fi"]


def text(comment):
    """Returns the paragraphs of a comment. Blocks that contain indented lines or columns keep their lines."""
    out = []
    for block in re.split(r"\n\s*\n", comment):
        lines = block.split("\n")
        if heading := re.fullmatch(r"-+ (.*?) -+", block, re.S):
            out += [f".SS {escaped(heading[1][0].upper() + heading[1][1:])}"]
            continue
        aligned = any(re.search(r"^  |\S   +\S", line) for line in lines)
        out += [".PP"] * (not out or not out[-1].startswith(".SS"))
        out += [*(fixed(lines) if aligned else map(escaped, lines))]
    return out[out[:1] == [".PP"]:]


def references(names):
    names = list(names)
    return [f".BR {escaped(name)} (3){',' if i + 1 < len(names) else ''}" for i, name in enumerate(names)]


def page(name, summary, version, sections):
    """Returns a page with those of the sections [(heading, lines)] that have lines."""
    out = [f'.TH {escaped(name)} 3 "" "rapt {version}" "rapt"', ".SH NAME", f"{escaped(name)} \\- {escaped(summary)}"]
    for heading, lines in sections:
        out += [f".SH {heading}", *lines] if lines else []
    return "\n".join(out) + "\n"


# ---- pages ----

def title(header):
    """Returns the name of a header's page."""
    return header if header.startswith("rapt") else f"rapt_{header}"


def include(header):
    return fixed([f"#include <rapt/{header}>"])


def returned(item):
    """Returns the lines of RETURN VALUE."""
    if not item.returns or item.returns == "void":
        return ["Nothing."] if item.returns else []
    if item.returns == "rapt_status":
        why = ["In that case", ".I *why", "says what is wrong, unless", ".I why", "is NULL."] if "why" in item.code else []
        return [".B RAPT_OK", "(0) if the call succeeds, or else another value of", ".BR rapt_status (3).", *why]
    sentence = re.search(r"[A-Z][^.]*?\b[Rr]eturns\b.*?\.(?=\s|$)|\bReturns\b.*?\.(?=\s|$)", item.comment, re.S)
    return [escaped(line) for line in sentence[0].split("\n")] if sentence else [f"A value of type {escaped(item.returns)}."]


def prototype(code):
    """Returns the lines of a function's declaration, broken between arguments."""
    wide = re.sub(r"(?<!,) ", "\u00a0", re.sub(r"\s+", " ", code))
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(wide, 76, subsequent_indent=8 * " ", break_long_words=False)]


def used(item, known):
    """Returns the types that a declaration names, except itself and those that RETURN VALUE describes."""
    names = re.findall(r"\brapt_\w+", reference.COMMENT.sub("", item.code))
    return [known[name] for name in dict.fromkeys(names) if name in known and known[name] is not item
            and name not in ("rapt_status", "rapt_message")]


def page_of(item, known, version):
    """Returns the page of a declaration. `known` is {name: item} for all headers."""
    types = [line for other in used(item, known) for line in (".TP", *references([other.name]), escaped(other.summary()))]
    near = {other.name for other in known.values() if (other.header, other.group) == (item.header, item.group)}
    mentioned = {known[name].name for name in re.findall(r"\b(?:rapt|RAPT)_\w+", item.comment + item.code) if name in known}
    shown = prototype(item.code) if item.returns else item.code.split("\n")
    return page(item.name, item.summary(), version, [
        ("SYNOPSIS", [*include(item.header), ".PP", *fixed(shown)]), ("DESCRIPTION", text(item.comment)),
        ("RETURN VALUE", returned(item)), ("TYPES", types),
        ("SEE ALSO", references([*sorted((near | mentioned) - {item.name}), title(item.header)]))])


def page_of_header(header, lead, found, version):
    """Returns the page of a header: its general comments, and what it declares."""
    about = lead.partition(" - ")[2]
    description = [about[0].upper() + about[1:]] + [item.comment for item in found if not item.names]
    listed = [line for item in found if item.names for line in (".TP", *references([item.name]), escaped(item.summary()))]
    lines = text("\n\n".join(description))
    return page(title(header), first_sentence(about), version, [
        ("SYNOPSIS", include(header)), ("DESCRIPTION", lines), ("DECLARATIONS", listed)])


def main(include_folder, version, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.3"):
        old.unlink()
    headers = {path.name: items(path) for path in sorted((include_folder / "rapt").glob("*.h"))}
    declared = [item for _, found in headers.values() for item in found if item.names]
    known = {name: item for item in declared for name in item.names}
    for header, (lead, found) in headers.items():
        (folder / f"{title(header)}.3").write_text(page_of_header(header, lead, found, version))
    for name, item in known.items():
        (folder / f"{name}.3").write_text(page_of(item, known, version) if name == item.name else f".so man3/{item.name}.3\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
