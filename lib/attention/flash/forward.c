/* forward.c - attention in tiles. The keys and values of a sequence and key head (a pair) are
   packed, then its query rows are taken in items; rows of all the query heads that share the key
   head fill tiles together. Each member of the team takes whole pairs, which then stay in its
   caches; pairs that do not go round are done by the whole team one at a time. */
#include "attention/projected.h"
#include "op/op.h"

struct forward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse;
    int key_heads, group; /* query heads per key head */
    struct attend_keys keys;
    float *packed_keys, *packed_values; /* of the pair at hand, mine or everybody's */
    unsigned char *non_finite;
    float *workspace; /* mine */
};

enum { PACK_PANELS = ATTEND_BLOCK / LANES };

static int parts(int n, int size)
{
    return (n + size - 1) / size;
}

/* Lets f pack into the area of a member. */
static void use_area(struct forward *f, const struct workspace_sizes *sizes, float *area)
{
    f->packed_keys = area;
    f->packed_values = area + sizes->keys;
    f->non_finite = (unsigned char *)(f->packed_values + sizes->values);
    f->keys = (struct attend_keys){f->packed_keys, f->packed_values, f->non_finite, f->c->width,
                                   f->a->value_width};
}

/* Packs some panels of one sequence and key head. */
static void pack_panels(const struct forward *f, const struct sequence *b, int g, int first)
{
    const struct projected *c = f->c;
    const rapt_attention *a = f->a;
    size_t panel = (size_t)first, vw = (size_t)rapt__padded(a->value_width);
    int panels = parts(b->existing, LANES) - first;
    if (panels > PACK_PANELS) panels = PACK_PANELS;
    f->kernels->pack_columns(c->k + rapt__key_at(&c->k_stride, b, g, 0), c->k_stride.row,
                             b->existing, c->width, 1, first, panels,
                             f->packed_keys + panel * LANES * (size_t)c->width);
    for (int p = 0; p < panels; p++, panel++) {
        int key = (first + p) * LANES, left = b->existing - key;
        f->non_finite[panel] = f->kernels->pad_rows(f->v + rapt__key_at(&a->v, b, g, key), a->v.row,
                                                    left < LANES ? left : LANES, a->value_width,
                                                    f->packed_values + panel * LANES * vw);
    }
}

/* Rows [first, first + rows) of those of all query heads that share key head g, head by head. */
static void attend_rows(const struct forward *f, const struct sequence *b, int g, int first,
                        int rows)
{
    const rapt_attention *a = f->a;
    struct attend_row row[ATTEND_ROWS];
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
    const struct attend attend = {&f->keys,   row,        rows,        f->c->scale,
                                  drop.below, drop.scale, f->workspace};
    f->kernels->attend(&attend);
}

/* Item n of the rows of a pair. */
static void attend_item(const struct forward *f, const struct sequence *b, int g, int n, int rows)
{
    int first = n * rows, left = b->queries * f->group - first;
    attend_rows(f, b, g, first, left < rows ? left : rows);
}

static void do_pair(const struct forward *f, const struct sequence *b, int g)
{
    int rows = ATTEND_ROWS / f->kernels->tile_rows * f->kernels->tile_rows;
    for (int p = 0; p * LANES < b->existing; p += PACK_PANELS) pack_panels(f, b, g, p);
    for (int n = 0; n < parts(b->queries * f->group, rows); n++) attend_item(f, b, g, n, rows);
}

static void fetch_pair(const struct forward *f, int pair)
{
    if (pair >= f->a->batch * f->key_heads) return;
    const struct projected *c = f->c;
    struct sequence b = rapt__sequence(f->a, pair / f->key_heads);
    int g = pair % f->key_heads;
    rapt__fetch_rows(c->k + rapt__key_at(&c->k_stride, &b, g, 0), c->k_stride.row, b.existing,
                     c->width);
    rapt__fetch_rows(f->v + rapt__key_at(&f->a->v, &b, g, 0), f->a->v.row, b.existing,
                     f->a->value_width);
    for (int h = g * f->group; h < (g + 1) * f->group; h++)
        rapt__fetch_rows(c->q + rapt__query_at(&c->q_stride, &b, h, 0), c->q_stride.row, b.queries,
                         c->width);
}

/* The same by the whole team: as many items for each; from the last to the first, as with
   causality the last have most to do. */
static void share_pair(struct team *team, const struct forward *f, const struct sequence *b, int g)
{
    int all = b->queries * f->group, packs = parts(b->existing, ATTEND_BLOCK), n;
    int items = parts(parts(all, ATTEND_ROWS), team->size) * team->size, rows = parts(all, items);
    while ((n = rapt__team_take(team)) < packs) pack_panels(f, b, g, n * PACK_PANELS);
    rapt__team_barrier(team);
    items = parts(all, rows);
    while ((n = rapt__team_take(team)) < items) attend_item(f, b, g, items - 1 - n, rows);
    rapt__team_barrier(team);
}

/* How many pairs, the first ones, the team shares: what does not go round, if rows are many. */
static int shared_pairs(const struct forward *f, int team)
{
    int64_t pairs = (int64_t)f->a->batch * f->key_heads;
    bool many = (int64_t)f->a->queries * f->group >= (int64_t)ATTEND_ROWS * team;
    return many ? (int)(pairs % team) : 0;
}

void rapt__flash_forward(struct team *team, const struct projected *c, const float *v, float *out,
                         float *lse, void *workspace)
{
    struct workspace_sizes sizes;
    const rapt_attention *a = c->a;
    if (!rapt__workspace_of(a, team->size, &sizes)) return;
    float *mine = (float *)workspace + (size_t)team->rank * sizes.member;
    struct forward f = {.c = c,
                        .a = a,
                        .kernels = rapt__kernels(),
                        .v = v,
                        .out = out,
                        .lse = lse,
                        .key_heads = rapt__key_heads_of(a),
                        .workspace = mine + sizes.packed};
    f.group = a->heads / f.key_heads;
    int shared = shared_pairs(&f, team->size), pair = 0;
    use_area(&f, &sizes, workspace);
    for (; pair < shared; pair++) {
        struct sequence b = rapt__sequence(a, pair / f.key_heads);
        if (b.queries > 0) share_pair(team, &f, &b, pair % f.key_heads);
    }
    use_area(&f, &sizes, mine);
    struct tickets tickets = rapt__tickets(team);
    for (; pair < a->batch * f.key_heads; pair++) {
        if (!rapt__mine(&tickets)) continue;
        struct sequence b = rapt__sequence(a, pair / f.key_heads);
        fetch_pair(&f, pair + team->size);
        do_pair(&f, &b, pair % f.key_heads);
    }
    rapt__team_barrier(team);
}
