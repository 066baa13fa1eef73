/* talking.c - talking heads: the scores and weights of one query in all heads (general.h). */
#include "attention/general/talking.h"

#include <limits.h>
#include <math.h>
#include <string.h>

void rapt__talking_layout(struct arena *arena, const struct bounds *b, bool backward,
                          struct talking *t)
{
    size_t H = b->heads, keys = rapt__row_capacity(b);
    *t = (struct talking){.heads = (int)H,
                          .capacity = (ptrdiff_t)keys,
                          .kernels = rapt__kernels(),
                          .scores = b->a->talking_scores,
                          .weights = b->a->talking_weights};
    t->head = rapt__arena_take(arena, H, sizeof *t->head);
    t->keys = rapt__arena_take(arena, H, sizeof *t->keys);
    t->block = rapt__arena_take(arena, BLOCK_ROWS * H, sizeof *t->block);
    t->rows = t->block;
    t->raw = rapt__arena_floats(arena, H, keys);
    t->mixed = rapt__arena_floats(arena, H, keys);
    t->seen = rapt__arena_floats(arena, keys, 1);
    struct row_space *s = &t->space;
    s->capacity = (int)keys;
    s->x = rapt__arena_floats(arena, H, keys);
    s->p = rapt__arena_floats(arena, H, keys);
    s->weights = rapt__arena_floats(arena, H, keys);
    if (rapt__locality_centered(b->a)) s->gauss = rapt__arena_floats(arena, H, keys);
    s->dropped = rapt__arena_floats(arena, keys, 1);
    s->more = rapt__arena_floats(arena, keys, 1);
    if (backward) s->slope = rapt__arena_floats(arena, H, keys);
    if (backward && b->additive) s->hidden = rapt__arena_floats(arena, keys, b->width);
}

struct row_block *rapt__talking_blocks(struct arena *part, const struct bounds *b, bool backward)
{
    struct bounds dots = *b;
    struct row_block *blocks = rapt__arena_take(part, b->heads, sizeof *blocks), spare;
    dots.additive = false;
    for (size_t h = 0; h < b->heads; h++)
        rapt__block_layout(part, &dots, backward, blocks ? &blocks[h] : &spare);
    return blocks;
}

/* Returns the workspace of head h, which shares dropped, more and hidden with the other heads. */
static struct row_space space_of(const struct talking *t, int h)
{
    struct row_space s = t->space;
    ptrdiff_t at = h * t->capacity;
    s.x += at, s.p += at, s.weights += at;
    if (s.gauss) s.gauss += at;
    if (s.slope) s.slope += at;
    return s;
}

void rapt__talking_rows(struct talking *t, const struct projected *c, const struct sequence *b,
                        int query, bool decided)
{
    ptrdiff_t rows = rapt__query_rows(c->a), at = b->query_first + query;
    for (int h = 0; h < t->heads; h++) {
        t->rows[h] = rapt__row(c, b, &t->head[h], &t->keys[h], h, query);
        t->rows[h].decided = decided && c->chosen;
        if (t->rows[h].decided) t->rows[h].chosen = c->chosen[h * rows + at];
    }
}

/* Sets the range of keys that each head sees and, in t, the range that contains all of them. */
static void span(struct talking *t)
{
    t->low = INT_MAX, t->high = 0;
    for (int h = 0; h < t->heads; h++) {
        struct row *r = &t->rows[h];
        rapt__row_span(r);
        if (r->fully_masked) continue;
        t->low = rapt__min(t->low, r->visible.low);
        t->high = rapt__max(t->high, r->visible.high);
    }
    if (t->low > t->high) t->low = t->high = 0;
    t->first = t->low / LANES * LANES;
    t->end = rapt__round_up(t->high, LANES);
}

/* Sets the rows of a block. Returns the keys that at least one of `rows` queries sees in at least
   one head. */
static struct talking_range range_of(struct talking *t, const struct projected *c,
                                     const struct sequence *b, int query, int rows, bool decided)
{
    struct talking_range range = {INT_MAX, 0, false};
    int64_t seen = 0;
    for (int i = 0; i < rows; i++) {
        t->rows = t->block + (ptrdiff_t)i * t->heads;
        rapt__talking_rows(t, c, b, query + i, decided);
        span(t);
        if (t->low == t->high) continue;
        range.first = rapt__min(range.first, t->first);
        range.end = rapt__max(range.end, t->end);
        seen += t->end - t->first;
    }
    if (seen == 0) range.first = 0;
    range.together = rapt__block_fits(rows, range.first, range.end, seen);
    return range;
}

struct talking_range rapt__talking_block(struct talking *t, const struct projected *c,
                                         const struct sequence *b, int query, int *rows,
                                         bool decided)
{
    struct talking_range range = range_of(t, c, b, query, *rows, decided);
    if (range.together) return range;
    *rows = 1;
    return range_of(t, c, b, query, 1, decided);
}

void rapt__talking_mix(const struct talking *t, const float *matrix, bool transposed,
                       const float *from, float *to)
{
    const struct gemm_block p = {.rows = t->heads,
                                 .columns = t->end - t->first,
                                 .depth = t->heads,
                                 .a = matrix,
                                 .a_row = transposed ? 1 : t->heads,
                                 .a_step = transposed ? t->heads : 1,
                                 .b = from + t->first,
                                 .b_panel = LANES,
                                 .b_step = t->capacity,
                                 .c = to + t->first,
                                 .c_row = t->capacity,
                                 .c_panel = LANES};
    if (matrix) {
        t->kernels->gemm(&p);
        return;
    }
    for (int h = 0; h < t->heads; h++)
        memcpy(to + h * t->capacity + t->first, from + h * t->capacity + t->first,
               (size_t)(t->end - t->first) * sizeof *to);
}

/* Computes the weights of a head from its mixed scores. */
static void normalize(struct row *r)
{
    if (!r->fully_masked) rapt__row_normalize(r);
    if (!r->fully_masked) return;
    r->chosen = -1;
    for (int s = r->first; s < r->end; s++) r->space.x[s] = -INFINITY, r->space.weights[s] = 0;
}

bool rapt__talking_weights(struct talking *t)
{
    span(t);
    for (int h = 0; h < t->heads; h++) {
        struct row *r = &t->rows[h];
        r->space = space_of(t, h);
        r->first = t->first, r->end = t->end;
        r->lse = -INFINITY;
        if (r->fully_masked) r->chosen = -1;
        if (t->low == t->high) continue;
        r->space.x = t->raw + h * t->capacity;
        rapt__row_scores(r);
        r->space.x = t->space.x + h * t->capacity;
    }
    if (t->low == t->high) return false;
    rapt__talking_mix(t, t->scores, false, t->raw, t->space.x);
    for (int h = 0; h < t->heads; h++) normalize(&t->rows[h]);
    rapt__talking_mix(t, t->weights, false, t->space.weights, t->mixed);
    return true;
}

static const float *dropped(const struct talking *t, int h)
{
    const struct row *r = &t->rows[h];
    return rapt__drop_weights(r->head, r->number, t->first, t->end, t->mixed + h * t->capacity,
                              t->space.dropped);
}

void rapt__talking_keep(const struct talking *t, int h, const struct row_block *block, int i)
{
    memcpy(block->weights + i * block->capacity + t->low, dropped(t, h) + t->low,
           (size_t)(t->high - t->low) * sizeof(float));
}

void rapt__talking_sum(const struct talking *t, int h, float *out)
{
    const struct row_keys *k = t->rows[h].keys;
    t->kernels->gemv(dropped(t, h) + t->low, t->high - t->low, k->values + t->low * k->value_row,
                     k->value_row, k->value_width, out);
    rapt__row_settle(out, k->value_width);
}

void rapt__talking_seen(const struct talking *t)
{
    for (int s = t->first; s < t->end; s++) t->seen[s] = -INFINITY;
    for (int h = 0; h < t->heads; h++) {
        const float *x = t->space.x + h * t->capacity;
        for (int s = t->first; s < t->end; s++)
            if (x[s] != -INFINITY) t->seen[s] = 0;
    }
}
