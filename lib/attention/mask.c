/* mask.c - finds the visible keys of a query. The number of keys, the causal mask, the window and
   local-m determine a range of keys, and sparse attention selects keys within this range. Also
   finds the query's rows of the boolean mask and the bias. Local-p narrows the range later. */
#include "attention/projected.h"

#include <math.h>

static const struct locality {
    const char *name;
    bool windowed; /* the keys are around the query's own position */
    bool centered; /* the keys are around a center that the query predicts */
    bool sparse;   /* the keys form several ranges (kernel/sparse.h) */
} localities[RAPT_LOCALITY_COUNT] = {
    [RAPT_LOCALITY_GLOBAL] = {.name = "global"},
    [RAPT_LOCALITY_LOCAL_M] = {.name = "local-m", .windowed = true},
    [RAPT_LOCALITY_LOCAL_P] = {.name = "local-p", .centered = true},
    [RAPT_LOCALITY_SPARSE] = {.name = "sparse", .sparse = true},
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

bool rapt__locality_sparse(const rapt_attention *a)
{
    return localities[a->locality].sparse;
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

void rapt__narrow(int *low, int *high, double center, double radius)
{
    double first = ceil(center - radius), end = floor(center + radius) + 1;
    if (first > *low) *low = first < *high ? (int)first : *high;
    if (end < *high) *high = end > *low ? (int)end : *low;
}

/* Narrows [*low, *high) to the keys within a->radius of a position from first to last. */
static void narrow_near(const rapt_attention *a, int64_t first, int64_t last, int *low, int *high)
{
    int end = *high;
    rapt__narrow(low, &end, (double)first, (double)a->radius);
    end = *low;
    rapt__narrow(&end, high, (double)last, (double)a->radius);
}

/* Sets row->sparse for keys row->low .. row->high - 1. A query at a global position sees all of
   them. */
static void set_sparse(const rapt_attention *a, int64_t first, int64_t last, const uint8_t *blocks,
                       struct attend_row *row)
{
    const rapt_sparse *s = &a->sparse;
    struct sparse_keys *k = &row->sparse;
    *k = (struct sparse_keys){.given = true,
                              .near = row->low,
                              .near_end = a->radius > 0 ? row->high : row->low,
                              .globals = s->globals,
                              .global_count = s->global_count,
                              .blocks = blocks,
                              .block_keys = s->block_keys};
    if (a->radius > 0) narrow_near(a, first, last, &k->near, &k->near_end);
    k->given = !rapt__any_global(k, first, last);
}

void rapt__apply_locality(const rapt_attention *a, int64_t first, int64_t last,
                          const uint8_t *blocks, struct attend_row *row)
{
    row->sparse.given = false;
    if (rapt__locality_windowed(a)) narrow_near(a, first, last, &row->low, &row->high);
    if (rapt__locality_sparse(a)) set_sparse(a, first, last, blocks, row);
    if (row->low >= row->high) row->low = row->high = 0;
}

/* Sets low, high and sparse in *row to select the keys that at least one query at a position from
   `first` to `last` sees. */
static void set_visible(const rapt_attention *a, const struct sequence *b, int64_t first,
                        int64_t last, const uint8_t *blocks, struct attend_row *row)
{
    const rapt_mask *m = &a->mask;
    row->low = 0;
    row->high = b->existing;
    if (m->window) {
        row->low = clamp(first - m->before, 0, b->existing);
        row->high = clamp(last + m->after + 1, 0, b->existing);
    }
    row->high = rapt__min(row->high, rapt__causal_end(m->causal, last, b->existing));
    rapt__apply_locality(a, first, last, blocks, row);
}

/* Returns the row of the block mask for query t of head h, one byte per block of keys. Returns NULL
   if the problem has no block mask. */
static const uint8_t *blocks_of(const rapt_attention *a, const struct sequence *b, int h, int t)
{
    const rapt_sparse *s = &a->sparse;
    if (!rapt__locality_sparse(a) || !s->blocks) return NULL;
    return s->blocks + mask_at(&s->block_stride, b->index, h, t / s->block_queries);
}

void rapt__mask_row(const rapt_attention *a, const struct sequence *b, int h, int t,
                    struct attend_row *row)
{
    const rapt_mask *m = &a->mask;
    int64_t position = rapt__query_position(a, b, t);
    set_visible(a, b, position, position, blocks_of(a, b, h, t), row);
    row->allowed = m->allowed ? m->allowed + mask_at(&m->allowed_stride, b->index, h, t) : NULL;
    row->bias = m->bias ? m->bias + mask_at(&m->bias_stride, b->index, h, t) : NULL;
}

bool rapt__rows_see(const rapt_attention *a, const struct sequence *b, int h, int t, int rows,
                    int key, int keys)
{
    int64_t first = rapt__query_position(a, b, t), last = first + rows - 1;
    const uint8_t *blocks = blocks_of(a, b, h, t);
    int64_t each = blocks ? a->sparse.block_queries : rows, end = (int64_t)t + rows;
    for (int64_t i = t; i < end; i = blocks ? (i / each + 1) * each : end) {
        struct attend_row row;
        set_visible(a, b, first, last, blocks ? blocks_of(a, b, h, (int)i) : NULL, &row);
        if (rapt__row_sees(&row, key, key + keys)) return true;
    }
    return false;
}

const float *rapt__relative_row(const struct projected *c, const struct sequence *b, int h, int t)
{
    const float *row = c->relative + (ptrdiff_t)h * c->relative_row;
    return row + (c->relative_zero - (int)rapt__query_position(c->a, b, t));
}
