/* op.h - operations by their definitions, in double, as obvious loops over plain arrays. They share
   no code with the library. */
#ifndef RAPT_ORACLE_OP_H
#define RAPT_ORACLE_OP_H

enum { ORACLE_RELU, ORACLE_GELU, ORACLE_SILU, ORACLE_GELU_TANH };

/* Computes y [rows][out] = x [rows][in] w' + b; w [out][in]; b NULL: 0. */
void oracle_linear(int rows, int in, int out, const double *x, const double *w, const double *b,
                   double *y);
double oracle_activation(int kind, double x);

/* Computes y [rows][width] = scale * table[id] + positions[position]; positions NULL: 0. */
void oracle_embed(int rows, int width, const int *ids, const int *position, double scale,
                  const double *table, const double *positions, double *y);

/* Computes y = (x - mean) / sqrt(variance + epsilon) * gain + bias for each row, or with bias NULL
   y = x / sqrt(mean of x^2 + epsilon) * gain. */
void oracle_norm(int rows, int width, const double *x, const double *gain, const double *bias,
                 double epsilon, double *y);

/* Returns the smoothed cross-entropy of one row of logits, with the plain one in *likelihood. */
double oracle_loss(int vocab, const double *logits, int label, double smoothing,
                   double *likelihood);

struct oracle_adam { /* the first step is 1 */
    double rate, beta1, beta2, epsilon, decay;
    int step;
};
/* Takes one step of one parameter p with gradient g and moments m, v. */
void oracle_adam(const struct oracle_adam *a, double *p, double g, double *m, double *v);

#endif
