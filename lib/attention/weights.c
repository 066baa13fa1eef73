/* weights.c - the weights themselves, for those who want to look at them: rebuilt from lse, block
   by block, as the backward pass does. */
#include "attention/problem.h"

#include <string.h>

struct weights {
    const rapt_attention *a;
    const struct kernels *kernels;
    struct sequence b;
    const float *q, *k, *lse; /* of the sequence and head */
    int head, first, rows;
    float *weights;
    float *scratch;
    size_t slice; /* of scratch for one member, floats */
};

/* Rows [first, first + rows), at most ATTEND_ROWS of them. */
static void rebuild_rows(const struct weights *w, int first, int rows, float *mine)
{
    const rapt_attention *a = w->a;
    struct attend_row row[ATTEND_ROWS];
    float *q_slots = mine, *q_rows = q_slots + ATTEND_SLOTS * a->key_width;
    float *panels = q_rows + ATTEND_ROWS * rapt__padded(a->key_width);
    struct attend_backward task = {.step = ATTEND_PACK,
                                   .key_width = a->key_width,
                                   .row = row,
                                   .rows = rows,
                                   .q_slots = q_slots,
                                   .dout_slots = q_slots,
                                   .q_rows = q_rows,
                                   .key_panels = panels,
                                   .lse = w->lse + first,
                                   .scale = rapt__scale_of(a),
                                   .weights = panels + ATTEND_BLOCK * a->key_width};
    w->kernels->pad_rows(w->q + first * a->q.row, a->q.row, rows, a->key_width, q_rows);
    w->kernels->attend_backward(&task);
    task.step = ATTEND_WEIGHTS;
    for (int r = 0; r < rows; r++) {
        row[r] = (struct attend_row){0};
        rapt__mask_row(a, &w->b, w->head, first + r, row + r);
    }
    size_t keys = (size_t)w->b.keys;
    float *to = w->weights + (size_t)(first - w->first) * keys;
    memset(to, 0, (size_t)rows * keys * sizeof *to);
    for (int key = 0; key < w->b.existing; key += ATTEND_BLOCK) {
        int left = w->b.existing - key, n = left < ATTEND_BLOCK ? left : ATTEND_BLOCK;
        task.key = key, task.keys = n;
        w->kernels->pack_columns(w->k + key * a->k.row, a->k.row, n, a->key_width, 1, 0,
                                 (n + LANES - 1) / LANES, panels);
        w->kernels->attend_backward(&task);
        for (int r = 0; r < rows; r++)
            memcpy(to + (size_t)r * keys + key, task.weights + r * ATTEND_BLOCK,
                   (size_t)n * sizeof *to);
    }
}

static void work(struct team *team, void *argument)
{
    const struct weights *w = argument;
    float *mine = w->scratch + (size_t)team->rank * w->slice;
    for (int n; (n = rapt__team_take(team)) < (w->rows + ATTEND_ROWS - 1) / ATTEND_ROWS;) {
        int left = w->rows - n * ATTEND_ROWS;
        rebuild_rows(w, w->first + n * ATTEND_ROWS, left < ATTEND_ROWS ? left : ATTEND_ROWS, mine);
    }
}

rapt_status rapt_attention_weights(const rapt_attention *a, const float *q, const float *k,
                                   const float *lse, int sequence, int head, int first, int rows,
                                   float *weights, void *scratch)
{
    rapt_status status = rapt_attention_check(a, NULL);
    if (status != RAPT_OK) return status;
    if (sequence < 0 || sequence >= a->batch || head < 0 || head >= a->heads || first < 0 ||
        rows < 0)
        return RAPT_BAD_ARGUMENT;
    struct sequence b = rapt__sequence(a, sequence);
    if (first > b.queries || rows > b.queries - first) return RAPT_BAD_ARGUMENT;
    if (rows == 0 || b.keys == 0) return RAPT_OK;
    struct room room;
    if (!q || !k || !lse || !weights || !scratch || !rapt__room(a, 1, &room))
        return RAPT_BAD_ARGUMENT;
    int group = a->heads / rapt__key_heads_of(a);
    struct weights w = {.a = a,
                        .kernels = rapt__kernels(),
                        .b = b,
                        .q = q + rapt__query_at(&a->q, &b, head, 0),
                        .k = k + rapt__key_at(&a->k, &b, head / group, 0),
                        .lse = lse + (size_t)head * (size_t)rapt__query_rows(a) +
                               (size_t)b.query_first,
                        .head = head,
                        .first = first,
                        .rows = rows,
                        .weights = weights,
                        .scratch = scratch,
                        .slice = room.chunk + room.block};
    rapt__team_run(a->threads, work, &w);
    return RAPT_OK;
}
