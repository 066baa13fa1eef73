"""moses_tables.py FOLDER - writes lib/text/moses/classes.def and prefixes.def from the data of sacremoses 0.1 and the digits of the
Unicode version of Python. The test `exchange/moses` compares the result with the files of the library."""
import re
import sys
import unicodedata

from sacremoses.corpus import NonbreakingPrefixes, Perluniprops
from sacremoses.indic import NUKTAS, VIRAMAS
from sacremoses.tokenize import MosesTokenizer

NOTE = """   Written by tests/exchange/moses_tables.py from the data of sacremoses 0.1.1 (MIT License, Copyright (c) 2020 alvations)"""
CLASSES = f"""/* classes.def - the classes of characters that Moses' scripts distinguish, as ranges in ascending order.

{NOTE}
   and from the decimal digits of Unicode {unicodedata.unidata_version}. The data of sacremoses come from an old version of Unicode. */
"""
PREFIXES = f"""/* prefixes.def - abbreviations that keep their full stop, for each language:

   LANGUAGE(codes, always, numeric)

   codes    codes of the languages, separated by spaces
   always   abbreviations that always keep their full stop
   numeric  abbreviations that keep their full stop only before a digit

{NOTE},
   without those that no text can match. Those that contain a full stop are also left out, because they keep their last full stop
   in every language. */

"""


def wrapped(words, indent, join=" "):
    """Returns lines of at most 100 columns."""
    lines, line = [], indent
    for word in words:
        if len(line) + len(join) + len(word) > 100 and line != indent:
            lines.append(line)
            line = indent
        line += (join if line != indent else "") + word
    return lines + [line]


def bits():
    """Returns the classes of each character that has any."""
    chars = Perluniprops().chars
    alpha, alnum = set(chars("IsAlpha")), set(chars("IsAlnum"))
    han = set(chars("Han"))
    sets = {"ALPHA": alpha, "ALNUM": alnum - alpha, "SIGN": set(VIRAMAS + NUKTAS), "LOWER": set(chars("IsLower")),
            "NUMBER": set(chars("IsN")), "CURRENCY": set(chars("IsSc")),
            "DIGIT": {chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) == "Nd"},
            "HAN": han - alpha, "KANA": set(chars("Hiragana")) | set(chars("Katakana")), "HANGUL": set(chars("Hangul")) - alpha}
    sets["KANA"] -= alpha | han
    of = {}
    for name, characters in sets.items():
        for c in characters - {"\n"}:  # each list ends in a line break
            of.setdefault(ord(c), []).append(name)
    return of


def ranges(of):
    """Returns [first, last, classes] for runs of characters. In a run of the class SECOND every second character is in lower case."""
    runs = []
    for c in sorted(of):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == of[c]:
            runs[-1][1] = c
        else:
            runs.append([c, c, of[c]])
    joined = []
    for first, last, classes in runs:
        previous = joined[-1] if joined else None
        if previous and first == last == previous[1] + 1:
            odd = (first - previous[0]) % 2
            if (previous[2] == ["ALPHA"] and previous[0] == previous[1] and classes == ["ALPHA", "LOWER"]
                    or previous[2] == ["ALPHA", "SECOND"] and classes == (["ALPHA", "LOWER"] if odd else ["ALPHA"])):
                previous[1:] = [last, ["ALPHA", "SECOND"]]
                continue
        joined.append([first, last, classes])
    return joined


def classes():
    rows = [f"RANGE(0x{first:X}, 0x{last:X}, {' | '.join(classes)})" for first, last, classes in ranges(bits())]
    return CLASSES + "\n".join(wrapped(rows, "")) + "\n"


def matchable(tokenizer, word):
    """Returns whether a token can be this abbreviation and its full stop depends on it."""
    return not re.search(r"\s", word) and not tokenizer.PAD_NOT_ISALNUM[0].search(word) and not (
        "." in word and tokenizer.isanyalpha(word))


def prefixes():
    lists = {}
    for code in sorted(set(NonbreakingPrefixes().available_langs.values())):
        tokenizer = MosesTokenizer(code)
        numeric = sorted({w for w in tokenizer.NUMERIC_ONLY_PREFIXES if matchable(tokenizer, w)})
        always = sorted({w for w in tokenizer.NONBREAKING_PREFIXES if matchable(tokenizer, w)} - set(tokenizer.NUMERIC_ONLY_PREFIXES))
        lists.setdefault((tuple(always), tuple(numeric)), []).append(code)
    text = PREFIXES
    for (always, numeric), codes in lists.items():
        quoted = ['    "' + line + ' "' for line in wrapped(always, "")]
        quoted[-1] = quoted[-1][:-2] + '",'
        text += f'LANGUAGE("{" ".join(codes)}",\n' + "\n".join(quoted) + f'\n    "{" ".join(numeric)}")\n'
    return text


if __name__ == "__main__":
    for name, make in (("classes", classes), ("prefixes", prefixes)):
        with open(f"{sys.argv[1]}/{name}.def", "w", encoding="utf-8") as file:
            file.write(make())
