/* forward.c - the flash forward pass: computes out, lse and statistics from projected queries, keys
   and values, or only the statistics for callers that did not save them. Also recomputes weights
   from statistics, and lays out the workspace of the whole flash path.

   A pair is a sequence and a key head. Each thread of the team takes whole pairs, which then stay
   in its caches. Usually, the thread packs the keys and values of a pair and then processes its
   query rows in items; rows of all query heads that share the key head fill tiles together. Pairs
   with few queries and keys are computed in heads.c. If the number of pairs is not a multiple of
   the team's size and there are many rows, the whole team first computes the excess pairs, one at a
   time. */
#include "attention/flash/flash.h"
#include "op/op.h"

#include <string.h>

/* Approximate number of items per thread into which a shared pair with many keys is divided. With
   several small items, a thread that starts late delays the others less. */
enum { ITEMS_EACH = 4 };

bool rapt__flash_supports(const struct projected *c)
{
    return c->kind != ATTEND_NOTHING && !rapt__locality_centered(c->a) && !c->additive &&
           !rapt__talks(c->a);
}

static void lay_out_pair(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    struct packed_pair *p = to;
    bool many = b->longest_keys > PACKED_KEYS;
    size_t panels = rapt__ceil_div_size(many ? PACKED_KEYS : b->longest_keys, LANES);
    size_t calls = many ? SET_CALLS : 1;
    p->keys = rapt__arena_floats(part, panels, LANES * b->width);
    p->values =
        rapt__arena_floats(part, panels, LANES * rapt__round_up_size(b->value_width, LANES));
    p->non_finite = rapt__arena_take(part, panels, 1);
    p->out = rapt__flash_forward_rows(part, b);
    p->kernel =
        rapt__arena_floats(part, rapt__attend_workspace((int)b->width, (int)b->value_width), calls);
    p->rows = rapt__arena_take(part, calls * ATTEND_ROWS, sizeof *p->rows);
    p->visible = many ? rapt__arena_take(part, calls * ATTEND_ROWS, sizeof *p->visible) : NULL;
}

void rapt__flash_forward_layout(struct arena *arena, const struct bounds *b)
{
    struct packed_pair mine;
    rapt__arena_parts(arena, b->team, lay_out_pair, b, &mine, NULL);
}

/* Computes the outputs of rows [first, first + rows) of a pair, which has been packed unless it has
   many keys. */
static void attend_rows(const struct flash_forward *f, const struct sequence *b, int g, int first,
                        int rows)
{
    if (b->existing > PACKED_KEYS)
        rapt__flash_forward_set(f, b, g, first, rows);
    else
        rapt__flash_forward_call(f, b, g, first, rows);
}

/* Returns the number of rows in an item that takes at most `calls` kernel calls, for a pair with
   many keys. With a block mask, it is a multiple of block_queries if possible, because the rows of
   a block mostly see the same keys. */
static int set_rows(const struct flash_forward *f, int calls)
{
    int rows = rapt__flash_call_rows(f) * calls, block = f->a->sparse.block_queries;
    bool blocks = rapt__locality_sparse(f->a) && f->a->sparse.blocks && block <= rows;
    return blocks ? rows / block * block : rows;
}

/* Computes the outputs of item n of a pair. Each item has `rows` rows, except perhaps the last. */
static void attend_item(const struct flash_forward *f, const struct sequence *b, int g, int n,
                        int rows)
{
    int first = n * rows;
    attend_rows(f, b, g, first, rapt__min(b->queries * f->group - first, rows));
}

static void attend_pair(const struct flash_forward *f, const struct sequence *b, int g)
{
    int rows = rapt__flash_call_rows(f);
    int all = b->queries * f->group;
    bool many = b->existing > PACKED_KEYS;
    if (all == 0 || rapt__flash_forward_heads(f, b, g)) return;
    bool plain = all <= rows && b->existing > 0; /* one call reads every key once */
    int64_t tiles = rapt__ceil_div(all, f->kernels->tile_rows);
    rapt__ahead_spread(f->ahead, 2 * tiles * rapt__ceil_div(b->existing, ATTEND_BLOCK) +
                                     (plain ? rapt__ceil_div(b->existing, LANES) : 0));
    if (plain) { /* keys are packed one block at a time */
        rapt__flash_forward_plain(f, b, g, all);
        return;
    }
    if (many)
        rows = set_rows(f, SET_CALLS);
    else
        rapt__flash_pack(f, b, g, 0, b->existing, 0, &f->pair);
    for (int n = 0; n < rapt__ceil_div(all, rows); n++) attend_item(f, b, g, n, rows);
}

/* Sets *rows to the rows to prefetch for a pair. Leaves *rows empty if all rows of the call fit
   into the near caches, if `pair` exceeds the last pair, or if the pair has no keys. */
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

/* Computes the outputs of a pair with the whole team. The rows are divided into items, about the
   same number for each thread. The last items are handed out first, because with a causal mask the
   last rows see the most keys. */
static void share_pair(struct team *team, const struct flash_forward *f, const struct sequence *b,
                       int g)
{
    bool many = b->existing > PACKED_KEYS;
    int all = b->queries * f->group, n;
    int packs = many ? 0 : rapt__ceil_div(b->existing, ATTEND_BLOCK);
    int items = rapt__round_up(rapt__ceil_div(all, ATTEND_ROWS), team->size);
    int rows = rapt__ceil_div(all, items);
    while ((n = rapt__team_take(team)) < packs)
        rapt__flash_pack(f, b, g, n * ATTEND_BLOCK, (n + 1) * ATTEND_BLOCK, 0, &f->pair);
    rapt__team_barrier(team);
    if (many)
        rows = set_rows(f, rapt__max(1, rapt__min(SET_CALLS, items / (ITEMS_EACH * team->size))));
    items = rapt__ceil_div(all, rows);
    while ((n = rapt__team_take(team)) < items) attend_item(f, b, g, items - 1 - n, rows);
    rapt__team_barrier(team);
}

/* Returns the number of pairs, starting with the first, that the team shares. If pairs have many
   rows, this is the remainder after dividing the pairs equally among the threads; otherwise it is
   0. */
static int shared_pairs(const struct flash_forward *f, int team)
{
    int64_t pairs = (int64_t)f->a->batch * f->key_heads;
    bool many = (int64_t)f->a->queries * f->group >= (int64_t)ATTEND_ROWS * team;
    return many ? (int)(pairs % team) : 0;
}

/* Computes the outputs of the first pairs, which the team shares, with the keys packed in thread
   0's memory. Then each thread takes whole pairs and packs their keys in its own memory. */
static void attend_pairs(struct team *team, struct flash_forward *f,
                         const struct packed_pair *first, const struct packed_pair *mine)
{
    int shared = shared_pairs(f, team->size), pair = 0;
    f->mine = *mine, f->pair = *first;
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

/* Returns an arena over the memory after the statistics, for the workspace needed to compute
   them. */
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
    f.statistics = statistics, f.pair = shared, f.mine = mine;
    while (s.existing <= PACKED_KEYS && (n = rapt__team_take(team)) < packs)
        rapt__flash_pack(&f, &s, g, n * ATTEND_BLOCK, (n + 1) * ATTEND_BLOCK, 0, &f.pair);
    rapt__team_barrier(team);
    first += (head - g * f.group) * s.queries;
    while ((n = rapt__team_take(team)) < rapt__ceil_div(rows, ATTEND_ROWS))
        attend_rows(&f, &s, g, first + n * ATTEND_ROWS,
                    rapt__min(rows - n * ATTEND_ROWS, ATTEND_ROWS));
    rapt__team_barrier(team);
    rapt__workspace_end(team, &rest);
    return statistics;
}

/* ---- weights ----

   The weights of some queries of one sequence and head are computed from their statistics, block by
   block as in the backward pass. */

struct flash_weights {
    const struct projected *c;
    const struct kernels *kernels;
    struct sequence b;
    const float *q, *k, *statistics; /* rows of the sequence and head */
    int head, first, rows;
    float *weights;
};

struct weights_part { /* workspace of a thread: a query block and a key block */
    float *q_slots, *q_rows, *key_panels, *weights;
};

static void lay_out_weights(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    struct weights_part *p = to;
    p->q_slots = rapt__arena_floats(part, ATTEND_SLOTS, b->width);
    p->q_rows = rapt__arena_floats(part, ATTEND_ROWS, rapt__round_up_size(b->width, LANES));
    p->key_panels = rapt__arena_floats(part, ATTEND_BLOCK, b->width);
    p->weights = rapt__arena_floats(part, ATTEND_ROWS, ATTEND_BLOCK);
}

static void flash_weights_layout(struct arena *arena, const struct bounds *b)
{
    struct weights_part mine;
    rapt__arena_parts(arena, b->team, lay_out_weights, b, &mine, NULL);
}

void rapt__flash_layout(struct arena *arena, const struct bounds *b)
{
    void (*const layouts[])(struct arena *, const struct bounds *) = {
        rapt__flash_forward_layout, rapt__flash_backward_layout, flash_weights_layout};
    rapt__flash_statistics_layout(arena, b);
    const struct arena before = *arena;
    for (int i = 0; i < 3; i++) {
        struct arena one = before;
        layouts[i](&one, b);
        rapt__arena_either(arena, &one);
    }
}

/* Recomputes the weights of rows [first, first + rows), at most ATTEND_ROWS. */
static void rebuild_rows(const struct flash_weights *w, int first, int rows,
                         const struct weights_part *p)
{
    const struct projected *c = w->c;
    const rapt_stride *k = &c->k_stride;
    struct attend_row row[ATTEND_ROWS];
    struct attend_block block = {.row = row, .rows = rows, .key_width = c->width};
    const struct attend_weights task = {.q_slots = p->q_slots,
                                        .key_panels = p->key_panels,
                                        .statistics = w->statistics + (ptrdiff_t)first * STATISTICS,
                                        .kind = c->kind,
                                        .scale = c->scale,
                                        .cap = c->a->cap,
                                        .weights = p->weights};
    w->kernels->pad_rows(w->q + first * c->q_stride.row, c->q_stride.row, rows, c->width,
                         p->q_rows);
    w->kernels->attend_pack(p->q_rows, rows, c->width, rapt__query_factor(c->scale), p->q_slots);
    memset(row, 0, sizeof row);
    for (int r = 0; r < rows; r++) {
        rapt__mask_row(c->a, &w->b, w->head, first + r, row + r);
        row[r].number = rapt__number_of(c, w->head);
        rapt__bias_row(c, &w->b, w->head, first + r, row + r);
    }
    size_t keys = (size_t)w->b.keys;
    float *to = w->weights + (size_t)(first - w->first) * keys;
    memset(to, 0, (size_t)rows * keys * sizeof *to);
    for (int key = 0; key < w->b.existing; key += ATTEND_BLOCK) {
        int n = rapt__min(w->b.existing - key, ATTEND_BLOCK);
        block.key = key, block.keys = n;
        w->kernels->pack_columns(w->k + key * k->row, k->row, n, c->width, 1, 0,
                                 rapt__ceil_div(n, LANES), p->key_panels);
        w->kernels->attend_weights(&block, &task);
        for (int r = 0; r < rows; r++)
            memcpy(to + (size_t)r * keys + key, p->weights + (ptrdiff_t)r * ATTEND_BLOCK,
                   (size_t)n * sizeof *to);
    }
}

void rapt__flash_weights(struct team *team, const struct projected *c, const float *statistics,
                         int sequence, int head, int first, int rows, float *weights,
                         struct arena *arena)
{
    const rapt_attention *a = c->a;
    const struct bounds bounds = rapt__bounds(c, team->size);
    struct weights_part mine;
    rapt__arena_parts(arena, bounds.team, lay_out_weights, &bounds, &mine, NULL);
    rapt__workspace_begin(team);
    struct sequence b = rapt__sequence(a, sequence);
    int g = head / (a->heads / rapt__key_heads_of(a));
    const struct flash_weights w = {
        .c = c,
        .kernels = rapt__kernels(),
        .b = b,
        .q = c->q + rapt__query_at(&c->q_stride, &b, head, 0),
        .k = c->k + rapt__key_at(&c->k_stride, &b, g, 0),
        .statistics =
            statistics +
            ((size_t)head * (size_t)rapt__query_rows(a) + (size_t)b.query_first) * STATISTICS,
        .head = head,
        .first = first,
        .rows = rows,
        .weights = weights};
    for (int n; (n = rapt__team_take(team)) < rapt__ceil_div(rows, ATTEND_ROWS);)
        rebuild_rows(&w, first + n * ATTEND_ROWS, rapt__min(rows - n * ATTEND_ROWS, ATTEND_ROWS),
                     &mine);
    rapt__team_barrier(team);
}
