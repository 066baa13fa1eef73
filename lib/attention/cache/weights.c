/* weights.c - attention weights of a query against a cache: for a softmax of dot products
   p[s] = exp(scale q.k[s] - lse) in double, from the keys as the cache keeps them; else the row is
   computed once more. */
#include "attention/cache/cache.h"

#include <math.h>

static void add_softmax(const struct projected *p, const struct cache *c,
                        const struct cached_queries *q, int i, int row, int h, float share,
                        float *weights)
{
    const rapt_attention *a = q->spec;
    size_t K = (size_t)c->key_width;
    int sequence = rapt__cached_sequence(q, i), g = h / (a->heads / c->key_heads);
    size_t panel = rapt__cache_panel(c, sequence, g);
    double scale = (double)p->scale, cap = (double)a->cap;
    double lse = (double)q->lse[(ptrdiff_t)h * q->starts[q->count] + row];
    const float *x = q->q + row * q->q_row + (ptrdiff_t)h * c->key_width;
    struct attend_row visible = rapt__cached_visible(c, q, i, row);
    for (int s = visible.low; s < visible.high; s++) {
        const float *k = rapt__cache_keys(c, panel + (size_t)(s / LANES)) + s % LANES;
        double dot = 0;
        for (size_t n = 0; n < K; n++) dot += (double)x[n] * (double)k[n * LANES];
        dot *= scale;
        if (cap > 0) dot = cap * rapt__tanh(dot / cap);
        weights[s] += share * (float)rapt__exp(dot - lse);
    }
}

static void add_row(const struct row *r, float share, float *weights)
{
    for (int s = r->visible.low; !r->fully_masked && s < r->visible.high; s++)
        weights[s] += share * r->space.weights[s];
}

/* A recurrent score: the rows of the last call once more, from the weights before them. */
static void add_recurrent(const struct cached_rows *x, int i, int row, int h, float share,
                          float *weights, float *before)
{
    const struct attention_history *l = x->q->history;
    int keys = x->cache->counts[rapt__cached_sequence(x->q, i)];
    struct row_head head = rapt__cached_head(x, h);
    struct row_keys of = rapt__cached_keys(x, i, h);
    for (int r = x->q->starts[i]; r <= row; r++) {
        struct row one = rapt__cached_row(x, &head, &of, i, h, r);
        bool first = r == x->q->starts[i];
        one.before = first ? rapt__history_at(l, l->old, i, h) : before;
        one.before_keys = first ? l->old_counts[(size_t)i * (size_t)l->heads + (size_t)h] : keys;
        rapt__row_weights(&one);
        rapt__row_copy_weights(&one, keys, before);
        if (r == row) add_row(&one, share, weights);
    }
}

static void add_one(const struct cached_rows *x, int i, int row, int head, float share,
                    float *weights)
{
    struct row_head h = rapt__cached_head(x, head);
    struct row_keys keys = rapt__cached_keys(x, i, head);
    struct row one = rapt__cached_row(x, &h, &keys, i, head, row);
    rapt__row_weights(&one);
    add_row(&one, share, weights);
}

void rapt__cache_weights(const struct cache *cache, const struct cached_queries *queries, int i,
                         int row, int head, float share, float *weights, void *workspace)
{
    const struct projected c = rapt__projected(queries->spec, NULL, NULL);
    struct arena arena = rapt__arena_over(workspace, SIZE_MAX, 0);
    if (rapt__flash_supports(&c)) {
        add_softmax(&c, cache, queries, i, row, head, share, weights);
        return;
    }
    struct cached_rows x = rapt__cached_rows(&c, cache, queries, 1, &arena);
    if (c.recurrent)
        add_recurrent(&x, i, row, head, share, weights, x.space.dropped);
    else
        add_one(&x, i, row, head, share, weights);
    rapt__workspace_end(NULL, &arena);
}
