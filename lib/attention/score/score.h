/* score.h - scores: how the rows of one side (queries or keys) are projected to the q' or k' of
   projected.h, and how gradients are computed. Each score has a row in scores.def. Rotary
   embeddings, which are applied after the projection, and relative biases are computed in the same
   way for every score that supports them. Also declares distance vectors, forget gates and the
   centers of local-p. */
#ifndef RAPT_LIB_ATTENTION_SCORE_H
#define RAPT_LIB_ATTENTION_SCORE_H

#include "attention/projected.h"

/* ---- definition of a score ---- */

/* A linear map y = x W' + b for each head, where W' is the transpose of W [out][in], and b has
   `out` elements. */
struct projection {
    int heads, in, out;
    const float *weight, *bias; /* [heads][out][in], and [heads][out] or NULL */
    float *dweight, *dbias;     /* gradients to add to; NULL if not requested */
};

struct score_block { /* adjacent rows of one head */
    int head, rows;
    int position; /* position of the first row */
    const float *x;
    ptrdiff_t x_row;
    float *y; /* projected rows, or in backward their gradient */
    ptrdiff_t y_row;
    float *dx; /* in backward: the gradient to add to, in rows dx_row apart */
    ptrdiff_t dx_row;
};

struct score_rows { /* all rows of one side */
    const rapt_attention *a;
    bool keys; /* true for keys, false for queries */
    const float *x;
    rapt_stride x_stride;
    float *y;
    rapt_stride y_stride;
};

struct score_side {
    /* returns the projection y = x W' + b; NULL if y is not a projection. d may be NULL if no
       gradients are requested */
    struct projection (*weights)(const rapt_attention *a, const rapt_gradients *d);
    /* computes y; NULL if y is a projection or a copy of x (plus the content bias, if any) */
    void (*rows)(const rapt_attention *a, const struct score_block *b);
    /* adds the gradient of x to dx; NULL if `rows` is NULL or x is ignored */
    void (*rows_back)(const rapt_attention *a, const struct score_block *b);
    /* adds the gradients of learned arrays that are not part of a projection; NULL if there are
       none. r->y holds dy */
    void (*learned)(struct team *team, const struct score_rows *r, const rapt_gradients *d);
};

struct score {
    const char *name;
    bool scaled;    /* the default scale is 1 / sqrt(key width) */
    bool scaleless; /* the scale is always 1 */
    bool keyless;   /* k is ignored; a row is learned for each key position */
    bool additive;  /* a tanh layer instead of a dot product (projected.h) */
    /* for a recurrent score, which is additive: returns its features; NULL for other scores. d may
       be NULL if no gradients are requested */
    struct features (*features)(const rapt_attention *a, const rapt_gradients *d);
    int (*width)(const rapt_attention *a); /* returns the width of q' and k' */
    struct score_side queries, keys;
};
#define SCORE(enumerator, name) extern const struct score rapt__score_##name;
#include "attention/score/scores.def"
const struct score *rapt__score(rapt_score score);

/* ---- score.c: learned arrays ---- */
/* Returns true if a problem requires array i but does not have it. */
bool rapt__learned_missing(const rapt_attention *a, int i);
/* Values of the column `gradient` in learned.def. */
enum learned_gradient {
    LEARNED_FROM_QUERIES,
    LEARNED_FROM_KEYS,
    LEARNED_FROM_CENTERS,
    LEARNED_FROM_SCORES
};
/* Returns true if the caller requested the gradient of an array of this kind. */
bool rapt__learned_wanted(const rapt_gradients *d, enum learned_gradient from);

/* ---- distances.c: products of distance vectors with rows ---- */
struct distance_fill { /* products of distance vectors with all rows, or their gradients */
    const rapt_attention *a;
    const float *q, *k;       /* the rows of the problem */
    float *packed;            /* workspace of rapt__distance_packed floats */
    float *space;             /* workspace of a thread, rapt__distance_space floats */
    float *by_query, *by_key; /* as in struct projected; NULL if not requested */
    float *weights;           /* distance_weights of struct projected, in backward */
};
struct score_choice { /* a sequence and a head; a negative number means all */
    int sequence, head;
};
/* Return the number of floats in the packed vectors with their biases, and in a thread's
   workspace. */
size_t rapt__distance_packed(const rapt_attention *a);
size_t rapt__distance_space(const rapt_attention *a);
/* Packs the vectors of distances.keys and their products with position biases. Divides the work
   among the team and ends at a barrier. */
void rapt__distance_pack(struct team *team, const rapt_attention *a, float *packed);
/* Computes rows of by_query for adjacent rows q of head h. */
void rapt__distance_queries(const rapt_attention *a, const float *packed, int h, const float *q,
                            ptrdiff_t q_row, int rows, float *to);
/* Computes lanes first .. first + keys - 1 of a panel of by_key from `keys` adjacent rows k. If
   `first` is 0, also clears the other lanes. */
void rapt__distance_keys(const rapt_attention *a, int h, const float *k, ptrdiff_t k_row, int first,
                         int keys, float *space, float *panel);
/* Packs the vectors and fills by_query and by_key for the given sequences and heads. */
void rapt__distances_fill(struct team *team, const struct distance_fill *f,
                          struct score_choice only);
/* Adds to the gradients in d->q, d->k and d->distances, except content_bias. f holds the gradients
   of by_query and by_key, and the sums of weights by distance; all of them are overwritten. */
void rapt__distances_backward(struct team *team, const struct distance_fill *f, const float *dout,
                              const rapt_gradients *d);

/* y[r] += sum over k < terms of a[r][k] x[k], in the order of k. A vector x[k] whose factor is 0
   may contain infinities and NaNs. */
struct distance_product {
    int rows, terms, width;
    const float *a; /* a[r][k] is at a[r*a_row + k*a_step] */
    ptrdiff_t a_row, a_step;
    const float *x; /* rows of `width` floats, x_row apart */
    ptrdiff_t x_row;
    float *y;
    ptrdiff_t y_row;
};
void rapt__distance_add(const struct distance_product *p);
/* Multiplies the rows x, of `width` floats each, by vectors packed in panels, and adds bias
   [vectors] unless it is NULL. Stores the results in `to`, in rows laid out like by_query. */
void rapt__distance_products(const rapt_attention *a, const float *packed, const float *bias,
                             const float *x, ptrdiff_t x_row, int width, int rows, float *to);
/* Folds a row of sums laid out like by_query. Such a row has copies of the first and the last
   distance, whose sums are added to those of the two distances. If there are buckets, the sum of
   each distance is then added to its bucket. */
void rapt__distance_fold(const rapt_attention *a, float *row);

/* ---- distance_values.c: vectors that are added to values ---- */
size_t rapt__distance_values_packed(const rapt_attention *a); /* floats in the packed vectors */
/* Sets by_dout of struct projected. packed is workspace. */
void rapt__distance_dout(struct team *team, const rapt_attention *a, float *packed,
                         const float *dout, float *by_dout);
/* Multiplies `sums`, the distance_weights of struct projected, by the vectors and adds the products
   to all outputs. Overwrites `sums`. */
void rapt__distance_outputs(struct team *team, const rapt_attention *a, float *sums, float *out);

/* ---- transform.c: computes q', k', biases and centers, and converts their gradients back ---- */
struct transformed {
    const rapt_attention *a;
    const struct score *score;
    const rapt_gradients *d;         /* for backward */
    struct projected projected;      /* the problem after projection */
    struct score_rows queries, keys; /* x is the caller's array; y is q' or k' if it differs from q
                                        or k, else NULL */
    /* in the workspace: */
    float *query_panels, *key_panels, *center_panels; /* weights packed in panels */
    double *frequencies;                              /* frequencies of rotary embeddings */
    float *relative, *forget, *centers, *hidden;      /* see struct projected; hidden is C q of
                                                         local-p, then tanh(C q) */
    float *dqueries, *dkeys, *drelative, *dcenters;   /* gradients of projected rows */
    float *forget_rows, *forget_keys;                 /* see struct projected_gradients */
    struct distance_fill distances, ddistances;       /* arrays by distance, and their gradients */
    float *value_panels, *by_dout, *distance_weights; /* packed vectors of distances; see struct
                                                         projected */
};
extern const struct score_choice rapt__all_rows;

/* Returns the problem that remains after projection. Its q and k are still the caller's, and the
   other arrays that rapt__transform computes are NULL. */
struct projected rapt__projected(const rapt_attention *a, const float *q, const float *k);
void rapt__transform_layout(struct arena *arena, const struct bounds *b, struct transformed *t);
/* Lays out t and fills it in for the given sequences and heads. All threads of a team call it, each
   with its own t. */
void rapt__transform(struct team *team, const rapt_attention *a, const float *q, const float *k,
                     struct score_choice only, struct arena *arena, struct transformed *t);
/* The first function zeroes the sums of weights by distance, to which the flash path then adds. The
   second adds the products of these sums with the distance vectors to the outputs. Neither does
   anything if no distance vectors are added to values. */
void rapt__transform_begin_outputs(struct team *team, struct transformed *t);
void rapt__transform_add_outputs(struct team *team, const struct transformed *t, float *out);
/* Returns the arrays to which gradients of projected rows are to be added: the caller's, or zeroed
   arrays in t. Also sets by_dout and distance_weights of t->projected. dout is the gradient of the
   output. */
struct projected_gradients rapt__transform_backward(struct team *team, struct transformed *t,
                                                    const float *dout, const rapt_gradients *d);
/* Converts the gradients of projected rows to the caller's gradients. dout is the gradient of the
   output. */
void rapt__transform_finish(struct team *team, struct transformed *t, const float *dout);

/* ---- projection.c: all rows of a side ---- */
/* Computes y for all rows from x. Like rapt__side_backward, it divides the work among the team and
   ends at a barrier. panels holds the packed projection. positions holds the position of the first
   row of each sequence, or is NULL to use the problem's own positions. */
void rapt__side_forward(struct team *team, const struct score_side *side,
                        const struct score_rows *r, const float *panels, const int *positions,
                        struct score_choice only);
/* Adds the gradient of x to dx, given dy in r->y. panels holds the transposed projection. */
void rapt__side_backward(struct team *team, const struct score_side *side,
                         const struct score_rows *r, const float *panels, float *dx);
int rapt__side_rows(const struct score_rows *r, const struct sequence *b);
int rapt__side_heads(const struct score_rows *r);
ptrdiff_t rapt__side_at(const struct score_rows *r, const rapt_stride *s, const struct sequence *b,
                        int h, int t);

/* ---- projection.c ---- */
/* Returns the number of floats to allocate for the panels of one head's weights, which is enough
   whether they are transposed or not. */
size_t rapt__projection_panels(int in, int out);
/* Packs W into panels: unchanged, for computing y, or transposed, for computing the gradient of x.
   Divides the work among the team and ends at a barrier. */
void rapt__projection_pack(struct team *team, const struct projection *p, bool transposed,
                           float *panels);
/* Compute a block: y = x W' + b, or dx += dy W, where b->y holds dy. The result for a row is
   bit-identical, whatever other rows are in the block. */
void rapt__project(const struct projection *p, const float *panels, const struct score_block *b);
void rapt__project_backward(const struct projection *p, const float *panels,
                            const struct score_block *b);
/* Adds dy' x to dweight and the sum of dy to dbias, over all rows in order; r->y holds dy. A row
   with dy = 0 is skipped, because it may be masked and its x may contain NaN. */
void rapt__projection_gradient(struct team *team, const struct projection *p,
                               const struct score_rows *r);

/* ---- rotary.c ---- */
int rapt__rotary_pairs(const rapt_attention *a); /* 0 without rotary embeddings */
void rapt__rotary_frequencies(const rapt_attention *a, double *frequencies); /* [pairs] */
/* Rotates r->y in place, by the negative angles if `back` is true. positions is as in
   rapt__side_forward. */
void rapt__rotary_rotate(struct team *team, const struct score_rows *r, const double *frequencies,
                         const int *positions, bool back, struct score_choice only);

/* ---- attention/bias.c: forget gates ---- */
/* Fills to[H][rapt__key_panels][2][16] with the sums of a->log_forget for the given sequences and
   heads. */
void rapt__forget_fill(struct team *team, const rapt_attention *a, struct score_choice only,
                       float *to);
/* Adds the gradient of log_forget to `to`, given the sums in struct projected_gradients. */
void rapt__forget_backward(struct team *team, const rapt_attention *a, const float *rows,
                           const float *keys, float *to);

/* ---- local.c: c = keys sigmoid(z . tanh(C q)) ---- */
extern const struct score_side rapt__center_side; /* computes C q for queries */
/* Computes centers[H][query rows] from hidden[H][query rows][center_hidden], which holds C q on
   entry and tanh(C q) on return. positions[batch] holds the position of each sequence's first row;
   NULL means the problem's own positions. */
void rapt__locality_centers(struct team *team, const rapt_attention *a, const int *positions,
                            struct score_choice only, float *hidden, float *centers);
/* Replaces hidden, which holds tanh(C q), with the gradient of C q, and dcenters with the gradient
   of z . tanh(C q). Adds to the gradient of z. */
void rapt__locality_backward(struct team *team, const rapt_attention *a, float *hidden,
                             float *dcenters, const rapt_gradients *d);

#endif
