/* talking_backward.c - the backward pass of talking heads (general.h), one sequence at a time. The
   rows of a query in all heads are recomputed. Then

       du[h] = dropout(dout[h].v[h])           dW[h][g] += du[h].w[g]
       dw[g] = sum over h of W[h][g] du[h]     dy[g] = gradient of the mixed scores, from dw[g]
       dP[h][g] += dy[h].x[g]                  dx[g] = sum over h of P[h][g] dy[h]

   and dx flows to queries and keys as in attention without talking heads. For keys that are masked
   in all heads, x and du are set to 0, since products with them may be NaN. */
#include "attention/general/backward.h"

#include <math.h>
#include <string.h>

void rapt__talking_backward_layout(struct arena *part, const struct bounds *b,
                                   struct backward_rows *r)
{
    size_t H = b->heads, G = b->key_heads, keys = rapt__row_capacity(b);
    size_t all = 0;
    if (!rapt__times(G, keys, &all)) part->overflow = true;
    rapt__talking_layout(part, b, true, &r->talking);
    r->blocks = rapt__talking_blocks(part, b, true);
    r->key_panels = rapt__arena_floats(part, all, b->width);
    r->value_panels = rapt__arena_floats(part, all, b->value_width);
    if (b->additive) r->dkeys = rapt__arena_floats(part, all, b->width);
    r->dq = rapt__arena_floats(part, b->width, 1);
    r->du = rapt__arena_floats(part, H, keys);
    r->dy = rapt__arena_floats(part, H, keys);
    r->part = rapt__arena_take(part, G, sizeof *r->part);
    r->keys = rapt__arena_take(part, G, sizeof *r->keys);
    r->rows = rapt__arena_take(part, H, sizeof *r->rows);
}

/* Packs the keys and values of all key heads, and initializes the rows of all heads. */
static void open_sequence(const struct general_backward *f, int sequence)
{
    const struct backward_rows *m = &f->mine;
    const struct talking *t = &m->talking;
    for (int g = 0; g < f->key_heads; g++) {
        m->part[g] = *f;
        struct backward_rows *own = &m->part[g].mine;
        ptrdiff_t at = g * t->capacity;
        own->key_panels += at * f->c->width;
        own->value_panels += at * f->c->a->value_width;
        if (own->dkeys) own->dkeys += at * f->c->width;
        m->keys[g] = rapt__backward_keys(&m->part[g], sequence, g);
    }
    for (int h = 0; h < t->heads; h++) {
        const struct backward_keys *p = &m->keys[h / f->group];
        t->head[h] = rapt__row_head(f->c, &p->b, h);
        t->keys[h] = p->keys;
        m->rows[h] = (struct backward_row){.p = p, .head = h, .sums = rapt__backward_sums(p, h)};
    }
}

/* Initializes a block for every head, and computes dout.v and, unless the score is additive, q.k
   for all rows. */
static void begin_blocks(const struct general_backward *f, const struct sequence *b, int query,
                         int rows, const struct talking_range *range)
{
    const struct projected *c = f->c;
    for (int h = 0; h < f->mine.talking.heads; h++) {
        struct row_block *block = &f->mine.blocks[h];
        const struct backward_keys *p = f->mine.rows[h].p;
        rapt__block_set(block, b, rows, range->first, range->end);
        rapt__block_dots(block, f->kernels, f->dout + rapt__query_at(&c->a->out, b, h, query),
                         c->a->out.row, 1, p->f->mine.value_panels, c->a->value_width,
                         block->dout_dots);
        if (!c->additive)
            rapt__block_dots(block, f->kernels, c->q + rapt__query_at(&c->q_stride, b, h, query),
                             c->q_stride.row, rapt__query_factor(c->scale), p->keys.panels,
                             c->width, block->dots);
    }
}

/* Sets x to 0 at keys that are masked in all heads. */
static void clear_hidden(const struct talking *t, float *x)
{
    for (int s = t->first; s < t->end; s++)
        if (t->seen[s] == -INFINITY) x[s] = 0;
}

/* Sets du from row i of the blocks, and stores the weights in that row. */
static void mixed_gradients(const struct general_backward *f, const struct talking *t, int i)
{
    for (int h = 0; h < t->heads; h++) {
        const struct row_block *block = &f->mine.blocks[h];
        const float *dots = block->dout_dots + i * block->capacity;
        float *du = f->mine.du + h * t->capacity;
        const struct row *r = &t->rows[h];
        rapt__talking_keep(t, h, block, i);
        memset(du, 0, (size_t)t->first * sizeof *du);
        memcpy(du + t->first, dots + t->first, (size_t)(t->end - t->first) * sizeof *du);
        if (r->head->drop.below)
            f->kernels->dropout_row(&r->head->drop, r->number, du, NULL, du, t->end);
        clear_hidden(t, du);
    }
}

/* Adds the dot products of the row dy with the row of each head in x to `to`, a row of the gradient
   of P or W. */
static void matrix_gradients(const struct talking *t, const float *dy, const float *x, float *to)
{
    for (int g = 0; g < t->heads; g++)
        to[g] += t->kernels->dot(dy + t->first, x + g * t->capacity + t->first, t->end - t->first);
}

/* Turns dw, which is in dy, into the gradients of the mixed scores. */
static void normalizer_gradients(const struct general_backward *f, const struct talking *t,
                                 int query)
{
    for (int h = 0; h < t->heads; h++) {
        struct backward_row *l = &f->mine.rows[h];
        struct row *r = &t->rows[h];
        l->r = r, l->t = query, l->dz = f->mine.dy + h * t->capacity;
        for (int s = t->first; s < t->end; s++)
            if (r->space.x[s] == -INFINITY) l->dz[s] = 0;
        if (!r->fully_masked) rapt__row_normalizer_backward(l);
    }
}

/* From dx, which is in du, adds the gradients of the score in all heads, for every key that at
   least one head sees. Changes the query's rows, which are not needed afterwards. */
static void score_gradients(const struct general_backward *f, const struct talking *t, int i)
{
    for (int h = 0; h < t->heads; h++) {
        struct backward_row *l = &f->mine.rows[h];
        struct row *r = &t->rows[h];
        if (r->head->vector) rapt__row_hidden(r);
        r->visible.low = t->low, r->visible.high = t->high, r->fully_masked = false;
        r->space.x = t->seen;
        l->r = r, l->dz = f->mine.du + h * t->capacity;
        l->block = &f->mine.blocks[h], l->index = i;
        rapt__row_score_backward(l);
        l->r = NULL;
    }
}

/* Computes the gradients of a query, which is row i of the blocks, in all heads. */
static void backward_query(const struct general_backward *f, struct talking *t, int query, int i)
{
    const struct backward_rows *m = &f->mine;
    t->rows = t->block + (ptrdiff_t)i * t->heads;
    for (int h = 0; h < t->heads && !f->c->additive; h++)
        t->rows[h].dots = m->blocks[h].dots + i * t->capacity;
    if (!rapt__talking_weights(t)) return;
    rapt__talking_seen(t);
    mixed_gradients(f, t, i);
    for (int h = 0; h < t->heads && f->d->talking_weights; h++)
        matrix_gradients(t, m->du + h * t->capacity, t->space.weights,
                         m->rows[h].sums.talking_weights);
    rapt__talking_mix(t, t->weights, true, m->du, m->dy);
    normalizer_gradients(f, t, query);
    for (int h = 0; h < t->heads; h++) clear_hidden(t, t->raw + h * t->capacity);
    for (int h = 0; h < t->heads && f->d->talking_scores; h++)
        matrix_gradients(t, m->dy + h * t->capacity, t->raw, m->rows[h].sums.talking_scores);
    rapt__talking_mix(t, t->scores, true, m->dy, m->du);
    score_gradients(f, t, i);
}

/* Computes the gradients of at most BLOCK_ROWS queries, starting at `query`. *range is the range of
   keys that they see. */
static void backward_block(const struct general_backward *f, struct talking *t,
                           const struct sequence *b, int query, int rows,
                           const struct talking_range *range)
{
    if (range->first == range->end) return;
    begin_blocks(f, b, query, rows, range);
    for (int i = 0; i < rows; i++) backward_query(f, t, query + i, i);
    for (int h = 0; h < t->heads; h++) {
        const struct backward_keys *p = f->mine.rows[h].p;
        rapt__backward_values(p, &f->mine.blocks[h], h, query);
        if (!f->c->additive) rapt__backward_products(p, &f->mine.blocks[h], h, query);
    }
}

void rapt__talking_backward(const struct general_backward *f, int sequence)
{
    struct talking t = f->mine.talking;
    open_sequence(f, sequence);
    const struct sequence b = rapt__sequence(f->c->a, sequence);
    for (int i = 0, step; i < b.queries && b.existing > 0; i += step) {
        step = rapt__min(b.queries - i, BLOCK_ROWS);
        const struct talking_range range = rapt__talking_block(&t, f->c, &b, i, &step, true);
        backward_block(f, &t, &b, i, step, &range);
    }
    for (int g = 0; g < f->key_heads; g++) rapt__backward_dkeys(&f->mine.keys[g]);
}
