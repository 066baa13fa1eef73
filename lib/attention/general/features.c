/* features.c - gradients of the arrays that determine the features of recurrent scores: L, the
   filters F, and w, which is the weights of the previous query (Chorowski et al. 2015, section 2.2)
   or the sum of all previous weights. Let g[s] be the gradient of k[s] + L f[s], and f[c][s] = sum
   over j of F[c][j] w[s + j - width/2]:

       dL += g f'     df = L' g     dF[c][j] += sum over s of df[c][s] w[s + j - width/2]
       dw[s] = sum over c and j of df[c][s - j + width/2] F[c][j]

   dL and dF are sums over queries, from the last to the first, of sums over blocks of keys. */
#include "attention/general/backward.h"

#include <string.h>

/* Computes c[i][j] += sum over s of a[i][s] b[s][j], with columns in whole panels. Each BLOCK of
   keys is summed from zero and then added, because the rounding error of a single chain of
   additions would grow with the total number of keys of all queries. */
static void add_product(const struct backward_row *l, const float *a, ptrdiff_t a_row, int rows,
                        const float *b, ptrdiff_t b_panel, ptrdiff_t b_step, int columns, float *c)
{
    enum { BLOCK = 64 };
    const struct kernels *kernels = l->p->f->kernels;
    float *part = l->p->f->mine.product;
    int whole = rapt__padded(columns), n = rapt__row_length(l->r);
    for (int s = 0; s < n; s += BLOCK) {
        const struct gemm_block p = {.rows = rows,
                                     .columns = whole,
                                     .depth = n - s < BLOCK ? n - s : BLOCK,
                                     .a = a + s,
                                     .a_row = a_row,
                                     .a_step = 1,
                                     .b = b + s * b_step,
                                     .b_panel = b_panel,
                                     .b_step = b_step,
                                     .c = part,
                                     .c_row = whole,
                                     .c_panel = LANES};
        kernels->gemm(&p);
        kernels->add(c, part, (size_t)rows * (size_t)whole);
    }
}

/* Computes dnext, the gradient of the row's `before`, from df in dfeatures, by a convolution with
   reversed filters. If `before` is a sum of weights, later sums contain it, so their gradient, in
   dnext, remains. */
static void gradient_before(const struct backward_row *l, ptrdiff_t row)
{
    const struct row_head *h = l->r->head;
    if (!h->summed) memset(l->dnext, 0, (size_t)l->r->space.capacity * sizeof(float));
    for (int c = 0; c < h->channels; c++) {
        const struct gemm_block back = {.rows = 1,
                                        .columns = l->r->space.capacity,
                                        .depth = h->filter_width,
                                        .a = h->filters + (ptrdiff_t)(c + 1) * h->filter_width - 1,
                                        .a_step = -1,
                                        .b = l->p->f->mine.dfeatures + c * row,
                                        .b_panel = LANES,
                                        .b_step = 1,
                                        .c = l->dnext,
                                        .c_panel = LANES,
                                        .add = true};
        l->p->f->kernels->gemm(&back);
    }
}

/* Rows of df have filter_width / 2 zeros before their keys, and more zeros after them. */
void rapt__features_backward(const struct backward_row *l)
{
    const struct backward_rows *m = &l->p->f->mine;
    const struct kernels *kernels = l->p->f->kernels;
    const struct row *r = l->r;
    const struct row_head *h = r->head;
    int first = r->first, n = rapt__row_length(r), capacity = r->space.capacity,
        row = capacity + 2 * h->filter_width;
    float *df = m->dfeatures + h->filter_width / 2 + first;
    kernels->pack_columns(r->space.features + first, capacity, h->channels, n, 1, 0,
                          rapt__ceil_div(h->channels, LANES), m->transposed);
    add_product(l, m->dsums + first, capacity, h->width, m->transposed, (ptrdiff_t)n * LANES, LANES,
                h->channels, m->dfeature_weight);
    memset(m->dfeatures, 0, (size_t)h->channels * (size_t)row * sizeof *df);
    const struct gemm_block back = {.rows = h->channels,
                                    .columns = n,
                                    .depth = h->width,
                                    .a = h->feature_weight,
                                    .a_row = 1,
                                    .a_step = h->channels,
                                    .b = m->dsums + first,
                                    .b_panel = LANES,
                                    .b_step = capacity,
                                    .c = df,
                                    .c_row = row,
                                    .c_panel = LANES};
    kernels->gemm(&back);
    add_product(l, df, row, h->channels, r->space.before + first, LANES, 1, h->filter_width,
                m->dfilters);
    gradient_before(l, row);
}
