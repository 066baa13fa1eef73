/* list_bytes.c - encodes text as names of a list, using GPT-2's byte-level BPE.

   In names, each byte is spelled as a visible character. Words are the matches of this regular
   expression, with the character classes of utf8proc's version of Unicode:

       's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

   At first, a word consists of the names of its bytes. While two adjacent names have a merge, the
   earliest merge in the list is applied, at its leftmost position first. A heap holds the
   candidates: each merge adds at most two of them, so a word of n bytes takes O(n log n) steps.
   Special tokens that the text spells out, such as "<mask>", are found first. Source: GPT-2's
   encoder.py. */
#include "text/list.h"

#include <stdio.h>
#include <string.h>

/* ---- bytes as characters ---- */

/* Bytes that are not visible characters of Latin-1 are represented by U+0100, U+0101, ..., in
   order. */
enum { FIRST_RUN = '!', DELETE = 0x7F, SECOND_RUN = 0xA1, HYPHEN = 0xAD, OTHERS = 0x100 };

static uint32_t code_of(uint32_t byte)
{
    if (byte < FIRST_RUN) return OTHERS + byte;
    if (byte >= DELETE && byte < SECOND_RUN) return OTHERS + FIRST_RUN + (byte - DELETE);
    if (byte == HYPHEN) return OTHERS + FIRST_RUN + SECOND_RUN - DELETE;
    return byte;
}

size_t rapt__bytelevel_spell(unsigned char byte, char to[2])
{
    return rapt__utf8_encode(code_of(byte), to);
}

/* Returns the byte that a character represents, or -1. */
static int byte_of(uint32_t code)
{
    const uint32_t other = code - OTHERS, deleted = other - FIRST_RUN;
    if (code < OTHERS) return code_of((unsigned char)code) == code ? (int)code : -1;
    if (other < FIRST_RUN) return (int)other;
    if (deleted < SECOND_RUN - DELETE) return (int)deleted + DELETE;
    return deleted == SECOND_RUN - DELETE ? HYPHEN : -1;
}

size_t rapt__bytelevel_bytes(rapt_text name, char *to)
{
    size_t size = 0;
    for (size_t at = 0, begin = 0; at < name.size; begin = at) {
        const int byte = byte_of(rapt__utf8_next(name.bytes, name.size, &at));
        if (byte >= 0)
            to[size++] = (char)byte;
        else
            while (begin < at) to[size++] = name.bytes[begin++];
    }
    return size;
}

/* ---- words ---- */

enum character_kind { SPACE, LETTER, NUMBER, OTHER };

bool rapt__bytelevel_space(uint32_t c)
{
    return rapt__utf8_space(c) && (c < 0x1C || c > 0x1F);
}

#ifdef RAPT_HAVE_UTF8PROC
#include <utf8proc.h>

bool rapt__bytelevel_available(void)
{
    return true;
}

static enum character_kind kind_of(uint32_t c)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    if (rapt__bytelevel_space(c)) return SPACE;
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return LETTER;
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO ? NUMBER : OTHER;
}
#else
bool rapt__bytelevel_available(void)
{
    return false;
}

static enum character_kind kind_of(uint32_t c)
{
    return rapt__bytelevel_space(c) ? SPACE : OTHER;
}
#endif

/* Returns the kind of the character at `at`, and sets *end to the end of the character. */
static enum character_kind kind_at(rapt_text text, size_t at, size_t *end)
{
    *end = at;
    return kind_of(rapt__utf8_next(text.bytes, text.size, end));
}

/* Returns the end of the run of characters of this kind that begins at `at`. Sets *last to the
   beginning of the run's last character. */
static size_t run_end(rapt_text text, size_t at, enum character_kind kind, size_t *last)
{
    size_t end = at;
    *last = at;
    while (at < text.size && kind_at(text, at, &end) == kind) *last = at, at = end;
    return at;
}

/* Returns the size of a contraction such as 's at this offset, or 0. */
static size_t contraction_at(rapt_text text, size_t at)
{
    static const char *const all[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t size = strlen(all[i]);
        if (text.size - at >= size && memcmp(text.bytes + at, all[i], size) == 0) return size;
    }
    return 0;
}

size_t rapt__bytelevel_word_end(rapt_text text, size_t at)
{
    size_t end, last;
    const size_t contraction = contraction_at(text, at);
    enum character_kind kind = kind_at(text, at, &end);
    if (contraction) return at + contraction;
    if (kind != SPACE) return run_end(text, at, kind, &last);
    if (text.bytes[at] == ' ' && end < text.size) {
        size_t next;
        kind = kind_at(text, end, &next);
        if (kind != SPACE) return run_end(text, end, kind, &last);
    }
    end = run_end(text, at, SPACE, &last);
    return end < text.size && last > at ? last : end; /* the last space is left for the next word */
}

/* ---- creation ---- */

enum { JOINED_MAX = 1 << 10 }; /* maximum size in bytes of a name that a merge makes */

static rapt_status find_bytes(struct list *l, rapt_message *why)
{
    for (int byte = 0; byte < 256; byte++) {
        char name[2];
        const size_t size = rapt__bytelevel_spell((unsigned char)byte, name);
        l->bytes.byte[byte] = rapt__list_find(l, (rapt_text){name, size});
        if (l->bytes.byte[byte] < 0)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "the vocabulary lacks \"%.*s\", which stands for byte %d", (int)size,
                              name, byte);
    }
    return RAPT_OK;
}

/* Finds the name that a merge makes. */
static rapt_status find_made(struct list *l, int m, rapt_message *why)
{
    char joined[JOINED_MAX];
    const int32_t *pair = l->bytes.pairs + 2 * m;
    if (pair[0] < 0 || pair[0] >= l->count || pair[1] < 0 || pair[1] >= l->count)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "merge %d joins %d and %d; both must be in 0..%d",
                          m, (int)pair[0], (int)pair[1], l->count - 1);
    const rapt_text a = rapt__list_name(l, pair[0]), b = rapt__list_name(l, pair[1]);
    if (a.size + b.size > sizeof joined)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "merge %d makes a name of more than %d bytes", m,
                          JOINED_MAX);
    memcpy(joined, a.bytes, a.size);
    memcpy(joined + a.size, b.bytes, b.size);
    l->bytes.made[m] = rapt__list_find(l, (rapt_text){joined, a.size + b.size});
    if (l->bytes.made[m] >= 0) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "merge %d makes \"%.*s\", which is not in the vocabulary", m,
                      (int)rapt__min_size(a.size + b.size, 60), joined);
}

rapt_status rapt__list_index_merges(struct list *l, const int32_t *pairs, rapt_message *why)
{
    struct bytelevel *b = &l->bytes;
    rapt_status status = find_bytes(l, why);
    if (b->merges) memcpy(b->pairs, pairs, 2 * (size_t)b->merges * sizeof *pairs);
    for (int m = 0; m < b->merges && !status; m++) {
        status = find_made(l, m, why);
        b->sorted[m] = (struct ranked){
            (uint64_t)(uint32_t)pairs[2 * m] << 32 | (uint32_t)pairs[2 * m + 1], (uint32_t)m};
    }
    if (status) return status;
    rapt__sort(b->sorted, (size_t)b->merges, sizeof *b->sorted, rapt__by_number, NULL);
    for (int m = 1; m < b->merges; m++)
        if (b->sorted[m].key == b->sorted[m - 1].key)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "merge %zu is listed twice",
                              rapt__max_size(b->sorted[m - 1].position, b->sorted[m].position));
    return RAPT_OK;
}

/* ---- a word ---- */

struct byte_word {
    const struct bytelevel *by;
    size_t size;
    int32_t *id;       /* [size] id of the name that begins at this byte, or -1 */
    int32_t *next;     /* [size] end of the name */
    int32_t *previous; /* [size] beginning of the previous name, or -1 for the first */
    uint64_t *heap;    /* [3 * size] merge << 32 | position; the smallest is the root */
    size_t candidates; /* number of items in heap */
};

/* Returns the merge of two names, or -1. */
static int64_t merge_of(const struct bytelevel *b, int32_t left, int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t low = 0, high = (size_t)b->merges;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (b->sorted[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == (size_t)b->merges || b->sorted[low].key != key) return -1;
    return b->sorted[low].position;
}

static int by_falling_item(const void *context, const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    (void)context;
    return (a < b) - (a > b);
}

/* Adds the merge of the name at this position with the next name as a candidate, if that merge
   exists. */
static void offer_merge(struct byte_word *w, size_t position)
{
    const size_t right = (size_t)w->next[position];
    if (right == w->size) return;
    const int64_t merge = merge_of(w->by, w->id[position], w->id[right]);
    if (merge < 0) return;
    w->heap[w->candidates] = (uint64_t)merge << 32 | position;
    rapt__heap_up(w->heap, w->candidates++, sizeof *w->heap, by_falling_item, NULL);
}

static uint64_t pop_item(struct byte_word *w)
{
    const uint64_t top = w->heap[0];
    w->heap[0] = w->heap[--w->candidates];
    rapt__heap_down(w->heap, 0, w->candidates, sizeof top, by_falling_item, NULL);
    return top;
}

/* Applies a candidate. If an earlier merge has replaced one of its two names, the candidate is
   applied only if the current names merge into the same name. Hugging Face's `tokenizers` library
   does the same. */
static void apply(struct byte_word *w, uint64_t item)
{
    const size_t position = (uint32_t)item, right = (size_t)w->next[position];
    if (w->id[position] < 0 || right == w->size) return;
    const int64_t merge = merge_of(w->by, w->id[position], w->id[right]);
    if (merge < 0 || w->by->made[merge] != w->by->made[item >> 32]) return;
    w->id[position] = w->by->made[merge];
    w->id[right] = -1;
    w->next[position] = w->next[right];
    if ((size_t)w->next[position] < w->size) w->previous[w->next[position]] = (int32_t)position;
    if (w->previous[position] >= 0) offer_merge(w, (size_t)w->previous[position]);
    offer_merge(w, position);
}

static void encode_word(struct byte_word *w, const char *bytes, size_t size)
{
    w->size = size, w->candidates = 0;
    for (size_t i = 0; i < size; i++) {
        w->id[i] = w->by->byte[(unsigned char)bytes[i]];
        w->next[i] = (int32_t)i + 1, w->previous[i] = (int32_t)i - 1;
    }
    for (size_t i = 0; i < size; i++) offer_merge(w, i);
    while (w->candidates > 0) apply(w, pop_item(w));
}

/* ---- texts ---- */

struct byte_text { /* memory for a text */
    struct byte_word word;
    char *copy; /* [size + 1] a space, then a part of the text */
};

static void lay_out_word(struct byte_text *t, size_t size, struct arena *arena)
{
    t->word.heap = rapt__arena_take(arena, 3 * size, sizeof *t->word.heap);
    t->word.id = rapt__arena_take(arena, size, sizeof *t->word.id);
    t->word.next = rapt__arena_take(arena, size, sizeof *t->word.next);
    t->word.previous = rapt__arena_take(arena, size, sizeof *t->word.previous);
    t->copy = rapt__arena_take(arena, size, 1);
}

/* Encodes bytes [from, to) of a text. This part must not contain special tokens. */
static void encode_bytes(struct byte_text *t, rapt_text text, size_t from, size_t to,
                         struct list_output *out)
{
    rapt_text part = {text.bytes + from, to - from};
    const bool space = t->word.by->space_first && part.size && part.bytes[0] != ' ';
    if (space) {
        t->copy[0] = ' ';
        memcpy(t->copy + 1, part.bytes, part.size);
        part = (rapt_text){t->copy, part.size + 1};
    }
    for (size_t at = 0, end; at < part.size; at = end) {
        end = rapt__bytelevel_word_end(part, at);
        encode_word(&t->word, part.bytes + at, end - at);
        for (size_t i = 0; i < t->word.size; i = (size_t)t->word.next[i])
            rapt__list_put(out, t->word.id[i], from + at + (size_t)t->word.next[i] - space);
    }
}

/* If the text spells out a special token at this offset, sets *id and returns the size of the
   token. Otherwise returns 0. */
static size_t special_at(const struct list *l, rapt_text text, size_t at, int32_t *id)
{
    static const char *const names[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
    for (size_t i = 0; text.bytes[at] == '<' && i < sizeof names / sizeof *names; i++) {
        const size_t size = strlen(names[i]);
        if (text.size - at < size || memcmp(text.bytes + at, names[i], size) != 0) continue;
        *id = rapt__list_find(l, (rapt_text){names[i], size});
        return *id < 0 ? 0 : size;
    }
    return 0;
}

/* Returns the end of bytes [from, to) of a text without trailing white space, which belongs to the
   <mask> token that follows. */
static size_t without_space(rapt_text text, size_t from, size_t to)
{
    size_t end = from;
    for (size_t at = from; at < to;)
        if (!rapt__bytelevel_space(rapt__utf8_next(text.bytes, to, &at))) end = at;
    return end;
}

rapt_status rapt__list_encode_bytes(const struct list *l, rapt_text text, struct list_output *out,
                                    rapt_message *why)
{
    struct byte_text t = {.word = {.by = &l->bytes}};
    struct arena arena = {.raw = true};
    int32_t id;
    if (text.size >= SPM_TEXT_MAX)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the text has 2^30 bytes or more");
    lay_out_word(&t, text.size + 1, &arena);
    rapt_status status = rapt__arena_reserve(&arena, &l->allocator);
    if (status)
        return rapt__fail(why, status, "not enough memory to encode %zu bytes of text", text.size);
    lay_out_word(&t, text.size + 1, &arena);
    size_t from = 0;
    for (size_t at = 0; at < text.size;) {
        const size_t size = special_at(l, text, at, &id);
        if (!size) {
            at++;
            continue;
        }
        const bool mask = size == sizeof "<mask>" - 1;
        encode_bytes(&t, text, from, mask ? without_space(text, from, at) : at, out);
        rapt__list_put(out, id, from = at += size);
    }
    encode_bytes(&t, text, from, text.size, out);
    rapt__arena_free(&arena, &l->allocator);
    return RAPT_OK;
}
