/* mask.c - which keys a query sees: a range of them, from existence, causality and window, and
   the rows of the boolean mask and of the bias. */
#include "attention/problem.h"

static int clamp(int64_t x, int least, int most)
{
    return x < least ? least : x > most ? most : (int)x;
}

static ptrdiff_t mask_at(const rapt_stride *s, int b, int h, int t)
{
    return b * s->batch + h * s->head + t * s->row;
}

void rapt__mask_row(const rapt_attention *a, const struct sequence *b, int h, int t,
                    struct attend_row *row)
{
    const rapt_mask *m = &a->mask;
    int64_t place = t;
    if (m->corner == RAPT_CORNER_BOTTOM_RIGHT) place += (int64_t)b->existing - b->queries;
    row->low = 0;
    row->high = b->existing;
    if (m->window) {
        row->low = clamp(place - m->before, 0, b->existing);
        row->high = clamp(place + m->after + 1, 0, b->existing);
    }
    if (m->causal) row->high = clamp(place + 1, 0, row->high);
    if (row->low >= row->high) row->low = row->high = 0;
    row->allowed = m->allowed ? m->allowed + mask_at(&m->allowed_stride, b->index, h, t) : NULL;
    row->bias = m->bias ? m->bias + mask_at(&m->bias_stride, b->index, h, t) : NULL;
}
