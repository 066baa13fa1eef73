/* mask.c - the visible keys of a query: a range that follows from the number of keys, the causal
   mask, the window and local-m, and the query's rows of the boolean mask and of the bias. Local-p
   restricts the range further, around its center. */
#include "attention/projected.h"

#include <math.h>

static const struct locality {
    const char *name;
    bool windowed; /* around the query's own position */
    bool centered; /* around a center that the query predicts */
} localities[RAPT_LOCALITY_COUNT] = {
    [RAPT_LOCALITY_GLOBAL] = {.name = "global"},
    [RAPT_LOCALITY_LOCAL_M] = {.name = "local-m", .windowed = true},
    [RAPT_LOCALITY_LOCAL_P] = {.name = "local-p", .centered = true},
};

const char *rapt_locality_name(rapt_locality locality)
{
    return (unsigned)locality < RAPT_LOCALITY_COUNT ? localities[locality].name : NULL;
}

bool rapt__locality_windowed(const rapt_attention *a)
{
    return localities[a->locality].windowed;
}

bool rapt__locality_centered(const rapt_attention *a)
{
    return localities[a->locality].centered;
}

int rapt__causal_end(bool causal, int64_t position, int keys)
{
    if (!causal || position + 1 > keys) return keys;
    return position + 1 > 0 ? (int)(position + 1) : 0;
}

static int clamp(int64_t x, int min, int max)
{
    return x < min ? min : x > max ? max : (int)x;
}

static ptrdiff_t mask_at(const rapt_stride *s, int b, int h, int t)
{
    return b * s->batch + h * s->head + t * s->row;
}

int64_t rapt__query_position(const rapt_attention *a, const struct sequence *b, int t)
{
    bool right = a->mask.causal_alignment == RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    return right ? rapt__lower_right(t, b->queries, b->existing) : t;
}

void rapt__narrow(struct attend_row *row, double center, double radius)
{
    double low = ceil(center - radius), high = floor(center + radius) + 1;
    if (low > row->low) row->low = low < row->high ? (int)low : row->high;
    if (high < row->high) row->high = high > row->low ? (int)high : row->low;
}

void rapt__mask_row(const rapt_attention *a, const struct sequence *b, int h, int t,
                    struct attend_row *row)
{
    const rapt_mask *m = &a->mask;
    int64_t position = rapt__query_position(a, b, t);
    row->low = 0;
    row->high = b->existing;
    if (m->window) {
        row->low = clamp(position - m->before, 0, b->existing);
        row->high = clamp(position + m->after + 1, 0, b->existing);
    }
    row->high = rapt__min(row->high, rapt__causal_end(m->causal, position, b->existing));
    if (rapt__locality_windowed(a)) rapt__narrow(row, (double)position, (double)a->radius);
    if (row->low >= row->high) row->low = row->high = 0;
    row->allowed = m->allowed ? m->allowed + mask_at(&m->allowed_stride, b->index, h, t) : NULL;
    row->bias = m->bias ? m->bias + mask_at(&m->bias_stride, b->index, h, t) : NULL;
}

const float *rapt__relative_row(const struct projected *c, const struct sequence *b, int h, int t)
{
    const float *row = c->relative + (ptrdiff_t)h * c->relative_row;
    return row + (c->relative_zero - (int)rapt__query_position(c->a, b, t));
}
