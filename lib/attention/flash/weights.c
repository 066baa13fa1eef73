/* weights.c - the weights themselves, for those who want to look at them: rebuilt from lse, block
   by block, as the backward pass does. */
#include "attention/score/transform.h"

#include <string.h>

struct weights {
    const rapt_attention *a;
    const struct projected *c;
    const struct kernels *kernels;
    struct sequence b;
    const float *q, *k, *lse; /* of the sequence and head */
    int head, first, rows;
    float *weights;
    float *workspace;
    size_t slice; /* of scratch for one member, floats */
};

/* Rows [first, first + rows), at most ATTEND_ROWS of them. */
static void rebuild_rows(const struct weights *w, int first, int rows, float *mine)
{
    const rapt_attention *a = w->a;
    struct attend_row row[ATTEND_ROWS];
    int width = w->c->width;
    float *q_slots = mine, *q_rows = q_slots + ATTEND_SLOTS * width;
    float *panels = q_rows + ATTEND_ROWS * rapt__padded(width);
    struct attend_block block = {.row = row, .rows = rows, .key_width = width};
    const struct attend_weights task = {.q_slots = q_slots,
                                        .key_panels = panels,
                                        .lse = w->lse + first,
                                        .scale = w->c->scale,
                                        .weights = panels + ATTEND_BLOCK * width};
    w->kernels->pad_rows(w->q + first * w->c->q_stride.row, w->c->q_stride.row, rows, width,
                         q_rows);
    w->kernels->attend_pack(q_rows, rows, width, task.scale < 0 ? -1.f : 1.f, q_slots);
    for (int r = 0; r < rows; r++) {
        row[r] = (struct attend_row){0};
        rapt__mask_row(a, &w->b, w->head, first + r, row + r);
        if (w->c->relative) row[r].bias = rapt__relative_row(w->c, &w->b, w->head, first + r);
    }
    size_t keys = (size_t)w->b.keys;
    float *to = w->weights + (size_t)(first - w->first) * keys;
    memset(to, 0, (size_t)rows * keys * sizeof *to);
    for (int key = 0; key < w->b.existing; key += ATTEND_BLOCK) {
        int left = w->b.existing - key, n = left < ATTEND_BLOCK ? left : ATTEND_BLOCK;
        block.key = key, block.keys = n;
        w->kernels->pack_columns(w->k + key * w->c->k_stride.row, w->c->k_stride.row, n, width, 1,
                                 0, (n + LANES - 1) / LANES, panels);
        w->kernels->attend_weights(&block, &task);
        for (int r = 0; r < rows; r++)
            memcpy(to + (size_t)r * keys + key, task.weights + r * ATTEND_BLOCK,
                   (size_t)n * sizeof *to);
    }
}

static void in_tiles(struct team *team, const struct weights *w)
{
    float *mine = w->workspace + (size_t)team->rank * w->slice;
    for (int n; (n = rapt__team_take(team)) < (w->rows + ATTEND_ROWS - 1) / ATTEND_ROWS;) {
        int left = w->rows - n * ATTEND_ROWS;
        rebuild_rows(w, w->first + n * ATTEND_ROWS, left < ATTEND_ROWS ? left : ATTEND_ROWS, mine);
    }
}

struct call {
    const rapt_attention *a;
    const float *q, *k, *lse;
    int sequence, head, first, rows;
    float *weights;
    void *workspace;
};

static void work(struct team *team, void *argument)
{
    const struct call *x = argument;
    const rapt_attention *a = x->a;
    struct transformed p;
    struct workspace_sizes sizes;
    rapt__transform(team, a, x->q, x->k, (struct score_choice){x->sequence, x->head}, x->workspace,
                    &p);
    if (!rapt__flash_supports(&p.projected)) {
        if (team->rank == 0)
            rapt__general_weights(&p.projected, x->lse, x->sequence, x->head, x->first, x->rows,
                                  x->weights, p.rest);
        return;
    }
    if (!rapt__workspace_of(a, team->size, &sizes)) return;
    struct sequence b = rapt__sequence(a, x->sequence);
    int group = a->heads / rapt__key_heads_of(a);
    struct weights w = {
        .a = a,
        .c = &p.projected,
        .kernels = rapt__kernels(),
        .b = b,
        .q = p.projected.q + rapt__query_at(&p.projected.q_stride, &b, x->head, 0),
        .k = p.projected.k + rapt__key_at(&p.projected.k_stride, &b, x->head / group, 0),
        .lse = x->lse + (size_t)x->head * (size_t)rapt__query_rows(a) + (size_t)b.query_first,
        .head = x->head,
        .first = x->first,
        .rows = x->rows,
        .weights = x->weights,
        .workspace = p.rest,
        .slice = sizes.chunk + sizes.block};
    in_tiles(team, &w);
}

rapt_status rapt_attention_weights(const rapt_attention *a, const float *q, const float *k,
                                   const float *lse, int sequence, int head, int first, int rows,
                                   float *weights, void *workspace)
{
    rapt_status status = rapt_attention_check(a, NULL);
    if (status != RAPT_OK) return status;
    if (sequence < 0 || sequence >= a->batch || head < 0 || head >= a->heads || first < 0 ||
        rows < 0)
        return RAPT_BAD_ARGUMENT;
    struct sequence b = rapt__sequence(a, sequence);
    if (first > b.queries || rows > b.queries - first) return RAPT_BAD_ARGUMENT;
    if (rows == 0 || b.keys == 0) return RAPT_OK;
    if (!q || (!k && !rapt__score(a->score)->keyless) || !lse || !weights || !workspace)
        return RAPT_BAD_ARGUMENT;
    struct call call = {a, q, k, lse, sequence, head, first, rows, weights, workspace};
    rapt__team_run(a->threads, work, &call);
    return RAPT_OK;
}
