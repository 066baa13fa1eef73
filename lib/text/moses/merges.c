/* merges.c - reads the merges in bpe.model and splits words with them (Sennrich, Haddow and Birch
   2016). After an optional line with the version, a file has one merge per line: the two symbols to
   join, separated by a space. "</w>" stands for the end of a word. Sources: subword-nmt's
   apply_bpe.py, and argostranslate 1.11.

   At first, the symbols of a word are its characters. While two adjacent symbols have a merge, the
   earliest merge is applied wherever its symbols occur, from left to right. A heap holds the
   candidates; each merge adds at most two of them, so a word of n characters takes O(n log n)
   steps. Symbols are ranges of the word's bytes. */
#include "text/moses/moses.h"

#include <string.h>

static const char word_end[] = "</w>";
enum { WORD_END = sizeof word_end - 1 };

/* ---- reading ---- */

/* Sets *line to the line at *at, without leading and trailing spaces, and moves *at to the next
   line. */
static void take_line(rapt_text file, size_t *at, rapt_text *line)
{
    size_t end = *at, begin = *at;
    while (end < file.size && file.bytes[end] != '\n' && file.bytes[end] != '\r') end++;
    const bool two = end + 1 < file.size && memcmp(file.bytes + end, "\r\n", 2) == 0;
    *at = end + (two ? 2 : end < file.size);
    while (begin < end && file.bytes[begin] == ' ') begin++;
    while (end > begin && file.bytes[end - 1] == ' ') end--;
    *line = (rapt_text){file.bytes + begin, end - begin};
}

static bool ends_in(rapt_text line, const char *end)
{
    const size_t size = strlen(end);
    return line.size >= size && memcmp(line.bytes + line.size - size, end, size) == 0;
}

/* Reads the version. A file that does not state one is read as version 0.1. */
static rapt_status take_version(struct moses *m, rapt_text file, size_t *at, rapt_message *why)
{
    static const char mark[] = "#version:";
    rapt_text line;
    size_t after = 0;
    m->end_apart = true;
    take_line(file, &after, &line);
    if (file.size < sizeof mark - 1 || memcmp(file.bytes, mark, sizeof mark - 1) != 0)
        return RAPT_OK;
    *at = after;
    m->end_apart = ends_in(line, " 0.1");
    if (m->end_apart || ends_in(line, " 0.2")) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_FILE, "bpe.model, line 1: the version is neither 0.1 nor 0.2");
}

/* Orders lines by their bytes, and equal lines by their position in the file. */
static int by_bytes(const void *context, const void *x, const void *y)
{
    const struct trie_key *a = x, *b = y;
    const int order = memcmp(a->bytes, b->bytes, rapt__min_size(a->size, b->size));
    (void)context;
    if (order) return order;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* Keeps the first of several equal merges. Returns the number of merges left. */
static size_t without_repeated(struct trie_key *keys, size_t count)
{
    size_t kept = 0;
    rapt__sort(keys, count, sizeof *keys, by_bytes, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct trie_key *last = kept ? &keys[kept - 1] : NULL;
        if (last && last->size == keys[i].size &&
            memcmp(last->bytes, keys[i].bytes, last->size) == 0)
            continue;
        keys[kept++] = keys[i];
    }
    return kept;
}

/* Reads at most `most` merges, from offset `at` on, and builds their trie. `first` is the line
   number of the first merge, for messages. */
static rapt_status take_merges(struct moses *m, size_t at, struct trie_key *keys, size_t most,
                               size_t first, rapt_message *why)
{
    const rapt_text file = {m->file, m->file_size};
    size_t count = 0;
    while (at < file.size && count < most) {
        rapt_text line;
        take_line(file, &at, &line);
        const char *space = memchr(line.bytes, ' ', line.size);
        const size_t right = space ? line.size - (size_t)(space + 1 - line.bytes) : 0;
        if (!space || memchr(space + 1, ' ', right) || line.size > UINT32_MAX)
            return rapt__fail(
                why, RAPT_BAD_FILE,
                "bpe.model, line %zu: a merge must be two symbols separated by a space",
                count + first);
        keys[count] = rapt__trie_key(line.bytes, line.size, (int32_t)count);
        count++;
    }
    count = without_repeated(keys, count);
    return rapt__trie_build(&m->merges, keys, count, &m->allocator, why);
}

static rapt_status read_merges(struct moses *m, rapt_message *why)
{
    const rapt_text file = {m->file, m->file_size};
    size_t at = 0, most = 1;
    rapt_status status = take_version(m, file, &at, why);
    if (status) return status;
    for (size_t i = at; i < file.size; i++) most += file.bytes[i] == '\n' || file.bytes[i] == '\r';
    struct trie_key *keys = rapt__alloc(&m->allocator, most * sizeof *keys);
    if (!keys) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for %zu merges", most);
    status = take_merges(m, at, keys, most, at ? 2 : 1, why);
    rapt__free(&m->allocator, keys, most * sizeof *keys);
    return status;
}

rapt_status rapt__moses_create(struct moses **moses, const struct moses_source *source,
                               const rapt_allocator *allocator, rapt_message *why)
{
    if (source->language.size == 0 || source->language.size >= MOSES_CODE)
        return rapt__fail(why, RAPT_BAD_FILE, "the language code must have 1 to %d bytes",
                          MOSES_CODE - 1);
    if (source->merges.size > SPM_TEXT_MAX)
        return rapt__fail(why, RAPT_BAD_FILE, "bpe.model has more than 2^30 bytes");
    struct moses *m = rapt__alloc(allocator, sizeof *m);
    if (!m) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a tokenizer");
    *m = (struct moses){.allocator = *allocator, .file_size = source->merges.size};
    memcpy(m->code, source->language.bytes, source->language.size);
    m->language.code = m->code;
    rapt__moses_language(&m->language);
    m->file = rapt__alloc(allocator, m->file_size + 1);
    rapt_status status = RAPT_OK;
    if (!m->file)
        status = rapt__fail(why, RAPT_NO_MEMORY, "no memory for %zu bytes", m->file_size);
    else
        memcpy(m->file, source->merges.bytes, m->file_size);
    if (!status) status = read_merges(m, why);
    if (status)
        rapt__moses_free(m);
    else
        *moses = m;
    return status;
}

void rapt__moses_free(struct moses *m)
{
    if (!m) return;
    const rapt_allocator allocator = m->allocator;
    rapt__trie_free(&m->merges, &allocator);
    rapt__free(&allocator, m->file, m->file_size + 1);
    rapt__free(&allocator, m, sizeof *m);
}

/* ---- splitting a word ---- */

/* Writes the symbols that a word consists of before merging. */
static void spell_word(const struct moses *m, const struct moses_character *word, size_t count,
                       struct moses_word *w)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        w->start[i] = (uint32_t)size;
        size += rapt__moses_spell(word[i].code, w->bytes + size);
    }
    memcpy(w->bytes + size, word_end, WORD_END);
    w->size = size;
    w->start[count] = (uint32_t)size;
    w->start[count + m->end_apart] = (uint32_t)(size + WORD_END);
    w->symbols = count + m->end_apart;
    for (size_t i = 0; i < w->symbols; i++) {
        w->next[i] = (uint32_t)i + 1;
        w->previous[i] = (uint32_t)i - 1;
    }
}

/* Returns the rank of the merge of the symbols at `left` and at w->next[left], or -1. */
static int32_t rank_of(const struct moses *m, const struct moses_word *w, size_t left)
{
    const size_t right = w->next[left];
    if (right >= w->symbols) return -1;
    const uint32_t begin = w->start[left], middle = w->start[right], end = w->start[w->next[right]];
    const struct trie_unit *unit =
        rapt__trie_walk(&m->merges, m->merges.units, w->bytes + begin, middle - begin);
    if (unit) unit = rapt__trie_step(&m->merges, unit, ' ');
    if (unit) unit = rapt__trie_walk(&m->merges, unit, w->bytes + middle, end - middle);
    return unit ? unit->value : -1;
}

static int by_falling_item(const void *context, const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    (void)context;
    return (a < b) - (a > b);
}

/* Adds the merge of the symbol at `left` with the next one as a candidate, if that merge exists. */
static void offer_merge(const struct moses *m, struct moses_word *w, size_t left)
{
    const int32_t rank = rank_of(m, w, left);
    if (rank < 0) return;
    w->heap[w->candidates] = (uint64_t)rank << 32 | left;
    rapt__heap_up(w->heap, w->candidates++, sizeof *w->heap, by_falling_item, NULL);
}

static uint64_t pop_item(struct moses_word *w)
{
    const uint64_t top = w->heap[0];
    w->heap[0] = w->heap[--w->candidates];
    rapt__heap_down(w->heap, 0, w->candidates, sizeof top, by_falling_item, NULL);
    return top;
}

/* Joins the symbol at `left` with the next one. w->next is 0 for symbols that no longer exist. */
static void join_symbols(const struct moses *m, struct moses_word *w, size_t left)
{
    const uint32_t right = w->next[left], after = w->next[right];
    w->next[left] = after;
    w->next[right] = 0;
    if (after < w->symbols) w->previous[after] = (uint32_t)left;
    if (left > 0) offer_merge(m, w, w->previous[left]);
    offer_merge(m, w, left);
}

/* Applies the candidates with the lowest rank, from left to right. Candidates that are added
   meanwhile have other ranks, and must wait even if their ranks are lower. */
static void merge_round(const struct moses *m, struct moses_word *w)
{
    const uint64_t rank = w->heap[0] >> 32;
    size_t count = 0;
    while (w->candidates && w->heap[0] >> 32 == rank) w->round[count++] = pop_item(w);
    for (size_t i = 0; i < count; i++) {
        const size_t left = (uint32_t)w->round[i];
        if (w->next[left] && rank_of(m, w, left) == (int32_t)rank) join_symbols(m, w, left);
    }
}

void rapt__moses_divide(const struct moses *m, const struct moses_character *word, size_t count,
                        struct moses_word *w)
{
    spell_word(m, word, count, w);
    w->candidates = 0;
    for (size_t i = 0; i < w->symbols; i++) offer_merge(m, w, i);
    while (w->candidates) merge_round(m, w);
}
