/* kernel.h - interface of lib/kernel: functions on rows and tiles of floats, in one thread. One
   table of them per instruction set, all compiled from the same source, with the same bits.

   PANELS. A matrix b[depth][columns] that is the right operand of a product is stored as panels
   of 16 columns: b[k][n] lies at (n/16)*panel + k*step + n%16, with panel = 16*depth, step = 16.
   The last panel is padded with zeros. A weight matrix W [out][in], used as x W', is
   always stored that way: panel p holds outputs 16p .. 16p+15 as [in][16]. */
#ifndef RAPT_LIB_KERNEL_H
#define RAPT_LIB_KERNEL_H

#include "base/util.h"

#include <rapt/base.h>
#include <stdbool.h>

enum { LANES = 16 };

/* Floats of a matrix with `columns` columns and `depth` rows, in panels. */
static inline size_t rapt__panels_size(size_t columns, size_t depth)
{
    return rapt__round_up_size(columns, LANES) * depth;
}

/* c[r][n] = start + sum over k, in the order of k, of a[r][k] * b[k][n], one fma each. The bits
   of an element do not depend on rows, columns, or its position. */
struct gemm_block {
    int rows, columns, depth;
    const float *a; /* a[r][k] at a[r*a_row + k*a_step]; one of the two strides should be 1 */
    ptrdiff_t a_row, a_step;
    int max_tile;   /* rows that a register tile reads at a time, at most; 0: as many as it can */
    bool a_tiles;   /* a is what pack_tiles made of it: a_row is 1, a_step is not read */
    const float *b; /* b[k][n] at b[(n/16)*b_panel + k*b_step + n%16]; only columns are read */
    ptrdiff_t b_panel, b_step;
    float *c; /* c[r][n] at c[r*c_row + (n/16)*c_panel + n%16] */
    ptrdiff_t c_row, c_panel;
    const float *bias; /* [columns]: start = bias[n]; NULL: start = 0 */
    bool add;          /* start = c[r][n] instead; bias must be NULL */
};

enum activation { ACTIVATION_NONE, ACTIVATION_RELU, ACTIVATION_GELU, ACTIVATION_SILU };

struct dropout { /* which elements of a row are dropped: a function of key, row and column */
    uint64_t key;
    uint32_t below; /* an element is dropped if its 32 random bits are below this; 0: none is */
    float scale;    /* of those that stay */
};

struct loss_sums {          /* of one row of logits */
    float loss, likelihood; /* smoothed cross-entropy; -log p[label]; in nats */
    int best;               /* arg-max, lowest index on ties */
};

struct adam {
    float rate; /* of this step, bias corrections of m and v included below */
    float beta1, beta2, epsilon;
    float correct1, correct2; /* 1 / (1 - beta1^step), 1 / (1 - beta2^step) */
    float decay;              /* rate * weight_decay: p -= decay * p first */
    float gradient_scale;     /* multiplies g: 1/tokens and clipping */
};

/* One query against keys in panels, through a hidden layer; see kernel/additive.c. */
struct additive {
    int width, panels;
    const float *q, *vector; /* [width] */
    const float *keys;       /* [panels][width][16] */
    float *hidden;           /* [panels][width][16] the tanh: written if not NULL; read by backward
                                instead of q and keys */
};
struct additive_gradients {
    float *q, *vector; /* [width] */
    float *keys;       /* element n of key s at keys[(s/16)*keys_panel + n*keys_step + s%16] */
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
    const char *name; /* "avx512" */
    rapt_isa isa;
    int tile_rows; /* rows of the register tile: multiples of it are the fast row counts */

    /* gemm.c */
    void (*gemm)(const struct gemm_block *g);
    /* The rows of a tile by tile, [depth][rows of the tile] each: out[rows * depth] in all. Read
       are rows, depth and a, whose rows are adjacent (a_row 1). */
    void (*pack_tiles)(const struct gemm_block *g, float *out);
    /* Panels of w: out[k][n] = w[n][k], both in panels: n < columns of out, k < its depth. w holds
       the `depth` outputs in panels of [columns][16]. Writes panels [first, first + count) of
       out, rows [k0, k0 + ks) of the depth (k0 a multiple of 16), as panels of [ks][16]. */
    void (*transpose_panels)(const float *w, int columns, int k0, int ks, int first, int count,
                             float *out);
    /* Panels of a plain matrix x[depth][columns] with row stride ld, panels [first, first+count).
     */
    void (*pack_rows)(const float *x, ptrdiff_t ld, int columns, int depth, int first, int count,
                      float *out);
    /* Panels of its transpose: x[columns][depth] with row stride ld; out[k][n] = x[n][k] * scale.
     */
    void (*pack_columns)(const float *x, ptrdiff_t ld, int columns, int depth, float scale,
                         int first, int count, float *out);

    /* row.c */
    float (*dot)(const float *x, const float *y, int n); /* sum x[i] y[i] */
    void (*add)(float *y, const float *x, size_t n);     /* y += x */
    float (*square_sum)(const float *x, size_t n);       /* sum x[i]^2 */
    void (*column_sum)(float *y, const float *x, ptrdiff_t ld, int rows,
                       int n); /* y[j] += sum_r x[r][j] */

    /* norm.c; bias NULL: root mean square normalization, mean is 0 and nothing is added */
    void (*norm_row)(const float *x, const float *gain, const float *bias, float epsilon, int n,
                     float *y, float *mean,
                     float *inverse); /* y = (x - mean) inverse gain + bias */
    /* dx += gradient through the norm; if from is not NULL, dx = from + it instead. centered: it
       has subtracted the mean. */
    void (*norm_row_backward)(const float *x, const float *gain, bool centered, float mean,
                              float inverse, const float *dy, const float *from, int n, float *dx);
    /* dgain[j] += sum_r dy[r][j] (x[r][j] - mean[r]) inverse[r]; dbias[j] += sum_r dy[r][j];
       n columns starting at x, dy, dgain, dbias; rows ld apart. dbias NULL: not wanted. */
    void (*norm_columns)(const float *x, const float *dy, ptrdiff_t ld, const float *mean,
                         const float *inverse, int rows, int n, float *dgain, float *dbias);

    /* activation.c; kind is not ACTIVATION_NONE */
    void (*activate)(enum activation kind, const float *x, float *y,
                     size_t n); /* may be in place */
    void (*activate_backward)(enum activation kind, const float *x, const float *dy, float *dx,
                              size_t n); /* dx = */
    /* y = activation(x) gate; and dx, dgate = the gradients of both. No two may overlap. */
    void (*gate)(enum activation kind, const float *x, const float *gate, float *y, size_t n);
    void (*gate_backward)(enum activation kind, const float *x, const float *gate, const float *dy,
                          float *dx, float *dgate, size_t n);

    /* recurrent.c: with f = 1 / (1 + e^-z), cell = f before + (1 - f) x (before NULL: 0), y =
       max(cell, 0). Backward: from d, the gradient of cell, to dx =, dz = and, in d, that of
       before.
     */
    void (*ssru_row)(const float *x, const float *z, const float *before, float *cell, float *y,
                     size_t n);
    void (*ssru_row_backward)(const float *x, const float *z, const float *before, float *d,
                              float *dx, float *dz, size_t n);

    /* dropout.c: y = from + dropped x; from NULL: 0. y may be x or from. */
    void (*dropout_row)(const struct dropout *d, uint64_t row, const float *x, const float *from,
                        float *y, int n);

    /* random.c: to = x + Gumbel noise of columns first + i, first a multiple of 4; to may be x. */
    void (*gumbel_row)(uint64_t key, uint64_t row, int first, const float *x, float *to, int n);

    /* softmax.c */
    /* x = exp(x - max x) and the sum; max and sum through the pointers. All -infinity: x = 0, sum
     * 0. */
    void (*softmax_row)(float *x, int n, float *max, float *sum);
    float (*log_sum_row)(const float *x, int n); /* log sum exp x[i], nothing written */
    /* Logits to their gradient, in place, times scale: p - (1-s) [i == label] - s/n. */
    void (*loss_row)(float *x, int n, int label, float smoothing, float scale,
                     struct loss_sums *sums);
    /* The k largest of x[0..n), in descending order, ties to the lower index; returns how many (<=
       k; -infinity and NaN never count). */
    int (*top_row)(const float *x, int n, int k, int *index, float *value);
    /* The same of a longer row of which x is elements first, first + 1, ...: count of the elements
       before them are in index and value already. */
    int (*top_more)(const float *x, int n, int first, int k, int count, int *index, float *value);

    /* elementary.c: x = exp x and so on, in place */
    void (*exp_row)(float *x, size_t n);
    void (*log_row)(float *x, size_t n);
    void (*tanh_row)(float *x, size_t n);

    /* angle.c: sin and cos of position * frequencies[i] */
    void (*sine_cosine_row)(double position, const double *frequencies, int n, float *sines,
                            float *cosines);

    /* additive.c: x[s] = ; += of every gradient */
    void (*additive_row)(const struct additive *a, float *x);
    void (*additive_row_backward)(const struct additive *a, const float *dx,
                                  const struct additive_gradients *d);

    /* gemv.c: y[j] += sum over s < n of w[s] x[s][j], and y[s][j] += w[s] x[j]; rows ld apart */
    void (*gemv)(const float *w, int n, const float *x, ptrdiff_t ld, int width, float *y);
    void (*rank1_update)(const float *w, int n, const float *x, int width, float *y, ptrdiff_t ld);

    /* adam.c: moments and parameters of a span */
    void (*adam_span)(const struct adam *a, float *p, const float *g, float *m, float *v, size_t n);

    /* flash.c, flash_head.c, flash_head_backward.c, flash_backward.c */
    /* Rows of width floats, ld apart, as rows padded with 0 to whole vectors; true if one of
       the floats is infinite or NaN. */
    bool (*pad_rows)(const float *x, ptrdiff_t ld, int rows, int width, float *to);
    /* Whether no float of such rows is infinite or NaN. */
    bool (*rows_finite)(const float *x, ptrdiff_t ld, int rows, int width);
    void (*attend)(const struct attend *a);
    /* False: nothing is done, as there are hidden keys and values that are not finite. */
    bool (*attend_head)(const struct attend_head *a);
    void (*attend_head_backward)(const struct attend_head *a,
                                 const struct attend_head_gradients *d);
    /* Rows padded by pad_rows, times sign, as slots: [ATTEND_SLOTS * width]. sign: of the
       scale for queries, 1 for gradients of outputs. */
    void (*attend_pack)(const float *from, int rows, int width, float sign, float *slots);
    /* delta[r] = dout[r].out[r], of dout in slots and rows of `width` floats of out, ld apart. */
    void (*attend_delta)(const float *dout_slots, const float *out, ptrdiff_t ld, int rows,
                         int width, float *delta);
    void (*attend_weights)(const struct attend_block *b, const struct attend_weights *w);
    void (*attend_dkv)(const struct attend_block *b, const struct attend_weights *w,
                       const struct attend_dkv *d);
    void (*attend_dq)(const struct attend_block *b, const struct attend_dq *d);
};

/* ---- choose.c ---- */
const struct kernels *rapt__kernels(void);            /* the table in use */
const struct kernels *rapt__kernels_of(rapt_isa isa); /* NULL: not on this machine */
bool rapt__kernels_plain(void); /* no other than the scalar ones run on this machine */

#endif
