/* attention_axes.h - what the files of the attention oracle share: one row, and how it is scored,
   located and normalized. */
#ifndef RAPT_ORACLE_ATTENTION_AXES_H
#define RAPT_ORACLE_ATTENTION_AXES_H

#include "attention.h"

enum { ORACLE_WIDEST = 256 }; /* largest width of anything but keys */

struct oracle_row {
    const rapt_attention *a;
    const struct oracle_inputs *in;
    int b, h, g, t;              /* g: the key head */
    int keys, existing;          /* number of keys that are stored, and of those that exist */
    int position;                /* position of the query among the keys */
    const double *before;        /* [keys] weights of the query before; NULL means 0 */
    double before_error;         /* their error, in roundings */
    double *coverage;            /* [keys] sums of the weights of all earlier queries */
    double *coverage_error;      /* [keys] their errors, in roundings of 1 */
    double center, center_error; /* local-p: c, and its error in roundings */
    double window_center;        /* c before anything was moved */
};

const double *oracle_query(const struct oracle_row *r);
const double *oracle_key(const struct oracle_row *r, int s);

/* Returns the scaled and capped score, with its error in roundings in *size. */
double oracle_score(const struct oracle_row *r, int s, double *size);
/* Returns that score or, if heads talk, the mixture of those of all heads. */
double oracle_mixed_score(const struct oracle_row *r, int s, double *size);
/* Returns the row of the same query in head h. */
struct oracle_row oracle_row_of(const struct oracle_row *r, int h);
/* Finds norms that a cosine divides by: that of the query, and the smallest among keys with a score
   (x[s] > -infinity), or infinity if there are none. */
void oracle_norms(const struct oracle_row *r, const double *x, double *query, double *key);
int oracle_query_width(const rapt_attention *a);

double oracle_relative(const struct oracle_row *r, int s);  /* slopes and buckets */
double oracle_forgotten(const struct oracle_row *r, int s); /* sum of log f over the keys between */
/* Returns what distance vectors add to a score whose scale is given, and adds its error in
   roundings to *size. */
double oracle_distances(const struct oracle_row *r, int s, double scale, double *size);
/* Returns the bucket of DeBERTa v2 for a distance, where position_buckets is `buckets` and
   max_relative_positions is far + 1. */
int oracle_log_bucket(int distance, int buckets, int far);
/* Returns element i of what distance vectors add to the value of a key. */
double oracle_distance_value(const struct oracle_row *r, int s, int i);
double oracle_scale(const rapt_attention *a); /* of dot products */
int oracle_bucket(const rapt_relative *relative, int distance);
void oracle_rotate(const rapt_attention *a, int position, double *x); /* rotary */

void oracle_center(struct oracle_row *r);
int oracle_in_locality(const struct oracle_row *r, int s);
/* Returns how close an end of the window is to a key, divided by the error of the center in
   roundings. */
double oracle_edge(const struct oracle_row *r);
double oracle_gaussian(const struct oracle_row *r, int s, double *error); /* of local-p; else 1 */

/* Turns scores x[s] (-infinity: hidden) into the argument of the softmax, with noise and
   temperature. Returns the error that this adds, in roundings. */
double oracle_noise(const struct oracle_row *r, double *x);
/* Returns the key that a hard normalizer chooses: the first of those with maximal decides[s], or -1
   if there is none. */
int oracle_choose(const struct oracle_row *r, const double *x, double *decides);
/* Returns the logit of the sink, or -infinity if there is none. Raises *size to its error. */
double oracle_sink(const struct oracle_row *r, double *size);
/* Computes p[s] = sigmoid(x[s] + b). Returns 0, or -infinity if the query is fully masked. */
double oracle_sigmoid(const struct oracle_row *r, const double *x, double *p, double *size);
/* Computes the weights p of sparsemax and entmax, and in *kink the distance of the scores from the
   threshold, infinity if there is none. Returns the same as oracle_sigmoid. */
double oracle_entmax(const struct oracle_row *r, const double *x, double *p, double *kink);
int oracle_is_hard(const rapt_attention *a);
int oracle_expects(const struct oracle_row *r); /* the softmax instead of a sampled key */

#endif
