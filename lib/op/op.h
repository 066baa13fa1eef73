/* op.h - interface of lib/op: operations on whole arrays by a team, forward and backward.

   Unless noted otherwise, all threads of a team call each function that takes an exec_context, with
   the same arguments (lib/base/base.h). The function divides its work among them and ends at a
   barrier, so all threads can read the results. Each output element is computed by one thread, as a
   sum in an order that depends only on shapes, so results are bit-identical for any number of
   threads. Only rapt__openblas_load allocates memory.

   Weight matrices W [out][in] are in panels (lib/kernel/kernel.h); other matrices are row-major. A
   function that "adds" a result adds it to the contents of the array. */
#ifndef RAPT_LIB_OP_H
#define RAPT_LIB_OP_H

#include "base/base.h"
#include "kernel/kernel.h"

/* The execution context of one thread of a team. */
struct exec_context {
    struct team *team;
    const struct kernels *kernels;
    float *pack; /* [PACK_FLOATS] packed operands of matrix products, shared by the team */
    const struct products *products; /* how products are computed; NULL means by the built-in
                                        kernels, in single precision */
    const struct observer *observer; /* observes the inputs of layers; may be NULL */
};
enum { PACK_FLOATS = 1 << 19 };
/* Number of columns per grain (rapt__team_part) when threads divide an array by columns instead of
   by rows. */
enum { WIDE = 4 * LANES };

struct linear; /* declared below */

/* ---- linear.c: how products of floats are computed ---- */
/* The three products of a layer: y, dx and dW (linear.c). */
enum product { PRODUCT_FORWARD, PRODUCT_INPUT, PRODUCT_WEIGHT, PRODUCTS };
/* Says which products OpenBLAS computes for layers with weights [out][in]. */
struct product_shape {
    int out, in;
    bool openblas[PRODUCTS];
};
enum { PRODUCT_SHAPES = 16 };
struct products {
    /* If true, OpenBLAS computes every product that is large enough. If false, it computes only the
       large products that are marked in shapes. */
    bool all;
    bool bf16;  /* products whose weights are floats or bf16 are computed in bf16 (kernel/bf16.h),
                   and no product by OpenBLAS */
    bool tiles; /* if bf16 is true, sums are of the kind BF16_TILES instead of BF16_STEPS */
    /* Workspace as large as the largest x. Not NULL if the forward pass was computed in 8-bit
       arithmetic: gradients of weights are then computed with rows of x rounded as in the forward
       pass (rapt__int8_round). */
    float *rounded;
    int count;
    struct product_shape shapes[PRODUCT_SHAPES];
};
extern const struct products rapt__products_all, rapt__products_bf16, rapt__products_tiles;
/* Returns the entry for `out` outputs and `in` inputs, or NULL if there is none. */
const struct product_shape *rapt__products_find(const struct products *p, int out, int in);
/* Returns true if OpenBLAS should compute a product with weights [out][in], provided that it is
   large enough. p may be NULL, which means never. */
bool rapt__products_take(const struct products *p, enum product kind, int out, int in);
/* Measures which products of l are faster with OpenBLAS, and adds the shape of l to p. OpenBLAS
   must be loaded, and p must have room for the shape. Overwrites x [rows][in], y [rows][out] and
   dweight (in panels). */
void rapt__products_measure(const struct exec_context *c, struct products *p,
                            const struct linear *l, int rows, float *x, float *y, float *dweight);

/* ---- linear.c ---- */
/* Observes the inputs of layers in the forward pass, for calibration. */
struct observer {
    /* Receives the layer, or a part of one, and the largest magnitude in its input x [rows][in], or
       infinity if an element is infinite or NaN. Thread 0 calls this function before the product is
       computed, unless x has no rows. */
    void (*see)(void *user, const struct linear *l, float largest);
    void *user;
};
/* Calls the observer, if there is one, for `count` layers that read the same x. Does not end at a
   barrier. */
void rapt__observe(const struct exec_context *c, const struct linear *layers, int count,
                   const float *x, ptrdiff_t x_row, int rows);

/* ---- gemm_openblas.c ---- */
/* Loads OpenBLAS unless it is already loaded. Returns RAPT_BAD_ARGUMENT if this library was built
   without OpenBLAS or OpenMP, if OpenBLAS cannot be loaded or lacks a function, or if it starts its
   own threads. Returns RAPT_NO_MEMORY if less than 640 MB of address space is left. After an error,
   a later call tries again. */
rapt_status rapt__openblas_load(rapt_message *why);

/* ---- linear.c: y = x W' + b ----

   x is [rows][in], with rows x_row floats apart; W is [out][in] in panels; b is [out] or NULL; y is
   [rows][out], with rows y_row floats apart. `activated` receives activation(y) in the same layout
   and may be y; it is not used with ACTIVATION_NONE. */
struct linear {
    const float *weight, *bias; /* weight may be NULL if `half` or `bytes` is set */
    int in, out;
    const uint16_t *half; /* W in panels of 16-bit floats; forward pass only */
    enum half_type type;  /* type of `half` */
    const int8_t *bytes;  /* W in panels of bytes (kernel/int8.h), read in place of `weight`;
                             forward pass only (int8.c) */
    const float *scale;   /* [out] scales of the rows of `bytes` */
    bool fine;            /* in 8-bit arithmetic, rows of x are quantized as the sum of two 8-bit
                             terms */
};
/* Returns the part of a layer that computes outputs [first, first + count). first must be a
   multiple of 16. */
struct linear rapt__linear_part(const struct linear *l, int first, int count);
void rapt__linear_forward(const struct exec_context *c, const struct linear *l, const float *x,
                          ptrdiff_t x_row, int rows, float *y, ptrdiff_t y_row,
                          enum activation activation, float *activated);
/* Runs `count` layers with the same type of weights on the same input x, without activation. Layer
   i writes y[i]. */
void rapt__linears_forward(const struct exec_context *c, const struct linear *layers, int count,
                           const float *x, ptrdiff_t x_row, int rows, float *const *y,
                           ptrdiff_t y_row);
/* Computes transposed = W' [in][out] in panels, from `weight`. A layer with this matrix computes
   the product dx = dy W. */
void rapt__linear_transpose(const struct exec_context *c, const struct linear *l,
                            float *transposed);
/* Computes dx = dy W, or adds dy W to dx if `add` is true. */
void rapt__linear_backward_input(const struct exec_context *c, const struct linear *l,
                                 const float *dy, ptrdiff_t dy_row, int rows, float *dx,
                                 ptrdiff_t dx_row, bool add);
/* Adds dy' x to dweight (in panels), and the sum of dy over rows to dbias, which may be NULL. */
void rapt__linear_backward_weight(const struct exec_context *c, const struct linear *l,
                                  const float *x, ptrdiff_t x_row, const float *dy,
                                  ptrdiff_t dy_row, int rows, float *dweight, float *dbias);

/* ---- int8.c ---- */
/* Runs `count` layers with weights in bytes on the same input x, which is quantized once: as one
   term or, if the first layer is `fine`, as the sum of two. Layer i writes y[i]. The other
   arguments are as in rapt__linear_forward. Layers have at most INT8_MAX_DEPTH inputs. Overwrites
   c->pack. */
void rapt__int8_forward(const struct exec_context *c, const struct linear *layers, int count,
                        const float *x, ptrdiff_t x_row, int rows, float *const *y, ptrdiff_t y_row,
                        enum activation activation, float *activated);
/* Sets rounded [rows][l->in] to the values that x takes when quantized as an input of l. Overwrites
   c->pack. */
void rapt__int8_round(const struct exec_context *c, const struct linear *l, const float *x,
                      ptrdiff_t x_row, int rows, float *rounded);

/* ---- int8.c: weights ---- */
/* Returns the size in bytes of quantized weights [out][in]. */
size_t rapt__int8_weight_bytes(int out, int in);
/* Quantizes weights [out][in] from panels of floats into `weight` and scale [out]. factors [out]
   contains the factors of rows that were converted from integers, and 0 for other rows (see struct
   int8_kernels). factors may be NULL. */
void rapt__int8_pack(const struct exec_context *c, const float *panels, int out, int in,
                     const float *factors, int8_t *weight, float *scale);
/* Converts the weights of l from bytes to panels of floats. */
void rapt__int8_widen(const struct exec_context *c, const struct linear *l, float *panels);
struct int8_rows {  /* weights that are set row by row */
    int8_t *weight; /* its padding must be 0 */
    float *scale;
    int in;
};
/* Returns the number of floats that rapt__int8_set_rows needs in `scratch`. */
size_t rapt__int8_scratch(int in);
/* Quantizes rows [first, first + count) from row-major floats [count][in], on the calling thread.
   factors [count] are as in rapt__int8_pack. */
void rapt__int8_set_rows(const struct int8_rows *to, int first, int count, const float *rows,
                         const float *factors, float *scratch);
/* Sets rows [first, first + count) to integers [count][in] with factors [count], without computing
   floats. The result is the same as that of rapt__int8_set_rows for the floats rows[n][k] /
   factors[n]. Returns false, and sets nothing, if the results might differ: if a factor is below
   2^-100 or above 2^100, or an integer is -128. */
bool rapt__int8_set_integers(const struct int8_rows *to, int first, int count, const int8_t *rows,
                             const float *factors);
/* Copies the rows of l whose indices are in rows [count] to weight and scale, and the biases of
   these rows, if l has any, to bias. Zeroes the rows that pad the last panel. */
void rapt__int8_gather(const struct exec_context *c, const struct linear *l, const int32_t *rows,
                       int count, int8_t *weight, float *scale, float *bias);
/* Sets x to `factor` times elements [first, first + count) of a row of l's weights, which must be
   bytes. */
void rapt__int8_floats(const struct linear *l, int row, int first, int count, float factor,
                       float *x);

/* ---- embed.c: y[r] = scale * E[token] + T[type] + P[position of r], then dropout ----

   ids[r] is token + type * vocab. A NULL d means no dropout. E is [vocab][width]; T [types][width]
   and P [positions][width] are row-major, or NULL. Sequence b consists of rows starts[b] ..
   starts[b+1]-1; its first row has position past[b], or 0 if past is NULL. With first_is_zero, 0
   replaces scale * E[token] at position 0. */
struct embedding {
    struct linear table; /* E as a layer without bias: in = width, out = vocab */
    const float *types, *positions;
    float scale;
    bool first_is_zero;
};
void rapt__embed_forward(const struct exec_context *c, const struct embedding *e, int batch,
                         const int32_t *ids, const int *starts, const int *past,
                         const struct dropout *d, float *y);
struct embedding_gradients { /* gradients of E, T and P. positions may be NULL; types may be NULL
                                if there is no T */
    float *table, *types, *positions;
};
/* Adds gradients to `to`, for a forward pass in which past was NULL. Replaces dy with the gradient
   before dropout. */
void rapt__embed_backward(const struct exec_context *c, const struct embedding *e, int batch,
                          const int32_t *ids, const int *starts, const struct dropout *d, float *dy,
                          const struct embedding_gradients *to);

/* Positional embeddings for rows that are vectors instead of tokens. Forward computes y[r] +=
   P[position of r], then dropout. Backward applies the same dropout to dy, and adds the gradient to
   dpositions, which may be NULL. */
struct positioning {
    const float *positions; /* P, or NULL */
    int width;
};
void rapt__positions_add(const struct exec_context *c, const struct positioning *p, int batch,
                         const int *starts, const struct dropout *d, float *y);
void rapt__positions_backward(const struct exec_context *c, const struct positioning *p, int batch,
                              const int *starts, const struct dropout *d, float *dy,
                              float *dpositions);

/* ---- norm.c: layer normalization (Ba, Kiros and Hinton 2016) ---- */
struct norm {
    const float *gain, *bias; /* [width]; a NULL bias selects RMSNorm (Zhang and Sennrich 2019) */
    int width;
    float epsilon;
};
struct norm_saved { /* statistics for backward, [rows] each */
    float *mean, *inverse;
};
/* Computes sum = x + dropout(y), then out = norm(sum). If y is NULL, the sum is x, and `sum` is not
   written. If d is NULL, nothing is dropped. If n is NULL, out is not written. `saved` receives the
   statistics that backward needs; it may be NULL. `sum` may be x or y. */
void rapt__residual_norm_forward(const struct exec_context *c, const struct norm *n,
                                 const struct dropout *d, const float *x, const float *y, int rows,
                                 int width, float *sum, float *out, const struct norm_saved *saved);
/* Computes dx = from + the gradient of x, the input of the norm, and adds the gradients of gain and
   bias to dgain and dbias. dbias is not used if there is no bias. A NULL `from` means 0. dx may be
   `from` or dy. partial is workspace of rapt__norm_partial(rows, width) floats, shared by the
   team. */
size_t rapt__norm_partial(int rows, int width);
void rapt__norm_backward(const struct exec_context *c, const struct norm *n,
                         const struct norm_saved *saved, const float *x, const float *dy,
                         const float *from, int rows, float *dx, float *dgain, float *dbias,
                         float *partial);

/* ---- heads.c: norms of the heads of queries or keys ---- */
struct head_norm {
    const float *gain; /* [width], the same for all heads */
    int heads, width;  /* a row begins with `heads` adjacent heads of `width` floats */
    ptrdiff_t row;     /* distance between rows */
    float epsilon;
};
/* Divides each head of x by its root mean square and multiplies it by the gain, in place. For
   backward, raw receives the original heads in the same layout, and inverse [heads][rows] receives
   the reciprocals of the root mean squares. Both may be NULL. */
void rapt__head_norm_forward(const struct exec_context *c, const struct head_norm *n, int rows,
                             float *x, float *raw, float *inverse);
/* Does the same for one head of one of the `rows` rows, on the calling thread and without a
   barrier. */
void rapt__head_norm_one(const struct exec_context *c, const struct head_norm *n, int rows,
                         size_t row, size_t head, float *x, float *raw, float *inverse);
/* Replaces d, the gradient of the result, with the gradient of x, and adds the gradient of the gain
   to dgain. partial is workspace of rapt__head_norm_partial(rows, width) floats, shared by the
   team. */
size_t rapt__head_norm_partial(int rows, int width);
void rapt__head_norm_backward(const struct exec_context *c, const struct head_norm *n, int rows,
                              const float *raw, const float *inverse, float *d, float *dgain,
                              float *partial);

/* ---- heads.c: differences of two attention outputs ---- */
struct difference {
    const float *vectors; /* [4][width / 2]: x0 .. x3 in the formula for lambda */
    const float *gain;    /* [width], the same for all heads */
    int heads, width;
    int group;     /* number of heads that share keys; divides heads */
    float initial; /* a term of lambda; the results are multiplied by 1 - initial */
    float epsilon;
};
/* Returns lambda = exp(x0 . x1) - exp(x2 . x3) + initial, where x0 .. x3 are the rows of
   `vectors`. */
float rapt__difference_lambda(const struct difference *d);
/* Computes y [rows][heads][width] from `maps`, the attention outputs [rows][heads /
   group][2][group][width], where each group stores the first outputs of its heads before the second
   outputs. For backward, raw [rows][heads][width] receives the differences, and inverse
   [heads][rows] receives the reciprocals of their root mean squares. Both may be NULL. */
void rapt__difference_forward(const struct exec_context *c, const struct difference *d, int rows,
                              const float *maps, float *y, float *raw, float *inverse);
/* Computes dmaps, and adds the gradients of the vectors and gains to dvectors and dgain. Overwrites
   dy. partial (as in rapt__head_norm_backward) and dlambda [rows] are workspace shared by the
   team. */
void rapt__difference_backward(const struct exec_context *c, const struct difference *d, int rows,
                               const float *maps, const float *raw, const float *inverse, float *dy,
                               float *dmaps, float *dvectors, float *dgain, float *partial,
                               float *dlambda);
/* Copies each of `heads` adjacent heads of `width` floats twice, from rows of x that are `row`
   floats apart to y [rows][heads][2][width]. */
void rapt__heads_repeat(const struct exec_context *c, int heads, int width, int rows,
                        const float *x, ptrdiff_t row, float *y);
/* Adds both copies in dy [rows][heads][2][width] to dx, which has the layout of x. */
void rapt__heads_repeat_backward(const struct exec_context *c, int heads, int width, int rows,
                                 const float *dy, float *dx, ptrdiff_t row);

/* ---- heads.c: rows that consist of heads ---- */
/* A linear map of each head, y_h = x_h W_h'. Row r of head h is at x + h*x_head + r*x_row and at y
   + h*y_head + r*y_row. */
struct head_map {
    struct linear all; /* W_0, W_1, ... one after another, without bias: [heads * outputs per
                          head][in]; the number of outputs per head must be a multiple of 16 */
    int heads;
    ptrdiff_t x_head, x_row, y_head, y_row;
};
void rapt__head_map_forward(const struct exec_context *c, const struct head_map *m, int rows,
                            const float *x, float *y);
/* Computes dx, and adds the gradients of the matrices to dweight (in panels). dx and dy have the
   layouts of x and y. */
void rapt__head_map_backward(const struct exec_context *c, const struct head_map *m, int rows,
                             const float *x, const float *dy, float *dx, float *dweight);
/* Copies `heads` heads of `width` floats from x to y, laid out as in struct head_map. */
void rapt__heads_copy(const struct exec_context *c, int heads, int width, int rows, const float *x,
                      ptrdiff_t x_head, ptrdiff_t x_row, float *y, ptrdiff_t y_head,
                      ptrdiff_t y_row);
/* Adds the rows of x, which have `width` floats and are x_row apart, to the rows of y, which are
   y_row apart. */
void rapt__rows_add(const struct exec_context *c, int width, int rows, const float *x,
                    ptrdiff_t x_row, float *y, ptrdiff_t y_row);

/* ---- gates.c: y = x sigmoid(z) ---- */
struct output_gate {
    int gates; /* number of elements in a row of z */
    int width; /* number of adjacent elements of x that each gate multiplies; a row of x has gates *
                  width elements */
};
void rapt__output_gate_forward(const struct exec_context *c, const struct output_gate *g, int rows,
                               const float *z, const float *x, float *y);
/* Computes dz and dx. No two arrays may overlap, here or in the forward pass. */
void rapt__output_gate_backward(const struct exec_context *c, const struct output_gate *g, int rows,
                                const float *z, const float *x, const float *dy, float *dz,
                                float *dx);

/* ---- heads.c: y = x / sqrt(sum of x^2 + epsilon), head by head ---- */
struct unit_heads {
    int heads, width; /* a row begins with `heads` adjacent heads of `width` floats */
    ptrdiff_t row;    /* distance between rows */
    float epsilon;
};
/* Replaces x with y. For backward, inverse [rows][heads] receives the factors 1 / sqrt(...); it may
   be NULL. */
void rapt__unit_heads_forward(const struct exec_context *c, const struct unit_heads *n, int rows,
                              float *x, float *inverse);
/* Replaces d, the gradient of y in the same layout, with the gradient of x. */
void rapt__unit_heads_backward(const struct exec_context *c, const struct unit_heads *n, int rows,
                               const float *y, const float *inverse, float *d);

/* ---- gates.c: y = log sigmoid(z), elementwise ---- */
void rapt__log_sigmoid_forward(const struct exec_context *c, const float *z, size_t n, float *y);
/* Computes dz, which may be dy. */
void rapt__log_sigmoid_backward(const struct exec_context *c, const float *z, const float *dy,
                                size_t n, float *dz);

/* ---- gates.c: activations other than ACTIVATION_NONE ---- */
/* Computes dx = dy * activation'(x), elementwise. dx may be dy. */
void rapt__activate_backward(const struct exec_context *c, enum activation kind, const float *x,
                             const float *dy, float *dx, size_t n);

/* Gated activation: y[r][j] = activation(x[r][j]) x[r][width + j], where x is [rows][2 width].
   Backward computes dx. */
void rapt__gate_forward(const struct exec_context *c, enum activation kind, const float *x,
                        int rows, int width, float *y);
void rapt__gate_backward(const struct exec_context *c, enum activation kind, const float *x,
                         const float *dy, int rows, int width, float *dx);

/* ---- gates.c: the simpler simple recurrent unit (SSRU) over ragged sequences ----

   Each row of x [rows][2 width] holds the candidates u, followed by the inputs z of the gates. With
   f = 1 / (1 + e^-z), cell[r] = f cell[r - 1] + (1 - f) u[r] and y = max(cell, 0). cells and y are
   [rows][width]. */
struct ssru {
    int batch, width;
    const int *starts; /* [batch + 1] */
    float *states;     /* [batch][width] cells before the first row of each sequence, replaced with
                          the cells of its last row. NULL means that the cells before the first rows
                          are 0 */
};
void rapt__ssru_forward(const struct exec_context *c, const struct ssru *s, const float *x,
                        float *cells, float *y);
/* Computes dx from dcells [rows][width], the gradients that the cells receive through y only, not
   through later cells, and overwrites dcells. states must be NULL. */
void rapt__ssru_backward(const struct exec_context *c, const struct ssru *s, const float *x,
                         const float *cells, float *dcells, float *dx);

/* ---- norm.c: y = dropout(x), row by row ----

   Backward is the same function. y may be x. If d is NULL, y = x. */
/* Returns the struct dropout that drops a fraction `share` of the elements, 0 <= share < 1. */
struct dropout rapt__dropout(float share, uint64_t key);
void rapt__dropout_rows(const struct exec_context *c, const struct dropout *d, const float *x,
                        int rows, int width, float *y);

/* ---- embed.c: reduces the rows of a sequence to one ----

   y[b] is x[starts[b]] or, with `mean`, the mean of rows starts[b] .. starts[b+1]-1; it is 0 for an
   empty sequence. Backward sets all rows of dx. */
struct pool {
    bool mean;
    int batch, width;
    const int *starts; /* [batch + 1] */
};
void rapt__pool_forward(const struct exec_context *c, const struct pool *p, const float *x,
                        float *y);
void rapt__pool_backward(const struct exec_context *c, const struct pool *p, const float *dy,
                         float *dx);

/* ---- training.c: logits = x W' + b, softmax cross-entropy with label smoothing ----

   A fraction `smoothing` of the probability of the label is spread over all tokens (Szegedy et al.
   2016, section 7). labels is [rows]; rows with a negative label are ignored. Thread 0 adds the
   results to *sums. If dx is NULL, only the loss is computed. Otherwise dx [rows][in] is set to the
   gradient of the summed loss, and the gradients of W and b are added to dweight and to dbias,
   which may be NULL. */
struct loss {
    /* sums over rows with labels: smoothed cross-entropy, and -log p[label]; in nats */
    double loss, likelihood;
    long long tokens, correct; /* number of rows with labels, and number of these whose largest
                                  logit is the label's */
    float *rows; /* [rows] receives the loss of each row, or 0 if it has no label; may be NULL */
};
size_t rapt__loss_workspace(int rows, int in, int vocab); /* returns the number of floats in
                                                             `workspace`, which the team shares */
void rapt__loss(const struct exec_context *c, const struct linear *l, const float *x, int rows,
                const int32_t *labels, float smoothing, struct loss *sums, float *dx,
                float *dweight, float *dbias, float *workspace);

/* ---- training.c: Adam ---- */
/* Computes *sum, the sum of squares of n floats; thread 0 writes it. partial is workspace of
   rapt__square_partial(n) doubles. */
size_t rapt__square_partial(size_t n);
void rapt__square_sum(const struct exec_context *c, const float *x, size_t n, double *partial,
                      double *sum);
/* Computes the largest magnitudes that parameters p and first moments m would have after a step,
   without taking it. `parameter` is infinite if a parameter would be infinite or NaN; `moment` is
   infinite if a first or second moment would be. partial is workspace of 2 *
   rapt__square_partial(n) doubles. */
struct adam_range {
    double parameter, moment;
};
void rapt__adam_range(const struct exec_context *c, const struct adam *a, const float *p,
                      const float *g, const float *m, const float *v, size_t n, double *partial,
                      struct adam_range *range);
/* Takes a step of Adam: updates p, m and v. */
void rapt__adam(const struct exec_context *c, const struct adam *a, float *p, const float *g,
                float *m, float *v, size_t n);
/* These functions compute x = value, y = x and y += x, respectively, for n elements. */
void rapt__fill(const struct exec_context *c, float *x, size_t n, float value);
void rapt__copy(const struct exec_context *c, const float *x, size_t n, float *y);
void rapt__add(const struct exec_context *c, const float *x, size_t n, float *y);

#endif
