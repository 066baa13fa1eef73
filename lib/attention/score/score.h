/* score.h - what a score is: how it turns the rows of one side, queries or keys, into those that
   the core reads, and how their gradients come back. */
#ifndef RAPT_LIB_ATTENTION_SCORE_H
#define RAPT_LIB_ATTENTION_SCORE_H

#include "attention/projected.h"
#include "attention/score/projection.h"

struct score_block { /* neighboring rows of one head */
    int head, rows;
    int position; /* of the first */
    const float *x;
    ptrdiff_t x_row;
    float *y; /* prepared, or their gradient */
    ptrdiff_t y_row;
    float *dx; /* backward: added to, rows dx_row apart */
    ptrdiff_t dx_row;
};

/* All rows of a side. */
struct score_rows {
    const rapt_attention *a;
    bool keys; /* else queries */
    const float *x;
    rapt_stride x_stride;
    float *y;
    rapt_stride y_stride;
};

struct score_side {
    /* y = x W' + b; NULL: no weights. d NULL: no gradients */
    struct projection (*weights)(const rapt_attention *a, const rapt_gradients *d);
    /* anything else; NULL: y = x, or the projection */
    void (*rows)(const rapt_attention *a, const struct score_block *b);
    void (*rows_back)(const rapt_attention *a, const struct score_block *b);
    /* adds the gradients of what is not a projection; r->y holds dy */
    void (*learned)(struct team *team, const struct score_rows *r, const rapt_gradients *d);
};

struct score {
    const char *name;
    bool scaled;    /* divided by the root of the key width */
    bool scaleless; /* the scale is always 1 */
    bool keyless;   /* k is not read */
    bool additive;  /* hidden_vector . tanh(q' + k'), not q' . k' */
    bool recurrent; /* additive, plus features of the previous query's weights inside the tanh */
    int (*width)(const rapt_attention *a); /* of q' and k' */
    struct score_side queries, keys;
};
const struct score *rapt__score(rapt_score score);

/* ---- learned.c ---- */
/* Whether a problem reads array i, has not given it, and cannot do without. */
bool rapt__learned_missing(const rapt_attention *a, int i);
enum learned_gradient { /* what the gradient of an array is made of */
                        LEARNED_FROM_QUERIES,
                        LEARNED_FROM_KEYS,
                        LEARNED_FROM_CENTERS,
                        LEARNED_FROM_SCORES
};
bool rapt__learned_wanted(const rapt_gradients *d, enum learned_gradient from);

/* ---- dispatch.c ---- */
bool rapt__flash_supports_problem(
    const rapt_attention *a); /* rapt__flash_supports, asked beforehand */

/* ---- general.c ---- */
struct projection rapt__general_queries(const rapt_attention *a, const rapt_gradients *d);

/* ---- additive.c ---- */
struct projection rapt__additive_queries(const rapt_attention *a, const rapt_gradients *d);
struct projection rapt__additive_keys(const rapt_attention *a, const rapt_gradients *d);

/* ---- cosine.c ---- */
void rapt__cosine_queries(const rapt_attention *a, const struct score_block *b);
void rapt__cosine_queries_back(const rapt_attention *a, const struct score_block *b);
void rapt__cosine_keys(const rapt_attention *a, const struct score_block *b);
void rapt__cosine_keys_back(const rapt_attention *a, const struct score_block *b);
void rapt__cosine_inverse_temperature(struct team *team, const struct score_rows *r,
                                      const rapt_gradients *d);

/* ---- location.c ---- */
void rapt__location_keys(const rapt_attention *a, const struct score_block *b);
void rapt__location_position(struct team *team, const struct score_rows *r,
                             const rapt_gradients *d);

/* ---- walk.c: over all rows of a side, shared out; each ends at a barrier ---- */
/* y from x. panels: of the projection. places: of the first row of each sequence; NULL: as the
   problem says. head, sequence: only that one; below 0: all. */
struct score_choice {
    int sequence, head;
};
void rapt__walk_rows(struct team *team, const struct score_side *side, const struct score_rows *r,
                     const float *panels, const int *positions, struct score_choice only);
/* dx += from dy, which is in r->y. panels: of the projection, turned. */
void rapt__walk_back(struct team *team, const struct score_side *side, const struct score_rows *r,
                     const float *panels, float *dx);
int rapt__side_rows(const struct score_rows *r, const struct sequence *b);
int rapt__side_heads(const struct score_rows *r);
ptrdiff_t rapt__side_at(const struct score_rows *r, const rapt_stride *s, const struct sequence *b,
                        int h, int t);

/* ---- rotary.c ---- */
int rapt__rotary_pairs(const rapt_attention *a); /* 0: no rotary positions */
void rapt__rotary_frequencies(const rapt_attention *a, double *frequencies); /* [pairs] */
/* Turns r->y in place; back: the other way. */
void rapt__rotary_rotate(struct team *team, const struct score_rows *r, const double *frequencies,
                         const int *positions, bool back, struct score_choice only);

/* ---- bias.c ---- */
int rapt__relative_bucket(const rapt_relative *r, int distance); /* of a key s - place away */
/* Adds the gradients of slopes and table, from those of rapt__relative_fill. */
void rapt__relative_back(struct team *team, const rapt_attention *a, int row, int zero,
                         const float *dy, const rapt_gradients *d);

/* ---- local.c: c = keys sigmoid(z . tanh(C q)) ---- */
struct projection rapt__locality_weights(const rapt_attention *a, const rapt_gradients *d);
/* centers[H][query rows] from hidden[H][query rows][center_hidden], which holds C q and then
   tanh(C q). places: of the first row of each sequence; NULL: as the problem says. */
void rapt__locality_centers(struct team *team, const rapt_attention *a, const int *positions,
                            struct score_choice only, float *hidden, float *centers);
/* hidden becomes the gradient of C q, dcentres that of z . tanh(C q); adds that of z. */
void rapt__locality_backward(struct team *team, const rapt_attention *a, float *hidden,
                             float *dcentres, const rapt_gradients *d);

#endif
