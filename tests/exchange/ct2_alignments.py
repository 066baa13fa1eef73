"""ct2_alignments.py PROGRAM - writes random models of CTranslate2 that name every kind of layer and number of heads for
alignments, and compares the attention that CTranslate2 returns with that of attend, and the word of the source that each
word of a translation attends to most with the alignments of translate."""
import sys

import ct2_random
import ctranslate2
import kit
import numpy

program = sys.argv[1]
LINES = 30
LENGTH = 12  # tokens to compare; some translations do not end
CHOICES = ((-1, 1), (-1, 0), (-3, 0), (-2, 2), (0, 3), (2, 4))  # alignment_layer, alignment_heads


def closest(attention):
    """Returns the column of the largest weight of each row, and the least distance to the second."""
    ordered = numpy.sort(attention, axis=1)
    return attention.argmax(axis=1).tolist(), (ordered[:, -1] - ordered[:, -2]).min()


def weights(folder, words, tokens):
    text = kit.run(program, "attend", "--model", folder, "--json", "--target", " ".join(tokens), " ".join(words))
    return numpy.array(kit.json_lines(text)[0]["weights"]) if text else numpy.zeros((1, 1))


def judge(folder, sources):
    translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", intra_threads=1)
    results = translator.translate_batch(sources, beam_size=1, max_batch_size=1, return_attention=True)
    ours = kit.json_lines(kit.run(program, "translate", "--lines", "--model", folder, "--beam", 1, "--json", "sources"))
    pairs = equal = 0
    worst = 0.0
    for words, result, our in zip(sources, results, ours):
        tokens, theirs = result.hypotheses[0][:LENGTH], numpy.array(result.attention[0][:LENGTH])
        if not tokens:
            continue
        mine = weights(folder, words, tokens)
        worst = max(worst, abs(mine[:len(tokens), :len(words)] - theirs).max())
        best, gap = closest(theirs)
        if our["target_tokens"][:LENGTH] == tokens and gap > 1e-4:
            equal += our["alignment"][:LENGTH] == [[column, row] for row, column in enumerate(best)]
            pairs += 1
    print(f"{folder}: weights within {worst:.1e}, {equal} of {pairs} alignments equal", flush=True)
    if pairs < LINES / 3 or equal < pairs or worst > 1e-5:
        kit.fail(f"{folder}: the alignments differ")


sources = [[ct2_random.NAMES[4 + letter] for letter in ct2_random.random.integers(0, 26, 2 + line % 9)] for line in range(LINES)]
with open("sources", "w", encoding="utf-8") as file:
    file.writelines(" ".join(words) + "\n" for words in sources)
for number, choice in enumerate(CHOICES):
    name = f"layer{choice[0]}.heads{choice[1]}"
    ct2_random.write(name, number % 2 == 1, alignment_layer=choice[0], alignment_heads=choice[1])
    judge(name, sources)
kit.end()
