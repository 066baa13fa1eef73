/* block.c - enumerates the items of a problem of monotonic attention, and computes the energies and
   stopping probabilities of a block of queries. */
#include "attention/monotonic/monotonic.h"

#include <math.h>

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
