/* linear_attention.h - linear attention by its definition, in double, row by row. Shares the public
   structs with the library, but no code.

   Gradients are difference quotients of the objective

     J = sum of out * dout + sum of final state * dstate */
#ifndef RAPT_ORACLE_LINEAR_ATTENTION_H
#define RAPT_ORACLE_LINEAR_ATTENTION_H

#include <rapt/linear_attention.h>

/* Inputs in double, in the layouts that a problem describes. log_decay, beta and state may be NULL.
   Pointers in the problem are not read. */
struct oracle_linear_inputs {
    const double *q, *k, *v, *log_decay, *beta, *state;
};

/* Computes one query head of a sequence: out [rows][value_width] and the state after the last row,
   [key_width][value_width, and one more if normalized]. Unless size is NULL, it receives the sum of
   the magnitudes of the terms of each element of out. */
void oracle_linear_head(const rapt_linear_attention *a, const struct oracle_linear_inputs *x,
                        int sequence, int head, double *out, double *state, double *size);

int oracle_linear_rows(const rapt_linear_attention *a, int sequence);
/* Returns the offset of a row of a head in an array with these strides. */
ptrdiff_t oracle_linear_at(const rapt_linear_attention *a, const rapt_stride *s, int sequence,
                           int head, int row);

#endif
