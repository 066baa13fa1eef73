/* transformer_layers.h - what the files of the Transformer's oracle share: parameters by layer, and
   what is held fixed. */
#ifndef RAPT_ORACLE_TRANSFORMER_LAYERS_H
#define RAPT_ORACLE_TRANSFORMER_LAYERS_H

#include "transformer.h"

struct oracle_layer { /* pairs of matrix and vector: weight and bias, or gain and bias */
    double *self_qkv[2], *self_out[2], *self_norm[2];
    double *cross_q[2], *cross_kv[2], *cross_out[2], *cross_norm[2];
    double *self_query, *self_key, *cross_query, *cross_key; /* gains of norms, or NULL */
    double *self_gate, *cross_gate;                          /* or NULL */
    double *self_up[2], *cross_up[2];             /* of latent rows: of keys, of values */
    double *self_latent, *cross_latent;           /* gains of their norms, or NULL */
    double *self_query_up[2], *cross_query_up[2]; /* of latent rows of queries: gain, matrix */
    double *self_forget[2];                       /* of forget gates, or NULL */
    double *distances;                            /* rows of the half, or NULL */
    double *distance_keys, *distance_values, *distance_key, *distance_query, *content_bias,
        *position_bias;                         /* or NULL */
    double *self_lambda, *cross_lambda;         /* vectors, or NULL */
    double *self_difference, *cross_difference; /* gains of norms, or NULL */
    int number;                                 /* from 1 on, in its half */
    double *in[2], *out[2], *norm[2];
    double *input[2], *forget[2], *recurrent_norm[2]; /* of a recurrent unit; input[1] NULL */
    struct oracle_inputs self_score, cross_score;     /* learned arrays of scores and localities */
    double *linear_qkv[2], *linear_forget[2], *linear_out[2]; /* of linear attention, or NULL */
    double *linear_rate, *linear_output, *linear_gate;
    double *monotonic; /* offsets of monotonic cross-attention, or NULL */
};

enum { SENTENCES = 8, SUBLAYERS = 12 };
struct oracle_past {
    struct oracle_fixed fixed[SENTENCES][2][SUBLAYERS];
    double *losses[SENTENCES];             /* of each target row; NULL: not known yet */
    int rows[SENTENCES], first[SENTENCES]; /* number of rows, and index of the first */
    double *rounding; /* [rounded] what an int8 model added to the elements of activations, in the
                         order of their products */
    size_t rounded, next; /* next: index of the next element in this pass */
};

double *oracle_zeros(int rows, int columns);
int oracle_head_width(const rapt_config *c);
/* Returns the widths of rapt_config, with their defaults. */
rapt_attention_parameters oracle_learned_of(const rapt_config *c);
/* Returns PE(p, 2i) = sin(p / 10000^(2i/d)) or PE(p, 2i+1) = cos of the same (section 3.5), or the
   other orders of columns as rapt_position describes them. */
double oracle_sinusoid(const struct oracle_model *m, int decoder, int row, int column);
/* The terms in which an int8 model quantizes the rows of x. */
enum oracle_terms { ONE_TERM = 1, TWO_TERMS };
/* Computes y = x w' + b; if the model is int8, each row of x is replaced by its quantized values.
   If rounding is held fixed, every pass adds the same amounts to x, so that the derivative is 1. */
void oracle_affine(const struct oracle_model *m, enum oracle_terms terms, int rows, int in, int out,
                   const double *x, const double *w, const double *b, double *y);
/* Returns the data of the parameter with this name, or NULL if there is none. */
double *oracle_find(const struct oracle_model *m, const char *name);
/* Finds the parameters <scope><name>.weight and .bias. */
void oracle_find_pair(const struct oracle_model *m, const char *scope, const char *name,
                      double *pair[2]);

/* ---- transformer_projections.c: latent attention ---- */
/* Returns the queries of all heads, computed from the latent rows with which x begins, or NULL if
   there are none. x is [rows][row]. */
double *oracle_latent_queries(const struct oracle_model *m, double *const up[2], int cross,
                              int rows, const double *x, int row);
struct oracle_latent { /* an attention of latent rows, made of queries and keys that are given */
    double *q, *k, *v, *out; /* rows of heads or key heads */
    int key_heads, key_width, value_width;
};
/* Returns the number of elements of queries and keys that are rotated and separate from the latent
   row. */
int oracle_latent_rotary(const rapt_config *c, int cross);
/* A query has P + K numbers per head; a key has P numbers and a latent row. */
struct oracle_latent oracle_latent_make(const struct oracle_model *m, const double *up[2],
                                        int queries, const double *q, int q_row, int rows,
                                        const double *keys, int row, int P);
/* Gives a problem the widths of l. The scale remains that of the keys of a head. */
void oracle_latent_narrow(const rapt_config *c, int cross, const struct oracle_latent *l,
                          rapt_attention *a);
/* Computes the outputs of heads from l->out, and frees what l holds. */
void oracle_latent_finish(const struct oracle_model *m, struct oracle_latent *l,
                          const double *up[2], int queries, double *mixed);

/* ---- transformer_projections.c: heads ---- */
/* Returns the values for differential attention, [rows][key heads][2][K]: those of each head
   twice. */
double *oracle_repeat(const rapt_config *c, const double *v, int v_row, int rows);
/* Normalizes `heads` adjacent heads of width K at the start of each of `rows` rows, which are `row`
   numbers apart. If gain is NULL, does nothing. */
void oracle_norm_heads(const rapt_config *c, const double *gain, int heads, int K, int row,
                       int rows, double *x);
/* Computes the outputs of heads, [rows][heads][width of a head], from those of two attentions per
   head, maps [rows][2 heads][width of a head], and, unless `weights` is NULL, their weights
   [heads][rows][keys] from those of the attentions, of_maps [2 heads][rows][keys]. */
void oracle_subtract(const rapt_config *c, const double *vectors, const double *gain, int layer,
                     int rows, int keys, const double *maps, double *out, const double *of_maps,
                     double *weights);
/* Multiplies the outputs of heads, mixed [rows][heads * width of a head], by gates that are
   computed from the sublayer's input, in [rows][width]. If gate is NULL, does nothing. */
void oracle_gate_heads(const struct oracle_model *m, const double *gate, int rows, const double *in,
                       double *mixed);
/* The vectors of one layer for the distances from a query to a key. */
struct oracle_vectors {
    rapt_distances shape;    /* its pointers only tell which arrays exist */
    double *keys, *queries;  /* of its own, unless shared */
    struct oracle_inputs in; /* only the arrays of distances are set */
    int *buckets;            /* of distances, or NULL */
};
struct oracle_vectors oracle_vectors_make(const struct oracle_model *m,
                                          const struct oracle_layer *l, int decoder);
/* Puts the vectors, and the scale of scores that goes with them, into a problem. */
void oracle_vectors_use(const struct oracle_vectors *v, const rapt_config *c, rapt_attention *a,
                        struct oracle_inputs *in);
void oracle_vectors_free(struct oracle_vectors *v);
/* Returns log f [rows][gates] of forget gates, or NULL if forget is NULL. */
double *oracle_log_forget(const struct oracle_model *m, double *const forget[2], int gates,
                          int rows, const double *in);

/* ---- transformer_sublayers.c ---- */
/* Monotonic cross-attention of one sentence. */
struct oracle_monotonic {
    const double *q, *kv, *offset; /* projections of T targets and S sources; [heads] */
    const struct oracle_sentence *target, *source;
    uint64_t seed; /* of noise; 0: no noise */
};
/* Computes the outputs of heads, mixed [T][heads * width of a head], and their weights
   [heads][T][S], unless `weights` is NULL. Stops are hard unless m->expects_stops is set. */
void oracle_monotonic_heads(const struct oracle_model *m, const struct oracle_monotonic *x,
                            double *mixed, double *weights);

/* Computes the sublayer that replaces self-attention, from `in` [rows][width] to y
   [rows][width]. */
void oracle_recurrent(const struct oracle_model *m, const struct oracle_layer *l, int rows,
                      const double *in, double *y);

#endif
