/* layers.h - a small neural-network toolkit for the demonstrations: linear, embedding, layer norm,
   activations, cross-entropy and Adam, forward and backward, single-threaded. For attention, the
   demonstrations call rapt; workspace_for provides the workspace.

   It exists beside lib/op because the programs use only the public headers of rapt, and the
   recurrent networks of the lessons, glimpse and caption are models that neither rapt_model nor
   rapt/block.h describes. It is written to be read, not to be fast: plain loops that a compiler
   vectorizes. tests/apps/kit.c checks every gradient with difference quotients.

   Arrays are row-major: x [rows][in], y [rows][out]. The gradient of x is dx. Every function
   ACCUMULATES into its outputs and gradients (+=) unless its comment says "sets", so layers can
   share an output and losses a gradient. Results are bit-identical on every machine, except for the
   loss: the order of each sum is fixed, and exp is our own, but the loss needs log from the C
   library. */
#ifndef KIT_LAYERS_H
#define KIT_LAYERS_H

#include "kit/random.h"
#include <rapt/attention.h>
#include <stddef.h>

/* ---- layers.c: all parameters in one block, and the Adam optimizer ---- */
struct params {
    size_t count, capacity;
    float *value, *gradient; /* [count] */
    float *mean, *square;    /* [count] first and second moments */
    double beta_power[2];    /* beta1^t, beta2^t, for the bias correction */
};
void params_create(struct params *params, size_t capacity); /* exits if memory runs out */
void params_free(struct params *params);
/* Takes the next `count` parameters of the block and their gradients. Exits if the block is
   full. */
float *params_take(struct params *params, size_t count, float **gradient);
/* Takes a step of Adam (Kingma and Ba 2015, algorithm 1; beta 0.9 and 0.98, epsilon 1e-9). The
   gradient is multiplied by `scale`, then clipped to the norm `max_norm` (0 means no clipping), and
   cleared afterwards. Returns the norm before clipping. */
double params_step(struct params *params, float rate, float scale, float max_norm);
/* Returns the factor of the learning rate at step / steps: linear warm-up from `start` with this
   slope per unit of progress, then 1 until half of the steps, then linear decay to 0.05. */
float schedule_factor(int step, int steps, float slope, float start);

/* ---- linear.c: y += x W + b ---- */
struct linear {
    int in, out;
    float *weight, *dweight; /* [in][out] */
    float *bias, *dbias;     /* [out] or NULL */
};
/* Initial weights are normally distributed with variance 1 / in, and biases are 0. */
void linear_create(struct linear *linear, struct params *params, struct random *random, int in,
                   int out, int biased);
void linear_forward(const struct linear *linear, int rows, const float *x, float *y);
/* dx may be NULL. */
void linear_backward(const struct linear *linear, int rows, const float *x, const float *dy,
                     float *dx);

/* Matrix products: x [rows][in], w [in][out], y [rows][out]. y += x w, dx += dy w', dw += x' dy. */
void matmul(int rows, int in, int out, const float *x, const float *w, float *y);
void matmul_backward_input(int rows, int in, int out, const float *dy, const float *w, float *dx);
void matmul_backward_weight(int rows, int in, int out, const float *x, const float *dy, float *dw);

/* ---- layers.c: an embedding table [tokens][width], initial variance 1 / width ---- */
struct embed {
    int tokens, width;
    float *table, *dtable;
};
void embed_create(struct embed *embed, struct params *params, struct random *random, int tokens,
                  int width);
void embed_forward(const struct embed *embed, int rows, const int *ids, float *y);
void embed_backward(const struct embed *embed, int rows, const int *ids, const float *dy);

/* ---- layers.c: activations; forward sets y, which may be x ---- */
void sigmoid_forward(size_t count, const float *x, float *y);
void sigmoid_backward(size_t count, const float *y, const float *dy, float *dx);
void tanh_forward(size_t count, const float *x, float *y);
void tanh_backward(size_t count, const float *y, const float *dy, float *dx);
void relu_forward(size_t count, const float *x, float *y);
void relu_backward(size_t count, const float *y, const float *dy, float *dx);
void softmax(int rows, int width, const float *x, float *p); /* sets p, which may be x */
int argmax(int width, const float *x);                       /* the first of equal maxima */

/* ---- layers.c: y = (x - mean) / sqrt(variance + 1e-5) * gain + shift ---- */
struct norm {
    int width;
    float *gain, *dgain, *shift, *dshift; /* [width] */
};
void norm_create(struct norm *norm, struct params *params, int width);
void norm_forward(const struct norm *norm, int rows, const float *x, float *y); /* sets y */
void norm_backward(const struct norm *norm, int rows, const float *x, const float *dy, float *dx);

/* ---- layers.c: loss ---- */
/* Returns the cross-entropy in nats of softmax(x) with one label per row, summed over rows. Rows
   with a negative label are ignored. Sets dx to p - onehot, or to 0 in ignored rows. Adds the
   number of rows whose argmax is the label to *correct, unless `correct` is NULL. */
double cross_entropy(int rows, int width, const float *x, const int *labels, float *dx,
                     int *correct);

/* ---- layers.c: a workspace for rapt_attention_*, which grows on demand ---- */
struct workspace { /* initially {0}; free(data) at the end */
    void *data;
    size_t bytes;
};
/* Checks the problem and returns a large enough workspace. Exits if either fails. */
void *workspace_for(struct workspace *workspace, const rapt_attention *problem);
/* Exits with a message if a call of rapt_attention_* failed. */
void must(rapt_status status);

#endif
