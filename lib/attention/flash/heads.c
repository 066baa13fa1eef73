/* heads.c - attention for pairs (a sequence and a key head) that have few queries and keys, forward
   (kernel/flash_head.c) and backward (kernel/flash_head_backward.c). Such pairs are computed one
   query head at a time on unpacked rows, because their keys and values are not read often enough to
   repay packing. Also decides which pairs these are, and whether rows are prefetched. */
#include "attention/flash/flash.h"
#include "op/op.h"

#include <string.h>

/* Computes the ranges of visible keys of all queries. Returns false, without writing them, if there
   is no causal mask, window or windowed locality. */
static bool visible_ranges(const rapt_attention *a, const struct sequence *b, float *low,
                           float *high)
{
    if (!a->mask.causal && !a->mask.window && !rapt__locality_windowed(a)) return false;
    for (int t = 0; t < b->queries; t++) {
        struct attend_row row;
        rapt__mask_row(a, b, 0, t, &row);
        low[t] = (float)row.low, high[t] = (float)row.high;
    }
    return true;
}

bool rapt__flash_rows_far(const struct projected *c, bool gradients)
{
    const rapt_attention *a = c->a;
    double keys = (double)rapt__key_rows(a) * rapt__key_heads_of(a),
           queries = (double)rapt__query_rows(a) * a->heads;
    double floats = keys * (c->width + a->value_width) + queries * c->width;
    return floats * sizeof(float) * (gradients ? 2 : 1) > (double)rapt__near_size();
}

bool rapt__flash_head(const struct projected *c, const struct sequence *b, int g, float *low,
                      float *high, struct attend_head *head)
{
    const rapt_attention *a = c->a;
    const struct dropout drop = rapt__dropout(a->dropout, 0);
    if (b->queries < LANES / 2 || b->existing == 0 || b->existing > ATTEND_BLOCK) return false;
    if (c->kind == ATTEND_SIGMOID || rapt__locality_sparse(a)) return false;
    bool masked = visible_ranges(a, b, low, high);
    *head = (struct attend_head){.k = c->k + rapt__key_at(&c->k_stride, b, g, 0),
                                 .q_row = c->q_stride.row,
                                 .k_row = c->k_stride.row,
                                 .v_row = a->v.row,
                                 .out_row = a->out.row,
                                 .queries = b->queries,
                                 .keys = b->existing,
                                 .key_width = c->width,
                                 .value_width = a->value_width,
                                 .low = masked ? low : NULL,
                                 .high = high,
                                 .bias_row = a->mask.bias_stride.row,
                                 .allowed_row = a->mask.allowed_stride.row,
                                 .kind = c->kind,
                                 .scale = c->scale,
                                 .cap = a->cap,
                                 .drop_below = drop.below,
                                 .drop_scale = drop.scale};
    return true;
}

const float *rapt__flash_whole_rows(const float *x, ptrdiff_t *row, int rows, int width, float *to)
{
    if (width % LANES == 0) return x;
    rapt__kernels()->pad_rows(x, *row, rows, width, to);
    *row = rapt__padded(width);
    return to;
}

void rapt__flash_head_queries(const struct projected *c, const struct sequence *b, int h, int first,
                              struct attend_head *head)
{
    const rapt_mask *m = &c->a->mask;
    head->q = c->q + rapt__query_at(&c->q_stride, b, h, first);
    struct attend_row row = {0};
    if (m->bias || m->allowed) {
        rapt__mask_row(c->a, b, h, first, &row);
        head->bias = row.bias, head->allowed = row.allowed;
    }
    rapt__bias_row(c, b, h, first, &row);
    head->relative = row.relative, head->forget = row.forget, head->distances = row.distances;
    head->distance_row = (ptrdiff_t)rapt__distance_row(c->a);
    head->position = (int)rapt__query_position(c->a, b, first);
    head->number = rapt__number_of(c, h);
    head->drop_row = (uint64_t)first;
    if (head->drop_below) head->drop_key = rapt__attention_drop_key(c->a, b, h);
}

/* ---- forward ---- */

/* If the width of values is not a multiple of 16, the kernel reads padded copies of them and writes
   padded outputs, which are copied back. */

float *rapt__flash_forward_rows(struct arena *part, const struct bounds *b)
{
    size_t rows = b->longest_queries < ATTEND_BLOCK ? b->longest_queries : ATTEND_BLOCK;
    if (b->value_width % LANES == 0) rows = 0;
    return rapt__arena_floats(part, rows, rapt__round_up_size(b->value_width, LANES));
}

/* Computes the output of query head h of a pair whose keys and values are in *head. Returns false,
   without writing results, if keys may be hidden and a value is infinite or NaN; the caller then
   takes another path. */
static bool attend_one_head(const struct flash_forward *f, const struct sequence *b, int h,
                            struct attend_head *head)
{
    const rapt_attention *a = f->a;
    size_t at = (size_t)h * (size_t)rapt__query_rows(a) + (size_t)b->query_first;
    float *out = f->out ? f->out + rapt__query_at(&a->out, b, h, 0) : NULL;
    bool padded = out && a->value_width % LANES != 0;
    rapt__flash_head_queries(f->c, b, h, 0, head);
    head->out = padded ? f->pair.out : out;
    if (padded) head->out_row = rapt__padded(a->value_width);
    if (f->lse) head->lse = f->lse + at;
    if (f->statistics) head->statistics = f->statistics + at * STATISTICS;
    if (!f->kernels->attend_head(head)) return false;
    for (int t = 0; t < b->queries && padded; t++)
        memcpy(out + t * a->out.row, head->out + t * head->out_row,
               (size_t)a->value_width * sizeof *out);
    return true;
}

bool rapt__flash_forward_heads(const struct flash_forward *f, const struct sequence *b, int g)
{
    float low[ATTEND_BLOCK], high[ATTEND_BLOCK];
    const rapt_attention *a = f->a;
    struct attend_head head;
    if (b->queries > ATTEND_BLOCK || !rapt__flash_head(f->c, b, g, low, high, &head)) return false;
    head.workspace = f->mine.kernel, head.ahead = f->ahead;
    if (f->out)
        head.v = rapt__flash_whole_rows(f->v + rapt__key_at(&a->v, b, g, 0), &head.v_row,
                                        b->existing, a->value_width, f->pair.values);
    for (int h = g * f->group; h < (g + 1) * f->group; h++)
        if (!attend_one_head(f, b, h, &head)) return false;
    return true;
}

/* ---- backward ---- */

/* If the width of rows is not a multiple of 16, they are copied and padded in the workspace of
   backward_blocks.c, where gradients may also be summed (summed_apart). Terms are summed in the
   same order as in backward_blocks.c. */

/* Returns true if q, k and dout of a pair are finite. Values need not be finite, since products
   with the value of a hidden key are not used. */
static bool pair_finite(const struct backward_pair *p)
{
    const struct flash_backward *f = p->f;
    const struct sequence *b = &p->b;
    const struct projected *c = f->c;
    const rapt_attention *a = f->a;
    const float *k = c->k + rapt__key_at(&c->k_stride, b, p->g, 0);
    bool finite = f->kernels->rows_finite(k, c->k_stride.row, b->existing, c->width);
    for (int h = p->g * f->group; h < (p->g + 1) * f->group && finite; h++) {
        const float *q = c->q + rapt__query_at(&c->q_stride, b, h, 0);
        const float *dout = f->dout + rapt__query_at(&a->out, b, h, 0);
        finite = f->kernels->rows_finite(q, c->q_stride.row, b->queries, c->width) &&
                 f->kernels->rows_finite(dout, a->out.row, b->queries, a->value_width);
    }
    return finite;
}

static bool rows_padded(const struct backward_pair *p)
{
    return p->f->c->width % LANES != 0 || p->f->a->value_width % LANES != 0;
}

/* Computes the gradients of at most HEAD_GRADIENTS queries of head h, starting with `first`. *all
   describes the pair; the fields of *d that are the same for all heads must be set. */
static void backward_head(const struct backward_pair *p, int h, int first,
                          const struct attend_head *all, struct attend_head_gradients *d)
{
    const struct flash_backward *f = p->f;
    const struct sequence *b = &p->b;
    const struct projected *c = f->c;
    size_t row = (size_t)h * (size_t)rapt__query_rows(f->a) + (size_t)(b->query_first + first);
    float statistics[HEAD_GRADIENTS * STATISTICS];
    struct attend_head head = *all;
    head.queries = rapt__min(b->queries - first, HEAD_GRADIENTS);
    if (head.low) head.low += first, head.high += first;
    memcpy(statistics, f->statistics + row * STATISTICS,
           (size_t)(head.queries * STATISTICS) * sizeof(float));
    rapt__flash_head_queries(c, b, h, first, &head);
    head.statistics = statistics;
    head.q = rapt__flash_whole_rows(head.q, &head.q_row, head.queries, c->width, f->queries.q_rows);
    d->dout =
        rapt__flash_whole_rows(f->dout + rapt__query_at(&f->a->out, b, h, first), &head.out_row,
                               head.queries, f->a->value_width, f->queries.dout_rows);
    d->dbias = rapt__flash_bias_gradients(f, head.bias);
    d->drelative = rapt__relative_sums_row(f->a, f->relative, b, h, first);
    d->dforget = rapt__flash_forget_sums(f, b, h);
    rapt__distance_gradients(c, f->d, &head.distances);
    d->dsums = rapt__flash_row_sums(f, b, h, first);
    float *dq = f->d->q ? f->d->q + rapt__query_at(&c->q_stride, b, h, first) : NULL;
    bool padded = dq && c->width % LANES != 0;
    d->dq = padded ? f->queries.dq : dq;
    if (padded) memset(d->dq, 0, (size_t)(head.queries * head.q_row) * sizeof *dq);
    f->kernels->attend_head_backward(&head, d);
    if (padded) rapt__flash_add_rows(f, d->dq, head.queries, c->width, dq, c->q_stride.row);
}

/* Returns true if dk and dv must be summed in this thread's workspace, because the pair's queries
   take several kernel calls or because rows are padded. */
static bool summed_apart(const struct backward_pair *p)
{
    return p->f->group > 1 || p->b.queries > HEAD_GRADIENTS || rows_padded(p);
}

/* Returns the rows in which to sum the gradients of keys or values, or NULL if these are not
   requested. */
static float *key_sums(float *mine, float *to, const rapt_stride *stride,
                       const struct backward_pair *p)
{
    if (!to) return NULL;
    return summed_apart(p) ? mine : to + rapt__key_at(stride, &p->b, p->g, 0);
}

/* Computes the gradients of all queries of a pair, head by head and HEAD_GRADIENTS at a time. If
   one kernel call is enough and no rows are padded, that call adds dk and dv to the caller's
   arrays. Otherwise they are summed in this thread's workspace and added at the end. */
static void backward_each_head(const struct backward_pair *p, const struct attend_head *head)
{
    const struct flash_backward *f = p->f;
    const struct sequence *b = &p->b;
    const struct projected_gradients *to = f->d;
    const rapt_stride *k = &f->c->k_stride, *v = &f->a->v;
    bool unfinished = summed_apart(p);
    struct attend_head_gradients d = {.dk = key_sums(f->keys.dk, to->k, k, p),
                                      .dv = key_sums(f->keys.dv, to->v, v, p),
                                      .dk_row = unfinished ? rapt__padded(f->c->width) : k->row,
                                      .dv_row =
                                          unfinished ? rapt__padded(f->a->value_width) : v->row,
                                      .unfinished = unfinished,
                                      .q_panels = f->queries.q_slots,
                                      .dout_panels = f->queries.dout_slots,
                                      .weights = f->keys.weights,
                                      .dscores = f->keys.dscores};
    if (unfinished) rapt__flash_clear_keys(f, b->existing);
    for (int h = p->g * f->group; h < (p->g + 1) * f->group; h++)
        for (int first = 0; first < b->queries; first += HEAD_GRADIENTS)
            backward_head(p, h, first, head, &d);
    if (unfinished) rapt__flash_add_keys(p, 0, b->existing);
}

bool rapt__flash_backward_heads(const struct backward_pair *p)
{
    float low[ATTEND_BLOCK], high[ATTEND_BLOCK];
    const struct flash_backward *f = p->f;
    struct attend_head head;
    const rapt_attention *a = f->a;
    if (p->b.queries > ATTEND_BLOCK) return false;
    if (!rapt__flash_head(f->c, &p->b, p->g, low, high, &head) || !pair_finite(p)) return false;
    head.k = rapt__flash_whole_rows(head.k, &head.k_row, head.keys, f->c->width, f->keys.key_rows);
    head.v = rapt__flash_whole_rows(f->v + rapt__key_at(&a->v, &p->b, p->g, 0), &head.v_row,
                                    head.keys, a->value_width, f->keys.value_panels);
    head.ahead = p->ahead;
    backward_each_head(p, &head);
    return true;
}
