/* cached.c - attention in use: the decoder's keys and values are in caches, prepared by the score;
   new ones are appended, queries look back. */
#include "model/sublayer.h"

static float *packed_of(const struct kept *kept, int layer)
{
    return kept->packed ? kept->packed + (size_t)layer * kept->packed_size : NULL;
}

void rapt__scores_pack(struct team *team, const struct stack *s, const struct kept *kept,
                       bool cross)
{
    for (int l = 0; kept->packed && l < s->model->layout.decoder.count; l++) {
        const rapt_attention like = rapt__attention_like(s, l, cross, false);
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
    const rapt_attention like = rapt__attention_like(s, layer, true, false);
    struct linear project = rapt__linear_at(&rapt__place_of(s, layer, true)->kv, s->block);
    struct heads h = rapt__heads_at(&s->model->config, true, NULL, u->kv);
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
    struct heads h = rapt__heads_at(c, cross, u->q, NULL);
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
    return rapt__attention_like(s, layer, cross, false);
}

void rapt__attend_cached(const struct crew *c, const struct step *s, bool cross)
{
    const struct stack_caches *caches = s->pass->caches;
    const struct rows *rows = &s->pass->rows;
    const struct kept *kept = cross ? &caches->cross : &caches->self;
    const rapt_attention like = rapt__attention_like(s->stack, s->layer, cross, false);
    struct heads h = rapt__heads_at(&s->stack->model->config, cross, s->u->q, NULL);
    if (!cross)
        append(c->team, &like, kept, s->layer, caches->past, rows->starts, &h, s->u->prepared_keys);
    prepare_queries(c->team, s, &like, kept, &h);
    struct cached_queries q = rapt__queries_of(s->stack, rows, caches, s->u, s->layer, cross);
    q.like = &like;
    rapt__cache_attend(c->team, &kept->caches[s->layer], &q, s->stack->attention_scratch);
}
