/* attention.h - attention by its definition, in double, one weight after the other. Shares the
   public structs with the library, but no code.

     attention.c            queries in order, masks, the objective
     attention_score.c      the score of a query and a key: one function for each rapt_score
     attention_relative.c   what depends on distance: slopes, buckets, rotary embeddings, the keys
                            between, and distance vectors
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

/* ---- what the files of this oracle share: one row, and how it is scored, located and normalized
   ---- */

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
