/* attention.h - the interface of lib/attention: attention of whole arrays, forward and backward,
   and of queries against a cache of the keys and values of past tokens.

   All members of a team call the functions that take one, with the same arguments, which must have
   passed their checks. The functions end at a barrier (lib/base/base.h). The team shares the
   workspace. A row's result is bit-identical for any batch, number of threads and instruction set,
   and with keys in a cache or in arrays. Gradients are bit-identical for any number of threads and
   instruction set. */
#ifndef RAPT_LIB_ATTENTION_H
#define RAPT_LIB_ATTENTION_H

#include "base/base.h"

#include <rapt/attention.h>

/* The most query rows of all heads, and the most key rows, of a problem: they are counted in
   int. */
enum { ATTENTION_ROWS = INT32_MAX - 128 };

/* Targets for the weights of one head: for each query, the keys that should share all weight
   equally, and the loss if they do not. */
enum { GUIDED_HEAD = 0 };
struct guide {
    float weight;      /* of this loss */
    const int *starts; /* [query rows + 1] ranges of `keys`, one per row; a row with an empty range
                          is not trained */
    const int *keys;   /* indices in the row's sequence */
    double *losses;    /* [query rows], 0 on entry: receives weight x the mean of -log(w[s] + 1e-6)
                          over the keys s of the row */
};

/* ---- dispatch.c: like rapt_attention_forward, _backward and _weights, but inside a team ----
   saved and reinforce are never NULL here; their arrays may be if rapt/attention.h allows it. guide
   (may be NULL) adds the gradient of its loss and receives the losses. */
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
/* Returns the bytes of workspace for a problem and a team of that size, or 0 if they overflow
   size_t. */
size_t rapt__attention_workspace(const rapt_attention *a, int team_size);
/* Returns the bytes that suffice for every problem with the heads, widths, score, ... of `spec`, at
   most `batch` sequences and at most query_rows and key_rows rows in all. spec->queries and
   spec->keys are those of the longest sequence (0 means all rows may be in one); its starts are not
   read. guided: a guide may be given. */
size_t rapt__attention_workspace_spec(const rapt_attention *spec, int batch, int query_rows,
                                      int key_rows, bool guided);

/* ---- problem.c ---- */
/* Returns the rows of the longest sequence. The starts are not trusted: they may decrease. */
int rapt__longest(int batch, const int *starts);

/* ---- transform_rows.c: projects rows as they arrive, for callers that keep keys ----
   A score turns rows of q and k into q' and k' (projected.h), which leaves only a dot product or
   the tanh of a hidden layer. `spec` gives the score, locality, relative positions and weights; its
   rows, starts and masks are not read. The bits are those of rapt__attention_forward. */
struct rows_given { /* rows of queries or of keys, for all heads */
    int sequences;
    const int *starts;       /* [sequences + 1] rows of each sequence, back to back */
    const int *positions;    /* [sequences] position of the first row among the keys */
    const float *x;          /* row r of head h at x + h*x_head + r*x_row; not read if */
    ptrdiff_t x_head, x_row; /* the projected rows depend only on positions (location) */
    float *y;                /* projected rows of rapt__score_width floats; not x */
    ptrdiff_t y_head, y_row;
};
int rapt__score_width(const rapt_attention *spec);
bool rapt__score_changes(const rapt_attention *spec, bool keys); /* false if q' = q, or k' = k */
/* The weights are packed into panels once, for all calls: rapt__score_packed returns their size in
   floats. */
size_t rapt__score_packed(const rapt_attention *spec);
void rapt__score_pack(struct team *team, const rapt_attention *spec, float *packed);
void rapt__score_queries(struct team *team, const rapt_attention *spec, const float *packed,
                         const struct rows_given *rows);
void rapt__score_keys(struct team *team, const rapt_attention *spec, const float *packed,
                      const struct rows_given *rows);
/* For local-p: sets centers[H][rows] of queries whose sequences have counts[i] keys. rows->y is
   workspace of H * rows * center_hidden floats. */
void rapt__score_centers(struct team *team, const rapt_attention *spec, const float *packed,
                         const struct rows_given *rows, const int *counts, float *centers);

/* ---- score.c, mask.c: properties of the score and of the locality of a checked problem ---- */
/* Returns true if scores read the weights of the previous query. Then the queries of a head are
   computed one after the other, and a cache keeps the last weights (history.c). */
bool rapt__score_recurrent(const rapt_attention *a);
bool rapt__score_is_additive(rapt_score score); /* a tanh layer rather than a dot product */
/* Returns true if the score learns a row for each position, so that sequences of keys are at most
   parameters.positions long. False for an invalid score. */
bool rapt__score_has_positions(rapt_score score);
/* Returns true if each query predicts the center of the keys it attends to (local-p). */
bool rapt__locality_centered(const rapt_attention *a);

/* ---- learned.c: the rows of attention/learned.def ---- */
struct learned_shape {
    int64_t rows, columns;
};
bool rapt__learned_read(const rapt_attention *a, int i); /* by the score or locality */
/* Returns the shape of array i. Reads widths, heads and score of a. */
struct learned_shape rapt__learned_shape(const rapt_attention *a, int i);

/* ---- check.c ---- */
/* Does what rapt_attention_check does, for a struct of this version. */
rapt_status rapt__attention_check(const rapt_attention *a, rapt_message *why);
/* Checks only what the shapes of learned arrays depend on. */
rapt_status rapt__shapes_check(const rapt_attention *a, rapt_message *why);

/* ---- distribution.c ---- */
bool rapt__normalizer_is_hard(rapt_normalizer normalizer); /* one chosen key has all weight */

/* ---- bias.c ---- */
/* Expands slopes and table to one row of biases per head: to[H][row], element s - position +
   zero. */
void rapt__relative_fill(struct team *team, const rapt_attention *spec, int row, int zero,
                         float *to);

/* ---- cache.c: keys in panels of 16, and values, as the kernels read them ---- */
struct cache {
    int sequences, key_heads, key_width, value_width;
    int *offsets; /* [sequences + 1] first panel of each slot */
    int *slot;
    int *counts;               /* [sequences] number of keys */
    int *after, *spare;        /* [sequences] used while reordering */
    float *keys;               /* per slot and key head [panels][key width][16] */
    float *values;             /* per slot and key head [panels * 16][padded value width] */
    unsigned char *non_finite; /* per slot and key head [panels]: a value is infinite or NaN */
    uint64_t *stamps; /* [panels] panels with the same stamp have the same content; 0 if empty */
    uint64_t clock;   /* the last stamp */
    int *copies;      /* [panels][3] to copy when reordering: from slot, to sequence, panel */
    int copy_count;   /* entries of copies */
};
/* Lays out a cache of `panels` panels per key head for all sequences together; a panel holds 16
   keys of one sequence. Once the arena has memory, rapt__cache_start prepares the cache, or empties
   it: sequence i then has room for capacity[i] keys. */
void rapt__cache_layout(struct cache *cache, int sequences, size_t panels, int key_heads,
                        int key_width, int value_width, struct arena *arena);
void rapt__cache_start(struct cache *cache, const int *capacity);

/* Appends rows starts[i] .. starts[i+1]-1 to sequence i; row r of key head g is at k + r*k_row +
   g*key_width and v + r*v_row + g*value_width. The caller makes sure that they fit. */
void rapt__cache_append(struct team *team, struct cache *cache, const int *starts, const float *k,
                        ptrdiff_t k_row, const float *v, ptrdiff_t v_row);
/* Sequence i becomes what sequence parents[i] was, whose capacity must be that of i in panels of
   16. A sequence with one child is not copied, nor is what two sequences have in common. */
void rapt__cache_reorder(struct team *team, struct cache *cache, const int *parents);

/* ---- history.c: the attention weights of the last query, for recurrent scores ---- */
struct attention_history {
    int sequences, heads;     /* of the queries */
    size_t *offsets;          /* [sequences + 1] floats before each sequence, per head */
    int *counts, *old_counts; /* [sequences][heads] number of weights; 0 means no query yet */
    float *weights, *old; /* per sequence [heads][capacity]: after the last query; before the last
                             call */
};
/* Like rapt__cache_layout and _start, with `floats` weights per head in all; sequence i has room
   for capacity[i] of them. */
void rapt__history_layout(struct attention_history *history, int sequences, int heads,
                          size_t floats, struct arena *arena);
void rapt__history_start(struct attention_history *history, const int *capacity);
/* Sequence i becomes what sequence parents[i], of the same capacity, was. Loses the weights from
   before the last call. */
void rapt__history_reorder(struct team *team, struct attention_history *history,
                           const int *parents);

/* ---- attend.c ---- */
struct cached_queries {
    const rapt_attention *spec; /* reads heads, key and value width, score, scale, locality,
                                   normalizer, learned, cap and mask.causal; no dropout */
    int count;                  /* query sequences */
    const int *starts;          /* [count + 1] rows of each */
    const int *sequence;        /* [count] sequence of the cache that each reads; NULL means the
                                   same index */
    const int *positions; /* [count] position of the first row among the keys; NULL means the last
                             query has the position of the last key */
    const float *q;       /* projected by the score: head h of row r at q + r*q_row + h*width, where
                             width is that of the cache's keys, which are also projected */
    ptrdiff_t q_row;
    const float *centers;  /* local-p: [heads][rows] */
    const float *relative; /* from rapt__relative_fill of the spec, for all distances; NULL means no
                              biases */
    int relative_row, relative_zero;
    struct attention_history *history; /* for location-aware scores: of the query sequences */
    float *out;                        /* row r of head h at out + r*out_row + h*value_width */
    ptrdiff_t out_row;
    float *lse, *statistics; /* [heads][rows], and 2 floats for each row (rapt_attention_saved);
                                NULL if not wanted. weights.c needs statistics */
};
/* Returns the bytes of workspace for the functions below if no sequence has more than `longest`
   keys. spec->threads is as in rapt_attention. */
size_t rapt__cache_workspace(const rapt_attention *spec, int longest);
void rapt__cache_attend(struct team *team, const struct cache *cache,
                        const struct cached_queries *queries, void *workspace);

/* ---- weights.c ---- */
/* Adds share * the weights of row `row` of query sequence i in one head to weights, which has an
   element for each key of the sequence it reads. Call it after rapt__cache_attend with the same
   queries, from a single thread without a team. */
void rapt__cache_weights(const struct cache *cache, const struct cached_queries *queries, int i,
                         int row, int head, float share, float *weights, void *workspace);

#endif
