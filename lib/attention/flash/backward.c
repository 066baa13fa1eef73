/* backward.c - the flash backward pass: adds to the gradients in struct projected_gradients. A pair
   (one sequence and key head) is divided into a table of blocks. A thread of the team takes a block
   of keys and processes all queries against it. The order of every sum does not depend on which
   thread computes which block (backward_blocks.c). Pairs with few queries and keys are not divided
   into blocks (heads.c). If there are many pairs, each thread takes whole pairs. If there are few,
   the team shares one pair at a time. Pairs that share a bias must add to its gradient in order, so
   either one thread computes them all, or the team computes them one after another. If the
   workspace has room for the query blocks of a long pair only once, not once per thread, the team
   shares that pair.

   Rows of a relative bias overlap, because many combinations of a query and a key have the same
   distance s - position. The gradient of the bias is therefore summed first within each pair, by
   one thread, and then over the sequences. */
#include "attention/flash/flash.h"

#include <string.h>

/* ---- gradients of a normalizer's learned parameters, one for each head ----

   A sink is a key with the value 0, so its dp is 0. The gradient of its logit is therefore the sum
   over the queries of -p delta. Here p is the weight of the sink, computed from the statistics that
   forward saved, and delta = out.dout. The gradient of a sigmoid's bias is the sum of all ds.
   Blocks sum ds row by row, in the order of keys. One thread then sums the rows of a head, in the
   order of sequences and queries. */

/* Lays out the sums of all rows, [H][query rows]. Returns NULL unless the gradients of the learned
   parameters need these sums. */
static float *lay_out_numbers(struct arena *arena, const struct bounds *b)
{
    bool summed = rapt__normalizer_kind(b->a->normalizer) == ATTEND_SIGMOID;
    return summed ? rapt__arena_floats(arena, b->heads, b->query_rows) : NULL;
}

float *rapt__flash_row_sums(const struct flash_backward *f, const struct sequence *b, int h,
                            int first)
{
    size_t rows = (size_t)rapt__query_rows(f->a);
    if (!f->row_sums) return NULL;
    return f->row_sums + (size_t)h * rows + (size_t)(b->query_first + first);
}

float *rapt__flash_forget_sums(const struct flash_backward *f, const struct sequence *b, int h)
{
    if (!f->d->forget_keys) return NULL;
    return f->d->forget_keys + (size_t)h * (size_t)rapt__key_rows(f->a) + (size_t)b->key_first;
}

/* Returns the gradient of a sink's logit, summed over the queries of a sequence. `scale` is the
   factor to apply to the maxima in the statistics and to the sink's score. */
static double sink_gradient(const struct flash_backward *f, const struct sequence *b, int h,
                            float scale)
{
    const rapt_attention *a = f->a;
    if (b->queries == 0) return 0; /* statistics may be NULL */
    size_t at = (size_t)h * (size_t)rapt__query_rows(a) + (size_t)b->query_first;
    const float *statistics = f->statistics + at * STATISTICS;
    double score = (double)rapt__sink_score(rapt__number_of(f->c, h), scale), sum = 0;
    for (int t = 0; t < b->queries; t++, statistics += STATISTICS) {
        double max = (double)statistics[0], l = (double)statistics[1];
        if (l == 0) continue; /* fully masked */
        ptrdiff_t out = rapt__query_at(&a->out, b, h, t);
        float delta = f->kernels->dot(f->out + out, f->dout + out, a->value_width);
        sum -= rapt__exp((double)scale * (score - max)) / l * (double)delta;
    }
    return sum;
}

static double number_gradient(const struct flash_backward *f, int h)
{
    float scale = rapt__statistics_scale(f->c->scale, f->a->cap, rapt__biased(f->c));
    double sum = 0;
    for (int i = 0; i < f->a->batch; i++) {
        struct sequence b = rapt__sequence(f->a, i);
        const float *rows = rapt__flash_row_sums(f, &b, h, 0);
        bool summed = f->c->kind == ATTEND_SIGMOID;
        for (int t = 0; summed && t < b.queries; t++) sum += (double)rows[t];
        if (!summed) sum += sink_gradient(f, &b, h, scale);
    }
    return sum;
}

/* Adds the gradients to the caller's array, once all blocks are done. */
static void add_numbers(struct team *team, const struct flash_backward *f)
{
    for (int h; (h = rapt__team_take(team)) < f->a->heads;)
        f->d->numbers[h] += (float)number_gradient(f, h);
    rapt__team_barrier(team);
}

/* ---- blocks ---- */

struct backward_workspace {
    float *relative;            /* sums of the gradients of the relative bias, or NULL */
    float *numbers;             /* sums for the gradients of learned parameters, or NULL */
    struct query_blocks shared; /* if `many`: the query blocks of a pair that the team shares */
    bool many;                  /* the team shares pairs with more than OWN_BLOCKS query blocks */
    struct backward_part mine;
};

/* Lays out the workspace. `first` receives thread 0's part and may be NULL. */
static void lay_out_backward(struct arena *arena, const struct bounds *b,
                             struct backward_workspace *w, struct backward_part *first)
{
    w->relative = rapt__relative_sums_layout(arena, b);
    w->numbers = lay_out_numbers(arena, b);
    w->many = rapt__flash_shared_blocks(arena, b, &w->shared);
    rapt__arena_parts(arena, b->team, rapt__flash_backward_part, b, &w->mine, first);
}

void rapt__flash_backward_layout(struct arena *arena, const struct bounds *b)
{
    struct backward_workspace w;
    lay_out_backward(arena, b, &w, NULL);
}

static struct backward_pair pair_of(const struct flash_backward *f, int index, int g)
{
    struct backward_pair p = {.f = f, .b = rapt__sequence(f->a, index), .g = g};
    p.per_head = rapt__ceil_div(p.b.queries, ATTEND_ROWS);
    p.blocks = p.per_head * f->group;
    return p;
}

static int key_blocks_of(const struct backward_pair *p)
{
    return rapt__ceil_div(p->b.existing, ATTEND_BLOCK);
}

/* Returns the number of register tiles of a pair: the tiles for scores, for their gradients and for
   the gradients of queries, plus the tiles for the gradients of keys and values. */
static int64_t tiles_of_pair(const struct backward_pair *p)
{
    int rows = p->f->kernels->tile_rows;
    int64_t queries = rapt__ceil_div(p->b.queries * p->f->group, rows),
            keys = rapt__ceil_div(p->b.existing, rows);
    return 3 * queries * key_blocks_of(p) + 2 * keys * p->blocks;
}

static void backward_pair_alone(const struct backward_pair *p)
{
    if (rapt__flash_backward_heads(p)) return;
    rapt__ahead_spread(p->ahead, tiles_of_pair(p));
    for (int i = 0; i < p->blocks; i++) rapt__flash_pack_queries(p, i);
    for (int j = 0; j < key_blocks_of(p); j++) rapt__flash_backward_keys(p, j);
    for (int i = 0; i < p->blocks; i++) rapt__flash_add_dq(p, i);
}

/* Computes the gradients of a pair with the whole team. Key blocks are handed out in order, so a
   thread waits only for blocks that are already being computed. */
static void backward_pair_shared(struct team *team, const struct backward_pair *p)
{
    int n;
    while ((n = rapt__team_take(team)) < p->blocks) rapt__flash_pack_queries(p, n);
    rapt__team_barrier(team);
    while ((n = rapt__team_take(team)) < key_blocks_of(p)) rapt__flash_backward_keys(p, n);
    rapt__team_barrier(team);
    while ((n = rapt__team_take(team)) < p->blocks) rapt__flash_add_dq(p, n);
    rapt__team_barrier(team);
}

/* Groups of pairs that add to the same bias gradients and must therefore be computed in order. A
   group contains the pairs of one sequence or all sequences, and of one key head or all key
   heads. */
struct pair_groups {
    int sequences, heads; /* the number of groups is their product */
};

static struct pair_groups pair_groups_of(const struct flash_backward *f)
{
    const rapt_stride *s = &f->a->mask.bias_stride;
    return (struct pair_groups){.sequences = f->d->bias && s->batch == 0 ? 1 : f->a->batch,
                                .heads = f->d->bias && s->head == 0 ? 1 : f->key_heads};
}

/* Returns true if each thread should take whole groups: if there are enough of them, or if
   sequences have at most one block of keys. */
static bool whole_groups(const struct flash_backward *f, const struct pair_groups *groups, int team)
{
    int64_t count = (int64_t)groups->sequences * groups->heads;
    return count >= (ptrdiff_t)2 * team || f->a->keys <= ATTEND_BLOCK;
}

/* Sets *rows to the rows that a pair reads or adds to, so that they can be prefetched. Leaves *rows
   empty if the rows of all pairs fit into the near caches, if `pair` exceeds the last pair, or if
   the pair has no keys. Outputs are among these rows only if there are several blocks of keys. */
static void backward_rows_ahead(const struct flash_backward *f, int pair, struct rows_ahead *rows)
{
    const struct projected *c = f->c;
    const rapt_attention *a = f->a;
    rows->parts = rows->at = rows->each = 0;
    if (!f->far || pair >= a->batch * f->key_heads) return;
    struct sequence b = rapt__sequence(a, pair / f->key_heads);
    if (b.existing == 0) return;
    int g = pair % f->key_heads, kw = c->width, vw = a->value_width;
    ptrdiff_t k = rapt__key_at(&c->k_stride, &b, g, 0), v = rapt__key_at(&a->v, &b, g, 0);
    rapt__ahead_add(rows, c->k + k, c->k_stride.row, b.existing, kw);
    rapt__ahead_add(rows, f->v + v, a->v.row, b.existing, vw);
    if (f->d->k) rapt__ahead_add(rows, f->d->k + k, c->k_stride.row, b.existing, kw);
    if (f->d->v) rapt__ahead_add(rows, f->d->v + v, a->v.row, b.existing, vw);
    for (int h = g * f->group; h < (g + 1) * f->group; h++) {
        ptrdiff_t q = rapt__query_at(&c->q_stride, &b, h, 0),
                  out = rapt__query_at(&a->out, &b, h, 0);
        rapt__ahead_add(rows, c->q + q, c->q_stride.row, b.queries, kw);
        if (f->d->q) rapt__ahead_add(rows, f->d->q + q, c->q_stride.row, b.queries, kw);
        if (b.existing > ATTEND_BLOCK)
            rapt__ahead_add(rows, f->out + out, a->out.row, b.queries, vw);
        rapt__ahead_add(rows, f->dout + out, a->out.row, b.queries, vw);
    }
}

/* Returns true if the query blocks of a pair fit only into the memory that the team shares. */
static bool has_many_blocks(const struct flash_backward *f, const struct backward_pair *p)
{
    return f->many && p->blocks > OWN_BLOCKS;
}

static void backward_alone(struct team *team, const struct flash_backward *f)
{
    struct tickets tickets =
        rapt__tickets(team, rapt__run_of_pairs(f->a->batch, f->key_heads, team->size));
    for (int i = 0; i < f->a->batch; i++)
        for (int g = 0; g < f->key_heads; g++) {
            if (!rapt__mine(&tickets)) continue;
            struct backward_pair p = pair_of(f, i, g);
            if (has_many_blocks(f, &p)) continue;
            struct rows_ahead ahead;
            backward_rows_ahead(f, rapt__next_item(&tickets), &ahead);
            p.ahead = &ahead;
            backward_pair_alone(&p);
        }
    rapt__team_barrier(team);
}

static void backward_groups(struct team *team, const struct flash_backward *f,
                            const struct pair_groups *groups)
{
    int heads = groups->heads, sequences = groups->sequences;
    for (int n; (n = rapt__team_take(team)) < sequences * heads;)
        for (int i = n / heads; i < f->a->batch; i += sequences)
            for (int g = n % heads; g < f->key_heads; g += heads) {
                struct backward_pair p = pair_of(f, i, g);
                backward_pair_alone(&p);
            }
    rapt__team_barrier(team);
}

/* Computes the gradients of pairs with the whole team, one pair after another: all pairs, or only
   those with many blocks. */
static void backward_together(struct team *team, const struct flash_backward *f, bool all)
{
    for (int i = 0; i < f->a->batch; i++)
        for (int g = 0; g < f->key_heads; g++) {
            struct backward_pair p = pair_of(f, i, g);
            if (all || has_many_blocks(f, &p)) backward_pair_shared(team, &p);
        }
    rapt__team_barrier(team);
}

static float *zeroed(struct team *team, float *x, size_t n)
{
    size_t begin, end;
    rapt__team_share(team, n, LANES, &begin, &end);
    if (begin < end) memset(x + begin, 0, (end - begin) * sizeof *x);
    rapt__team_barrier(team);
    return x;
}

void rapt__flash_backward(struct team *team, const struct projected *c, const float *v,
                          const float *out, const float *statistics, const float *dout,
                          const struct projected_gradients *d, struct arena *arena)
{
    const struct bounds b = rapt__bounds(c, team->size);
    struct backward_workspace w;
    struct backward_part first;
    struct flash_backward f = {.c = c,
                               .a = c->a,
                               .kernels = rapt__kernels(),
                               .v = v,
                               .out = out,
                               .statistics = statistics,
                               .dout = dout,
                               .d = d,
                               .key_heads = rapt__key_heads_of(c->a),
                               .far = rapt__flash_rows_far(c, true)};
    lay_out_backward(arena, &b, &w, &first);
    float *relative = w.relative;
    rapt__workspace_begin(team);
    if (d->relative) f.relative = zeroed(team, relative, b.heads * (b.query_rows + b.key_rows));
    f.row_sums = d->forget_rows;
    if (d->numbers && w.numbers && !f.row_sums)
        f.row_sums = zeroed(team, w.numbers, b.heads * b.query_rows);
    const struct pair_groups groups = pair_groups_of(&f);
    bool distances = d->by_query || d->by_key || c->distance_weights;
    bool alone =
        team->size == 1 || f.relative || distances || whole_groups(&f, &groups, team->size);
    bool pairs_alone = groups.sequences == c->a->batch && groups.heads == f.key_heads;
    if (w.many && !pairs_alone) alone = false; /* pairs that share a bias must be added in order */
    f.group = c->a->heads / f.key_heads;
    f.keys = w.mine.keys, f.many = w.many;
    if (w.many || !alone) {
        f.queries = w.many ? w.shared : first.queries;
        backward_together(team, &f, !alone);
    }
    f.queries = w.mine.queries;
    if (alone && (team->size == 1 || pairs_alone))
        backward_alone(team, &f);
    else if (alone)
        backward_groups(team, &f, &groups);
    if (d->relative)
        rapt__relative_sums_add(team, c->a, relative, c->relative_row, c->relative_zero,
                                d->relative);
    if (d->numbers) add_numbers(team, &f);
}
