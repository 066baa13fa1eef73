/* op.h - interface of lib/op: operations on whole arrays by a team, forward and backward.

   Every function that gets an exec_context is called by all members of a team with the same
   arguments (lib/base/base.h), divides its work among them and, unless it says otherwise, ends at a
   barrier: what it wrote may be read when it returns.
   Each output element is written by one member, by sums whose order depends on shapes alone, so the
   number of threads never changes a bit. Nothing here allocates but rapt__openblas_load.

   Matrices of weights are in panels (lib/kernel/kernel.h): W [out][in]. Activations are plain
   rows. "adds" means: to what is there. Alphabet: lib/README.md. */
#ifndef RAPT_LIB_OP_H
#define RAPT_LIB_OP_H

#include "base/base.h"
#include "kernel/kernel.h"

/* Execution context: what one member of a team needs to compute. */
struct exec_context {
    struct team *team;
    const struct kernels *kernels;
    float *pack; /* [PACK_FLOATS] shared by the team: packed operands of matrix products */
    const struct products *openblas; /* those that OpenBLAS computes; NULL: none */
};
enum { PACK_FLOATS = 1 << 19 };
/* Columns of the smallest part where a loop over rows is divided by columns. */
enum { WIDE = 4 * LANES };

struct linear; /* below */

/* ---- products.c: who computes which products ---- */
enum product { PRODUCT_FORWARD, PRODUCT_INPUT, PRODUCT_WEIGHT, PRODUCTS }; /* y, dx, dW below */
struct product_shape { /* of weights [out][in] */
    int out, in;
    bool openblas[PRODUCTS];
};
enum { PRODUCT_SHAPES = 16 };
struct products {
    bool all; /* by OpenBLAS, if they are worth it; else those of these shapes that are marked: */
    int count;
    struct product_shape shapes[PRODUCT_SHAPES];
};
extern const struct products rapt__products_all;
/* The shape of so many outputs and inputs; NULL: it is not listed. */
const struct product_shape *rapt__products_find(const struct products *p, int out, int in);
/* Is a product with weights [out][in] OpenBLAS's? NULL: none is. */
bool rapt__products_take(const struct products *p, enum product kind, int out, int in);
/* Adds the shape of l with what is faster here, in a team that may compute nothing else meanwhile;
   OpenBLAS is loaded. x [rows][in], y [rows][out] and dweight (panels) are written. */
void rapt__products_measure(const struct exec_context *c, struct products *p,
                            const struct linear *l, int rows, float *x, float *y, float *dweight);

/* ---- gemm_openblas.c ---- */
/* Makes sure that OpenBLAS is loaded and safe to call from a team. RAPT_BAD_ARGUMENT: it is not
   built in, not installed, or starts threads of its own; RAPT_NO_MEMORY. A later call tries again.
 */
rapt_status rapt__openblas_load(rapt_message *why);

/* ---- linear.c: y = x W' + b ----
   x [rows][in], rows x_row floats apart; W [out][in] panels; b [out] or NULL; y [rows][out].
   activated receives activation(y), rows y_row apart; it may be y; not used with
   ACTIVATION_NONE. */
struct linear {
    const float *weight, *bias;
    int in, out;
};
void rapt__linear_forward(const struct exec_context *c, const struct linear *l, const float *x,
                          ptrdiff_t x_row, int rows, float *y, ptrdiff_t y_row,
                          enum activation activation, float *activated);
/* transposed = W', [in][out] in panels: a layer with it computes dx = dy W. */
void rapt__linear_transpose(const struct exec_context *c, const struct linear *l,
                            float *transposed);
/* dx = dy W, or dx += if add. */
void rapt__linear_backward_input(const struct exec_context *c, const struct linear *l,
                                 const float *dy, ptrdiff_t dy_row, int rows, float *dx,
                                 ptrdiff_t dx_row, bool add);
/* dweight (panels) += dy' x; dbias += sum of dy over rows (NULL: none). */
void rapt__linear_backward_weight(const struct exec_context *c, const struct linear *l,
                                  const float *x, ptrdiff_t x_row, const float *dy,
                                  ptrdiff_t dy_row, int rows, float *dweight, float *dbias);

/* ---- embed.c: y[r] = scale * E[ids[r]] + P[position of r], then dropout (d NULL: none) ----
   E [vocab][width] panels. P [positions][width] plain rows, NULL: none. Sequence b holds rows
   starts[b] .. starts[b+1]-1; its first row has position past[b] (past NULL: 0).
   first_is_zero: at position 0, 0 stands for scale * E[ids[r]]. */
struct embedding {
    const float *table, *positions;
    int vocab, width;
    float scale;
    bool first_is_zero;
};
void rapt__embed_forward(const struct exec_context *c, const struct embedding *e, int batch,
                         const int32_t *ids, const int *starts, const int *past,
                         const struct dropout *d, float *y);
/* Adds to dtable (panels) and, if not NULL, to dpositions. dy is overwritten (dropout undone). */
void rapt__embed_backward(const struct exec_context *c, const struct embedding *e, int batch,
                          const int32_t *ids, const int *starts, const struct dropout *d, float *dy,
                          float *dtable, float *dpositions);

/* The same for rows that are no tokens: y[r] += P[position of r], then dropout; and its gradient,
   added to dpositions, with the dropout of dy undone. */
struct positioning {
    const float *positions; /* P; NULL: none */
    int width;
};
void rapt__positions_add(const struct exec_context *c, const struct positioning *p, int batch,
                         const int *starts, const struct dropout *d, float *y);
void rapt__positions_backward(const struct exec_context *c, const struct positioning *p, int batch,
                              const int *starts, const struct dropout *d, float *dy,
                              float *dpositions);

/* ---- norm.c: layer normalization (Ba, Kiros and Hinton 2016) ---- */
struct norm {
    const float *gain, *bias; /* [width]; bias NULL: by the root mean square (Zhang and Sennrich
                                 2019), without a bias */
    int width;
    float epsilon;
};
struct norm_saved { /* what backward needs, [rows] each */
    float *mean, *inverse;
};
/* sum = x + dropout(y) (y NULL: sum = x and is not written), then out = norm(sum).
   d NULL: nothing dropped. n NULL: no norm, out is not written. saved NULL: not kept. sum may be
   x or y. */
void rapt__residual_norm_forward(const struct exec_context *c, const struct norm *n,
                                 const struct dropout *d, const float *x, const float *y, int rows,
                                 int width, float *sum, float *out, const struct norm_saved *saved);
/* dx = from + gradient of norm at x (from NULL: 0; dx may be from or dy); adds to dgain, dbias.
   partial: workspace of rapt__norm_partial(rows, width) floats, shared by the team. */
size_t rapt__norm_partial(int rows, int width);
void rapt__norm_backward(const struct exec_context *c, const struct norm *n,
                         const struct norm_saved *saved, const float *x, const float *dy,
                         const float *from, int rows, float *dx, float *dgain, float *dbias,
                         float *partial);

/* ---- activation.c: dx = dy * activation'(x), elementwise ---- */
void rapt__activate_backward(const struct exec_context *c, enum activation kind, const float *x,
                             const float *dy, float *dx, size_t n);

/* ---- gate.c: y[r][j] = activation(x[r][j]) x[r][width + j], x [rows][2 width]; backward: dx =
   ---- */
void rapt__gate_forward(const struct exec_context *c, enum activation kind, const float *x,
                        int rows, int width, float *y);
void rapt__gate_backward(const struct exec_context *c, enum activation kind, const float *x,
                         const float *dy, int rows, int width, float *dx);

/* ---- recurrent.c: a simpler simple recurrent unit over ragged sequences ----
   x [rows][2 width]: of each row the candidates x, then the inputs z of the gates. With f = 1 / (1
   + e^-z): cell[r] = f cell[r - 1] + (1 - f) x[r], y = max(cell, 0); cells, y [rows][width]. */
struct ssru {
    int batch, width;
    const int *starts; /* [batch + 1] */
    float *states; /* [batch][width] the cells before the first rows, on return of the last; NULL:
                      0 before, not wanted after */
};
void rapt__ssru_forward(const struct exec_context *c, const struct ssru *s, const float *x,
                        float *cells, float *y);
/* From dcells [rows][width], the gradient that comes through y alone, which is overwritten, to dx.
   states must be NULL. */
void rapt__ssru_backward(const struct exec_context *c, const struct ssru *s, const float *x,
                         const float *cells, float *dcells, float *dx);

/* ---- dropout.c: y = dropout(x) by rows; forward and backward are the same; y may be x;
   d NULL: y = x ---- */
struct dropout rapt__dropout(float share, uint64_t key);
void rapt__dropout_rows(const struct exec_context *c, const struct dropout *d, const float *x,
                        int rows, int width, float *y);

/* ---- pool.c: rows of a sequence to one ----
   y[b] = x[starts[b]] or, with mean, the mean of rows starts[b] .. starts[b+1]-1; 0 if there are
   none. backward: dx = the gradient of all rows of x. */
struct pool {
    bool mean;
    int batch, width;
    const int *starts; /* [batch + 1] */
};
void rapt__pool_forward(const struct exec_context *c, const struct pool *p, const float *x,
                        float *y);
void rapt__pool_backward(const struct exec_context *c, const struct pool *p, const float *dy,
                         float *dx);

/* ---- loss.c: logits = x W' + b, softmax cross-entropy with label smoothing ----
   (Szegedy et al. 2016, section 7: a share `smoothing` of the target spread over all tokens.)
   Computed in chunks of rows, so that no [rows][vocab] array exists. labels [rows]; rows with a
   negative label are ignored. Adds to *sums (member 0 writes). dx NULL: loss only; else dx
   [rows][in] = gradient, dweight and dbias (may be NULL) += theirs; all of the summed loss. */
struct loss {
    double loss, likelihood;
    long long tokens, correct;
    float *rows; /* not added to: [rows] the loss of each, 0 without a label; NULL: not wanted */
};
size_t rapt__loss_workspace(int rows, int in, int vocab); /* floats, shared by the team */
void rapt__loss(const struct exec_context *c, const struct linear *l, const float *x, int rows,
                const int32_t *labels, float smoothing, struct loss *sums, float *dx,
                float *dweight, float *dbias, float *workspace);

/* ---- adam.c ---- */
/* Sum of squares of n floats in *sum (member 0 writes before the barrier), partial:
   [rapt__square_partial(n)] doubles. */
size_t rapt__square_partial(size_t n);
void rapt__square_sum(const struct exec_context *c, const float *x, size_t n, double *partial,
                      double *sum);
/* The largest magnitudes that a step would leave among parameters and moments; infinite where one
   would be infinite or NaN. Changes nothing. partial: [2 * rapt__square_partial(n)] doubles. */
struct adam_range {
    double parameter, moment;
};
void rapt__adam_range(const struct exec_context *c, const struct adam *a, const float *p,
                      const float *g, const float *m, const float *v, size_t n, double *partial,
                      struct adam_range *range);
void rapt__adam(const struct exec_context *c, const struct adam *a, float *p, const float *g,
                float *m, float *v, size_t n);
/* By the whole team: x = value; y = x; y += x. */
void rapt__fill(const struct exec_context *c, float *x, size_t n, float value);
void rapt__copy(const struct exec_context *c, const float *x, size_t n, float *y);
void rapt__add(const struct exec_context *c, const float *x, size_t n, float *y);

#endif
