/* weights.c - flash weights: recomputes the weights of some queries of one sequence and head from
   their statistics, block by block as in the backward pass. Also lays out the workspace of the
   whole flash path. */
#include "attention/flash/flash.h"

#include <string.h>

struct flash_weights {
    const struct projected *c;
    const struct kernels *kernels;
    struct sequence b;
    const float *q, *k, *statistics; /* rows of the sequence and head */
    int head, first, rows;
    float *weights;
};

struct weights_part { /* workspace of a member: a query block and a key block */
    float *q_slots, *q_rows, *key_panels, *weights;
};

static void lay_out_part(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    struct weights_part *p = to;
    p->q_slots = rapt__arena_floats(part, ATTEND_SLOTS, b->width);
    p->q_rows = rapt__arena_floats(part, ATTEND_ROWS, rapt__round_up_size(b->width, LANES));
    p->key_panels = rapt__arena_floats(part, ATTEND_BLOCK, b->width);
    p->weights = rapt__arena_floats(part, ATTEND_ROWS, ATTEND_BLOCK);
}

static void weights_layout(struct arena *arena, const struct bounds *b)
{
    struct weights_part mine;
    rapt__arena_parts(arena, b->team, lay_out_part, b, &mine, NULL);
}

void rapt__flash_layout(struct arena *arena, const struct bounds *b)
{
    void (*const layouts[])(struct arena *, const struct bounds *) = {
        rapt__flash_forward_layout, rapt__flash_backward_layout, weights_layout};
    rapt__flash_statistics_layout(arena, b);
    const struct arena before = *arena;
    for (int i = 0; i < 3; i++) {
        struct arena one = before;
        layouts[i](&one, b);
        rapt__arena_either(arena, &one);
    }
}

/* Recomputes the weights of rows [first, first + rows), at most ATTEND_ROWS. */
static void rebuild_rows(const struct flash_weights *w, int first, int rows,
                         const struct weights_part *p)
{
    const struct projected *c = w->c;
    const rapt_stride *k = &c->k_stride;
    struct attend_row row[ATTEND_ROWS];
    struct attend_block block = {.row = row, .rows = rows, .key_width = c->width};
    const struct attend_weights task = {.q_slots = p->q_slots,
                                        .key_panels = p->key_panels,
                                        .statistics = w->statistics + (ptrdiff_t)first * STATISTICS,
                                        .kind = c->kind,
                                        .scale = c->scale,
                                        .cap = c->a->cap,
                                        .weights = p->weights};
    w->kernels->pad_rows(w->q + first * c->q_stride.row, c->q_stride.row, rows, c->width,
                         p->q_rows);
    w->kernels->attend_pack(p->q_rows, rows, c->width, rapt__query_factor(c->scale), p->q_slots);
    memset(row, 0, sizeof row);
    for (int r = 0; r < rows; r++) {
        rapt__mask_row(c->a, &w->b, w->head, first + r, row + r);
        row[r].number = rapt__number_of(c, w->head);
        rapt__bias_row(c, &w->b, w->head, first + r, row + r);
    }
    size_t keys = (size_t)w->b.keys;
    float *to = w->weights + (size_t)(first - w->first) * keys;
    memset(to, 0, (size_t)rows * keys * sizeof *to);
    for (int key = 0; key < w->b.existing; key += ATTEND_BLOCK) {
        int n = rapt__min(w->b.existing - key, ATTEND_BLOCK);
        block.key = key, block.keys = n;
        w->kernels->pack_columns(w->k + key * k->row, k->row, n, c->width, 1, 0,
                                 rapt__ceil_div(n, LANES), p->key_panels);
        w->kernels->attend_weights(&block, &task);
        for (int r = 0; r < rows; r++)
            memcpy(to + (size_t)r * keys + key, p->weights + (ptrdiff_t)r * ATTEND_BLOCK,
                   (size_t)n * sizeof *to);
    }
}

void rapt__flash_weights(struct team *team, const struct projected *c, const float *statistics,
                         int sequence, int head, int first, int rows, float *weights,
                         struct arena *arena)
{
    const rapt_attention *a = c->a;
    const struct bounds bounds = rapt__bounds(c, team->size);
    struct weights_part mine;
    rapt__arena_parts(arena, bounds.team, lay_out_part, &bounds, &mine, NULL);
    rapt__workspace_begin(team);
    struct sequence b = rapt__sequence(a, sequence);
    int g = head / (a->heads / rapt__key_heads_of(a));
    const struct flash_weights w = {
        .c = c,
        .kernels = rapt__kernels(),
        .b = b,
        .q = c->q + rapt__query_at(&c->q_stride, &b, head, 0),
        .k = c->k + rapt__key_at(&c->k_stride, &b, g, 0),
        .statistics =
            statistics +
            ((size_t)head * (size_t)rapt__query_rows(a) + (size_t)b.query_first) * STATISTICS,
        .head = head,
        .first = first,
        .rows = rows,
        .weights = weights};
    for (int n; (n = rapt__team_take(team)) < rapt__ceil_div(rows, ATTEND_ROWS);)
        rebuild_rows(&w, first + n * ATTEND_ROWS, rapt__min(rows - n * ATTEND_ROWS, ATTEND_ROWS),
                     &mine);
    rapt__team_barrier(team);
}
