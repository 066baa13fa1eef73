/* monotonic_attention.h - monotonic attention on plain arrays: expected outputs and their gradients
   for training, and outputs with hard stops, which inference uses.

   A head reads the keys from left to right and never goes back. For query t it starts at the key
   where query t - 1 stopped, or at key 0 for query 0. If it reaches key s, it stops there with
   probability

       p[t][s] = sigmoid(scale q[t].k[s] + offset + noise)

   The expected alignment alpha[t][s] is the probability that query t stops at key s:

       reach[t][s] = (1 - p[t][s-1]) reach[t][s-1] + alpha[t-1][s]
       alpha[t][s] = p[t][s] reach[t][s]

   where alpha[-1] is 1 for key 0 and 0 for all others, and the first term of reach[t][0] is 0. A
   query that stops at key s outputs v[s], or a mean of the values up to v[s], weighted by the
   softmax of the chunk energies u[t][l] = chunk_scale chunk_q[t].chunk_k[l]:

       mode        output if a query stops at key s         source
       hard        v[s]                                     Raffel et al. 2017 (arXiv 1704.00784)
       chunk       softmax over keys s - chunk + 1 to s     Chiu and Raffel 2018 (1712.05382), MoChA
       lookback    softmax over keys 0 to s                 Arivazhagan et al. 2019 (1906.05218)

   With several heads, hard and lookback are the variants of monotonic multihead attention in Ma et
   al. 2019 (1909.12406). forward computes the expected value of out, which is the sum over s of
   weights[t][s] v[s]. step adds no noise and uses hard stops: a head stops at the first key with
   p >= 0.5, and reads no key after it.

   If a query does not stop at any key, its output is 0, and so are the alignments and outputs of
   all later queries of the head, as in Raffel et al. The sum of alpha[t] may therefore be less than
   1. With last_stops, a head that reaches the last valid key (see key_counts) always stops there.

   Alignments and weights below 2^-100 may become 0. If an element is infinite or NaN, the results
   of its sequence and key head may be meaningless; other results are not affected.

   The functions are thread-safe and allocate nothing, like those of attention.h. Results are
   bit-identical for any number of threads and on every instruction set with fused multiply-add, and
   the results for a sequence do not depend on the other sequences in the batch. */
#ifndef RAPT_MONOTONIC_ATTENTION_H
#define RAPT_MONOTONIC_ATTENTION_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The mode, which determines the output of a query that stops at key s. */
typedef enum rapt_monotonic {
    RAPT_MONOTONIC_HARD,     /* the value of key s */
    RAPT_MONOTONIC_CHUNK,    /* a softmax-weighted mean of the last `chunk` values up to s */
    RAPT_MONOTONIC_LOOKBACK, /* a softmax-weighted mean of all values up to s */
    RAPT_MONOTONIC_COUNT
} rapt_monotonic;
/* Returns the name of a mode, such as "lookback", or NULL for an unknown value. The string is
   static. */
RAPT_API const char *rapt_monotonic_name(rapt_monotonic mode);

/* A monotonic attention problem. rapt_monotonic_attention_init fills it in; all other functions
   only read it. Fields that init does not set default to 0. The numbers of sequences, heads and
   rows have the same limits as in rapt_attention. */
typedef struct rapt_monotonic_attention { /* size-first, see base.h */
    size_t size;
    int batch;               /* number of sequences, 0 or more */
    int heads;               /* number of query heads, 1 or more */
    int key_heads;           /* number of heads of k, v and chunk_k; must divide heads. Query head h
                                reads key head h / (heads / key_heads). 0 means
                                `heads` */
    int queries;             /* rows of q per sequence; with query_starts, the maximum for any
                                sequence */
    int keys;                /* rows of k and v per sequence; with key_starts, the maximum for any
                                sequence */
    int key_width;           /* floats per row of q, k, chunk_q and chunk_k, 1 to 65536 */
    int value_width;         /* floats per row of v and out, 1 to 65536 */
    rapt_monotonic mode;     /* default: hard */
    rapt_stride q;           /* layout of q. With query_starts, the batch strides of q, chunk_q, out
                                and weights are ignored; with key_starts, those of k, v and
                                chunk_k */
    rapt_stride k;           /* layout of k */
    rapt_stride v;           /* layout of v */
    rapt_stride chunk_q;     /* layout of chunk_q, the queries for chunk energies */
    rapt_stride chunk_k;     /* layout of chunk_k, the keys for chunk energies */
    rapt_stride out;         /* layout of out */
    rapt_stride weights;     /* layout of alpha and weights, whose rows have one float per key of
                                their sequence */
    const int *query_starts; /* offsets [batch + 1], nondecreasing from 0, for a ragged batch, in
                                which the rows of q of all sequences are stored back to back; NULL
                                if every sequence has `queries` rows */
    const int *key_starts;   /* the same for k, v and chunk_k; NULL if every sequence has `keys`
                                rows */
    const int *key_counts;   /* [batch] number of valid keys in each sequence; the keys after them
                                are padding and are ignored. NULL if all keys are valid */
    const float *offset;     /* [heads] the offset in p, usually learned; NULL means 0. The papers
                                initialize it to between -4 and -1 */
    float scale;             /* factor applied to q.k, finite; 0 means 1 / sqrt(key_width) */
    float chunk_scale;       /* factor applied to chunk_q.chunk_k, finite; 0 means 1 /
                                sqrt(key_width) */
    int chunk;               /* number of keys in a chunk, 1 or more; only chunk mode reads it */
    int last_stops;          /* if nonzero, a head that reaches the last valid key stops there (mass
                                preservation in fairseq). Set it to 0 while keys are still
                                arriving */
    float noise;   /* standard deviation of the noise in forward and backward, 0 or more; the
                      papers use 1. The noise teaches a model to make p nearly 0 or 1. Each element
                      is a sum of 12 uniform random numbers, so its distribution is nearly
                      normal */
    int threads;   /* maximum number of threads, see base.h */
    uint64_t seed; /* seed for the noise. Each element depends on the seed and on the indices of
                      its sequence, head, query and key. forward and backward need the same seed */
} rapt_monotonic_attention;

/* Fills in *a for arrays [batch][heads][rows][width] and weights [batch][heads][queries][keys].
   size is sizeof *a. Any field may be changed afterwards, together with the strides that depend on
   it. Returns RAPT_BAD_ARGUMENT only if a is NULL, or if size is less than sizeof(size_t) or more
   than 65536. It does not check the other arguments; rapt_monotonic_attention_check and the
   functions that compute attention do. */
RAPT_API rapt_status rapt_monotonic_attention_init(rapt_monotonic_attention *a, size_t size,
                                                   int batch, int heads, int queries, int keys,
                                                   int width);

/* Checks whether a problem is valid. Returns RAPT_BAD_ARGUMENT if it is not; *why names the
   offending field. */
RAPT_API rapt_status rapt_monotonic_attention_check(const rapt_monotonic_attention *a,
                                                    rapt_message *why);

/* Returns the number of bytes of workspace that the functions below need for this problem and its
   number of threads, or 0 if the problem is invalid. The workspace must be aligned to 64 bytes. If
   `backward` is 0, it suffices for forward and step, and its size is linear in `keys`. Otherwise it
   also suffices for backward, and includes queries x keys floats for each thread. If threads is 0,
   OpenMP's number of threads must not grow before the workspace is used. */
RAPT_API size_t rapt_monotonic_attention_workspace(const rapt_monotonic_attention *a, int backward);

/* Results of rapt_monotonic_attention_forward in addition to out. Each array may be NULL. */
typedef struct rapt_monotonic_attention_outputs { /* size-first, see base.h */
    size_t size;
    float *alpha;   /* expected alignments, in the layout given by the problem's `weights`; 0 for
                       padding keys */
    float *weights; /* weights of the values, in the same layout; equal to alpha in hard mode */
    float *delays;  /* [heads][query rows of all sequences] sum over s of (s + 1) alpha[t][s], the
                       expected number of keys that a query has read; a query that does not stop
                       counts as 0. Latency metrics are functions of the delays */
} rapt_monotonic_attention_outputs;

/* Computes the expected value of out [batch][heads][queries][value_width] from q and chunk_q
   [batch][heads][queries][key_width], k and chunk_k [batch][key_heads][keys][key_width], and v
   [batch][key_heads][keys][value_width], with the strides in `a`. chunk_q and chunk_k may be the
   same as q and k; hard mode ignores them. The results must not overlap the inputs. outputs may be
   NULL.

   Returns RAPT_BAD_ARGUMENT if rapt_monotonic_attention_check rejects the problem, a required array
   is NULL, rows of alpha or weights would share memory because a stride is 0, or workspace is NULL
   or misaligned. Arrays without rows may be NULL. */
RAPT_API rapt_status rapt_monotonic_attention_forward(
    const rapt_monotonic_attention *a, const float *q, const float *k, const float *v,
    const float *chunk_q, const float *chunk_k, float *out,
    const rapt_monotonic_attention_outputs *outputs, void *workspace, rapt_message *why);

/* The arrays to which rapt_monotonic_attention_backward adds gradients. Each has the layout of the
   array it belongs to, or is NULL if that gradient is not needed. In hard mode, nothing is added to
   chunk_q and chunk_k. */
typedef struct rapt_monotonic_attention_gradients { /* size-first, see base.h */
    size_t size;
    float *q;       /* gradient of q */
    float *k;       /* gradient of k */
    float *v;       /* gradient of v */
    float *chunk_q; /* gradient of chunk_q */
    float *chunk_k; /* gradient of chunk_k */
    float *offset;  /* gradient of offset, [heads]; may be requested even if offset is NULL */
} rapt_monotonic_attention_gradients;

/* Adds gradients to the arrays in d. The inputs are those of rapt_monotonic_attention_forward,
   whose results are recomputed. dout is the gradient of out and has its layout. dalpha and ddelays
   are the gradients of alpha and delays and have their layouts, for losses that depend on
   alignments or latency; NULL means 0.

   Errors are the same as for rapt_monotonic_attention_forward, except those about `outputs`. Also
   returns RAPT_BAD_ARGUMENT if d is NULL, or if a gradient is requested for an array whose rows
   share memory because a stride is 0. */
RAPT_API rapt_status rapt_monotonic_attention_backward(const rapt_monotonic_attention *a,
                                                       const float *q, const float *k,
                                                       const float *v, const float *chunk_q,
                                                       const float *chunk_k, const float *dout,
                                                       const float *dalpha, const float *ddelays,
                                                       const rapt_monotonic_attention_gradients *d,
                                                       void *workspace, rapt_message *why);

/* Computes out for the next queries, usually one, with hard stops and without noise. positions
   [batch][heads] holds the key at which each head continues, initially 0. The call sets it to the
   key where the last query stopped, or to the number of valid keys if that query did not stop.
   While the keys of a stream are still arriving, a query that did not stop can be repeated once
   there are more keys; it continues after the keys that it has read. The results of one call with n
   queries are bit-identical to those of n calls with one query. In hard mode, the output of a query
   that stops is an exact copy of a value.

   Errors are the same as for rapt_monotonic_attention_forward, except those about `outputs`. Also
   returns RAPT_BAD_ARGUMENT if a position is negative or greater than the number of valid keys. */
RAPT_API rapt_status rapt_monotonic_attention_step(const rapt_monotonic_attention *a,
                                                   const float *q, const float *k, const float *v,
                                                   const float *chunk_q, const float *chunk_k,
                                                   int *positions, float *out, void *workspace,
                                                   rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
