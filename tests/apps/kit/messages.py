"""messages.py LANGUAGE COUNT - prints pairs of messages of the programs that are installed, from gettext's
catalogs: English, a tab, and the translation. Exits with 77 if there are fewer than COUNT."""
import gettext
import glob
import random
import sys


def messages(language):
    found = {}
    for path in sorted(glob.glob(f"/usr/share/locale/{language}/LC_MESSAGES/*.mo")):
        try:
            with open(path, "rb") as file:
                catalog = gettext.GNUTranslations(file)._catalog
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        for source, target in catalog.items():
            if not isinstance(source, str) or "\x04" in source:
                continue
            source, target = source.strip(), target.strip()
            plain = not set(source + target) & set("\n\t\r%<>{}\\|&_$")
            if plain and " " in source and 15 <= len(source) <= 150 and target and source != target:
                found.setdefault(source, target)
    return sorted(found.items())


def main():
    language, count = sys.argv[1], int(sys.argv[2])
    pairs = messages(language)
    if len(pairs) < count:
        sys.stderr.write(f"skipped: only {len(pairs)} messages in {language} are installed\n")
        return 77
    random.Random(1).shuffle(pairs)
    for source, target in pairs[:count]:
        print(f"{source}\t{target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
