/* kernel.h - interface of lib/kernel: single-threaded functions on rows and tiles of floats (int8.h
   and bf16.h declare products of other types). There is a table of these functions for each
   instruction set. All tables are compiled from the same source and give bit-identical results,
   unless plain C is compiled without fused multiply-add (simd_scalar.h).

   PANELS. The right operand b[depth][columns] of a product is stored as panels of 16 columns:
   b[k][n] is at (n/16)*panel + k*step + n%16, with panel = 16*depth and step = 16. The last panel
   is padded with zeros. A weight matrix W [out][in] is always stored as the operand W' of x W':
   panel p holds outputs 16p .. 16p+15 as [in][16]. */
#ifndef RAPT_LIB_KERNEL_H
#define RAPT_LIB_KERNEL_H

#include "base/util.h"
#include "kernel/half.h"

#include <rapt/base.h>
#include <stdbool.h>

enum { LANES = 16 };

/* Returns the number of floats in the panels of a matrix [depth][columns]. */
static inline size_t rapt__panels_size(size_t columns, size_t depth)
{
    return rapt__round_up_size(columns, LANES) * depth;
}

/* The product c[r][n] = start + sum over k of a[r][k] * b[k][n], one fma per term in the order of
   k. The value of an element does not depend on the number of rows or columns, or on the element's
   position. */
struct gemm_block {
    int rows, columns, depth;
    const float *a; /* a[r][k] is at a[r*a_row + k*a_step]; one of the two strides should be 1 */
    ptrdiff_t a_row, a_step;
    int max_tile;   /* maximum number of rows in a register tile; 0 means no limit */
    bool a_tiles;   /* a was packed by pack_tiles: a_row is 1, a_step is ignored */
    const float *b; /* b[k][n] is at b[(n/16)*b_panel + k*b_step + n%16]; the padding is ignored */
    const uint16_t *half; /* padded panels of 16-bit floats, read in place of b; NULL means b */
    enum half_type type;  /* type of `half` */
    ptrdiff_t b_panel, b_step;
    float *c; /* c[r][n] is at c[r*c_row + (n/16)*c_panel + n%16] */
    ptrdiff_t c_row, c_panel;
    const float *bias; /* [columns]: start = bias[n]; NULL means start = 0 */
    bool add;          /* if true, start = c[r][n], and bias must be NULL */
};

enum activation {
    ACTIVATION_NONE,
    ACTIVATION_RELU,
    ACTIVATION_GELU,
    ACTIVATION_SILU,
    ACTIVATION_GELU_TANH,
    ACTIVATION_SIGMOID
};

struct dropout { /* key, row and column determine whether an element is dropped */
    uint64_t key;
    uint32_t below; /* an element is dropped if its 32 random bits are below this; 0 means no
                       dropout */
    float scale;    /* factor applied to the elements that are not dropped */
};

struct loss_sums {          /* results for one row of logits */
    float loss, likelihood; /* smoothed cross-entropy, and -log p[label], in nats */
    int best;               /* index of the largest logit, the lowest on ties */
};

struct adam {
    float rate; /* learning rate of this step, without bias correction */
    float beta1, beta2, epsilon;
    float correct1, correct2; /* 1 / (1 - beta1^step) and 1 / (1 - beta2^step) */
    float decay;              /* rate * weight_decay, the fraction of p that the step subtracts */
    float gradient_scale;     /* factor applied to g: 1/tokens times the clipping factor */
};

/* Additive attention: a query and keys in panels, scored by a hidden layer (kernel/additive.c). */
struct additive {
    int width, panels;
    const float *q, *vector; /* [width] */
    const float *keys;       /* [panels][width][16] */
    float *hidden;           /* [panels][width][16] tanh(q + k), which forward writes and backward
                                reads instead of q and keys; may be NULL in forward */
};
struct additive_gradients {
    float *q, *vector; /* [width] */
    float *keys;       /* element n of key s is at keys[(s/16)*keys_panel + n*keys_step + s%16] */
    ptrdiff_t keys_panel, keys_step;
};

/* Attention of a block of queries, forward and backward: kernel/flash.h. */
struct attend;
struct attend_head;
struct attend_head_gradients;
struct attend_block;
struct attend_weights;
struct attend_dkv;
struct attend_dq;

struct kernels {
    const char *name; /* such as "avx512" */
    rapt_isa isa;
    int tile_rows; /* height of the tallest register tile. Attention is fastest if the number of
                      queries is a multiple of this; gemm uses tiles of at most 13 rows */

    /* gemm.c */
    void (*gemm)(const struct gemm_block *g);
    /* Packs the matrix a, one tile of rows after another, each as [depth][rows of the tile], into
       out[rows * depth]. Uses only the fields rows, depth, max_tile, a and a_step; a_row must be
       1. */
    void (*pack_tiles)(const struct gemm_block *g, float *out);
    /* Transposes a matrix in panels: out[k][n] is the weight in w for output k and input n. The
       panels of w are [columns][16]. Writes only rows [k0, k0 + ks) of panels [first, first +
       count) of out, as panels of [ks][16]. k0 must be a multiple of 16. */
    void (*transpose_panels)(const float *w, int columns, int k0, int ks, int first, int count,
                             float *out);
    /* Packs panels [first, first + count) of a row-major matrix x[depth][columns], rows ld
       apart. */
    void (*pack_rows)(const float *x, ptrdiff_t ld, int columns, int depth, int first, int count,
                      float *out);
    /* Packs panels [first, first + count) of a transpose: out[k][n] = x[n][k] * scale, from
       x[columns][depth] with rows ld apart. */
    void (*pack_columns)(const float *x, ptrdiff_t ld, int columns, int depth, float scale,
                         int first, int count, float *out);
    /* Round n floats to bf16 (half.h), and widen n elements, a multiple of 16. */
    void (*round_bf16)(const float *x, int n, uint16_t *to);
    void (*widen_bf16)(const uint16_t *x, size_t n, float *to);

    /* row.c */
    float (*dot)(const float *x, const float *y, int n); /* returns the sum of x[i] y[i] */
    void (*add)(float *y, const float *x, size_t n);     /* y += x */
    float (*square_sum)(const float *x, size_t n);       /* returns the sum of x[i]^2 */
    void (*column_sum)(float *y, const float *x, ptrdiff_t ld, int rows,
                       int n); /* y[j] += sum_r x[r][j] */

    /* norm.c. If bias is NULL, computes RMSNorm: the mean is 0 and nothing is added. y may be x. */
    void (*norm_row)(const float *x, const float *gain, const float *bias, float epsilon, int n,
                     float *y, float *mean,
                     float *inverse); /* y = (x - mean) inverse gain + bias */
    /* Adds the gradient of x to dx. If `from` is not NULL, sets dx = from + gradient instead; dx
       may then be dy. `centered` is true if the forward pass subtracted the mean. */
    void (*norm_row_backward)(const float *x, const float *gain, bool centered, float mean,
                              float inverse, const float *dy, const float *from, int n, float *dx);
    /* dgain[j] += sum_r dy[r][j] (x[r][j] - mean[r]) inverse[r]; dbias[j] += sum_r dy[r][j], for n
       columns that start at x, dy, dgain and dbias, with rows ld apart. dbias may be NULL. */
    void (*norm_columns)(const float *x, const float *dy, ptrdiff_t ld, const float *mean,
                         const float *inverse, int rows, int n, float *dgain, float *dbias);

    /* activation.c. kind must not be ACTIVATION_NONE */
    void (*activate)(enum activation kind, const float *x, float *y, size_t n); /* y may be x */
    void (*activate_backward)(enum activation kind, const float *x, const float *dy, float *dx,
                              size_t n); /* computes dx, which may be dy */
    /* y = activation(x) gate. Backward computes dx and dgate. No two arrays may overlap. */
    void (*gate)(enum activation kind, const float *x, const float *gate, float *y, size_t n);
    void (*gate_backward)(enum activation kind, const float *x, const float *gate, const float *dy,
                          float *dx, float *dgate, size_t n);

    /* activation.c: f = 1 / (1 + e^-z), cell = f before + (1 - f) x, y = max(cell, 0), where a NULL
       `before` means 0. Backward reads the gradient of cell from d, computes dx and dz, and
       replaces d with the gradient of `before`. */
    void (*ssru_row)(const float *x, const float *z, const float *before, float *cell, float *y,
                     size_t n);
    void (*ssru_row_backward)(const float *x, const float *z, const float *before, float *d,
                              float *dx, float *dz, size_t n);

    /* random.c: y = from + dropout(x), where a NULL `from` means 0. y may be x or `from`. */
    void (*dropout_row)(const struct dropout *d, uint64_t row, const float *x, const float *from,
                        float *y, int n);

    /* random.c: to[i] = x[i] + the Gumbel noise of column first + i. first must be a multiple of 4;
       `to` may be x. */
    void (*gumbel_row)(uint64_t key, uint64_t row, int first, const float *x, float *to, int n);

    /* softmax.c */
    /* Replaces x with exp(x - max x), and stores the maximum and the sum. If all x are -infinity, x
       and the sum become 0. */
    void (*softmax_row)(float *x, int n, float *max, float *sum);
    float (*log_sum_row)(const float *x, int n); /* returns log(sum of exp x[i]) */
    /* simplex.c: replaces x with its sparsemax (power 1) or 1.5-entmax (power 2). If all x are
       -infinity, sets them to 0 and returns false. If any x is NaN or +infinity, every element
       other than -infinity becomes NaN. */
    bool (*simplex_row)(float *x, int n, int power);
    /* Sets p to the entmax of x with alpha = 1 + order, 2^-20 <= order <= 1. The result and special
       values are as in simplex_row. */
    bool (*entmax_row)(const float *x, float *p, int n, float order);
    /* Replaces dz, the gradient of the results z of these functions, with the gradient of x, which
       is 0 where z is 0. order is 1 for sparsemax and 1/2 for 1.5-entmax; with another order,
       curves must not be NULL. Returns the gradient of alpha, or 0 if curves is NULL. roots and
       curves are scratch space, [n] each. */
    float (*entmax_row_backward)(const float *z, float *dz, int n, float order, float *roots,
                                 float *curves);
    /* Replaces logits with scale times the gradient of the loss, p - (1-s) [i == label] - s/n,
       where p is the softmax and s is `smoothing`. */
    void (*loss_row)(float *x, int n, int label, float smoothing, float scale,
                     struct loss_sums *sums);
    /* Finds the k largest elements of x[0..n), in descending order; among equal elements, the one
       with the lower index comes first. Skips -infinity and NaN. Returns the number of elements
       found. */
    int (*top_row)(const float *x, int n, int k, int *index, float *value);
    /* Continues a search by top_row: x holds elements first, first + 1, ... of a longer row, and
       index and value hold the `count` largest elements before these. */
    int (*top_more)(const float *x, int n, int first, int k, int count, int *index, float *value);

    /* elementary.c: x = exp x, log x and tanh x, in place */
    void (*exp_row)(float *x, size_t n);
    void (*log_row)(float *x, size_t n);
    void (*tanh_row)(float *x, size_t n);

    /* elementary.c: sin and cos of position * frequencies[i] */
    void (*sine_cosine_row)(double position, const double *frequencies, int n, float *sines,
                            float *cosines);

    /* additive.c: forward sets x[s]; backward adds to every gradient */
    void (*additive_row)(const struct additive *a, float *x);
    void (*additive_row_backward)(const struct additive *a, const float *dx,
                                  const struct additive_gradients *d);

    /* row.c. gemv: y[j] += sum over s < n of w[s] x[s][j]. rank1_update: y[s][j] += w[s] x[j] for
       s < n. Rows are ld apart; terms with w[s] = 0 are skipped. */
    void (*gemv)(const float *w, int n, const float *x, ptrdiff_t ld, int width, float *y);
    void (*rank1_update)(const float *w, int n, const float *x, int width, float *y, ptrdiff_t ld);

    /* adam.c: a step of Adam for n adjacent parameters */
    void (*adam_span)(const struct adam *a, float *p, const float *g, float *m, float *v, size_t n);

    /* flash*.c */
    /* Copies rows of `width` floats, ld apart, and pads them with 0 to whole vectors. Returns true
       if any float is infinite or NaN. */
    bool (*pad_rows)(const float *x, ptrdiff_t ld, int rows, int width, float *to);
    /* Returns true if `rows` rows of `width` floats, ld apart, contain only finite numbers. */
    bool (*rows_finite)(const float *x, ptrdiff_t ld, int rows, int width);
    void (*attend)(const struct attend *a);
    /* Returns false, without writing anything, if out is requested, keys may be masked and a value
       is infinite or NaN. */
    bool (*attend_head)(const struct attend_head *a);
    void (*attend_head_backward)(const struct attend_head *a,
                                 const struct attend_head_gradients *d);
    /* Multiplies rows from pad_rows by factor and packs them into slots [ATTEND_SLOTS * width].
       factor is rapt__query_factor(scale) for queries, and 1 for gradients of outputs. */
    void (*attend_pack)(const float *from, int rows, int width, float factor, float *slots);
    /* delta[r] = dout[r].out[r], with dout in slots and out in rows of `width` floats, ld apart. */
    void (*attend_delta)(const float *dout_slots, const float *out, ptrdiff_t ld, int rows,
                         int width, float *delta);
    void (*attend_weights)(const struct attend_block *b, const struct attend_weights *w);
    void (*attend_dkv)(const struct attend_block *b, const struct attend_weights *w,
                       const struct attend_dkv *d);
    void (*attend_dq)(const struct attend_block *b, const struct attend_dq *d);
};

/* ---- choose.c ---- */
const struct kernels *rapt__kernels(void); /* returns the active table */
/* Returns the table of an instruction set, or NULL if this build does not contain the table or this
   machine cannot run it. */
const struct kernels *rapt__kernels_of(rapt_isa isa);
bool rapt__kernels_plain(void); /* returns true if the scalar table is the only one in this build
                                   that this machine can run */

#endif
