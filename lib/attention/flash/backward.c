/* backward.c - attention backward in tiles. One sequence and key head (a pair) is a table of
   blocks: 56 queries of one query head by 128 keys. A member of the team takes a column, all
   queries against its keys, and adds up dk and dv there; dq of a block of queries is added to by
   the columns one after the other. So every sum has its order, whoever computes it. With many
   pairs each member takes whole pairs; with few the team takes one pair at a time, and a column
   waits until the one before it has left a block of queries.

   Rows of a relative bias overlap, as element s - place is the same for many queries and keys. So
   its gradient is added up pair by pair, each by one member, and then over the sequences. */
#include "attention/projected.h"
#include "op/op.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

struct backward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v, *out, *lse, *dout;
    const struct projected_gradients *d;
    float *relative; /* gradients of it: [H][query rows + key rows], see relative_of */
    int key_heads, group;
    struct workspace_sizes sizes;
    float *chunks; /* of the pair: mine or, when the team shares a pair, everybody's */
    float *block;  /* mine */
};

struct pair { /* a sequence and key head */
    const struct backward *f;
    struct sequence b;
    int g;
    int per_head, chunks; /* blocks of queries: of one query head, of all of them */
};

struct chunk { /* a block of queries */
    int head, first, rows;
    atomic_int *done; /* columns that have added to dq */
    int *non_finite;
    float *q_slots, *dout_slots, *q_rows, *dout_rows, *dq, *lse, *delta;
};

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

static struct pair pair_of(const struct backward *f, int index, int g)
{
    struct pair p = {.f = f, .b = rapt__sequence(f->a, index), .g = g};
    p.per_head = (p.b.queries + ATTEND_ROWS - 1) / ATTEND_ROWS;
    p.chunks = p.per_head * f->group;
    return p;
}

static struct chunk chunk_of(const struct pair *p, int i)
{
    const struct backward *f = p->f;
    size_t kw = (size_t)rapt__padded(f->c->width), vw = (size_t)rapt__padded(f->a->value_width);
    float *at = f->chunks + (size_t)i * f->sizes.chunk;
    struct chunk c = {.head = p->g * f->group + i / p->per_head,
                      .first = i % p->per_head * ATTEND_ROWS};
    c.rows = lesser(p->b.queries - c.first, ATTEND_ROWS);
    c.done = (atomic_int *)(void *)at;
    c.non_finite = (int *)(void *)(at + LANES / 2);
    c.q_rows = at + LANES;
    c.dout_rows = c.q_rows + ATTEND_ROWS * kw;
    c.dq = c.dout_rows + ATTEND_ROWS * vw;
    c.lse = c.dq + ATTEND_ROWS * kw;
    c.delta = c.lse + ATTEND_ROWS;
    c.q_slots = c.delta + ATTEND_ROWS;
    c.dout_slots = c.q_slots + (size_t)ATTEND_SLOTS * (size_t)f->c->width;
    return c;
}

/* Copies a block of queries and what belongs to them; dq = 0. */
static void pack_chunk(const struct pair *p, int i)
{
    const struct backward *f = p->f;
    const rapt_attention *a = f->a;
    struct chunk c = chunk_of(p, i);
    const float *dout = f->dout + rapt__query_at(&a->out, &p->b, c.head, c.first);
    const float *out = f->out + rapt__query_at(&a->out, &p->b, c.head, c.first);
    const float *lse = f->lse + (size_t)c.head * (size_t)rapt__query_rows(a) +
                       (size_t)(p->b.query_first + c.first);
    atomic_init(c.done, 0);
    const rapt_stride *stride = &f->c->q_stride;
    *c.non_finite = f->kernels->pad_rows(f->c->q + rapt__query_at(stride, &p->b, c.head, c.first),
                                         stride->row, c.rows, f->c->width, c.q_rows);
    *c.non_finite |= f->kernels->pad_rows(dout, a->out.row, c.rows, a->value_width, c.dout_rows);
    memset(c.dq, 0, (size_t)(c.rows * rapt__padded(f->c->width)) * sizeof(float));
    for (int r = 0; r < c.rows; r++) {
        c.lse[r] = lse[r];
        c.delta[r] = f->kernels->dot(dout + r * a->out.row, out + r * a->out.row, a->value_width);
    }
    f->kernels->attend_pack(c.q_rows, c.rows, f->c->width, f->c->scale < 0 ? -1.f : 1.f, c.q_slots);
    f->kernels->attend_pack(c.dout_rows, c.rows, a->value_width, 1, c.dout_slots);
}

/* Adds dq of a block of queries to the caller's. */
static void finish_chunk(const struct pair *p, int i)
{
    const struct projected *projected = p->f->c;
    const rapt_stride *stride = &projected->q_stride;
    struct chunk c = chunk_of(p, i);
    int width = rapt__padded(projected->width);
    if (!p->f->d->q) return;
    float *to = p->f->d->q + rapt__query_at(stride, &p->b, c.head, c.first);
    for (int r = 0; r < c.rows; r++)
        p->f->kernels->add(to + r * stride->row, c.dq + r * width, (size_t)projected->width);
}

struct column { /* a block of keys */
    int key, keys;
    bool non_finite;
    float *key_panels, *value_panels, *key_rows, *dk, *dv, *weights, *dscores;
};

static struct column pack_column(const struct pair *p, int j)
{
    const struct backward *f = p->f;
    const rapt_attention *a = f->a;
    const rapt_stride *stride = &f->c->k_stride;
    int width = f->c->width;
    size_t kw = (size_t)rapt__padded(width), vw = (size_t)rapt__padded(a->value_width);
    struct column c = {.key = j * ATTEND_BLOCK};
    c.keys = lesser(p->b.existing - c.key, ATTEND_BLOCK);
    c.key_panels = f->block;
    c.value_panels = c.key_panels + ATTEND_BLOCK * width;
    c.key_rows = c.value_panels + ATTEND_BLOCK * a->value_width;
    c.dk = c.key_rows + ATTEND_BLOCK * kw;
    c.dv = c.dk + ATTEND_BLOCK * kw;
    c.weights = c.dv + ATTEND_BLOCK * vw;
    c.dscores = c.weights + ATTEND_ROWS * ATTEND_BLOCK;
    const float *k = f->c->k + rapt__key_at(stride, &p->b, p->g, c.key);
    const float *v = f->v + rapt__key_at(&a->v, &p->b, p->g, c.key);
    int panels = (c.keys + LANES - 1) / LANES;
    f->kernels->pack_columns(k, stride->row, c.keys, width, 1, 0, panels, c.key_panels);
    f->kernels->pack_columns(v, a->v.row, c.keys, a->value_width, 1, 0, panels, c.value_panels);
    c.non_finite = f->kernels->pad_rows(k, stride->row, c.keys, width, c.key_rows);
    memset(c.dk, 0, (size_t)c.keys * kw * sizeof(float));
    memset(c.dv, 0, (size_t)c.keys * vw * sizeof(float));
    return c;
}

/* The gradient of a relative bias of one sequence and head: element s - place + reach, where
   reach is what the farthest place is from key 0. */
static int locality_of(const struct backward *f, const struct sequence *b)
{
    return (f->a->mask.causal_alignment == RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT ? b->queries
                                                                            : b->existing) -
           1;
}

static float *relative_base(const struct backward *f, const struct sequence *b, int h)
{
    size_t rows = (size_t)rapt__query_rows(f->a) + (size_t)rapt__key_rows(f->a);
    return f->relative + (size_t)h * rows + (size_t)b->query_first + (size_t)b->key_first;
}

static float *relative_of(const struct backward *f, const struct sequence *b, int h, int t)
{
    return relative_base(f, b, h) + (locality_of(f, b) - (int)rapt__query_position(f->a, b, t));
}

/* The rows of a chunk; false if none of them sees a key of the column. */
static bool look(const struct pair *p, const struct chunk *c, const struct column *column,
                 struct attend_row *row)
{
    const struct backward *f = p->f;
    const rapt_attention *a = f->a;
    bool any = false;
    for (int r = 0; r < c->rows; r++) {
        row[r] = (struct attend_row){.drop_row = (uint64_t)(c->first + r)};
        rapt__mask_row(a, &p->b, c->head, c->first + r, row + r);
        if (a->dropout > 0) row[r].drop_key = rapt__attention_drop_key(a, &p->b, c->head);
        if (f->d->bias && row[r].bias) row[r].dbias = f->d->bias + (row[r].bias - a->mask.bias);
        if (f->c->relative) {
            row[r].bias = rapt__relative_row(f->c, &p->b, c->head, c->first + r);
            if (f->relative) row[r].dbias = relative_of(f, &p->b, c->head, c->first + r);
        }
        if (c->lse[r] == -INFINITY) row[r].low = row[r].high = 0;
        any |= row[r].low < column->key + column->keys && row[r].high > column->key;
    }
    return any;
}

static void wait_until(const atomic_int *done, int column)
{
    for (int i = 0; atomic_load_explicit(done, memory_order_acquire) != column; i++)
        rapt__team_rest(i);
}

/* p, ds, dk, dv and dbias of a block of the table. */
static void do_keys(const struct backward *f, const struct attend_block *block,
                    const struct chunk *c, const struct column *column)
{
    struct dropout drop = rapt__dropout(f->a->dropout, 0);
    const struct attend_weights weights = {.q_slots = c->q_slots,
                                           .key_panels = column->key_panels,
                                           .lse = c->lse,
                                           .scale = f->c->scale,
                                           .weights = column->weights};
    const struct attend_dkv dkv = {.value_width = f->a->value_width,
                                   .dout_slots = c->dout_slots,
                                   .value_panels = column->value_panels,
                                   .q_rows = c->q_rows,
                                   .dout_rows = c->dout_rows,
                                   .delta = c->delta,
                                   .drop_below = drop.below,
                                   .drop_scale = drop.scale,
                                   .dscores = column->dscores,
                                   .dk = column->dk,
                                   .dv = column->dv};
    f->kernels->attend_dkv(block, &weights, &dkv);
}

/* One block of the table: queries i, keys j. */
static void do_block(const struct pair *p, int i, int j, const struct column *column)
{
    const struct backward *f = p->f;
    struct attend_row row[ATTEND_ROWS];
    struct chunk c = chunk_of(p, i);
    bool any = look(p, &c, column, row);
    const struct attend_block block = {.row = row,
                                       .rows = c.rows,
                                       .key = column->key,
                                       .keys = column->keys,
                                       .key_width = f->c->width,
                                       .non_finite = *c.non_finite || column->non_finite};
    const struct attend_dq dq = {column->key_rows, column->dscores, c.dq};
    if (any) do_keys(f, &block, &c, column);
    wait_until(c.done, j);
    if (any && f->d->q) f->kernels->attend_dq(&block, &dq);
    atomic_store_explicit(c.done, j + 1, memory_order_release);
}

static void do_column(const struct pair *p, int j)
{
    const struct backward *f = p->f;
    const rapt_attention *a = f->a;
    const struct projected_gradients *d = f->d;
    struct column c = pack_column(p, j);
    int kw = rapt__padded(f->c->width), vw = rapt__padded(a->value_width);
    for (int i = 0; i < p->chunks; i++) do_block(p, i, j, &c);
    for (int s = 0; s < c.keys; s++) {
        ptrdiff_t k = rapt__key_at(&f->c->k_stride, &p->b, p->g, c.key + s);
        ptrdiff_t v = rapt__key_at(&a->v, &p->b, p->g, c.key + s);
        if (d->k) f->kernels->add(d->k + k, c.dk + s * kw, (size_t)f->c->width);
        if (d->v) f->kernels->add(d->v + v, c.dv + s * vw, (size_t)a->value_width);
    }
}

static int columns_of(const struct pair *p)
{
    return (p->b.existing + ATTEND_BLOCK - 1) / ATTEND_BLOCK;
}

static void do_pair(const struct pair *p)
{
    for (int i = 0; i < p->chunks; i++) pack_chunk(p, i);
    for (int j = 0; j < columns_of(p); j++) do_column(p, j);
    for (int i = 0; i < p->chunks; i++) finish_chunk(p, i);
}

/* The same by the whole team. Columns are taken in order, so the one waited for is being done. */
static void share_pair(struct team *team, const struct pair *p)
{
    int n;
    while ((n = rapt__team_take(team)) < p->chunks) pack_chunk(p, n);
    rapt__team_barrier(team);
    while ((n = rapt__team_take(team)) < columns_of(p)) do_column(p, n);
    rapt__team_barrier(team);
    while ((n = rapt__team_take(team)) < p->chunks) finish_chunk(p, n);
    rapt__team_barrier(team);
}

/* Whether members take whole pairs. A bias that pairs share must get its gradient pair by pair. */
static bool whole_pairs(const struct backward *f, int team)
{
    const rapt_attention *a = f->a;
    const rapt_stride *s = &a->mask.bias_stride;
    int64_t pairs = (int64_t)a->batch * f->key_heads;
    bool shared =
        f->d->bias && ((a->batch > 1 && s->batch == 0) || (f->key_heads > 1 && s->head == 0));
    return team == 1 || f->relative || (!shared && (pairs >= 2 * team || a->keys <= ATTEND_BLOCK));
}

/* Over the sequences, in their order; a head is one member's. */
static void sum_relative(struct team *team, const struct backward *f)
{
    const struct projected *c = f->c;
    for (int h; (h = rapt__team_take(team)) < f->a->heads;)
        for (int i = 0; i < f->a->batch; i++) {
            struct sequence b = rapt__sequence(f->a, i);
            float *to = f->d->relative + (size_t)h * (size_t)c->relative_row + c->relative_zero;
            if (b.queries > 0 && b.existing > 0)
                f->kernels->add(to - locality_of(f, &b), relative_base(f, &b, h),
                                (size_t)(b.queries + b.existing - 1));
        }
    rapt__team_barrier(team);
}

static void fetch_pair(const struct backward *f, int pair)
{
    const struct projected *c = f->c;
    const rapt_attention *a = f->a;
    if (pair >= a->batch * f->key_heads) return;
    struct sequence b = rapt__sequence(a, pair / f->key_heads);
    int g = pair % f->key_heads, kw = c->width, vw = a->value_width;
    ptrdiff_t k = rapt__key_at(&c->k_stride, &b, g, 0), v = rapt__key_at(&a->v, &b, g, 0);
    rapt__fetch_rows(c->k + k, c->k_stride.row, b.existing, kw);
    rapt__fetch_rows(f->v + v, a->v.row, b.existing, vw);
    if (f->d->k) rapt__fetch_rows(f->d->k + k, c->k_stride.row, b.existing, kw);
    if (f->d->v) rapt__fetch_rows(f->d->v + v, a->v.row, b.existing, vw);
    for (int h = g * f->group; h < (g + 1) * f->group; h++) {
        ptrdiff_t q = rapt__query_at(&c->q_stride, &b, h, 0),
                  out = rapt__query_at(&a->out, &b, h, 0);
        rapt__fetch_rows(c->q + q, c->q_stride.row, b.queries, kw);
        if (f->d->q) rapt__fetch_rows(f->d->q + q, c->q_stride.row, b.queries, kw);
        rapt__fetch_rows(f->out + out, a->out.row, b.queries, vw);
        rapt__fetch_rows(f->dout + out, a->out.row, b.queries, vw);
    }
}

static void do_pairs(struct team *team, const struct backward *f, bool alone)
{
    struct tickets tickets = {0};
    if (alone) tickets = rapt__tickets(team);
    for (int i = 0; i < f->a->batch; i++)
        for (int g = 0; g < f->key_heads; g++) {
            struct pair p = pair_of(f, i, g);
            if (!alone) {
                share_pair(team, &p);
            } else if (rapt__mine(&tickets)) {
                fetch_pair(f, i * f->key_heads + g + team->size);
                do_pair(&p);
            }
        }
    rapt__team_barrier(team);
}

void rapt__flash_backward(struct team *team, const struct projected *c, const float *v,
                          const float *out, const float *lse, const float *dout,
                          const struct projected_gradients *d, void *workspace)
{
    struct backward f = {.c = c,
                         .a = c->a,
                         .kernels = rapt__kernels(),
                         .v = v,
                         .out = out,
                         .lse = lse,
                         .dout = dout,
                         .d = d,
                         .key_heads = rapt__key_heads_of(c->a)};
    if (!rapt__workspace_of(c->a, team->size, &f.sizes)) return;
    size_t rank = (size_t)team->rank, area = f.sizes.chunk * (size_t)f.sizes.chunks;
    float *blocks = workspace, *chunks = blocks + (size_t)team->size * f.sizes.block;
    if (d->relative) {
        size_t begin, end;
        f.relative = chunks + (size_t)team->size * area;
        rapt__team_share(team, f.sizes.relative, LANES, &begin, &end);
        memset(f.relative + begin, 0, (end - begin) * sizeof(float));
        rapt__team_barrier(team);
    }
    bool alone = whole_pairs(&f, team->size);
    f.group = c->a->heads / f.key_heads;
    f.block = blocks + rank * f.sizes.block;
    f.chunks = chunks + (alone ? rank * area : 0);
    do_pairs(team, &f, alone);
    if (d->relative) sum_relative(team, &f);
}
