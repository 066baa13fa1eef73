/* layout.c - fills in problems in the layouts that rapt/attention.h draws, and lays out a problem's
   learned arrays in one block. Strides that overflow are set to the largest possible value, and
   negative numbers count as 0; rapt__attention_check rejects both. */
#include "attention/score/score.h"

#include <limits.h>
#include <string.h>

static ptrdiff_t stride_times(ptrdiff_t a, ptrdiff_t b)
{
    size_t product;
    if (a <= 0 || b <= 0) return 0;
    bool fits = rapt__times((size_t)a, (size_t)b, &product) && product <= PTRDIFF_MAX;
    return fits ? (ptrdiff_t)product : PTRDIFF_MAX;
}

static ptrdiff_t stride_plus(ptrdiff_t a, ptrdiff_t b)
{
    return a > PTRDIFF_MAX - b ? PTRDIFF_MAX : a + b;
}

rapt_stride rapt__stride_by_heads(int heads, int rows, int width)
{
    ptrdiff_t head = stride_times(rows, width);
    return (rapt_stride){stride_times(heads, head), head, rapt__max(width, 0)};
}

/* Returns the strides of [rows][heads][width] for each sequence. */
static rapt_stride by_rows(int heads, int rows, int width)
{
    ptrdiff_t row = stride_times(heads, width);
    return (rapt_stride){stride_times(rows, row), rapt__max(width, 0), row};
}

static rapt_attention problem(int batch, int heads, int queries, int keys, int width)
{
    return (rapt_attention){.batch = batch,
                            .heads = heads,
                            .queries = queries,
                            .keys = keys,
                            .key_width = width,
                            .value_width = width};
}

rapt_status rapt_attention_init(rapt_attention *a, size_t size, int batch, int heads, int queries,
                                int keys, int width)
{
    rapt_attention own = problem(batch, heads, queries, keys, width);
    own.q = own.out = rapt__stride_by_heads(heads, queries, width);
    own.k = own.v = rapt__stride_by_heads(heads, keys, width);
    return rapt__struct_default(a, size, &own, sizeof own);
}

rapt_status rapt_attention_init_rows(rapt_attention *a, size_t size, int batch, int heads,
                                     int queries, int keys, int width)
{
    rapt_attention own = problem(batch, heads, queries, keys, width);
    own.q = own.out = by_rows(heads, queries, width);
    own.k = own.v = by_rows(heads, keys, width);
    return rapt__struct_default(a, size, &own, sizeof own);
}

rapt_status rapt_attention_init_packed(rapt_attention *a, size_t size, int batch, int heads,
                                       int key_heads, int rows, int width)
{
    rapt_attention own = problem(batch, heads, rows, rows, width);
    ptrdiff_t queries = stride_times(heads, width),
              keys = stride_times(key_heads ? key_heads : heads, width);
    ptrdiff_t row = stride_plus(queries, stride_plus(keys, keys));
    own.key_heads = key_heads;
    own.q = own.k = own.v = (rapt_stride){stride_times(rows, row), rapt__max(width, 0), row};
    own.out = by_rows(heads, rows, width);
    return rapt__struct_default(a, size, &own, sizeof own);
}

rapt_status rapt_attention_init_ragged(rapt_attention *a, size_t size, int batch, int heads,
                                       const int *query_starts, const int *key_starts, int width)
{
    if (!query_starts) return RAPT_BAD_ARGUMENT;
    if (!key_starts) key_starts = query_starts;
    rapt_attention own = problem(batch, heads, rapt__longest(batch, query_starts),
                                 rapt__longest(batch, key_starts), width);
    own.q = own.k = own.v = own.out = by_rows(heads, 0, width);
    own.query_starts = query_starts, own.key_starts = key_starts;
    return rapt__struct_default(a, size, &own, sizeof own);
}

/* ---- learned arrays ---- */

static rapt_status lay_out_learned(const rapt_attention *a, rapt_attention_parameters_layout *l,
                                   rapt_message *why)
{
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        if (!rapt__learned_read(a, i)) continue;
        const struct learned_shape s = rapt__learned_shape(a, i);
        size_t floats;
        if (s.rows > INT_MAX || !rapt__times((size_t)s.rows, (size_t)s.columns, &floats) ||
            floats > PTRDIFF_MAX / sizeof(float) / 2 - l->floats - LANES)
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT, "%s has %lld rows, so the size of the block overflows",
                rapt_attention_parameter_name((rapt_attention_parameter)i), (long long)s.rows);
        l->rows[i] = (int)s.rows, l->columns[i] = (int)s.columns;
        l->offset[i] = l->floats;
        l->floats += rapt__round_up_size(floats, LANES);
    }
    return RAPT_OK;
}

rapt_status rapt_attention_parameters_lay_out(const rapt_attention *a,
                                              rapt_attention_parameters_layout *layout,
                                              rapt_message *why)
{
    rapt_attention own;
    rapt_attention_parameters_layout l = {.size = sizeof l};
    rapt_status status = rapt__struct_read(&own, sizeof own, a, "rapt_attention", why);
    if (!status) status = rapt__struct_check(layout, "rapt_attention_parameters_layout", why);
    if (!status) status = rapt__shapes_check(&own, why);
    if (!status) status = lay_out_learned(&own, &l, why);
    return status
               ? status
               : rapt__struct_write(layout, &l, sizeof l, "rapt_attention_parameters_layout", why);
}
