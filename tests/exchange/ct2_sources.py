"""ct2_sources.py PROGRAM - compares the translations of sources with special and unknown tokens with those of CTranslate2."""
import sys

import ct2_random
import ctranslate2
import kit

program = sys.argv[1]
LETTERS = ct2_random.NAMES[4:]
SOURCES = """<s>
</s>
<s> </s>
</s> </s>
<s> <s>
</s> <s>
<s> </s> </s>
</s> A
<s> </s> A
<s> A
A </s>
<s> A </s>
A </s> B
A B </s> </s>
<unk>
<blank>
A unknown B""".replace("A", LETTERS[0]).replace("B", LETTERS[1]).splitlines()


def judge(folder):
    translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", intra_threads=1)
    for beam in (1, 3):
        results = translator.translate_batch([line.split() for line in SOURCES], beam_size=beam, max_batch_size=1,
                                             return_scores=True)
        theirs = [(result.scores[0], " ".join(result.hypotheses[0])) for result in results]
        kit.agree(f"{folder}: beam {beam}", kit.translations(program, folder, "sources", beam), theirs, 2e-5)
        empty = sum(not text for _, text in theirs)
        if not 3 <= empty <= len(SOURCES) / 2:
            kit.fail(f"{folder}: {empty} translations are empty")


with open("sources", "w", encoding="utf-8") as file:
    file.writelines(line + "\n" for line in SOURCES)
for ends in (False, True):
    ct2_random.write(f"ends{ends}", ends)
    judge(f"ends{ends}")
kit.end()
