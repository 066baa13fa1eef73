/* talking_forward.c - forward pass of talking heads: computes blocks of queries, each in all
   heads. */
#include "attention/general/forward.h"

#include <string.h>

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

/* Starts a block of every head and, unless the score is additive, computes q.k of all rows. */
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
