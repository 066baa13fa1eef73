/* transform.c - turns q and k into the q' and k' of projected.h: the score projects them, a content
   bias is added to queries, and rotary embeddings rotate queries and keys. If nothing changes an
   array, it is used in place. Also computes relative biases, sums of log_forget, terms of distance
   vectors, and centers. Backward turns the gradients of all of these into the gradients of q, k and
   the caller's other arrays. */
#include "attention/score/score.h"

#include <string.h>

static size_t panels_of(const rapt_attention *a, const struct score_side *side)
{
    if (!side->weights) return 0;
    struct projection p = side->weights(a, NULL);
    return rapt__projection_panels(p.in, p.out);
}

static void lay_out_space(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    float **space = to;
    *space = rapt__arena_floats(part, rapt__distance_space(b->a), 1);
}

static void distances_layout(struct arena *arena, const struct bounds *b, struct transformed *t)
{
    const rapt_attention *a = b->a;
    struct distance_fill *f = &t->distances, *d = &t->ddistances;
    size_t H = b->heads, QR = H * b->query_rows;
    size_t panels = rapt__key_panels(b->batch, b->key_rows), panel = H * rapt__distance_panel(a);
    f->packed = rapt__arena_floats(arena, rapt__distance_packed(a), 1);
    if (a->distances.keys) {
        f->by_query = rapt__arena_floats(arena, QR, rapt__distance_row(a));
        d->by_query = rapt__arena_floats(arena, QR, rapt__distance_row(a));
    }
    if (a->distances.queries) {
        rapt__arena_parts(arena, b->team, lay_out_space, b, &f->space, NULL);
        f->by_key = rapt__arena_floats(arena, panels, panel);
        d->by_key = rapt__arena_floats(arena, panels, panel);
    }
    if (a->distances.values) {
        t->value_panels = rapt__arena_floats(arena, rapt__distance_values_packed(a), 1);
        t->by_dout = rapt__arena_floats(arena, QR, rapt__distance_row(a));
        t->distance_weights = rapt__arena_floats(arena, QR, rapt__distance_row(a));
    }
}

void rapt__transform_layout(struct arena *arena, const struct bounds *b, struct transformed *t)
{
    const rapt_attention *a = b->a;
    const struct score *s = rapt__score(a->score);
    size_t H = b->heads, G = b->key_heads, QR = H * b->query_rows, KR = G * b->key_rows;
    size_t relative = b->max_queries + b->max_keys;
    if (rapt__score_changes(a, false)) {
        t->query_panels = rapt__arena_floats(arena, H, panels_of(a, &s->queries));
        t->queries.y = rapt__arena_floats(arena, QR, b->width);
        t->dqueries = rapt__arena_floats(arena, QR, b->width);
    }
    if (rapt__score_changes(a, true)) {
        t->key_panels = rapt__arena_floats(arena, G, panels_of(a, &s->keys));
        t->keys.y = rapt__arena_floats(arena, KR, b->width);
        t->dkeys = rapt__arena_floats(arena, KR, b->width);
    }
    t->frequencies = rapt__arena_take(arena, (size_t)rapt__rotary_pairs(a), sizeof *t->frequencies);
    if (rapt__relative_wanted(a)) {
        t->relative = rapt__arena_floats(arena, H, relative);
        t->drelative = rapt__arena_floats(arena, H, relative);
    }
    if (a->log_forget) {
        t->forget = rapt__arena_floats(
            arena, H, rapt__key_panels(b->batch, b->key_rows) * (size_t)FORGET_PANEL);
        t->forget_rows = rapt__arena_floats(arena, QR, 1);
        t->forget_keys = rapt__arena_floats(arena, H, b->key_rows);
    }
    distances_layout(arena, b, t);
    if (rapt__locality_centered(a)) {
        t->center_panels = rapt__arena_floats(arena, H, panels_of(a, &rapt__center_side));
        t->hidden = rapt__arena_floats(arena, QR, (size_t)a->parameters.center_hidden);
        t->centers = rapt__arena_floats(arena, QR, 1);
        t->dcenters = rapt__arena_floats(arena, QR, 1);
    }
}

static rapt_stride contiguous(ptrdiff_t rows, ptrdiff_t all, ptrdiff_t width)
{
    return (rapt_stride){rows * width, all * width, width};
}

struct projected rapt__projected(const rapt_attention *a, const float *q, const float *k)
{
    const struct score *s = rapt__score(a->score);
    struct projected c = {
        .a = a,
        .q = q,
        .k = k,
        .q_stride = a->q,
        .k_stride = a->k,
        .width = s->width(a),
        .scale = rapt__score_scale(a->score, a->scale, a->key_width),
        .additive = s->additive,
        .recurrent = s->features,
        .vector = s->additive ? a->parameters.array[RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR] : NULL,
        .kind = rapt__normalizer_kind(a->normalizer)};
    if (s->features) c.features = s->features(a, NULL);
    int number = rapt__normalizer_number(a->normalizer);
    if (number >= 0) c.numbers = a->parameters.array[number];
    if (rapt__relative_wanted(a)) {
        bool left = a->mask.causal_alignment == RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
        c.relative_row = a->queries + a->keys;
        c.relative_zero = left ? a->queries : a->keys;
    }
    return c;
}

static void prepare_side(struct team *team, struct transformed *p, const struct score_side *side,
                         struct score_rows *r, float *panels, struct score_choice only)
{
    if (side->weights) {
        struct projection weights = side->weights(p->a, NULL);
        rapt__projection_pack(team, &weights, false, panels);
    }
    rapt__side_forward(team, side, r, panels, NULL, only);
    if (p->frequencies) rapt__rotary_rotate(team, r, p->frequencies, NULL, false, only);
}

static void prepare_sides(struct team *team, struct transformed *p, struct score_choice only)
{
    const rapt_attention *a = p->a;
    struct projected *c = &p->projected;
    struct score_choice keys_only = only;
    if (only.head >= 0) keys_only.head = only.head / (a->heads / rapt__key_heads_of(a));
    if (p->queries.y) {
        p->queries.y_stride = contiguous(a->queries, rapt__query_rows(a), c->width);
        prepare_side(team, p, &p->score->queries, &p->queries, p->query_panels, only);
        c->q = p->queries.y, c->q_stride = p->queries.y_stride;
    }
    if (p->keys.y) {
        p->keys.y_stride = contiguous(a->keys, rapt__key_rows(a), c->width);
        prepare_side(team, p, &p->score->keys, &p->keys, p->key_panels, keys_only);
        c->k = p->keys.y, c->k_stride = p->keys.y_stride;
    }
}

static struct score_rows center_rows(const struct transformed *p)
{
    struct score_rows r = p->queries;
    r.y = p->hidden;
    r.y_stride = contiguous(p->a->queries, rapt__query_rows(p->a), p->a->parameters.center_hidden);
    return r;
}

static void prepare_centers(struct team *team, struct transformed *p, struct score_choice only)
{
    struct score_rows r = center_rows(p);
    struct projection weights = rapt__center_side.weights(p->a, NULL);
    rapt__projection_pack(team, &weights, false, p->center_panels);
    rapt__side_forward(team, &rapt__center_side, &r, p->center_panels, NULL, only);
    rapt__locality_centers(team, p->a, NULL, only, p->hidden, p->centers);
    p->projected.centers = p->centers;
}

void rapt__transform(struct team *team, const rapt_attention *a, const float *q, const float *k,
                     struct score_choice only, struct arena *arena, struct transformed *p)
{
    const struct projected projected = rapt__projected(a, q, k);
    const struct bounds b = rapt__bounds(&projected, team->size);
    *p = (struct transformed){.a = a,
                              .score = rapt__score(a->score),
                              .projected = projected,
                              .queries = {.a = a, .x = q, .x_stride = a->q},
                              .keys = {.a = a, .keys = true, .x = k, .x_stride = a->k}};
    rapt__transform_layout(arena, &b, p);
    rapt__workspace_begin(team);
    if (p->frequencies) {
        if (team->rank == 0) rapt__rotary_frequencies(a, p->frequencies);
        rapt__team_barrier(team);
    }
    prepare_sides(team, p, only);
    if (p->relative) {
        struct projected *c = &p->projected;
        rapt__relative_fill(team, a, c->relative_row, c->relative_zero, p->relative);
        c->relative = p->relative;
    }
    if (p->forget) {
        rapt__forget_fill(team, a, only, p->forget);
        p->projected.forget = p->forget;
    }
    if (rapt__distances_wanted(a)) {
        p->distances.a = a, p->distances.q = q, p->distances.k = k;
        rapt__distances_fill(team, &p->distances, only);
        p->projected.by_query = p->distances.by_query, p->projected.by_key = p->distances.by_key;
    }
    if (p->centers) prepare_centers(team, p, only);
}

static float *zeroed(struct team *team, bool wanted, float *x, size_t rows, size_t width)
{
    size_t begin, end;
    if (!wanted || !x) return NULL;
    rapt__team_share(team, rows * width, LANES, &begin, &end);
    memset(x + begin, 0, (end - begin) * sizeof *x);
    return x;
}

void rapt__transform_begin_outputs(struct team *team, struct transformed *p)
{
    const rapt_attention *a = p->a;
    if (!p->distance_weights) return;
    size_t rows = (size_t)a->heads * (size_t)rapt__query_rows(a);
    zeroed(team, true, p->distance_weights, rows, rapt__distance_row(a));
    p->projected.distance_weights = p->distance_weights;
    rapt__team_barrier(team);
}

void rapt__transform_add_outputs(struct team *team, const struct transformed *p, float *out)
{
    if (p->distance_weights) rapt__distance_outputs(team, p->a, p->distance_weights, out);
}

struct projected_gradients rapt__transform_backward(struct team *team, struct transformed *p,
                                                    const float *dout, const rapt_gradients *d)
{
    const rapt_attention *a = p->a;
    size_t H = (size_t)a->heads, T = (size_t)rapt__query_rows(a), W = (size_t)p->projected.width;
    size_t G = (size_t)rapt__key_heads_of(a), S = (size_t)rapt__key_rows(a);
    size_t panels = rapt__key_panels((size_t)a->batch, S);
    const rapt_distance_gradients *x = &d->distances;
    struct distance_fill *y = &p->ddistances;
    bool queries = d->q || x->content_bias || rapt__learned_wanted(d, LEARNED_FROM_QUERIES);
    bool keys = (d->k && !p->score->keyless) || rapt__learned_wanted(d, LEARNED_FROM_KEYS);
    bool centers = d->q || rapt__learned_wanted(d, LEARNED_FROM_CENTERS);
    p->d = d;
    p->dqueries = zeroed(team, queries, p->dqueries, H * T, W);
    p->dkeys = zeroed(team, keys, p->dkeys, G * S, W);
    p->drelative =
        zeroed(team, d->slopes || d->table, p->drelative, H, (size_t)p->projected.relative_row);
    p->dcenters = zeroed(team, centers, p->dcenters, H, T);
    p->forget_rows = zeroed(team, d->log_forget, p->forget_rows, H, T);
    p->forget_keys = zeroed(team, d->log_forget, p->forget_keys, H, S);
    const struct features features =
        p->score->features ? p->score->features(a, d) : (struct features){0};
    *y = (struct distance_fill){
        a,           p->distances.q, p->distances.k,     p->distances.packed, p->distances.space,
        y->by_query, y->by_key,      p->distance_weights};
    y->by_query = zeroed(team, d->q || x->keys || x->position_bias, y->by_query, H * T,
                         rapt__distance_row(a));
    y->by_key = zeroed(team, d->k || x->queries, y->by_key, H * panels, rapt__distance_panel(a));
    y->weights = zeroed(team, x->values, y->weights, H * T, rapt__distance_row(a));
    p->projected.distance_weights = y->weights;
    int number = rapt__normalizer_number(a->normalizer);
    bool any = p->dqueries || p->dkeys || p->drelative || p->dcenters || p->forget_rows ||
               y->by_query || y->by_key || y->weights;
    if (any) rapt__team_barrier(team);
    if (p->by_dout) rapt__distance_dout(team, a, p->value_panels, dout, p->by_dout);
    p->projected.by_dout = p->by_dout;
    return (struct projected_gradients){
        .q = p->queries.y ? p->dqueries : d->q,
        .k = p->keys.y ? p->dkeys : d->k,
        .v = d->v,
        .bias = d->bias,
        .vector = p->score->additive ? d->parameters[RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR] : NULL,
        .relative = p->drelative,
        .centers = p->dcenters,
        .filters = features.dfilters,
        .feature_weight = features.dweight,
        .numbers = number >= 0 ? d->parameters[number] : NULL,
        .forget_rows = p->forget_rows,
        .forget_keys = p->forget_keys,
        .by_query = y->by_query,
        .by_key = y->by_key,
        .talking_scores = d->talking_scores,
        .talking_weights = d->talking_weights};
}

/* Adds to the gradients of the learned arrays and to the caller's dx, which may be NULL. r.y is the
   gradient of the projected rows. */
static void finish_side(struct team *team, const struct transformed *p,
                        const struct score_side *side, struct score_rows r, float *panels,
                        float *dx)
{
    if (side->weights) {
        struct projection weights = side->weights(p->a, p->d);
        rapt__projection_gradient(team, &weights, &r);
        if (dx) rapt__projection_pack(team, &weights, true, panels);
    }
    if (side->learned) side->learned(team, &r, p->d);
    if (dx) rapt__side_backward(team, side, &r, panels, dx);
}

static struct score_rows rotated_back(struct team *team, const struct transformed *p,
                                      const struct score_rows *given, float *dy)
{
    struct score_rows r = *given;
    r.y = dy;
    if (p->frequencies) rapt__rotary_rotate(team, &r, p->frequencies, NULL, true, rapt__all_rows);
    return r;
}

/* Adds the gradient of distances.content_bias. dqueries may be NULL if there are no query rows. */
static void finish_content_bias(struct team *team, const struct transformed *p)
{
    const rapt_attention *a = p->a;
    const int K = a->key_width, rows = rapt__query_rows(a);
    float *to = p->d->distances.content_bias;
    if (!to || rows == 0) return;
    for (int h; (h = rapt__team_take(team)) < a->heads;)
        rapt__kernels()->column_sum(to + (ptrdiff_t)h * K,
                                    p->dqueries + (size_t)h * (size_t)rows * (size_t)K, K, rows, K);
    rapt__team_barrier(team);
}

void rapt__transform_finish(struct team *team, struct transformed *p, const float *dout)
{
    const rapt_attention *a = p->a;
    const struct projected *c = &p->projected;
    const struct distance_fill *distances = &p->ddistances;
    if (distances->by_query || distances->by_key || distances->weights)
        rapt__distances_backward(team, distances, dout, p->d);
    if (a->distances.content_bias) finish_content_bias(team, p);
    if (p->dqueries)
        finish_side(team, p, &p->score->queries, rotated_back(team, p, &p->queries, p->dqueries),
                    p->query_panels, p->d->q);
    if (p->dkeys)
        finish_side(team, p, &p->score->keys, rotated_back(team, p, &p->keys, p->dkeys),
                    p->key_panels, p->score->keyless ? NULL : p->d->k);
    if (p->drelative)
        rapt__relative_backward(team, a, c->relative_row, c->relative_zero, p->drelative, p->d);
    if (p->forget_rows)
        rapt__forget_backward(team, a, p->forget_rows, p->forget_keys, p->d->log_forget);
    if (p->dcenters) {
        struct score_rows r = center_rows(p);
        rapt__locality_backward(team, a, p->hidden, p->dcenters, p->d);
        finish_side(team, p, &rapt__center_side, r, p->center_panels, p->d->q);
    }
}
