#!/bin/sh
# Documents and their formats.
# usage: documents.sh PROGRAM CASE
. "$(dirname "$0")/kit/script.sh"

# translate without --lines: sentences are translated, and everything else comes back byte for byte.
test_document() {
    printf 'A dog runs.\tEin Hund rennt.\nThe cat sleeps.\tDie Katze schläft.\nWhere is Tom?\tWo ist Tom?\nYes!\tJa!\n' >pairs
    "$program" train --data pairs --valid pairs --layers 1 --width 32 --heads 2 --ffn-width 32 --epochs 150 --patience 0 --warmup 20 --rate 0.01 \
        --vocab 264 --dropout 0 --threads 1 --out model 2>err || fail "$(cat err)"
    translate() { code "$1" "$program" translate --model model --threads 1 --beam 1 "$2" -o out ${3-}; }

    # The model knows these sentences one by one.
    cut -f 1 pairs >lines
    cut -f 2 pairs >wanted
    "$program" translate --model model --threads 1 --beam 1 --lines lines >out 2>err || fail "$(cat err)"
    check "the model has learned its pairs" cmp out wanted

    printf 'A dog runs. The cat sleeps.  Where is Tom?\r\n\n\t- Yes!\302\240A dog runs.\n1. Yes!\tYes!\n-----\n  12:30' >text
    printf 'Ein Hund rennt. Die Katze schläft.  Wo ist Tom?\r\n\n\t- Ja!\302\240Ein Hund rennt.\n1. Ja!\tJa!\n-----\n  12:30' >wanted
    translate 0 text
    check "everything around sentences" cmp out wanted
    "$program" translate --model model --threads 1 --beam 1 - <text 2>err | cmp - wanted || fail "standard input and output"

    # Sentences that are not UTF-8 stay, and are reported with their lines.
    printf 'Yes! A d\377g.\nYes!\n\nN\303 Yes.' >text
    printf 'Ja! A d\377g.\nJa!\n\nN\303 Yes.' >wanted
    translate 1 text
    says "text:1: a sentence is not valid UTF-8; it is not translated"
    says "text:4: a sentence is not valid UTF-8"
    check "no output file after an error of the input is lost" cmp out wanted

    # Addresses, placeholders and numbers with units are kept within sentences, and so is what a list names.
    printf 'The cat sleeps at http://a.org/b_c?d=1 and %%s.\nhttp://a.org\n' >text
    translate 0 text
    check "protected text" [ "$(grep -cF -e http://a.org/b_c?d=1 out)$(grep -cF -e %s out)$(grep -cx http://a.org out)" = 111 ]
    printf 'Yes!\r\n\n  Where is Tom? \n' >list.txt
    printf 'A dog runs. Yes! Where is Tom?\n' >text
    printf 'Ein Hund rennt. Yes! Where is Tom?\n' >wanted
    translate 0 text "--do-not-translate list.txt"
    check "--do-not-translate" cmp out wanted
    printf 'a*b*c*\n' >list.txt
    translate 1 text "--do-not-translate list.txt"
    says "has too many stars"
    translate 1 text "--do-not-translate missing.txt"

    # A glossary changes sentences with its terms, and no others.
    printf 'dog\tMaus\nTom\tTom\texact\n' >glossary.tsv
    printf 'The dog runs. Yes! A DOG runs; dogs.\n' >text
    translate 0 text "--glossary glossary.tsv"
    says "glossary.tsv: 2 of 2 terms are in the translations"
    check "--glossary" [ "$(grep -ciw maus out)$(grep -cF 'Ja!' out)" = 11 ]
    code 0 "$program" translate --model model --threads 1 --lines --json --glossary glossary.tsv text -o out
    check "--glossary with --lines" grep -q '"terms":2,"terms_met":2' out
    printf 'dog\tMaus\ndog\n' >glossary.tsv
    translate 1 text "--glossary glossary.tsv"
    says "glossary.tsv: line 2: the target is empty; a line is a source, a tab and a target"
    code 2 "$program" translate --model model --glossary glossary.tsv --temperature 1 text
    says "translate: --glossary does not work with --temperature"

    # Sentences in capitals are read in normal case.
    printf 'THE CAT SLEEPS. A dog runs.\n- A DOG RUNS.\n' >text
    printf 'DIE KATZE SCHLÄFT. Ein Hund rennt.\n- EIN HUND RENNT.\n' >wanted
    translate 0 text
    check "capitals" cmp out wanted
    translate 0 text "--recase titles"
    check "capitals with --recase titles" cmp out wanted
    translate 0 text "--recase none"
    check "--recase none" [ "$(grep -c 'DIE KATZE SCHLÄFT' out)$(grep -c 'Ein Hund rennt' out)" = 01 ]

    # The confidence of sentences and words is what `score` says, which reads both texts again.
    printf '  The cat sleeps. A dog\377.\n\nTHE CAT SLEEPS. See http://a.org/b_c, dog.\n' >text
    translate 1 text "--quality quality --glossary glossary.tsv"
    [ -e quality ] && fail "--quality is written although the glossary is wrong"
    printf 'dog\tMaus\n' >glossary.tsv
    translate 1 text "--quality quality --glossary glossary.tsv --no-mending"
    check "--quality" python3 -c '
import json
text, out = open("text", "rb").read(), open("out", "rb").read()
lines = [json.loads(line) for line in open("quality")]
assert [line["sentence"] for line in lines] == [0, 1, 2, 3], lines
spans = [text[slice(*line["source"])] for line in lines]
assert spans == [b"The cat sleeps.", b"A dog\377.", b"THE CAT SLEEPS.", b"See http://a.org/b_c, dog."], spans
assert out[slice(*lines[0]["target"])] == "Die Katze schläft.".encode()
assert out[slice(*lines[2]["target"])] == "DIE KATZE SCHLÄFT.".encode()
assert lines[1]["error"] == "not UTF-8" and "words" not in lines[1]
pairs = open("scored.tsv", "w")
for line in (lines[0], lines[2], lines[3]):
    source, target = line["read"].encode(), line["translation"].encode()
    words = [target[slice(*word["span"])] for word in line["words"]]
    assert words == target.split(), words
    sources = [source[slice(*span)] for span in line["source_words"]]
    assert sources == source.split(), sources
    found = {word["source"] for word in line["words"]} - {None}
    assert abs(line["coverage"] - len(found) / len(sources)) < 1e-6, line
    assert line["continued"] is False and line["ended"] is True and line["faults"] == [], line
    print(line["read"], line["translation"], sep="\t", file=pairs)
assert lines[2]["read"] == "The cat sleeps."
assert [line.get("recased") for line in lines] == [False, None, True, False]
assert all(lines[0][key] == lines[2][key] for key in ("log_probability", "words", "coverage"))
assert lines[0]["terms"] == lines[0]["protected"] == 0
assert lines[3]["terms"] == lines[3]["terms_met"] == 1 and lines[3]["protected"] == 1
assert lines[3]["restored"] == ("http://a.org/b_c" not in lines[3]["translation"])'
    "$program" score --model model --threads 1 --data scored.tsv --normalize >scores 2>err || fail "$(cat err)"
    check "--quality and score" python3 -c '
import json
lines = [json.loads(line) for line in open("quality")]
for line, score in zip((lines[0], lines[2], lines[3]), map(float, open("scores"))):
    # The search excludes some tokens, so what remains is a little more probable.
    assert score - 1e-4 < line["log_probability"] < score + 0.01, (line, score)
    least = score * (len(line["translation"].encode()) + 1)
    assert all(least <= word["log_probability"] <= 0 for word in line["words"]), line'
    translate 1 text "--quality quality --glossary glossary.tsv"
    check "lost text" python3 -c '
import json
line = [json.loads(line) for line in open("quality")][3]
assert "lost" in line["faults"] and line["restored"] == ("remains" in line["faults"]), line'
    printf 'the dog and the dog and the dog and the dog and the dog and the dog\n' >text
    translate 0 text "--quality quality --max-length-break 8"
    check "faults" python3 -c '
import json
lines = [json.loads(line) for line in open("quality")]
faults = [fault for line in lines for fault in line["faults"]]
assert faults and set(faults) <= {"repeats", "long", "empty", "lost", "remains"}, faults
assert sum(line["continued"] for line in lines) == len(lines) - 1 > 0, lines'
    translate 1 text "--quality missing/quality"
    translate 2 text "--quality text"
    says "translate: --quality text is the same file as the input"
    translate 2 text "--quality out"
    says "translate: --output and --quality are the same file"
    # Words are never produced, whether they begin the text or not.
    printf 'A dog runs. The cat sleeps.\n' >text
    printf 'Hund\n\n  Die \r\n' >avoided
    translate 0 text "--suppress avoided"
    check "--suppress" [ "$(grep -c -e Hund -e Die out)" = 0 ]
    head -c 256 /dev/zero | tr '\0' a >avoided
    translate 1 text "--suppress avoided"
    says "suppressed_texts[0] has 256 bytes; it must have 1 to 255"
    translate 0 text "--repetition-penalty 1.1 --coverage-penalty 0.2"

    # Lines of a paragraph are joined, and long sentences cut.
    printf 'A dog\n  runs. The\ncat sleeps.\n\n* Where is\n  Tom?\n' >text
    printf 'Ein Hund rennt. Die Katze schläft.\n\n* Wo ist Tom?\n' >wanted
    translate 0 text --unwrap
    check "--unwrap" cmp out wanted
    awk 'BEGIN { for (i = 0; i < 400; i++) printf "the dog and " }' >text
    translate 0 text "--max-length-break 20"
    check "a long sentence is not lost" [ "$(wc -c <out)" -gt 100 ]
    says_not() { ! grep -qF -- "$1" err || { fail "'$1' in:"; cat err; }; }
    says_not "not translated"
    translate 0 text "--max-length-break 20"
    says "translations repeated themselves"
    cp out mended
    translate 0 text "--max-length-break 20 --no-mending"
    says_not "repeated themselves"
    check "--no-mending" [ "$(wc -c <mended)" -lt "$(wc -c <out)" ]

    # A line of 3 MB, of which a block is translated at a time.
    awk 'BEGIN { for (i = 0; i < 200000; i++) printf "12345 67890. " ; printf "Yes!" }' >text
    sed 's/Yes!$/Ja!/' text >wanted
    translate 0 text
    check "a long line" cmp out wanted

    # Samples depend on the seed and the number of a sentence, not on blocks, lines or other samples.
    sampled() { code 0 "$program" translate --model model --threads 1 --temperature 2 "$@"; }
    for i in 1 2 3 4 5 6; do cat lines; done >text
    sampled --seed 3 text -o by_file
    (cat lines; sleep 1; tail -n +5 text) | "$program" translate --model model --threads 1 --temperature 2 --seed 3 >by_pauses 2>err
    check "samples of a text that comes in two blocks" cmp by_file by_pauses
    sampled --seed 3 --lines text -o by_lines
    letters() { tr -dc 'a-zA-Z' <"$1"; } # a document gets no blanks or control characters
    check "samples of lines" [ "$(letters by_file)" = "$(letters by_lines)" ]
    check "sentences are sampled each by itself" [ "$(sort -u by_file | wc -l)" -gt 8 ]
    sampled --seed 4 text -o other
    check "another seed" [ "$(cmp -s by_file other; echo $?)" -eq 1 ]
    sampled --seed 3 --lines --nbest 5 text -o five
    LC_ALL=C awk -F ' \\|\\|\\| ' '!seen[$1]++ { print $2 }' five >wanted
    sampled --seed 3 --lines --best-of 5 text -o best
    check "--best-of prints the best of --nbest" cmp best wanted
    code 0 "$program" translate --model model --threads 1 --temperature 0.01 --lines lines -o out
    cut -f 2 pairs >wanted
    check "a low temperature" cmp out wanted
    code 0 "$program" translate --model model --threads 1 --lines --max-length 3 lines -o out
    awk 'length >= length(longest) { longest = $0 } END { exit length(longest) > 30 }' out || fail "--max-length 3: $(cat out)"
    code 2 "$program" translate --model model --top-k 3 text
    says "translate: --top-k needs --temperature"
    code 2 "$program" translate --model model --lines --temperature 1 --best-of 2 --nbest 3 text
    says "translate: --nbest 3 is more than --best-of 2"

    for option in --nbest\ 2 --scores --alignments --json --placeholder\ x; do
        code 2 "$program" translate --model model $option text
        says "translate: ${option%% *} needs --lines"
    done
    for option in --unwrap --format\ text --language\ en --max-length-break\ 9 --no-protection --no-mending \
        --do-not-translate\ list.txt --recase\ none --quality\ quality; do
        code 2 "$program" translate --model model --lines $option text
        says "translate: ${option%% *} does not work with --lines"
    done
    code 2 "$program" translate --model model --format odt text
    says "text"
    # The first words of each translation, from the lines of a file.
    printf 'red old\n\nnew blue\n' >text
    printf 'gr\303\274n alt\r\n\nneu\n' >prefixes
    code 0 "$program" translate --lines --model model text --prefix prefixes >out
    check "each translation begins with its prefix" awk '
        NR == 1 && !/^grün alt/ || NR == 2 && $0 != "" || NR == 3 && !/^neu/ { exit 1 } END { exit NR != 3 }' out
    code 0 "$program" translate --lines --model model text >plain
    printf '\n\n\n' >prefixes
    code 0 "$program" translate --lines --model model text --prefix prefixes >out
    check "empty prefixes change nothing" cmp -s plain out
    head -2 prefixes >fewer
    code 1 "$program" translate --lines --model model text --prefix fewer
    says "fewer has only 2 lines, but the text has more"
    echo >>prefixes
    code 1 "$program" translate --lines --model model text --prefix prefixes
    says "prefixes has more lines than the text, which has 3"
    printf 'a\n\n\377' >prefixes
    code 1 "$program" translate --lines --model model text --prefix prefixes
    says "prefixes: byte 4 is not valid UTF-8"
    code 1 "$program" translate --lines --model model text --prefix nowhere
    code 2 "$program" translate --model model text --prefix prefixes
    says "--prefix needs --lines"
}

# Translates documents with markup by a student of Firefox in RAPT_DATA: tags are around the words
# that they were around. libxml2 (xmllint) and gettext (msgfmt) judge the results where they are installed, also of
# documents of installed packages.
test_markup() {
    code 2 "$program" translate --model none --format odt text
    says "text, html, po, srt, xliff, markdown"
    model=${RAPT_DATA:-missing}/models/firefox-tiny-enpt
    if [ ! -d "$model" ]; then
        echo "skipped: apps/markup: RAPT_DATA is not a folder with models"
        [ $failures -eq 0 ]
        exit
    fi
    translate() { code "$1" "$program" translate --model "$model" --beam 1 --format "$2" "$3" -o "$4"; }

    # Whatever the model makes of them, these come back byte for byte, and once.
    printf 'Please visit https://www.example.org/a_b/c?d=1&e=%%20f for more information \360\237\230\200.\nWrite to tom.o@mail.example.com about the %%s in {name} or read notes_2024.txt.\nThe bridge is 12.5 km long and costs $3,000.\n' >plain
    translate 0 text plain plain.out
    for text in 'https://www.example.org/a_b/c?d=1&e=%20f' '😀' tom.o@mail.example.com %s '{name}' notes_2024.txt '12.5 km' '$3,000'; do
        check "$text" [ "$(grep -oF -e "$text" plain.out | wc -l)" -eq 1 ]
    done
    check "it is translated" grep -q "mais informações" plain.out

    cat >page.html <<'END'
<!DOCTYPE html>
<title>A short &amp; simple page</title><style>b { color: red }</style>
<h1>The <em>small</em> house</h1>
<p>I am very <b>tired</b> today. The <a href="x.html" title="a>b">black cat</a> sleeps on <i>the old chair</i>.
Please run <code>ls -l</code> now.<br>Open the <span class=k>red door</span>.
<ul><li>One <b>big <i>green</i> tree</b></li></ul>
END
    translate 0 html page.html page.out
    for text in '<h1>A <em>pequena</em> casa</h1>' '<b>cansado</b>' '<a href="x.html" title="a>b">gato preto</a>' \
        '<code>ls -l</code>' '<span class=k>porta vermelha</span>' '<b>grande árvore <i>verde</i></b>' '<style>b { color: red }</style>'; do
        grep -qF "$text" page.out || { fail "no $text in:"; cat page.out; }
    done

    cat >messages.po <<'END'
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"

#, c-format
msgid "The file %s has %d lines."
msgstr ""

#, c-format
msgid "%d file was copied"
msgid_plural "%d files were copied"
msgstr[0] ""
msgstr[1] ""

msgid "Done already"
msgstr "Feito"
END
    translate 0 po messages.po messages.out
    grep -q 'msgstr ".*%s.*%d.*"' messages.out || { fail "placeholders:"; cat messages.out; }
    grep -q '^msgstr "Feito"' messages.out || fail "a translation was replaced"
    if command -v msgfmt >/dev/null; then
        check "msgfmt" msgfmt -c -o /dev/null messages.out 2>err || cat err
    else
        echo "skipped: apps/markup: msgfmt is not installed"
    fi

    printf '1\n00:00:01,000 --> 00:00:02,000\n<i>Good morning,</i>\nmy friend.\n' >film.srt
    translate 0 srt film.srt film.out
    check "time codes" grep -q '^00:00:01,000 --> 00:00:02,000$' film.out
    check "two lines of text" [ "$(wc -l <film.out)" -eq 4 ]

    code 0 "$program" translate --model "$model" --beam 1 film.srt -o named.out
    says "film.srt: read as srt"
    check "the format is that of the file's name" cmp film.out named.out
    code 0 "$program" translate --model "$model" --beam 1 --format text film.srt -o text.out
    check "--format is preferred to the name" [ ! -s err ]

    printf '<xliff version="1.2"><file><body><trans-unit><source>The <g id="1">black cat</g> &amp; I</source></trans-unit></body></file></xliff>' >units.xlf
    translate 0 xliff units.xlf units.out
    check "a unit" grep -qF '<target>O <g id="1">gato preto</g>' units.out
    printf '<xliff>\n</b>' >broken.xlf
    translate 1 xliff broken.xlf broken.out
    says "broken.xlf: line 2: </b> does not close the last open element"
    check "no output of a broken document" [ ! -e broken.out ]

    printf '# The *small* house\n\n- See the [black cat](http://a.b/c_d)\n\n```\nthe house\n```\n' >page.md
    translate 0 markdown page.md markdown.out
    check "Markdown" grep -qF '[gato preto](http://a.b/c_d)' markdown.out
    check "a block of code" grep -qx 'the house' markdown.out

    # The elements of documents are the same before and after, for another parser.
    if command -v xmllint >/dev/null; then
        check "xmllint" xmllint --noout units.out
        elements() { xmllint --html --debug "$1" 2>/dev/null | grep -o 'ELEMENT.*' | sort; }
        find /usr/share/doc -name '*.html' -size +2 -size -12 2>/dev/null | sort | head -3 >pages
        [ -s pages ] || echo "skipped: apps/markup: no HTML in /usr/share/doc"
        for page in page.html $(cat pages); do
            "$program" translate --model "$model" --beam 1 --format html "$page" >out 2>err
            elements "$page" >before
            elements out >after
            check "elements of $page" cmp before after
        done
    else
        echo "skipped: apps/markup: xmllint is not installed"
    fi
}

run_test "$@"
