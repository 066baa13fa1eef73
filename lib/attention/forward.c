/* forward.c - attention in tiles: keys and values of every sequence and key head are packed once,
   by the whole team; then blocks of query rows are handed out. Rows of all the query heads that
   share a key head fill tiles together. */
#include "attention/core.h"
#include "op/op.h"

struct forward {
    const struct core *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse;
    int key_heads, group; /* query heads per key head */
    int rows;             /* of an item */
    float *keys, *values; /* packed: panels of all sequences and key heads, see keys_at */
    unsigned char *wild;
    float *scratch; /* mine */
};

enum { PACK_PANELS = ATTEND_BLOCK / LANES };

/* First panel of a key head of a sequence. There are as many panels before a sequence as would
   hold its predecessors one by one, without looking at them: rows / 16 + sequences. */
static size_t panel_of(const struct forward *f, const struct sequence *b, int g)
{
    size_t before = (size_t)(b->key_first / LANES + b->index);
    size_t own = (size_t)((b->keys + LANES - 1) / LANES);
    return before * (size_t)f->key_heads + (size_t)g * own;
}

static struct attend_keys keys_at(const struct forward *f, const struct sequence *b, int g)
{
    size_t panel = panel_of(f, b, g), kw = (size_t)f->c->width;
    size_t vw = (size_t)rapt__padded(f->a->value_width);
    return (struct attend_keys){f->keys + panel * LANES * kw, f->values + panel * LANES * vw,
                                f->wild + panel, f->c->width, f->a->value_width};
}

/* Packs some panels of one sequence and key head. */
static void pack_panels(const struct forward *f, const struct sequence *b, int g, int first)
{
    const struct core *c = f->c;
    const rapt_attention *a = f->a;
    size_t panel = panel_of(f, b, g) + (size_t)first, vw = (size_t)rapt__padded(a->value_width);
    int panels = (b->existing + LANES - 1) / LANES - first;
    if (panels > PACK_PANELS) panels = PACK_PANELS;
    f->kernels->pack_columns(c->k + rapt__key_at(&c->k_stride, b, g, 0), c->k_stride.row,
                             b->existing, c->width, 1, first, panels,
                             f->keys + panel * LANES * (size_t)c->width);
    for (int p = 0; p < panels; p++, panel++) {
        int key = (first + p) * LANES, left = b->existing - key;
        f->wild[panel] = f->kernels->pad_rows(f->v + rapt__key_at(&a->v, b, g, key), a->v.row,
                                              left < LANES ? left : LANES, a->value_width,
                                              f->values + panel * LANES * vw);
    }
}

static void pack_all(struct team *team, const struct forward *f)
{
    struct tickets tickets = rapt__tickets(team);
    for (int i = 0; i < f->a->batch; i++) {
        struct sequence b = rapt__sequence(f->a, i);
        for (int g = 0; g < f->key_heads; g++)
            for (int first = 0; first * LANES < b.existing; first += PACK_PANELS)
                if (rapt__mine(&tickets)) pack_panels(f, &b, g, first);
    }
}

/* Rows [first, first + rows) of those of all query heads that share key head g, head by head. */
static void attend_rows(const struct forward *f, const struct sequence *b, int g, int first,
                        int rows)
{
    const rapt_attention *a = f->a;
    struct attend_row row[ATTEND_ROWS];
    struct attend_keys keys = keys_at(f, b, g);
    struct dropout drop = rapt__dropout(a->dropout, 0);
    size_t all = (size_t)rapt__query_rows(a);
    for (int r = 0; r < rows; r++) {
        int h = g * f->group + (first + r) / b->queries, t = (first + r) % b->queries;
        row[r] = (struct attend_row){.q = f->c->q + rapt__query_at(&f->c->q_stride, b, h, t),
                                     .out = f->out + rapt__query_at(&a->out, b, h, t),
                                     .drop_row = (uint64_t)t};
        if (f->lse) row[r].lse = f->lse + (size_t)h * all + (size_t)(b->query_first + t);
        if (drop.below) row[r].drop_key = rapt__attention_drop_key(a, b, h);
        rapt__mask_row(a, b, h, t, row + r);
        if (f->c->relative) row[r].bias = rapt__relative_row(f->c, b, h, t);
    }
    const struct attend attend = {&keys,      row,        rows,      f->c->scale,
                                  drop.below, drop.scale, f->scratch};
    f->kernels->attend(&attend);
}

/* Blocks from the last to the first, as with causality the last have most to do. */
static void attend_all(struct team *team, const struct forward *f)
{
    struct tickets tickets = rapt__tickets(team);
    for (int i = 0; i < f->a->batch; i++) {
        struct sequence b = rapt__sequence(f->a, i);
        int all = b.queries * f->group, last = (all + f->rows - 1) / f->rows - 1;
        for (int g = 0; g < f->key_heads; g++)
            for (int n = last; n >= 0; n--) {
                if (!rapt__mine(&tickets)) continue;
                int first = n * f->rows, left = all - first;
                attend_rows(f, &b, g, first, left < f->rows ? left : f->rows);
            }
    }
}

/* Rows of an item: many, so that keys are read seldom, but enough items for the team. */
static int rows_of_item(const rapt_attention *a, int tile_rows, int team)
{
    int64_t all = (int64_t)rapt__query_rows(a) * a->heads,
            most = ATTEND_ROWS / tile_rows * tile_rows;
    int64_t rows = (all / (4 * (int64_t)team) + tile_rows) / tile_rows * tile_rows;
    return (int)(rows < most ? rows : most);
}

void rapt__tiles_forward(struct team *team, const struct core *c, const float *v, float *out,
                         float *lse, void *scratch)
{
    struct room room;
    const rapt_attention *a = c->a;
    if (!rapt__room(a, team->size, &room)) return;
    const struct kernels *kernels = rapt__kernels();
    float *keys = scratch, *values = keys + room.keys, *mine = values + room.values;
    struct forward f = {.c = c,
                        .a = a,
                        .kernels = kernels,
                        .v = v,
                        .out = out,
                        .lse = lse,
                        .key_heads = rapt__key_heads_of(a),
                        .keys = keys,
                        .values = values,
                        .wild = (unsigned char *)mine};
    f.scratch = mine + room.wild + (size_t)team->rank * room.attend;
    f.group = a->heads / f.key_heads;
    f.rows = rows_of_item(a, kernels->tile_rows, team->size);
    pack_all(team, &f);
    rapt__team_barrier(team);
    attend_all(team, &f);
    rapt__team_barrier(team);
}
