"""bleu.py - compares BLEU and chrF of toy_translate evaluate with sacreBLEU's, for every tokenizer, on sentences in several
scripts and on random characters of Unicode."""
import json
import random
import sys
import unicodedata

import kit
from sacrebleu.metrics import BLEU, CHRF

program = sys.argv[1]
TOKENIZERS = ("13a", "zh", "intl", "char", "none")
CORPORA = 12

SENTENCES = {
    "Chinese": ["小猫睡在窗台上。", "我在2019年花1,500.5元买了一部iPhone，你呢？", "“走吧！”她说——然后笑了……", "《红楼梦》共120回，作者是曹雪芹。",
                "温度是-3.5℃，湿度为60%。", "他住在北京市海淀区第12号楼3-402室；电话：010-1234。"],
    "Japanese": ["猫は窓のそばで眠っている。", "昨日、東京タワーに３回も登りました！", "「はい」と彼女は言った……でも、ｱｲｽは食べない。",
                 "価格は１，２００円（税込）です。", "コンピューターを2台、買いました。"],
    "Russian": ["Старый мост скрипит на ветру.", "Цена — 1 250,75 руб., или 3½ % больше, чем в 1999.", "«Да», — сказал он, — «конечно»…",
                "Где №5? Где-то там, в Санкт-Петербурге."],
    "Arabic": ["القطة تنام على النافذة.", "كم الساعة؟ إنها ٣٫٥، أو ٣٬٥٠٠!", "قال: «نعم»، ثم مضى.", "اشترى ٢ كتب في ٢٠١٩."],
    "German": ["Der Müller grüßt die schöne Wölfin über den Zaun.", "„Komm herein“, sagte sie – und lachte …",
               "Es kostete 1.250,75 € (oder 3,5 % mehr) am 24.12.1999.", "E-Mail an a_b@c.de: 5-7 cm, §3 Abs. 2, &amp; mehr!"],
}
# Of the characters of Python's Unicode, which every library here knows; no line breaks and no tabs, which separate pairs.
CHARACTERS = [chr(code) for code in range(0x20, 0x30000)
              if unicodedata.category(chr(code)) not in ("Cc", "Cs", "Cn", "Co", "Zl", "Zp") and code != 0x85]
MARKS = " .,-'’0123456789/%&\"()。、，！？「」٣½Ⅷ€$+<>^`_~"


def random_line(draw, words):
    """Returns one of several mixtures of ASCII, marks and any characters."""
    kind = draw.randrange(4)
    line = ""
    for _ in range(words):
        length = draw.randrange(1, 7)
        if kind == 0:
            line += "".join(draw.choice(CHARACTERS) for _ in range(length))
        elif kind == 1:
            line += "".join(draw.choice(MARKS) for _ in range(length))
        elif kind == 2:
            line += "".join(draw.choice(MARKS + "abcäж猫") for _ in range(length))
        else:
            line += "".join(draw.choice((draw.choice(CHARACTERS), draw.choice(MARKS), "x")) for _ in range(length))
        line += draw.choice(("", " "))
    return line if line.strip() else "x"


def changed(draw, line):
    """Returns the line with some characters dropped, doubled or replaced."""
    out = "".join(draw.choice(("", c + c, draw.choice(MARKS))) if draw.random() < 0.08 else c for c in line)
    return out if out.strip() else "y"


def compare(name, references, hypotheses):
    with open("pairs.tsv", "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"source\t{line}\n" for line in references)
    with open("hypotheses", "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in hypotheses)
    for tokenizer in TOKENIZERS:
        text = kit.run(program, "evaluate", "--data", "pairs.tsv", "--hypotheses", "hypotheses", "--tokenize", tokenizer,
                       "--bootstrap", 0, "--json")
        if text is None:
            continue
        ours = json.loads(text)
        metric = BLEU(tokenize=tokenizer, force=True)
        theirs = metric.corpus_score(hypotheses, [references])
        pairs = [("bleu", ours["bleu"], theirs.score), ("brevity", ours["brevity_penalty"], theirs.bp)]
        pairs += [(f"precision {n + 1}", ours["precisions"][n], theirs.precisions[n]) for n in range(4)]
        pairs.append(("chrf", ours["chrf"], CHRF().corpus_score(hypotheses, [references]).score))
        for what, our, their in pairs:
            if abs(our - their) > 1e-7:
                kit.fail(f"{name}, {tokenizer}: {what} is {our}, of sacreBLEU {their}")
        if f"tok:{tokenizer}|" not in ours["signature"] or f"tok:{tokenizer}|" not in str(metric.get_signature()):
            kit.fail(f"{name}, {tokenizer}: signatures {ours['signature']} and {metric.get_signature()}")


def test_bleu():
    seen = 0
    for script, sentences in SENTENCES.items():
        draw = random.Random(script)
        references = sentences * 3
        compare(script, references, [changed(draw, line) for line in references])
        seen += len(references)
    for number in range(CORPORA):
        draw = random.Random(number)
        references = [random_line(draw, draw.randrange(1, 12)).replace("\r", "") for _ in range(60)]
        compare(f"random corpus {number}", references, [changed(draw, line) for line in references])
        seen += len(references)
    print(f"{seen} sentences, {len(TOKENIZERS)} tokenizers")


kit.main(globals())
