/* distances.c - products of queries and keys with distance vectors (rapt/distances.h), and their
   gradients. The products are computed once per row, for all n distances, and then added to scores
   by distance (in tiles, by kernel/flash_distances.c):

       by_query[t][d] = scale (q[t] + v).r[d]        by_key[s][d] = scale k[s].r'[d]

   The products take about n floats for each row and head. If distances share buckets, products are
   computed only for the buckets, and then copied to the distances; in a row of by_query, the
   products for buckets come after the products for distances. The backward pass sums the gradients
   of scores in arrays of the same layouts, adds up the sums for repeated distances and for
   distances that share a bucket, and multiplies the results by queries, keys or vectors. The
   gradient of a vector is summed in a fixed order: by head (if heads share it), sequence and row.
   Vectors that are added to values are in distance_values.c. */
#include "attention/score/score.h"

#include <string.h>

enum { ROWS = 64 };

/* Returns the stride between rows of an array of vectors. */
static ptrdiff_t row_of(const rapt_attention *a, int width)
{
    return (ptrdiff_t)(a->distances.shared ? 1 : a->heads) * width;
}

/* Returns row 0 of head h, or NULL if x is NULL. */
static const float *head_of(const rapt_attention *a, const float *x, int h, int width)
{
    return x && !a->distances.shared ? x + (ptrdiff_t)h * width : x;
}
static float *gradient_of(const rapt_attention *a, float *x, int h, int width)
{
    return x && !a->distances.shared ? x + (ptrdiff_t)h * width : x;
}

/* ---- products and repetitions ---- */

/* Computes the product one row at a time, ignoring vectors whose factor is 0. */
static void add_rows(const struct distance_product *p)
{
    for (int r = 0; r < p->rows; r++)
        for (int k = 0; k < p->terms; k += LANES) {
            float factors[LANES];
            int terms = rapt__min(p->terms - k, LANES);
            for (int i = 0; i < terms; i++) factors[i] = p->a[r * p->a_row + (k + i) * p->a_step];
            rapt__kernels()->gemv(factors, terms, p->x + k * p->x_row, p->x_row, p->width,
                                  p->y + r * p->y_row);
        }
}

void rapt__distance_add(const struct distance_product *p)
{
    const struct gemm_block gemm = {.rows = p->rows,
                                    .columns = p->width,
                                    .depth = p->terms,
                                    .a = p->a,
                                    .a_row = p->a_row,
                                    .a_step = p->a_step,
                                    .b = p->x,
                                    .b_panel = LANES,
                                    .b_step = p->x_row,
                                    .c = p->y,
                                    .c_row = p->y_row,
                                    .c_panel = LANES,
                                    .add = true};
    if (rapt__kernels()->rows_finite(p->x, p->x_row, p->terms, p->width))
        rapt__kernels()->gemm(&gemm);
    else
        add_rows(p);
}

void rapt__distance_fold(const rapt_attention *a, float *row)
{
    enum { SUMS = 4 };
    const int *buckets = a->distances.buckets;
    int n = rapt__distance_count(a);
    float *d = row + LANES, before[SUMS] = {0}, after[SUMS] = {0};
    for (int i = 0; i < LANES; i += SUMS)
        for (int j = 0; j < SUMS; j++) before[j] += row[i + j], after[j] += d[n + i + j];
    d[0] += (before[0] + before[1]) + (before[2] + before[3]);
    d[n - 1] += (after[0] + after[1]) + (after[2] + after[3]);
    float *sums = rapt__distance_by_vector(a, row);
    for (int i = 0; buckets && i < n; i++) sums[buckets[i]] += d[i];
}

/* ---- products with queries ---- */

/* Returns the number of floats in the packed vectors of one head. */
static size_t packed_head(const rapt_attention *a)
{
    return rapt__panels_size((size_t)rapt__distance_vectors(a), (size_t)a->key_width);
}

size_t rapt__distance_packed(const rapt_attention *a)
{
    size_t heads = a->distances.shared ? 1 : (size_t)a->heads,
           n = (size_t)rapt__distance_vectors(a);
    size_t all = 0;
    if (!a->distances.keys) return 0;
    bool fits = rapt__times(heads, packed_head(a), &all) &&
                rapt__plus(all, (size_t)a->heads * n + LANES, &all);
    return fits ? all / LANES * LANES : SIZE_MAX;
}

void rapt__distance_pack(struct team *team, const rapt_attention *a, float *packed)
{
    const struct kernels *kernels = rapt__kernels();
    const rapt_distances *x = &a->distances;
    int n = rapt__distance_vectors(a), K = a->key_width, heads = x->shared ? 1 : a->heads;
    float scale = rapt__score_scale(a->score, a->scale, K), *biases = packed;
    if (x->keys) biases += (size_t)heads * packed_head(a);
    for (int h; x->keys && (h = rapt__team_take(team)) < a->heads;) {
        const float *r = head_of(a, x->keys, h, K), *v = x->position_bias;
        if (h < heads)
            kernels->pack_columns(r, row_of(a, K), n, K, scale, 0, rapt__ceil_div(n, LANES),
                                  packed + (size_t)h * packed_head(a));
        for (int d = 0; d < n; d++) {
            float product = v ? kernels->dot(v + (ptrdiff_t)h * K, r + d * row_of(a, K), K) : 0;
            biases[(ptrdiff_t)h * n + d] = scale * product;
        }
    }
    rapt__team_barrier(team);
}

/* Fills in the distances of a row of by_query from the products of its buckets, if any, and repeats
   the first and the last distance. */
static void spread(const rapt_attention *a, float *row)
{
    const int *buckets = a->distances.buckets;
    const float *products = rapt__distance_by_vector(a, row);
    int n = rapt__distance_count(a);
    float *first = row + LANES, *last = first + n - 1;
    for (int i = 0; buckets && i < n; i++) first[i] = products[buckets[i]];
    for (int i = 0; i < LANES; i++) row[i] = *first, last[1 + i] = *last;
}

void rapt__distance_queries(const rapt_attention *a, const float *packed, int h, const float *q,
                            ptrdiff_t q_row, int rows, float *to)
{
    int n = rapt__distance_vectors(a), heads = a->distances.shared ? 1 : a->heads;
    const float *biases = packed + (size_t)heads * packed_head(a);
    rapt__distance_products(a, packed + (heads > 1 ? (size_t)h * packed_head(a) : 0),
                            biases + (ptrdiff_t)h * n, q, q_row, a->key_width, rows, to);
}

void rapt__distance_products(const rapt_attention *a, const float *packed, const float *bias,
                             const float *x, ptrdiff_t x_row, int width, int rows, float *to)
{
    ptrdiff_t row = (ptrdiff_t)rapt__distance_row(a);
    const struct gemm_block gemm = {.rows = rows,
                                    .columns = rapt__distance_vectors(a),
                                    .depth = width,
                                    .a = x,
                                    .a_row = x_row,
                                    .a_step = 1,
                                    .b = packed,
                                    .b_panel = (ptrdiff_t)LANES * width,
                                    .b_step = LANES,
                                    .c = rapt__distance_by_vector(a, to),
                                    .c_row = row,
                                    .c_panel = LANES,
                                    .bias = bias};
    rapt__kernels()->gemm(&gemm);
    for (int r = 0; r < rows; r++) spread(a, to + r * row);
}

/* ---- products with keys ---- */

size_t rapt__distance_space(const rapt_attention *a)
{
    if (!a->distances.queries) return 0;
    return LANES * ((size_t)rapt__distance_vectors(a) + (size_t)a->key_width);
}

/* Returns the row of r' for lane `lane` of vector e in a panel. */
static int vector_at(const rapt_attention *a, int e, int lane)
{
    int n = rapt__distance_count(a), d = rapt__max(0, rapt__min(n - 1 + lane - e, n - 1));
    return a->distances.buckets ? a->distances.buckets[d] : d;
}

void rapt__distance_keys(const rapt_attention *a, int h, const float *k, ptrdiff_t k_row, int first,
                         int keys, float *space, float *panel)
{
    int n = rapt__distance_vectors(a), K = a->key_width;
    float *packed = space + LANES * n, scale = rapt__score_scale(a->score, a->scale, K);
    rapt__kernels()->pack_columns(k, k_row, keys, K, 1, 0, 1, packed);
    const struct gemm_block gemm = {.rows = n,
                                    .columns = LANES,
                                    .depth = K,
                                    .a = head_of(a, a->distances.queries, h, K),
                                    .a_row = row_of(a, K),
                                    .a_step = 1,
                                    .b = packed,
                                    .b_panel = (ptrdiff_t)LANES * K,
                                    .b_step = LANES,
                                    .c = space,
                                    .c_row = LANES,
                                    .c_panel = LANES};
    rapt__kernels()->gemm(&gemm);
    for (int e = 0; e < rapt__distance_count(a) + LANES - 1; e++, panel += LANES) {
        if (first == 0) memset(panel, 0, LANES * sizeof *panel);
        for (int i = 0; i < keys; i++)
            panel[first + i] = scale * space[vector_at(a, e, first + i) * LANES + i];
    }
}

/* ---- whole problems ---- */

static bool chosen(struct score_choice only, int sequence, int head)
{
    return (only.sequence < 0 || only.sequence == sequence) && (only.head < 0 || only.head == head);
}

/* Returns the index of query t among the rows of an array [H][query rows][row]. */
static size_t query_row(const rapt_attention *a, const struct sequence *b, int h, int t)
{
    return (size_t)h * (size_t)rapt__query_rows(a) + (size_t)(b->query_first + t);
}

/* Returns the index in by_key of the panel that holds key s of head h. */
static size_t panel_at(const rapt_attention *a, const struct sequence *b, int h, int s)
{
    size_t all = rapt__key_panels((size_t)a->batch, (size_t)rapt__key_rows(a));
    return (size_t)h * all + rapt__key_panel(b) + (size_t)(s / LANES);
}

static void fill_head(const struct distance_fill *f, const struct sequence *b, int h)
{
    const rapt_attention *a = f->a;
    int g = h / (a->heads / rapt__key_heads_of(a));
    for (int t = 0; f->by_query && t < b->queries; t += ROWS)
        rapt__distance_queries(a, f->packed, h, f->q + rapt__query_at(&a->q, b, h, t), a->q.row,
                               rapt__min(b->queries - t, ROWS),
                               f->by_query + query_row(a, b, h, t) * rapt__distance_row(a));
    for (int s = 0; f->by_key && s < b->existing; s += LANES)
        rapt__distance_keys(a, h, f->k + rapt__key_at(&a->k, b, g, s), a->k.row, 0,
                            rapt__min(b->existing - s, LANES), f->space,
                            f->by_key + panel_at(a, b, h, s) * rapt__distance_panel(a));
}

void rapt__distances_fill(struct team *team, const struct distance_fill *f,
                          struct score_choice only)
{
    rapt__distance_pack(team, f->a, f->packed);
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < f->a->batch; i++)
        for (int h = 0; h < f->a->heads; h++) {
            if (!chosen(only, i, h) || !rapt__mine(&tickets)) continue;
            struct sequence b = rapt__sequence(f->a, i);
            fill_head(f, &b, h);
        }
    rapt__team_barrier(team);
}

/* ---- backward ---- */

/* Folds a row of gradients (rapt__distance_fold) and multiplies the gradients of the products by
   the scale. */
static void fold_query(const rapt_attention *a, float scale, float *row)
{
    float *products = rapt__distance_by_vector(a, row);
    rapt__distance_fold(a, row);
    for (int i = 0; i < rapt__distance_vectors(a); i++) products[i] *= scale;
}

/* Replaces a panel of gradients with rows [16][vectors], one for each key, multiplied by the scale.
   space is workspace of 16 floats for each vector. */
static void fold_panel(const rapt_attention *a, float scale, float *space, float *panel)
{
    int n = rapt__distance_vectors(a);
    memset(space, 0, LANES * (size_t)n * sizeof *space);
    for (int e = 0; e < rapt__distance_count(a) + LANES - 1; e++)
        for (int lane = 0; lane < LANES; lane++)
            space[(ptrdiff_t)lane * n + vector_at(a, e, lane)] += panel[e * LANES + lane];
    for (ptrdiff_t i = 0; i < (ptrdiff_t)LANES * n; i++) panel[i] = scale * space[i];
}

/* Folds the gradients of one sequence and head, and adds the gradients of its queries. */
static void fold_head(const struct distance_fill *f, const rapt_gradients *d,
                      const struct sequence *b, int h)
{
    const rapt_attention *a = f->a;
    int n = rapt__distance_vectors(a), K = a->key_width;
    float scale = rapt__score_scale(a->score, a->scale, K);
    size_t row = rapt__distance_row(a), first = query_row(a, b, h, 0);
    float *queries = f->by_query ? f->by_query + first * row : NULL;
    for (int t = 0; queries && t < b->queries; t++) fold_query(a, scale, queries + (size_t)t * row);
    if (queries && d->q && b->queries > 0)
        rapt__distance_add(&(struct distance_product){.rows = b->queries,
                                                      .terms = n,
                                                      .width = K,
                                                      .a = rapt__distance_by_vector(a, queries),
                                                      .a_row = (ptrdiff_t)row,
                                                      .a_step = 1,
                                                      .x = head_of(a, a->distances.keys, h, K),
                                                      .x_row = row_of(a, K),
                                                      .y = d->q + rapt__query_at(&a->q, b, h, 0),
                                                      .y_row = a->q.row});
    for (int t = 0; f->weights && t < b->queries; t++)
        rapt__distance_fold(a, f->weights + (first + (size_t)t) * row);
    for (int s = 0; f->by_key && s < b->existing; s += LANES)
        fold_panel(a, scale, f->space, f->by_key + panel_at(a, b, h, s) * rapt__distance_panel(a));
}

/* Adds the gradients of the keys of one sequence and key head. */
static void add_keys(const struct distance_fill *f, float *dk, const struct sequence *b, int g)
{
    const rapt_attention *a = f->a;
    int n = rapt__distance_vectors(a), K = a->key_width, group = a->heads / rapt__key_heads_of(a);
    for (int h = g * group; h < (g + 1) * group; h++)
        for (int s = 0; s < b->existing; s += LANES)
            rapt__distance_add(&(struct distance_product){
                .rows = rapt__min(b->existing - s, LANES),
                .terms = n,
                .width = K,
                .a = f->by_key + panel_at(a, b, h, s) * rapt__distance_panel(a),
                .a_row = n,
                .a_step = 1,
                .x = head_of(a, a->distances.queries, h, K),
                .x_row = row_of(a, K),
                .y = dk + rapt__key_at(&a->k, b, g, s),
                .y_row = a->k.row});
}

/* Coefficients and rows of q, k or dout, whose products are added to gradients of vectors. */
struct products_by_distance {
    const rapt_attention *a;
    bool keys;      /* rows are keys, not queries */
    const float *g; /* coefficients: rows laid out like by_query, or panels of rows [16][n] */
    size_t g_row;   /* floats from one row to the next, or from one panel to the next */
    const float *x; /* rows */
    const rapt_stride *stride;
    int width;
    float *to; /* gradients, as in rapt_distances */
};

/* Adds the products of `rows` rows, starting with row t, to the gradients of vectors [first, first
   + 16). */
static void add_block(const struct products_by_distance *p, const struct sequence *b, int h, int t,
                      int rows, int first)
{
    const rapt_attention *a = p->a;
    int n = rapt__distance_vectors(a), g = h / (a->heads / rapt__key_heads_of(a));
    size_t row = p->keys ? panel_at(a, b, h, t) : query_row(a, b, h, t);
    const float *c = p->g + row * p->g_row + first, *x = p->x;
    ptrdiff_t c_row = p->keys ? n : (ptrdiff_t)p->g_row;
    x += p->keys ? rapt__key_at(p->stride, b, g, t) : rapt__query_at(p->stride, b, h, t);
    rapt__distance_add(&(struct distance_product){.rows = rapt__min(n - first, LANES),
                                                  .terms = rows,
                                                  .width = p->width,
                                                  .a = c,
                                                  .a_row = 1,
                                                  .a_step = c_row,
                                                  .x = x,
                                                  .x_row = p->stride->row,
                                                  .y = gradient_of(a, p->to, h, p->width) +
                                                       first * row_of(a, p->width),
                                                  .y_row = row_of(a, p->width)});
}

static void add_products(struct team *team, const struct products_by_distance *p)
{
    const rapt_attention *a = p->a;
    int parts = rapt__ceil_div(rapt__distance_vectors(a), LANES),
        heads = a->distances.shared ? 1 : a->heads;
    for (int64_t item; p->to && (item = rapt__team_take(team)) < (int64_t)parts * heads;) {
        int first = (int)(item % parts) * LANES, head = (int)(item / parts);
        for (int h = head; h < a->heads && (h == head || heads == 1); h++)
            for (int i = 0; i < a->batch; i++) {
                struct sequence b = rapt__sequence(a, i);
                int rows = p->keys ? b.existing : b.queries, each = p->keys ? LANES : ROWS;
                for (int t = 0; t < rows; t += each)
                    add_block(p, &b, h, t, rapt__min(rows - t, each), first);
            }
    }
    rapt__team_barrier(team);
}

/* Sums the gradients of by_query in one head over all queries, and adds the gradient of v that
   follows from these sums. */
static void sum_head(const struct distance_fill *f, const rapt_distance_gradients *d, int h,
                     float *sums)
{
    const rapt_attention *a = f->a;
    int n = rapt__distance_vectors(a), K = a->key_width;
    size_t row = rapt__distance_row(a), rows = (size_t)rapt__query_rows(a);
    memset(sums, 0, (size_t)n * sizeof *sums);
    rapt__kernels()->column_sum(sums,
                                rapt__distance_by_vector(a, f->by_query + (size_t)h * rows * row),
                                (ptrdiff_t)row, (int)rows, n);
    if (d->position_bias)
        rapt__kernels()->gemv(sums, n, head_of(a, a->distances.keys, h, K), row_of(a, K), K,
                              d->position_bias + (ptrdiff_t)h * K);
}

/* Adds the gradients of v and r that come from v.r. */
static void add_position_bias(struct team *team, const struct distance_fill *f,
                              const rapt_distance_gradients *d)
{
    const rapt_attention *a = f->a;
    const float *v = a->distances.position_bias;
    int n = rapt__distance_vectors(a), K = a->key_width;
    if (!v || !f->by_query) return;
    for (int h; (h = rapt__team_take(team)) < a->heads;)
        sum_head(f, d, h, f->packed + (ptrdiff_t)h * n);
    rapt__team_barrier(team);
    for (int h = 0; team->rank == 0 && d->keys && h < a->heads; h++)
        rapt__kernels()->rank1_update(f->packed + (ptrdiff_t)h * n, n, v + (ptrdiff_t)h * K, K,
                                      gradient_of(a, d->keys, h, K), row_of(a, K));
}

void rapt__distances_backward(struct team *team, const struct distance_fill *f, const float *dout,
                              const rapt_gradients *d)
{
    const rapt_attention *a = f->a;
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < a->batch; i++)
        for (int h = 0; h < a->heads; h++) {
            if (!rapt__mine(&tickets)) continue;
            struct sequence b = rapt__sequence(a, i);
            fold_head(f, d, &b, h);
        }
    rapt__team_barrier(team);
    tickets = rapt__tickets(team, 1);
    for (int i = 0; f->by_key && d->k && i < a->batch; i++)
        for (int g = 0; g < rapt__key_heads_of(a); g++) {
            if (!rapt__mine(&tickets)) continue;
            struct sequence b = rapt__sequence(a, i);
            add_keys(f, d->k, &b, g);
        }
    rapt__team_barrier(team);
    struct products_by_distance p = {
        .a = a, .x = f->q, .stride = &a->q, .width = a->key_width, .to = d->distances.keys};
    p.g = f->by_query ? rapt__distance_by_vector(a, f->by_query) : NULL,
    p.g_row = rapt__distance_row(a);
    if (f->by_query) add_products(team, &p);
    add_position_bias(team, f, &d->distances);
    p.keys = true, p.g = f->by_key, p.g_row = rapt__distance_panel(a), p.x = f->k;
    p.stride = &a->k, p.to = d->distances.queries;
    if (f->by_key) add_products(team, &p);
    p.keys = false, p.g = f->weights ? rapt__distance_by_vector(a, f->weights) : NULL;
    p.g_row = rapt__distance_row(a), p.x = dout, p.stride = &a->out, p.width = a->value_width;
    p.to = d->distances.values;
    if (f->weights) add_products(team, &p);
    rapt__team_barrier(team);
}
