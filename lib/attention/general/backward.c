/* backward.c - the gradients of rows.h. A member of the team takes a sequence and key head (a
   pair) and goes through the rows of its query heads in order, so that every sum has its order;
   what rows add to gradients that sequences share lies in parts of its own, which are added up
   over the batch afterwards. Pairs that share the gradient of a bias are one item, done by one
   member. Location-aware rows go backward in time, over the weights of all queries of a head. */
#include "attention/general/backward.h"

#include <string.h>

static struct row row_of(const struct pair *p, const struct row_head *head, int h, int t)
{
    struct row r = rapt__row(p->f->c, &p->b, head, &p->keys, h, t);
    r.space = p->f->buffers.space;
    if (head->channels == 0) return r;
    const rapt_attention *a = p->f->c->a;
    const float *previous = a->learned.previous;
    r.before_keys = p->b.existing;
    if (t > 0)
        r.before = p->f->buffers.weights + (size_t)(t - 1) * (size_t)r.space.capacity;
    else if (previous)
        r.before = previous + ((ptrdiff_t)p->b.index * a->heads + h) * a->keys;
    return r;
}

/* The weights of all queries of a head, as forward found them. */
static void remember(const struct pair *p, const struct row_head *head, int h)
{
    const rapt_attention *a = p->f->c->a;
    size_t capacity = (size_t)p->f->buffers.space.capacity;
    for (int t = 0; t < p->b.queries; t++) {
        struct row r = row_of(p, head, h, t);
        ptrdiff_t at = (ptrdiff_t)h * rapt__query_rows(a) + p->b.query_first + t;
        r.decided = a->chosen && rapt__normalizer_is_hard(a->normalizer);
        if (r.decided) r.chosen = a->chosen[at];
        rapt__row_weights(&r);
        rapt__row_rank1_update(&r, p->b.existing, p->f->buffers.weights + (size_t)t * capacity);
    }
}

/* to = rows of n floats that lie in whole panels. */
static void compact(const float *from, int rows, int n, float *to)
{
    for (int i = 0; i < rows; i++)
        memcpy(to + (ptrdiff_t)i * n, from + (ptrdiff_t)i * rapt__padded(n),
               (size_t)n * sizeof *to);
}

/* Rows from the last to the first. */
static void go_back_in_time(const struct pair *p, const struct row_head *h, struct line *l)
{
    const struct backward_buffers *m = &p->f->buffers;
    size_t filters = (size_t)h->channels * (size_t)rapt__padded(h->filter_width);
    size_t weights = (size_t)h->width * (size_t)rapt__padded(h->channels);
    memset(m->dnext, 0, (size_t)m->space.capacity * sizeof(float));
    memset(m->dfilters, 0, filters * sizeof(float));
    memset(m->dfeature_weight, 0, weights * sizeof(float));
    remember(p, h, l->head);
    for (int t = p->b.queries - 1; t >= 0; t--) {
        struct row r = row_of(p, h, l->head, t);
        l->r = &r, l->t = t;
        rapt__line_back(l);
    }
    compact(m->dfilters, h->channels, h->filter_width, l->part + m->part.filters);
    compact(m->dfeature_weight, h->width, h->channels, l->part + m->part.feature_weight);
}

static void do_head(const struct pair *p, int h)
{
    const struct backward *f = p->f;
    const struct backward_buffers *m = &f->buffers;
    struct row_head head = rapt__row_head(f->c, &p->b, h);
    size_t part = ((size_t)h * (size_t)f->c->a->batch + (size_t)p->b.index) * m->part.size;
    struct line l = {.p = p, .head = h, .dz = m->dz, .dnext = m->dnext, .part = m->parts + part};
    memset(l.part, 0, m->part.size * sizeof(float));
    if (p->b.existing == 0) return;
    if (head.channels) go_back_in_time(p, &head, &l);
    for (int t = 0; t < p->b.queries && !head.channels; t++) {
        struct row r = row_of(p, &head, h, t);
        l.r = &r, l.t = t;
        rapt__line_back(&l);
    }
}

/* The caller's rows += dkeys. */
static void finish_keys(const struct pair *p)
{
    const struct projected *c = p->f->c;
    const float *from = p->f->buffers.dkeys;
    for (int s = 0; s < p->b.existing; s++)
        for (int i = 0; i < c->width; i++)
            p->dkeys[s * c->k_stride.row + i] +=
                from[(ptrdiff_t)(s / LANES * LANES) * c->width + i * LANES + s % LANES];
}

static void do_pair(const struct backward *f, int index, int g)
{
    const struct projected *c = f->c;
    const rapt_attention *a = c->a;
    struct pair p = {.f = f, .b = rapt__sequence(a, index)};
    int n = p.b.existing, panels = (n + LANES - 1) / LANES;
    p.keys.panels = f->buffers.key_panels;
    if (n) {
        ptrdiff_t k = rapt__key_at(&c->k_stride, &p.b, g, 0), v = rapt__key_at(&a->v, &p.b, g, 0);
        p.key_rows = c->k + k;
        if (f->d->k) p.dkeys = f->d->k + k;
        if (f->d->v) p.dvalues = f->d->v + v;
        f->kernels->pack_columns(p.key_rows, c->k_stride.row, n, c->width, 1, 0, panels,
                                 f->buffers.key_panels);
        f->kernels->pack_columns(f->v + v, a->v.row, n, a->value_width, 1, 0, panels,
                                 f->buffers.value_panels);
    }
    if (c->vector)
        memset(f->buffers.dkeys, 0, (size_t)(panels * LANES) * (size_t)c->width * sizeof(float));
    for (int h = g * f->group; h < (g + 1) * f->group; h++) do_head(&p, h);
    if (c->vector && p.dkeys) finish_keys(&p);
}

/* Adds up what the sequences have left behind for a gradient of n floats a head. */
static void add_parts(const struct backward *f, int h, float *d, size_t n, size_t position)
{
    size_t batch = (size_t)f->c->a->batch, size = f->buffers.part.size;
    if (d)
        f->kernels->column_sum(d + (size_t)h * n,
                               f->buffers.parts + (size_t)h * batch * size + position,
                               (ptrdiff_t)size, (int)batch, (int)n);
}

static void add_all_parts(struct team *team, const struct backward *f)
{
    const struct projected *c = f->c;
    const rapt_learned *l = &c->a->learned;
    const struct rows_part *part = &f->buffers.part;
    for (int h; (h = rapt__team_take(team)) < c->a->heads;) {
        if (c->vector) add_parts(f, h, f->d->vector, (size_t)c->width, 0);
        if (c->relative) add_parts(f, h, f->d->relative, (size_t)c->relative_row, part->relative);
        if (!rapt__score_recurrent(c->a)) continue;
        add_parts(f, h, f->d->filters, (size_t)l->channels * (size_t)l->filter_width,
                  part->filters);
        add_parts(f, h, f->d->feature_weight, (size_t)l->channels * (size_t)c->width,
                  part->feature_weight);
    }
    rapt__team_barrier(team);
}

void rapt__general_backward(struct team *team, const struct projected *c, const float *v,
                            const float *out, const float *lse, const float *dout,
                            const struct projected_gradients *d, void *workspace)
{
    const rapt_attention *a = c->a;
    const rapt_stride *bias = &a->mask.bias_stride;
    struct bounds bounds = rapt__bounds(a, team->size);
    struct row_cursor cursor = {.base = workspace};
    struct backward f = {.c = c,
                         .kernels = rapt__kernels(),
                         .v = v,
                         .dout = dout,
                         .d = d,
                         .key_heads = rapt__key_heads_of(a),
                         .buffers = rapt__backward_buffers(&cursor, &bounds, team->rank)};
    (void)out, (void)lse; /* rows are computed again, and nothing is taken from their sums */
    f.group = a->heads / f.key_heads;
    bool one_batch = d->bias && bias->batch == 0, one_head = d->bias && bias->head == 0;
    struct tickets tickets = rapt__tickets(team);
    for (int i = 0; i < (one_batch ? 1 : a->batch); i++)
        for (int g = 0; g < (one_head ? 1 : f.key_heads); g++) {
            if (!rapt__mine(&tickets)) continue;
            for (int n = i; n < (one_batch ? a->batch : i + 1); n++)
                for (int m = g; m < (one_head ? f.key_heads : g + 1); m++) do_pair(&f, n, m);
        }
    rapt__team_barrier(team);
    add_all_parts(team, &f);
}
