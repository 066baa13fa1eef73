#!/usr/bin/env python3
"""Prints scores.h: corpora and their scores by sacreBLEU 2.x with its default options.

    python3 scores.py > scores.h        (needs the Python package sacrebleu)
"""
from sacrebleu.metrics import BLEU, CHRF

# name, then hypothesis and reference in turn
CASES = [
    ("equal", "The hen sleeps on the warm stove.", "The hen sleeps on the warm stove."),
    ("nothing in common", "Grey stones roll.", "My uncle sings every Sunday."),
    ("empty hypothesis", "", "A kite hangs in the oak."),
    ("empty reference", "A kite hangs in the oak.", ""),
    ("both empty", "", ""),
    ("one empty among others", "Rain fell on the roof all night.", "Rain fell on the roof all night long.",
     "", "Nobody came to the fair.", "We waited for the last bus home.", "We waited for the last train home."),
    ("one word", "Bread", "Bread"),
    ("two words", "Fresh bread", "Fresh bread"),
    ("three words of four", "She mends old", "She mends old clocks"),
    ("four words", "She mends old clocks", "She mends old clocks"),
    ("too short", "The goat ate", "The goat ate my only straw hat yesterday ."),
    ("too long", "the the the the the the goat goat ate the hat and the scarf", "the goat ate the hat"),
    ("repetition is clipped", "the the the the the the the", "the cat stood near the mat"),
    ("no four in a row", "a b c x d e f y g h i", "a b c d e f g h i"),
    ("only single words match", "one x two y three", "three one two"),
    ("word order", "Yesterday the baker forgot the salt again.", "The baker forgot the salt again yesterday."),
    ("case", "THE LIGHTHOUSE KEEPER Likes Soup.", "The lighthouse keeper likes soup."),
    ("numbers", "It cost 1,250.75 crowns, or 3.5 % more than in 1999.", "It cost 1,250.75 crowns , or 3.5% more than in 1999 ."),
    ("dates and times", "On 24-12-1887, at 10:45, no. 7 left.", "On 24-12-1887 , at 10 : 45 , no.7 left."),
    ("figures at the edges", ".5 of 1. and 2, or 3.", ".5 of 1 . and 2 , or 3."),
    ("stops in a row", "Wait... what?! No,, yes..", "Wait . . . what ? ! No , , yes . ."),
    ("hyphens", "A well-known four-leaf clover - or 3-leaf, 5-7 cm.", "A well known four-leaf clover or 3 - leaf , 5 - 7 cm ."),
    ("apostrophes", "It's the miller's dog, isn't it?", "It is the miller 's dog , isn't it ?"),
    ("quotes", "\"Come in,\" she said, 'quick'.", "\" Come in , \" she said , ' quick ' ."),
    ("entities", "Salt &amp; pepper &lt;cheap&gt; &quot;now&quot;", "Salt & pepper < cheap > \" now \""),
    ("entity of an entity", "&amp;lt; and &amp;quot; and &amp;amp; stay", "< and &quot; and & stay"),
    ("skipped", "one <skipped>two <skipped> three four five", "one two three four five"),
    ("marks", "f(x) = {a[1] + b_2} / ~c^3 @ 50% #1 | `q` \\ $9 * 2; <y>: z!", "f ( x ) = { a [ 1 ] + b_2 } / ~ c^3 @ 50 % # 1 | ` q ` \\ $ 9 * 2 ; < y > : z !"),
    ("line breaks inside", "a bro-\nken line\nof words here", "a broken line of words here"),
    ("hyphen at the end", "it ends with a hyphen-\n", "it ends with a hyphen-"),
    ("white space", "  tabs\tand\u00a0odd\u2003spaces \u3000 count  as one\r\n", "tabs and odd spaces count as one"),
    ("information separators", "a\x1cb\x1dc\x1ed\x1fe", "a b c d e"),
    ("umlauts", "Der Müller grüßt die schöne Wölfin über den Zaun.", "Der Müller grüßte die schöne Wölfin über dem Zaun."),
    ("umlauts in capitals", "DIE MÜHLE STEHT AM FLUSS, ÖSTLICH DER BRÜCKE.", "die mühle steht am fluss, östlich der brücke."),
    ("German quotes and dashes", "„Komm herein“, sagte sie – und lachte …", "„ Komm herein “ , sagte sie - und lachte ..."),
    ("French", "L'été, où l'on s'ennuie, cœur léger : « hélas ! »", "L'été où l'on s'ennuie , cœur léger: «hélas!»"),
    ("Polish and Czech", "Zażółć gęślą jaźń. ŽLUŤOUČKÝ KŮŇ.", "zażółć gęślą jaźń. Žluťoučký kůň."),
    ("Turkish dotted I", "İzmir'de IŞIK var mı?", "i̇zmir'de ışık var mı?"),
    ("Greek with final sigma", "Ο ΜΙΚΡΌΣ ΣΚΎΛΟΣ ΤΡΈΧΕΙ.", "ο μικρός σκύλος τρέχει."),
    ("Russian", "СТАРЫЙ МОСТ скрипит, ЁЖ молчит.", "Старый мост скрипит, ёж молчит."),
    ("Chinese", "小猫睡在窗台上。", "小狗睡在窗台上。"),
    ("emoji", "good morning 😀 👩‍👧 !", "Good morning 😀👩‍👧!"),
    ("combining marks", "cafe\u0301 no\u0308el", "café noël"),
    ("digits of other scripts", "٣.٥ and ½. and ²,3", "٣ . ٥ and ½ . and ² , 3"),
    ("short corpus", "Yes.", "Yes.", "No.", "No!", "Maybe.", "Perhaps."),
    ("small corpus", "The old bridge creaks in the wind.", "The old bridge is creaking in the wind.",
     "Nine geese cross the frozen pond.", "Nine geese are crossing the frozen pond.",
     "He paid 12.50 for a second-hand bicycle.", "He paid 12.50 for a used bicycle.",
     "\"Never,\" said the clerk.", "\"Never!\" the clerk said.",
     "Two tailors share one pair of scissors.", "Two tailors share a pair of scissors."),
    ("corpus in German", "Der alte Hund schläft unter dem Tisch.", "Unter dem Tisch schläft der alte Hund.",
     "Ich habe gestern keinen Zug gesehen.", "Gestern habe ich keinen Zug gesehen.",
     "Wenn es regnet, bleiben die Hühner im Stall.", "Die Hühner bleiben im Stall, wenn es regnet.",
     "Sie ruft ihre Großmutter an.", "Sie ruft ihre Großmutter jeden Abend an."),
    ("one character", "x", "x", "yy", "y"),
]


def quoted(text):
    out = ""
    for c in text:
        if c in '"\\':
            out += "\\" + c
        elif ord(c) < 32 or 0x7F <= ord(c) < 0xA1 or not (c.isprintable()):
            out += "".join("\\%03o" % b for b in c.encode())
        else:
            out += c
    return '"' + out.replace("??", "?\\?") + '"'


def main():
    scorers = [BLEU(), BLEU(lowercase=True), BLEU(tokenize="none"), CHRF()]
    print("/* scores.h - small corpora and sacreBLEU's scores of them; written by scores.py. */")
    print("/* clang-format off */")
    print("static const struct scored {")
    print("    const char *name;")
    print("    double bleu, bleu_lower, bleu_none, chrf;")
    print("    struct {")
    print("        const char *hypothesis, *reference;")
    print("    } pairs[6]; /* as many as have a hypothesis */")
    print("} scored[] = {")
    for name, *texts in CASES:
        hypotheses, references = texts[0::2], texts[1::2]
        scores = [s.corpus_score(hypotheses, [references]).score for s in scorers]
        print("    {%s, %s, {" % (quoted(name), ", ".join("%.8f" % s for s in scores)))
        for pair in zip(hypotheses, references):
            print("        {%s,\n         %s}," % tuple(map(quoted, pair)))
        print("    }},")
    print("};")
    print("/* clang-format on */")


main()
