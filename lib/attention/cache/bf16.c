/* bf16.c - bf16 caches: rounds keys and values when they are appended, and widens them to floats,
   in the layout that kernels read, when they are read. */
#include "attention/cache/cache.h"

#include <string.h>

static bool is_non_finite(uint16_t x)
{
    return (x & 0x7f80) == 0x7f80;
}

static void round_keys(const struct cache *c, const struct kernels *kernels, const float *k,
                       uint16_t *lanes)
{
    enum { PART = 64 };
    uint16_t part[PART];
    for (int n = 0; n < c->key_width; n += PART) {
        int rest = rapt__min(c->key_width - n, PART);
        kernels->round_bf16(k + n, rest, part);
        for (int i = 0; i < rest; i++) lanes[(ptrdiff_t)(n + i) * LANES] = part[i];
    }
}

void rapt__cache_round(const struct cache *c, const struct kernels *kernels, size_t panel, int lane,
                       const float *k, const float *v)
{
    uint16_t *keys = rapt__cache_keys_bf16(c, panel);
    int padded = rapt__padded(c->value_width);
    if (c->form.joint) {
        kernels->round_bf16(k, c->key_width, keys + (ptrdiff_t)lane * c->key_width);
        return;
    }
    uint16_t *row = rapt__cache_values_bf16(c, panel) + (ptrdiff_t)lane * padded;
    if (lane == 0) memset(keys, 0, sizeof *keys * LANES * (size_t)c->key_width);
    round_keys(c, kernels, k, keys + lane);
    kernels->round_bf16(v, c->value_width, row);
    memset(row + c->value_width, 0, sizeof *row * (size_t)(padded - c->value_width));
    bool any = lane > 0 && c->non_finite[panel];
    for (int i = 0; i < c->value_width; i++) any |= is_non_finite(row[i]);
    c->non_finite[panel] = any;
}

void rapt__widened_layout(struct arena *arena, const struct bounds *b, size_t keys,
                          struct widened *to)
{
    size_t rows = rapt__round_up_size(keys, LANES);
    *to = (struct widened){0};
    if (!b->form.bf16) return;
    to->keys = rapt__arena_floats(arena, rows, b->width);
    to->values = rapt__arena_floats(arena, rows, rapt__round_up_size(b->value_width, LANES));
    to->rows = rapt__arena_floats(arena, b->form.joint ? rows : 0, b->width);
    to->non_finite = rapt__arena_take(arena, rows / LANES, 1);
}

void rapt__cache_widen(const struct cache *c, size_t panel, int keys, const struct widened *to)
{
    const struct kernels *kernels = rapt__kernels();
    const size_t panels = rapt__ceil_div_size((size_t)keys, LANES);
    const int kw = c->key_width, vw = c->value_width;
    const size_t all = panels * LANES * (size_t)kw;
    if (!c->form.joint) {
        kernels->widen_bf16(rapt__cache_keys_bf16(c, panel), all, to->keys);
        kernels->widen_bf16(rapt__cache_values_bf16(c, panel),
                            (size_t)keys * (size_t)rapt__padded(vw), to->values);
        memcpy(to->non_finite, c->non_finite + panel, panels);
        return;
    }
    kernels->widen_bf16(rapt__cache_keys_bf16(c, panel), all, to->rows);
    kernels->pack_columns(to->rows, kw, keys, kw, 1, 0, (int)panels, to->keys);
    for (int p = 0; p < (int)panels; p++) {
        ptrdiff_t row = (ptrdiff_t)p * LANES;
        to->non_finite[p] =
            kernels->pad_rows(rapt__cache_joint_values(c, to->rows + row * kw), kw,
                              rapt__min(keys - (int)row, LANES), vw, to->values + row * vw);
    }
}
