/* forward.c - flash forward: computes out, lse and softmax statistics from projected queries, keys
   and values, or only the statistics for callers that did not keep them.

   The keys and values of a sequence and key head (a pair) are packed in panels, then its query rows
   are processed in items. The rows of all query heads that share the key head fill tiles together.
   Each member of the team takes whole pairs, which then stay in its caches. If the number of pairs
   is not a multiple of the team's size and there are many rows, the whole team first computes the
   excess pairs, one at a time. */
#include "attention/flash/forward.h"
#include "op/op.h"

#include <string.h>

enum { PACK_PANELS = ATTEND_BLOCK / LANES };

bool rapt__flash_supports(const struct projected *c)
{
    const rapt_attention *a = c->a;
    return a->normalizer == RAPT_NORMALIZER_SOFTMAX && !rapt__locality_centered(a) && !c->additive;
}

static void lay_out_pair(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    struct packed_pair *p = to;
    size_t panels = rapt__ceil_div_size(b->longest_keys, LANES);
    p->keys = rapt__arena_floats(part, panels, LANES * b->width);
    p->values =
        rapt__arena_floats(part, panels, LANES * rapt__round_up_size(b->value_width, LANES));
    p->non_finite = rapt__arena_take(part, panels, 1);
    p->out = rapt__flash_forward_rows(part, b);
    p->kernel =
        rapt__arena_floats(part, rapt__attend_workspace((int)b->width, (int)b->value_width), 1);
}

void rapt__flash_forward_layout(struct arena *arena, const struct bounds *b)
{
    struct packed_pair mine;
    rapt__arena_parts(arena, b->team, lay_out_pair, b, &mine, NULL);
}

/* Packs some panels of one sequence and key head. */
static void pack_panels(const struct flash_forward *f, const struct sequence *b, int g, int first)
{
    const struct projected *c = f->c;
    const rapt_attention *a = f->a;
    size_t panel = (size_t)first, vw = (size_t)rapt__padded(a->value_width);
    int panels = rapt__min(rapt__ceil_div(b->existing, LANES) - first, PACK_PANELS);
    f->kernels->pack_columns(c->k + rapt__key_at(&c->k_stride, b, g, 0), c->k_stride.row,
                             b->existing, c->width, 1, first, panels,
                             f->pair.keys + panel * LANES * (size_t)c->width);
    for (int p = 0; p < panels && f->out; p++, panel++) {
        int key = (first + p) * LANES;
        f->pair.non_finite[panel] = f->kernels->pad_rows(
            f->v + rapt__key_at(&a->v, b, g, key), a->v.row, rapt__min(b->existing - key, LANES),
            a->value_width, f->pair.values + panel * LANES * vw);
    }
}

/* Describes the keys and values of a pair in place, and the memory in which one block at a time is
   packed. */
static struct attend_plain plain_of(const struct flash_forward *f, const struct sequence *b, int g)
{
    return (struct attend_plain){
        .k = b->existing ? f->c->k + rapt__key_at(&f->c->k_stride, b, g, 0) : NULL,
        .v = b->existing && f->out ? f->v + rapt__key_at(&f->a->v, b, g, 0) : NULL,
        .k_row = f->c->k_stride.row,
        .v_row = f->a->v.row,
        .keys = b->existing,
        .far = f->far && b->existing > AHEAD_ROWS && !rapt__third_level_far(),
        .panels = f->pair.keys,
        .rows = f->pair.values,
        .non_finite = f->pair.non_finite,
    };
}

/* Computes rows [first, first + rows) of each query head that shares key head g. `plain` means that
   the pair has not been packed. */
static void attend_flash_rows(const struct flash_forward *f, const struct sequence *b, int g,
                              int first, int rows, bool plain)
{
    const rapt_attention *a = f->a;
    struct attend_row row[ATTEND_ROWS];
    struct dropout drop = rapt__dropout(a->dropout, 0);
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
        if (drop.below) row[r].drop_key = rapt__attention_drop_key(a, b, h);
        rapt__mask_row(a, b, h, t, row + r);
        if (f->c->relative) row[r].relative = rapt__relative_row(f->c, b, h, t);
    }
    const struct attend_plain source = plain_of(f, b, g);
    const struct attend_keys keys = {.keys = f->pair.keys,
                                     .values = f->pair.values,
                                     .non_finite = f->pair.non_finite,
                                     .key_width = f->c->width,
                                     .value_width = a->value_width,
                                     .plain = plain ? &source : NULL};
    const struct attend attend = {.keys = &keys,
                                  .row = row,
                                  .rows = rows,
                                  .scale = f->c->scale,
                                  .cap = a->cap,
                                  .drop_below = drop.below,
                                  .drop_scale = drop.scale,
                                  .workspace = f->workspace,
                                  .ahead = f->ahead};
    f->kernels->attend(&attend);
}

/* Computes item n of the rows of a pair. */
static void attend_item(const struct flash_forward *f, const struct sequence *b, int g, int n,
                        int rows)
{
    int first = n * rows;
    attend_flash_rows(f, b, g, first, rapt__min(b->queries * f->group - first, rows), false);
}

static void attend_pair(const struct flash_forward *f, const struct sequence *b, int g)
{
    int rows = ATTEND_ROWS / f->kernels->tile_rows * f->kernels->tile_rows;
    int all = b->queries * f->group;
    if (all == 0 || rapt__flash_forward_heads(f, b, g)) return;
    bool plain = all <= rows && b->existing > 0; /* then every key is read only once */
    int64_t tiles = rapt__ceil_div(all, f->kernels->tile_rows);
    rapt__ahead_spread(f->ahead, 2 * tiles * rapt__ceil_div(b->existing, ATTEND_BLOCK) +
                                     (plain ? rapt__ceil_div(b->existing, LANES) : 0));
    if (plain) { /* packs one block at a time */
        attend_flash_rows(f, b, g, 0, all, true);
        return;
    }
    for (int p = 0; p * LANES < b->existing; p += PACK_PANELS) pack_panels(f, b, g, p);
    for (int n = 0; n < rapt__ceil_div(all, rows); n++) attend_item(f, b, g, n, rows);
}

/* Sets *rows to what a pair reads, or to nothing if the pair does not exist or has no keys. */
static void forward_rows_ahead(const struct flash_forward *f, int pair, struct rows_ahead *rows)
{
    const struct projected *c = f->c;
    rows->parts = rows->at = rows->each = 0;
    if (!f->far || pair >= f->a->batch * f->key_heads) return;
    struct sequence b = rapt__sequence(f->a, pair / f->key_heads);
    if (b.existing == 0) return;
    int g = pair % f->key_heads;
    rapt__ahead_add(rows, c->k + rapt__key_at(&c->k_stride, &b, g, 0), c->k_stride.row, b.existing,
                    c->width);
    if (f->out)
        rapt__ahead_add(rows, f->v + rapt__key_at(&f->a->v, &b, g, 0), f->a->v.row, b.existing,
                        f->a->value_width);
    for (int h = g * f->group; h < (g + 1) * f->group; h++)
        rapt__ahead_add(rows, c->q + rapt__query_at(&c->q_stride, &b, h, 0), c->q_stride.row,
                        b.queries, c->width);
}

/* Computes a pair with the whole team. The rows are divided into items, the same number for each
   member. The last items are handed out first, because with causality the last rows see the most
   keys. */
static void share_pair(struct team *team, const struct flash_forward *f, const struct sequence *b,
                       int g)
{
    int all = b->queries * f->group, packs = rapt__ceil_div(b->existing, ATTEND_BLOCK), n;
    int items = rapt__round_up(rapt__ceil_div(all, ATTEND_ROWS), team->size);
    int rows = rapt__ceil_div(all, items);
    while ((n = rapt__team_take(team)) < packs) pack_panels(f, b, g, n * PACK_PANELS);
    rapt__team_barrier(team);
    items = rapt__ceil_div(all, rows);
    while ((n = rapt__team_take(team)) < items) attend_item(f, b, g, items - 1 - n, rows);
    rapt__team_barrier(team);
}

/* Returns the number of pairs at the beginning that the team shares: the remainder, if there are
   many rows. */
static int shared_pairs(const struct flash_forward *f, int team)
{
    int64_t pairs = (int64_t)f->a->batch * f->key_heads;
    bool many = (int64_t)f->a->queries * f->group >= (int64_t)ATTEND_ROWS * team;
    return many ? (int)(pairs % team) : 0;
}

/* Computes the first, shared pairs with the keys packed in member 0's memory, then the others, each
   packed in the memory of the member that takes it. */
static void attend_pairs(struct team *team, struct flash_forward *f,
                         const struct packed_pair *first, const struct packed_pair *mine)
{
    int shared = shared_pairs(f, team->size), pair = 0;
    f->workspace = mine->kernel, f->pair = *first;
    for (; pair < shared; pair++) {
        struct sequence b = rapt__sequence(f->a, pair / f->key_heads);
        if (b.queries > 0) share_pair(team, f, &b, pair % f->key_heads);
    }
    f->pair = *mine;
    struct tickets tickets =
        rapt__tickets(team, rapt__run_of_pairs(f->a->batch, f->key_heads, team->size));
    for (; pair < f->a->batch * f->key_heads; pair++) {
        if (!rapt__mine(&tickets)) continue;
        struct sequence b = rapt__sequence(f->a, pair / f->key_heads);
        forward_rows_ahead(f, shared + rapt__next_item(&tickets), f->ahead);
        attend_pair(f, &b, pair % f->key_heads);
    }
    rapt__team_barrier(team);
}

static struct flash_forward open_forward(struct team *team, const struct projected *c,
                                         struct arena *arena, struct packed_pair *mine,
                                         struct packed_pair *first)
{
    const struct bounds b = rapt__bounds(c, team->size);
    struct flash_forward f = {
        .c = c, .a = c->a, .kernels = rapt__kernels(), .key_heads = rapt__key_heads_of(c->a)};
    f.group = c->a->heads / f.key_heads, f.far = rapt__flash_rows_far(c, false);
    rapt__arena_parts(arena, b.team, lay_out_pair, &b, mine, first);
    rapt__workspace_begin(team);
    return f;
}

void rapt__flash_forward(struct team *team, const struct projected *c, const float *v, float *out,
                         const rapt_attention_saved *saved, struct arena *arena)
{
    struct packed_pair mine, first;
    struct flash_forward f = open_forward(team, c, arena, &mine, &first);
    struct rows_ahead ahead = {.parts = 0};
    f.v = v, f.out = out, f.lse = saved->lse, f.statistics = saved->statistics, f.ahead = &ahead;
    attend_pairs(team, &f, &first, &mine);
}

float *rapt__flash_statistics_layout(struct arena *arena, const struct bounds *b)
{
    size_t rows = 0;
    if (!rapt__times(b->query_rows, STATISTICS, &rows)) arena->overflow = true;
    return rapt__arena_floats(arena, b->heads, rows);
}

/* Returns an arena of the memory after the statistics, for the workspace that computes them. */
static struct arena arena_after(const struct arena *arena)
{
    struct arena rest = *arena;
    rest.last_red_zone = NULL;
    return rest;
}

const float *rapt__flash_statistics(struct team *team, const struct projected *c,
                                    struct arena *arena)
{
    const struct bounds b = rapt__bounds(c, team->size);
    const rapt_attention_saved saved = {.statistics = rapt__flash_statistics_layout(arena, &b)};
    struct arena rest = arena_after(arena);
    rapt__flash_forward(team, c, NULL, NULL, &saved, &rest);
    rapt__workspace_end(team, &rest);
    return saved.statistics;
}

const float *rapt__flash_statistics_of(struct team *team, const struct projected *c, int sequence,
                                       int head, int first, int rows, struct arena *arena)
{
    const struct bounds b = rapt__bounds(c, team->size);
    float *statistics = rapt__flash_statistics_layout(arena, &b);
    struct arena rest = arena_after(arena);
    struct packed_pair mine, shared;
    struct flash_forward f = open_forward(team, c, &rest, &mine, &shared);
    struct sequence s = rapt__sequence(c->a, sequence);
    int g = head / f.group, packs = rapt__ceil_div(s.existing, ATTEND_BLOCK), n;
    f.statistics = statistics, f.pair = shared, f.workspace = mine.kernel;
    while ((n = rapt__team_take(team)) < packs) pack_panels(&f, &s, g, n * PACK_PANELS);
    rapt__team_barrier(team);
    first += (head - g * f.group) * s.queries;
    while ((n = rapt__team_take(team)) < rapt__ceil_div(rows, ATTEND_ROWS))
        attend_flash_rows(&f, &s, g, first + n * ATTEND_ROWS,
                          rapt__min(rows - n * ATTEND_ROWS, ATTEND_ROWS), false);
    rapt__team_barrier(team);
    rapt__workspace_end(team, &rest);
    return statistics;
}
