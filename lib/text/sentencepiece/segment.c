/* segment.c - segments normalized text into pieces in SentencePiece's four ways: by merging (BPE),
   by a unigram language model, into words, and into characters. */
#include "text/sentencepiece/sentencepiece.h"

#include <math.h>
#include <string.h>

static const uint32_t none = UINT32_MAX;

/* ---- words and characters ---- */

size_t rapt__spm_character(const struct spm *spm, const char *text, size_t size, bool *user)
{
    size_t length = rapt__trie_longest(&spm->user, text, size);
    if (user) *user = length > 0;
    return length > 0 ? length : rapt__min_size(rapt__spm_length(text[0]), size);
}

static void put_word(struct spm_output *out, size_t start, size_t end)
{
    rapt__spm_put(out, start, end, rapt__spm_id(out->spm, out->text->bytes + start, end - start));
}

void rapt__spm_words(struct spm_output *out)
{
    const struct spm_normalized *text = out->text;
    size_t start = 0;
    for (size_t at = 0, length; at < text->size; at += length) {
        length = rapt__min_size(rapt__spm_length(text->bytes[at]), text->size - at);
        if (at == start || length != SPM_SPACE_SIZE ||
            memcmp(text->bytes + at, spm_space, SPM_SPACE_SIZE) != 0)
            continue;
        put_word(out, start, at);
        start = at;
    }
    put_word(out, start, text->size);
}

void rapt__spm_characters(struct spm_output *out)
{
    const struct spm_normalized *text = out->text;
    for (size_t at = 0, length; at < text->size; at += length) {
        length = rapt__spm_character(out->spm, text->bytes + at, text->size - at, NULL);
        put_word(out, at, at + length);
    }
}

/* ---- merging ----

   Text is segmented by merging pairs (Sennrich, Haddow and Birch 2016, as implemented by
   SentencePiece). At first, each character is a segment. Among all adjacent pairs that form a
   piece, the one with the highest score is joined first; if several have the same score, the
   leftmost is joined first. USER_DEFINED pieces are never joined. At the end, each UNUSED piece is
   split again, into the two segments of the last candidate for this piece. A heap holds the
   candidates, so n characters take O(n log n) steps. */

struct symbol {
    uint32_t start, size;    /* size is 0 if the symbol has been joined to the previous one */
    uint32_t previous, next; /* or `none` */
    uint32_t unit; /* trie unit reached by its bytes; `none` if no piece begins with them */
    bool frozen;   /* never joined */
};
struct joint {     /* a symbol and its successor that together form a piece */
    uint64_t rank; /* score, then position; the greatest is the root */
    uint32_t size; /* total size of both symbols; if their sizes no longer add up to it, the
                      candidate is outdated */
    uint32_t unit;
};
struct merging {
    const struct spm *spm;
    const char *text;
    struct symbol *symbols; /* [count] */
    size_t count;
    struct joint *heap; /* [joints], capacity 3 * count */
    size_t joints;
    uint32_t *split; /* [unused] size of the first part of an UNUSED piece; 0 if it has not occurred
                        yet */
    uint32_t *ends;  /* while a piece is being split: stack of the ends of parts not yet emitted */
};

static int by_rank(const void *context, const void *x, const void *y)
{
    const struct joint *a = x, *b = y;
    (void)context;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Returns an integer that orders candidates by score, then from left to right. Inverting all bits
   of a negative score, and the sign bit of any other score, makes integers compare like floats. */
static uint64_t rank_of(float score, uint32_t left)
{
    float positive_zero = score + 0.0f;
    uint32_t bits;
    memcpy(&bits, &positive_zero, sizeof bits);
    bits = bits >> 31 ? ~bits : bits | 1u << 31;
    return (uint64_t)bits << 32 | (UINT32_MAX - left);
}

/* Adds a symbol and its successor as a candidate if they form a piece. */
static void offer(struct merging *m, uint32_t left)
{
    if (left == none || m->symbols[left].next == none) return;
    const struct symbol *a = &m->symbols[left], *b = &m->symbols[a->next];
    const struct trie *trie = &m->spm->chosen;
    if (a->frozen || b->frozen || a->unit == none) return;
    const struct trie_unit *unit =
        rapt__trie_walk(trie, trie->units + a->unit, m->text + b->start, b->size);
    if (!unit || unit->value < 0) return;
    const struct spm_piece *piece = &m->spm->pieces[unit->value];
    if (piece->split) m->split[piece->split - 1] = a->size;
    m->heap[m->joints] = (struct joint){rank_of(piece->score, left), a->size + b->size,
                                        (uint32_t)(unit - trie->units)};
    rapt__heap_up(m->heap, m->joints++, sizeof *m->heap, by_rank, NULL);
}

static void join_symbols(struct merging *m, const struct joint *joint)
{
    uint32_t left = UINT32_MAX - (uint32_t)joint->rank;
    struct symbol *a = &m->symbols[left];
    if (a->size == 0 || a->next == none) return;
    struct symbol *b = &m->symbols[a->next];
    if (a->size + b->size != joint->size) return;
    a->size = joint->size;
    a->unit = joint->unit;
    a->next = b->next;
    if (b->next != none) m->symbols[b->next].previous = left;
    b->size = 0;
    offer(m, a->previous);
    offer(m, left);
}

static void split_characters(struct merging *m, size_t size)
{
    const struct trie *trie = &m->spm->chosen;
    m->count = 0;
    for (size_t at = 0, length; at < size; at += length) {
        bool user = false;
        length = rapt__spm_character(m->spm, m->text + at, size - at, &user);
        const struct trie_unit *unit = rapt__trie_walk(trie, trie->units, m->text + at, length);
        uint32_t index = (uint32_t)m->count++;
        m->symbols[index] = (struct symbol){(uint32_t)at,
                                            (uint32_t)length,
                                            index ? index - 1 : none,
                                            index + 1,
                                            unit ? (uint32_t)(unit - trie->units) : none,
                                            user};
    }
    m->symbols[m->count - 1].next = none;
}

/* Emits bytes [start, end), replacing UNUSED pieces with their parts, from left to right. */
static void put_merged(struct merging *m, struct spm_output *out, uint32_t start, uint32_t end)
{
    size_t waiting = 0;
    while (true) {
        int32_t id = rapt__spm_id(m->spm, m->text + start, end - start);
        uint32_t number = m->spm->pieces[id].split, first = number ? m->split[number - 1] : 0;
        if (first > 0) {
            m->ends[waiting++] = end;
            end = start + first;
            continue;
        }
        rapt__spm_put(out, start, end, id);
        if (waiting == 0) return;
        start = end;
        end = m->ends[--waiting];
    }
}

static void lay_out_merging(struct merging *m, size_t size, struct arena *arena)
{
    m->symbols = rapt__arena_take(arena, size, sizeof *m->symbols);
    m->heap = rapt__arena_take(arena, 3 * size, sizeof *m->heap);
    m->split = rapt__arena_take(arena, (size_t)m->spm->unused, sizeof *m->split);
    m->ends = rapt__arena_take(arena, m->spm->unused ? size : 0, sizeof *m->ends);
}

rapt_status rapt__spm_bpe(struct spm_output *out)
{
    const struct spm *spm = out->spm;
    struct merging m = {.spm = spm, .text = out->text->bytes};
    struct arena arena = {.raw = true};
    lay_out_merging(&m, out->text->size, &arena);
    rapt_status status = rapt__arena_reserve(&arena, &spm->allocator);
    if (status) return status;
    lay_out_merging(&m, out->text->size, &arena);
    if (spm->unused) memset(m.split, 0, (size_t)spm->unused * sizeof *m.split);
    split_characters(&m, out->text->size);
    for (uint32_t left = 0; left < m.count; left++) offer(&m, left);
    while (m.joints > 0) {
        const struct joint top = m.heap[0];
        m.heap[0] = m.heap[--m.joints];
        rapt__heap_down(m.heap, 0, m.joints, sizeof *m.heap, by_rank, NULL);
        join_symbols(&m, &top);
    }
    for (uint32_t i = 0; i != none; i = m.symbols[i].next)
        put_merged(&m, out, m.symbols[i].start, m.symbols[i].start + m.symbols[i].size);
    rapt__arena_free(&arena, &spm->allocator);
    return RAPT_OK;
}

/* ---- unigram language model ----

   Finds the most probable segmentation of text under a unigram language model (Kudo 2018). The
   Viterbi algorithm visits every character and follows the trie of pieces from there. Sums are
   rounded as in the reference implementation, and the first of several equal sums is used, so that
   ties are broken in the same way. The number of steps is at most the size of the text times the
   size of the longest piece, both in bytes. */

struct path { /* the best path that ends here */
    float score;
    uint32_t start; /* start of its last piece; `none` if no path ends here */
    int32_t id;
};

/* Extends paths by the pieces that begin at `start`. Returns true if one of these pieces is the
   single character, `length` bytes long, that begins there. */
static bool extend(const struct spm *spm, const struct spm_normalized *text, size_t start,
                   size_t length, struct path *paths)
{
    const struct trie_unit *unit = spm->chosen.units;
    const double before = (double)paths[start].score;
    bool single = false;
    for (size_t at = start; at < text->size;) {
        unit = rapt__trie_step(&spm->chosen, unit, text->bytes[at]);
        if (!unit) break;
        at++;
        if (unit->value < 0) continue;
        double score = spm->scores[unit->value];
        if (score == -(double)INFINITY) continue;
        struct path *path = &paths[at];
        if (path->start == none || score + before > (double)path->score)
            *path = (struct path){(float)(score + before), (uint32_t)start, unit->value};
        if (at - start == length) single = true;
    }
    return single;
}

static void search(const struct spm *spm, const struct spm_normalized *text, struct path *paths)
{
    for (size_t i = 0; i <= text->size; i++) paths[i].start = none;
    paths[0] = (struct path){0, none, -1};
    for (size_t start = 0, length; start < text->size; start += length) {
        length = rapt__min_size(rapt__spm_length(text->bytes[start]), text->size - start);
        if (extend(spm, text, start, length, paths)) continue;
        struct path *path = &paths[start + length];
        float score = spm->unknown_score + paths[start].score;
        if (path->start == none || score > path->score)
            *path = (struct path){score, (uint32_t)start, spm->unknown};
    }
}

rapt_status rapt__spm_unigram(struct spm_output *out)
{
    const struct spm_normalized *text = out->text;
    size_t bytes = (text->size + 1) * sizeof(struct path);
    struct path *paths = rapt__alloc(&out->spm->allocator, bytes);
    if (!paths) return RAPT_NO_MEMORY;
    search(out->spm, text, paths);
    uint32_t next = none; /* reverse the links: `start` becomes the end of the following piece */
    for (uint32_t end = (uint32_t)text->size; end > 0;) {
        uint32_t start = paths[end].start;
        paths[end].start = next;
        next = end;
        end = start;
    }
    for (size_t start = 0; next != none; next = paths[start].start) {
        rapt__spm_put(out, start, next, paths[next].id);
        start = next;
    }
    rapt__free(&out->spm->allocator, paths, bytes);
    return RAPT_OK;
}
