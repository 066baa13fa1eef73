/* weights.c - the attention weights of a query to a cache. On the flash path they are computed from
   the query's statistics and the cached keys, as in flash/forward.c. On the general path the row is
   recomputed. */
#include "attention/cache/cache.h"

struct weights_space {
    float *q_rows, *q_slots, *weights;
    float *panels; /* a packed block of keys of a joint cache, else NULL */
};

static void lay_out_softmax(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    struct weights_space *m = to;
    m->q_rows = rapt__arena_floats(part, rapt__round_up_size(b->width, LANES), 1);
    m->q_slots = rapt__arena_floats(part, ATTEND_SLOTS, b->width);
    m->weights = rapt__arena_floats(part, ATTEND_BLOCK, 1);
    m->panels = b->joint ? rapt__arena_floats(part, ATTEND_BLOCK, b->width) : NULL;
}

void rapt__cached_weights_layout(struct arena *part, const struct bounds *b)
{
    struct weights_space mine;
    rapt__arena_parts(part, b->team, lay_out_softmax, b, &mine, NULL);
}

static void add_softmax(const struct projected *p, const struct cache *c,
                        const struct cached_queries *q, int i, int row, int h, float share,
                        float *weights, struct arena *arena)
{
    const rapt_attention *a = q->spec;
    const struct kernels *kernels = rapt__kernels();
    const struct bounds bounds = rapt__cached_bounds(p, 0, c->joint, 1);
    int sequence = rapt__cached_sequence(q, i), g = h / (a->heads / c->key_heads);
    size_t panel = rapt__cache_panel(c, sequence, g);
    ptrdiff_t at = (ptrdiff_t)h * q->starts[q->count] + row;
    struct weights_space m;
    rapt__arena_parts(arena, 1, lay_out_softmax, &bounds, &m, NULL);
    struct attend_row visible = rapt__cached_visible(c, q, i, row);
    rapt__cached_biases(c, q, i, h, row, &visible);
    visible.number = rapt__number_of(p, h);
    struct attend_block block = {.row = &visible, .rows = 1, .key_width = c->key_width};
    struct attend_weights task = {.q_slots = m.q_slots,
                                  .statistics = q->statistics + at * STATISTICS,
                                  .kind = p->kind,
                                  .scale = p->scale,
                                  .cap = a->cap,
                                  .weights = m.weights};
    kernels->pad_rows(q->q + row * q->q_row + (ptrdiff_t)h * c->key_width, 0, 1, c->key_width,
                      m.q_rows);
    kernels->attend_pack(m.q_rows, 1, c->key_width, rapt__query_factor(p->scale), m.q_slots);
    for (int key = 0; key < visible.high; key += ATTEND_BLOCK) {
        block.key = key, block.keys = rapt__min(visible.high - key, ATTEND_BLOCK);
        task.key_panels = rapt__cache_keys(c, panel + (size_t)(key / LANES));
        if (c->joint) {
            kernels->pack_columns(task.key_panels, c->key_width, block.keys, c->key_width, 1, 0,
                                  rapt__ceil_div(block.keys, LANES), m.panels);
            task.key_panels = m.panels;
        }
        kernels->attend_weights(&block, &task);
        for (int s = 0; s < block.keys; s++) weights[key + s] += share * m.weights[s];
    }
}

static void add_row(const struct row *r, float share, float *weights)
{
    for (int s = r->visible.low; !r->fully_masked && s < r->visible.high; s++)
        weights[s] += share * r->space.weights[s];
}

/* For a recurrent score, recomputes the rows of the last call, starting from the history before
   that call. */
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
        rapt__row_remember(&one, keys, before);
        if (r == row) add_row(&one, share, weights);
    }
}

static void add_talking(const struct cached_rows *x, int i, int row, int head, float share,
                        float *weights)
{
    struct talking t = x->space.talking;
    if (!rapt__cached_talking(x, &t, i, row)) return;
    for (int s = t.low; s < t.high; s++) weights[s] += share * t.mixed[head * t.capacity + s];
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
        add_softmax(&c, cache, queries, i, row, head, share, weights, &arena);
        rapt__workspace_end(NULL, &arena);
        return;
    }
    struct cached_rows x = rapt__cached_rows(&c, cache, queries, 1, &arena);
    if (rapt__talks(queries->spec))
        add_talking(&x, i, row, head, share, weights);
    else if (c.recurrent)
        add_recurrent(&x, i, row, head, share, weights, x.space.row.dropped);
    else
        add_one(&x, i, row, head, share, weights);
    rapt__workspace_end(NULL, &arena);
}
