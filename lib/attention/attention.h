/* attention.h - the interface of lib/attention: attention on whole arrays, forward and backward;
   attention to a cache of past keys and values; linear attention; and monotonic attention.

   Every function that takes a team must be called by all threads of the team, with the same
   arguments, which must have been checked. The function ends at a barrier (lib/base/base.h). The
   team shares the workspace. The results for a row are bit-identical for any batch, any number of
   threads and any instruction set with fused multiply-add, and regardless of whether its keys come
   from a cache or from arrays. Gradients are bit-identical for any number of threads and any such
   instruction set. The step-by-step results of linear attention agree with those for whole
   sequences up to rounding errors. */
#ifndef RAPT_LIB_ATTENTION_H
#define RAPT_LIB_ATTENTION_H

#include "base/base.h"

#include <rapt/attention.h>
#include <rapt/linear_attention.h>
#include <rapt/monotonic_attention.h>

/* Maximum number of query rows over all sequences and heads, and of key rows over all sequences.
   The margin keeps the end of a block of 128 keys within the range of int. */
enum { ATTENTION_ROWS = INT32_MAX - 128 };

/* A loss that trains one head to attend to given keys. It is smallest if the weights of each query
   are uniform over the keys listed for it. */
enum { GUIDED_HEAD = 0 };
struct guide {
    float weight;      /* factor by which this loss is multiplied */
    const int *starts; /* [query rows + 1] ranges of `keys`, one per row; a row with an empty range
                          is not guided */
    const int *keys;   /* indices of keys in the row's sequence */
    double *losses;    /* [query rows], must be 0 before the call; receives `weight` times the mean
                          of -log(w[s] + 1e-6) over the row's keys s */
};

/* The coverage loss of See, Liu and Manning 2017, equation 12, for scores with coverage. */
struct coverage_loss {
    float weight;   /* factor by which this loss is multiplied */
    double *losses; /* [H][query rows]: each element is increased by `weight` times the sum of
                       min(w[s], coverage[s]) over the visible keys s */
};
struct weight_losses { /* losses of attention weights, for backward; NULL means none */
    const struct guide *guide;
    const struct coverage_loss *coverage;
};

/* ---- dispatch.c: like rapt_attention_forward, _backward and _weights, but inside a team ----
   saved, reinforce and losses must not be NULL. Fields of saved and reinforce may be NULL where
   rapt/attention.h allows it; fields of losses may always be NULL. Backward also adds the gradients
   of `losses`, and computes the losses themselves. */
void rapt__attention_forward(struct team *team, const rapt_attention *a, const float *q,
                             const float *k, const float *v, float *out,
                             const rapt_attention_saved *saved, void *workspace);
void rapt__attention_backward(struct team *team, const rapt_attention *a, const float *q,
                              const float *k, const float *v, const float *out,
                              const rapt_attention_saved *saved, const float *dout,
                              const rapt_reinforce *reinforce, const struct weight_losses *losses,
                              const rapt_gradients *d, void *workspace);
void rapt__attention_weights(struct team *team, const rapt_attention *a, const float *q,
                             const float *k, const rapt_attention_saved *saved, int sequence,
                             int head, int first, int rows, float *weights, void *workspace);
/* Returns the workspace size in bytes for a problem and a team of team_size threads, or 0 if it
   overflows size_t. */
size_t rapt__attention_workspace(const rapt_attention *a, int team_size);
/* Returns a workspace size in bytes that suffices for every problem with the heads, widths, score
   and other options of `spec`, at most `batch` sequences, and at most query_rows query rows and
   key_rows key rows over all sequences, with a team of rapt__team_size(spec->threads) threads.
   spec->queries and spec->keys bound the rows of a single sequence; 0 means no bound. The starts in
   spec are ignored. `guided` means that a guide may be passed. Returns 0 if the size overflows
   size_t. */
size_t rapt__attention_workspace_spec(const rapt_attention *spec, int batch, int query_rows,
                                      int key_rows, bool guided);

/* ---- problem.c ---- */
/* Returns the number of rows of the longest sequence, or 0 if no sequence has rows. The starts need
   not have been checked and may decrease. */
int rapt__longest(int batch, const int *starts);

/* ---- transform_rows.c: projects new rows, for callers that store keys in a cache ----
   A score projects rows of q and k to q' and k' (projected.h), after which only a dot product or a
   tanh layer remains. `spec` is the problem; its starts, its mask (except mask.causal) and its
   numbers of rows are ignored. The results are bit-identical to the q' and k' that
   rapt__attention_forward computes. */
struct rows_given { /* rows of queries or keys in all heads */
    int sequences;
    const int *starts;    /* [sequences + 1] first row of each sequence, and the end of the last */
    const int *positions; /* [sequences] position of the first row among the keys */
    const float *x; /* row r of head h is at x + h*x_head + r*x_row; ignored if the projected rows
                       depend only on positions (location-based score) */
    ptrdiff_t x_head, x_row;
    float *y; /* projected rows of rapt__score_width floats; must not be x */
    ptrdiff_t y_head, y_row;
};
int rapt__score_width(const rapt_attention *spec); /* returns the width of q' and k' */
/* If `keys` is true, returns whether k' differs from k; otherwise, whether q' differs from q. */
bool rapt__score_changes(const rapt_attention *spec, bool keys);
/* Learned matrices, rotary frequencies and distance vectors are packed once, for all calls to the
   functions below. rapt__score_packed returns the number of floats in `packed`. */
size_t rapt__score_packed(const rapt_attention *spec);
void rapt__score_pack(struct team *team, const rapt_attention *spec, float *packed);
/* Compute q' and k' for the given rows. */
void rapt__score_queries(struct team *team, const rapt_attention *spec, const float *packed,
                         const struct rows_given *rows);
void rapt__score_keys(struct team *team, const rapt_attention *spec, const float *packed,
                      const struct rows_given *rows);
/* For local-p, computes centers[H][rows], the centers of the queries. Sequence i has counts[i]
   keys. rows->y is workspace [H][rows][center_hidden]; y_head and y_row are ignored. */
void rapt__score_centers(struct team *team, const rapt_attention *spec, const float *packed,
                         const struct rows_given *rows, const int *counts, float *centers);

/* Sets rows->y [H][rows][rapt__distance_row] to the terms that spec->distances.keys adds, by
   distance, to the scores of the queries in rows->x. spec->distances.keys must not be NULL; y_head
   and y_row are ignored. */
void rapt__score_distances(struct team *team, const rapt_attention *spec, const float *packed,
                           const struct rows_given *rows);
/* Return the number of floats in a row of by_query and in a panel of by_key (projected.h). */
size_t rapt__distance_row(const rapt_attention *spec);
size_t rapt__distance_panel(const rapt_attention *spec);

/* ---- score.c, mask.c: properties of a checked problem's score and locality ---- */
/* Returns true if scores read the weights of previous queries. The queries of a head must then be
   computed in order, and a decoder must keep these weights (struct attention_history). */
bool rapt__score_recurrent(const rapt_attention *a);
bool rapt__score_is_additive(rapt_score score); /* true for a tanh layer, false for a dot product */
/* Returns true if the score is a dot product of the queries and keys themselves, apart from rotary
   embeddings and distance vectors. */
bool rapt__score_is_plain(rapt_score score);
/* Returns `scale`, or the score's default scale if `scale` is 0. Always returns 1 for cosines. */
float rapt__score_scale(rapt_score score, float scale, int key_width);
/* Returns true if the score learns a row for each position, which limits key sequences to
   parameters.positions keys. Returns false for an invalid score. */
bool rapt__score_has_positions(rapt_score score);
bool rapt__score_has_coverage(rapt_score score); /* true if scores read the sum of the weights of
                                                    all previous queries */
/* Returns true if each query predicts the center of the keys it attends to (local-p). */
bool rapt__locality_centered(const rapt_attention *a);

/* ---- score.c: the table attention/learned.def ---- */
struct learned_shape {
    int64_t rows, columns;
};
/* Returns true if the score, locality or normalizer reads array i. */
bool rapt__learned_read(const rapt_attention *a, int i);
/* Returns the shape of array i, which depends on the widths, the numbers of heads, the score and
   the sizes in a->parameters. */
struct learned_shape rapt__learned_shape(const rapt_attention *a, int i);

/* ---- check.c ---- */
/* Like rapt_attention_check, but takes a struct of this version. */
rapt_status rapt__attention_check(const rapt_attention *a, rapt_message *why);
/* Performs only the checks that rapt_attention_parameters_lay_out needs: sizes, score, locality,
   and whether the normalizer is a valid enumerator. */
rapt_status rapt__shapes_check(const rapt_attention *a, rapt_message *why);

/* ---- distribution.c ---- */
bool rapt__normalizer_is_hard(rapt_normalizer normalizer); /* true if the normalizer gives all
                                                              weight to one key */
/* Returns the index of the array that holds the normalizer's learned parameter for each head, or -1
   if there is none. */
int rapt__normalizer_number(rapt_normalizer normalizer);

/* ---- bias.c ---- */
/* Expands slopes, a table, or the sum of both into one row of biases per head: to[H][row], where
   element s - position + zero is the bias of key s. */
void rapt__relative_fill(struct team *team, const rapt_attention *spec, int row, int zero,
                         float *to);

/* ---- cache.c: keys, in panels of 16, and values, in the layout that the kernels read ----
   A joint cache, used for latent rows, stores keys as plain rows; the last value_width elements of
   a row are its value. Every call to rapt__cache_attend or rapt__cache_weights packs these keys
   again. In a joint cache, value_width must be a multiple of 16 and at most key_width.

   In a bf16 cache, keys and values are rounded when they are appended, and widened whenever they
   are read. Results are bit-identical to those of a float cache whose keys and values were rounded
   before they were appended. */
struct cache_form {
    bool joint, bf16;
};
struct cache {
    int sequences, key_heads, key_width, value_width;
    struct cache_form form;
    int *offsets;       /* [sequences + 1] first panel of each slot */
    int *slot;          /* [sequences] slot that each sequence occupies */
    int *counts;        /* [sequences] number of keys */
    int *after, *spare; /* [sequences] scratch space for reordering */
    float *keys;        /* per slot and key head [panels][key width][16] or, if joint,
                           [panels][16][key width]; NULL in a bf16 cache */
    float *values;      /* per slot and key head [panels * 16][padded value width]; NULL in a
                           joint or bf16 cache */
    uint16_t *keys_bf16, *values_bf16; /* in a bf16 cache, take the place of `keys` and `values`;
                                          else NULL */
    unsigned char *non_finite; /* per slot and key head [panels]: 1 if a value is infinite or NaN;
                                  NULL in a joint cache */
    int forget_heads;          /* number of query heads, or 0 without forget gates */
    float *forget;             /* per slot and query head [panels][2][16]: sums of log_forget, as in
                                  struct attend_row */
    int distance_heads;        /* number of query heads, or 0 without distances.queries */
    size_t distance_panel;     /* result of rapt__distance_panel */
    float *by_key;    /* per slot and query head [panels][distance_panel]: the terms that distances
                         add to scores, as in struct distances */
    uint64_t *stamps; /* [panels] panels with the same stamp have the same contents; 0 means
                         empty */
    uint64_t clock;   /* the last stamp that was assigned */
    int *copies;      /* [panels][3] copies to make when reordering: the slot to copy from, the
                         sequence to copy to, and the panel */
    int copy_count;
};
/* Lays out a cache of `panels` panels per key head for all sequences together; a panel holds 16
   keys of one sequence. `shape` gives the numbers of sequences and heads, the widths and `form`.
   Once the arena has memory, rapt__cache_start initializes the cache or empties it. Sequence i then
   has room for capacity[i] keys. */
void rapt__cache_layout(struct cache *cache, const struct cache *shape, size_t panels,
                        struct arena *arena);
void rapt__cache_start(struct cache *cache, const int *capacity);

/* Appends rows starts[i] .. starts[i+1]-1 to sequence i. Row r of key head g is at k + r*k_row +
   g*key_width and v + r*v_row + g*value_width. A joint cache ignores v. The caller must ensure that
   there is room for these rows. */
void rapt__cache_append(struct team *team, struct cache *cache, const int *starts, const float *k,
                        ptrdiff_t k_row, const float *v, ptrdiff_t v_row);
/* Appends log_forget [rows][forget_heads], the logarithms of the forget gates for the rows that
   rapt__cache_append has just appended. */
void rapt__cache_forget(struct team *team, struct cache *cache, const int *starts,
                        const float *log_forget);
/* Computes the terms that spec->distances.queries adds to the scores of the keys that
   rapt__cache_append has just appended; k and k_row are the same as in that call. The workspace
   must have the size that rapt__cache_workspace returns. */
void rapt__cache_distances(struct team *team, struct cache *cache, const rapt_attention *spec,
                           const int *starts, const float *k, ptrdiff_t k_row, void *workspace);
/* Reorders the cache: the new sequence i is the old sequence parents[i], which must have the same
   capacity in panels of 16. Nothing is copied for the first child of a sequence or for panels whose
   contents are already equal. */
void rapt__cache_reorder(struct team *team, struct cache *cache, const int *parents);

/* ---- cache.c: the history of a recurrent score, that is, the attention weights of the last query
   or, for coverage scores, the sum of the weights of all queries ---- */
struct attention_history {
    int sequences, heads;     /* number of query sequences and of heads */
    size_t *offsets;          /* [sequences + 1] floats before each sequence, per head */
    int *counts, *old_counts; /* [sequences][heads] number of weights; 0 means no query yet */
    float *weights, *old;     /* per sequence [heads][capacity]: the weights or sums after the last
                                 query, and their values before the last call to
                                 rapt__cache_attend */
};
/* Work like rapt__cache_layout and rapt__cache_start. Sequence i has room for capacity[i] weights
   per head, and `floats` is the sum of these capacities. */
void rapt__history_layout(struct attention_history *history, int sequences, int heads,
                          size_t floats, struct arena *arena);
void rapt__history_start(struct attention_history *history, const int *capacity);
/* Reorders the history: the new sequence i is the old sequence parents[i], which must have the same
   capacity. `old` and old_counts become meaningless. */
void rapt__history_reorder(struct team *team, struct attention_history *history,
                           const int *parents);

/* ---- attend.c ---- */
struct cached_queries {
    /* The problem. Its starts, strides, mask (except mask.causal), relative biases, log_forget and
       numbers of rows are ignored. Dropout, noise, previous_weights, expected and blocks of sparse
       attention are not supported. */
    const rapt_attention *spec;
    int count;            /* number of query sequences */
    const int *starts;    /* [count + 1] first row of each sequence */
    const int *sequence;  /* [count] index of the cached sequence whose keys are read; NULL means
                             the same index */
    const int *positions; /* [count] position of the first row among the keys; NULL means that the
                             last query has the position of the last key */
    const float *q;       /* projected queries: head h of row r is at q + r*q_row + h*width. width
                             is the key width of the cache, whose keys are also projected */
    ptrdiff_t q_row;
    const float *centers;  /* [heads][rows] for local-p */
    const float *relative; /* result of rapt__relative_fill for all distances; NULL means no
                              biases */
    int relative_row, relative_zero;
    const float *by_query; /* result of rapt__score_distances; NULL if distances.keys is NULL */
    struct attention_history *history; /* history of the query sequences, for recurrent scores */
    float *out;                        /* row r of head h is at out + r*out_row + h*value_width */
    ptrdiff_t out_row;
    float *lse, *statistics; /* [heads][rows] and [heads][rows][2] as in rapt_attention_saved; may
                                be NULL, but rapt__cache_weights needs statistics on the flash
                                path */
};
/* Returns the workspace size in bytes for rapt__cache_distances, _attend and _weights, given that
   no sequence has more than `longest` keys. Returns SIZE_MAX if the size overflows size_t. */
size_t rapt__cache_workspace(const rapt_attention *spec, int longest, struct cache_form form);
/* Computes out and lse for all rows and, on the flash path, their statistics. Updates the
   history. */
void rapt__cache_attend(struct team *team, const struct cache *cache,
                        const struct cached_queries *queries, void *workspace);

/* ---- rows.c ---- */
/* For one row of query sequence i in one head, adds `share` times the attention weights to
   `weights`, which has one element per key of the cached sequence that the row reads. `row` is an
   index into the rows of all query sequences. Must be called after rapt__cache_attend with the same
   queries, by a single thread without a team. */
void rapt__cache_weights(const struct cache *cache, const struct cached_queries *queries, int i,
                         int row, int head, float share, float *weights, void *workspace);

/* ---- linear/: linear attention (rapt/linear_attention.h) ---- */
struct linear_call { /* arguments of forward, backward or step */
    rapt_linear_attention a;
    rapt_linear_attention_gradients d;
    const float *q, *k, *v, *dout, *dstate;
    float *out, *state;
    void *workspace;
};
/* Implement the public functions; `call` is a valid struct linear_call. Forward and step agree up
   to rounding errors. */
void rapt__linear_attention_forward(struct team *team, void *call);
void rapt__linear_attention_backward(struct team *team, void *call);
void rapt__linear_attention_step(struct team *team, void *call);
/* Returns the workspace size in bytes for forward, step and, if `backward` is true, backward.
   Returns 0 if this size, or the total size of the states in bytes, overflows size_t. */
size_t rapt__linear_workspace(const rapt_linear_attention *a, bool backward);

/* ---- monotonic/: monotonic attention (rapt/monotonic_attention.h) ---- */
struct monotonic_call { /* arguments of forward, backward or step */
    rapt_monotonic_attention a;
    rapt_monotonic_attention_outputs outputs;
    rapt_monotonic_attention_gradients d;
    const float *q, *k, *v, *chunk_q, *chunk_k, *dout, *dalpha, *ddelays;
    float *out;
    const int *source; /* step: [batch] index of the sequence whose keys each query sequence reads;
                          NULL means its own index */
    int *positions;    /* step: see rapt_monotonic_attention_step */
    int *stops;        /* step: [heads][query rows] receives the key at which each query stops, or
                          the number of valid keys if it does not stop; may be NULL */
    void *workspace;
};
/* Implement the public functions; `call` is a valid struct monotonic_call. */
void rapt__monotonic_forward(struct team *team, void *call);
void rapt__monotonic_backward(struct team *team, void *call);
void rapt__monotonic_step(struct team *team, void *call);
/* For one query row in one head, adds `share` times the weights of the values to `weights`, which
   has one element per key of the sequence that the row reads. The row belongs to query sequence
   `sequence`, and `row` is an index into the rows of all query sequences. rapt__monotonic_step must
   have written call->stops. Must be called by a single thread without a team. */
void rapt__monotonic_step_weights(const struct monotonic_call *call, int sequence, int row,
                                  int head, float share, float *weights);
/* Returns the workspace size in bytes for step and step_weights and, if `learning` is true, for
   forward and backward. Returns 0 if the size overflows size_t. */
size_t rapt__monotonic_workspace(const rapt_monotonic_attention *a, bool learning);

#endif
