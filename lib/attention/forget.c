/* forget.c - forgetting attention (Lin et al. 2025, "Forgetting Transformer"). Each key l has a
   gate f[l], which reduces the scores of all keys before l for queries at position l and later:

       x[t][s] += log f[s+1] + ... + log f[p] = C[p] - C[s],   C[l] = log f[0] + ... + log f[l]

   where p is the position of query t, or the last key if the position is beyond it. C is stored as
   the sum of two floats, high and low, so that its error is about 2^-48 of its magnitude, and a
   difference of two sums has the precision of a float. Each sum is computed from the two floats of
   the sum before it, so a cache gives the same bits and needs no other state. Backward:

       dC[p] += sum over s of dx[t][s]   dC[s] -= sum over t of dx[t][s]
       dlog f[l] = dC[l] + dC[l+1] + ...

   f[0] cancels out of every difference, so its gradient is 0. */
#include "attention/score/score.h"

#include <string.h>

size_t rapt__key_panels(size_t batch, size_t key_rows)
{
    return key_rows / LANES + batch;
}

size_t rapt__key_panel(const struct sequence *b)
{
    return (size_t)b->key_first / LANES + (size_t)b->index;
}

void rapt__forget_append(float *panels, int l, float log_forget)
{
    float *to = panels + (ptrdiff_t)(l / LANES) * FORGET_PANEL + l % LANES;
    double sum = (double)log_forget;
    if (l > 0) {
        const float *before = rapt__forget_at(panels, l - 1);
        sum += (double)before[0] + (double)before[LANES];
    }
    if (l % LANES == 0) memset(to, 0, FORGET_PANEL * sizeof *to);
    to[0] = (float)sum;
    to[LANES] = (float)(sum - (double)to[0]);
}

void rapt__forget_query(int64_t position, int keys, struct attend_row *row)
{
    if (position < 0 || keys == 0) return; /* fully masked */
    const float *own = rapt__forget_at(row->forget, position < keys ? (int)position : keys - 1);
    row->forget_high = own[0], row->forget_low = own[LANES];
}

void rapt__forget_fill(struct team *team, const rapt_attention *a, struct score_choice only,
                       float *to)
{
    size_t all = rapt__key_panels((size_t)a->batch, (size_t)rapt__key_rows(a));
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < a->batch; i++)
        for (int h = 0; h < a->heads; h++) {
            struct sequence b = rapt__sequence(a, i);
            if ((only.sequence >= 0 && only.sequence != i) || (only.head >= 0 && only.head != h))
                continue;
            if (!rapt__mine(&tickets)) continue;
            float *panels = to + ((size_t)h * all + rapt__key_panel(&b)) * FORGET_PANEL;
            for (int l = 0; l < b.existing; l++)
                rapt__forget_append(panels, l,
                                    a->log_forget[rapt__key_at(&a->log_forget_stride, &b, h, l)]);
        }
    rapt__team_barrier(team);
}

/* Adds the gradients of the gates of one head and sequence, given the sums of its rows and keys. */
static void head_backward(const rapt_attention *a, const struct sequence *b, int h,
                          const float *rows, const float *keys, float *to)
{
    double sum = 0;
    for (int l = b->existing - 1, t = b->queries - 1; l > 0; l--) {
        for (; t >= 0 && rapt__query_position(a, b, t) >= l; t--) sum += (double)rows[t];
        sum -= (double)keys[l];
        to[rapt__key_at(&a->log_forget_stride, b, h, l)] += (float)sum;
    }
}

void rapt__forget_backward(struct team *team, const rapt_attention *a, const float *rows,
                           const float *keys, float *to)
{
    struct tickets tickets = rapt__tickets(team, 1);
    size_t all_rows = (size_t)rapt__query_rows(a), all_keys = (size_t)rapt__key_rows(a);
    for (int i = 0; i < a->batch; i++)
        for (int h = 0; h < a->heads; h++) {
            struct sequence b = rapt__sequence(a, i);
            if (!rapt__mine(&tickets) || b.existing < 2 || b.queries == 0) continue;
            head_backward(a, &b, h, rows + (size_t)h * all_rows + (size_t)b.query_first,
                          keys + (size_t)h * all_keys + (size_t)b.key_first, to);
        }
    rapt__team_barrier(team);
}
