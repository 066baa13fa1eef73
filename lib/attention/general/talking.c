/* talking.c - talking heads: the scores and weights of one query in all heads (general.h), and the
   forward pass, which computes blocks of queries, each in all heads. */
#include "attention/general/general.h"

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

/* Returns the workspace of head h, which shares `dropped`, `more` and `hidden` with the other
   heads. */
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

/* Sets the range of keys that each head sees and, in t, the range that spans them all. */
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

/* Sets the rows of a block. Returns a range that contains every key that at least one of the `rows`
   queries sees in at least one head. */
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

/* ---- forward ---- */

void rapt__talking_forward_layout(struct arena *part, const struct bounds *b,
                                  struct forward_rows *r)
{
    rapt__talking_layout(part, b, false, &r->talking);
    r->blocks = rapt__talking_blocks(part, b, false);
}

static void open_heads(const struct general_forward *f, const struct sequence *b)
{
    const struct talking *t = &f->mine.talking;
    for (int h = 0; h < t->heads; h++) {
        t->head[h] = rapt__row_head(f->c, b, h);
        t->head[h].keeps_lse = f->lse != NULL;
        t->keys[h] = rapt__forward_keys(f, b, h / f->group);
    }
}

/* Initializes a block for every head and, unless the score is additive, computes q.k for all
   rows. */
static void begin_blocks(const struct general_forward *f, const struct sequence *b, int query,
                         int rows, const struct talking_range *range)
{
    const struct projected *c = f->c;
    const struct talking *t = &f->mine.talking;
    for (int h = 0; h < t->heads; h++) {
        struct row_block *block = &f->mine.blocks[h];
        rapt__block_set(block, b, rows, range->first, range->end);
        if (!c->additive && range->first < range->end)
            rapt__block_dots(block, f->kernels, c->q + rapt__query_at(&c->q_stride, b, h, query),
                             c->q_stride.row, rapt__query_factor(c->scale), t->keys[h].panels,
                             c->width, block->dots);
    }
}

/* Computes the weights of query row `query` in all heads and stores them in row i of the blocks. */
static void weigh(const struct general_forward *f, struct talking *t, const struct sequence *b,
                  int query, int i)
{
    const struct projected *c = f->c;
    t->rows = t->block + (ptrdiff_t)i * t->heads;
    for (int h = 0; h < t->heads && !c->additive; h++)
        t->rows[h].dots = f->mine.blocks[h].dots + i * t->capacity;
    bool any = rapt__talking_weights(t);
    for (int h = 0; h < t->heads; h++) {
        ptrdiff_t at = (ptrdiff_t)h * rapt__query_rows(c->a) + b->query_first + query;
        if (f->lse) f->lse[at] = t->rows[h].lse;
        if (c->chosen) c->chosen[at] = t->rows[h].chosen;
        if (any) rapt__talking_keep(t, h, &f->mine.blocks[h], i);
    }
}

/* Computes the outputs of at most BLOCK_ROWS queries, starting at `query`. *range is the range of
   keys that they see. */
static void attend_block(const struct general_forward *f, struct talking *t,
                         const struct sequence *b, int query, int rows,
                         const struct talking_range *range)
{
    begin_blocks(f, b, query, rows, range);
    for (int i = 0; i < rows; i++) weigh(f, t, b, query + i, i);
    for (int h = 0; h < t->heads; h++)
        rapt__forward_sum(f, &f->mine.blocks[h], &t->keys[h],
                          f->out + rapt__query_at(&f->c->a->out, b, h, query));
}

void rapt__talking_attend(const struct general_forward *f, const struct sequence *b, int first,
                          int rows)
{
    struct talking t = f->mine.talking;
    open_heads(f, b);
    for (int i = 0, step; i < rows; i += step) {
        step = rapt__min(rows - i, BLOCK_ROWS);
        const struct talking_range range =
            rapt__talking_block(&t, f->c, b, first + i, &step, false);
        attend_block(f, &t, b, first + i, step, &range);
    }
}

void rapt__talking_copy(const struct general_forward *f, const struct sequence *b, int h, int query,
                        float *weights)
{
    struct talking t = f->mine.talking;
    open_heads(f, b);
    rapt__talking_rows(&t, f->c, b, query, true);
    memset(weights, 0, (size_t)b->keys * sizeof *weights);
    if (rapt__talking_weights(&t))
        memcpy(weights + t.low, t.mixed + h * t.capacity + t.low,
               (size_t)(t.high - t.low) * sizeof *weights);
}
