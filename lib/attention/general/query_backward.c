/* query_backward.c - adds the contributions of one query to all gradients. Let w be the weights
   before dropout and dw their gradient, which is the sum of these terms, where they apply:

       dropout(dout.(v[s] + a[s]))               a[s] is the distance vector added to the value
       the next query's dnext[s]                 for recurrent scores
       -guide->weight / (n (w[s] + 1e-6))        in the guided head, for the query's n guide keys
       coverage->weight                          if w[s] is below the coverage of key s

   guide and coverage are the losses in struct weight_losses. If w[s] is not below the coverage of
   key s, coverage->weight is added to the gradient of the coverage and not to dw. Then

       dv[s] += dropout(w)[s] dout
       dcenter += sum over s of w[s] dw[s] (s - center) / (radius / 2)^2
       dz[s] = gauss[s] dw[s]

   distribution.c turns dz into dx, which is added to the gradients of all biases. With a cap, dx is
   then multiplied by 1 - (x / cap)^2, where x is the capped score. Then dx flows to the dot
   product, dq += scale sum of dx k and dk += scale dx q, or to the tanh layer (kernel/additive.c).
   Masked keys have dx = 0 and are skipped. */
#include "attention/general/backward.h"

#include <math.h>
#include <string.h>

/* Adds the gradient of the guided alignment loss to dw, and stores the loss in guide->losses. As in
   Marian, the loss is the cross-entropy between the uniform weights of the guide and the weights of
   the row. Masked keys get no gradient. */
static void guided_gradients(const struct backward_row *l, const struct guide *guide)
{
    static const double epsilon = 1e-6;
    const struct row *r = l->r;
    int row = l->p->b.query_first + l->t, first = guide->starts[row], end = guide->starts[row + 1];
    double loss = 0, share = end > first ? (double)guide->weight / (end - first) : 0;
    for (int i = first; i < end; i++) {
        int s = guide->keys[i];
        bool visible = s >= r->visible.low && s < r->visible.high && r->space.x[s] != -INFINITY;
        double weight = (visible ? (double)r->space.weights[s] : 0) + epsilon;
        if (visible) l->dz[s] -= (float)(share / weight);
        loss -= share * rapt__log(weight);
    }
    guide->losses[row] = loss;
}

/* Adds the gradient of the coverage loss to dw and to the gradient of the coverage, and adds the
   loss to loss->losses. */
static void coverage_gradients(const struct backward_row *l, const struct coverage_loss *loss)
{
    const struct row *r = l->r;
    const float *w = r->space.weights, *coverage = r->space.before;
    double sum = 0;
    for (int s = r->visible.low; s < r->visible.high; s++) {
        if (r->space.x[s] == -INFINITY) continue;
        bool less = w[s] < coverage[s];
        sum += (double)(less ? w[s] : coverage[s]);
        if (less)
            l->dz[s] += loss->weight;
        else
            l->dnext[s] += loss->weight;
    }
    size_t rows = (size_t)rapt__query_rows(l->p->f->c->a);
    loss->losses[(size_t)l->head * rows + (size_t)(l->p->b.query_first + l->t)] +=
        (double)loss->weight * sum;
}

/* Adds dout.a to dz for each key, where a is the distance vector that is added to its value. */
static void add_distance_dots(const struct backward_row *l)
{
    const struct row *r = l->r;
    const struct distances *x = &r->visible.distances;
    for (int s = r->visible.low; s < r->visible.high; s++)
        l->dz[s] += x->by_dout[rapt__distance_of(x, s) - x->before];
}

/* Sets dz to dw, and to 0 at masked keys. */
static void weight_gradients(const struct backward_row *l)
{
    const struct general_backward *f = l->p->f;
    struct row *r = l->r;
    const float *dout = f->dout + rapt__query_at(&f->c->a->out, &l->p->b, l->head, l->t);
    float *dz = l->dz;
    const float *dots =
        rapt__row_dots(r, l->dout_dots, dout, 1, f->mine.value_panels, f->c->a->value_width, dz);
    if (dots != dz)
        memcpy(dz + r->first, dots + r->first, (size_t)rapt__row_length(r) * sizeof *dz);
    if (r->visible.distances.by_dout) add_distance_dots(l);
    if (r->head->drop.below) {
        memset(dz, 0, (size_t)r->first * sizeof *dz);
        f->kernels->dropout_row(&r->head->drop, r->number, dz, NULL, dz, r->end);
    }
    for (int s = r->first; s < r->end; s++) {
        bool hidden = r->space.x[s] == -INFINITY;
        dz[s] = hidden ? 0 : r->head->channels ? dz[s] + l->dnext[s] : dz[s];
    }
    const struct weight_losses *losses = &f->c->losses;
    if (losses->guide && l->head == GUIDED_HEAD) guided_gradients(l, losses->guide);
    if (losses->coverage) coverage_gradients(l, losses->coverage);
}

/* Stores the sums of the weights by distance, from which the gradients of distances.values are
   computed. */
static void keep_distance_weights(const struct backward_row *l)
{
    const struct distances *x = &l->r->visible.distances;
    if (!x->weights) return;
    rapt__row_drop(l->r);
    rapt__row_by_distance(l->r,
                          rapt__distance_by_vector(l->p->f->c->a, x->weights - x->before - LANES));
}

static void value_gradients(const struct backward_row *l)
{
    const rapt_attention *a = l->p->f->c->a;
    struct row *r = l->r;
    const float *dout = l->p->f->dout + rapt__query_at(&a->out, &l->p->b, l->head, l->t);
    int low = r->visible.low;
    if (!l->p->dvalues) return;
    rapt__row_drop(r);
    if (l->block && !rapt__normalizer_is_hard(r->head->normalizer)) {
        rapt__block_keep(l->block, l->block->weights, l->index, r, r->dropped);
        return;
    }
    l->p->f->kernels->rank1_update(r->dropped + low, r->visible.high - low, dout, a->value_width,
                                   l->p->dvalues + low * a->v.row, a->v.row);
}

/* Turns dw into dz, and adds to the gradient of the center. */
static void center_gradient(const struct backward_row *l)
{
    const struct general_backward *f = l->p->f;
    const struct row *r = l->r;
    const float *w = r->space.weights;
    double sum = 0, c = (double)*r->center, sigma = (double)r->head->radius / 2;
    for (int s = r->visible.low; s < r->visible.high; s++) {
        sum += (double)w[s] * (double)l->dz[s] * (s - c);
        l->dz[s] *= r->space.gauss[s];
    }
    if (f->d->centers) f->d->centers[r->center - f->c->centers] += (float)(sum / (sigma * sigma));
}

/* Adds dx to the sums from which the gradients of forget gates are computed. */
static void forget_gradients(const struct backward_row *l)
{
    const struct projected *c = l->p->f->c;
    const struct projected_gradients *d = l->p->f->d;
    const struct sequence *b = &l->p->b;
    const struct row *r = l->r;
    size_t rows = (size_t)rapt__query_rows(c->a), all = (size_t)rapt__key_rows(c->a),
           head = (size_t)l->head;
    float *row = d->forget_rows + head * rows + (size_t)(b->query_first + l->t);
    float *keys = d->forget_keys + head * all + (size_t)b->key_first;
    for (int s = r->visible.low; s < r->visible.high; s++) *row += l->dz[s], keys[s] += l->dz[s];
}

/* Adds dx to the gradients of by_query and by_key. */
static void distance_gradients(const struct backward_row *l)
{
    const struct row *r = l->r;
    struct distances x = r->visible.distances;
    rapt__distance_gradients(l->p->f->c, l->p->f->d, &x);
    for (int s = r->visible.low; s < r->visible.high; s++) {
        if (x.dby_query) x.dby_query[rapt__distance_of(&x, s) - x.before] += l->dz[s];
        if (x.dby_key) x.dby_key[rapt__distance_of_key(&x, s)] += l->dz[s];
    }
}

/* Adds dx to the gradients of the biases that were added to the scores. */
static void bias_gradients(const struct backward_row *l)
{
    const struct general_backward *f = l->p->f;
    const struct projected *c = f->c;
    const struct row *r = l->r;
    const float *dx = l->dz;
    if (f->d->bias && r->visible.bias) {
        float *dbias = f->d->bias + (r->visible.bias - c->a->mask.bias);
        for (int s = r->visible.low; s < r->visible.high; s++) dbias[s] += dx[s];
    }
    if (f->d->relative && c->relative) {
        float *drelative = rapt__relative_sums_row(c->a, l->sums.relative, &l->p->b, l->head, l->t);
        for (int s = r->visible.low; s < r->visible.high; s++) drelative[s] += dx[s];
    }
    if (f->d->forget_rows) forget_gradients(l);
    if (f->d->by_query || f->d->by_key) distance_gradients(l);
}

static float *query_gradient(const struct backward_row *l)
{
    const struct general_backward *f = l->p->f;
    if (!f->d->q) return f->mine.dq;
    return f->d->q + rapt__query_at(&f->c->q_stride, &l->p->b, l->head, l->t);
}

static void dot_gradients(const struct backward_row *l)
{
    const struct backward_keys *p = l->p;
    const struct row *r = l->r;
    const struct kernels *kernels = p->f->kernels;
    ptrdiff_t ld = p->f->c->k_stride.row;
    int low = r->visible.low, n = r->visible.high - low, width = r->head->width;
    for (int s = low; s < r->visible.high; s++) l->dz[s] *= r->head->scale;
    if (l->block) {
        rapt__block_keep(l->block, l->block->dx, l->index, r, l->dz);
        return;
    }
    if (p->f->d->q)
        kernels->gemv(l->dz + low, n, p->key_rows + low * ld, ld, width, query_gradient(l));
    if (p->dkeys) kernels->rank1_update(l->dz + low, n, r->q, width, p->dkeys + low * ld, ld);
}

/* ---- the features of recurrent scores ----

   These functions compute the gradients of the arrays in the term L f: L, the filters F, and p,
   which the filters read. p holds the weights of the previous query (Chorowski et al. 2015, section
   2.2) or the sum of the weights of all previous queries. Let half be filter_width / 2, and g[s]
   the gradient of k[s] + L f[s]:

       f[i][s] = sum over j of F[i][j] p[s + j - half]
       dL += g f'     df = L' g     dF[i][j] += sum over s of df[i][s] p[s + j - half]
       dp[s] = sum over i and j of df[i][s - j + half] F[i][j]

   dL and dF are sums over queries, from the last to the first, of sums over blocks of keys. */

/* Computes c[i][j] += sum over s of a[i][s] b[s][j]. The number of columns is rounded up to whole
   panels. Each BLOCK of keys is summed from zero and then added, because the rounding error of a
   single chain of additions would grow with the total number of keys of all queries. */
static void add_product(const struct backward_row *l, const float *a, ptrdiff_t a_row, int rows,
                        const float *b, ptrdiff_t b_panel, ptrdiff_t b_step, int columns, float *c)
{
    enum { BLOCK = 64 };
    const struct kernels *kernels = l->p->f->kernels;
    float *part = l->p->f->mine.product;
    int whole = rapt__padded(columns), n = rapt__row_length(l->r);
    for (int s = 0; s < n; s += BLOCK) {
        const struct gemm_block p = {.rows = rows,
                                     .columns = whole,
                                     .depth = n - s < BLOCK ? n - s : BLOCK,
                                     .a = a + s,
                                     .a_row = a_row,
                                     .a_step = 1,
                                     .b = b + s * b_step,
                                     .b_panel = b_panel,
                                     .b_step = b_step,
                                     .c = part,
                                     .c_row = whole,
                                     .c_panel = LANES};
        kernels->gemm(&p);
        kernels->add(c, part, (size_t)rows * (size_t)whole);
    }
}

/* Computes dnext, the gradient of the row's `before`, from df in dfeatures, by a convolution with
   reversed filters. If `before` is a sum of weights, it is also a term of all later sums. Their
   gradient is already in dnext, and the result is added to it. */
static void before_gradient(const struct backward_row *l, ptrdiff_t row)
{
    const struct row_head *h = l->r->head;
    if (!h->summed) memset(l->dnext, 0, (size_t)l->r->space.capacity * sizeof(float));
    for (int c = 0; c < h->channels; c++) {
        const struct gemm_block back = {.rows = 1,
                                        .columns = l->r->space.capacity,
                                        .depth = h->filter_width,
                                        .a = h->filters + (ptrdiff_t)(c + 1) * h->filter_width - 1,
                                        .a_step = -1,
                                        .b = l->p->f->mine.dfeatures + c * row,
                                        .b_panel = LANES,
                                        .b_step = 1,
                                        .c = l->dnext,
                                        .c_panel = LANES,
                                        .add = true};
        l->p->f->kernels->gemm(&back);
    }
}

/* Given the gradient of k + L f in dsums, adds to the gradients of filters and feature weights, and
   computes dnext. Each row of df has filter_width / 2 zeros before its keys, and more zeros after
   them. */
static void feature_gradients(const struct backward_row *l)
{
    const struct backward_rows *m = &l->p->f->mine;
    const struct kernels *kernels = l->p->f->kernels;
    const struct row *r = l->r;
    const struct row_head *h = r->head;
    int first = r->first, n = rapt__row_length(r), capacity = r->space.capacity,
        row = capacity + 2 * h->filter_width;
    float *df = m->dfeatures + h->filter_width / 2 + first;
    kernels->pack_columns(r->space.features + first, capacity, h->channels, n, 1, 0,
                          rapt__ceil_div(h->channels, LANES), m->transposed);
    add_product(l, m->dsums + first, capacity, h->width, m->transposed, (ptrdiff_t)n * LANES, LANES,
                h->channels, m->dfeature_weight);
    memset(m->dfeatures, 0, (size_t)h->channels * (size_t)row * sizeof *df);
    const struct gemm_block back = {.rows = h->channels,
                                    .columns = n,
                                    .depth = h->width,
                                    .a = h->feature_weight,
                                    .a_row = 1,
                                    .a_step = h->channels,
                                    .b = m->dsums + first,
                                    .b_panel = LANES,
                                    .b_step = capacity,
                                    .c = df,
                                    .c_row = row,
                                    .c_panel = LANES};
    kernels->gemm(&back);
    add_product(l, df, row, h->channels, r->space.before + first, LANES, 1, h->filter_width,
                m->dfilters);
    before_gradient(l, row);
}

/* ---- the tanh layer, and the whole row ---- */

/* Adds dsums to dkeys, panel by panel. */
static void add_dsums(const struct backward_row *l)
{
    const struct row *r = l->r;
    const struct backward_rows *m = &l->p->f->mine;
    int width = r->head->width;
    for (int s = r->first; s < r->end; s += LANES)
        for (int i = 0; i < width; i++) {
            float *to = m->dkeys + (ptrdiff_t)s * width + (ptrdiff_t)i * LANES;
            const float *from = m->dsums + (ptrdiff_t)i * r->space.capacity + s;
            for (int lane = 0; lane < LANES; lane++) to[lane] += from[lane];
        }
}

static void additive_gradients(const struct backward_row *l)
{
    const struct general_backward *f = l->p->f;
    const struct row *r = l->r;
    const struct row_head *h = r->head;
    const struct backward_rows *m = &f->mine;
    ptrdiff_t from = (ptrdiff_t)r->first * h->width;
    const struct additive a = {.width = h->width,
                               .panels = rapt__row_length(r) / LANES,
                               .vector = h->vector,
                               .hidden = r->space.hidden + from};
    struct additive_gradients d = {.q = query_gradient(l),
                                   .vector = l->sums.vector,
                                   .keys = m->dkeys + from,
                                   .keys_panel = (ptrdiff_t)h->width * LANES,
                                   .keys_step = LANES};
    if (h->channels) {
        d.keys = m->dsums + r->first, d.keys_panel = LANES, d.keys_step = r->space.capacity;
        for (int i = 0; i < h->width; i++)
            memset(d.keys + i * d.keys_step, 0, (size_t)rapt__row_length(r) * sizeof(float));
    }
    f->kernels->additive_row_backward(&a, l->dz + r->first, &d);
    if (!h->channels) return;
    add_dsums(l);
    feature_gradients(l);
}

static struct gain gain_of(const struct projected *c, ptrdiff_t at)
{
    const rapt_reinforce *r = &c->reinforce;
    float reward = r->reward ? r->reward[at] : 0, baseline = r->baseline ? r->baseline[at] : 0;
    return (struct gain){reward - baseline, r->entropy};
}

static ptrdiff_t row_index(const struct backward_row *l)
{
    return (ptrdiff_t)l->head * rapt__query_rows(l->p->f->c->a) + l->p->b.query_first + l->t;
}

void rapt__row_normalizer_backward(const struct backward_row *l)
{
    struct row *r = l->r;
    if (r->center) center_gradient(l);
    rapt__normalize_backward(r, l->dz, gain_of(l->p->f->c, row_index(l)));
    if (l->sums.number) *l->sums.number += r->dnumber;
    bias_gradients(l);
}

void rapt__row_score_backward(const struct backward_row *l)
{
    const struct row *r = l->r;
    for (int s = r->first; s < r->end && r->head->cap != 0; s++)
        if (r->space.x[s] != -INFINITY) l->dz[s] *= r->space.slope[s];
    if (r->head->vector)
        additive_gradients(l);
    else
        dot_gradients(l);
}

void rapt__row_backward(const struct backward_row *l)
{
    const struct projected *c = l->p->f->c;
    struct row *r = l->r;
    ptrdiff_t at = row_index(l);
    r->decided = c->chosen != NULL;
    if (r->decided) r->chosen = c->chosen[at];
    rapt__row_weights(r);
    if (r->fully_masked) {
        bool read = r->head->channels && !r->head->summed;
        if (read) memset(l->dnext, 0, (size_t)r->space.capacity * sizeof(float));
        return;
    }
    weight_gradients(l);
    keep_distance_weights(l);
    value_gradients(l);
    rapt__row_normalizer_backward(l);
    rapt__row_score_backward(l);
}
