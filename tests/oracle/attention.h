/* attention.h - attention by its definition, in double, one weight after the other. It shares the
   public structs with the library and no code. */
#ifndef RAPT_ORACLE_ATTENTION_H
#define RAPT_ORACLE_ATTENTION_H

#include <rapt/attention.h>

/* Does query t of head h of sequence b see key s? The bias is not asked. */
int oracle_sees(const rapt_attention *a, int b, int h, int t, int s);
int oracle_queries(const rapt_attention *a, int b); /* rows of sequence b */
int oracle_keys(const rapt_attention *a, int b);

/* What dropout multiplies a weight with: 0 or 1 / (1 - share). Philox 4x32-10 of Salmon et al.
   2011; the 32 bits of an element are word (s/16)%4 of counter (s/64*16 + s%16, t) under a key
   made of seed, sequence and head. */
double oracle_keep(const rapt_attention *a, int b, int h, int t, int s);

/* Inputs in double, in the layouts that a describes; a->mask.bias only says that there is one. */
struct oracle_inputs {
    const double *q, *k, *v, *bias;
};
/* out in its layout, lse [heads][query rows of all sequences], and the sum over all of
   out * dout, if dout is not NULL; out and lse may be NULL. */
double oracle_attention(const rapt_attention *a, const struct oracle_inputs *in, const double *dout,
                        double *out, double *lse);

/* One row: its weights [keys of the sequence] before dropout, all 0 if it sees nothing; its
   log-sum-exp; the greatest scale sum |q k| + |bias| over the keys it sees. */
void oracle_row(const rapt_attention *a, const struct oracle_inputs *in, int b, int h, int t,
                double *weights, double *lse, double *magnitude);

#endif
