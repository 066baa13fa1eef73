/* query.c - computes the scores, weights and output of one query. The equations are in general.h.
   Local-p: Luong, Pham and Manning 2015, section 3.2. Location-aware scores: Chorowski et al. 2015,
   section 2.2. Coverage: See, Liu and Manning 2017, section 2.3. The scores of masked keys are set
   to -infinity before anything is summed over keys. */
#include "attention/general/general.h"
#include "op/op.h"

#include <math.h>
#include <string.h>

/* Mixed into the random key of the noise, so that it differs from dropout's key. */
enum { NOISE = 0x67756d };

struct row_head rapt__row_head(const struct projected *c, const struct sequence *b, int h)
{
    static const float copy[1] = {1};
    const rapt_attention *a = c->a;
    const struct features *f = &c->features;
    uint64_t key = rapt__attention_drop_key(a, b, h);
    struct row_head head = {.kernels = rapt__kernels(),
                            .width = c->width,
                            .scale = c->scale,
                            .cap = a->cap,
                            .radius = a->radius,
                            .normalizer = a->normalizer,
                            .temperature = a->temperature != 0 ? a->temperature : 1,
                            .noiseless = a->noiseless != 0,
                            .number = rapt__number_of(c, h),
                            .drop = rapt__dropout(a->dropout, key),
                            .noise = rapt__mix(key, NOISE)};
    if (rapt__normalizer_is_hard(a->normalizer)) head.drop.below = 0;
    if (a->normalizer == RAPT_NORMALIZER_SAMPLE && a->expected && a->expected[b->index])
        head.normalizer = RAPT_NORMALIZER_SOFTMAX;
    head.distance_values = rapt__distance_values(a, h, &head.distance_row);
    head.distance_vectors = rapt__distance_vectors(a), head.distance_buckets = a->distances.buckets;
    if (c->vector) head.vector = c->vector + (ptrdiff_t)h * c->width;
    if (c->recurrent) {
        head.channels = f->channels, head.filter_width = f->filter_width, head.summed = f->summed;
        head.filters =
            f->filters ? f->filters + (ptrdiff_t)h * f->channels * f->filter_width : copy;
        head.feature_weight = f->weight + (ptrdiff_t)h * c->width * f->channels;
    }
    return head;
}

void rapt__row_layout(struct arena *arena, const struct bounds *b, bool backward,
                      struct row_space *s)
{
    size_t keys = rapt__row_capacity(b), channels = b->channels;
    *s = (struct row_space){.capacity = (int)keys};
    s->x = rapt__arena_floats(arena, keys, 1);
    s->p = rapt__arena_floats(arena, keys, 1);
    s->weights = rapt__arena_floats(arena, keys, 1);
    s->dropped = rapt__arena_floats(arena, keys, 1);
    s->gauss = rapt__arena_floats(arena, keys, 1);
    s->more = rapt__arena_floats(arena, keys, 1);
    if (b->a->distances.values && !backward)
        s->sums_by_distance = rapt__arena_floats(arena, (size_t)rapt__distance_vectors(b->a), 1);
    if (backward) s->slope = rapt__arena_floats(arena, keys, 1);
    if (backward && b->additive) s->hidden = rapt__arena_floats(arena, keys, b->width);
    if (channels == 0) return;
    s->before = rapt__arena_floats(arena, keys + 2 * b->filter_width + LANES, 1);
    s->features = rapt__arena_floats(arena, keys, channels);
    s->sums = rapt__arena_floats(arena, keys, b->width);
}

struct row rapt__row(const struct projected *c, const struct sequence *b,
                     const struct row_head *head, const struct row_keys *keys, int h, int t)
{
    struct row r = {.head = head,
                    .keys = keys,
                    .q = c->q + rapt__query_at(&c->q_stride, b, h, t),
                    .number = (uint64_t)t,
                    .chosen = -1};
    ptrdiff_t at = (ptrdiff_t)h * rapt__query_rows(c->a) + b->query_first + t;
    rapt__mask_row(c->a, b, h, t, &r.visible);
    rapt__bias_row(c, b, h, t, &r.visible);
    if (c->centers) r.center = c->centers + at;
    return r;
}

void rapt__row_span(struct row *r)
{
    struct attend_row *visible = &r->visible;
    if (r->center)
        rapt__narrow(&visible->low, &visible->high, (double)*r->center, (double)r->head->radius);
    r->first = visible->low / LANES * LANES;
    r->end = rapt__round_up(visible->high, LANES);
    r->fully_masked = visible->low >= visible->high;
}

/* Sets features = filters * before, and sums = k + L features. */
static void add_features(struct row *r)
{
    const struct row_head *h = r->head;
    struct row_space *m = &r->space;
    int n = r->end - r->first, half = h->filter_width / 2;
    ptrdiff_t panel = (ptrdiff_t)h->width * LANES, from = (ptrdiff_t)r->first * h->width;
    size_t keys = (size_t)(r->before ? r->before_keys : 0);
    memset(m->before, 0, (size_t)(m->capacity + 2 * h->filter_width + LANES) * sizeof(float));
    if (keys) memcpy(m->before + half, r->before, keys * sizeof(float));
    const struct gemm_block filter = {.rows = h->channels,
                                      .columns = n,
                                      .depth = h->filter_width,
                                      .a = h->filters,
                                      .a_row = h->filter_width,
                                      .a_step = 1,
                                      .b = m->before + r->first,
                                      .b_panel = LANES,
                                      .b_step = 1,
                                      .c = m->features + r->first,
                                      .c_row = m->capacity,
                                      .c_panel = LANES};
    h->kernels->gemm(&filter);
    memcpy(m->sums + from, r->keys->panels + from, (size_t)n * (size_t)h->width * sizeof(float));
    const struct gemm_block add = {.rows = h->width,
                                   .columns = n,
                                   .depth = h->channels,
                                   .a = h->feature_weight,
                                   .a_row = h->channels,
                                   .a_step = 1,
                                   .b = m->features + r->first,
                                   .b_panel = LANES,
                                   .b_step = m->capacity,
                                   .c = m->sums + from,
                                   .c_row = LANES,
                                   .c_panel = panel,
                                   .add = true};
    h->kernels->gemm(&add);
}

/* Computes x before cap, biases and masks. */
static void raw_scores(struct row *r)
{
    const struct row_head *h = r->head;
    struct row_space *m = &r->space;
    ptrdiff_t from = (ptrdiff_t)r->first * h->width;
    if (!h->vector) {
        float factor = rapt__query_factor(h->scale), rest = rapt__score_factor(h->scale);
        const float *dots =
            rapt__row_dots(r, r->dots, r->q, factor, r->keys->panels, h->width, m->x);
        for (int s = r->first; s < r->end; s++) m->x[s] = dots[s] * rest;
        return;
    }
    if (h->channels) add_features(r);
    const struct additive a = {.width = h->width,
                               .panels = (r->end - r->first) / LANES,
                               .q = r->q,
                               .vector = h->vector,
                               .keys = (h->channels ? m->sums : r->keys->panels) + from,
                               .hidden = m->hidden ? m->hidden + from : NULL};
    h->kernels->additive_row(&a, m->x + r->first);
}

static void cap_scores(struct row *r)
{
    float cap = r->head->cap, *x = r->space.x, *slope = r->space.slope;
    for (int s = r->first; s < r->end; s++) x[s] /= cap;
    r->head->kernels->tanh_row(x + r->first, (size_t)(r->end - r->first));
    for (int s = r->first; s < r->end && slope; s++) slope[s] = 1 - x[s] * x[s];
    for (int s = r->first; s < r->end; s++) x[s] *= cap;
}

/* Returns the sum of log_forget between key s and the query, computed as in the kernels. */
static float forgotten(const struct attend_row *row, int s)
{
    const float *key = rapt__forget_at(row->forget, s);
    return (row->forget_high - key[0]) + (row->forget_low - key[LANES]);
}

/* Sets x to -infinity for keys that sparse attention masks. */
static void hide_sparse(const struct row *r)
{
    const struct sparse_keys *k = &r->visible.sparse;
    float *x = r->space.x;
    for (int key = r->first; key < r->end && k->given; key += SPARSE_KEYS) {
        int end = rapt__min(key + SPARSE_KEYS, r->visible.high);
        struct sparse_bits bits = rapt__far_bits(k, key, end);
        rapt__add_near(k, key, &bits);
        for (int s = key; s < end; s++)
            if (!(bits.words[(s - key) / 64] >> (s - key) % 64 & 1)) x[s] = -INFINITY;
    }
}

/* Adds biases to x, and sets x to -infinity at keys that are not visible. */
static void apply_mask(struct row *r)
{
    const struct attend_row *visible = &r->visible;
    float *x = r->space.x;
    for (int s = r->first; s < visible->low; s++) x[s] = -INFINITY;
    for (int s = visible->high; s < r->end; s++) x[s] = -INFINITY;
    for (int s = visible->low; s < visible->high && visible->bias; s++)
        x[s] = visible->bias[s] == -INFINITY ? -INFINITY : x[s] + visible->bias[s];
    for (int s = visible->low; s < visible->high && visible->relative; s++)
        x[s] = x[s] == -INFINITY ? x[s] : x[s] + visible->relative[s];
    for (int s = visible->low; s < visible->high && visible->forget; s++)
        x[s] = x[s] == -INFINITY ? x[s] : x[s] + forgotten(visible, s);
    bool distances = visible->distances.by_query || visible->distances.by_key;
    for (int s = visible->low; s < visible->high && distances; s++)
        x[s] = x[s] == -INFINITY ? x[s] : x[s] + rapt__distance_score(&visible->distances, s);
    for (int s = visible->low; s < visible->high && visible->allowed; s++)
        if (!visible->allowed[s]) x[s] = -INFINITY;
    hide_sparse(r);
}

/* Sets w = z gauss, with gauss[s] = exp(-(s - center)^2 / (2 (radius / 2)^2)). */
static void apply_gauss(struct row *r)
{
    float *gauss = r->space.gauss, *w = r->space.weights;
    double c = (double)*r->center, radius = (double)r->head->radius;
    for (int s = r->first; s < r->end; s++)
        gauss[s] = (float)(-2 * (s - c) * (s - c) / (radius * radius));
    r->head->kernels->exp_row(gauss + r->first, (size_t)(r->end - r->first));
    for (int s = r->first; s < r->end; s++) w[s] = r->space.x[s] == -INFINITY ? 0 : w[s] * gauss[s];
}

void rapt__row_scores(struct row *r)
{
    raw_scores(r);
    if (r->head->cap != 0) cap_scores(r);
}

void rapt__row_hidden(const struct row *r)
{
    struct row again = *r;
    again.space.x = r->space.more;
    raw_scores(&again);
}

void rapt__row_normalize(struct row *r)
{
    apply_mask(r);
    rapt__normalize(r);
    if (r->center && !r->fully_masked) apply_gauss(r);
}

void rapt__row_weights(struct row *r)
{
    rapt__row_span(r);
    r->lse = -INFINITY;
    if (r->fully_masked) {
        r->chosen = -1;
        return;
    }
    rapt__row_scores(r);
    rapt__row_normalize(r);
}

const float *rapt__drop_weights(const struct row_head *h, uint64_t number, int first, int end,
                                float *w, float *to)
{
    if (!h->drop.below) return w;
    memset(w, 0, (size_t)first * sizeof *w);
    h->kernels->dropout_row(&h->drop, number, w, NULL, to, end);
    return to;
}

void rapt__row_drop(struct row *r)
{
    struct row_space *s = &r->space;
    r->dropped = rapt__drop_weights(r->head, r->number, r->first, r->end, s->weights, s->dropped);
}

static int vector_of(const struct row *r, int s)
{
    int d = rapt__distance_of(&r->visible.distances, s);
    return r->head->distance_buckets ? r->head->distance_buckets[d] : d;
}

void rapt__row_by_distance(const struct row *r, float *to)
{
    memset(to, 0, (size_t)r->head->distance_vectors * sizeof *to);
    for (int s = r->visible.low; s < r->visible.high; s++) to[vector_of(r, s)] += r->dropped[s];
}

/* Adds the distance vectors, multiplied by the sums of weights, to out. */
static void add_distance_values(const struct row *r, float *out)
{
    float *sums = r->space.sums_by_distance;
    rapt__row_by_distance(r, sums);
    r->head->kernels->gemv(sums, r->head->distance_vectors, r->head->distance_values,
                           r->head->distance_row, r->keys->value_width, out);
}

void rapt__row_settle(float *out, int width)
{
    for (int j = 0; j < width; j++) out[j] += 0.0f;
}

void rapt__row_attend(struct row *r, float *out)
{
    const struct row_keys *k = r->keys;
    int low, width = k->value_width;
    rapt__row_weights(r);
    memset(out, 0, (size_t)width * sizeof *out);
    if (r->fully_masked) return;
    rapt__row_drop(r);
    low = r->visible.low;
    r->head->kernels->gemv(r->dropped + low, r->visible.high - low, k->values + low * k->value_row,
                           k->value_row, width, out);
    if (r->head->distance_values) add_distance_values(r, out);
    rapt__row_settle(out, width);
}

void rapt__row_copy_weights(const struct row *r, int keys, float *weights)
{
    int low = r->visible.low, n = r->visible.high - low;
    memset(weights, 0, (size_t)keys * sizeof *weights);
    if (!r->fully_masked)
        memcpy(weights + low, r->space.weights + low, (size_t)n * sizeof *weights);
}

void rapt__row_remember(const struct row *r, int keys, float *to)
{
    int known = r->before ? rapt__min(r->before_keys, keys) : 0;
    if (!r->head->summed) {
        rapt__row_copy_weights(r, keys, to);
        return;
    }
    if (known && to != r->before) memcpy(to, r->before, (size_t)known * sizeof *to);
    memset(to + known, 0, (size_t)(keys - known) * sizeof *to);
    for (int s = r->visible.low; s < r->visible.high && !r->fully_masked; s++)
        to[s] += r->space.weights[s];
}
