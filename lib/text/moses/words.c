/* words.c - splits a text into words, and joins words into a text as Moses' detokenizer does.
   Splitting applies the substitutions of rules.c. A run of two or more dots becomes a word. So does
   the full stop at the end of a word, unless the word keeps it (keeps_stop), as abbreviations do.
   Source: sacremoses 0.1.1: tokenize.py, util.py. */
#include "text/moses/moses.h"

#include <string.h>

size_t rapt__moses_spell(uint32_t code, char to[4])
{
    const bool byte = code >= 0xDC00 && code <= 0xDCFF; /* not UTF-8 */
    if (!byte) return rapt__utf8_encode(code == MOSES_DOT ? '.' : code, to);
    *to = (char)(code - 0xDC00);
    return 1;
}

static void load_text(struct moses_text *t, rapt_text text)
{
    for (size_t at = 0; at < text.size && !t->failed;) {
        const uint32_t c = rapt__utf8_next(text.bytes, text.size, &at);
        rapt__moses_put(t, c, (uint32_t)at);
    }
    rapt__moses_swap(t);
}

/* Makes each run of at least two dots a word. */
static void separate_dots(struct moses_text *t)
{
    const struct moses_buffer *b = &t->now;
    for (size_t at = 0, end; at < b->count; at = end) {
        for (end = at; end < b->count && b->at[end].code == '.';) end++;
        if (end <= at + 1) {
            end = at + 1;
            rapt__moses_put(t, b->at[at].code, b->at[at].end);
            continue;
        }
        rapt__moses_put(t, ' ', b->at[at].end);
        for (size_t i = at; i < end; i++) rapt__moses_put(t, MOSES_DOT, b->at[i].end);
        if (end < b->count) rapt__moses_put(t, ' ', b->at[end - 1].end);
    }
    rapt__moses_swap(t);
}

/* ---- full stops ---- */

/* Finds the word at or after `at`, sets *begin to its beginning and returns its end. If there is no
   word, both are the end of the text. */
static size_t find_word(const struct moses_buffer *b, size_t at, size_t *begin)
{
    while (at < b->count && rapt__utf8_space(b->at[at].code)) at++;
    *begin = at;
    while (at < b->count && !rapt__utf8_space(b->at[at].code)) at++;
    return at;
}

enum { ABBREVIATION = 128 }; /* bytes; no abbreviation is longer */

/* Returns true if a list contains characters [from, to). */
static bool is_listed(const struct moses_buffer *b, size_t from, size_t to, const char *list)
{
    char bytes[ABBREVIATION + 4];
    size_t size = 0;
    for (size_t i = from; i < to && size < ABBREVIATION; i++)
        size += rapt__utf8_encode(b->at[i].code, bytes + size);
    return size < ABBREVIATION && rapt__moses_listed(list, (rapt_text){bytes, size});
}

/* Returns true if characters [from, to), which are followed by a full stop, contain another full
   stop and a letter. */
static bool has_inner_stop(const struct moses_text *t, size_t from, size_t to)
{
    bool stop = false, letter = false;
    for (size_t i = from; i < to; i++) {
        stop |= t->now.at[i].code == '.';
        letter |= (rapt__moses_classes(t->now.at[i].code) & t->language->letters) != 0;
    }
    return stop && letter;
}

/* Returns true if the word that consists of characters [from, to) keeps the full stop that follows
   it. `next` is the first character of the next word, or 0. */
static bool keeps_stop(const struct moses_text *t, size_t from, size_t to, uint32_t next)
{
    const struct moses_language *l = t->language;
    return (rapt__moses_classes(next) & MOSES_LOWER) || has_inner_stop(t, from, to) ||
           is_listed(&t->now, from, to, l->always) ||
           (next >= '0' && next <= '9' && is_listed(&t->now, from, to, l->numeric));
}

/* Puts single spaces between words, and before the full stop of a word that does not keep it. */
static void separate_stops(struct moses_text *t)
{
    const struct moses_buffer *b = &t->now;
    size_t begin, end = find_word(b, 0, &begin), next;
    for (size_t after; begin < b->count; begin = next, end = after) {
        after = find_word(b, end, &next);
        const uint32_t first = next < b->count ? b->at[next].code : 0;
        const bool stop = end - begin > 1 && b->at[end - 1].code == '.';
        const bool apart = stop && !keeps_stop(t, begin, end - 1, first);
        for (size_t i = begin; i < end; i++) {
            if (apart && i == end - 1) rapt__moses_put(t, ' ', b->at[i].end);
            rapt__moses_put(t, b->at[i].code, b->at[i].end);
        }
        if (next < b->count) rapt__moses_put(t, ' ', b->at[end - 1].end);
    }
    rapt__moses_swap(t);
}

rapt_status rapt__moses_split(struct moses_text *t, rapt_text text)
{
    load_text(t, text);
    rapt__moses_normalize(t);
    rapt__moses_trim(t);
    rapt__moses_separate(t);
    rapt__moses_trim(t);
    separate_dots(t);
    rapt__moses_separate_commas(t);
    separate_stops(t);
    rapt__moses_escape(t);
    return t->failed ? RAPT_NO_MEMORY : RAPT_OK;
}

void rapt__moses_text_free(struct moses_text *t)
{
    rapt__free(&t->allocator, t->now.at, t->now.capacity * sizeof *t->now.at);
    rapt__free(&t->allocator, t->next.at, t->next.capacity * sizeof *t->next.at);
}

/* ---- XML entities ---- */

static const struct {
    const char *name;
    char character;
} entities[] = {{"&bar;", '|'}, {"&#124;", '|'}, {"&lt;", '<'},   {"&gt;", '>'},
                {"&bra;", '['}, {"&ket;", ']'},  {"&quot;", '"'}, {"&apos;", '\''},
                {"&#91;", '['}, {"&#93;", ']'},  {"&amp;", '&'}};

/* Returns the size of the entity that a text begins with and sets *character, or returns 0. */
static size_t entity_at(const char *bytes, size_t size, char *character)
{
    for (size_t i = 0; *bytes == '&' && i < sizeof entities / sizeof *entities; i++) {
        const size_t length = strlen(entities[i].name);
        *character = entities[i].character;
        if (length <= size && memcmp(bytes, entities[i].name, length) == 0) return length;
    }
    return 0;
}

size_t rapt__moses_unescape(char *bytes, size_t size)
{
    size_t to = 0;
    for (size_t at = 0, length; at < size; at += length) {
        char character = bytes[at];
        length = entity_at(bytes + at, size - at, &character);
        bytes[to++] = length ? character : bytes[at];
        length += !length;
    }
    return to;
}

/* Replaces " @-@ " with "-" and returns the new size. */
static size_t join_hyphens(char *bytes, size_t size)
{
    static const char apart[] = " @-@ ";
    size_t to = 0;
    for (size_t at = 0; at < size;) {
        const size_t length = sizeof apart - 1;
        const bool found = size - at >= length && memcmp(bytes + at, apart, length) == 0;
        bytes[to++] = found ? '-' : bytes[at];
        at += found ? length : 1;
    }
    return to;
}

/* ---- words ---- */

struct joined_word {
    rapt_text text;
    bool quotes; /* consists of quotation marks, opening or closing */
    bool odd;    /* the last quotation mark of its kind, up to and including this word, opens */
};

struct joining {
    const char *language;
    struct joined_word *words;
    size_t count;
    bool spaced; /* a space precedes the next word, unless that word is placed LEFT */
    char *to;
    size_t capacity, size;
};

static bool speaks(const struct joining *j, const char *languages)
{
    return rapt__moses_listed(languages, (rapt_text){j->language, strlen(j->language)});
}

static uint32_t first_of(rapt_text word)
{
    size_t at = 0;
    return rapt__utf8_next(word.bytes, word.size, &at);
}

static uint32_t last_of(rapt_text word)
{
    size_t start;
    return rapt__character_before(word, word.size, &start);
}

static bool is(rapt_text word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.bytes, text, word.size) == 0;
}

/* Returns true if a word consists of characters from a set or, if `currency` is true, of currency
   signs. */
static bool consists_of(rapt_text word, const char *set, bool currency)
{
    for (size_t at = 0; at < word.size;) {
        const uint32_t c = rapt__utf8_next(word.bytes, word.size, &at);
        bool found = currency && rapt__moses_classes(c) & MOSES_CURRENCY;
        for (size_t i = 0; !found && i < strlen(set);)
            found = rapt__utf8_next(set, strlen(set), &i) == c;
        if (!found) return false;
    }
    return true;
}

static bool is_letter(uint32_t c)
{
    return rapt__moses_classes(c) & MOSES_ALPHA;
}

/* Returns true for Chinese, Japanese and Korean characters. sacremoses leaves out the first and the
   last character of each block, such as U+AC00. */
static bool is_cjk(uint32_t c)
{
    static const struct character_range blocks[] = {
        {0x1101, 0x11FE},   {0x2E81, 0xA4CE},   {0xA841, 0xA87E},   {0xAC01, 0xD7AE},
        {0xF901, 0xFAFE},   {0xFE31, 0xFE4E},   {0xFF66, 0xFFDB},   {0x17001, 0x18AFE},
        {0x1B001, 0x1B12E}, {0x1B171, 0x1B2FE}, {0x20001, 0x2FFFE},
    };
    return rapt__in_ranges(blocks, sizeof blocks / sizeof *blocks, c);
}

static void put_bytes(struct joining *j, const char *bytes, size_t size)
{
    if (j->size < j->capacity)
        memcpy(j->to + j->size, bytes, rapt__min_size(size, j->capacity - j->size));
    j->size += size;
}

enum place {
    APART,  /* spaces around the word */
    LEFT,   /* no space before the word */
    RIGHT,  /* no space after the word */
    SPACED, /* a space before the word even after RIGHT */
};

static void put_word(struct joining *j, rapt_text word, enum place place)
{
    const bool space = place == SPACED || (place != LEFT && j->spaced);
    if (space && j->size) put_bytes(j, " ", 1);
    put_bytes(j, word.bytes, word.size);
    j->spaced = place != RIGHT;
}

/* ---- rules ---- */

/* Returns true if two words are quotes of the same kind. The double quotes ", „ and “ count as the
   same. */
static bool same_quotes(rapt_text a, rapt_text b)
{
    static const rapt_text straight = {"\"", 1};
    if (consists_of(a, "„“", false)) a = straight;
    if (consists_of(b, "„“", false)) b = straight;
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

/* Decides whether quotes open or close, and records this in word i. Quotes of the same kind open
   and close in turn, except that in Czech, „ always opens and “ always closes. */
static enum place place_quotes(struct joining *j, size_t i)
{
    struct joined_word *w = &j->words[i];
    w->quotes = true;
    for (size_t k = i; k-- > 0;) {
        if (!j->words[k].quotes || !same_quotes(j->words[k].text, w->text)) continue;
        w->odd = j->words[k].odd;
        break;
    }
    if (speaks(j, "cs") && is(w->text, "„")) w->odd = false;
    if (speaks(j, "cs") && is(w->text, "“")) w->odd = true;
    if (!w->odd && speaks(j, "en") && is(w->text, "'") && i > 0 &&
        last_of(j->words[i - 1].text) == 's')
        return LEFT; /* a possessive, which is not counted */
    w->odd = !w->odd;
    return w->odd ? RIGHT : LEFT;
}

static bool ends_in_contraction(rapt_text word)
{
    size_t start;
    if (word.size < 2 || word.bytes[word.size - 1] != '\'') return false;
    return is_letter(rapt__character_before(word, word.size - 1, &start));
}

/* Returns true if the text is Czech and word i is joined to the previous word as the digits after a
   decimal separator. The two words before it should be a number and the separator, but sacremoses
   checks the last two words of the text instead. */
static bool is_czech_decimal(const struct joining *j, size_t i)
{
    static const char digits[] = "0123456789";
    const struct joined_word *end = j->words + j->count;
    return speaks(j, "cs") && i > 1 && consists_of(end[-2].text, digits, false) &&
           (is(end[-1].text, ".") || is(end[-1].text, ",")) &&
           consists_of(j->words[i].text, digits, false);
}

static enum place place_word(struct joining *j, size_t i)
{
    const rapt_text word = j->words[i].text;
    const rapt_text *next = i + 1 < j->count ? &j->words[i + 1].text : NULL;
    if (is_cjk(first_of(word)) && !speaks(j, "ko"))
        return i > 0 && is_cjk(last_of(j->words[i - 1].text)) ? LEFT : APART;
    if (consists_of(word, "([{¿¡", true)) return RIGHT;
    if (consists_of(word, ",.?!:;\\%}])", false))
        return speaks(j, "fr") && word.size == 1 && strchr("?!:;\\%", *word.bytes) ? SPACED : LEFT;
    if (speaks(j, "en") && i > 0 && *word.bytes == '\'' && word.size > 1 &&
        is_letter(first_of((rapt_text){word.bytes + 1, word.size - 1})))
        return LEFT;
    if (is_czech_decimal(j, i)) return LEFT;
    if (speaks(j, "fr it ga") && next && ends_in_contraction(word) && is_letter(first_of(*next)))
        return RIGHT;
    if (consists_of(word, "'\"„“`", false)) return place_quotes(j, i);
    return APART;
}

/* Splits the text into j->words, which has room for all its words. */
static void find_words(struct joining *j, rapt_text text)
{
    bool inside = false;
    for (size_t at = 0, begin = 0; at < text.size; begin = at) {
        const bool space = rapt__utf8_space(rapt__utf8_next(text.bytes, text.size, &at));
        if (!space && !inside)
            j->words[j->count++] = (struct joined_word){.text = {text.bytes + begin, 0}};
        inside = !space;
        if (inside) j->words[j->count - 1].text.size += at - begin;
    }
}

rapt_status rapt__moses_join(const struct moses *m, char *bytes, size_t size, char *to,
                             size_t capacity, size_t *written)
{
    struct joining j = {.language = m->code, .spaced = true, .to = to, .capacity = capacity};
    const size_t most = size / 2 + 1;
    size = rapt__moses_unescape(bytes, join_hyphens(bytes, size));
    j.words = rapt__alloc(&m->allocator, most * sizeof *j.words);
    if (!j.words) return RAPT_NO_MEMORY;
    find_words(&j, (rapt_text){bytes, size});
    for (size_t i = 0; i < j.count; i++) put_word(&j, j.words[i].text, place_word(&j, i));
    rapt__free(&m->allocator, j.words, most * sizeof *j.words);
    *written = j.size;
    return RAPT_OK;
}
