/* backward.c - gradients of monotonic attention, from the last query to the first.

   The alignments of all queries of a head are computed first. Then the blocks of queries are
   processed from the last to the first. For each block, the gradients of its weights are computed
   first, and then the gradients of its alignments and energies, row by row from the last to the
   first. Finally, the products of all rows of the block are added to the gradients of queries, keys
   and values. */
#include "attention/monotonic/monotonic.h"

#include <string.h>

struct gradient_memory { /* memory of a thread */
    struct monotonic_block block;
    struct monotonic_scratch scratch;
    float *alpha;        /* [1 + queries][ld] alignments; row 1 + t is for query t */
    float *value_panels; /* values, packed in panels like keys */
    float *dweights;     /* [MONOTONIC_ROWS][ld] */
    float *dstop;        /* [MONOTONIC_ROWS][ld] gradients of the energies */
    float *dchunk;       /* [MONOTONIC_ROWS][ld] gradients of the chunk energies */
    float *dalpha;       /* [ld] gradient of the alignment of a query */
    float *own, *reach;  /* [ld] the part of dalpha from the query's own weights; its reach */
};

static void lay_out_backward(struct arena *part, const void *what, void *to)
{
    const struct monotonic_problem *m = what;
    struct gradient_memory *b = to;
    size_t ld = (size_t)m->ld;
    rapt__monotonic_layout(part, m, &b->block);
    rapt__monotonic_scratch_layout(part, m, &b->scratch);
    b->alpha = rapt__arena_floats(part, 1 + (size_t)m->a->queries, ld);
    b->value_panels = rapt__arena_floats(part, ld, (size_t)m->a->value_width);
    b->dweights = rapt__arena_floats(part, MONOTONIC_ROWS, ld);
    b->dstop = rapt__arena_floats(part, MONOTONIC_ROWS, ld);
    b->dchunk = rapt__arena_floats(part, MONOTONIC_ROWS, ld);
    b->dalpha = rapt__arena_floats(part, ld, 1);
    b->own = rapt__arena_floats(part, ld, 1);
    b->reach = rapt__arena_floats(part, ld, 1);
}

/* Lays out the memory of all threads. Returns the array for the gradients of the offset,
   [batch][heads]. */
static double *lay_out_members(struct arena *arena, const struct monotonic_problem *m,
                               int team_size, struct gradient_memory *mine)
{
    const size_t count = rapt__product((size_t)m->a->batch, (size_t)m->a->heads);
    double *offsets = rapt__arena_take(arena, count, sizeof *offsets);
    rapt__arena_parts(arena, (size_t)team_size, lay_out_backward, m, mine, NULL);
    return offsets;
}

size_t rapt__monotonic_backward_workspace(const struct monotonic_problem *m, int team_size)
{
    struct arena arena = {0};
    struct gradient_memory b;
    (void)lay_out_members(&arena, m, team_size, &b);
    return arena.overflow ? 0 : arena.used;
}

/* ---- one block ---- */

static void begin_block(const struct monotonic_item *item, int first, struct monotonic_block *b)
{
    b->first = first, b->rows = rapt__min(item->sequence.queries - first, MONOTONIC_ROWS);
}

/* Computes the alignments of a block from the alignment of the query before it. */
static void align_block(const struct monotonic_problem *m, const struct monotonic_item *item,
                        const struct monotonic_call *call, struct gradient_memory *b)
{
    rapt__monotonic_stops(m, item, call->q, &b->block);
    for (int r = 0; r < b->block.rows; r++) {
        ptrdiff_t at = (ptrdiff_t)r * m->ld;
        float *before = b->alpha + (ptrdiff_t)(b->block.first + r) * m->ld;
        rapt__monotonic_align(b->block.stop + at, b->block.keep + at, before,
                              item->sequence.existing, b->reach, before + m->ld);
    }
}

/* Computes dweights = dout v', where v' is the transpose of v. */
static void weights_gradient(const struct monotonic_problem *m, const struct monotonic_item *item,
                             const float *dout, struct gradient_memory *b)
{
    const rapt_monotonic_attention *a = m->a;
    m->kernels->gemm(&(struct gemm_block){
        .rows = b->block.rows,
        .columns = rapt__round_up(item->sequence.existing, LANES),
        .depth = a->value_width,
        .a = dout + rapt__monotonic_query(&a->out, item, b->block.head, b->block.first),
        .a_row = a->out.row,
        .a_step = 1,
        .b = b->value_panels,
        .b_panel = (ptrdiff_t)LANES * a->value_width,
        .b_step = LANES,
        .c = b->dweights,
        .c_row = m->ld,
        .c_panel = LANES});
}

/* Adds the gradients of alpha that come from the query itself to dalpha, which holds those that
   come from the query after it. */
static void add_dalpha(const struct monotonic_problem *m, const struct monotonic_item *item,
                       const struct monotonic_call *call, int t, const float *own,
                       const struct gradient_memory *b)
{
    int n = item->sequence.existing, head = b->block.head;
    m->kernels->add(b->dalpha, own, (size_t)n);
    if (call->dalpha)
        m->kernels->add(b->dalpha,
                        call->dalpha + rapt__monotonic_query(&m->a->weights, item, head, t),
                        (size_t)n);
    if (!call->ddelays) return;
    float d = call->ddelays[rapt__monotonic_delay(m, item, head, t)];
    for (int s = 0; s < n; s++) b->dalpha[s] += d * (float)(s + 1);
}

/* Computes the gradients of the energies of one query. Returns the sum of the gradients of the
   energies that determine where it stops. */
static double row_backward(const struct monotonic_problem *m, const struct monotonic_item *item,
                           const struct monotonic_call *call, int r, struct gradient_memory *b)
{
    const struct monotonic_block *block = &b->block;
    const int n = item->sequence.existing, t = block->first + r;
    const ptrdiff_t at = (ptrdiff_t)r * m->ld;
    const float *own = b->dweights + at;
    float *before = b->alpha + (ptrdiff_t)t * m->ld, *alpha = before + m->ld;
    if (m->soft) {
        const float *energies = block->energies + at;
        rapt__monotonic_weights(m, energies, alpha, n, &b->scratch, block->weights + at);
        rapt__monotonic_weights_backward(m, energies, alpha, own, n, &b->scratch, b->own,
                                         b->dchunk + at);
        own = b->own;
    }
    add_dalpha(m, item, call, t, own, b);
    rapt__monotonic_align(block->stop + at, block->keep + at, before, n, b->reach, alpha);
    return rapt__monotonic_align_backward(block->stop + at, block->keep + at, b->reach, n,
                                          b->dalpha, b->dstop + at);
}

/* ---- products of a block ---- */

/* Computes c += a b, for rows of b and c in the caller's arrays. */
static void add_product(const struct monotonic_problem *m, struct gemm_block g)
{
    g.b_panel = g.c_panel = LANES;
    g.add = true;
    m->kernels->gemm(&g);
}

/* Multiplies d, the gradients of energies, by the scale, and adds the gradients of queries and
   keys. dq and dk may be NULL. */
static void energies_backward(const struct monotonic_problem *m, const struct monotonic_item *item,
                              const struct monotonic_block *b, float *d, float scale,
                              const float *q, const rapt_stride *query, float *dq, const float *k,
                              const rapt_stride *key, float *dk)
{
    const ptrdiff_t q_at = rapt__monotonic_query(query, item, b->head, b->first);
    const ptrdiff_t k_at = rapt__monotonic_key(key, item);
    const int n = item->sequence.existing, width = m->a->key_width;
    for (int r = 0; r < b->rows; r++)
        for (int s = 0; s < n; s++) d[(ptrdiff_t)r * m->ld + s] *= scale;
    if (dq)
        add_product(m, (struct gemm_block){.rows = b->rows,
                                           .columns = width,
                                           .depth = n,
                                           .a = d,
                                           .a_row = m->ld,
                                           .a_step = 1,
                                           .b = k + k_at,
                                           .b_step = key->row,
                                           .c = dq + q_at,
                                           .c_row = query->row});
    if (dk)
        add_product(m, (struct gemm_block){.rows = n,
                                           .columns = width,
                                           .depth = b->rows,
                                           .a = d,
                                           .a_row = 1,
                                           .a_step = m->ld,
                                           .b = q + q_at,
                                           .b_step = query->row,
                                           .c = dk + k_at,
                                           .c_row = key->row});
}

static void values_backward(const struct monotonic_problem *m, const struct monotonic_item *item,
                            const struct monotonic_call *call, const struct gradient_memory *b)
{
    const rapt_monotonic_attention *a = m->a;
    const struct monotonic_block *block = &b->block;
    const float *alpha = b->alpha + (ptrdiff_t)(block->first + 1) * m->ld;
    if (!call->d.v) return;
    add_product(
        m, (struct gemm_block){.rows = item->sequence.existing,
                               .columns = a->value_width,
                               .depth = block->rows,
                               .a = m->soft ? block->weights : alpha,
                               .a_row = 1,
                               .a_step = m->ld,
                               .b = call->dout +
                                    rapt__monotonic_query(&a->out, item, block->head, block->first),
                               .b_step = a->out.row,
                               .c = call->d.v + rapt__monotonic_key(&a->v, item),
                               .c_row = a->v.row});
}

/* Adds the gradients of a block. Returns the sum of the gradients of its energies, not including
   the chunk energies. */
static double block_backward(const struct monotonic_problem *m, const struct monotonic_item *item,
                             const struct monotonic_call *call, struct gradient_memory *b)
{
    const rapt_monotonic_attention *a = m->a;
    double sum = 0;
    rapt__monotonic_stops(m, item, call->q, &b->block);
    if (m->soft) rapt__monotonic_energies(m, item, call->chunk_q, &b->block);
    weights_gradient(m, item, call->dout, b);
    for (int r = b->block.rows - 1; r >= 0; r--) sum += row_backward(m, item, call, r, b);
    values_backward(m, item, call, b);
    energies_backward(m, item, &b->block, b->dstop, m->scale, call->q, &a->q, call->d.q, call->k,
                      &a->k, call->d.k);
    if (m->soft)
        energies_backward(m, item, &b->block, b->dchunk, m->chunk_scale, call->chunk_q, &a->chunk_q,
                          call->d.chunk_q, call->chunk_k, &a->chunk_k, call->d.chunk_k);
    return sum;
}

/* ---- all blocks ---- */

/* Adds the gradients of a query head. Returns the gradient of its offset. */
static double head_backward(const struct monotonic_problem *m, const struct monotonic_item *item,
                            const struct monotonic_call *call, struct gradient_memory *b)
{
    const int n = item->sequence.existing, queries = item->sequence.queries;
    const int last = (queries - 1) / MONOTONIC_ROWS * MONOTONIC_ROWS;
    double sum = 0;
    rapt__monotonic_begin(n, b->alpha);
    for (int first = 0; first < queries; first += MONOTONIC_ROWS) {
        begin_block(item, first, &b->block);
        align_block(m, item, call, b);
    }
    memset(b->dalpha, 0, (size_t)n * sizeof *b->dalpha);
    for (int first = last; first >= 0; first -= MONOTONIC_ROWS) {
        begin_block(item, first, &b->block);
        sum += block_backward(m, item, call, b);
    }
    return sum;
}

static void backward_item(const struct monotonic_problem *m, const struct monotonic_item *item,
                          const struct monotonic_call *call, double *offsets,
                          struct gradient_memory *b)
{
    const int n = item->sequence.existing, heads = m->a->heads;
    const bool empty = n == 0 || item->sequence.queries == 0;
    if (!empty) {
        rapt__monotonic_pack(m, item, call->k, call->chunk_k, &b->block);
        m->kernels->pack_columns(call->v + rapt__monotonic_key(&m->a->v, item), m->a->v.row, n,
                                 m->a->value_width, 1, 0, rapt__ceil_div(n, LANES),
                                 b->value_panels);
    }
    for (int i = 0; i < m->group; i++) {
        b->block.head = item->key_head * m->group + i;
        offsets[(ptrdiff_t)item->sequence.index * heads + b->block.head] =
            empty ? 0 : head_backward(m, item, call, b);
    }
}

/* Adds the gradients of the offset, summed over the sequences in order. */
static void add_offsets(const struct team *team, const struct monotonic_problem *m,
                        const double *offsets, float *to)
{
    size_t begin, end, heads = (size_t)m->a->heads;
    rapt__team_share(team, heads, 1, &begin, &end);
    for (size_t h = begin; h < end && to; h++) {
        double sum = 0;
        for (size_t b = 0; b < (size_t)m->a->batch; b++) sum += offsets[b * heads + h];
        to[h] += (float)sum;
    }
}

void rapt__monotonic_backward(struct team *team, void *argument)
{
    const struct monotonic_call *call = argument;
    const struct monotonic_problem m = rapt__monotonic(&call->a);
    struct arena arena = rapt__arena_over(call->workspace, SIZE_MAX, team->rank);
    struct gradient_memory b;
    double *offsets = lay_out_members(&arena, &m, team->size, &b);
    rapt__workspace_begin(team);
    for (int t; (t = rapt__team_take(team)) < call->a.batch * m.key_heads;) {
        const struct monotonic_item item = rapt__monotonic_item(&m, t);
        backward_item(&m, &item, call, offsets, &b);
    }
    rapt__team_barrier(team);
    add_offsets(team, &m, offsets, call->d.offset);
    rapt__team_barrier(team);
    rapt__workspace_end(team, &arena);
}
