/* forward.c - expected outputs, alignments and delays of monotonic attention. */
#include "attention/monotonic/monotonic.h"

#include <string.h>

struct expectation_memory { /* memory of a member */
    struct monotonic_block block;
    struct monotonic_scratch scratch;
    float *alpha; /* [1 + MONOTONIC_ROWS][ld], of the query before the block and of its queries */
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

/* Writes a row of alpha or weights, with 0 for keys that do not exist. `to` may be NULL. */
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
