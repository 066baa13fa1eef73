/* chunk.c - one chunk of linear attention: its rows, its decays, the triangular system of the delta
   rule, and products that skip the zero blocks of triangular matrices. */
#include "attention/linear/linear.h"

#include <math.h>
#include <string.h>

/* Log decays below this bound are raised to it. It is low enough that its exponential is 0 in
   single precision, and high enough that the difference between two sums of 64 log decays is
   accurate in double precision. */
static const double LEAST_LOG = -1e6;

struct linear_problem rapt__linear(const rapt_linear_attention *a)
{
    struct linear_problem l = {.a = a, .kernels = rapt__kernels(), .width = a->key_width};
    l.values = a->value_width + (a->normalized != 0);
    l.key_ld = rapt__round_up(l.width, LANES), l.value_ld = rapt__round_up(l.values, LANES);
    l.key_heads = a->key_heads ? a->key_heads : a->heads;
    l.group = a->heads / l.key_heads;
    l.scale = a->scale != 0 ? a->scale : 1 / sqrtf((float)a->key_width);
    if (a->normalized) l.scale = 1;
    return l;
}

bool rapt__linear_far(const struct linear_problem *l, int times)
{
    const rapt_linear_attention *a = l->a;
    double rows = a->starts ? a->starts[a->batch] : (double)a->batch * a->rows;
    double heads = (double)a->heads + l->key_heads, width = (double)a->key_width + a->value_width;
    return times * rows * heads * width * sizeof(float) > (double)rapt__near_size();
}

struct linear_item rapt__linear_item(const struct linear_problem *l, int index)
{
    const rapt_linear_attention *a = l->a;
    struct linear_item item = {.sequence = index / l->key_heads, .head = index % l->key_heads};
    item.rows = a->rows, item.batch = item.sequence;
    if (!a->starts) return item;
    item.batch = 0, item.first = a->starts[item.sequence];
    item.rows = a->starts[item.sequence + 1] - a->starts[item.sequence];
    return item;
}

struct linear_item rapt__linear_query_item(const struct linear_problem *l,
                                           const struct linear_item *item, int query)
{
    struct linear_item own = *item;
    own.head = item->head * l->group + query;
    return own;
}

size_t rapt__linear_state_size(const struct linear_problem *l)
{
    return (size_t)l->width * (size_t)l->values;
}

void rapt__chunk_layout(struct arena *arena, const struct linear_problem *l, struct chunk *c)
{
    size_t keys = (size_t)l->key_ld, values = (size_t)l->value_ld;
    *c = (struct chunk){.keys = rapt__arena_floats(arena, CHUNK_ROWS, keys),
                        .panels = rapt__arena_floats(arena, CHUNK_ROWS, keys),
                        .queries = rapt__arena_floats(arena, CHUNK_ROWS, keys),
                        .scaled = rapt__arena_floats(arena, CHUNK_ROWS, keys),
                        .decay = rapt__arena_floats(arena, CHUNK_ROWS, CHUNK_ROWS),
                        .scores = rapt__arena_floats(arena, CHUNK_ROWS, CHUNK_ROWS),
                        .weights = rapt__arena_floats(arena, CHUNK_ROWS, CHUNK_ROWS),
                        .x = rapt__arena_floats(arena, CHUNK_ROWS, values),
                        .out = rapt__arena_floats(arena, CHUNK_ROWS, values),
                        .beta = rapt__arena_floats(arena, CHUNK_ROWS, 1),
                        .start = rapt__arena_floats(arena, CHUNK_ROWS, 1),
                        .end = rapt__arena_floats(arena, CHUNK_ROWS, 1)};
    c->u = c->x;
    if (!l->a->beta) return;
    c->u = rapt__arena_floats(arena, CHUNK_ROWS, values);
    c->dots = rapt__arena_floats(arena, CHUNK_ROWS, CHUNK_ROWS);
    c->solver = rapt__arena_floats(arena, CHUNK_ROWS, CHUNK_ROWS);
}

/* ---- products ---- */

void rapt__multiply(const struct linear_problem *l, int rows, int columns, int depth, struct left a,
                    struct right b, float *c, int c_ld, bool add)
{
    const struct gemm_block g = {.rows = rows,
                                 .columns = columns,
                                 .depth = depth,
                                 .a = a.at,
                                 .a_row = a.row,
                                 .a_step = a.step,
                                 .b = b.at,
                                 .b_panel = b.panel,
                                 .b_step = b.step,
                                 .c = c,
                                 .c_row = c_ld,
                                 .c_panel = LANES,
                                 .add = add};
    if (rows > 0 && depth > 0) l->kernels->gemm(&g);
}

void rapt__multiply_scores(const struct linear_problem *l, int rows, int depth, const float *x,
                           int x_ld, const float *panels, float *c)
{
    for (int i = 0; i < rows; i += BLOCK_ROWS) {
        const struct left left = {x + (ptrdiff_t)i * x_ld, x_ld, 1};
        const struct right right = {panels, (ptrdiff_t)depth * LANES, LANES};
        rapt__multiply(l, rapt__min(rows - i, BLOCK_ROWS), i + BLOCK_ROWS, depth, left, right,
                       c + (ptrdiff_t)i * CHUNK_ROWS, CHUNK_ROWS, false);
    }
}

void rapt__multiply_lower(const struct linear_problem *l, int rows, int columns, const float *t,
                          const float *b, int ld, float *c)
{
    for (int i = 0; i < rows; i += BLOCK_ROWS) {
        int end = rapt__min(i + BLOCK_ROWS, rows);
        const struct left left = {t + (ptrdiff_t)i * CHUNK_ROWS, CHUNK_ROWS, 1};
        rapt__multiply(l, end - i, columns, end, left, rapt__plain(b, ld), c + (ptrdiff_t)i * ld,
                       ld, true);
    }
}

void rapt__multiply_upper(const struct linear_problem *l, int rows, int columns, const float *t,
                          const float *b, int ld, float *c)
{
    for (int i = 0; i < rows; i += BLOCK_ROWS) {
        ptrdiff_t at = (ptrdiff_t)i * ld;
        const struct left left = {t + (ptrdiff_t)i * CHUNK_ROWS + i, 1, CHUNK_ROWS};
        rapt__multiply(l, rapt__min(rows - i, BLOCK_ROWS), columns, rows - i, left,
                       rapt__plain(b + at, ld), c + at, ld, true);
    }
}

void rapt__rows_scale(const float *x, const float *factor, int rows, int ld, float *to)
{
    for (int r = 0; r < rows; r++, x += ld, to += ld)
        for (int i = 0; i < ld; i++) to[i] = factor[r] * x[i];
}

/* ---- rows ---- */

void rapt__linear_copy(const float *x, ptrdiff_t ld, int rows, int width, float *to, int to_ld)
{
    for (int r = 0; r < rows; r++, x += ld, to += to_ld) {
        memcpy(to, x, (size_t)width * sizeof *x);
        memset(to + width, 0, (size_t)(to_ld - width) * sizeof *x);
    }
}

void rapt__linear_features(const struct linear_problem *l, float *x, int n)
{
    enum { PART = 64 };
    if (l->a->feature_map == RAPT_FEATURE_MAP_NONE) return;
    for (int i = 0; i < n; i += PART) {
        float negative[PART];
        int part = rapt__min(n - i, PART);
        for (int j = 0; j < part; j++) negative[j] = x[i + j] > 0 ? 0 : x[i + j];
        l->kernels->exp_row(negative, (size_t)part);
        for (int j = 0; j < part; j++) x[i + j] = (x[i + j] > 0 ? x[i + j] : 0) + negative[j];
    }
}

static void load_features(const struct linear_problem *l, const float *x, ptrdiff_t ld, int rows,
                          float *to)
{
    rapt__linear_copy(x, ld, rows, l->width, to, l->key_ld);
    for (int r = 0; r < rows; r++)
        rapt__linear_features(l, to + (ptrdiff_t)r * l->key_ld, l->width);
}

void rapt__chunk_ahead(const struct linear_problem *l, const struct linear_item *item,
                       const float *x, const rapt_stride *s, int width, int first, struct chunk *c)
{
    if (l->far && x && first >= 0 && first < item->rows)
        rapt__ahead_add(&c->ahead, x + rapt__linear_at(s, item, first), s->row,
                        rapt__min(item->rows - first, CHUNK_ROWS), width);
}

static void exp_differences(const struct linear_problem *l, double from, const double *sums, int n,
                            float *to)
{
    for (int i = 0; i < n; i++) to[i] = (float)(from - sums[i]);
    l->kernels->exp_row(to, (size_t)n);
}

/* Computes `decay`, `start` and `end`. The logarithms are summed in double precision, so that the
   difference between two sums is accurate even after a row that forgets everything. */
static void load_decays(const struct linear_problem *l, const struct linear_item *item, int first,
                        struct chunk *c)
{
    const rapt_linear_attention *a = l->a;
    double sums[CHUNK_ROWS], sum = 0;
    for (int r = 0; r < c->rows; r++) {
        double log =
            a->log_decay ? (double)a->log_decay[rapt__linear_at(&a->gates, item, first + r)] : 0;
        sum += log < LEAST_LOG ? LEAST_LOG : log;
        sums[r] = sum, c->start[r] = (float)sum;
    }
    l->kernels->exp_row(c->start, (size_t)c->rows);
    exp_differences(l, sum, sums, c->rows, c->end);
    for (int r = 0; r < c->rows; r++) {
        float *row = c->decay + (ptrdiff_t)r * CHUNK_ROWS;
        rapt__ahead_tile(&c->ahead);
        exp_differences(l, sums[r], sums, r + 1, row);
        for (int i = r + 1; i < rapt__chunk_columns(r); i++) row[i] = 0;
    }
}

/* Computes `dots`, and the coefficients -N B of the system for x. */
static void load_system(const struct linear_problem *l, const struct linear_item *item, int first,
                        struct chunk *c)
{
    const rapt_linear_attention *a = l->a;
    for (int r = 0; r < c->rows; r++)
        c->beta[r] = a->beta[rapt__linear_at(&a->gates, item, first + r)];
    rapt__multiply_scores(l, c->rows, l->width, c->keys, l->key_ld, c->panels, c->dots);
    for (int r = 0; r < c->rows; r++) {
        ptrdiff_t row = (ptrdiff_t)r * CHUNK_ROWS;
        for (int i = 0; i < r; i++) c->dots[row + i] *= c->decay[row + i];
        for (int i = r; i < rapt__chunk_columns(r); i++) c->dots[row + i] = 0;
        for (int i = 0; i < r; i++) c->solver[row + i] = -c->dots[row + i] * c->beta[i];
    }
}

void rapt__chunk_load(const struct linear_problem *l, const struct linear_item *item,
                      const float *k, int first, struct chunk *c)
{
    const rapt_stride *s = &l->a->k;
    load_features(l, k + rapt__linear_at(s, item, first), s->row, c->rows, c->keys);
    l->kernels->pack_columns(c->keys, l->key_ld, c->rows, l->width, 1, 0,
                             rapt__ceil_div(c->rows, LANES), c->panels);
    load_decays(l, item, first, c);
    if (l->a->beta) load_system(l, item, first, c);
}

/* Solves (I + N B) x = y from the first row to the last, block by block. Replaces y, which is in
   c->x, with x. */
static void solve(const struct linear_problem *l, struct chunk *c)
{
    const int ld = l->value_ld;
    for (int i = 0; i < c->rows; i += BLOCK_ROWS) {
        int end = rapt__min(i + BLOCK_ROWS, c->rows);
        const float *block = c->solver + (ptrdiff_t)i * CHUNK_ROWS;
        float *x = c->x + (ptrdiff_t)i * ld;
        rapt__multiply(l, end - i, ld, i, (struct left){block, CHUNK_ROWS, 1},
                       rapt__plain(c->x, ld), x, ld, true);
        for (int r = 1; r < end - i; r++)
            l->kernels->gemv(block + (ptrdiff_t)r * CHUNK_ROWS + i, r, x, ld, ld,
                             x + (ptrdiff_t)r * ld);
    }
}

void rapt__chunk_scale(const struct linear_problem *l, struct chunk *c)
{
    if (l->a->beta) rapt__rows_scale(c->x, c->beta, c->rows, l->value_ld, c->u);
}

void rapt__chunk_solve(const struct linear_problem *l, const struct linear_item *item,
                       const float *v, int first, const float *state, struct chunk *c)
{
    const rapt_stride *s = &l->a->v;
    const int ld = l->value_ld;
    rapt__linear_copy(v + rapt__linear_at(s, item, first), s->row, c->rows, l->a->value_width, c->x,
                      ld);
    for (int r = 0; r < c->rows && l->a->normalized; r++)
        c->x[(ptrdiff_t)r * ld + l->a->value_width] = 1;
    if (!l->a->beta) return;
    float negative[CHUNK_ROWS];
    for (int r = 0; r < c->rows; r++) negative[r] = -c->start[r];
    rapt__rows_scale(c->keys, negative, c->rows, l->key_ld, c->scaled);
    rapt__multiply(l, c->rows, ld, l->width, (struct left){c->scaled, l->key_ld, 1},
                   rapt__plain(state, ld), c->x, ld, true);
    solve(l, c);
    rapt__chunk_scale(l, c);
}

void rapt__chunk_weights(const struct linear_problem *l, const struct linear_item *item,
                         const float *q, int first, struct chunk *c)
{
    const rapt_stride *s = &l->a->q;
    load_features(l, q + rapt__linear_at(s, item, first), s->row, c->rows, c->queries);
    rapt__multiply_scores(l, c->rows, l->width, c->queries, l->key_ld, c->panels, c->scores);
    for (int r = 0; r < c->rows; r++) {
        ptrdiff_t row = (ptrdiff_t)r * CHUNK_ROWS;
        rapt__ahead_tile(&c->ahead);
        for (int i = 0; i < rapt__chunk_columns(r); i++)
            c->weights[row + i] = l->scale * (c->decay[row + i] * c->scores[row + i]);
    }
}

void rapt__chunk_read(const struct linear_problem *l, const float *state, struct chunk *c)
{
    const int ld = l->value_ld;
    float factor[CHUNK_ROWS];
    for (int r = 0; r < c->rows; r++) factor[r] = l->scale * c->start[r];
    rapt__rows_scale(c->queries, factor, c->rows, l->key_ld, c->scaled);
    rapt__multiply(l, c->rows, ld, l->width, (struct left){c->scaled, l->key_ld, 1},
                   rapt__plain(state, ld), c->out, ld, false);
    rapt__multiply_lower(l, c->rows, ld, c->weights, c->u, ld, c->out);
}

void rapt__chunk_advance(const struct linear_problem *l, struct chunk *c, float *state)
{
    const int ld = l->value_ld;
    float whole = c->start[c->rows - 1];
    size_t size = (size_t)l->width * (size_t)ld;
    for (size_t i = 0; i < size && l->a->log_decay; i++) state[i] *= whole;
    rapt__rows_scale(c->keys, c->end, c->rows, l->key_ld, c->scaled);
    rapt__multiply(l, l->width, ld, c->rows, (struct left){c->scaled, 1, l->key_ld},
                   rapt__plain(c->u, ld), state, ld, true);
}

float rapt__chunk_inverse(const struct linear_problem *l, const float *out)
{
    float sum = out[l->values - 1];
    return sum != 0 ? 1 / sum : 0;
}
