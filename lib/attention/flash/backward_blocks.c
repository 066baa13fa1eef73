/* backward_blocks.c - the flash backward pass of one pair, block by block. It packs queries and
   keys, runs the kernels on each block of the table, and adds dq, dk and dv to the caller's arrays.
   Each key block is computed by one thread. At each query block, this thread waits until the
   contributions of the earlier key blocks have been added to dq, so dq is summed in the order of
   keys, no matter which thread computes which block. */
#include "attention/flash/flash.h"
#include "op/op.h"

#include <string.h>

_Static_assert((int)HEAD_GRADIENTS >= (int)ATTEND_ROWS && (int)HEAD_GRADIENTS <= (int)ATTEND_SLOTS,
               "blocks and heads must be able to share arrays");

/* Returns the number of query blocks of the pair with the most queries. */
static size_t most_blocks(const struct bounds *b)
{
    return b->heads / b->key_heads * rapt__ceil_div_size(b->longest_queries, ATTEND_ROWS);
}

static bool shares_blocks(const struct bounds *b)
{
    bool relative = rapt__relative_wanted(b->a) || rapt__distance_count(b->a) > 0;
    return b->team > 1 && !relative && most_blocks(b) > OWN_BLOCKS;
}

static void lay_out_blocks(struct arena *part, const struct bounds *b, size_t n,
                           struct query_blocks *q)
{
    size_t kw = rapt__round_up_size(b->width, LANES);
    size_t vw = rapt__round_up_size(b->value_width, LANES);
    q->state = rapt__arena_take(part, n, sizeof *q->state);
    q->q_rows = rapt__arena_floats(part, n, ATTEND_ROWS * kw);
    q->dout_rows = rapt__arena_floats(part, n, ATTEND_ROWS * vw);
    q->dq = rapt__arena_floats(part, n, ATTEND_ROWS * kw);
    q->statistics = rapt__arena_floats(part, n, (size_t)ATTEND_ROWS * STATISTICS);
    q->delta = rapt__arena_floats(part, n, ATTEND_ROWS);
    q->q_slots = rapt__arena_floats(part, n, ATTEND_SLOTS * b->width);
    q->dout_slots = rapt__arena_floats(part, n, ATTEND_SLOTS * b->value_width);
}

bool rapt__flash_shared_blocks(struct arena *arena, const struct bounds *b, struct query_blocks *q)
{
    if (!shares_blocks(b)) return false;
    lay_out_blocks(arena, b, most_blocks(b), q);
    return true;
}

void rapt__flash_backward_part(struct arena *part, const void *bounds, void *to)
{
    const struct bounds *b = bounds;
    struct backward_part *p = to;
    struct key_block *k = &p->keys;
    size_t kw = rapt__round_up_size(b->width, LANES);
    size_t vw = rapt__round_up_size(b->value_width, LANES);
    lay_out_blocks(part, b, shares_blocks(b) ? OWN_BLOCKS : most_blocks(b), &p->queries);
    k->key_panels = rapt__arena_floats(part, ATTEND_BLOCK, b->width);
    k->value_panels = rapt__arena_floats(part, ATTEND_BLOCK, vw);
    k->key_rows = rapt__arena_floats(part, ATTEND_BLOCK, kw);
    k->dk = rapt__arena_floats(part, ATTEND_BLOCK, kw);
    k->dv = rapt__arena_floats(part, ATTEND_BLOCK, vw);
    k->weights = rapt__arena_floats(part, HEAD_GRADIENTS, ATTEND_BLOCK);
    k->dscores = rapt__arena_floats(part, HEAD_GRADIENTS, ATTEND_BLOCK);
}

static struct query_block block_of(const struct backward_pair *p, int i)
{
    const struct flash_backward *f = p->f;
    const struct query_blocks *all = &f->queries;
    size_t n = (size_t)i, width = (size_t)f->c->width, kw = (size_t)rapt__padded(f->c->width);
    size_t value_width = (size_t)f->a->value_width, vw = (size_t)rapt__padded(f->a->value_width);
    struct query_block q = {.head = p->g * f->group + i / p->per_head,
                            .first = i % p->per_head * ATTEND_ROWS,
                            .state = all->state + n,
                            .q_rows = all->q_rows + n * ATTEND_ROWS * kw,
                            .dout_rows = all->dout_rows + n * ATTEND_ROWS * vw,
                            .dq = all->dq + n * ATTEND_ROWS * kw,
                            .statistics = all->statistics + n * ATTEND_ROWS * STATISTICS,
                            .delta = all->delta + n * ATTEND_ROWS,
                            .q_slots = all->q_slots + n * ATTEND_SLOTS * width,
                            .dout_slots = all->dout_slots + n * ATTEND_SLOTS * value_width};
    q.rows = rapt__min(p->b.queries - q.first, ATTEND_ROWS);
    return q;
}

/* Returns true if attend_dkv needs delta. Sigmoids have no delta. If all keys fit in one block,
   attend_dkv itself sums delta from p and dp. This is more accurate than out . dout: if one key has
   nearly all the weight, its dp - delta is a small difference between two sums, and both must have
   been rounded in the same way. */
static bool reads_delta(const struct backward_pair *p)
{
    return p->b.existing > ATTEND_BLOCK && p->f->c->kind != ATTEND_SIGMOID;
}

void rapt__flash_pack_queries(const struct backward_pair *p, int i)
{
    const struct flash_backward *f = p->f;
    const rapt_attention *a = f->a;
    struct query_block q = block_of(p, i);
    const float *dout = f->dout + rapt__query_at(&a->out, &p->b, q.head, q.first);
    const float *out = f->out + rapt__query_at(&a->out, &p->b, q.head, q.first);
    size_t at = (size_t)q.head * (size_t)rapt__query_rows(a) + (size_t)(p->b.query_first + q.first);
    const rapt_stride *stride = &f->c->q_stride;
    const float *rows = f->c->q + rapt__query_at(stride, &p->b, q.head, q.first);
    atomic_init(&q.state->done, 0);
    bool non_finite = f->kernels->pad_rows(rows, stride->row, q.rows, f->c->width, q.q_rows);
    non_finite |= f->kernels->pad_rows(dout, a->out.row, q.rows, a->value_width, q.dout_rows);
    q.state->non_finite = non_finite;
    memset(q.dq, 0, (size_t)(q.rows * rapt__padded(f->c->width)) * sizeof(float));
    memcpy(q.statistics, f->statistics + at * STATISTICS,
           (size_t)(q.rows * STATISTICS) * sizeof(float));
    f->kernels->attend_pack(q.q_rows, q.rows, f->c->width, rapt__query_factor(f->c->scale),
                            q.q_slots);
    f->kernels->attend_pack(q.dout_rows, q.rows, a->value_width, 1, q.dout_slots);
    if (reads_delta(p))
        f->kernels->attend_delta(q.dout_slots, out, a->out.row, q.rows, a->value_width, q.delta);
}

void rapt__flash_add_rows(const struct flash_backward *f, const float *from, int rows, int width,
                          float *to, ptrdiff_t to_row)
{
    for (int r = 0; r < rows; r++)
        f->kernels->add(to + r * to_row, from + (ptrdiff_t)r * rapt__padded(width), (size_t)width);
}

void rapt__flash_add_dq(const struct backward_pair *p, int i)
{
    const struct projected *c = p->f->c;
    const rapt_stride *stride = &c->q_stride;
    struct query_block q = block_of(p, i);
    if (!p->f->d->q) return;
    rapt__flash_add_rows(p->f, q.dq, q.rows, c->width,
                         p->f->d->q + rapt__query_at(stride, &p->b, q.head, q.first), stride->row);
}

void rapt__flash_clear_keys(const struct flash_backward *f, int keys)
{
    size_t kw = (size_t)rapt__padded(f->c->width), vw = (size_t)rapt__padded(f->a->value_width);
    memset(f->keys.dk, 0, (size_t)keys * kw * sizeof(float));
    memset(f->keys.dv, 0, (size_t)keys * vw * sizeof(float));
}

void rapt__flash_add_keys(const struct backward_pair *p, int key, int keys)
{
    const struct flash_backward *f = p->f;
    const rapt_attention *a = f->a;
    const struct projected_gradients *d = f->d;
    const rapt_stride *k = &f->c->k_stride, *v = &a->v;
    if (d->k)
        rapt__flash_add_rows(f, f->keys.dk, keys, f->c->width,
                             d->k + rapt__key_at(k, &p->b, p->g, key), k->row);
    if (d->v)
        rapt__flash_add_rows(f, f->keys.dv, keys, a->value_width,
                             d->v + rapt__key_at(v, &p->b, p->g, key), v->row);
}

/* Packs keys and values of key block j, and zeroes dk and dv. */
static struct key_block pack_keys(const struct backward_pair *p, int j)
{
    const struct flash_backward *f = p->f;
    const rapt_attention *a = f->a;
    const rapt_stride *stride = &f->c->k_stride;
    int width = f->c->width, panels;
    struct key_block s = f->keys;
    s.key = j * ATTEND_BLOCK;
    s.keys = rapt__min(p->b.existing - s.key, ATTEND_BLOCK);
    panels = rapt__ceil_div(s.keys, LANES);
    const float *k = f->c->k + rapt__key_at(stride, &p->b, p->g, s.key);
    const float *v = f->v + rapt__key_at(&a->v, &p->b, p->g, s.key);
    f->kernels->pack_columns(k, stride->row, s.keys, width, 1, 0, panels, s.key_panels);
    f->kernels->pack_columns(v, a->v.row, s.keys, a->value_width, 1, 0, panels, s.value_panels);
    s.non_finite = f->kernels->pad_rows(k, stride->row, s.keys, width, s.key_rows);
    rapt__flash_clear_keys(f, s.keys);
    return s;
}

float *rapt__flash_bias_gradients(const struct flash_backward *f, const float *bias)
{
    return f->d->bias && bias ? f->d->bias + (bias - f->a->mask.bias) : NULL;
}

/* Describes the rows of a query block in `row`. Returns false if none of them can see a key of the
   key block; `row` may then be incomplete. */
static bool visible_rows(const struct backward_pair *p, const struct query_block *q,
                         const struct key_block *s, struct attend_row *row)
{
    const struct flash_backward *f = p->f;
    const rapt_attention *a = f->a;
    bool any = false;
    if (!rapt__rows_see(a, &p->b, q->head, q->first, q->rows, s->key, s->keys)) return false;
    memset(row, 0, (size_t)q->rows * sizeof *row);
    for (int r = 0; r < q->rows; r++) {
        row[r].drop_row = (uint64_t)q->first + (uint64_t)r;
        rapt__mask_row(a, &p->b, q->head, q->first + r, row + r);
        if (a->dropout > 0) row[r].drop_key = rapt__attention_drop_key(a, &p->b, q->head);
        row[r].dbias = rapt__flash_bias_gradients(f, row[r].bias);
        row[r].number = rapt__number_of(f->c, q->head);
        rapt__bias_row(f->c, &p->b, q->head, q->first + r, row + r);
        row[r].dforget = rapt__flash_forget_sums(f, &p->b, q->head);
        rapt__distance_gradients(f->c, f->d, &row[r].distances);
        row[r].drelative = rapt__relative_sums_row(a, f->relative, &p->b, q->head, q->first + r);
        if (q->statistics[r * STATISTICS + 1] == 0) row[r].low = row[r].high = 0;
        any |= row[r].low < s->key + s->keys && row[r].high > s->key;
    }
    return any;
}

static void wait_until(const atomic_int *done, int key_blocks)
{
    for (int i = 0; atomic_load_explicit(done, memory_order_acquire) != key_blocks; i++)
        rapt__team_backoff(i);
}

/* Computes p, ds, dk, dv and the gradients of biases for one block of the table. */
static void add_dkv(const struct backward_pair *p, const struct attend_block *block,
                    const struct query_block *q, const struct key_block *s)
{
    const struct flash_backward *f = p->f;
    struct dropout drop = rapt__dropout(f->a->dropout, 0);
    const struct attend_weights weights = {.q_slots = q->q_slots,
                                           .key_panels = s->key_panels,
                                           .statistics = q->statistics,
                                           .kind = f->c->kind,
                                           .scale = f->c->scale,
                                           .cap = f->a->cap,
                                           .weights = s->weights};
    const struct attend_dkv dkv = {.value_width = f->a->value_width,
                                   .dout_slots = q->dout_slots,
                                   .value_panels = s->value_panels,
                                   .q_rows = q->q_rows,
                                   .dout_rows = q->dout_rows,
                                   .delta = reads_delta(p) ? q->delta : NULL,
                                   .drop_below = drop.below,
                                   .drop_scale = drop.scale,
                                   .dscores = s->dscores,
                                   .dk = s->dk,
                                   .dv = s->dv};
    f->kernels->attend_dkv(block, &weights, &dkv);
}

/* Computes the gradients of one block of the table: query block i, key block j. */
static void backward_block(const struct backward_pair *p, int i, int j, const struct key_block *s)
{
    const struct flash_backward *f = p->f;
    struct attend_row row[ATTEND_ROWS];
    float sums[ATTEND_ROWS] = {0};
    struct query_block q = block_of(p, i);
    bool any = visible_rows(p, &q, s, row);
    float *to = rapt__flash_row_sums(f, &p->b, q.head, q.first);
    for (int r = 0; r < q.rows && to; r++) row[r].dsum = sums + r;
    const struct attend_block block = {.row = row,
                                       .rows = q.rows,
                                       .key = s->key,
                                       .keys = s->keys,
                                       .key_width = f->c->width,
                                       .ahead = p->ahead,
                                       .non_finite = q.state->non_finite || s->non_finite};
    const struct attend_dq dq = {s->key_rows, s->dscores, q.dq};
    if (any) add_dkv(p, &block, &q, s);
    wait_until(&q.state->done, j);
    if (any && f->d->q) f->kernels->attend_dq(&block, &dq);
    for (int r = 0; r < q.rows && any && to; r++) to[r] += sums[r];
    atomic_store_explicit(&q.state->done, j + 1, memory_order_release);
}

void rapt__flash_backward_keys(const struct backward_pair *p, int j)
{
    struct key_block s = pack_keys(p, j);
    for (int i = 0; i < p->blocks; i++) backward_block(p, i, j, &s);
    rapt__flash_add_keys(p, s.key, s.keys);
}
