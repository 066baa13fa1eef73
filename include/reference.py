#!/usr/bin/env python3
"""reference.py HEADER - writes a public header to standard output with its comments in Doxygen's form. A comment belongs to a
declaration if it follows it on the same line or is on the lines directly before it; any other comment is about the file.

reference.py --missing INCLUDE - lists the public symbols without a comment, one per line. The exit status is 1 if there are any."""
import pathlib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)


def completed(text):
    """Adds comments to members whose names explain them: size, reserved, _count and _COUNT."""
    for pattern, comment in ((r"^( +size_t size;)[ \t]*$", "sizeof of this struct"), (r"^( +\w+ reserved(?:\[\w+\])?;)[ \t]*$", "0"),
                             (r"^( +int \w+_count;)[ \t]*$", "length of the arrays that name it"), (r"^( +RAPT_\w+_COUNT)[ \t]*$", "the number of enumerators before this one")):
        text = re.sub(pattern, rf"\1 /* {comment} */", text, flags=re.M)
    return text


def body(comment):
    """Returns the text of a comment, without its frame of stars and blanks."""
    lines = comment[2:-2].strip("\n").split("\n")
    inner = [re.sub(r"^ \* ?", "   ", line) for line in lines[1:]]
    indent = min((len(line) - len(line.lstrip()) for line in inner if line.strip()), default=0)
    return "\n".join([lines[0].strip(), *(line[min(indent, 3):].rstrip() if len(line) > 3 else "" for line in inner)]).strip()


def split_members(text):
    """Splits `int a, b; /* of a; of b */` into two lines, each with its part of the comment. If the numbers of names and parts
    differ, the comment is dropped."""
    def one(match):
        lead, kind, names, comment = match.groups()
        names, parts = names.split(","), body(comment).split(";")
        own = [f" /* {part.strip()} */" for part in parts] if len(parts) == len(names) else [""] * len(names)
        return "".join(f"{lead}{kind}{name.strip()};{said}\n" for name, said in zip(names, own))
    return re.sub(r"^( +)((?:const |long )*\w+ )((?:\**\w+(?:\[\w+\])?, *)+\**\w+(?:\[\w+\])?);[ \t]*(/\*.*?\*/)\n", one, text, flags=re.M | re.S)


def raised(text):
    """Moves a comment after the opening brace of a type to before the type, and joins it to a comment that is already there."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        found = re.match(r"(typedef (?:struct|enum) \w+ \{)\s*(/\*.*\*/)\s*$", line)
        if found and i and lines[i - 1].endswith("*/"):
            lines[i - 1:i + 1] = [f"{lines[i - 1][:-2]}{found[2][2:]}", found[1]]
        elif found:
            lines[i] = f"{found[2]}\n{found[1]}"
    return "\n".join(lines)


def converted(text, name):
    """Returns the header in the form that Doxygen reads."""
    out, last = [], 0
    for match in COMMENT.finditer(text):
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        after = text[match.end():]
        said = body(match[0]).replace("\\", "\\\\").replace("@", "\\@").replace("<", "\\<").replace("#", "\\#")
        out.append(text[last:match.start()])
        if last == 0:
            out.append(f"/** @file {name}\n{said} */")
        elif before.strip():
            out.append(f"/**< {said} */")
        elif re.match(r"\n[ \t]*([A-Za-z_}]|#define)", after):
            out.append(f"/** {said} */")
        else:
            out.append(f"/** @file {name}\n@par\n{said} */")
        last = match.end()
    return "".join(out) + text[last:]


def convert(path):
    return converted(raised(split_members(completed(path.read_text()))), path.name)


def missing(text):
    """Lists the symbols in converted text that have no comment: functions, types and members. Enumerators need none of their own."""
    found, documented, depth, inside, optional = [], False, 0, "", False
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        if line.lstrip().startswith("/** ") or line.lstrip().startswith("/**\n"):
            while "*/" not in lines[i]:
                i += 1
            documented = "@file" not in line
        elif re.match(r"\s*(#|$|extern|\}$|\};?$)", line) and not line.startswith("} "):
            documented = documented and line.lstrip().startswith("#")
            if line.startswith("}"):
                depth = 0
        elif not line.startswith(" ") or depth:
            start, whole = i, line
            while depth == 0 and not re.search(r"[;{]\s*(/\*\*<.*)?$", lines[i].split("/**<")[0].rstrip() or ";") or \
                    whole.count("/*") > whole.count("*/"):
                i += 1
                whole += "\n" + lines[i]
            code, _, trailing = whole.partition("/**<")
            own = documented or bool(trailing)
            name = re.search(r"\b(rapt_\w+)\s*\(", code) or re.search(r"\b(\w+)\s*(?:\[[^\]]*\])*[;,]?\s*(?:=[^,]*,?)?\s*$", code.strip())
            if code.startswith("typedef") and "{" in code:
                depth, inside, optional = 1, re.search(r"(rapt_\w+)", code)[1], "enum" in code
                found += [] if own else [inside]
            elif code.startswith("enum"):
                depth, inside, optional = 1, "enum", True
            elif code.startswith("}"):
                depth = 0
            elif re.match(r"typedef struct (\w+) \1;|typedef|RAPT_API", code) or depth and not optional:
                found += [] if own or not name else [f"{inside}.{name[1]}" if depth else name[1]]
            documented = False
        i += 1
    return found


def main(arguments):
    if arguments[0] != "--missing":
        sys.stdout.write(convert(pathlib.Path(arguments[0])))
        return 0
    symbols = [f"{path.name}: {symbol}" for path in sorted(pathlib.Path(arguments[1]).glob("rapt/*.h"))
               for symbol in missing(convert(path))]
    print("\n".join(symbols))
    return 1 if symbols else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
