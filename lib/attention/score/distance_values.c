/* distance_values.c - distance vectors that are added to values (Shaw, Uszkoreit and Vaswani 2018,
   equation 3). Let a[d] be the vector of distance d, and W[t][d] the sum of the weights of query t
   for keys at distance d:

       out[t] += sum over d of W[t][d] a[d]        dw[t][s] += dout[t].a[distance of s]

   Kernels and the general path sum weights and read dout.a by distance. Both products with the
   vectors are therefore matrix products, computed once for the rows of a head. If distances share
   buckets, the sums of the distances in each bucket are first added together, and dout.a is copied
   from buckets to distances. */
#include "attention/score/score.h"

#include <string.h>

/* Returns the number of floats in the packed vectors of one head. */
static size_t packed_head(const rapt_attention *a)
{
    return rapt__panels_size((size_t)rapt__distance_vectors(a), (size_t)a->value_width);
}

size_t rapt__distance_values_packed(const rapt_attention *a)
{
    size_t all = 0;
    if (!a->distances.values) return 0;
    bool fits = rapt__times(a->distances.shared ? 1 : (size_t)a->heads, packed_head(a), &all);
    return fits ? all : SIZE_MAX;
}

/* Returns the row for query t of head h in `all`, an array [H][query rows][row] of sums or
   products. */
static float *rows_at(const rapt_attention *a, float *all, const struct sequence *b, int h, int t)
{
    size_t row = (size_t)h * (size_t)rapt__query_rows(a) + (size_t)(b->query_first + t);
    return all + row * rapt__distance_row(a);
}

static void pack_values(struct team *team, const rapt_attention *a, float *packed)
{
    int n = rapt__distance_vectors(a), V = a->value_width,
        heads = a->distances.shared ? 1 : a->heads;
    for (int h; (h = rapt__team_take(team)) < heads;) {
        ptrdiff_t row;
        const float *x = rapt__distance_values(a, h, &row);
        rapt__kernels()->pack_columns(x, row, n, V, 1, 0, rapt__ceil_div(n, LANES),
                                      packed + (size_t)h * packed_head(a));
    }
    rapt__team_barrier(team);
}

void rapt__distance_dout(struct team *team, const rapt_attention *a, float *packed,
                         const float *dout, float *by_dout)
{
    bool shared = a->distances.shared;
    pack_values(team, a, packed);
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < a->batch; i++)
        for (int h = 0; h < a->heads; h++) {
            if (!rapt__mine(&tickets)) continue;
            struct sequence b = rapt__sequence(a, i);
            if (b.queries > 0)
                rapt__distance_products(a, packed + (shared ? 0 : (size_t)h * packed_head(a)), NULL,
                                        dout + rapt__query_at(&a->out, &b, h, 0), a->out.row,
                                        a->value_width, b.queries, rows_at(a, by_dout, &b, h, 0));
        }
    rapt__team_barrier(team);
}

void rapt__distance_output(const rapt_attention *a, int h, int rows, float *sums, float *out,
                           ptrdiff_t out_row)
{
    int n = rapt__distance_vectors(a);
    ptrdiff_t row = (ptrdiff_t)rapt__distance_row(a), x_row;
    const float *x = rapt__distance_values(a, h, &x_row);
    for (int r = 0; r < rows; r++) rapt__distance_fold(a, sums + r * row);
    rapt__distance_add(&(struct distance_product){.rows = rows,
                                                  .terms = n,
                                                  .width = a->value_width,
                                                  .a = rapt__distance_by_vector(a, sums),
                                                  .a_row = row,
                                                  .a_step = 1,
                                                  .x = x,
                                                  .x_row = x_row,
                                                  .y = out,
                                                  .y_row = out_row});
}

void rapt__distance_outputs(struct team *team, const rapt_attention *a, float *sums, float *out)
{
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0; i < a->batch; i++)
        for (int h = 0; h < a->heads; h++) {
            if (!rapt__mine(&tickets)) continue;
            struct sequence b = rapt__sequence(a, i);
            if (b.queries > 0)
                rapt__distance_output(a, h, b.queries, rows_at(a, sums, &b, h, 0),
                                      out + rapt__query_at(&a->out, &b, h, 0), a->out.row);
        }
    rapt__team_barrier(team);
}
