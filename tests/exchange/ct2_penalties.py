"""ct2_penalties.py PROGRAM - compares translations of random models with a repetition penalty, a coverage penalty and suppressed
sequences with those of CTranslate2."""
import sys

import ct2_random
import ctranslate2
import kit

program = sys.argv[1]
LINES, LENGTH = 60, 20
NAMES = ct2_random.NAMES
SUPPRESSED = [[NAMES[5]], [NAMES[9], NAMES[6]], [NAMES[7], NAMES[7], NAMES[8]], [NAMES[20]], [NAMES[11]]]
CASES = (
    ({}, ()),
    ({"repetition_penalty": 1.3}, ("--repetition-penalty", 1.3)),
    ({"repetition_penalty": 0.8}, ("--repetition-penalty", 0.8)),
    ({"coverage_penalty": 0.2}, ("--coverage-penalty", 0.2)),
    ({"coverage_penalty": 2, "length_penalty": 0}, ("--coverage-penalty", 2, "--length-penalty", 0)),
    ({"suppress_sequences": SUPPRESSED}, ("--suppress", "suppressed")),
    ({"repetition_penalty": 2, "coverage_penalty": 0.5, "suppress_sequences": SUPPRESSED},
     ("--repetition-penalty", 2, "--coverage-penalty", 0.5, "--suppress", "suppressed")),
)


def judge(folder, sources):
    translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", intra_threads=1)
    for beam in (1, 4):
        different = []
        for theirs, ours in CASES:
            # Without return_attention, CTranslate2 crashes if beam_size is 1 and coverage_penalty is not 0.
            results = translator.translate_batch(sources, beam_size=beam, max_batch_size=1, return_scores=True,
                                                 return_attention=True, max_decoding_length=LENGTH, **theirs)
            found = [(result.scores[0], " ".join(result.hypotheses[0])) for result in results]
            different.append([text for _, text in found])
            kit.agree(f"{folder}: beam {beam}, {' '.join(theirs)}",
                      kit.translations(program, folder, "sources", beam, "--max-length", LENGTH, *ours), found, 5e-4, 0.97)
        for number, (theirs, _) in enumerate(CASES):
            if beam > 1 and number > 0 and different[number] == different[0]:
                kit.fail(f"{folder}: beam {beam}: {' '.join(theirs)} changes nothing")


sources = [[NAMES[4 + letter] for letter in ct2_random.random.integers(0, 26, 2 + line % 9)] for line in range(LINES)]
with open("sources", "w", encoding="utf-8") as file:
    file.writelines(" ".join(words) + "\n" for words in sources)
with open("suppressed", "w", encoding="utf-8") as file:
    file.writelines(" ".join(words) + "\n" for words in SUPPRESSED)
for ends in (False, True):
    ct2_random.write(f"ends{ends}", ends)
    judge(f"ends{ends}", sources)
kit.end()
