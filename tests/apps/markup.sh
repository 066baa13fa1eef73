#!/bin/sh
# markup.sh PROGRAM - translates documents with markup by a student of Firefox in RAPT_DATA: tags are around the words
# that they were around. libxml2 (xmllint) and gettext (msgfmt) judge the results where they are installed, also of
# documents of installed packages.
. "$(dirname "$0")/kit/script.sh"
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

printf '<xliff version="1.2"><file><body><trans-unit><source>The <g id="1">black cat</g> &amp; I</source></trans-unit></body></file></xliff>' >units.xlf
translate 0 xliff units.xlf units.out
check "a unit" grep -qF '<target>O <g id="1">gato preto</g>' units.out
printf '<xliff>\n</b>' >broken.xlf
translate 1 xliff broken.xlf broken.out
says "broken.xlf: line 2: </b> closes no open element"
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
[ $failures -eq 0 ]
