/* classes.c - classes of characters, and the abbreviations of languages. */
#include "text/moses/moses.h"

#include <string.h>

enum {
    ALPHA = MOSES_ALPHA,
    ALNUM = MOSES_ALNUM,
    SIGN = MOSES_SIGN,
    LOWER = MOSES_LOWER,
    NUMBER = MOSES_NUMBER,
    CURRENCY = MOSES_CURRENCY,
    DIGIT = MOSES_DIGIT,
    HAN = MOSES_HAN,
    KANA = MOSES_KANA,
    HANGUL = MOSES_HANGUL,
    SECOND = 1 << 15 /* every second character of the range, from the second on, is LOWER */
};

static const struct class_range {
    uint32_t first, last, classes;
} ranges[] = {
#define RANGE(first, last, classes) {first, last, classes},
#include "text/moses/classes.def"
#undef RANGE
};

unsigned rapt__moses_classes(uint32_t c)
{
    size_t low = 0, high = sizeof ranges / sizeof *ranges;
    while (low < high) { /* finds the first range that does not end before c */
        const size_t middle = (low + high) / 2;
        if (ranges[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == sizeof ranges / sizeof *ranges || c < ranges[low].first) return 0;
    const bool lower = ranges[low].classes & SECOND && (c - ranges[low].first) % 2;
    return (ranges[low].classes & ~(unsigned)SECOND) | (lower ? LOWER : 0);
}

/* ---- languages ---- */

static const struct abbreviations {
    const char *codes, *always, *numeric;
} abbreviations[] = {
#define LANGUAGE(codes, always, numeric) {codes, always, numeric},
#include "text/moses/prefixes.def"
#undef LANGUAGE
};

bool rapt__moses_listed(const char *list, rapt_text word)
{
    for (size_t size; *list; list += size + (list[size] == ' ')) {
        size = strcspn(list, " ");
        if (size == word.size && memcmp(list, word.bytes, size) == 0) return true;
    }
    return false;
}

static const struct abbreviations *find_abbreviations(const char *code)
{
    const rapt_text word = {code, strlen(code)};
    for (size_t i = 0; i < sizeof abbreviations / sizeof *abbreviations; i++)
        if (rapt__moses_listed(abbreviations[i].codes, word)) return &abbreviations[i];
    return NULL;
}

void rapt__moses_language(struct moses_language *l)
{
    const struct abbreviations *own = find_abbreviations(l->code);
    if (!own) own = find_abbreviations("en");
    l->always = own->always, l->numeric = own->numeric;
    l->letters = ALPHA | SIGN;
    if (strcmp(l->code, "zh") == 0) l->letters |= HAN;
    if (strcmp(l->code, "ja") == 0) l->letters |= HAN | KANA;
    if (strcmp(l->code, "ko") == 0) l->letters |= HANGUL;
}
