#!/bin/sh
# pages.sh LESSONS - the pages of all lessons in a headless browser, as on a phone and on a desk, light and dark;
# that the test can complain is shown with pages that are too wide, lead nowhere, load something, say something on the
# console and are hard to read.
. "$(dirname "$0")/../kit/script.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || browser=
# measured FOLDER: 0, or 1 after complaints
measured() {
    wrong=0
    python3 "$scripts/pages.py" measure "$1" harness.html || wrong=1
    [ -n "$browser" ] || return $wrong
    for scheme in 0 1; do # dark, light
        "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$here/profile" \
            --blink-settings=preferredColorScheme=$scheme --enable-logging=stderr \
            --virtual-time-budget=20000 --dump-dom "file://$here/harness.html" >dom 2>browser.err ||
            { tail -3 browser.err; return 1; }
        python3 "$scripts/pages.py" measure --judge dom || wrong=1
        if grep CONSOLE browser.err; then wrong=1; fi
    done
    return $wrong
}
command -v python3 >/dev/null || { echo "skipped: pages of lessons: python3 is not installed"; exit 77; }
[ -n "$browser" ] || echo "skipped: pages of lessons in a browser: chromium is not installed"

code 0 "$program" all --quick --html pages >out
measured pages || fail "the pages above"

# A reader translates sentences of her own in the page of lesson 11, also in a browser without SIMD128.
if [ -n "$browser" ] && grep -q 'class="rapt"' pages/lesson-11.html; then
    python3 "$scripts/pages.py" play pages/lesson-11.html harness.html
    for flags in "" --no-enable-sse4-1; do
        for attempt in 1 2 3; do # on a busy machine virtual time may end before the library is compiled
            "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$here/profile" \
                --js-flags="$flags" --virtual-time-budget=20000 --dump-dom "file://$here/harness.html" >dom 2>browser.err ||
                fail "the browser: $(tail -3 browser.err)"
            python3 "$scripts/pages.py" play --judge dom "$flags" >played && break
        done
        cat played
        grep -q WRONG played && fail "the model in the page, above, after $attempt attempts"
    done
else
    echo "skipped: the model in a page: no browser, or no clang that compiles to WebAssembly"
fi

# The drawing of a model shows the step that the reader of a map has reached.
# drawn FOLDER: 0, or 1 after complaints
drawn() {
    python3 "$scripts/pages.py" drawn "$1" harness.html
    "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$here/profile" \
        --virtual-time-budget=20000 --dump-dom "file://$here/harness.html" >dom 2>browser.err ||
        fail "the browser: $(tail -3 browser.err)"
    python3 "$scripts/pages.py" drawn --judge dom
}
if [ -n "$browser" ]; then
    drawn pages || fail "the drawings, above"
    mkdir still
    for number in 4 7; do # drawings that stay as they are
        sed 's/this.drawings.forEach/[].forEach/' pages/lesson-$number.html >still/lesson-$number.html
    done
    drawn still >said && fail "drawings that do not change are not noticed"
    grep -q "WRONG: lesson-7.html: no step changes a number" said || fail "they are not named: $(cat said)"
fi

mkdir bad
page='<!DOCTYPE html><html><body><p>fine</p></body></html>'
echo "$page" >bad/index.html
echo '<a href="missing.html">nowhere</a>' >bad/a.html
measured bad >said && fail "a link that leads nowhere is not noticed"
grep -q "missing.html: no such page" said || fail "the link is not named: $(cat said)"
rm bad/a.html
echo '<a href="index.html"></a><img src="picture.png">' >>bad/index.html
measured bad >said && fail "a picture from outside is not noticed"
echo "$page" >bad/index.html
measured bad >said && { [ -z "$browser" ] || fail "two pages are needed"; }
echo "<a href=\"b.html\">b</a>$page" >bad/index.html
echo "$page" >bad/b.html
measured bad >said || fail "good pages are refused: $(cat said)"
if [ -n "$browser" ]; then
    echo '<!DOCTYPE html><p style="width:500px">wide</p>' >bad/b.html
    measured bad >said && fail "a page that is too wide is not noticed"
    grep -q "b.html 360: WRONG" said || fail "the page is not named: $(cat said)"
    grep -q "b.html 1200: WRONG" said && fail "it is too wide at 1200 as well: $(cat said)"
    echo '<!DOCTYPE html><script>nothing()</script>' >bad/b.html
    measured bad >said && fail "an error on the console is not noticed"
    grep -q "CONSOLE.*nothing is not defined" said || fail "the error is not named: $(cat said)"
    echo '<!DOCTYPE html><style>:root{color-scheme:light dark}</style><p style="color:#333">faint if dark</p>' >bad/b.html
    measured bad >said && fail "text as dark as its background is not noticed"
    [ "$(grep -c "WRONG P has a contrast" said)" -eq 2 ] || fail "not once for each width, in the dark: $(cat said)"
fi
[ $failures -eq 0 ]
