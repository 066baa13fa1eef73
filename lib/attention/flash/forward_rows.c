/* forward_rows.c - the flash forward pass for some query rows of a pair: packs keys and values,
   describes rows to the kernel, and calls it.

   Each kernel call reads all keys and values for at most ATTEND_ROWS rows. If the caches cannot
   hold these keys and values, memory bandwidth limits the kernel. So a pair with many keys is
   packed part by part, and several calls, one after another, read each part while it is in the L2
   cache. Meanwhile, the running softmax of each call stays in its workspace. The parts are packed
   again for every set of rows. This takes less than 1% of the time, and the workspace does not grow
   with the number of keys. */
#include "attention/flash/flash.h"
#include "op/op.h"

#include <assert.h>
#include <string.h>

_Static_assert(PART_KEYS % ATTEND_BLOCK == 0 && PART_KEYS <= PACKED_KEYS, "parts are whole blocks");

void rapt__flash_pack(const struct flash_forward *f, const struct sequence *b, int g, int first,
                      int end, int base, const struct packed_pair *to)
{
    const struct projected *c = f->c;
    const rapt_attention *a = f->a;
    size_t vw = (size_t)rapt__padded(a->value_width), panel = (size_t)(first - base) / LANES;
    int panels = rapt__ceil_div(rapt__min(b->existing, end) - first, LANES);
    if (panels <= 0) return;
    f->kernels->pack_columns(c->k + rapt__key_at(&c->k_stride, b, g, 0), c->k_stride.row,
                             b->existing, c->width, 1, first / LANES, panels,
                             to->keys + panel * LANES * (size_t)c->width);
    for (int p = 0; p < panels && f->out; p++, panel++) {
        int key = first + p * LANES;
        to->non_finite[panel] = f->kernels->pad_rows(
            f->v + rapt__key_at(&a->v, b, g, key), a->v.row, rapt__min(b->existing - key, LANES),
            a->value_width, to->values + panel * LANES * vw);
    }
}

/* Describes rows [first, first + rows) of the query heads that share key head g, numbered head by
   head. */
static void fill_rows(const struct flash_forward *f, const struct sequence *b, int g, int first,
                      int rows, struct attend_row *row)
{
    const rapt_attention *a = f->a;
    size_t all = (size_t)rapt__query_rows(a);
    memset(row, 0, (size_t)rows * sizeof *row);
    for (int r = 0; r < rows; r++) {
        int h = g * f->group + (first + r) / b->queries, t = (first + r) % b->queries;
        row[r].q = f->c->q + rapt__query_at(&f->c->q_stride, b, h, t);
        size_t at = (size_t)h * all + (size_t)(b->query_first + t);
        if (f->out) row[r].out = f->out + rapt__query_at(&a->out, b, h, t);
        row[r].drop_row = (uint64_t)t;
        if (f->lse) row[r].lse = f->lse + at;
        if (f->statistics) row[r].statistics = f->statistics + at * STATISTICS;
        if (a->dropout > 0) row[r].drop_key = rapt__attention_drop_key(a, b, h);
        rapt__mask_row(a, b, h, t, row + r);
        rapt__bias_row(f->c, b, h, t, row + r);
        row[r].number = rapt__number_of(f->c, h);
    }
}

static struct attend_keys keys_of(const struct flash_forward *f, const struct packed_pair *packed)
{
    return (struct attend_keys){.keys = packed->keys,
                                .values = packed->values,
                                .non_finite = packed->non_finite,
                                .key_width = f->c->width,
                                .value_width = f->a->value_width};
}

static struct attend call_of(const struct flash_forward *f, const struct attend_keys *keys,
                             const struct attend_row *row, int rows)
{
    const struct dropout drop = rapt__dropout(f->a->dropout, 0);
    return (struct attend){.keys = keys,
                           .row = row,
                           .rows = rows,
                           .kind = f->c->kind,
                           .scale = f->c->scale,
                           .cap = f->a->cap,
                           .drop_below = drop.below,
                           .drop_scale = drop.scale,
                           .workspace = f->mine.kernel,
                           .ahead = f->ahead};
}

void rapt__flash_forward_call(const struct flash_forward *f, const struct sequence *b, int g,
                              int first, int rows)
{
    const struct attend_keys keys = keys_of(f, &f->pair);
    fill_rows(f, b, g, first, rows, f->mine.rows);
    const struct attend call = call_of(f, &keys, f->mine.rows, rows);
    f->kernels->attend(&call);
}

void rapt__flash_forward_plain(const struct flash_forward *f, const struct sequence *b, int g,
                               int rows)
{
    struct attend_keys keys = keys_of(f, &f->mine);
    const struct attend_plain plain = {
        .k = b->existing ? f->c->k + rapt__key_at(&f->c->k_stride, b, g, 0) : NULL,
        .v = b->existing && f->out ? f->v + rapt__key_at(&f->a->v, b, g, 0) : NULL,
        .k_row = f->c->k_stride.row,
        .v_row = f->a->v.row,
        .keys = b->existing,
        .far = f->far && b->existing > AHEAD_ROWS && !rapt__third_level_far(),
        .panels = f->mine.keys,
        .rows = f->mine.values,
        .non_finite = f->mine.non_finite,
    };
    keys.plain = &plain;
    fill_rows(f, b, g, 0, rows, f->mine.rows);
    const struct attend call = call_of(f, &keys, f->mine.rows, rows);
    f->kernels->attend(&call);
}

/* The calls in a set, and the keys that their rows see. */
struct call_set {
    int calls, each, rows;           /* `each` rows per call, except perhaps the last */
    const struct visible_keys *keys; /* call i sees keys[begin[i]] .. keys[begin[i + 1] - 1] */
    int begin[SET_CALLS + 1];
};

static int rows_of_call(const struct call_set *s, int i)
{
    return rapt__min(s->rows - i * s->each, s->each);
}

static struct call_set set_of(const struct flash_forward *f, int rows)
{
    int each = rapt__flash_call_rows(f);
    struct call_set s = {
        .calls = rapt__ceil_div(rows, each), .each = each, .rows = rows, .keys = f->mine.visible};
    assert(s.calls <= SET_CALLS);
    for (int i = 0; i < s.calls; i++)
        s.begin[i + 1] =
            s.begin[i] + rapt__visible_keys(f->mine.rows + i * each, rows_of_call(&s, i),
                                            f->mine.visible + s.begin[i]);
    return s;
}

static bool call_sees(const struct call_set *s, int i, int key, int end)
{
    int first = s->begin[i], count = s->begin[i + 1] - first;
    return rapt__next_visible(s->keys + first, count, key, end) < end;
}

/* Finds the first key, at or after `key`, that the rows of a set see, and returns the first key of
   its block. Returns INT32_MAX if the rows see no such key. */
static int next_block(const struct sequence *b, const struct call_set *s, int key)
{
    key = rapt__next_visible(s->keys, s->begin[s->calls], key, b->existing);
    return key < INT32_MAX ? key / ATTEND_BLOCK * ATTEND_BLOCK : key;
}

/* Packs a part: blocks of keys that the rows of a set see, starting with the block at *next. There
   may be gaps between these blocks. They contain at most PART_KEYS keys, from a range of
   PACKED_KEYS keys. Sets *next to the first key of the next block that the rows see, or to
   INT32_MAX after the last block. Returns the end of the part. */
static int pack_part(const struct flash_forward *f, const struct sequence *b, int g,
                     const struct call_set *s, int *next)
{
    int part = *next, end = part;
    for (int left = PART_KEYS / ATTEND_BLOCK; left > 0 && *next < INT32_MAX; left--) {
        if (*next >= part + PACKED_KEYS) break;
        end = *next + ATTEND_BLOCK;
        rapt__flash_pack(f, b, g, *next, end, part, &f->mine);
        *next = next_block(b, s, end);
    }
    return end;
}

void rapt__flash_forward_set(const struct flash_forward *f, const struct sequence *b, int g,
                             int first, int rows)
{
    struct attend_keys keys = keys_of(f, &f->mine);
    size_t workspace = rapt__attend_workspace(f->c->width, f->a->value_width);
    fill_rows(f, b, g, first, rows, f->mine.rows);
    const struct call_set set = set_of(f, rows);
    int next = next_block(b, &set, 0);
    if (next == INT32_MAX) next = 0; /* the rows see no key, but their outputs must be written */
    for (bool resumed = false; next < b->existing; resumed = true) {
        int part = next, end = pack_part(f, b, g, &set, &next);
        keys.first = part;
        for (int i = 0; i < set.calls; i++) {
            const struct attend_row *row = f->mine.rows + i * set.each;
            struct attend call = call_of(f, &keys, row, rows_of_call(&set, i));
            call.workspace += (size_t)i * workspace;
            call.begin = part, call.end = end;
            call.resumed = resumed, call.unfinished = next < b->existing;
            bool unseen = !call_sees(&set, i, part, end);
            if (unseen && call.resumed && call.unfinished) continue;
            f->kernels->attend(&call);
        }
    }
}
