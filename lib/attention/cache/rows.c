/* rows.c - attention to a cache, one query row at a time, for every score, locality and normalizer.
   Also computes the weights of a row. With a recurrent score, rows are computed in order, and the
   history stores the weights of the last row or the sum of all weights. */
#include "attention/cache/cache.h"

#include <string.h>

enum { ITEM_ROWS = 16 };

struct bounds rapt__cached_bounds(const struct projected *c, int longest, struct cache_form form,
                                  int team_size)
{
    struct projected none = *c;
    rapt_attention a = *c->a;
    a.batch = 0, a.query_starts = a.key_starts = NULL;
    none.a = &a;
    struct bounds b = rapt__bounds(&none, team_size);
    b.a = c->a, b.longest_keys = (size_t)longest, b.form = form;
    return b;
}

void rapt__cached_row_layout(struct arena *part, const void *bounds, void *to)
{
    const struct bounds *b = bounds;
    struct cached_space *m = to;
    size_t rows = rapt__round_up_size(b->longest_keys, LANES);
    if (rapt__talks(b->a))
        rapt__talking_layout(part, b, false, &m->talking);
    else
        rapt__row_layout(part, b, false, &m->row);
    m->panels = rapt__cache_packs(b->form) ? rapt__arena_floats(part, rows, b->width) : NULL;
    m->capacity = rows;
    rapt__widened_layout(part, b, rows * (rapt__talks(b->a) ? b->heads : 1), &m->widened);
}

static int longest_of(const struct cache *c)
{
    int max = 0;
    for (int i = 0; i < c->sequences; i++) max = rapt__max(max, c->counts[i]);
    return max;
}

struct cached_rows rapt__cached_rows(const struct projected *projected, const struct cache *c,
                                     const struct cached_queries *q, int team_size,
                                     struct arena *arena)
{
    const struct bounds b = rapt__cached_bounds(projected, longest_of(c), c->form, team_size);
    struct cached_rows x = {.cache = c, .q = q, .projected = *projected};
    rapt__arena_parts(arena, b.team, rapt__cached_row_layout, &b, &x.space, NULL);
    return x;
}

struct row_head rapt__cached_head(const struct cached_rows *x, int h)
{
    const struct sequence any = {.index = 0};
    struct row_head head = rapt__row_head(&x->projected, &any, h);
    head.keeps_lse = x->q->lse != NULL;
    return head;
}

/* Returns the memory for the widened keys of head h. */
static struct widened widened_of(const struct cached_rows *x, int h)
{
    struct widened w = x->space.widened;
    if (!rapt__talks(x->q->spec)) return w;
    size_t first = (size_t)h * x->space.capacity;
    w.keys += first * (size_t)x->cache->key_width;
    w.values += first * (size_t)rapt__padded(x->cache->value_width);
    w.non_finite += first / LANES;
    return w;
}

struct row_keys rapt__cached_keys(const struct cached_rows *x, int i, int h)
{
    const struct cache *c = x->cache;
    int g = h / (x->q->spec->heads / c->key_heads);
    int sequence = rapt__cached_sequence(x->q, i), keys = c->counts[sequence];
    size_t panel = rapt__cache_panel(c, sequence, g);
    if (c->form.bf16) {
        const struct widened w = widened_of(x, h);
        rapt__cache_widen(c, panel, keys, &w);
        return (struct row_keys){.panels = w.keys,
                                 .values = w.values,
                                 .value_row = rapt__padded(c->value_width),
                                 .value_width = c->value_width};
    }
    if (c->form.joint) {
        const float *rows = rapt__cache_keys(c, panel);
        rapt__kernels()->pack_columns(rows, c->key_width, keys, c->key_width, 1, 0,
                                      rapt__ceil_div(keys, LANES), x->space.panels);
        return (struct row_keys){.panels = x->space.panels,
                                 .values = rapt__cache_joint_values(c, rows),
                                 .value_row = c->key_width,
                                 .value_width = c->value_width};
    }
    return (struct row_keys){.panels = rapt__cache_keys(c, panel),
                             .values = rapt__cache_values(c, panel),
                             .value_row = rapt__padded(c->value_width),
                             .value_width = c->value_width};
}

struct row rapt__cached_row(const struct cached_rows *x, const struct row_head *head,
                            const struct row_keys *keys, int i, int h, int r)
{
    const struct cached_queries *q = x->q;
    struct row row = {.head = head,
                      .keys = keys,
                      .q = q->q + r * q->q_row + (ptrdiff_t)h * x->cache->key_width,
                      .visible = rapt__cached_visible(x->cache, q, i, r),
                      .space = x->space.row};
    rapt__cached_biases(x->cache, q, i, h, r, &row.visible);
    if (q->centers) row.center = q->centers + (ptrdiff_t)h * q->starts[q->count] + r;
    return row;
}

/* Copies the history of a sequence and head to l->old before this call changes it. */
static void save_weights(struct attention_history *l, int i, int h)
{
    size_t n = (size_t)i * (size_t)l->heads + (size_t)h;
    l->old_counts[n] = l->counts[n];
    if (l->counts[n])
        memcpy(rapt__history_at(l, l->old, i, h), rapt__history_at(l, l->weights, i, h),
               (size_t)l->counts[n] * sizeof *l->old);
}

/* Computes the output of the next row of a sequence and head, and updates the history with its
   weights. */
static void attend_next(struct attention_history *l, int keys, struct row *row, int i, int h,
                        float *out)
{
    size_t n = (size_t)i * (size_t)l->heads + (size_t)h;
    float *weights = rapt__history_at(l, l->weights, i, h);
    row->before = weights, row->before_keys = l->counts[n];
    rapt__row_attend(row, out);
    rapt__row_remember(row, keys, weights);
    l->counts[n] = keys;
}

static void attend_cached_rows(const struct cached_rows *x, int i, int h, int first, int rows)
{
    const struct cached_queries *q = x->q;
    struct row_head head = rapt__cached_head(x, h);
    struct row_keys keys = rapt__cached_keys(x, i, h);
    int count = x->cache->counts[rapt__cached_sequence(q, i)];
    if (head.channels) save_weights(q->history, i, h);
    for (int r = first; r < first + rows; r++) {
        struct row row = rapt__cached_row(x, &head, &keys, i, h, r);
        float *out = q->out + r * q->out_row + (ptrdiff_t)h * x->cache->value_width;
        if (head.channels)
            attend_next(q->history, count, &row, i, h, out);
        else
            rapt__row_attend(&row, out);
        if (q->lse) q->lse[(ptrdiff_t)h * q->starts[q->count] + r] = row.lse;
    }
}

bool rapt__cached_talking(const struct cached_rows *x, struct talking *t, int i, int r)
{
    for (int h = 0; h < t->heads; h++) {
        t->head[h] = rapt__cached_head(x, h);
        t->keys[h] = rapt__cached_keys(x, i, h);
        t->rows[h] = rapt__cached_row(x, &t->head[h], &t->keys[h], i, h, r);
    }
    return rapt__talking_weights(t);
}

static void attend_talking_row(const struct cached_rows *x, struct talking *t, int i, int r)
{
    const struct cached_queries *q = x->q;
    int width = x->cache->value_width;
    bool any = rapt__cached_talking(x, t, i, r);
    for (int h = 0; h < t->heads; h++) {
        float *out = q->out + r * q->out_row + (ptrdiff_t)h * width;
        memset(out, 0, (size_t)width * sizeof *out);
        if (any) rapt__talking_sum(t, h, out);
        if (q->lse) q->lse[(ptrdiff_t)h * q->starts[q->count] + r] = t->rows[h].lse;
    }
}

static void attend_talking(struct team *team, const struct cached_rows *x)
{
    struct talking t = x->space.talking;
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < x->q->count; i++)
        for (int r = x->q->starts[i]; r < x->q->starts[i + 1]; r++)
            if (rapt__mine(&tickets)) attend_talking_row(x, &t, i, r);
}

void rapt__cache_attend_general(struct team *team, const struct projected *projected,
                                const struct cache *c, const struct cached_queries *q,
                                struct arena *arena)
{
    struct cached_rows x = rapt__cached_rows(projected, c, q, team->size, arena);
    rapt__workspace_begin(team);
    struct tickets tickets = rapt__tickets(team, 1);
    bool recurrent = projected->recurrent;
    bool talks = rapt__talks(q->spec);
    if (talks) attend_talking(team, &x);
    for (int i = 0; i < q->count && !talks; i++) {
        int all = q->starts[i + 1] - q->starts[i], step = recurrent ? all : ITEM_ROWS;
        for (int h = 0; h < q->spec->heads; h++)
            for (int n = 0; n < all; n += step)
                if (rapt__mine(&tickets))
                    attend_cached_rows(&x, i, h, q->starts[i] + n, rapt__min(all - n, step));
    }
    rapt__team_barrier(team);
}

/* ---- the weights of a row ----

   On the flash path, the weights are computed from the row's statistics and the cached keys, as in
   flash/forward.c. On the general path, the row is recomputed. */

struct weights_space {
    float *q_rows, *q_slots, *weights;
    float *panels; /* a packed block of a joint cache's keys, else NULL */
    struct widened widened;
};

static void lay_out_weights(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    struct weights_space *m = to;
    m->q_rows = rapt__arena_floats(part, rapt__round_up_size(b->width, LANES), 1);
    m->q_slots = rapt__arena_floats(part, ATTEND_SLOTS, b->width);
    m->weights = rapt__arena_floats(part, ATTEND_BLOCK, 1);
    m->panels =
        rapt__cache_packs(b->form) ? rapt__arena_floats(part, ATTEND_BLOCK, b->width) : NULL;
    rapt__widened_layout(part, b, ATTEND_BLOCK, &m->widened);
}

void rapt__cached_weights_layout(struct arena *part, const struct bounds *b)
{
    struct weights_space mine;
    rapt__arena_parts(part, b->team, lay_out_weights, b, &mine, NULL);
}

static void add_flash(const struct projected *p, const struct cache *c,
                      const struct cached_queries *q, int i, int row, int h, float share,
                      float *weights, struct arena *arena)
{
    const rapt_attention *a = q->spec;
    const struct kernels *kernels = rapt__kernels();
    const struct bounds bounds = rapt__cached_bounds(p, 0, c->form, 1);
    int sequence = rapt__cached_sequence(q, i), g = h / (a->heads / c->key_heads);
    size_t panel = rapt__cache_panel(c, sequence, g);
    ptrdiff_t at = (ptrdiff_t)h * q->starts[q->count] + row;
    struct weights_space m;
    rapt__arena_parts(arena, 1, lay_out_weights, &bounds, &m, NULL);
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
        const size_t from = panel + (size_t)(key / LANES);
        if (c->form.bf16) {
            rapt__cache_widen(c, from, block.keys, &m.widened);
            task.key_panels = m.widened.keys;
        } else if (c->form.joint) {
            kernels->pack_columns(rapt__cache_keys(c, from), c->key_width, block.keys, c->key_width,
                                  1, 0, rapt__ceil_div(block.keys, LANES), m.panels);
            task.key_panels = m.panels;
        } else {
            task.key_panels = rapt__cache_keys(c, from);
        }
        kernels->attend_weights(&block, &task);
        for (int s = 0; s < block.keys; s++) weights[key + s] += share * m.weights[s];
    }
}

static void add_row_weights(const struct row *r, float share, float *weights)
{
    for (int s = r->visible.low; !r->fully_masked && s < r->visible.high; s++)
        weights[s] += share * r->space.weights[s];
}

/* For a recurrent score, recomputes the rows of the last call to rapt__cache_attend up to `row`,
   starting from the history before that call, and adds the weights of `row`. */
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
        if (r == row) add_row_weights(&one, share, weights);
    }
}

static void add_talking(const struct cached_rows *x, int i, int row, int head, float share,
                        float *weights)
{
    struct talking t = x->space.talking;
    if (!rapt__cached_talking(x, &t, i, row)) return;
    for (int s = t.low; s < t.high; s++) weights[s] += share * t.mixed[head * t.capacity + s];
}

static void add_general(const struct cached_rows *x, int i, int row, int head, float share,
                        float *weights)
{
    struct row_head h = rapt__cached_head(x, head);
    struct row_keys keys = rapt__cached_keys(x, i, head);
    struct row one = rapt__cached_row(x, &h, &keys, i, head, row);
    rapt__row_weights(&one);
    add_row_weights(&one, share, weights);
}

void rapt__cache_weights(const struct cache *cache, const struct cached_queries *queries, int i,
                         int row, int head, float share, float *weights, void *workspace)
{
    const struct projected c = rapt__projected(queries->spec, NULL, NULL);
    struct arena arena = rapt__arena_over(workspace, SIZE_MAX, 0);
    if (rapt__flash_supports(&c)) {
        add_flash(&c, cache, queries, i, row, head, share, weights, &arena);
        rapt__workspace_end(NULL, &arena);
        return;
    }
    struct cached_rows x = rapt__cached_rows(&c, cache, queries, 1, &arena);
    if (rapt__talks(queries->spec))
        add_talking(&x, i, row, head, share, weights);
    else if (c.recurrent)
        add_recurrent(&x, i, row, head, share, weights, x.space.row.dropped);
    else
        add_general(&x, i, row, head, share, weights);
    rapt__workspace_end(NULL, &arena);
}
