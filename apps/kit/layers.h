/* layers.h - the few layers that small demonstrations need beside attention, forward and backward,
   in plain loops of one thread. All arrays are rows back to back: x [rows][in], y [rows][out].

   Every function ADDS to what it writes, gradients and outputs alike, where its comment does not
   say "sets": that is how two layers share an output and two losses share a gradient. The gradient
   of x is dx; a gradient that may be NULL is not wanted. Equal inputs give equal bits on any
   machine: sums have a fixed order, and exponentials are our own. */
#ifndef KIT_LAYERS_H
#define KIT_LAYERS_H

#include "kit/random.h"
#include <stddef.h>

/* ---- params.c: all that is learned, in one block, and Adam on it ---- */
struct params {
    size_t count, capacity;
    float *value, *gradient; /* [count] */
    float *mean, *square;    /* [count] Adam's moments */
    double left[2];          /* the moments' share that is still the 0 they began with */
};
void params_create(struct params *params, size_t capacity); /* ends the program if memory does */
void params_free(struct params *params);
/* The next `count` numbers of the block; *gradient: theirs. Ends the program beyond `room`. */
float *params_take(struct params *params, size_t count, float **gradient);
/* One step of Adam (Kingma and Ba 2015, algorithm 1; 0.9, 0.98, 1e-9), the whole gradient first
   multiplied by `scale` and then cut to the norm `most` (0: not cut); clears the gradient.
   Returns that norm before the cut. */
double params_step(struct params *params, float rate, float scale, float max);

/* ---- linear.c: y += x W + b ---- */
struct linear {
    int in, out;
    float *weight, *dweight; /* [in][out] */
    float *bias, *dbias;     /* [out]; NULL: there is none */
};
/* Weights begin normal with variance 1 / in, biases at 0. */
void linear_create(struct linear *linear, struct params *params, struct random *random, int in,
                   int out, int biased);
void linear_forward(const struct linear *linear, int rows, const float *x, float *y);
void linear_backward(const struct linear *linear, int rows, const float *x, const float *dy,
                     float *dx);

/* The products below it: x [rows][in], w [in][out], y [rows][out]. */
void matmul(int rows, int in, int out, const float *x, const float *w, float *y); /* y += x w */
void matmul_backward_input(int rows, int in, int out, const float *dy, const float *w, float *dx);
void matmul_backward_weight(int rows, int in, int out, const float *x, const float *dy, float *dw);

/* ---- embed.c: rows of a table [tokens][width], variance 1 / width ---- */
struct embed {
    int tokens, width;
    float *table, *dtable;
};
void embed_create(struct embed *embed, struct params *params, struct random *random, int tokens,
                  int width);
void embed_forward(const struct embed *embed, int rows, const int *ids, float *y);
void embed_backward(const struct embed *embed, int rows, const int *ids, const float *dy);

/* ---- activation.c: element by element; forward sets y, which may be x ---- */
void sigmoid_forward(size_t count, const float *x, float *y);
void sigmoid_backward(size_t count, const float *y, const float *dy, float *dx);
void tanh_forward(size_t count, const float *x, float *y);
void tanh_backward(size_t count, const float *y, const float *dy, float *dx);
void relu_forward(size_t count, const float *x, float *y);
void relu_backward(size_t count, const float *y, const float *dy, float *dx);

/* ---- norm.c: y = (x - mean) / sqrt(variance + 1e-5) * gain + shift ---- */
struct norm {
    int width;
    float *gain, *dgain, *shift, *dshift; /* [width] */
};
void norm_create(struct norm *norm, struct params *params, int width);
void norm_forward(const struct norm *norm, int rows, const float *x, float *y); /* sets y */
void norm_backward(const struct norm *norm, int rows, const float *x, const float *dy, float *dx);

/* ---- loss.c; softmax stands in activation.c, beside its exponential ---- */
void softmax(int rows, int width, const float *x, float *p); /* sets p, which may be x */
int argmax(int width, const float *x);                       /* the lowest of equals */
/* Cross-entropy in nats of softmax(x) with one label per row, summed; a row with a label below 0 is
   left out. Sets dx: p - onehot. *right, if not NULL: rows whose likeliest is the label, added. */
double cross_entropy(int rows, int width, const float *x, const int *labels, float *dx, int *right);

#endif
