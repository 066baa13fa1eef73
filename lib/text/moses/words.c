/* split.c - splits a text into words: substitutions, runs of dots, and full stops after words,
   which are separate words unless the word is an abbreviation. Source: sacremoses 0.1.1:
   tokenize.py. */
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

/* Finds the word at or after `at` and returns its end; *begin is its beginning. Without a word,
   both are the end of the text. */
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

/* Returns true if characters [from, to), after which a full stop follows, contain another one and a
   letter. */
static bool has_inner_stop(const struct moses_text *t, size_t from, size_t to)
{
    bool stop = false, letter = false;
    for (size_t i = from; i < to; i++) {
        stop |= t->now.at[i].code == '.';
        letter |= (rapt__moses_classes(t->now.at[i].code) & t->language->letters) != 0;
    }
    return stop && letter;
}

/* Returns true if the word of characters [from, to) keeps the full stop that follows it. `next` is
   the first character of the next word, or 0. */
static bool keeps_stop(const struct moses_text *t, size_t from, size_t to, uint32_t next)
{
    const struct moses_language *l = t->language;
    return (rapt__moses_classes(next) & MOSES_LOWER) || has_inner_stop(t, from, to) ||
           is_listed(&t->now, from, to, l->always) ||
           (next >= '0' && next <= '9' && is_listed(&t->now, from, to, l->numeric));
}

/* Separates full stops from the words before them, and words by single spaces. */
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
