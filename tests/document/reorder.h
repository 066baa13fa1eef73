/* reorder.h - an engine that changes the order of words and gives alignments. */
#ifndef RAPT_TESTS_REORDER_H
#define RAPT_TESTS_REORDER_H

#include <rapt/document.h>
#include <stdbool.h>
#include <stdlib.h>

enum { WORDS = 4096 };

/* How words are ordered, and whether the engine gives alignments. */
enum order { IN_ORDER, REVERSED, SHUFFLED };
struct reordering {
    enum order order;
    bool unaligned;
};

struct word_list {
    rapt_span spans[WORDS];
    int count;
};

static inline void list_words(struct word_list *list, rapt_text text)
{
    list->count = 0;
    for (size_t at = 0; at < text.size && list->count < WORDS;) {
        size_t end = at;
        while (end < text.size && text.bytes[end] != ' ') end++;
        if (end > at) list->spans[list->count++] = (rapt_span){at, end};
        at = end + 1;
    }
}

/* Returns the source word at place i of the translation. 17 is prime, so every word has one
   place unless there are multiples of 17. */
static inline int place_of(enum order order, int i, int count)
{
    if (order == REVERSED) return count - 1 - i;
    return order == SHUFFLED && count % 17 ? i * 17 % count : i;
}

/* Returns true for placeholders, which a good model copies. */
static inline bool is_placeholder(rapt_text text, rapt_span word)
{
    for (size_t at = word.begin; at < word.end; at++)
        if (text.bytes[at] == '%' || text.bytes[at] == '{') return true;
    return false;
}

/* Writes the words of a text in another order, in capital letters, except placeholders. The caller
   frees out->bytes. */
static inline void reorder_text(const struct reordering *how, rapt_text text, rapt_text *out,
                                struct word_list *source, struct word_list *target)
{
    char *bytes = malloc(text.size + 1);
    size_t size = 0;
    if (!bytes) abort();
    list_words(source, text);
    target->count = source->count;
    for (int i = 0; i < source->count; i++) {
        const rapt_span word = source->spans[place_of(how->order, i, source->count)];
        if (i > 0) bytes[size++] = ' ';
        target->spans[i].begin = size;
        for (size_t at = word.begin; at < word.end; at++) {
            const char c = text.bytes[at];
            const bool capital = c >= 'a' && c <= 'z' && !is_placeholder(text, word);
            bytes[size++] = capital ? (char)(c - 0x20) : c;
        }
        target->spans[i].end = size;
    }
    bytes[size] = 0;
    *out = (rapt_text){bytes, size};
}

static inline rapt_status reorder_sentences(void *user, const rapt_text *texts, size_t count,
                                            rapt_take_fn *take, void *taker, rapt_message *why)
{
    const struct reordering *how = user;
    struct word_list *lists = calloc(2, sizeof *lists);
    (void)why;
    if (!lists) abort();
    for (size_t i = 0, stop = 0; i < count && !stop; i++) {
        rapt_text out;
        reorder_text(how, texts[i], &out, &lists[0], &lists[1]);
        const int words = lists[0].count;
        float *alignment = calloc((size_t)(words + 1) * (size_t)(words + 1), sizeof *alignment);
        if (!alignment) abort();
        for (int w = 0; w < words; w++)
            alignment[w * (words + 1) + place_of(how->order, w, words)] = 1;
        const rapt_translation translation = {.sentence = i,
                                              .text = out.bytes,
                                              .size = out.size,
                                              .source_count = words,
                                              .target_count = words,
                                              .alignment = how->unaligned ? NULL : alignment,
                                              .source_spans = lists[0].spans,
                                              .target_spans = lists[1].spans};
        stop = (size_t)take(taker, RAPT_OK, out, &translation);
        free(alignment);
        free((char *)out.bytes);
    }
    free(lists);
    return RAPT_OK;
}

#endif
