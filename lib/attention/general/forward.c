/* forward.c - the general forward pass: computes out, lse and chosen keys. First the whole team
   packs the keys. Then rows are handed out to the threads. With a recurrent score, all rows of a
   head are handed out together, since each depends on the previous one. Also recomputes weights
   (only one thread does this), and lays out the workspace of the whole general path. */
#include "attention/general/general.h"

#include <math.h>
#include <string.h>

enum { PACK_PANELS = 8, ITEM_ROWS = 2 * BLOCK_ROWS };

static void lay_out_rows(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    struct forward_rows *r = to;
    *r = (struct forward_rows){.before = NULL};
    if (rapt__talks(b->a)) {
        rapt__talking_forward_layout(part, b, r);
        return;
    }
    rapt__row_layout(part, b, false, &r->space);
    rapt__block_layout(part, b, false, &r->block);
    r->before = rapt__arena_floats(part, rapt__row_capacity(b), 1);
}

/* Lays out the workspace and returns the panels. */
static float *lay_out_forward_rows(struct arena *arena, const struct bounds *b,
                                   struct forward_rows *mine)
{
    size_t panels = b->key_rows / LANES + b->batch, all = 0;
    if (!rapt__times(panels, b->key_heads, &all)) arena->overflow = true;
    float *keys = rapt__arena_floats(arena, all, LANES * b->width);
    rapt__arena_parts(arena, b->team, lay_out_rows, b, mine, NULL);
    return keys;
}

void rapt__general_forward_layout(struct arena *arena, const struct bounds *b)
{
    struct forward_rows mine;
    lay_out_forward_rows(arena, b, &mine);
}

void rapt__general_layout(struct arena *arena, const struct bounds *b)
{
    struct arena backward = *arena;
    rapt__general_forward_layout(arena, b);
    rapt__general_backward_layout(&backward, b);
    rapt__arena_either(arena, &backward);
}

/* Returns the panels of a sequence and key head. The n preceding sequences have at most rows / 16 +
   n panels per key head, where `rows` is their total number of keys. Leaving that much space for
   them avoids a loop over their lengths. */
static float *panels_of(const struct general_forward *f, const struct sequence *b, int g)
{
    size_t before = (size_t)(b->key_first / LANES) + (size_t)b->index;
    size_t own = (size_t)rapt__ceil_div(b->keys, LANES);
    size_t panel = before * (size_t)f->key_heads + (size_t)g * own;
    return f->panels + panel * LANES * (size_t)f->c->width;
}

static void pack_panels(const struct general_forward *f, const struct sequence *b, int g, int first,
                        int max)
{
    const struct projected *c = f->c;
    int panels = rapt__min(rapt__ceil_div(b->existing, LANES) - first, max);
    f->kernels->pack_columns(c->k + rapt__key_at(&c->k_stride, b, g, 0), c->k_stride.row,
                             b->existing, c->width, 1, first, panels,
                             panels_of(f, b, g) + (ptrdiff_t)first * LANES * c->width);
}

static void pack_all(struct team *team, const struct general_forward *f)
{
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < f->c->a->batch; i++) {
        struct sequence b = rapt__sequence(f->c->a, i);
        for (int g = 0; g < f->key_heads; g++)
            for (int first = 0; first * LANES < b.existing; first += PACK_PANELS)
                if (rapt__mine(&tickets)) pack_panels(f, &b, g, first, PACK_PANELS);
    }
    rapt__team_barrier(team);
}

struct row_keys rapt__forward_keys(const struct general_forward *f, const struct sequence *b, int g)
{
    const rapt_attention *a = f->c->a;
    return (struct row_keys){.panels = panels_of(f, b, g),
                             .values = f->v ? f->v + rapt__key_at(&a->v, b, g, 0) : NULL,
                             .value_row = a->v.row,
                             .value_width = a->value_width};
}

/* Returns the row of query t, with its workspace and `before` set. */
static struct row forward_row_of(const struct general_forward *f, const struct sequence *b,
                                 const struct row_head *head, const struct row_keys *keys, int h,
                                 int t)
{
    const rapt_attention *a = f->c->a;
    const float *previous = a->previous_weights;
    struct row r = rapt__row(f->c, b, head, keys, h, t);
    r.space = f->mine.space;
    r.before = f->mine.before, r.before_keys = b->existing;
    if (head->channels && t == 0)
        r.before = previous ? previous + ((ptrdiff_t)b->index * a->heads + h) * a->keys : NULL;
    return r;
}

void rapt__forward_sum(const struct general_forward *f, const struct row_block *block,
                       const struct row_keys *keys, float *out)
{
    ptrdiff_t ld = f->c->a->out.row;
    int width = keys->value_width;
    for (int i = 0; i < block->rows; i++) memset(out + i * ld, 0, (size_t)width * sizeof *out);
    if (block->first == block->end) return;
    rapt__block_sums(block, f->kernels, block->weights, keys->values, keys->value_row, width, out,
                     ld);
    for (int i = 0; i < block->rows; i++) rapt__row_settle(out + i * ld, width);
}

/* Computes the outputs of at most BLOCK_ROWS rows of a head, starting at t. If the dot products of
   the block are computed together, so are its sums of values, with two exceptions: hard
   normalizers, where each row reads only one value, and distance vectors that are added to
   values. */
static void attend_block(const struct general_forward *f, const struct sequence *b,
                         const struct row_head *head, int h, int t, int rows)
{
    const struct projected *c = f->c;
    struct row_keys keys = rapt__forward_keys(f, b, h / f->group);
    struct row_block block = f->mine.block;
    bool together = block.dots && rapt__block_begin(&block, c, b, head, &keys, h, t, rows);
    bool sums = together && !rapt__normalizer_is_hard(head->normalizer) && !head->distance_values;
    float *out = f->out + rapt__query_at(&c->a->out, b, h, t);
    if (together)
        rapt__block_dots(&block, f->kernels, c->q + rapt__query_at(&c->q_stride, b, h, t),
                         c->q_stride.row, rapt__query_factor(head->scale), keys.panels, c->width,
                         block.dots);
    for (int i = 0; i < rows; i++) {
        struct row r = forward_row_of(f, b, head, &keys, h, t + i);
        ptrdiff_t at = (ptrdiff_t)h * rapt__query_rows(c->a) + b->query_first + t + i;
        if (together) r.dots = block.dots + i * block.capacity;
        if (sums) {
            rapt__row_weights(&r);
            rapt__row_drop(&r);
            rapt__block_keep(&block, block.weights, i, &r, r.dropped);
        } else {
            rapt__row_attend(&r, out + i * c->a->out.row);
        }
        if (f->lse) f->lse[at] = r.lse;
        if (c->chosen) c->chosen[at] = r.chosen;
        if (head->channels) rapt__row_remember(&r, b->existing, f->mine.before);
    }
    if (sums) rapt__forward_sum(f, &block, &keys, out);
}

/* Computes the outputs of rows [first, first + rows) of a head. With a recurrent score, first must
   be 0. */
static void attend_general_rows(const struct general_forward *f, const struct sequence *b, int h,
                                int first, int rows)
{
    struct row_head head = rapt__row_head(f->c, b, h);
    head.keeps_lse = f->lse != NULL;
    for (int t = first; t < first + rows; t += BLOCK_ROWS)
        attend_block(f, b, &head, h, t, rapt__min(first + rows - t, BLOCK_ROWS));
}

static struct general_forward open_forward(struct team *team, const struct projected *c,
                                           struct arena *arena)
{
    const struct bounds b = rapt__bounds(c, team->size);
    struct general_forward f = {
        .c = c, .kernels = rapt__kernels(), .key_heads = rapt__key_heads_of(c->a)};
    f.group = c->a->heads / f.key_heads;
    f.panels = lay_out_forward_rows(arena, &b, &f.mine);
    rapt__workspace_begin(team);
    return f;
}

void rapt__general_forward(struct team *team, const struct projected *c, const float *v, float *out,
                           float *lse, struct arena *arena)
{
    const rapt_attention *a = c->a;
    struct general_forward f = open_forward(team, c, arena);
    f.v = v, f.out = out, f.lse = lse;
    pack_all(team, &f);
    bool talks = rapt__talks(a);
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < a->batch; i++) {
        struct sequence b = rapt__sequence(a, i);
        int rows = c->recurrent ? b.queries : talks ? BLOCK_ROWS : ITEM_ROWS;
        for (int h = 0; h < (talks ? 1 : a->heads); h++)
            for (int t = 0; t < b.queries; t += rows) {
                if (!rapt__mine(&tickets)) continue;
                if (talks)
                    rapt__talking_attend(&f, &b, t, rapt__min(b.queries - t, rows));
                else
                    attend_general_rows(&f, &b, h, t, rapt__min(b.queries - t, rows));
            }
    }
    rapt__team_barrier(team);
}

/* Computes the weights of query rows [first, first + rows) of a head. Called by a single thread. */
static void copy_rows(const struct general_forward *f, int sequence, int head, int first, int rows,
                      float *weights)
{
    const rapt_attention *a = f->c->a;
    struct sequence b = rapt__sequence(a, sequence);
    struct row_head h = rapt__row_head(f->c, &b, head);
    struct row_keys keys = rapt__forward_keys(f, &b, head / f->group);
    if (b.existing) pack_panels(f, &b, head / f->group, 0, rapt__ceil_div(b.existing, LANES));
    for (int t = h.channels ? 0 : first; t < first + rows; t++) {
        struct row r = forward_row_of(f, &b, &h, &keys, head, t);
        ptrdiff_t at = (ptrdiff_t)head * rapt__query_rows(a) + b.query_first + t;
        r.decided = f->c->chosen != NULL;
        if (r.decided) r.chosen = f->c->chosen[at];
        rapt__row_weights(&r);
        if (h.channels) rapt__row_remember(&r, b.existing, f->mine.before);
        if (t >= first)
            rapt__row_copy_weights(&r, b.keys, weights + (ptrdiff_t)(t - first) * b.keys);
    }
}

static void copy_talking_rows(const struct general_forward *f, int sequence, int head, int first,
                              int rows, float *weights)
{
    struct sequence b = rapt__sequence(f->c->a, sequence);
    for (int g = 0; g < f->key_heads && b.existing; g++)
        pack_panels(f, &b, g, 0, rapt__ceil_div(b.existing, LANES));
    for (int i = 0; i < rows; i++)
        rapt__talking_copy(f, &b, head, first + i, weights + (ptrdiff_t)i * b.keys);
}

void rapt__general_weights(struct team *team, const struct projected *c, int sequence, int head,
                           int first, int rows, float *weights, struct arena *arena)
{
    const struct general_forward f = open_forward(team, c, arena);
    bool talks = rapt__talks(c->a);
    if (team->rank == 0 && talks) copy_talking_rows(&f, sequence, head, first, rows, weights);
    if (team->rank == 0 && !talks) copy_rows(&f, sequence, head, first, rows, weights);
    rapt__team_barrier(team);
}
