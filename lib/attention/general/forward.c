/* forward.c - attention row by row: keys are packed once, by the whole team; then rows are
   handed out, where a location-aware score makes each wait for the one before all those of a
   head. */
#include "attention/general/general.h"

#include <math.h>

enum { PACK_PANELS = 8, ITEM_ROWS = 16 };

struct forward {
    const struct projected *c;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse;
    int key_heads, group; /* query heads per key head */
    struct forward_buffers buffers;
};

/* Keys of a sequence and key head: as many panels lie before a sequence as would hold its
   predecessors one by one, without looking at them: rows / 16 + sequences. */
static float *panels_of(const struct forward *f, const struct sequence *b, int g)
{
    size_t before = (size_t)(b->key_first / LANES + b->index);
    size_t own = (size_t)((b->keys + LANES - 1) / LANES);
    size_t panel = before * (size_t)f->key_heads + (size_t)g * own;
    return f->buffers.panels + panel * LANES * (size_t)f->c->width;
}

static void pack_panels(const struct forward *f, const struct sequence *b, int g, int first,
                        int max, float *to)
{
    const struct projected *c = f->c;
    int panels = (b->existing + LANES - 1) / LANES - first;
    f->kernels->pack_columns(c->k + rapt__key_at(&c->k_stride, b, g, 0), c->k_stride.row,
                             b->existing, c->width, 1, first, panels < max ? panels : max,
                             to + (ptrdiff_t)first * LANES * c->width);
}

static void pack_all(struct team *team, const struct forward *f)
{
    struct tickets tickets = rapt__tickets(team);
    for (int i = 0; i < f->c->a->batch; i++) {
        struct sequence b = rapt__sequence(f->c->a, i);
        for (int g = 0; g < f->key_heads; g++)
            for (int first = 0; first * LANES < b.existing; first += PACK_PANELS)
                if (rapt__mine(&tickets))
                    pack_panels(f, &b, g, first, PACK_PANELS, panels_of(f, &b, g));
    }
    rapt__team_barrier(team);
}

static struct row_keys keys_of(const struct forward *f, const struct sequence *b, int g,
                               const float *panels)
{
    const rapt_attention *a = f->c->a;
    return (struct row_keys){.panels = panels,
                             .values = f->v ? f->v + rapt__key_at(&a->v, b, g, 0) : NULL,
                             .value_row = a->v.row,
                             .value_width = a->value_width};
}

/* What the query before the first one looked at. */
static void begin_time(const struct forward *f, const struct sequence *b, int h, struct row *r)
{
    const float *previous = f->c->a->learned.previous;
    ptrdiff_t row = (ptrdiff_t)b->index * f->c->a->heads + h;
    r->before = previous ? previous + row * f->c->a->keys : NULL;
}

/* Rows [first, first + rows) of a head; location-aware: from row 0 on. */
static void attend_rows(const struct forward *f, const struct sequence *b, int h, int first,
                        int rows)
{
    const rapt_attention *a = f->c->a;
    struct row_head head = rapt__row_head(f->c, b, h);
    struct row_keys keys = keys_of(f, b, h / f->group, panels_of(f, b, h / f->group));
    for (int t = first; t < first + rows; t++) {
        struct row r = rapt__row(f->c, b, &head, &keys, h, t);
        ptrdiff_t at = (ptrdiff_t)h * rapt__query_rows(a) + b->query_first + t;
        r.space = f->buffers.space;
        r.before = f->buffers.before, r.before_keys = b->existing;
        if (head.channels && t == 0) begin_time(f, b, h, &r);
        rapt__row_attend(&r, f->out + rapt__query_at(&a->out, b, h, t));
        if (f->lse) f->lse[at] = r.lse;
        if (a->chosen && rapt__normalizer_is_hard(a->normalizer)) a->chosen[at] = r.chosen;
        if (head.channels) rapt__row_rank1_update(&r, b->existing, f->buffers.before);
    }
}

static struct forward forward_of(const struct projected *c, int rank, int size, void *workspace)
{
    struct forward f = {.c = c, .kernels = rapt__kernels(), .key_heads = rapt__key_heads_of(c->a)};
    struct bounds bounds = rapt__bounds(c->a, size);
    struct row_cursor cursor = {.base = workspace};
    f.group = c->a->heads / f.key_heads;
    f.buffers = rapt__forward_buffers(&cursor, &bounds, rank);
    return f;
}

void rapt__general_forward(struct team *team, const struct projected *c, const float *v, float *out,
                           float *lse, void *workspace)
{
    const rapt_attention *a = c->a;
    struct forward f = forward_of(c, team->rank, team->size, workspace);
    f.v = v, f.out = out, f.lse = lse;
    pack_all(team, &f);
    struct tickets tickets = rapt__tickets(team);
    for (int i = 0; i < a->batch; i++) {
        struct sequence b = rapt__sequence(a, i);
        int rows = rapt__score_recurrent(a) ? b.queries : ITEM_ROWS;
        for (int h = 0; h < a->heads; h++)
            for (int t = 0; t < b.queries; t += rows)
                if (rapt__mine(&tickets))
                    attend_rows(&f, &b, h, t, b.queries - t < rows ? b.queries - t : rows);
    }
    rapt__team_barrier(team);
}

/* The scores tell all there is to know: lse is not needed. */
void rapt__general_weights(const struct projected *c, const float *lse, int sequence, int head,
                           int first, int rows, float *weights, void *workspace)
{
    const rapt_attention *a = c->a;
    struct forward f = forward_of(c, 0, 1, workspace);
    struct sequence b = rapt__sequence(a, sequence);
    struct row_head h = rapt__row_head(c, &b, head);
    struct row_keys keys = keys_of(&f, &b, head / f.group, f.buffers.panels);
    (void)lse;
    if (b.existing) pack_panels(&f, &b, head / f.group, 0, b.existing, f.buffers.panels);
    for (int t = h.channels ? 0 : first; t < first + rows; t++) {
        struct row r = rapt__row(c, &b, &h, &keys, head, t);
        ptrdiff_t at = (ptrdiff_t)head * rapt__query_rows(a) + b.query_first + t;
        r.space = f.buffers.space;
        r.before = f.buffers.before, r.before_keys = b.existing;
        if (h.channels && t == 0) begin_time(&f, &b, head, &r);
        r.decided = a->chosen && rapt__normalizer_is_hard(a->normalizer);
        if (r.decided) r.chosen = a->chosen[at];
        rapt__row_weights(&r);
        if (h.channels) rapt__row_rank1_update(&r, b.existing, f.buffers.before);
        if (t >= first)
            rapt__row_rank1_update(&r, b.keys, weights + (ptrdiff_t)(t - first) * b.keys);
    }
}
