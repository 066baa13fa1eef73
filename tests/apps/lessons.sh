#!/bin/sh
# lessons: the list, options, files, JSON and pauses. Other tests check the claims, lesson by lesson.
# usage: lessons.sh PROGRAM
. "$(dirname "$0")/kit/script.sh"
code 0 "$program" >out
[ "$(head -1 out)" = "Lessons about attention:" ] || fail "no list: $(head -3 out)"
check "the list names lesson 6" grep -q "^   6  Soft attention" out

code 0 "$program" 6 --quick --json --svg page.svg --html pages >out
[ "$(grep -c '^{.*}$' out)" -eq 2 ] || fail "not two lines of JSON"
grep -q '"lesson":6.*"claims":\[{"statement":.*"holds":true' out || fail "no claims of lesson 6"
grep -q '"holds":false' out && fail "a claim fails"
grep -q '"untrained":' out || fail "no control of what lesson 6 learned"
grep -q '^{"done":true,"lessons":1,"claims":[1-9][0-9]*,"failed":0}' out || fail "the last line: $(tail -1 out)"
[ "$(ls pages)" = "glossary.html
index.html
lesson-6.html" ] || fail "the folder holds: $(ls pages)"
grep -q '<math display="block">' pages/lesson-6.html || fail "no formula"
grep -q 'name="viewport"' pages/lesson-6.html || fail "no viewport"
if command -v xmllint >/dev/null; then
    xmllint --noout page.svg || fail "the figure is not valid XML"
fi

# Text is the same in each run but for seconds, has at most 80 columns, and is short without --more.
same() {
    sed -e '/ claims hold (/d' -e '/  seconds$/,/^$/s/ *[0-9.]*$//'
}
code 0 "$program" 6 --quick >short
code 0 "$program" 6 --quick --more >long
same <short >first
"$program" 6 --quick | same >second
cmp first second || fail "another run prints other text"
[ "$(wc -l <long)" -gt "$(wc -l <short)" ] || fail "--more prints nothing more"
[ "$(grep -n '^Claims$' short | cut -d: -f1)" -gt "$(grep -n '^-- ' short | tail -1 | cut -d: -f1)" ] ||
    fail "the claims are not at the end"
for text in short long; do
    [ "$(LC_ALL=C.UTF-8 wc -L <$text)" -le 80 ] || fail "$text: lines are too wide"
done

# The picture in README.md is the one that the program draws; the others exist.
if [ -z "${2-}" ]; then
    code 0 "$program" --architecture models >out
    for row in prototype-1:0 fixed:4 prototype-2:4 simple:3 transformer:0; do # parts that were drawn before, of five
        [ "$(grep -o '<g opacity' "models/${row%:*}.svg" | wc -l)" -eq "${row#*:}" ] ||
            fail "${row%:*}.svg does not have ${row#*:} faint parts"
    done
    for model in fixed prototype-1 prototype-2 prototype-3 prototype-4 bidirectional simple parameterized transformer; do
        grep -q '</svg>' "models/$model.svg" || fail "no picture of $model"
    done
    cmp models/transformer.svg "$scripts/../../apps/lessons/transformer.svg" ||
        fail "lessons --architecture draws another apps/lessons/transformer.svg"
else
    echo "skipped: lessons --architecture: its training takes minutes here"
fi

for option in json more pause quick; do
    code 2 "$program" --$option >out
    says "--$option needs lessons"
done
code 2 "$program" 99 >out
says "no lesson 99"
code 2 "$program" 6 --pause </dev/null >out
says "needs a terminal"
code 1 "$program" 6 --quick --svg missing/page.svg >out
says missing/page.svg
code 1 "$program" 6 --quick --html missing/pages >out
says missing/pages
echo mine >file
code 1 "$program" 6 --quick --html file >out
[ "$(cat file)" = mine ] || fail "a file was touched"

# A file size limit is an error of the file: nothing is left of it, and an old one stays.
mkdir limited
echo mine >limited/page.svg
cd limited || exit 1
(ulimit -f 4 && "$program" 6 --quick --svg page.svg) >out 2>err && fail "a file size limit is not noticed"
says "page.svg"
[ "$(cat page.svg)" = mine ] || fail "a failed figure destroyed the old one"
ls -A | grep -q '^\.rapt-' && fail "a temporary file is left"
cd ..

# On a terminal each step waits for Enter, and the lesson ends after one Enter per step.
if command -v script >/dev/null; then
    steps=$(grep -c '^-- ' short)
    [ "$steps" -ge 1 ] || fail "lesson 6 has no steps"
    yes '' | head -n "$steps" | script -qec "'$program' 6 --quick --pause" typescript >out 2>&1 || fail "--pause: $(tail -3 out)"
    grep -q "training.*: step [0-9]* of [0-9]*" out || fail "a terminal shows no progress"
    [ "$(grep -o '\[Enter\]' out | wc -l)" -eq "$steps" ] || fail "$(grep -o '\[Enter\]' out | wc -l) pauses, not $steps"
else
    echo "skipped: --pause, progress: script is not installed"
fi
[ $failures -eq 0 ]
