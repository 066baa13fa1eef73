/* int8_pack.c - lays out 8-bit weights in panels (kernel/int8.h): quantizes floats, converts back
   to floats, and gathers rows, such as those of a shortlist. */
#include "kernel/int8.h"
#include "op/op.h"

#include <string.h>

size_t rapt__int8_weight_bytes(int out, int in)
{
    return rapt__ceil_div_size((size_t)out, LANES) * rapt__int8_panel(in);
}

void rapt__int8_pack(const struct exec_context *c, const float *panels, int out, int in,
                     const float *factors, int8_t *weight, float *scale)
{
    const struct int8_kernels *k = rapt__int8_kernels(c->kernels->isa);
    size_t panel = rapt__int8_panel(in);
    for (int p; (p = rapt__team_take(c->team)) < rapt__ceil_div(out, LANES);) {
        float scales[LANES], given[LANES] = {0};
        const float *from = panels + (ptrdiff_t)p * in * LANES;
        size_t columns = (size_t)rapt__min(out - p * LANES, LANES);
        if (factors) memcpy(given, factors + (ptrdiff_t)p * LANES, columns * sizeof *given);
        k->quantize_panel(from, in, given, weight + (size_t)p * panel, scales);
        memcpy(scale + (ptrdiff_t)p * LANES, scales, columns * sizeof *scales);
    }
    rapt__team_barrier(c->team);
}

void rapt__int8_widen(const struct exec_context *c, const struct linear *l, float *panels)
{
    const size_t panel = rapt__int8_panel(l->in);
    for (int p; (p = rapt__team_take(c->team)) < rapt__ceil_div(l->out, LANES);) {
        float scales[LANES] = {0}, *to = panels + (ptrdiff_t)p * l->in * LANES;
        int columns = rapt__min(l->out - p * LANES, LANES);
        memcpy(scales, l->scale + (ptrdiff_t)p * LANES, (size_t)columns * sizeof *scales);
        for (ptrdiff_t k = 0; k < l->in; k++, to += LANES) {
            const int8_t *from = l->bytes + (size_t)p * panel + k / INT8_GROUP * INT8_GROUP * LANES;
            for (int n = 0; n < LANES; n++)
                to[n] = (float)from[n * INT8_GROUP + k % INT8_GROUP] * scales[n];
        }
    }
    rapt__team_barrier(c->team);
}

/* Returns the offset in bytes of row n in panels of `in` inputs. */
static ptrdiff_t row_at(int n, int in)
{
    return (ptrdiff_t)(n / LANES) * (ptrdiff_t)rapt__int8_panel(in) + n % LANES * INT8_GROUP;
}

size_t rapt__int8_scratch(int in)
{
    return LANES * (size_t)in + rapt__int8_panel(in) / sizeof(float);
}

/* Quantizes rows [first, first + count), which must belong to one panel. */
static void set_panel_rows(const struct int8_rows *to, int first, int count, const float *rows,
                           const float *factors, float *scratch)
{
    const int in = to->in;
    const bool whole = count == LANES;
    float given[LANES] = {0}, scales[LANES];
    int8_t *bytes = (int8_t *)(scratch + (ptrdiff_t)in * LANES);
    if (factors) memcpy(given, factors, (size_t)count * sizeof *given);
    rapt__kernels()->pack_columns(rows, in, count, in, 1, 0, 1, scratch);
    rapt__int8_kernels(rapt_isa_used())
        ->quantize_panel(scratch, in, given, whole ? to->weight + row_at(first, in) : bytes,
                         scales);
    memcpy(to->scale + first, scales, (size_t)count * sizeof *scales);
    for (int n = 0; n < count && !whole; n++)
        for (ptrdiff_t k = 0; k < in; k += INT8_GROUP)
            memcpy(to->weight + row_at(first + n, in) + k * LANES,
                   bytes + row_at(n, in) + k * LANES, INT8_GROUP);
}

void rapt__int8_set_rows(const struct int8_rows *to, int first, int count, const float *rows,
                         const float *factors, float *scratch)
{
    for (int n = first, now; n < first + count; n += now) {
        now = rapt__min(LANES - n % LANES, first + count - n);
        set_panel_rows(to, n, now, rows + (ptrdiff_t)(n - first) * to->in,
                       factors ? factors + (n - first) : NULL, scratch);
    }
}

/* Returns true if integers [count] and their factor are restored by int8_quantize_panel. */
static bool restorable(const int8_t *row, int count, float factor)
{
    int8_t least = 0;
    for (int k = 0; k < count; k++) least = row[k] < least ? row[k] : least;
    return least > INT8_MIN && factor >= 0x1p-100f && factor <= 0x1p100f;
}

bool rapt__int8_set_integers(const struct int8_rows *to, int first, int count, const int8_t *rows,
                             const float *factors)
{
    const ptrdiff_t in = to->in;
    for (int n = 0; n < count; n++)
        if (!restorable(rows + n * in, to->in, factors[n])) return false;
    for (int n = 0; n < count; n++) to->scale[first + n] = 1 / factors[n];
    for (int n = 0; n < count;) {
        int8_t *at = to->weight + row_at(first + n, to->in);
        if ((first + n) % LANES == 0 && count - n >= LANES && in % INT8_GROUP == 0) {
            /* A panel is the transpose of its rows, in groups that are as large as floats. */
            rapt__kernels()->pack_columns((const float *)(const void *)(rows + n * in),
                                          in / INT8_GROUP, LANES, to->in / INT8_GROUP, 1, 0, 1,
                                          (float *)(void *)at);
            n += LANES;
            continue;
        }
        for (ptrdiff_t k = 0; k < in; k += INT8_GROUP)
            memcpy(at + k * LANES, rows + n * in + k,
                   (size_t)rapt__min(to->in - (int)k, INT8_GROUP));
        n++;
    }
    return true;
}

/* Zeroes the rows that pad the last panel. */
static void clear_padding(int8_t *weight, int out, int in)
{
    for (int n = out; n % LANES; n++)
        for (ptrdiff_t k = 0; k < in; k += INT8_GROUP)
            memset(weight + row_at(n, in) + k * LANES, 0, INT8_GROUP);
}

void rapt__int8_gather(const struct exec_context *c, const struct linear *l, const int32_t *rows,
                       int count, int8_t *weight, float *scale, float *bias)
{
    size_t begin, end;
    while (rapt__team_part(c->team, (size_t)count, LANES, &begin, &end))
        for (int n = (int)begin; n < (int)end; n++) {
            const int8_t *from = l->bytes + row_at(rows[n], l->in);
            int8_t *to = weight + row_at(n, l->in);
            for (ptrdiff_t k = 0; k < l->in; k += INT8_GROUP)
                memcpy(to + k * LANES, from + k * LANES, INT8_GROUP);
            scale[n] = l->scale[rows[n]];
            if (l->bias) bias[n] = l->bias[rows[n]];
        }
    if (c->team->rank == 0) clear_padding(weight, count, l->in);
    rapt__team_barrier(c->team);
}

void rapt__int8_floats(const struct linear *l, int row, int first, int count, float factor,
                       float *x)
{
    const int8_t *from = l->bytes + row_at(row, l->in);
    const float scale = l->scale[row];
    for (ptrdiff_t k = first; k < first + count; k++)
        *x++ = factor * ((float)from[k / INT8_GROUP * INT8_GROUP * LANES + k % INT8_GROUP] * scale);
}
