/* forward.c - monotonic attention: enumerates the items of a problem, computes the energies and
   stopping probabilities of a block of queries, and derives the expected outputs, alignments and
   delays from these. */
#include "attention/monotonic/monotonic.h"

#include <math.h>
#include <string.h>

struct monotonic_problem rapt__monotonic(const rapt_monotonic_attention *a)
{
    float usual = (float)(1 / sqrt(rapt__max(a->key_width, 1)));
    return (struct monotonic_problem){.a = a,
                                      .kernels = rapt__kernels(),
                                      .plain = {.size = sizeof(rapt_attention),
                                                .batch = a->batch,
                                                .heads = a->heads,
                                                .key_heads = a->key_heads,
                                                .queries = a->queries,
                                                .keys = a->keys,
                                                .key_width = a->key_width,
                                                .value_width = a->value_width,
                                                .q = a->q,
                                                .k = a->k,
                                                .v = a->v,
                                                .out = a->out,
                                                .query_starts = a->query_starts,
                                                .key_starts = a->key_starts,
                                                .threads = a->threads,
                                                .seed = a->seed,
                                                .mask = {.key_counts = a->key_counts}},
                                      .key_heads = a->key_heads ? a->key_heads : a->heads,
                                      .group = a->key_heads > 0 ? a->heads / a->key_heads : 1,
                                      .ld = rapt__round_up(rapt__max(a->keys, 1), LANES),
                                      .scale = a->scale != 0 ? a->scale : usual,
                                      .chunk_scale = a->chunk_scale != 0 ? a->chunk_scale : usual,
                                      .soft = a->mode != RAPT_MONOTONIC_HARD};
}

struct monotonic_item rapt__monotonic_item(const struct monotonic_problem *m, int index)
{
    return (struct monotonic_item){rapt__sequence(&m->plain, index / m->key_heads),
                                   index % m->key_heads};
}

void rapt__monotonic_layout(struct arena *arena, const struct monotonic_problem *m,
                            struct monotonic_block *b)
{
    size_t ld = (size_t)m->ld, width = (size_t)m->a->key_width;
    *b = (struct monotonic_block){.key_panels = rapt__arena_floats(arena, ld, width),
                                  .stop = rapt__arena_floats(arena, MONOTONIC_ROWS, ld),
                                  .keep = rapt__arena_floats(arena, MONOTONIC_ROWS, ld)};
    if (!m->soft) return;
    b->chunk_panels = rapt__arena_floats(arena, ld, width);
    b->energies = rapt__arena_floats(arena, MONOTONIC_ROWS, ld);
    b->weights = rapt__arena_floats(arena, MONOTONIC_ROWS, ld);
}

static void pack_keys(const struct monotonic_problem *m, const struct monotonic_item *item,
                      const float *k, const rapt_stride *s, float scale, float *panels)
{
    int n = item->sequence.existing;
    m->kernels->pack_columns(k + rapt__monotonic_key(s, item), s->row, n, m->a->key_width, scale, 0,
                             rapt__ceil_div(n, LANES), panels);
}

void rapt__monotonic_pack(const struct monotonic_problem *m, const struct monotonic_item *item,
                          const float *k, const float *chunk_k, struct monotonic_block *b)
{
    pack_keys(m, item, k, &m->a->k, m->scale, b->key_panels);
    if (m->soft) pack_keys(m, item, chunk_k, &m->a->chunk_k, m->chunk_scale, b->chunk_panels);
}

static void multiply_keys(const struct monotonic_problem *m, const struct monotonic_item *item,
                          const float *q, const rapt_stride *s, const struct monotonic_block *b,
                          const float *panels, float *to)
{
    m->kernels->gemm(
        &(struct gemm_block){.rows = b->rows,
                             .columns = rapt__round_up(item->sequence.existing, LANES),
                             .depth = m->a->key_width,
                             .a = q + rapt__monotonic_query(s, item, b->head, b->first),
                             .a_row = s->row,
                             .a_step = 1,
                             .b = panels,
                             .b_panel = (ptrdiff_t)LANES * m->a->key_width,
                             .b_step = LANES,
                             .c = to,
                             .c_row = m->ld,
                             .c_panel = LANES});
}

void rapt__monotonic_energies(const struct monotonic_problem *m, const struct monotonic_item *item,
                              const float *chunk_q, const struct monotonic_block *b)
{
    multiply_keys(m, item, chunk_q, &m->a->chunk_q, b, b->chunk_panels, b->energies);
}

/* Adds the offset and the noise of query t to its energies. */
static void add_noise(const struct monotonic_problem *m, const struct monotonic_item *item,
                      int head, int t, float *energies)
{
    const rapt_monotonic_attention *a = m->a;
    const uint64_t key = rapt__attention_drop_key(&m->plain, &item->sequence, head);
    float offset = a->offset ? a->offset[head] : 0;
    for (int s = 0; s < item->sequence.existing; s++) {
        float noise = 0;
        if (a->noise > 0)
            noise = a->noise * (float)rapt__normal(key, (uint64_t)t << 32 | (uint64_t)s);
        energies[s] += offset + noise;
    }
}

/* Replaces energies with p = sigmoid(energy), and computes keep = 1 - p without cancellation. */
static void stop_or_keep(const struct monotonic_problem *m, int n, float *energies, float *keep)
{
    for (int s = 0; s < n; s++) keep[s] = -fabsf(energies[s]);
    m->kernels->exp_row(keep, (size_t)n);
    for (int s = 0; s < n; s++) {
        float large = 1 / (1 + keep[s]), small = keep[s] * large;
        bool stops = energies[s] >= 0;
        energies[s] = stops ? large : small;
        keep[s] = stops ? small : large;
    }
}

void rapt__monotonic_stops(const struct monotonic_problem *m, const struct monotonic_item *item,
                           const float *q, const struct monotonic_block *b)
{
    int n = item->sequence.existing;
    multiply_keys(m, item, q, &m->a->q, b, b->key_panels, b->stop);
    for (int r = 0; r < b->rows; r++) {
        float *stop = b->stop + (ptrdiff_t)r * m->ld, *keep = b->keep + (ptrdiff_t)r * m->ld;
        add_noise(m, item, b->head, b->first + r, stop);
        stop_or_keep(m, n, stop, keep);
        if (m->a->last_stops) stop[n - 1] = 1, keep[n - 1] = 0;
    }
}

/* ---- expectations ---- */

struct expectation_memory { /* memory of a thread */
    struct monotonic_block block;
    struct monotonic_scratch scratch;
    float *alpha; /* [1 + MONOTONIC_ROWS][ld] alignments of the query before the block and of the
                     block's queries */
    float *reach; /* [ld] */
};

static void lay_out_forward(struct arena *part, const void *what, void *to)
{
    const struct monotonic_problem *m = what;
    struct expectation_memory *f = to;
    rapt__monotonic_layout(part, m, &f->block);
    rapt__monotonic_scratch_layout(part, m, &f->scratch);
    f->alpha = rapt__arena_floats(part, 1 + MONOTONIC_ROWS, (size_t)m->ld);
    f->reach = rapt__arena_floats(part, (size_t)m->ld, 1);
}

size_t rapt__monotonic_forward_workspace(const struct monotonic_problem *m, int team_size)
{
    struct arena arena = {0};
    struct expectation_memory f;
    rapt__arena_parts(&arena, (size_t)team_size, lay_out_forward, m, &f, NULL);
    return arena.overflow ? 0 : arena.used;
}

/* Writes a row of alpha or weights, with 0 for padding keys. `to` may be NULL. */
static void store_row(const struct monotonic_problem *m, const struct monotonic_item *item,
                      int head, int t, const float *from, float *to)
{
    if (!to) return;
    size_t existing = (size_t)item->sequence.existing, all = (size_t)item->sequence.keys;
    to += rapt__monotonic_query(&m->a->weights, item, head, t);
    memcpy(to, from, existing * sizeof *to);
    memset(to + existing, 0, (all - existing) * sizeof *to);
}

static void store_delay(const struct monotonic_problem *m, const struct monotonic_item *item,
                        int head, int t, const float *alpha, float *delays)
{
    if (!delays) return;
    double sum = 0;
    for (int s = 0; s < item->sequence.existing; s++) sum += (s + 1.0) * (double)alpha[s];
    delays[rapt__monotonic_delay(m, item, head, t)] = (float)sum;
}

static void multiply_values(const struct monotonic_problem *m, const struct monotonic_item *item,
                            const struct monotonic_block *b, const float *weights, const float *v,
                            float *out)
{
    const rapt_monotonic_attention *a = m->a;
    out += rapt__monotonic_query(&a->out, item, b->head, b->first);
    for (int r = 0; r < b->rows; r++)
        memset(out + r * a->out.row, 0, (size_t)a->value_width * sizeof *out);
    if (item->sequence.existing == 0) return;
    m->kernels->gemm(&(struct gemm_block){.rows = b->rows,
                                          .columns = a->value_width,
                                          .depth = item->sequence.existing,
                                          .a = weights,
                                          .a_row = m->ld,
                                          .a_step = 1,
                                          .b = v + rapt__monotonic_key(&a->v, item),
                                          .b_panel = LANES,
                                          .b_step = a->v.row,
                                          .c = out,
                                          .c_row = a->out.row,
                                          .c_panel = LANES});
}

static void forward_block(const struct monotonic_problem *m, const struct monotonic_item *item,
                          const struct monotonic_call *call, struct expectation_memory *f)
{
    const struct monotonic_block *b = &f->block;
    const int n = item->sequence.existing;
    float *weights = m->soft ? b->weights : f->alpha + m->ld;
    if (n > 0) rapt__monotonic_stops(m, item, call->q, b);
    if (n > 0 && m->soft) rapt__monotonic_energies(m, item, call->chunk_q, b);
    for (int r = 0; r < b->rows; r++) {
        ptrdiff_t at = (ptrdiff_t)r * m->ld;
        float *alpha = f->alpha + at + m->ld;
        rapt__monotonic_align(b->stop + at, b->keep + at, f->alpha + at, n, f->reach, alpha);
        if (n > 0 && m->soft)
            rapt__monotonic_weights(m, b->energies + at, alpha, n, &f->scratch, weights + at);
        store_row(m, item, b->head, b->first + r, alpha, call->outputs.alpha);
        store_row(m, item, b->head, b->first + r, weights + at, call->outputs.weights);
        store_delay(m, item, b->head, b->first + r, alpha, call->outputs.delays);
    }
    multiply_values(m, item, b, weights, call->v, call->out);
    memcpy(f->alpha, f->alpha + (ptrdiff_t)b->rows * m->ld, (size_t)n * sizeof *f->alpha);
}

static void forward_item(const struct monotonic_problem *m, const struct monotonic_item *item,
                         const struct monotonic_call *call, struct expectation_memory *f)
{
    const int n = item->sequence.existing, queries = item->sequence.queries;
    struct monotonic_block *b = &f->block;
    if (n > 0) rapt__monotonic_pack(m, item, call->k, call->chunk_k, b);
    for (int i = 0; i < m->group; i++) {
        b->head = item->key_head * m->group + i;
        rapt__monotonic_begin(n, f->alpha);
        for (b->first = 0; b->first < queries; b->first += MONOTONIC_ROWS) {
            b->rows = rapt__min(queries - b->first, MONOTONIC_ROWS);
            forward_block(m, item, call, f);
        }
    }
}

void rapt__monotonic_forward(struct team *team, void *argument)
{
    const struct monotonic_call *call = argument;
    const struct monotonic_problem m = rapt__monotonic(&call->a);
    struct arena arena = rapt__arena_over(call->workspace, SIZE_MAX, team->rank);
    struct expectation_memory f;
    rapt__arena_parts(&arena, (size_t)team->size, lay_out_forward, &m, &f, NULL);
    rapt__workspace_begin(team);
    for (int t; (t = rapt__team_take(team)) < call->a.batch * m.key_heads;) {
        const struct monotonic_item item = rapt__monotonic_item(&m, t);
        forward_item(&m, &item, call, &f);
    }
    rapt__team_barrier(team);
    rapt__workspace_end(team, &arena);
}
