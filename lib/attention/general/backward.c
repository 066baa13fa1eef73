/* backward.c - the general backward pass: adds to the gradients in struct projected_gradients.

   Each thread of the team takes one key head of a sequence at a time, and processes the rows of its
   query heads in order, so that the order of every sum is fixed. Gradients of learned arrays and
   relative biases are summed per head and sequence, then over the batch. One thread processes all
   key heads and sequences that share the gradient of a bias and, with talking heads, all key heads
   of a sequence. With a recurrent score, gradients flow backward through time, and the weights of
   all queries of a head, or their sums up to each query, are stored. */
#include "attention/general/backward.h"

#include <string.h>

/* ---- workspace ---- */

static struct head_sum_sizes sizes_of(const struct bounds *b)
{
    struct head_sum_sizes s = {0};
    if (b->additive) s.vector = rapt__round_up_size(b->width, LANES);
    s.filters = rapt__round_up_size(b->channels * b->filter_width, LANES);
    s.feature_weight = rapt__round_up_size(b->channels * b->width, LANES);
    if (rapt__normalizer_number(b->a->normalizer) >= 0) s.number = LANES;
    if (rapt__talks(b->a)) s.talking = rapt__round_up_size(b->heads, LANES);
    return s;
}

static void lay_out_rows(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    struct backward_rows *r = to;
    size_t keys = rapt__row_capacity(b), channels = b->channels;
    *r = (struct backward_rows){0};
    if (rapt__talks(b->a)) {
        rapt__talking_backward_layout(part, b, r);
        return;
    }
    rapt__row_layout(part, b, true, &r->space);
    rapt__block_layout(part, b, true, &r->block);
    r->key_panels = rapt__arena_floats(part, keys, b->width);
    r->value_panels = rapt__arena_floats(part, keys, b->value_width);
    if (b->additive) r->dkeys = rapt__arena_floats(part, keys, b->width);
    r->dz = rapt__arena_floats(part, keys, 1);
    r->dnext = rapt__arena_floats(part, keys, 1);
    r->dq = rapt__arena_floats(part, b->width, 1);
    if (channels == 0) return;
    r->transposed = rapt__arena_floats(part, keys, rapt__round_up_size(channels, LANES));
    size_t filter_row = rapt__round_up_size(b->filter_width, LANES);
    size_t weight_row = rapt__round_up_size(channels, LANES);
    r->dfilters = rapt__arena_floats(part, channels, filter_row);
    r->dfeature_weight = rapt__arena_floats(part, b->width, weight_row);
    r->product = rapt__arena_floats(part, channels > b->width ? channels : b->width,
                                    filter_row > weight_row ? filter_row : weight_row);
    r->dsums = rapt__arena_floats(part, b->width, keys);
    r->dfeatures = rapt__arena_floats(part, channels, keys + 2 * b->filter_width);
    r->weights = rapt__arena_floats(part, b->longest_queries, keys);
}

/* Lays out the workspace and returns the sums, which all threads share. */
static struct head_sums lay_out_backward_rows(struct arena *arena, const struct bounds *b,
                                              struct backward_rows *mine)
{
    const struct head_sum_sizes size = sizes_of(b);
    struct head_sums sums;
    size_t n = 0;
    if (!rapt__times(b->heads, b->batch, &n)) arena->overflow = true;
    sums.vector = rapt__arena_floats(arena, n, size.vector);
    sums.relative = rapt__relative_sums_layout(arena, b);
    sums.filters = rapt__arena_floats(arena, n, size.filters);
    sums.feature_weight = rapt__arena_floats(arena, n, size.feature_weight);
    sums.number = rapt__arena_floats(arena, n, size.number);
    sums.talking_scores = rapt__arena_floats(arena, n, size.talking);
    sums.talking_weights = rapt__arena_floats(arena, n, size.talking);
    rapt__arena_parts(arena, b->team, lay_out_rows, b, mine, NULL);
    return sums;
}

void rapt__general_backward_layout(struct arena *arena, const struct bounds *b)
{
    struct backward_rows mine;
    lay_out_backward_rows(arena, b, &mine);
}

/* Zeroes and returns the sums of the n-th (head, sequence) pair, or returns NULL if size is 0. */
static float *zeroed(float *all, size_t n, size_t size)
{
    return size ? memset(all + n * size, 0, size * sizeof *all) : NULL;
}

struct head_sums rapt__backward_sums(const struct backward_keys *p, int h)
{
    const struct head_sums *all = &p->f->sums;
    const struct head_sum_sizes *size = &p->f->sizes;
    const rapt_attention *a = p->f->c->a;
    size_t n = (size_t)h * (size_t)a->batch + (size_t)p->b.index;
    float *relative = rapt__relative_sums(a, all->relative, &p->b, h);
    if (relative && p->b.queries + p->b.existing > 0)
        memset(relative, 0, (size_t)(p->b.queries + p->b.existing - 1) * sizeof *relative);
    return (struct head_sums){.vector = zeroed(all->vector, n, size->vector),
                              .relative = all->relative,
                              .filters = zeroed(all->filters, n, size->filters),
                              .feature_weight =
                                  zeroed(all->feature_weight, n, size->feature_weight),
                              .number = zeroed(all->number, n, size->number),
                              .talking_scores = zeroed(all->talking_scores, n, size->talking),
                              .talking_weights = zeroed(all->talking_weights, n, size->talking)};
}

/* ---- rows ---- */

static struct row backward_row_of(const struct backward_keys *p, const struct row_head *head, int h,
                                  int t)
{
    struct row r = rapt__row(p->f->c, &p->b, head, &p->keys, h, t);
    r.space = p->f->mine.space;
    if (head->channels == 0) return r;
    const rapt_attention *a = p->f->c->a;
    const float *previous = a->previous_weights;
    r.before_keys = p->b.existing;
    if (t > 0)
        r.before = p->f->mine.weights + (size_t)(t - 1) * (size_t)r.space.capacity;
    else if (previous)
        r.before = previous + ((ptrdiff_t)p->b.index * a->heads + h) * a->keys;
    return r;
}

/* Recomputes the weights of all queries of a head as in the forward pass, and stores for each query
   what the next query reads as `before`. */
static void rebuild_weights(const struct backward_keys *p, const struct row_head *head, int h)
{
    const rapt_attention *a = p->f->c->a;
    size_t capacity = (size_t)p->f->mine.space.capacity;
    for (int t = 0; t < p->b.queries; t++) {
        struct row r = backward_row_of(p, head, h, t);
        ptrdiff_t at = (ptrdiff_t)h * rapt__query_rows(a) + p->b.query_first + t;
        r.decided = p->f->c->chosen != NULL;
        if (r.decided) r.chosen = p->f->c->chosen[at];
        rapt__row_weights(&r);
        rapt__row_remember(&r, p->b.existing, p->f->mine.weights + (size_t)t * capacity);
    }
}

/* Copies the first n floats of rows that are padded to whole vectors; `to` may be NULL. */
static void compact(const float *from, int rows, int n, float *to)
{
    for (int i = 0; to && i < rows; i++)
        memcpy(to + (ptrdiff_t)i * n, from + (ptrdiff_t)i * rapt__padded(n),
               (size_t)n * sizeof *to);
}

static void backward_in_time(const struct backward_keys *p, const struct row_head *h,
                             struct backward_row *l)
{
    const struct backward_rows *m = &p->f->mine;
    size_t filters = (size_t)h->channels * (size_t)rapt__padded(h->filter_width);
    size_t weights = (size_t)h->width * (size_t)rapt__padded(h->channels);
    memset(m->dnext, 0, (size_t)m->space.capacity * sizeof(float));
    memset(m->dfilters, 0, filters * sizeof(float));
    memset(m->dfeature_weight, 0, weights * sizeof(float));
    rebuild_weights(p, h, l->head);
    for (int t = p->b.queries - 1; t >= 0; t--) {
        struct row r = backward_row_of(p, h, l->head, t);
        l->r = &r, l->t = t;
        rapt__row_backward(l);
        l->r = NULL;
    }
    compact(m->dfilters, h->channels, h->filter_width, l->sums.filters);
    compact(m->dfeature_weight, h->width, h->channels, l->sums.feature_weight);
}

void rapt__backward_values(const struct backward_keys *p, const struct row_block *block, int h,
                           int t)
{
    const struct general_backward *f = p->f;
    const rapt_attention *a = f->c->a;
    if (p->dvalues)
        rapt__block_update(block, f->kernels, block->weights,
                           f->dout + rapt__query_at(&a->out, &p->b, h, t), a->out.row,
                           a->value_width, p->dvalues, a->v.row);
}

void rapt__backward_products(const struct backward_keys *p, const struct row_block *block, int h,
                             int t)
{
    const struct general_backward *f = p->f;
    const struct projected *c = f->c;
    ptrdiff_t k_row = c->k_stride.row, q_row = c->q_stride.row,
              q = rapt__query_at(&c->q_stride, &p->b, h, t);
    if (f->d->q)
        rapt__block_sums(block, f->kernels, block->dx, p->key_rows, k_row, c->width, f->d->q + q,
                         q_row);
    if (p->dkeys)
        rapt__block_update(block, f->kernels, block->dx, c->q + q, q_row, c->width, p->dkeys,
                           k_row);
}

/* Computes the gradients of at most BLOCK_ROWS rows, starting at t. */
static void backward_block(const struct backward_keys *p, const struct row_head *head,
                           struct backward_row *l, int t, int rows)
{
    const struct general_backward *f = p->f;
    const struct projected *c = f->c;
    struct row_block block = f->mine.block;
    int h = l->head;
    bool together = rapt__block_begin(&block, c, &p->b, head, &p->keys, h, t, rows);
    if (together)
        rapt__block_dots(&block, f->kernels, f->dout + rapt__query_at(&c->a->out, &p->b, h, t),
                         c->a->out.row, 1, f->mine.value_panels, c->a->value_width,
                         block.dout_dots);
    bool products = together && block.dots;
    if (products)
        rapt__block_dots(&block, f->kernels, c->q + rapt__query_at(&c->q_stride, &p->b, h, t),
                         c->q_stride.row, rapt__query_factor(head->scale), p->keys.panels, c->width,
                         block.dots);
    for (int i = 0; i < rows; i++) {
        struct row r = backward_row_of(p, head, h, t + i);
        if (products) r.dots = block.dots + i * block.capacity;
        l->block = products ? &block : NULL, l->index = i;
        l->dout_dots = together ? block.dout_dots + i * block.capacity : NULL;
        l->r = &r, l->t = t + i;
        rapt__row_backward(l);
        l->r = NULL, l->block = NULL;
    }
    if (products && !rapt__normalizer_is_hard(head->normalizer))
        rapt__backward_values(p, &block, h, t);
    if (products) rapt__backward_products(p, &block, h, t);
}

static void backward_head(const struct backward_keys *p, int h)
{
    const struct general_backward *f = p->f;
    struct row_head head = rapt__row_head(f->c, &p->b, h);
    struct backward_row l = {.p = p,
                             .head = h,
                             .dz = f->mine.dz,
                             .dnext = f->mine.dnext,
                             .sums = rapt__backward_sums(p, h)};
    if (p->b.existing == 0) return;
    if (head.channels) backward_in_time(p, &head, &l);
    for (int t = 0; t < p->b.queries && !head.channels; t += BLOCK_ROWS)
        backward_block(p, &head, &l, t, rapt__min(p->b.queries - t, BLOCK_ROWS));
}

void rapt__backward_dkeys(const struct backward_keys *p)
{
    const struct projected *c = p->f->c;
    const float *from = p->f->mine.dkeys;
    if (!c->vector || !p->dkeys) return;
    for (int s = 0; s < p->b.existing; s++)
        for (int i = 0; i < c->width; i++)
            p->dkeys[s * c->k_stride.row + i] +=
                from[(ptrdiff_t)(s / LANES * LANES) * c->width + (ptrdiff_t)i * LANES + s % LANES];
}

struct backward_keys rapt__backward_keys(const struct general_backward *f, int sequence, int g)
{
    const struct projected *c = f->c;
    const rapt_attention *a = c->a;
    const struct backward_rows *m = &f->mine;
    struct backward_keys p = {.f = f, .b = rapt__sequence(a, sequence)};
    int n = p.b.existing, panels = rapt__ceil_div(n, LANES);
    p.keys.panels = m->key_panels;
    if (n) {
        ptrdiff_t k = rapt__key_at(&c->k_stride, &p.b, g, 0), v = rapt__key_at(&a->v, &p.b, g, 0);
        p.key_rows = c->k + k;
        if (f->d->k) p.dkeys = f->d->k + k;
        if (f->d->v) p.dvalues = f->d->v + v;
        f->kernels->pack_columns(p.key_rows, c->k_stride.row, n, c->width, 1, 0, panels,
                                 m->key_panels);
        f->kernels->pack_columns(f->v + v, a->v.row, n, a->value_width, 1, 0, panels,
                                 m->value_panels);
    }
    if (c->vector) memset(m->dkeys, 0, (size_t)(panels * LANES) * (size_t)c->width * sizeof(float));
    return p;
}

static void backward_key_head(const struct general_backward *f, int sequence, int g)
{
    const struct backward_keys p = rapt__backward_keys(f, sequence, g);
    for (int h = g * f->group; h < (g + 1) * f->group; h++) backward_head(&p, h);
    rapt__backward_dkeys(&p);
}

static void backward_sequence(const struct general_backward *f, int sequence)
{
    if (rapt__talks(f->c->a)) {
        rapt__talking_backward(f, sequence);
        return;
    }
    for (int g = 0; g < f->key_heads; g++) backward_key_head(f, sequence, g);
}

/* Adds the sums of head h in all sequences, n floats each, to d. */
static void add_sums(const struct general_backward *f, int h, float *d, size_t n, const float *sums,
                     size_t size)
{
    size_t batch = (size_t)f->c->a->batch;
    enum { COLUMNS = 1 << 30 }; /* because the kernel counts columns in an int */
    for (size_t i = 0; d && size && batch && i < n; i += COLUMNS)
        f->kernels->column_sum(d + (size_t)h * n + i, sums + (size_t)h * batch * size + i,
                               (ptrdiff_t)size, (int)batch, (int)rapt__min_size(n - i, COLUMNS));
}

static void add_all_sums(struct team *team, const struct general_backward *f)
{
    const struct projected *c = f->c;
    const struct projected_gradients *d = f->d;
    size_t width = (size_t)c->width, channels = (size_t)c->features.channels,
           filter_width = (size_t)c->features.filter_width;
    for (int h; (h = rapt__team_take(team)) < c->a->heads;) {
        add_sums(f, h, d->vector, width, f->sums.vector, f->sizes.vector);
        add_sums(f, h, d->filters, channels * filter_width, f->sums.filters, f->sizes.filters);
        add_sums(f, h, d->feature_weight, channels * width, f->sums.feature_weight,
                 f->sizes.feature_weight);
        add_sums(f, h, d->numbers, 1, f->sums.number, f->sizes.number);
        add_sums(f, h, d->talking_scores, (size_t)c->a->heads, f->sums.talking_scores,
                 f->sizes.talking);
        add_sums(f, h, d->talking_weights, (size_t)c->a->heads, f->sums.talking_weights,
                 f->sizes.talking);
    }
    rapt__team_barrier(team);
    if (d->relative)
        rapt__relative_sums_add(team, c->a, f->sums.relative, c->relative_row, c->relative_zero,
                                d->relative);
}

void rapt__general_backward(struct team *team, const struct projected *c, const float *v,
                            const float *dout, const struct projected_gradients *d,
                            struct arena *arena)
{
    const rapt_attention *a = c->a;
    const rapt_stride *bias = &a->mask.bias_stride;
    const struct bounds b = rapt__bounds(c, team->size);
    struct general_backward f = {.c = c,
                                 .kernels = rapt__kernels(),
                                 .v = v,
                                 .dout = dout,
                                 .d = d,
                                 .key_heads = rapt__key_heads_of(a),
                                 .sizes = sizes_of(&b)};
    f.group = a->heads / f.key_heads;
    f.sums = lay_out_backward_rows(arena, &b, &f.mine);
    rapt__workspace_begin(team);
    bool one_batch = d->bias && bias->batch == 0;
    bool one_head = rapt__talks(a) || (d->bias && bias->head == 0);
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < (one_batch ? 1 : a->batch); i++)
        for (int g = 0; g < (one_head ? 1 : f.key_heads); g++) {
            if (!rapt__mine(&tickets)) continue;
            for (int n = i; n < (one_batch ? a->batch : i + 1); n++)
                if (one_head)
                    backward_sequence(&f, n);
                else
                    backward_key_head(&f, n, g);
        }
    rapt__team_barrier(team);
    add_all_sums(team, &f);
}
