/* backward.c - gradients of linear attention, from the last chunk of an item to the first.

   Let dO be the gradient of out and dS the gradient of the state after the chunk. The other names
   are as in linear.h.

       E  = s D dP                           dP = dO U' up to the diagonal
       Y  = P' dO + exp(G[last] - G) K dS - N' B Y           the gradient of U
       Z  = B Y                              the gradient of X and V
       dQ = s exp(G) dO S' + E K
       dK = E' Q + exp(G[last] - G) U dS' - exp(G) Z S' + (F + F') K
       F  = -D Z U' below the diagonal
       dS becomes exp(G[last]) dS + s (exp(G) Q)' dO - (exp(G) K)' Z
       dbeta = the dot products of the rows of Y with those of X

   Without the delta rule, there are no terms with N, F or Z, and the gradient of V is Y.

   The logarithm of the decay of row j appears in every term that leads from a row i < j, or from
   the state before the chunk, to a row r >= j, or to the state after the chunk. Its gradient is the
   sum of these terms, computed without subtractions and thus accurate even for small decays. */
#include "attention/linear/linear.h"

#include <string.h>

struct backward_memory { /* memory of a thread */
    struct chunk chunk;
    float *states;           /* [chunks][key_width][value_ld] the state before each chunk */
    float *x;                /* [chunks][CHUNK_ROWS][value_ld] */
    float *dstate;           /* [key_width][value_ld] */
    float *state_panels;     /* the transpose of a state, in panels [value][16] */
    float *u_panels;         /* the transpose of u, in panels of the same kind */
    float *dout, *scaled;    /* [CHUNK_ROWS][value_ld]; `scaled` is dout, u or du, scaled row by
                                row */
    float *du;               /* [CHUNK_ROWS][value_ld] gradient of u, then of values */
    float *dq, *dk;          /* [CHUNK_ROWS][key_ld] */
    float *dweights, *pairs; /* [CHUNK_ROWS][CHUNK_ROWS] gradients of weights or dots; terms from
                                row i to row r */
    double *to_row, *to_end, whole; /* terms from the state to row r, from row i to the next state,
                                       and from the state to the next state */
};

static int chunks_of(int rows)
{
    return rapt__ceil_div(rows, CHUNK_ROWS);
}

static size_t padded_state(const struct linear_problem *l)
{
    return (size_t)l->width * (size_t)l->value_ld;
}

static void lay_out_backward(struct arena *part, const void *what, void *to)
{
    const struct linear_problem *l = what;
    struct backward_memory *b = to;
    size_t chunks = (size_t)chunks_of(l->a->rows), keys = (size_t)l->key_ld;
    size_t values = (size_t)l->value_ld, all = CHUNK_ROWS * values;
    rapt__chunk_layout(part, l, &b->chunk);
    b->states = rapt__arena_floats(part, chunks, padded_state(l));
    b->x = rapt__arena_floats(part, chunks, all);
    b->dstate = rapt__arena_floats(part, padded_state(l), 1);
    b->state_panels = rapt__arena_floats(part, keys, values);
    b->u_panels = rapt__arena_floats(part, all, 1);
    b->dout = rapt__arena_floats(part, all, 1);
    b->scaled = rapt__arena_floats(part, all, 1);
    b->du = rapt__arena_floats(part, all, 1);
    b->dq = rapt__arena_floats(part, CHUNK_ROWS, keys);
    b->dk = rapt__arena_floats(part, CHUNK_ROWS, keys);
    b->dweights = rapt__arena_floats(part, CHUNK_ROWS, CHUNK_ROWS);
    b->pairs = rapt__arena_floats(part, CHUNK_ROWS, CHUNK_ROWS);
    b->to_row = rapt__arena_take(part, CHUNK_ROWS, sizeof *b->to_row);
    b->to_end = rapt__arena_take(part, CHUNK_ROWS, sizeof *b->to_end);
}

size_t rapt__linear_backward_workspace(const struct linear_problem *l, int team_size)
{
    struct arena arena = {0};
    struct backward_memory b;
    rapt__arena_parts(&arena, (size_t)team_size, lay_out_backward, l, &b, NULL);
    return arena.overflow ? 0 : arena.used;
}

/* Makes the chunk's x point to its stored copy. */
static void use_x(const struct linear_problem *l, int index, struct backward_memory *b)
{
    b->chunk.x = b->x + (size_t)index * CHUNK_ROWS * (size_t)l->value_ld;
    if (!l->a->beta) b->chunk.u = b->chunk.x;
}

/* Computes the state before each chunk, and each chunk's x. */
static void recompute(const struct linear_problem *l, const struct linear_item *item,
                      const struct linear_call *call, struct backward_memory *b)
{
    struct chunk *c = &b->chunk;
    size_t size = padded_state(l);
    float *state = b->states;
    memset(state, 0, size * sizeof *state);
    if (l->a->initial_state)
        rapt__linear_copy(l->a->initial_state + rapt__linear_state_at(l, item), l->values, l->width,
                          l->values, state, l->value_ld);
    for (int i = 0, first = 0; first < item->rows; i++, first += CHUNK_ROWS) {
        const int next = first + CHUNK_ROWS;
        c->rows = rapt__min(item->rows - first, CHUNK_ROWS);
        use_x(l, i, b);
        c->ahead = (struct rows_ahead){.parts = 0};
        rapt__chunk_ahead(l, item, call->k, &l->a->k, l->a->key_width, next, c);
        rapt__chunk_ahead(l, item, call->v, &l->a->v, l->a->value_width, next, c);
        rapt__ahead_spread(&c->ahead, c->rows);
        rapt__chunk_load(l, item, call->k, first, c);
        rapt__chunk_solve(l, item, call->v, first, state, c);
        if (item->rows - first <= CHUNK_ROWS) break;
        memcpy(state + size, state, size * sizeof *state);
        state += size;
        rapt__chunk_advance(l, c, state);
    }
}

static void transpose_state(const struct linear_problem *l, const float *state,
                            struct backward_memory *b)
{
    l->kernels->pack_columns(state, l->value_ld, l->width, l->values, 1, 0, l->key_ld / LANES,
                             b->state_panels);
}

/* Multiplies rows of dout, u or du, scaled by `factor`, by the transpose of the state that was
   packed last. */
static void times_state(const struct linear_problem *l, const float *x, const float *factor,
                        struct backward_memory *b, float *to, bool add)
{
    const struct right right = {b->state_panels, (ptrdiff_t)l->values * LANES, LANES};
    rapt__rows_scale(x, factor, b->chunk.rows, l->value_ld, b->scaled);
    rapt__multiply(l, b->chunk.rows, l->key_ld, l->values, (struct left){b->scaled, l->value_ld, 1},
                   right, to, l->key_ld, add);
}

/* Adds the product of x' and b->scaled to dstate, where x holds rows of keys or queries. */
static void add_to_dstate(const struct linear_problem *l, const float *x, struct backward_memory *b)
{
    rapt__multiply(l, l->width, l->value_ld, b->chunk.rows, (struct left){x, 1, l->key_ld},
                   rapt__plain(b->scaled, l->value_ld), b->dstate, l->value_ld, true);
}

/* Begins a chunk: sets du and dk to the terms that come from the next state, multiplies dstate by
   the decay of the chunk, and initializes the terms for the gradients of log decays. */
static void from_next_state(const struct linear_problem *l, const float *state,
                            struct backward_memory *b)
{
    struct chunk *c = &b->chunk;
    const int ld = l->value_ld;
    float whole = c->start[c->rows - 1];
    rapt__rows_scale(c->keys, c->end, c->rows, l->key_ld, c->scaled);
    rapt__multiply(l, c->rows, ld, l->width, (struct left){c->scaled, l->key_ld, 1},
                   rapt__plain(b->dstate, ld), b->du, ld, false);
    transpose_state(l, b->dstate, b);
    times_state(l, c->u, c->end, b, b->dk, false);
    b->whole = 0;
    for (int r = 0; r < l->width; r++) {
        float *row = b->dstate + (ptrdiff_t)r * ld;
        for (int i = 0; i < l->values && l->a->log_decay; i++) row[i] *= whole;
        b->whole += (double)l->kernels->dot(row, state + (ptrdiff_t)r * ld, l->values);
    }
    for (int r = 0; r < c->rows; r++) {
        ptrdiff_t at = (ptrdiff_t)r * l->key_ld;
        b->to_end[r] = (double)l->kernels->dot(c->keys + at, b->dk + at, l->width);
        b->to_row[r] = 0;
    }
    memset(b->pairs, 0, sizeof *b->pairs * CHUNK_ROWS * CHUNK_ROWS);
}

/* Computes dweights = x u' up to the diagonal. */
static void times_u(const struct linear_problem *l, const float *x, struct backward_memory *b)
{
    rapt__multiply_scores(l, b->chunk.rows, l->values, x, l->value_ld, b->u_panels, b->dweights);
}

/* Loads a query head's dout. If out is normalized, replaces dout with the gradients of the
   numerator and the denominator. */
static void load_dout(const struct linear_problem *l, const struct linear_item *item,
                      const float *dout, int first, struct backward_memory *b)
{
    const rapt_stride *s = &l->a->out;
    const int width = l->a->value_width;
    rapt__linear_copy(dout + rapt__linear_at(s, item, first), s->row, b->chunk.rows, width, b->dout,
                      l->value_ld);
    for (int r = 0; r < b->chunk.rows && l->a->normalized; r++) {
        float *d = b->dout + (ptrdiff_t)r * l->value_ld;
        const float *out = b->chunk.out + (ptrdiff_t)r * l->value_ld;
        float inverse = rapt__chunk_inverse(l, out);
        for (int i = 0; i < width; i++) d[i] *= inverse;
        d[width] = -inverse * l->kernels->dot(d, out, width);
    }
}

/* Adds rows of dx, times the slope of the feature map, to the gradient of an array. A feature y is
   exp x if it is below 1, and then equals the slope; otherwise it is x + 1, and the slope is 1. */
static void add_rows(const struct linear_problem *l, const float *dx, const float *y, int rows,
                     float *to, ptrdiff_t row)
{
    bool features = l->a->feature_map != RAPT_FEATURE_MAP_NONE;
    for (int r = 0; r < rows; r++, to += row, dx += l->key_ld, y += l->key_ld)
        for (int i = 0; i < l->width; i++) to[i] += features && y[i] < 1 ? dx[i] * y[i] : dx[i];
}

static void query_backward(const struct linear_problem *l, const struct linear_item *item,
                           const struct linear_call *call, int first, const float *state,
                           struct backward_memory *b)
{
    struct chunk *c = &b->chunk;
    float factor[CHUNK_ROWS];
    rapt__chunk_weights(l, item, call->q, first, c);
    if (l->a->normalized) rapt__chunk_read(l, state, c);
    load_dout(l, item, call->dout, first, b);
    rapt__multiply_upper(l, c->rows, l->value_ld, c->weights, b->dout, l->value_ld, b->du);
    times_u(l, b->dout, b);
    for (int r = 0; r < c->rows; r++) {
        ptrdiff_t row = (ptrdiff_t)r * CHUNK_ROWS;
        for (int i = 0; i < rapt__chunk_columns(r); i++) {
            float e = l->scale * (c->decay[row + i] * b->dweights[row + i]);
            b->dweights[row + i] = e;
            b->pairs[row + i] += e * c->scores[row + i];
        }
        factor[r] = l->scale * c->start[r];
    }
    times_state(l, b->dout, factor, b, b->dq, false);
    add_to_dstate(l, c->queries, b);
    for (int r = 0; r < c->rows; r++) {
        ptrdiff_t at = (ptrdiff_t)r * l->key_ld;
        b->to_row[r] += (double)l->kernels->dot(c->queries + at, b->dq + at, l->width);
    }
    rapt__multiply_lower(l, c->rows, l->key_ld, b->dweights, c->keys, l->key_ld, b->dq);
    rapt__multiply_upper(l, c->rows, l->key_ld, b->dweights, c->queries, l->key_ld, b->dk);
    if (call->d.q)
        add_rows(l, b->dq, c->queries, c->rows, call->d.q + rapt__linear_at(&l->a->q, item, first),
                 l->a->q.row);
}

/* Solves the equation for Y from the last row to the first. du holds the terms without N, and the
   function replaces them with Y. */
static void solve_transposed(const struct linear_problem *l, struct backward_memory *b)
{
    const struct chunk *c = &b->chunk;
    const int ld = l->value_ld;
    float w[CHUNK_ROWS];
    for (int i = c->rows - 1; i >= 0; i--) {
        for (int r = i + 1; r < c->rows; r++)
            w[r] = -c->dots[(ptrdiff_t)r * CHUNK_ROWS + i] * c->beta[r];
        l->kernels->gemv(w + i + 1, c->rows - 1 - i, b->du + (ptrdiff_t)(i + 1) * ld, ld, ld,
                         b->du + (ptrdiff_t)i * ld);
    }
}

/* For the delta rule, turns du, which holds the terms of Y without N, into Z, the gradient of x and
   of the values. Also adds the terms with Z and F to dk and dstate, the gradients of beta, and the
   terms for the gradients of log decays. */
static void delta_backward(const struct linear_problem *l, const struct linear_item *item,
                           float *dbeta, int first, struct backward_memory *b)
{
    struct chunk *c = &b->chunk;
    float factor[CHUNK_ROWS];
    solve_transposed(l, b);
    for (int r = 0; r < c->rows; r++) {
        ptrdiff_t at = (ptrdiff_t)r * l->value_ld;
        if (dbeta)
            dbeta[rapt__linear_at(&l->a->gates, item, first + r)] +=
                l->kernels->dot(b->du + at, c->x + at, l->values);
        factor[r] = -c->start[r];
    }
    rapt__rows_scale(b->du, c->beta, c->rows, l->value_ld, b->du);
    times_u(l, b->du, b);
    for (int r = 0; r < c->rows; r++) {
        ptrdiff_t row = (ptrdiff_t)r * CHUNK_ROWS;
        for (int i = 0; i < rapt__chunk_columns(r); i++) {
            float d = -b->dweights[row + i];
            b->pairs[row + i] += d * c->dots[row + i];
            b->dweights[row + i] = d * c->decay[row + i];
        }
        b->dweights[row + r] = 0;
    }
    times_state(l, b->du, factor, b, b->dq, false);
    add_to_dstate(l, c->keys, b);
    for (int r = 0; r < c->rows; r++) {
        ptrdiff_t at = (ptrdiff_t)r * l->key_ld;
        b->to_row[r] += (double)l->kernels->dot(c->keys + at, b->dq + at, l->width);
    }
    l->kernels->add(b->dk, b->dq, (size_t)c->rows * (size_t)l->key_ld);
    rapt__multiply_lower(l, c->rows, l->key_ld, b->dweights, c->keys, l->key_ld, b->dk);
    rapt__multiply_upper(l, c->rows, l->key_ld, b->dweights, c->keys, l->key_ld, b->dk);
}

/* Adds the gradients of the log decays. There is no decay between a row and itself. */
static void add_log_decay(const struct linear_problem *l, const struct linear_item *item, int first,
                          const struct backward_memory *b, float *to)
{
    const int rows = b->chunk.rows;
    double sums[CHUNK_ROWS] = {0}, ended = 0;
    for (int r = 0; r < rows; r++) {
        double before = b->to_row[r];
        for (int j = 0; j <= r; j++) {
            sums[j] += before;
            before += (double)b->pairs[(ptrdiff_t)r * CHUNK_ROWS + j];
        }
    }
    for (int j = 0; j < rows; j++) {
        to[rapt__linear_at(&l->a->gates, item, first + j)] += (float)(sums[j] + ended + b->whole);
        ended += b->to_end[j];
    }
}

/* Lists what is prefetched while chunk `index` is loaded: the rows of its gradients, and the rows
   of the chunk before it. If query heads share keys, only the rows of the first of these heads are
   listed. */
static void backward_ahead(const struct linear_problem *l, const struct linear_item *item,
                           const struct linear_call *call, int index, struct backward_memory *b)
{
    const rapt_linear_attention *a = l->a;
    const struct linear_item query = rapt__linear_query_item(l, item, 0);
    const int first = index * CHUNK_ROWS, next = first - CHUNK_ROWS;
    struct chunk *c = &b->chunk;
    c->ahead = (struct rows_ahead){.parts = 0};
    rapt__chunk_ahead(l, &query, call->d.q, &a->q, a->key_width, first, c);
    rapt__chunk_ahead(l, item, call->d.k, &a->k, a->key_width, first, c);
    rapt__chunk_ahead(l, item, call->d.v, &a->v, a->value_width, first, c);
    rapt__chunk_ahead(l, item, call->k, &a->k, a->key_width, next, c);
    rapt__chunk_ahead(l, &query, call->q, &a->q, a->key_width, next, c);
    rapt__chunk_ahead(l, &query, call->dout, &a->out, a->value_width, next, c);
    if (l->far && next >= 0) {
        rapt__ahead_add(&c->ahead, b->x + (size_t)(index - 1) * CHUNK_ROWS * (size_t)l->value_ld,
                        l->value_ld, CHUNK_ROWS, l->value_ld);
        rapt__ahead_add(&c->ahead, b->states + (size_t)(index - 1) * padded_state(l), l->value_ld,
                        l->width, l->value_ld);
    }
    rapt__ahead_spread(&c->ahead, 2 * c->rows);
}

static void chunk_backward(const struct linear_problem *l, const struct linear_item *item,
                           const struct linear_call *call, int index, struct backward_memory *b)
{
    struct chunk *c = &b->chunk;
    const rapt_linear_attention *a = l->a;
    const int first = index * CHUNK_ROWS;
    const float *state = b->states + (size_t)index * padded_state(l);
    c->rows = rapt__min(item->rows - first, CHUNK_ROWS);
    backward_ahead(l, item, call, index, b);
    rapt__chunk_load(l, item, call->k, first, c);
    use_x(l, index, b);
    rapt__chunk_scale(l, c);
    l->kernels->pack_columns(c->u, l->value_ld, c->rows, l->values, 1, 0,
                             rapt__ceil_div(c->rows, LANES), b->u_panels);
    from_next_state(l, state, b);
    transpose_state(l, state, b);
    for (int i = 0; i < l->group; i++) {
        const struct linear_item query = rapt__linear_query_item(l, item, i);
        query_backward(l, &query, call, first, state, b);
    }
    if (a->beta) delta_backward(l, item, call->d.beta, first, b);
    if (call->d.log_decay) add_log_decay(l, item, first, b, call->d.log_decay);
    if (call->d.k)
        add_rows(l, b->dk, c->keys, c->rows, call->d.k + rapt__linear_at(&a->k, item, first),
                 a->k.row);
    for (int r = 0; r < c->rows && call->d.v; r++)
        l->kernels->add(call->d.v + rapt__linear_at(&a->v, item, first + r),
                        b->du + (ptrdiff_t)r * l->value_ld, (size_t)a->value_width);
}

static void backward_item(const struct linear_problem *l, const struct linear_item *item,
                          const struct linear_call *call, struct backward_memory *b)
{
    size_t at = rapt__linear_state_at(l, item);
    memset(b->dstate, 0, padded_state(l) * sizeof *b->dstate);
    if (call->dstate)
        rapt__linear_copy(call->dstate + at, l->values, l->width, l->values, b->dstate,
                          l->value_ld);
    if (item->rows > 0) recompute(l, item, call, b);
    for (int i = chunks_of(item->rows) - 1; i >= 0; i--) chunk_backward(l, item, call, i, b);
    for (int r = 0; r < l->width && call->d.initial_state; r++)
        l->kernels->add(call->d.initial_state + at + (size_t)r * (size_t)l->values,
                        b->dstate + (size_t)r * (size_t)l->value_ld, (size_t)l->values);
}

void rapt__linear_attention_backward(struct team *team, void *argument)
{
    const struct linear_call *call = argument;
    enum { TIMES = 3 }; /* for gradients, and for the states and rows that are stored */
    struct linear_problem l = rapt__linear(&call->a);
    struct arena arena = rapt__arena_over(call->workspace, SIZE_MAX, team->rank);
    struct backward_memory b;
    l.far = rapt__linear_far(&l, TIMES);
    rapt__arena_parts(&arena, (size_t)team->size, lay_out_backward, &l, &b, NULL);
    rapt__workspace_begin(team);
    for (int t; (t = rapt__team_take(team)) < call->a.batch * l.key_heads;) {
        const struct linear_item item = rapt__linear_item(&l, t);
        backward_item(&l, &item, call, &b);
    }
    rapt__team_barrier(team);
    rapt__workspace_end(team, &arena);
}
