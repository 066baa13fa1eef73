/* attention.h - attention by its definition, in double, one weight after the other. It shares the
   public structs with the library and no code.

       attention.c           the walk over rows, masks, the objective
       attention_score.c     what a query and a key score: one function for each rapt_score
       attention_relative.c  what depends on distance: slopes, buckets, rotary turns
       attention_reach.c     how far a query sees
       attention_weigh.c     how scores become weights, and the random numbers

   Gradients are difference quotients of the objective

       J = sum of out * dout,    sampling: + sum over queries of (baseline - reward) log p[chosen]

   in which still (below) holds what has no derivative: the keys that were chosen, the middle of
   local-p's window (not the center of its Gaussian), and for straight-through the point p0 in

       w = hard + p - p0,     which is hard at the point and moves as p does

   so that every estimator is the plain derivative of something. */
#ifndef RAPT_ORACLE_ATTENTION_H
#define RAPT_ORACLE_ATTENTION_H

#include <rapt/attention.h>

/* Does query t of head h of sequence b see key s? Neither bias nor reach is asked. */
int oracle_sees(const rapt_attention *a, int b, int h, int t, int s);
int oracle_queries(const rapt_attention *a, int b); /* rows of sequence b */
int oracle_keys(const rapt_attention *a, int b);

/* What dropout multiplies a weight with: 0 or 1 / (1 - share). Philox 4x32-10 of Salmon et al.
   2011; the 32 bits of an element are word (s/16)%4 of counter (s/64*16 + s%16, t) under a key
   made of seed, sequence and head. */
double oracle_keep(const rapt_attention *a, int b, int h, int t, int s);

/* Inputs in double, in the layouts that a describes; pointers in a only say what there is. */
struct oracle_inputs {
    const double *q, *k, *v, *bias, *slopes, *table;
    const double *learned[RAPT_LEARNED_COUNT], *previous;
    const float *reward, *baseline; /* of sampled keys; NULL: 0 */
};

/* What stands still, [heads][query rows of all sequences], p with [a->keys] for each of them. */
enum { ORACLE_OPEN = -2 }; /* not chosen yet */
struct oracle_still {
    int *chosen;
    double *middle, *p;
};
struct oracle_still oracle_still_make(const rapt_attention *a); /* all open */
void oracle_still_free(struct oracle_still *still);

/* Where results go, NULL: not wanted; rows as above. weights are those before dropout. */
struct oracle_results {
    double *out, *lse, *weights;
    double *size;   /* a score's error is about so many roundings of 1 */
    double *behind; /* how far the chosen key is behind the best, in what decides (hard) */
    double *edge;   /* how far local-p's window is from gaining or losing a key */
};
/* Returns J. hold: not 0: what is open in still is decided, middles and p are stored there. */
double oracle_attention(const rapt_attention *a, const struct oracle_inputs *in, const double *dout,
                        struct oracle_still *still, int hold, const struct oracle_results *r);

#endif
