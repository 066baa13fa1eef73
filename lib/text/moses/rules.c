/* rules.c - Moses' tables: character classes, abbreviations for each language, and the
   substitutions with which Moses normalizes, splits and escapes text, in the order in which they
   are applied. Source: sacremoses 0.1.1: normalize.py, tokenize.py.

   In the pattern of a substitution, % followed by a letter stands for any character of a class
   (in_class), %_ is a no-break space, and %% is a percent sign. A + after a character or class
   means that it occurs at least once, and a * means any number of times. $ stands for the end of
   the text. In replacements, %1, %2 and so on are what the first, second and later elements of the
   pattern matched. Matches are found from left to right and do not overlap. */
#include "text/moses/moses.h"

#include <string.h>

/* ---- classes ---- */

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

/* ---- substitutions ---- */

struct rule {
    const char *only; /* codes of the languages that have the rule or, after a !, of those that lack
                         it; "" for all */
    const char *pattern, *replacement;
};

static const struct rule normalizing[] = {
    /* spaces */
    {"", "\r", ""},
    {"", "(", " %1"},
    {"", ")", "%1 "},
    {"", " +", " "},
    {"", ") %e", "%1%3"},
    {"", "( ", "%1"},
    {"", " )", "%2"},
    {"", "%d %%", "%1%3"},
    {"", " :", "%2"},
    {"", " ;", "%2"},
    /* quotes, dashes and ellipses */
    {"", "`", "'"},
    {"", "''", " \" "},
    {"", "„", "\""},
    {"", "“", "\""},
    {"", "”", "\""},
    {"", "–", "-"},
    {"", "—", " - "},
    {"", " +", " "},
    {"", "´", "'"},
    {"", "%a‘%a", "%1'%3"},
    {"", "%a’%a", "%1'%3"},
    {"", "‘", "'"},
    {"", "‚", "'"},
    {"", "’", "'"},
    {"", "''", "\""},
    {"", "…", "..."},
    /* French quotes */
    {"", "%_«%_", "\""},
    {"", "«%_", "\""},
    {"", "«", "\""},
    {"", "%_»%_", "\""},
    {"", "%_»", "\""},
    {"", "»", "\""},
    /* no-break spaces */
    {"", "%_%%", "%2"},
    {"", "nº%_", "%1%2 "},
    {"", "%_:", "%2"},
    {"", "%_ºC", " %2%3"},
    {"", "%_cm", " %2%3"},
    {"", "%_?", "%2"},
    {"", "%_!", "%2"},
    {"", "%_;", "%2"},
    {"", ",%_", "%1 "},
    {"", " +", " "},
    /* a comma or full stop changes places with a quote */
    {"en", "\"%f+", "%2%1"},
    {"de es fr", ",\"", "%2%1"},
    {"de es fr", ".+\"%s*%g", "%2%1%3%4"},
    /* numbers */
    {"de es cz cs fr", "%d%_%d", "%1,%3"},
    {"!de es cz cs fr", "%d%_%d", "%1.%3"},
};
static const struct rule separating[] = {
    {"", "%s+", " "},
    {"", "%c", ""},
    {"", "%p", " %1 "},
};
static const struct rule separating_commas[] = {
    {"", "%M,", "%1 %2 "},          {"", ",%M", " %1 %2"},          {"", "%N,$", "%1 %2 "},
    {"en", "%B'%B", "%1 %2 %3"},    {"en", "%O'%A", "%1 %2 %3"},    {"en", "%A'%B", "%1 %2 %3"},
    {"en", "%A'%A", "%1 %2%3"},     {"en", "%N's", "%1 %2%3"},      {"fr it", "%B'%B", "%1 %2 %3"},
    {"fr it", "%B'%A", "%1 %2 %3"}, {"fr it", "%A'%B", "%1 %2 %3"}, {"fr it", "%A'%A", "%1%2 %3"},
    {"!en fr it", "'", " %1 "},
};
static const struct rule escaping[] = {
    {"", ".'$", " %1 %2 "}, {"", "&", "&amp;"}, {"", "|", "&#124;"},
    {"", "<", "&lt;"},      {"", ">", "&gt;"},  {"", "'", "&apos;"},
    {"", "\"", "&quot;"},   {"", "[", "&#91;"}, {"", "]", "&#93;"},
};

/* ---- matching ---- */

enum { ELEMENTS = 5 };

struct pattern {
    int count;
    struct element {
        uint32_t code; /* of a character, or the letter of a class */
        bool is_class;
        char repeat; /* '+', '*' or 0 */
    } elements[ELEMENTS];
    bool at_end; /* a match must end where the text ends */
};

static bool is_one_of(const char *set, uint32_t c)
{
    return c && c < 0x80 && strchr(set, (int)c);
}

static bool in_class(const struct moses_language *l, char class, uint32_t c)
{
    switch (class) {
    case 'a':
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    case 'c':
        return c < 0x20;
    case 'd':
        return rapt__moses_classes(c) & MOSES_DIGIT;
    case 'e':
        return is_one_of(".!:?;,", c);
    case 'f':
        return is_one_of(",.", c);
    case 'g':
        return c != '<';
    case 's':
        return rapt__utf8_space(c);
    case 'p': /* becomes a word */
        return !is_one_of(".'`,-", c) && !rapt__utf8_space(c) &&
               !(rapt__moses_classes(c) & (l->letters | MOSES_ALNUM));
    case 'A': /* B is its complement */
        return rapt__moses_classes(c) & l->letters;
    case 'B':
        return !(rapt__moses_classes(c) & l->letters);
    case 'N': /* M is its complement */
        return rapt__moses_classes(c) & MOSES_NUMBER;
    case 'M':
        return !(rapt__moses_classes(c) & MOSES_NUMBER);
    case 'O':
        return !(rapt__moses_classes(c) & (l->letters | MOSES_NUMBER));
    default:
        return c == 0xA0; /* '_' */
    }
}

static struct pattern parse_pattern(const char *text)
{
    struct pattern p = {.count = 0};
    for (size_t at = 0, size = strlen(text); at < size;) {
        struct element *e = &p.elements[p.count];
        e->code = rapt__utf8_next(text, size, &at);
        if (e->code == '$') {
            p.at_end = true;
            break;
        }
        if (e->code == '%') {
            e->code = (unsigned char)text[at++];
            e->is_class = e->code != '%';
        }
        if (text[at] == '+' || text[at] == '*') e->repeat = text[at++];
        p.count++;
    }
    return p;
}

static bool fits(const struct moses_language *l, const struct element *e, uint32_t c)
{
    return e->is_class ? in_class(l, (char)e->code, c) : e->code == c;
}

/* Returns the end of the run of characters that fit an element. */
static size_t run_of(const struct moses_text *t, const struct element *e, size_t at)
{
    while (at < t->now.count && fits(t->language, e, t->now.at[at].code)) at++;
    return at;
}

/* Returns true if the text matches at `at`, and sets ends[i] to the end of what element i matches.
   Repeated elements take as many characters as they can. Only the %s* of %s*%g gives one back, if
   the character after the white space does not fit %g. */
static bool match(const struct moses_text *t, const struct pattern *p, size_t at, size_t *ends)
{
    const struct moses_buffer *text = &t->now;
    for (int i = 0; i < p->count; i++) {
        const struct element *e = &p->elements[i];
        const size_t begin = at;
        if (e->repeat) {
            at = run_of(t, e, at);
            const bool last = i + 1 < p->count && e->repeat == '*' && at > begin;
            if (last && (at == text->count || !fits(t->language, e + 1, text->at[at].code))) at--;
            if (e->repeat == '+' && at == begin) return false;
        } else if (at == text->count || !fits(t->language, e, text->at[at++].code)) {
            return false;
        }
        ends[i] = at;
    }
    return !p->at_end || at == text->count;
}

/* ---- replacing ---- */

void rapt__moses_put(struct moses_text *t, uint32_t code, uint32_t end)
{
    struct moses_buffer *b = &t->next;
    if (b->count == b->capacity) {
        void *grown =
            t->failed ? NULL : rapt__grown(&t->allocator, b->at, &b->capacity, sizeof *b->at);
        t->failed = !grown;
        if (!grown) return;
        b->at = grown;
    }
    b->at[b->count++] = (struct moses_character){code, end};
}

void rapt__moses_swap(struct moses_text *t)
{
    const struct moses_buffer old = t->now;
    t->now = t->next;
    t->next = old;
    t->next.count = 0;
}

/* Appends characters [from, to) of the text. */
static void copy(struct moses_text *t, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) rapt__moses_put(t, t->now.at[i].code, t->now.at[i].end);
}

/* Appends the replacement of a match that begins at `at`. */
static void replace(struct moses_text *t, const struct pattern *p, const char *text, size_t at,
                    const size_t *ends)
{
    const uint32_t end = t->now.at[ends[p->count - 1] - 1].end;
    for (size_t i = 0, size = strlen(text); i < size;) {
        const uint32_t c = rapt__utf8_next(text, size, &i);
        if (c == '%') {
            const int element = text[i++] - '1';
            copy(t, element ? ends[element - 1] : at, ends[element]);
        } else {
            rapt__moses_put(t, c, end);
        }
    }
}

static void apply(struct moses_text *t, const struct rule *rule)
{
    const struct pattern p = parse_pattern(rule->pattern);
    const struct element *first = &p.elements[0];
    size_t ends[ELEMENTS], done = 0;
    for (size_t at = 0; at < t->now.count;) {
        if (!fits(t->language, first, t->now.at[at].code)) {
            at++;
        } else if (match(t, &p, at, ends)) {
            copy(t, done, at);
            replace(t, &p, rule->replacement, at, ends);
            at = done = ends[p.count - 1];
        } else {
            at = first->repeat ? run_of(t, first, at) : at + 1;
        }
    }
    if (done == 0) return;
    copy(t, done, t->now.count);
    rapt__moses_swap(t);
}

static bool has_rule(const struct moses_language *l, const char *only)
{
    const bool lacks = *only == '!';
    return !*only ||
           rapt__moses_listed(only + lacks, (rapt_text){l->code, strlen(l->code)}) != lacks;
}

static void apply_all(struct moses_text *t, const struct rule *rules, size_t count)
{
    for (size_t i = 0; i < count && !t->failed; i++)
        if (has_rule(t->language, rules[i].only)) apply(t, &rules[i]);
}

#define APPLY(rules) apply_all(t, rules, sizeof(rules) / sizeof *(rules))

void rapt__moses_normalize(struct moses_text *t)
{
    APPLY(normalizing);
}

void rapt__moses_separate(struct moses_text *t)
{
    APPLY(separating);
}

void rapt__moses_separate_commas(struct moses_text *t)
{
    APPLY(separating_commas);
}

void rapt__moses_escape(struct moses_text *t)
{
    APPLY(escaping);
}

void rapt__moses_trim(struct moses_text *t)
{
    struct moses_buffer *b = &t->now;
    size_t first = 0;
    while (b->count && rapt__utf8_space(b->at[b->count - 1].code)) b->count--;
    while (first < b->count && rapt__utf8_space(b->at[first].code)) first++;
    b->count -= first;
    if (first) memmove(b->at, b->at + first, b->count * sizeof *b->at);
}
