/* linear.h - linear attention and the delta rule in chunks of rows (rapt/linear_attention.h).

   An item is a key head of a sequence with the query heads that share its state. Each item is
   computed by one thread of the team, chunk by chunk (in step.c, row by row). Let s be the scale, S
   the state before a chunk, G[r] the sum of the log decays of rows 0 .. r of the chunk, and D[r][i]
   = exp(G[r] - G[i]). The rows of a chunk are then computed as follows (Yang et al. 2024, arXiv
   2406.06484 and 2412.06464):

       X = V - exp(G) K S - N B X          N = D K K' below the diagonal, B = diag(beta)
       U = B X                             without the delta rule, U = X = V
       out = s exp(G) Q S + P U            P = s D Q K' up to the diagonal
       S becomes exp(G[last]) S + (exp(G[last] - G) K)' U

   Q and K are the features of the queries and keys of the chunk, V its values, and ' denotes the
   transpose. D multiplies K K' and Q K' element by element; exp(G) multiplies rows. With
   normalization, V gets an extra column of ones, and out is divided by its last column. Every
   exponent is a sum of log decays and therefore at most 0. No decay is divided by another. */
#ifndef RAPT_LIB_ATTENTION_LINEAR_H
#define RAPT_LIB_ATTENTION_LINEAR_H

#include "attention/problem.h"
#include "kernel/ahead.h"

enum {
    CHUNK_ROWS = 64,
    BLOCK_ROWS = 16 /* rows of a block of a triangular matrix [CHUNK_ROWS][CHUNK_ROWS] */
};
/* Returns the number of columns that are computed and read in a row of a triangular matrix. */
static inline int rapt__chunk_columns(int row)
{
    return rapt__round_up(row + 1, BLOCK_ROWS);
}

/* ---- chunk.c ---- */
struct linear_problem { /* a checked problem, and numbers derived from it */
    const rapt_linear_attention *a;
    const struct kernels *kernels;
    int width, values;    /* rows and columns of the state: key_width, and value_width or, if
                             normalized, value_width + 1 */
    int key_ld, value_ld; /* floats per row of keys and values in a chunk, multiples of 16 */
    int key_heads, group; /* query heads per key head */
    float scale;
    bool far; /* true if rows are prefetched; set by the caller */
};
struct linear_problem rapt__linear(const rapt_linear_attention *a);
/* Returns true if `times` times the total size of q, k, v and out exceeds that of the near
   caches. */
bool rapt__linear_far(const struct linear_problem *l, int times);

struct linear_item { /* a key head of a sequence, or a query head */
    int sequence, head;
    int rows;
    ptrdiff_t batch,
        first; /* the item's first row is at batch * s->batch + first * s->row (rapt__linear_at) */
};
struct linear_item rapt__linear_item(const struct linear_problem *l, int index);
/* Returns a copy of *item in which `head` is query head number `query` of the item's group. */
struct linear_item rapt__linear_query_item(const struct linear_problem *l,
                                           const struct linear_item *item, int query);
static inline ptrdiff_t rapt__linear_at(const rapt_stride *s, const struct linear_item *item,
                                        int row)
{
    return item->batch * s->batch + item->head * s->head + (item->first + row) * s->row;
}
/* Return the number of floats in a state, and the offset of an item's state. */
size_t rapt__linear_state_size(const struct linear_problem *l);
static inline size_t rapt__linear_state_at(const struct linear_problem *l,
                                           const struct linear_item *item)
{
    return ((size_t)item->sequence * (size_t)l->key_heads + (size_t)item->head) *
           rapt__linear_state_size(l);
}
/* Applies the feature map to n elements of a row, in place. */
void rapt__linear_features(const struct linear_problem *l, float *x, int n);

/* Copies the rows of a chunk or of a state, and pads each with zeros to to_ld floats. */
void rapt__linear_copy(const float *x, ptrdiff_t ld, int rows, int width, float *to, int to_ld);

/* The rows of a chunk and the arrays that are computed from them. C is CHUNK_ROWS; width, key_ld
   and value_ld are as in struct linear_problem. In row r of a matrix [C][C], only the first
   rapt__chunk_columns(r) elements are used. */
struct chunk {
    int rows;
    float *keys, *panels; /* [C][key_ld] features of keys; the same in panels [C/16][width][16] */
    float *queries;       /* [C][key_ld] features of the queries of one head */
    float *scaled;        /* [C][key_ld] scaled rows of keys or queries */
    float *decay;         /* D [C][C], 0 above the diagonal */
    float *dots;          /* N [C][C], 0 on and above the diagonal; dots, solver and beta are for
                             the delta rule */
    float *scores, *weights; /* [C][C] Q K' and P */
    float *solver;           /* [C][C] coefficients of the triangular system */
    float *x, *u;            /* [C][value_ld]; without the delta rule, u and x are the same array */
    float *out;              /* [C][value_ld] */
    float *beta;             /* [C] */
    float *start, *end;      /* [C] exp(G), and exp(G[last] - G) */
    struct rows_ahead ahead; /* rows to prefetch while the rows of `decay` and `weights` are
                                computed */
};
void rapt__chunk_layout(struct arena *arena, const struct linear_problem *l, struct chunk *c);
/* Adds the rows of the chunk that begins at row `first` of an item to c->ahead, if the item has
   such rows and the problem is `far`. x is one of the item's arrays. */
void rapt__chunk_ahead(const struct linear_problem *l, const struct linear_item *item,
                       const float *x, const rapt_stride *s, int width, int first, struct chunk *c);
/* Loads rows [first, first + c->rows) of keys and gates. Computes `decay`, `start`, `end` and, for
   the delta rule, `dots` and `solver`. */
void rapt__chunk_load(const struct linear_problem *l, const struct linear_item *item,
                      const float *k, int first, struct chunk *c);
/* Loads values and computes x and u from the state [width][value_ld] before the chunk. */
void rapt__chunk_solve(const struct linear_problem *l, const struct linear_item *item,
                       const float *v, int first, const float *state, struct chunk *c);
/* Computes u from x. */
void rapt__chunk_scale(const struct linear_problem *l, struct chunk *c);
/* Loads the queries of an item that is a query head, and computes scores and weights. */
void rapt__chunk_weights(const struct linear_problem *l, const struct linear_item *item,
                         const float *q, int first, struct chunk *c);
/* Computes `out` from the weights, u, and the state before the chunk. */
void rapt__chunk_read(const struct linear_problem *l, const float *state, struct chunk *c);
/* Advances the state past the chunk. */
void rapt__chunk_advance(const struct linear_problem *l, struct chunk *c, float *state);
/* For a row of `out` whose last element is a sum of weights, returns 1 / sum, or 0 if the sum is
   0. */
float rapt__chunk_inverse(const struct linear_problem *l, const float *out);

/* Computes to[r] = factor[r] x[r] for rows of ld floats. */
void rapt__rows_scale(const float *x, const float *factor, int rows, int ld, float *to);

/* Left and right operands of products: a[r][k] is at a.at[r*a.row + k*a.step], and b[k][n] at
   b.at[(n/16)*b.panel + k*b.step + n%16]. */
struct left {
    const float *at;
    ptrdiff_t row, step;
};
struct right {
    const float *at;
    ptrdiff_t panel, step;
};
static inline struct right rapt__plain(const float *x, int ld)
{
    return (struct right){x, LANES, ld};
}
/* Computes c = a b or, if `add` is true, c += a b. columns must be a multiple of 16. */
void rapt__multiply(const struct linear_problem *l, int rows, int columns, int depth, struct left a,
                    struct right b, float *c, int c_ld, bool add);
/* Computes the first rapt__chunk_columns(r) elements of each row r of c = x y', where x and y have
   `rows` rows of `depth` floats, and y' is in panels [depth][16]. */
void rapt__multiply_scores(const struct linear_problem *l, int rows, int depth, const float *x,
                           int x_ld, const float *panels, float *c);
/* For t [C][C], which is 0 above the diagonal, the first function computes c += t b, and the second
   computes c += t' b. */
void rapt__multiply_lower(const struct linear_problem *l, int rows, int columns, const float *t,
                          const float *b, int ld, float *c);
void rapt__multiply_upper(const struct linear_problem *l, int rows, int columns, const float *t,
                          const float *b, int ld, float *c);

/* ---- backward.c, step.c ---- */
/* Return the workspace size in bytes, or 0 if it overflows size_t. */
size_t rapt__linear_backward_workspace(const struct linear_problem *l, int team_size);
size_t rapt__linear_step_workspace(const struct linear_problem *l, int team_size);

#endif
