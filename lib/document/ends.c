/* ends.c - decides whether a sentence ends at a place that breaks.c has found. A full stop after an
   abbreviation, an initial or an ordinal is ambiguous. The decision then depends on the kind of
   abbreviation and on the next word. */
#include "document/document.h"

#include <string.h>

struct language {
    const char *code;
    int ordinals;
    const char *titles, *others, *numbers, *starters; /* see languages.def */
};

static const struct language languages[] = {
#define LANGUAGE(...) {__VA_ARGS__},
#include "document/languages.def"
#undef LANGUAGE
};

enum { KNOWN_LANGUAGES = sizeof languages / sizeof *languages };
enum {
    WORD_LONGEST = 10, /* maximum size of an abbreviation in bytes */
    FORM_LONGEST = 16  /* maximum size of a listed word in bytes */
};
_Static_assert((int)KNOWN_LANGUAGES <= (int)LANGUAGES_MAX, "LANGUAGES_MAX is too small");

struct languages rapt__languages(const char *code)
{
    struct languages all = {.count = 0};
    size_t size = code ? strcspn(code, "-_.@") : 0;
    for (int i = 0; i < KNOWN_LANGUAGES; i++) {
        if (strlen(languages[i].code) == size && memcmp(languages[i].code, code, size) == 0)
            return (struct languages){.list = {&languages[i]}, .count = 1};
        all.list[all.count++] = &languages[i];
    }
    return all;
}

/* ---- lists of words ---- */

/* Returns true if the word has no lower-case letters. */
static bool is_in_capitals(rapt_text word)
{
    for (size_t at = 0; at < word.size;)
        if (rapt__is_lower(rapt__utf8_next(word.bytes, word.size, &at))) return false;
    return true;
}

/* Returns the word with its first letter in lower case if `first`, and the others if `others`.
   `low` must have room for twice as many bytes as the word has. */
static rapt_text lowered(rapt_text word, bool first, bool others, char *low)
{
    size_t begin = 0;
    rapt__utf8_next(word.bytes, word.size, &begin);
    const rapt_text head = {word.bytes, begin}, tail = {word.bytes + begin, word.size - begin};
    size_t size = first ? rapt__lower(head, low) : head.size;
    if (!first) memcpy(low, head.bytes, head.size);
    if (!others) memcpy(low + size, tail.bytes, tail.size);
    size += others ? rapt__lower(tail, low + size) : tail.size;
    return (rapt_text){low, size};
}

/* Returns true if the list contains the word. If any_first is set, the word may begin with a
   capital where the listed word does not. If the word is in capitals, its other letters may be in
   lower case in the list. */
static bool list_has_form(const char *list, rapt_text word, bool any_first)
{
    char low[2 * FORM_LONGEST];
    if (word.size == 0 || word.size > FORM_LONGEST) return false;
    const bool capitals = is_in_capitals(word);
    for (int others = 0; others <= capitals; others++)
        for (int first = 0; first <= any_first; first++)
            if (rapt__list_has(list, lowered(word, first, others, low), false)) return true;
    return false;
}

enum list_kind { TITLES, OTHERS, NUMBERS, STARTERS };

static bool known(const struct languages *of, enum list_kind kind, rapt_text word)
{
    for (int i = 0; i < of->count; i++) {
        const struct language *l = of->list[i];
        const char *const lists[] = {l->titles, l->others, l->numbers, l->starters};
        if (list_has_form(lists[kind], word, kind != STARTERS)) return true;
    }
    return false;
}

static bool has_ordinals(const struct languages *of)
{
    return of->count == 1 && of->list[0]->ordinals;
}

/* ---- the words around a full stop ---- */

/* Returns the word that ends at `end`: letters, digits, full stops and apostrophes. If the word is
   longer than WORD_LONGEST, returns only its end, which is still longer than that. */
static rapt_text word_before(rapt_text text, size_t end)
{
    size_t begin = end;
    while (begin > 0 && end - begin <= WORD_LONGEST) {
        size_t start;
        uint32_t c = rapt__character_before(text, begin, &start);
        bool inner = (c >= '0' && c <= '9') || c == '.' || c == '\'' || c == 0x2019;
        if (!inner && !rapt__is_letter(c)) break;
        begin = start;
    }
    return (rapt_text){text.bytes + begin, end - begin};
}

/* Returns the run of letters at `at`, after any opening punctuation. */
static rapt_text word_after(rapt_text text, size_t at)
{
    size_t next = at;
    for (; at < text.size; at = next)
        if (!rapt__is_opener(rapt__utf8_next(text.bytes, text.size, &next))) break;
    size_t end = next = at;
    for (; end < text.size; end = next)
        if (!rapt__is_letter(rapt__utf8_next(text.bytes, text.size, &next))) break;
    return (rapt_text){text.bytes + at, end - at};
}

static bool begins_lower(rapt_text word)
{
    size_t next = 0;
    return word.size > 0 && rapt__is_lower(rapt__utf8_next(word.bytes, word.size, &next));
}

/* Returns true if a sentence probably begins with the word at `at`. */
static bool starts(const struct languages *of, rapt_text text, size_t at)
{
    rapt_text word = word_after(text, at);
    size_t end = (size_t)(word.bytes - text.bytes) + word.size;
    bool initial = end < text.size && text.bytes[end] == '.' && word.size == 1;
    return !initial && known(of, STARTERS, word);
}

/* ---- abbreviations ---- */

/* Returns the number of letters if the word is an initial, such as the J in "J.", or consists of
   letters with full stops between them, such as the U.S in "U.S."; otherwise returns 0. `word` does
   not include the last full stop. */
static int initials(rapt_text word)
{
    size_t at = 0;
    for (int count = 1; at < word.size; count++) {
        if (!rapt__is_letter(rapt__utf8_next(word.bytes, word.size, &at))) return 0;
        if (at == word.size) return count;
        if (word.bytes[at++] != '.') return 0;
    }
    return 0;
}

/* Returns true for the English pronoun "I" after a word in lower case, as in "Tom and I.". */
static bool is_pronoun(rapt_text text, rapt_text word)
{
    size_t at = (size_t)(word.bytes - text.bytes);
    if (word.size != 1 || word.bytes[0] != 'I' || at < 2 || text.bytes[at - 1] != ' ') return false;
    const rapt_text before = word_before(text, at - 1);
    return before.size <= WORD_LONGEST && begins_lower(before);
}

static bool is_number(rapt_text word, const char *digits, size_t max)
{
    size_t length = 0;
    while (length < word.size && strchr(digits, word.bytes[length])) length++;
    return length > 0 && length == word.size && length <= max;
}

static bool is_ordinal(rapt_text word)
{
    return is_number(word, "0123456789", 2) || (word.size > 1 && is_number(word, "IVXLC", 6));
}

/* Returns true if an abbreviation, such as "mind", may be a word in another language. */
static bool may_be_word(const struct languages *of, rapt_text word)
{
    return of->count > 1 && begins_lower(word) && !memchr(word.bytes, '.', word.size);
}

/* Returns true if a sentence ends after `word` and a full stop. The text after them begins at
   `at`. */
static bool ends_after(const struct languages *of, rapt_text word, rapt_text text, size_t at)
{
    bool digit = text.bytes[at] >= '0' && text.bytes[at] <= '9';
    if (word.size == 0 || word.size > WORD_LONGEST) return true;
    if (digit && known(of, NUMBERS, word)) return false;
    if (known(of, TITLES, word)) return may_be_word(of, word) && starts(of, text, at);
    int letters = initials(word);
    bool ambiguous = letters == 1 || (letters > 1 && !begins_lower(word)) ||
                     known(of, OTHERS, word) || (has_ordinals(of) && is_ordinal(word));
    return !ambiguous || is_pronoun(text, word) || starts(of, text, at);
}

/* Returns true for punctuation that cannot begin a sentence. */
static bool goes_on(uint32_t c)
{
    return c == ',' || c == ';' || c == ':' || c == '-' || c == 0x2013 || c == 0x2014 ||
           rapt__is_terminator(c);
}

bool rapt__sentence_ends(const struct languages *of, rapt_text text, size_t at)
{
    size_t end = rapt__trimmed_end(text, (rapt_span){0, at}), stop = end, before = 0, next = at;
    if (at == text.size || end == 0) return true;
    uint32_t c = rapt__character_before(text, end, &before);
    while (rapt__is_closer(c) && before > 0) {
        stop = before;
        c = rapt__character_before(text, stop, &before);
    }
    if (!rapt__is_terminator(c)) return true; /* a line or paragraph ends */
    if (goes_on(rapt__utf8_next(text.bytes, text.size, &next))) return false;
    if (end == at) return rapt__is_full_terminator(c);
    bool quoted = stop < end, lower = begins_lower(word_after(text, at));
    if (lower && (quoted || c == '.' || c == 0x2026)) return false;
    if (c != '.' || quoted) return true;
    return ends_after(of, word_before(text, before), text, at);
}
