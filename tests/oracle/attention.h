/* attention.h - attention by its definition, in double, one weight after the other. Shares the
   public structs with the library, but no code.

     attention.c            queries in order, masks, the objective
     attention_score.c      the score of a query and a key: one function for each rapt_score
     attention_relative.c   what depends on distance: slopes, buckets, rotary embeddings, and the
                            keys between
     attention_distances.c  distance vectors
     attention_weights.c    which keys a query sees, apart from masks; how scores become weights,
                            and the random numbers; mixtures of the scores and weights of heads

   Gradients are difference quotients of the objective

     J = sum of out * dout,    when sampling + sum over queries that drew a key of
                               (baseline - reward) log p[chosen] - entropy H(p)

   where oracle_fixed (below) holds fixed what has no derivative: the chosen keys, the center of
   local-p's window (not of its Gaussian), and for straight-through the point p0 in

     w = hard + p - p0,     which equals `hard` at p0 and has the derivative of p

   so that every estimator is the plain derivative of a function. */
#ifndef RAPT_ORACLE_ATTENTION_H
#define RAPT_ORACLE_ATTENTION_H

#include <rapt/attention.h>

/* Returns 1 if query t of head h of sequence b sees key s, apart from bias and locality. */
int oracle_sees(const rapt_attention *a, int b, int h, int t, int s);
int oracle_queries(const rapt_attention *a, int b); /* number of queries of sequence b */
int oracle_keys(const rapt_attention *a, int b);

/* Returns the factor of a weight after dropout: 0 or 1 / (1 - share). Philox 4x32-10 of Salmon et
   al. 2011: the 32 bits of an element are word (s/16)%4 of counter (s/64*16 + s%16, t) under a key
   derived from seed, sequence and head. */
double oracle_keep(const rapt_attention *a, int b, int h, int t, int s);

/* Inputs in double, in the layouts that `a` describes. Pointers in `a` only tell which arrays
   exist. */
struct oracle_inputs {
    const double *q, *k, *v, *bias, *slopes, *table, *log_forget, *talking_scores, *talking_weights;
    const double *distance_keys, *distance_queries, *distance_values, *content_bias, *position_bias;
    const double *learned[RAPT_ATTENTION_PARAMETER_COUNT], *previous;
    const float *reward, *baseline; /* for sampled keys; NULL means 0 */
    double entropy;
};

/* Choices that are held fixed: [heads][query rows of all sequences], and p has [a->keys] for
   each. */
enum { ORACLE_OPEN = -2 }; /* not chosen yet */
struct oracle_fixed {
    int *chosen;
    double *window_center, *p;
};
struct oracle_fixed oracle_fixed_make(const rapt_attention *a); /* all open */
void oracle_fixed_free(struct oracle_fixed *fixed);

/* Arrays for the results, NULL if not wanted, with rows as above. weights are those before
   dropout. */
struct oracle_results {
    double *out, *lse, *weights;
    double *size;   /* the error of a score is about this many roundings of 1 */
    double *margin; /* hard normalizers: best score minus that of the chosen key */
    double *edge; /* distance of local-p's window from gaining or losing a key, divided by the error
                     of its center in roundings */
    double *kink; /* distance of a score from the threshold of a sparse normalizer */
    double *query_norm, *key_norm; /* cosine: norm of the query, and the smallest of the keys it
                                      sees */
};
/* Returns J. If hold is not 0, chooses the keys that are open in `fixed`, and stores window centers
   and p there. */
double oracle_attention(const rapt_attention *a, const struct oracle_inputs *in, const double *dout,
                        struct oracle_fixed *fixed, int hold, const struct oracle_results *r);

/* Returns the ALiBi slope of a head, counted from 0. */
double oracle_slope(int heads, int head);

#endif
