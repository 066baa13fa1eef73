/* recurrences.h - linear attention and monotonic attention by their definitions, in double. Shares
   the public structs with the library, but no code. Gradients are difference quotients of the
   objectives J. */
#ifndef RAPT_ORACLE_RECURRENCES_H
#define RAPT_ORACLE_RECURRENCES_H

#include <rapt/linear_attention.h>
#include <rapt/monotonic_attention.h>

/* ---- linear attention, row by row: J = sum of out * dout + sum of final state * dstate ---- */

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

/* ---- monotonic attention: J = sum of out * dout + sum of alpha * dalpha + sum of delays * ddelays
   ---- */

/* Inputs in double, in the layouts that a problem describes. offset may be NULL; mode hard does not
   read chunk_q and chunk_k. Pointers to floats in the problem are not read. */
struct oracle_monotonic_inputs {
    const double *q, *k, *v, *chunk_q, *chunk_k, *offset;
};

/* Results of one query head of a sequence with m queries and n valid keys. */
struct oracle_monotonic_results {
    double *out;     /* [m][value_width] */
    double *alpha;   /* [m][n] */
    double *weights; /* [m][n] */
    double *delays;  /* [m] */
};

/* Computes the results by equation 9 of Raffel et al. 2017 (arXiv 1704.00784), and the weights by
   their definition as an expected value: equations 21 and 22 of Chiu and Raffel 2018 (1712.05382)
   before any reordering of sums, and section 3.2 of Arivazhagan et al. 2019 (1906.05218). */
void oracle_monotonic_head(const rapt_monotonic_attention *a,
                           const struct oracle_monotonic_inputs *x, int sequence, int head,
                           const struct oracle_monotonic_results *r);
/* Computes the same results, except delays, as means over all monotonic paths of stops, up to (n +
   1)^m of them. */
void oracle_monotonic_paths(const rapt_monotonic_attention *a,
                            const struct oracle_monotonic_inputs *x, int sequence, int head,
                            const struct oracle_monotonic_results *r);
/* Computes out of query t alone with a hard stop, scanning keys from *position on. Sets *position
   to the key of the stop or to n. Adds the weights of the values to weights [n], unless it is NULL.
   Returns the smallest magnitude of the energies that were compared with 0. */
double oracle_monotonic_stop(const rapt_monotonic_attention *a,
                             const struct oracle_monotonic_inputs *x, int sequence, int head, int t,
                             int *position, double *out, double *weights);

int oracle_monotonic_queries(const rapt_monotonic_attention *a, int sequence);
int oracle_monotonic_keys(const rapt_monotonic_attention *a, int sequence); /* valid keys */
/* Return the offset of a query of a head, and that of a key of a key head. */
ptrdiff_t oracle_monotonic_query(const rapt_monotonic_attention *a, const rapt_stride *s,
                                 int sequence, int head, int t);
ptrdiff_t oracle_monotonic_key(const rapt_monotonic_attention *a, const rapt_stride *s,
                               int sequence, int key_head, int key);
/* Returns the index of a query in delays. */
size_t oracle_monotonic_delay(const rapt_monotonic_attention *a, int sequence, int head, int t);

#endif
