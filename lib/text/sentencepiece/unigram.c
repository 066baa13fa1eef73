/* unigram.c - finds the most probable segmentation of text under a unigram language model (Kudo
   2018). Viterbi's algorithm visits every character and follows the trie of pieces from there. Sums
   are rounded as in the reference implementation, and the first of several equal sums is used, so
   that ties are broken in the same way. The number of steps is at most the number of bytes of the
   text times the number of bytes of the longest piece. */
#include "text/sentencepiece/sentencepiece.h"

#include <math.h>

static const uint32_t none = UINT32_MAX;

struct path { /* the best path that ends here */
    float score;
    uint32_t start; /* start of its last piece; `none` if no path ends here */
    int32_t id;
};

/* Extends paths by the pieces that begin at `start`. Returns true if one of them is the single
   character there. */
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
