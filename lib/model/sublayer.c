/* sublayer.c - the three functions a layer is made of: self-attention, cross-attention and the
   position-wise feed-forward network (Vaswani et al. 2017, sections 3.2 and 3.3).

       self(x)        = heads(x Wq', x Wk', x Wv') Wo'      Wq, Wk, Wv packed in one matrix
       cross(x)       = heads(x Wq', z Wk', z Wv') Wo'      z: the encoder's output
       feedforward(x) = activation(x W1' + b1) W2' + b2 */
#include "model/model.h"

enum { SITE_ATTENTION = 1, SITE_HIDDEN = 2 };

struct linear rapt__linear_at(const struct linear_place *place, const float *block)
{
    return (struct linear){block + place->weight, place->bias ? block + place->bias : NULL,
                           place->in, place->out};
}

static const struct layer_place *layer_of(const struct step *s)
{
    const struct layout *l = &s->stack->model->layout;
    return s->stack->decoder ? &l->decoder.layers[s->layer] : &l->encoder.layers[s->layer];
}

/* y = x W' + b for all rows. */
static void project(const struct crew *c, const struct step *s, const struct linear_place *place,
                    const float *x, int rows, float *y)
{
    struct linear l = rapt__linear_at(place, s->stack->block);
    rapt__linear_forward(c, &l, x, l.in, rows, y, l.out, -1, NULL);
}

/* Gradients of project: of its parameters, and dx = or += if dx is not NULL. */
static void project_backward(const struct crew *c, const struct step *s,
                             const struct linear_place *place, const float *x, const float *dy,
                             int rows, float *dx, bool add, float *gradients)
{
    struct linear l = rapt__linear_at(place, s->stack->block);
    rapt__linear_backward_weight(c, &l, x, l.in, dy, l.out, rows, gradients + place->weight,
                                 gradients + place->bias);
    if (dx) rapt__linear_backward_input(c, &l, dy, l.out, rows, dx, l.in, add);
}

/* ---- attention ---- */

/* Where queries, keys and values of a sublayer lie. */
struct heads {
    float *q, *k, *v; /* values or gradients */
    ptrdiff_t q_row, k_row;
};

static struct heads heads_at(const rapt_config *c, bool cross, float *q, float *kv)
{
    ptrdiff_t D = c->width, G = rapt__key_heads(c) * (D / c->heads);
    if (cross) return (struct heads){q, kv, kv ? kv + G : NULL, D, 2 * G};
    return (struct heads){q, q + D, q + D + G, D + 2 * G, D + 2 * G};
}

static const struct attention_place *place_of(const struct stack *s, int layer, bool cross)
{
    const struct layout *l = &s->model->layout;
    const struct layer_place *at =
        s->decoder ? &l->decoder.layers[layer] : &l->encoder.layers[layer];
    return cross ? &at->cross : &at->self;
}

/* The problem of a layer, all but the rows. */
static rapt_attention like_of(const struct stack *s, int layer, bool cross, bool learning)
{
    const struct attending which = {.decoder = s->decoder,
                                    .cross = cross,
                                    .learning = learning,
                                    .place = &place_of(s, layer, cross)->score,
                                    .block = s->block};
    rapt_attention a = rapt__attention_of(&s->model->config, &which);
    a.threads = s->threads;
    return a;
}

static rapt_attention problem_of(const struct step *s, bool cross)
{
    const rapt_config *c = &s->stack->model->config;
    const struct pass *p = s->pass;
    const struct rows *rows = &p->rows, *keys = cross ? &p->source : rows;
    struct heads h = heads_at(c, cross, s->u->q, s->u->kv);
    rapt_attention a = like_of(s->stack, s->layer, cross, p->learning);
    a.batch = rows->batch, a.queries = rows->longest, a.keys = keys->longest;
    a.q = (rapt_stride){0, a.key_width, h.q_row};
    a.k = a.v = (rapt_stride){0, a.key_width, h.k_row};
    a.query_starts = rows->starts, a.key_starts = keys->starts;
    a.chosen = s->u->chosen, a.reward = p->reward, a.baseline = p->baseline;
    struct dropout d =
        rapt__site(&p->drop, p->drop.attention, s->stack->decoder, s->index, SITE_ATTENTION);
    a.dropout = p->drop.attention;
    a.seed = d.key;
    return a;
}

/* ---- attention in use: the decoder's keys and values are in caches, prepared by the score; new
   ones are appended, queries look back ---- */

static float *packed_of(const struct kept *kept, int layer)
{
    return kept->packed ? kept->packed + (size_t)layer * kept->packed_size : NULL;
}

void rapt__scores_pack(struct team *team, const struct stack *s, const struct kept *kept,
                       bool cross)
{
    for (int l = 0; kept->packed && l < s->model->layout.decoder.count; l++) {
        const rapt_attention like = like_of(s, l, cross, false);
        rapt__score_pack(team, &like, packed_of(kept, l));
    }
}

/* Keys and values at k and v, both in rows of k_row floats, go into the cache of a layer. places:
   where the first of each sequence stands; NULL: 0. */
static void append(struct team *team, const rapt_attention *like, const struct kept *kept,
                   int layer, const int *places, const int *starts, const struct heads *h,
                   float *prepared)
{
    struct cache *cache = &kept->caches[layer];
    ptrdiff_t K = like->key_width, W = cache->key_width;
    const float *k = h->k;
    ptrdiff_t k_row = h->k_row;
    if (prepared) {
        const struct rows_given rows = {
            cache->sequences, starts, places, h->k, K, h->k_row, prepared, W, W * cache->key_heads};
        rapt__score_keys(team, like, packed_of(kept, layer), &rows);
        k = prepared, k_row = rows.y_row;
    }
    rapt__cache_append(team, cache, starts, k, k_row, h->v, h->k_row);
}

void rapt__cross_append(const struct crew *c, const struct stack *s, int layer,
                        const struct kept *kept, const float *states, int rows, const int *starts)
{
    const struct sublayer *u = &s->memory->sublayers[PART_CROSS];
    const rapt_attention like = like_of(s, layer, true, false);
    struct linear project = rapt__linear_at(&place_of(s, layer, true)->kv, s->block);
    struct heads h = heads_at(&s->model->config, true, NULL, u->kv);
    rapt__linear_forward(c, &project, states, project.in, rows, u->kv, project.out, -1, NULL);
    append(c->team, &like, kept, layer, NULL, starts, &h, u->prepared_keys);
}

/* q becomes what the score makes of it, and centres are found. */
static void prepare_queries(struct team *team, const struct step *s, const rapt_attention *like,
                            const struct kept *kept, const struct heads *h)
{
    const struct pass *p = s->pass;
    ptrdiff_t K = like->key_width, W = kept->caches[s->layer].key_width, H = like->heads;
    const float *packed = packed_of(kept, s->layer);
    struct rows_given rows = {
        p->rows.batch, p->rows.starts, p->caches->past, h->q, K, h->q_row, s->u->prepared, W,
        H * W};
    if (s->u->prepared) rapt__score_queries(team, like, packed, &rows);
    rows.y = s->u->centre_hidden;
    if (s->u->centres) rapt__score_centres(team, like, packed, &rows, kept->counts, s->u->centres);
}

struct cached_queries rapt__queries_of(const struct stack *s, const struct rows *rows,
                                       const struct stack_caches *caches, const struct sublayer *u,
                                       int layer, bool cross)
{
    const rapt_config *c = &s->model->config;
    const struct kept *kept = cross ? &caches->cross : &caches->self;
    struct heads h = heads_at(c, cross, u->q, NULL);
    struct cached_queries q = {.count = rows->batch,
                               .starts = rows->starts,
                               .sequence = cross ? caches->source_of : NULL,
                               .places = caches->past,
                               .q = h.q,
                               .q_row = h.q_row,
                               .centres = u->centres,
                               .out = u->mixed,
                               .out_row = c->width,
                               .lse = u->lse};
    if (kept->looks) q.looks = &kept->looks[layer];
    if (u->prepared) q.q = u->prepared, q.q_row = (ptrdiff_t)c->heads * kept->caches[0].key_width;
    return q;
}

rapt_attention rapt__cached_like(const struct stack *s, int layer, bool cross)
{
    return like_of(s, layer, cross, false);
}

static void attend_cached(const struct crew *c, const struct step *s, bool cross)
{
    const struct stack_caches *caches = s->pass->caches;
    const struct rows *rows = &s->pass->rows;
    const struct kept *kept = cross ? &caches->cross : &caches->self;
    const rapt_attention like = like_of(s->stack, s->layer, cross, false);
    struct heads h = heads_at(&s->stack->model->config, cross, s->u->q, NULL);
    if (!cross)
        append(c->team, &like, kept, s->layer, caches->past, rows->starts, &h, s->u->prepared_keys);
    prepare_queries(c->team, s, &like, kept, &h);
    struct cached_queries q = rapt__queries_of(s->stack, rows, caches, s->u, s->layer, cross);
    q.like = &like;
    rapt__cache_attend(c->team, &kept->caches[s->layer], &q, s->stack->attention_scratch);
}

static void attention_forward(const struct crew *c, const struct step *s, bool cross)
{
    const struct attention_place *place = place_of(s->stack, s->layer, cross);
    const struct pass *p = s->pass;
    project(c, s, cross ? &place->q : &place->qkv, s->in, p->rows.count, s->u->q);
    if (p->caches) {
        attend_cached(c, s, cross);
    } else {
        if (cross) project(c, s, &place->kv, p->states, p->source.count, s->u->kv);
        struct heads h = heads_at(&s->stack->model->config, cross, s->u->q, s->u->kv);
        rapt_attention a = problem_of(s, cross);
        rapt__attention_forward(c->team, &a, h.q, h.k, h.v, s->u->mixed, s->u->lse,
                                s->stack->attention_scratch);
    }
    project(c, s, &place->out, s->u->mixed, p->rows.count, s->u->y);
}

static void attention_backward(const struct crew *c, const struct step *s, bool cross,
                               const float *dy, float *din, bool add, float *dstates,
                               float *gradients)
{
    const struct attention_place *place = place_of(s->stack, s->layer, cross);
    struct stack_memory *m = s->stack->memory;
    int rows = s->pass->rows.count, sources = s->pass->source.count;
    const rapt_config *config = &s->stack->model->config;
    struct heads h = heads_at(config, cross, s->u->q, s->u->kv);
    struct heads d = heads_at(config, cross, m->dq, m->dkv);
    project_backward(c, s, &place->out, s->u->mixed, dy, rows, m->dmixed, false, gradients);
    rapt__fill(c, m->dq, (size_t)rows * (size_t)d.q_row, 0);
    if (cross) rapt__fill(c, m->dkv, (size_t)sources * (size_t)d.k_row, 0);
    rapt_attention a = problem_of(s, cross);
    rapt_gradients to = rapt__gradients_of(&place->score, gradients);
    to.q = d.q, to.k = d.k, to.v = d.v;
    rapt__attention_backward(c->team, &a, h.q, h.k, h.v, s->u->mixed, s->u->lse, m->dmixed, &to,
                             s->stack->attention_scratch);
    if (cross)
        project_backward(c, s, &place->kv, s->pass->states, m->dkv, sources, dstates, true,
                         gradients);
    project_backward(c, s, cross ? &place->q : &place->qkv, s->in, m->dq, rows, din, add,
                     gradients);
}

/* ---- feed-forward ---- */

static struct dropout hidden_site(const struct step *s)
{
    return rapt__site(&s->pass->drop, s->pass->drop.hidden, s->stack->decoder, s->index,
                      SITE_HIDDEN);
}

static void feedforward_forward(const struct crew *c, const struct step *s)
{
    const struct feedforward_place *place = &layer_of(s)->feedforward;
    const rapt_config *config = &s->stack->model->config;
    int rows = s->pass->rows.count, F = config->hidden;
    struct linear in = rapt__linear_at(&place->in, s->stack->block);
    rapt__linear_forward(c, &in, s->in, in.in, rows, s->u->hidden, F, (int)config->activation,
                         s->u->active);
    struct dropout d = hidden_site(s);
    if (d.below) rapt__dropout_rows(c, &d, s->u->active, rows, F, s->u->active);
    project(c, s, &place->out, s->u->active, rows, s->u->y);
}

static void feedforward_backward(const struct crew *c, const struct step *s, const float *dy,
                                 float *din, bool add, float *gradients)
{
    const struct feedforward_place *place = &layer_of(s)->feedforward;
    const rapt_config *config = &s->stack->model->config;
    float *dhidden = s->stack->memory->dhidden;
    int rows = s->pass->rows.count, F = config->hidden;
    project_backward(c, s, &place->out, s->u->active, dy, rows, dhidden, false, gradients);
    struct dropout d = hidden_site(s);
    if (d.below) rapt__dropout_rows(c, &d, dhidden, rows, F, dhidden);
    rapt__activate_backward(c, (int)config->activation, s->u->hidden, dhidden, dhidden,
                            (size_t)rows * (size_t)F);
    project_backward(c, s, &place->in, s->in, dhidden, rows, din, add, gradients);
}

void rapt__sublayer_forward(const struct crew *c, const struct step *s, enum part part)
{
    if (part == PART_FEEDFORWARD)
        feedforward_forward(c, s);
    else
        attention_forward(c, s, part == PART_CROSS);
}

void rapt__sublayer_backward(const struct crew *c, const struct step *s, enum part part,
                             const float *dy, float *din, bool add, float *dstates,
                             float *gradients)
{
    if (part == PART_FEEDFORWARD)
        feedforward_backward(c, s, dy, din, add, gradients);
    else
        attention_backward(c, s, part == PART_CROSS, dy, din, add, dstates, gradients);
}
