"""yaml_judge.py DOCUMENTS RESULTS - parses YAML documents, each followed by a 0 byte, with PyYAML and writes a line for
each: its keys in order, with the text or the list of texts that each has, all in hexadecimal; "error" if it cannot be
parsed; "other" if it is not a mapping from texts to texts and lists of texts. Exits with 77 without PyYAML."""
import sys

try:
    import yaml
except ImportError:
    sys.exit(77)


def text(value):
    return value.encode("utf-8", "surrogatepass").hex()


def field(key, value):
    if isinstance(value, str):
        return f"{text(key)}={text(value)}"
    if value == {}:
        value = []
    if not isinstance(value, list) or not all(isinstance(element, str) for element in value):
        raise TypeError
    return f"{text(key)}=[{''.join(text(element) + ',' for element in value)}]"


def line(document):
    try:
        read = yaml.load(document.decode("utf-8"), yaml.BaseLoader)
    except (yaml.YAMLError, ValueError):
        return "error"
    try:
        return ";".join(sorted(field(key, value) for key, value in ({} if read in (None, "") else read).items()))
    except (TypeError, AttributeError):
        return "other"


with open(sys.argv[1], "rb") as file:
    documents = file.read().split(b"\0")[:-1]
with open(sys.argv[2], "w", encoding="ascii") as file:
    for document in documents:
        print(line(document), file=file)
