/* attention.h - the interface of lib/attention: attention of whole arrays, forward and backward,
   and of queries against a cache of the keys and values of past tokens.

   Functions that take a team are called by all its members with the same arguments, which must
   have passed their checks, and end at a barrier (lib/base/base.h). The workspace is shared by the
   team. A row's result is bit-identical for any batch, number of threads and instruction
   set, and with keys in a cache or in arrays; gradients are bit-identical for any number of threads
   and instruction set. */
#ifndef RAPT_LIB_ATTENTION_H
#define RAPT_LIB_ATTENTION_H

#include "base/base.h"

#include <rapt/attention.h>

/* The most query rows of all heads, and key rows, of a problem: they are counted in int. */
enum { ATTENTION_ROWS = INT32_MAX - 128 };

/* What the weights of one head are trained towards: for each query, keys that are to share all
   weight equally; and the loss where they do not. */
enum { GUIDED_HEAD = 0 };
struct guide {
    float weight;      /* of this loss */
    const int *starts; /* [query rows + 1] of the keys of each row; none: it is not trained */
    const int *keys;   /* in the row's sequence */
    double *losses;    /* [query rows], all 0 before: weight x the mean of -log(w[s] + 1e-6) over
                          the keys s of the row */
};

/* ---- dispatch.c: as rapt_attention_forward, _backward and _weights, inside a team ----
   saved and reinforce are never NULL here, their arrays may be where rapt/attention.h allows.
   guide: adds the gradient of its loss, and fills in the losses; NULL: none. */
void rapt__attention_forward(struct team *team, const rapt_attention *a, const float *q,
                             const float *k, const float *v, float *out,
                             const rapt_attention_saved *saved, void *workspace);
void rapt__attention_backward(struct team *team, const rapt_attention *a, const float *q,
                              const float *k, const float *v, const float *out,
                              const rapt_attention_saved *saved, const float *dout,
                              const rapt_reinforce *reinforce, const struct guide *guide,
                              const rapt_gradients *d, void *workspace);
void rapt__attention_weights(struct team *team, const rapt_attention *a, const float *q,
                             const float *k, const rapt_attention_saved *saved, int sequence,
                             int head, int first, int rows, float *weights, void *workspace);
/* Bytes of workspace for a problem and a team of that size; 0: more than fits. */
size_t rapt__attention_workspace(const rapt_attention *a, int team_size);
/* The same for every problem with the heads, widths, score, ... of `spec`, at most `batch`
   sequences and at most that many query and key rows in all; spec->queries and keys are those of
   the longest sequence (0: as many as in all), starts are not read. guided: a guide may be given.
 */
size_t rapt__attention_workspace_spec(const rapt_attention *spec, int batch, int query_rows,
                                      int key_rows, bool guided);

/* ---- problem.c ---- */
/* Rows of the longest sequence; starts may fall. */
int rapt__longest(int batch, const int *starts);

/* ---- transform_rows.c: rows projected by the score, for those who keep keys ----
   A score makes q' and k' (projected.h) of rows of q and k, of which only a dot product or a hidden
   layer's tanh is left to do. `spec` says which score, locality, relative positions and weights;
   its rows, starts and masks are not read. Bits are those of rapt__attention_forward. */
struct rows_given { /* of all heads of one side */
    int sequences;
    const int *starts;    /* [sequences + 1] rows of each, back to back */
    const int *positions; /* [sequences] of the first of them, among the keys */
    const float *x;       /* row r of head h at x + h*x_head + r*x_row; not read where projected */
    ptrdiff_t x_head, x_row; /* rows come from positions alone (location) */
    float *y;                /* the projected row of rapt__score_width floats; not x */
    ptrdiff_t y_head, y_row;
};
int rapt__score_width(const rapt_attention *spec);
bool rapt__score_changes(const rapt_attention *spec, bool keys); /* false: q' = q, or k' = k */
/* Floats of the weights in panels, as gemm reads them; packed once, for all calls. */
size_t rapt__score_packed(const rapt_attention *spec);
void rapt__score_pack(struct team *team, const rapt_attention *spec, float *packed);
void rapt__score_queries(struct team *team, const rapt_attention *spec, const float *packed,
                         const struct rows_given *rows);
void rapt__score_keys(struct team *team, const rapt_attention *spec, const float *packed,
                      const struct rows_given *rows);
/* Local-p: centers[H][rows] of queries whose sequences have counts[i] keys. rows->y is workspace
   of H * rows * center_hidden floats. */
void rapt__score_centers(struct team *team, const rapt_attention *spec, const float *packed,
                         const struct rows_given *rows, const int *counts, float *centers);

/* ---- score.c, mask.c: properties of the score and of the locality of a checked problem ---- */
/* Its scores read the weights of the query before: queries of a head go one after the other, and
   a cache keeps the last weights (history.c). */
bool rapt__score_recurrent(const rapt_attention *a);
bool rapt__score_is_additive(rapt_score score); /* a tanh layer, not a dot product */
/* It learns a row for each position: sequences of keys are at most learned.positions long. false of
   what is no score. */
bool rapt__score_has_positions(rapt_score score);
/* Each query predicts the center of the keys it attends to (local-p). */
bool rapt__locality_centered(const rapt_attention *a);

/* ---- learned.c: the rows of rapt/learned.def ---- */
struct learned_shape {
    int64_t rows, columns;
};
bool rapt__learned_read(const rapt_attention *a, int i); /* by its score or locality */
/* The matrix of array i. Of a, widths, heads and score are read. */
struct learned_shape rapt__learned_shape(const rapt_attention *a, int i);

/* ---- check.c ---- */
/* As rapt_attention_check, of a struct of this version. */
rapt_status rapt__attention_check(const rapt_attention *a, rapt_message *why);
/* Of this, what the shapes of learned arrays follow from. */
rapt_status rapt__shapes_check(const rapt_attention *a, rapt_message *why);

/* ---- distribution.c ---- */
bool rapt__normalizer_is_hard(rapt_normalizer normalizer); /* one key has all weight: chosen */

/* ---- bias.c ---- */
/* Slopes and table as one row of biases per head: to[H][row], element s - position + zero. */
void rapt__relative_fill(struct team *team, const rapt_attention *spec, int row, int zero,
                         float *to);

/* ---- cache.c: keys in panels of 16 and values, as the kernels read them ---- */
struct cache {
    int sequences, key_heads, key_width, value_width;
    int *offsets;              /* [sequences + 1] first panel of each slot */
    int *slot;                 /* [sequences] where a sequence lies */
    int *counts;               /* [sequences] keys so far */
    int *after, *spare;        /* [sequences] of a move */
    float *keys;               /* per slot and key head [panels][key width][16] */
    float *values;             /* per slot and key head [panels * 16][padded value width] */
    unsigned char *non_finite; /* per slot and key head [panels] infinity or NaN among the values */
    uint64_t *stamps; /* [panels] panels with the same stamp hold the same; 0: nothing yet */
    uint64_t clock;   /* the last stamp */
    int *copies;      /* [panels][3] of a move: from a slot, to a sequence, which panel; */
    int copy_count;   /*   so many */
};
/* Lays out a cache of so many panels per key head, of all sequences together; a panel holds 16
   keys of one sequence. Once the arena is real, rapt__cache_start makes it usable, and empty again:
   sequence i then has space for capacity[i] keys. */
void rapt__cache_layout(struct cache *cache, int sequences, size_t panels, int key_heads,
                        int key_width, int value_width, struct arena *arena);
void rapt__cache_start(struct cache *cache, const int *capacity);

/* Appends rows starts[i] .. starts[i+1]-1 to sequence i; row r of key head g lies at
   k + r*k_row + g*key_width, v + r*v_row + g*value_width. They must fit. */
void rapt__cache_append(struct team *team, struct cache *cache, const int *starts, const float *k,
                        ptrdiff_t k_row, const float *v, ptrdiff_t v_row);
/* Sequence i becomes what parents[i] was, which must have the capacity of i in panels of 16.
   A sequence with one child is not copied, nor is what two sequences have in common. */
void rapt__cache_reorder(struct team *team, struct cache *cache, const int *parents);

/* ---- history.c: the attention weights of the last query, for recurrent scores ---- */
struct attention_history {
    int sequences, heads;     /* of queries */
    size_t *offsets;          /* [sequences + 1] floats before a sequence, per head */
    int *counts, *old_counts; /* [sequences][heads] how many weights there are; 0: no query yet */
    float *weights, *old; /* per sequence [heads][capacity]: the last; those before the last call */
};
/* As rapt__cache_layout and _start: `floats` weights per head in all; sequence i has a
   capacity of capacity[i] of them. */
void rapt__history_layout(struct attention_history *history, int sequences, int heads,
                          size_t floats, struct arena *arena);
void rapt__history_start(struct attention_history *history, const int *capacity);
/* Sequence i becomes what parents[i] was, which has the same capacity. Weights before the last
   call are lost. */
void rapt__history_reorder(struct team *team, struct attention_history *history,
                           const int *parents);

/* ---- attend.c ---- */
struct cached_queries {
    const rapt_attention *spec; /* heads, key and value width, score, scale, locality, normalizer,
                                   learned, cap and mask.causal are read; no dropout */
    int count;                  /* query sequences */
    const int *starts;          /* [count + 1] their rows */
    const int *sequence;        /* [count] the cache's sequence each of them reads; NULL: its own */
    const int *positions; /* [count] of the first of their rows, among the keys; NULL: that of the
                          last query is the last key's */
    const float *q;       /* projected by the score: head h of row r at q + r*q_row + h*width, where
                             width is that of the cache's keys, which are projected too */
    ptrdiff_t q_row;
    const float *centers;  /* local-p: [heads][rows] */
    const float *relative; /* rapt__relative_fill of the spec, for all distances; NULL: no biases */
    int relative_row, relative_zero;
    struct attention_history *history; /* location-aware: of the query sequences */
    float *out;                        /* at out + r*out_row + h*value_width */
    ptrdiff_t out_row;
    float *lse, *statistics; /* [heads][rows], and 2 floats for each (rapt_attention_saved); NULL:
                                not wanted. weights.c needs statistics */
};
/* Bytes of workspace for the functions below, if no sequence has more than `longest` keys.
   spec->threads: as in rapt_attention. */
size_t rapt__cache_workspace(const rapt_attention *spec, int longest);
void rapt__cache_attend(struct team *team, const struct cache *cache,
                        const struct cached_queries *queries, void *workspace);

/* ---- weights.c ---- */
/* Adds share * the weights of row `row`, which is of query sequence i, in one head over all keys:
   weights[counts[its sequence]]. After rapt__cache_attend with these queries. For one caller, no
   team. */
void rapt__cache_weights(const struct cache *cache, const struct cached_queries *queries, int i,
                         int row, int head, float share, float *weights, void *workspace);

#endif
