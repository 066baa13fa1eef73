#!/bin/sh
# icu_sentence_ends.sh - ICU's sentence iterator ends a sentence at "!" or "?" within a word, as in "a!b?c", but not at the
# character for an ellipsis (U+2026), although it does at three full stops, and not at a full stop before a number if the word
# after the number has a small letter. So "It broke the window. 3 friends came." is one sentence, and a line of "a!a!a!" has as
# many sentences as letters, which makes a loop over candidates quadratic if each step looks further than the next one.
#
# Guess before the run: white space is needed after any mark of Latin script, an ellipsis is like three full stops, and a number
# after a full stop and a space begins a sentence.
# Needs: gcc and libicu-dev (Debian; found with ICU 72.1). Skipped without them.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/ends.c" <<'END_OF_C'
#include <stdio.h>
#include <unicode/ubrk.h>
#include <unicode/ustring.h>

/* Prints the number of sentences of a text. */
int main(int count, char **words)
{
    UErrorCode code = U_ZERO_ERROR;
    UChar text[256];
    int32_t size;
    int sentences = -1;
    if (count < 2) return puts(U_ICU_VERSION), 0;
    u_strFromUTF8(text, 256, &size, words[1], -1, &code);
    UBreakIterator *ends = ubrk_open(UBRK_SENTENCE, "en", text, size, &code);
    if (U_FAILURE(code)) return puts(u_errorName(code)), 1;
    for (int32_t at = ubrk_first(ends); at != UBRK_DONE; at = ubrk_next(ends)) sentences++;
    ubrk_close(ends);
    printf("%d\n", sentences);
    return 0;
}
END_OF_C
gcc "$folder/ends.c" -o "$folder/ends" -licuuc 2>/dev/null || {
    echo "skipped: gcc or libicu-dev is not installed"
    exit 0
}
changed=0

# row TEXT SEEN EXPECTED: counts the sentences of a text.
row() {
    got=$("$folder/ends" "$1")
    echo "$1 - $got, expected $3"
    [ "$got" = "$2" ] || changed=1
}
echo "ICU $("$folder/ends")"
row "He left. She stayed." 2 2
row "a!b?c" 3 1
row "He left... She stayed." 2 2
row "He left… She stayed." 1 2
row "It broke the window. 3 Friends came." 2 2
row "It broke the window. 3 friends came." 1 2
[ $changed = 0 ] && echo "seen: as found" || echo "seen: something else than when this was written"
exit $changed
