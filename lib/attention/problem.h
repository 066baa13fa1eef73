/* problem.h - functions that read a rapt_attention: checks, sequence lengths, row offsets, the
   visible keys of a query, and relative biases. Also divides work among the threads of a team.
   Shared by all of lib/attention. */
#ifndef RAPT_LIB_ATTENTION_PROBLEM_H
#define RAPT_LIB_ATTENTION_PROBLEM_H

#include "attention/attention.h"
#include "kernel/flash.h"
#include "kernel/kernel.h"

/* ---- problem.c ---- */
struct sequence { /* one sequence of the batch */
    int index;
    int query_first, queries; /* first row among the rows of all sequences, and number of rows */
    int key_first, keys;
    int existing;                     /* number of valid keys; the rest are padding */
    ptrdiff_t query_batch, key_batch; /* number of batch strides before row 0 */
    ptrdiff_t query_row, key_row;     /* number of additional row strides before row 0 */
};
struct sequence rapt__sequence(const rapt_attention *a, int index);
int rapt__key_heads_of(const rapt_attention *a);
int rapt__query_width(const rapt_attention *a);
int rapt__key_width(const rapt_attention *a);
int rapt__query_rows(const rapt_attention *a); /* total over all sequences */
int rapt__key_rows(const rapt_attention *a);

/* Returns true if scores or weights are mixed across heads. */
static inline bool rapt__talks(const rapt_attention *a)
{
    return a->talking_scores || a->talking_weights;
}

/* Return the offset of row t in head h of a sequence. */
static inline ptrdiff_t rapt__query_at(const rapt_stride *s, const struct sequence *b, int h, int t)
{
    return b->query_batch * s->batch + h * s->head + (b->query_row + t) * s->row;
}
static inline ptrdiff_t rapt__key_at(const rapt_stride *s, const struct sequence *b, int h, int t)
{
    return b->key_batch * s->batch + h * s->head + (b->key_row + t) * s->row;
}

/* ---- check.c ---- */
/* Returns RAPT_BAD_ARGUMENT, with a message that `field` has this value and must be `wanted`. */
rapt_status rapt__bad_field(rapt_message *why, const char *field, double value, const char *wanted);
/* Checks that offsets start at 0 and never decrease, and that no sequence is longer than `max`.
   starts may be NULL. */
rapt_status rapt__starts_check(const char *field, const int *starts, int batch, int max,
                               rapt_message *why);
/* Checks that the offsets of all elements of an array fit into ptrdiff_t. `element` is the size of
   an element in bytes. If sequences are stored back to back, batch is 1 and `rows` is the total
   number of rows. */
rapt_status rapt__extent_check(const char *array, const rapt_stride *s, int batch, int heads,
                               int rows, int width, size_t element, rapt_message *why);
/* Returns true if a stride between different rows is 0. Rows that share memory cannot have separate
   gradients. */
bool rapt__rows_repeat(const rapt_stride *s, int batch, int heads, int rows);

/* ---- problem.c: layouts ---- */
/* Returns the strides of an array laid out as [heads][rows][width] for each sequence. Negative
   numbers count as 0, and strides that overflow become PTRDIFF_MAX. */
rapt_stride rapt__stride_by_heads(int heads, int rows, int width);

/* ---- distances.c ---- */
rapt_status rapt__distances_check(const rapt_distances *d, rapt_message *why);

/* ---- bias.c ---- */
bool rapt__relative_wanted(const rapt_attention *a);             /* has slopes or a table */
int rapt__relative_bucket(const rapt_relative *r, int distance); /* distance is s - position */
/* Given dy, the gradient of the rows that rapt__relative_fill computes, adds to d->slopes and
   d->table if they are requested. */
void rapt__relative_backward(struct team *team, const rapt_attention *a, int row, int zero,
                             const float *dy, const rapt_gradients *d);

/* ---- mask.c ---- */
bool rapt__locality_windowed(const rapt_attention *a); /* true for local-m */
bool rapt__locality_sparse(const rapt_attention *a);   /* true for sparse */
/* Returns the position of query t among the keys. */
int64_t rapt__query_position(const rapt_attention *a, const struct sequence *b, int t);
/* Returns the position of query t if the last of `queries` queries is aligned with the last of
   `keys` keys. */
static inline int64_t rapt__lower_right(int t, int queries, int keys)
{
    return (int64_t)t + keys - queries;
}
/* Returns how many of the first `keys` keys a query at this position can see. With a causal mask,
   keys after the position are excluded. */
int rapt__causal_end(bool causal, int64_t position, int keys);
/* Narrows [*low, *high) to the keys s with |s - center| <= radius. A NaN center has no effect. */
void rapt__narrow(int *low, int *high, double center, double radius);
/* Restricts keys low .. high - 1 of *row to those that the locality makes visible to at least one
   query at a position from first to last, and sets row->sparse. Ignores local-p. `blocks` is the
   row of the block mask that these queries share, or NULL without a block mask. */
void rapt__apply_locality(const rapt_attention *a, int64_t first, int64_t last,
                          const uint8_t *blocks, struct attend_row *row);
/* Sets low, high, sparse, allowed and bias in *row for query t of head h. */
void rapt__mask_row(const rapt_attention *a, const struct sequence *b, int h, int t,
                    struct attend_row *row);
/* Returns true if at least one of queries [t, t + rows) of head h may see at least one of keys
   [key, key + keys). Ignores the boolean mask, the bias and local-p. */
bool rapt__rows_see(const rapt_attention *a, const struct sequence *b, int h, int t, int rows,
                    int key, int keys);

/* Returns the key of the random numbers for one head's dropout. Row t of these numbers belongs to
   query t of the sequence, and column s to key s. */
static inline uint64_t rapt__attention_drop_key(const rapt_attention *a, const struct sequence *b,
                                                int h)
{
    return rapt__mix(rapt__mix(a->seed, (uint64_t)b->index), (uint64_t)h);
}

/* Hands out runs of consecutive items to the threads of a team. At first, each thread gets one run,
   by rank. Whichever thread finishes its run gets the next one. Every thread calls rapt__mine once
   for each item, in order; the call returns true if the item belongs to the calling thread. */
struct tickets {
    struct team *team;
    int run, mine, item; /* items per run, this thread's run, and the next item */
};
static inline struct tickets rapt__tickets(struct team *team, int run)
{
    return (struct tickets){team, run, team->rank, 0};
}
static inline bool rapt__mine(struct tickets *t)
{
    int run = t->item++ / t->run;
    if (run > t->mine) t->mine = t->team->size + rapt__team_take(t->team);
    return run == t->mine;
}
/* Predicts the item that this thread takes next, assuming that all threads are equally fast. Must
   be called after rapt__mine has returned true. */
static inline int rapt__next_item(const struct tickets *t)
{
    return t->item % t->run ? t->item : t->item + (t->team->size - 1) * t->run;
}

/* Returns the length of a run of pairs, where a pair is a sequence and a head. With few sequences,
   a run is one pair. Otherwise it consists of whole sequences, because it is slower if different
   threads compute adjacent heads of a row. If there are enough sequences, there are at least 16
   runs for each thread. */
static inline int rapt__run_of_pairs(int sequences, int heads, int members)
{
    return sequences < 4 * members ? 1 : heads * rapt__max(1, sequences / (16 * members));
}

/* ---- bias.c: gradients of relative biases ---- */
/* Gradients of relative biases are first summed per head and sequence, since the rows of different
   queries overlap. `all` is [H][query rows + key rows]; each head and sequence uses b->queries +
   b->existing - 1 of these floats. Returns the sums of head h of a sequence, or NULL if `all` is
   NULL. */
float *rapt__relative_sums(const rapt_attention *a, float *all, const struct sequence *b, int h);
/* Returns the part of these sums for query t, in which element s is the sum for key s. Returns NULL
   if `all` is NULL. */
float *rapt__relative_sums_row(const rapt_attention *a, float *all, const struct sequence *b, int h,
                               int t);
/* Adds the sums of all sequences, in order, to `to`, which is laid out like the result of
   rapt__relative_fill. */
void rapt__relative_sums_add(struct team *team, const rapt_attention *a, float *all, int row,
                             int zero, float *to);

#endif
