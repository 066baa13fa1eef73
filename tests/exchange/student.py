"""student.py PROGRAM FOLDER - compares the translations of a student of Firefox (Portuguese to English, FOLDER/student) with
those that Marian computes in float32 from the same numbers, without and with the shortlist. Most of its translations in 8 bits
must be the same. The sources are translations of the opposite student, from RAPT_DATA."""
import glob
import os
import sys

import kit
import marian
import marian_file

program, student = sys.argv[1], os.path.join(os.path.abspath(sys.argv[2]), "student")
lines = os.path.join(os.environ["RAPT_DATA"], "models", "firefox-tiny-enpt", "expected.pt")
LINES = 60


def found(pattern):
    name, = glob.glob(os.path.join(student, pattern))
    return name


with open(lines, encoding="utf-8") as file, open("source", "w", encoding="utf-8") as out:
    out.writelines(file.readlines()[:LINES])
vocabulary, shortlist = found("vocab.*.spm"), found("lex.*.bin")
marian_file.widen(found("model.*.bin"), "wide.npz")
for name, options in (("without a shortlist", ()), ("with it", ("--shortlist", shortlist))):
    floats = kit.translations(program, student, "source", 1, *options)
    narrow = kit.translations(program, student, "source", 1, "--precision", "int8", *options)
    kit.agree(f"Portuguese to English {name}", floats,
              marian.decode(".", "wide.npz", (vocabulary, vocabulary), "source", 1, *options), 5e-5, 0.98)
    kit.agree(f"in 8 bits {name}", narrow, floats, 0.1, 0.85)
kit.end()
