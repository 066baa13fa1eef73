/* attention.h - attention on plain arrays, forward and backward.

       out[t] = sum over s of w[t][s] v[s],    w[t] = normalizer of score(q[t], k[s]) + bias[t][s]
                                                      over the visible keys s of query t

   for every sequence and head. Three choices combine freely: the score, the locality (which keys a
   query sees) and the normalizer (how scores become weights). No queries x keys matrix is stored,
   except in the backward pass of location-aware and coverage scores.

   In every boolean mask, nonzero means attend. A query without a visible key is fully masked: its
   output and weights are 0, its log-sum-exp is -infinity, and no gradient flows through it. A key
   can be hidden by a causal mask, a window, the locality, key counts, a boolean mask or a bias of
   -infinity. The elements of a hidden key and of its value never affect a result, so they may be
   NaN. There are two exceptions. First, sums over log_forget include the elements of hidden keys.
   Second, talking heads mix the scores and weights of all heads, so a key counts as hidden only if
   every head hides it, and a query counts as fully masked only if it is fully masked in every head.

   Scores are computed in float, so a scaled dot product above 3.4e38 in magnitude may become
   infinite. Without a cap, a score of +infinity may make all results for its query NaN, and a score
   of -infinity hides the key. To rule this out, keep |scale| |q| |k| below 3.4e38; the unscaled dot
   product may exceed that.

   All functions are thread-safe: they write only to the workspace and to the memory that the caller
   passes for results. Concurrent calls need separate memory for both. No function allocates memory.
   If a required array or struct is NULL, functions that return a status return RAPT_BAD_ARGUMENT,
   and those that take `why` name the array or struct in *why. why may be NULL. */
#ifndef RAPT_ATTENTION_H
#define RAPT_ATTENTION_H

#include "base.h"
#include "distances.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Score functions of a query q and a key k, which has K floats. W, U, b, v, beta, P, F, L and w are
   learned arrays (rapt_attention_parameter); here, v and w are not the values and weights above. */
typedef enum rapt_score {
    RAPT_SCORE_SCALED_DOT, /* q.k / sqrt(K)                  Vaswani et al. 2017, section 3.2.1 */
    RAPT_SCORE_DOT,        /* q.k                            Luong et al. 2015, section 3.1 */
    RAPT_SCORE_GENERAL,    /* W q . k   (multiplicative)     Luong et al. 2015, section 3.1 */
    RAPT_SCORE_COSINE,     /* beta q.k / (|q| |k|)           Graves et al. 2014, section 3.3.1 */
    RAPT_SCORE_LOCATION,   /* P[s].q    (k is ignored)       Luong et al. 2015, section 3.1 */
    RAPT_SCORE_ADDITIVE,   /* v . tanh(W q + U k + b)        Bahdanau et al. 2015, appendix A.1.2 */
    RAPT_SCORE_LOCATION_AWARE, /* v . tanh(W q + U k + L f + b), where f is the convolution of the
                                  filters F with the weights of the previous query. Chorowski et al.
                                  2015, section 2.2 */
    RAPT_SCORE_COVERAGE, /* v . tanh(W q + U k + w c + b), where c is the sum of the key's weights
                            over all previous queries. Tu et al. 2016, section 3; See et al. 2017,
                            section 2.3 */
    RAPT_SCORE_COUNT
} rapt_score;
/* Returns the name of a score, such as "scaled-dot", or NULL for an unknown value. The string is
   static. */
RAPT_API const char *rapt_score_name(rapt_score score);

/* Which keys a query can see. Masks can hide some of them. Positions and keys are numbered from
   0. */
typedef enum rapt_locality {
    RAPT_LOCALITY_GLOBAL,  /* all keys */
    RAPT_LOCALITY_LOCAL_M, /* keys within `radius` of the query's own position, which is defined by
                              mask.causal_alignment */
    RAPT_LOCALITY_LOCAL_P, /* keys s within `radius` of the center c = n sigmoid(z . tanh(C q)),
                              where z and C are learned. n is the number of valid keys in the
                              sequence (with mask.causal, only those up to the query's position).
                              The weights are multiplied by exp(-(s - c)^2 / (2 (radius/2)^2)) and
                              not renormalized. Luong et al. 2015, section 3.2 */
    RAPT_LOCALITY_SPARSE,  /* keys within `radius` of the query's own position if radius is above 0,
                              and those that rapt_sparse adds: global positions and blocks
                              (Longformer: Beltagy, Peters and Cohan 2020; BigBird: Zaheer et al.
                              2020) */
    RAPT_LOCALITY_COUNT
} rapt_locality;
/* Returns the name of a locality, such as "local-p", or NULL for an unknown value. The string is
   static. */
RAPT_API const char *rapt_locality_name(rapt_locality locality);

/* Normalizers, which turn scores x into weights. p is softmax(x). ARGMAX, SAMPLE and
   STRAIGHT_THROUGH are called hard, because they give all the weight to one key; the others are
   called soft. Ties go to the key with the lowest index. Weights below 2^-100 may become 0. */
typedef enum rapt_normalizer {
    RAPT_NORMALIZER_SOFTMAX, /* p */
    RAPT_NORMALIZER_ARGMAX,  /* 1 for the largest x, 0 for the rest; no gradient reaches the
                                scores */
    RAPT_NORMALIZER_SAMPLE,  /* 1 for one key drawn from p, else 0. The scores receive the REINFORCE
                                gradient (Williams 1992): (baseline - reward) d log p[chosen] */
    RAPT_NORMALIZER_STRAIGHT_THROUGH, /* forward like ARGMAX, backward like SOFTMAX (Bengio, Leonard
                                         and Courville 2013) */
    RAPT_NORMALIZER_GUMBEL_SOFTMAX,   /* softmax((x + g) / temperature), where g is Gumbel noise
                                         (Jang, Gu and Poole 2017) */
    RAPT_NORMALIZER_SINK_SOFTMAX,     /* exp x[s] / (exp b + sum over keys of exp x). The sink b is
                                         learned and acts as the score of one more key whose value
                                         is 0, so the weights of a query sum to less than 1 (Xiao et
                                         al. 2023; gpt-oss) */
    RAPT_NORMALIZER_SIGMOID,    /* 1 / (1 + exp -(x + b)), where the bias b is learned. The weights
                                   of a query need not sum to 1 (Ramapuram et al. 2024) */
    RAPT_NORMALIZER_SPARSEMAX,  /* the nonnegative weights with sum 1 that are nearest to x in
                                   Euclidean distance. Keys far below the largest x get exactly 0
                                   (Martins and Astudillo 2016) */
    RAPT_NORMALIZER_ENTMAX_1_5, /* max(0, x/2 - tau)^2, with tau such that the weights sum to 1.
                                   This normalizer lies between softmax and sparsemax (Peters,
                                   Niculae and Martins 2019) */
    RAPT_NORMALIZER_ENTMAX,     /* max(0, (alpha - 1) x - tau)^(1 / (alpha - 1)), with tau such that
                                   the weights sum to 1. alpha = 1 + sigmoid(a), where a is learned;
                                   alpha 1 is softmax, and 2 is sparsemax (Correia, Niculae and
                                   Martins 2019) */
    RAPT_NORMALIZER_COUNT
} rapt_normalizer;
/* Returns the name of a normalizer, such as "straight-through", or NULL for an unknown value. The
   string is static. */
RAPT_API const char *rapt_normalizer_name(rapt_normalizer normalizer);

/* The layout of an array: row r of sequence b and head h starts at data + b*batch + h*head + r*row,
   and the elements of a row are contiguous. Strides are in floats, except those of
   rapt_mask.allowed and rapt_sparse.blocks, which are in bytes. A stride of 0 repeats the same
   rows. The rows of out must not repeat or overlap. If the gradient of q, k, v or log_forget is
   requested, the rows of that array must not repeat, because the gradient has the same layout. */
typedef struct rapt_stride {
    ptrdiff_t batch; /* from one sequence to the next */
    ptrdiff_t head;  /* from one head to the next */
    ptrdiff_t row;   /* from one row to the next */
} rapt_stride;

/* The positions of queries among the keys. They are required by causal masks, windows, local-m,
   sparse attention with a radius or global positions, slopes, tables, rotary embeddings, forget
   gates and distance vectors. The caller has to choose, because the two alignments differ whenever
   the numbers of queries and keys differ, as they do in decoding with a cache. */
typedef enum rapt_causal_alignment {
    RAPT_CAUSAL_ALIGNMENT_NONE,       /* queries have no positions */
    RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, /* query t has position t */
    RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT /* the last query of a sequence has the position of the last
                                         valid key (see mask.key_counts), as in decoding with a
                                         cache: with m queries and n valid keys, query t has
                                         position t + n - m */
} rapt_causal_alignment;

/* Masks and biases. If all fields are 0, no key is hidden and nothing is added to the scores.
   `allowed` and `bias` have a row for each query in each sequence and query head; row t belongs to
   query t of the sequence. Their batch strides, unlike that of q, are used even if query_starts is
   given. */
typedef struct rapt_mask {
    rapt_causal_alignment causal_alignment; /* defines the positions of the queries */
    int causal; /* if nonzero, keys after the query's position are hidden */
    int window; /* if nonzero, only keys from position - before to position + after are visible */
    int before; /* how far the window reaches before the position, 0 or more; ignored if window is
                   0 */
    int after;  /* how far the window reaches after the position, 0 or more; ignored if window is
                   0 */
    const int *key_counts;      /* [batch] number of valid keys in each sequence; the keys after
                                   them are padding. NULL if all keys are valid */
    const uint8_t *allowed;     /* boolean mask: row t has one byte per key, and 0 hides the key;
                                   NULL for no mask */
    rapt_stride allowed_stride; /* strides of allowed, in bytes */
    const float *bias;       /* row t has one float per key, which is added to the scaled and capped
                                score; -infinity hides the key; NULL for no bias */
    rapt_stride bias_stride; /* strides of bias and of its gradient */
    uint64_t reserved[4];    /* must be 0 */
} rapt_mask;

/* The learned arrays of scores, localities and normalizers, all contiguous and row-major. Each
   comment begins with the array's letter in the formulas. In the shapes, H and G are the numbers of
   query heads and key heads, and Q and K are the numbers of floats per row of q and k. M is K for
   general scores and `hidden` for scores with a tanh (additive, location-aware and coverage). The
   other names are fields of rapt_attention_parameters. */
typedef enum rapt_attention_parameter {
    RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT,        /* W [H][M][Q]: general, and scores with a tanh */
    RAPT_ATTENTION_PARAMETER_KEY_WEIGHT,          /* U [G][hidden][K]: scores with a tanh */
    RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS,         /* b [H][hidden]: scores with a tanh; NULL means
                                                     0 */
    RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR,       /* v [H][hidden]: scores with a tanh */
    RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE, /* beta [H]: cosine; NULL means 1 */
    RAPT_ATTENTION_PARAMETER_POSITION,            /* P [G][positions][Q]: location */
    RAPT_ATTENTION_PARAMETER_FILTERS,         /* F [H][channels][filter_width]: location-aware */
    RAPT_ATTENTION_PARAMETER_FEATURE_WEIGHT,  /* L [H][hidden][channels]: location-aware */
    RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT,   /* C [H][center_hidden][Q]: local-p */
    RAPT_ATTENTION_PARAMETER_CENTER_VECTOR,   /* z [H][center_hidden]: local-p */
    RAPT_ATTENTION_PARAMETER_SINK,            /* b [H]: sink-softmax; NULL means 0 */
    RAPT_ATTENTION_PARAMETER_SIGMOID_BIAS,    /* b [H]: sigmoid; NULL means 0. Ramapuram et al.
                                                 initialize it to -log of the number of keys */
    RAPT_ATTENTION_PARAMETER_ENTMAX_ALPHA,    /* a [H]: entmax; NULL means 0, which is alpha 1.5 */
    RAPT_ATTENTION_PARAMETER_COVERAGE_WEIGHT, /* w [H][hidden]: coverage */
    RAPT_ATTENTION_PARAMETER_COUNT
} rapt_attention_parameter;
/* Length of arrays indexed by rapt_attention_parameter. Elements from
   RAPT_ATTENTION_PARAMETER_COUNT on must be NULL; later versions may use them. */
enum { RAPT_ATTENTION_PARAMETER_CAPACITY = 32 };
/* Returns the name of an array, such as "query_weight", or NULL for an unknown value. The string is
   static. */
RAPT_API const char *rapt_attention_parameter_name(rapt_attention_parameter array);

/* The learned parameters of the score, the locality and the normalizer. Arrays and sizes not used
   by any of the three are ignored. The sizes that are used, except `positions`, must be 1 to
   65536. */
typedef struct rapt_attention_parameters {
    int hidden;        /* scores with a tanh: number of hidden units */
    int positions;     /* location: rows of P per key head, at least `keys` */
    int channels;      /* location-aware: number of filters */
    int filter_width;  /* location-aware: width of each filter, odd: f[s][i] = sum over j of F[i][j]
                          y[s + j - (filter_width - 1)/2], where y[s] is the previous query's weight
                          for key s, or 0 for s outside the sequence */
    int center_hidden; /* local-p: number of hidden units of the network that predicts the
                          centers */
    const float *array[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* indexed by rapt_attention_parameter */
    uint64_t reserved[4];                                  /* must be 0 */
} rapt_attention_parameters;

/* The keys that RAPT_LOCALITY_SPARSE makes visible in addition to those within the radius. If all
   fields are 0, no keys are added. Other localities ignore this struct. With SOFTMAX, SINK_SOFTMAX
   or SIGMOID, a score without a tanh, and no talking heads, attention is computed in tiles of at
   most 56 queries by 128 keys, and the time is proportional to the number of tiles in which any
   query has a visible key. */
typedef struct rapt_sparse {
    const int *globals; /* [global_count] global positions, nonnegative and strictly increasing: a
                           query at a global position sees all keys, and all queries see the keys at
                           global positions. NULL means positions 0 to global_count - 1 */
    int global_count;   /* number of global positions, which require mask.causal_alignment */
    int block_queries;  /* queries per block, 1 or more; ignored if blocks is NULL */
    int block_keys;     /* keys per block, 1 or more; ignored if blocks is NULL */
    const uint8_t *blocks;    /* row t / block_queries has one byte for every block_keys keys;
                                 nonzero means that query t sees them; NULL for no blocks */
    rapt_stride block_stride; /* strides of `blocks`, in bytes; `batch` and `head` are as in
                                 rapt_mask, and `row` is the distance between rows of `blocks` */
    uint64_t reserved[4];     /* must be 0 */
} rapt_sparse;

/* An attention problem. rapt_attention_init and its variants fill it in; all other functions only
   read it. Fields that do not depend on the arguments of init are set to 0. The total number of
   keys in all sequences must be at most 2147483519, and so must the total number of queries in all
   sequences and heads. batch * heads must be at most 2147483647, and so must queries + keys if
   there are slopes or a table. Problems are also rejected if an offset or the size of the workspace
   would overflow. */
typedef struct rapt_attention { /* size-first, see base.h */
    size_t size;
    int batch;       /* number of sequences, 0 or more */
    int heads;       /* number of query heads, 1 or more */
    int key_heads;   /* number of heads of k and v; must divide heads. Query head h reads key head
                        h / (heads / key_heads). 0 means the same number as heads */
    int queries;     /* rows of q in each sequence or, with query_starts, the maximum per
                        sequence */
    int keys;        /* rows of k and v in each sequence or, with key_starts, the maximum per
                        sequence */
    int key_width;   /* floats per row of k, 1 to 65536 */
    int value_width; /* floats per row of v and out, 1 to 65536 */
    int query_width; /* floats per row of q, at most 65536; 0 means key_width. Only general scores,
                        location scores and scores with a tanh allow it to differ from key_width */
    rapt_stride q;   /* layout of q. The batch strides of q and out are ignored with query_starts,
                        and those of k, v and log_forget with key_starts */
    rapt_stride k;   /* layout of k */
    rapt_stride v;   /* layout of v */
    rapt_stride out; /* layout of out */
    const int *query_starts; /* [batch + 1] offsets of the sequences in q, starting at 0 and
                                nondecreasing, for a ragged batch: the rows of all sequences are
                                stored back to back. NULL if every sequence has `queries` rows */
    const int *key_starts;   /* the same for k, v and log_forget; NULL if every sequence has `keys`
                                rows */
    rapt_score score;        /* default: scaled dot product */
    float scale;  /* factor applied to scores without a tanh, except cosine; its magnitude must be
                     at most 2.35e38. 0 means 1 / sqrt(K) for scaled dot products, and 1 for other
                     scores */
    float cap;    /* if above 0, the scaled score x becomes cap tanh(x / cap) before any bias is
                     added; 0 means no cap */
    float radius; /* radius of the locality: above 0 for local-m and local-p, 0 or more for
                     sparse */
    rapt_locality locality;     /* default: global */
    rapt_normalizer normalizer; /* default: softmax */
    float temperature; /* temperature of GUMBEL_SOFTMAX, 0 or more; 0 means 1. If scores divided by
                          the temperature become infinite, the largest gets all the weight */
    int noiseless;     /* for inference: if nonzero, GUMBEL_SOFTMAX adds no noise and SAMPLE chooses
                          the key with the largest x */
    float dropout;     /* probability that a weight is set to 0, at least 0 and below 1; the other
                          weights are divided by 1 - dropout. Must be 0 for hard normalizers */
    int threads;       /* maximum number of threads, see base.h */
    uint64_t seed;     /* seed for dropout and for the noise of SAMPLE and GUMBEL_SOFTMAX.
                          rapt_attention_backward and rapt_attention_weights need the seed that
                          rapt_attention_forward used. The same seed gives the same results for any
                          number of threads */
    rapt_mask mask;    /* which keys are visible, and biases */
    rapt_relative relative;               /* effects of the distance between query and key */
    rapt_attention_parameters parameters; /* learned parameters of score, locality and
                                             normalizer */
    const float *previous_weights; /* [batch][heads][keys]. location-aware: the weights of the query
                                      that precedes the first one. coverage: the coverage before the
                                      first query. Only elements of valid keys are read. NULL means
                                      0. Other scores ignore the array. Its gradient is not
                                      computed */
    /* [batch], for SAMPLE. If an element is nonzero, its sequence is computed with SOFTMAX instead:
       the weights are p, the expected value of a draw (Xu et al. 2015, section 4.1), and chosen is
       set to -1. NULL means all 0. */
    const uint8_t *expected;
    /* Forgetting attention (Lin et al. 2025): the sum of log_forget over the keys after s, up to
       the query's position, is added to the score of key s. log_forget has one element for each
       sequence, query head and key, including hidden keys; elements of padding keys are ignored.
       Each is the logarithm of a gate between 0 and 1 and must be finite. Requires mask.causal. The
       error of a sum is about 2^-24 of its magnitude, plus 2^-48 of the magnitude of the sum over
       all keys up to the query. NULL means no gates */
    const float *log_forget;
    rapt_stride log_forget_stride; /* strides of log_forget and of its gradient. There is one row of
                                      one element for each row of k; heads are query heads */
    rapt_sparse sparse;            /* global positions and blocks of sparse attention */
    rapt_distances distances;      /* distance vectors */
    /* Talking heads (Shazeer et al. 2020), for at most 65536 heads. Not supported with
       location-aware scores, coverage scores or distance vectors */
    const float *talking_scores;  /* [heads][heads]: before biases and masks, the score of head h is
                                     the sum over g of talking_scores[h][g] times the capped score
                                     of head g; NULL means the identity */
    const float *talking_weights; /* [heads][heads]: before dropout, the weight of head h is the sum
                                     over g of talking_weights[h][g] times the weight of head g;
                                     NULL means the identity */
} rapt_attention;

/* Fills in *a for attention with scaled dot products and softmax, without a mask, on arrays
   [batch][heads][rows][width]. The next three functions do the same for other layouts. size is
   sizeof *a. Any field may be changed afterwards, together with the strides that depend on it. The
   strides of q depend on query_width (or key_width, if query_width is 0), those of k on key_width
   and key_heads, those of v on value_width and key_heads, and those of out on value_width. If only
   key_heads changes, set the batch stride of k and v to key_heads * keys * width after init. After
   init_rows and init_ragged, set their row stride to key_heads * width; after init_rows, also set
   their batch stride to keys * key_heads * width.

   All four functions return RAPT_BAD_ARGUMENT only if a or query_starts is NULL, or if size is less
   than sizeof(size_t) or more than 65536. They do not check the other arguments;
   rapt_attention_check and the functions that compute attention do.

   The table shows the offsets of the rows, in units of `width` floats, for 2 sequences of 2 heads
   (h) and 3 rows (r):

                 sequence 0    sequence 1      strides of
                 r0  r1  r2    r0  r1  r2      batch             head          row
     init                [batch][heads][rows][width]
       h0         0   1   2     6   7   8      heads rows width  rows width    width
       h1         3   4   5     9  10  11
     init_rows           [batch][rows][heads][width]
       h0         0   2   4     6   8  10      rows heads width  width         heads width
       h1         1   3   5     7   9  11
     init_packed         [batch][rows][query heads, key heads, value heads][width]
       q, h0      0   6  12    18  24  30      q, k, v:          width         row = (heads +
       q, h1      1   7  13    19  25  31        rows * row                      2 key_heads) width
       k, h0      2   8  14    20  26  32
       k, h1      3   9  15    21  27  33      out: as init_rows
       v, h0      4  10  16    22  28  34
       v, h1      5  11  17    23  29  35
     init_ragged         [rows of all sequences][heads][width], here with 3 rows and 1 row
       h0         0   2   4     6              ignored           width         heads width
       h1         1   3   5     7 */
RAPT_API rapt_status rapt_attention_init(rapt_attention *a, size_t size, int batch, int heads,
                                         int queries, int keys, int width);
/* Fills in *a as rapt_attention_init does, for arrays [batch][rows][heads][width], in which the
   heads of a row are contiguous. Errors are the same as for rapt_attention_init. */
RAPT_API rapt_status rapt_attention_init_rows(rapt_attention *a, size_t size, int batch, int heads,
                                              int queries, int keys, int width);
/* Fills in *a for self-attention on the output x of a single projection: pass x as q, x + heads *
   width as k, and x + (heads + key_heads) * width as v. Gradients have the same layout. A key_heads
   of 0 means the same number as heads. Errors are the same as for rapt_attention_init. */
RAPT_API rapt_status rapt_attention_init_packed(rapt_attention *a, size_t size, int batch,
                                                int heads, int key_heads, int rows, int width);
/* Fills in *a for a ragged batch. query_starts and key_starts have batch + 1 elements and are not
   copied. If key_starts is NULL, as for self-attention, query_starts is used. Errors are the same
   as for rapt_attention_init. */
RAPT_API rapt_status rapt_attention_init_ragged(rapt_attention *a, size_t size, int batch,
                                                int heads, const int *query_starts,
                                                const int *key_starts, int width);

/* The shapes of the learned arrays of a problem, and their offsets within one block of floats,
   which may hold parameters, gradients or moments. This example allocates parameters and gradients:

       rapt_attention_parameters_layout l = {.size = sizeof l};
       rapt_attention_parameters_lay_out(&a, &l, &why);
       float *x = calloc(l.floats, sizeof *x), *dx = calloc(l.floats, sizeof *dx);
       rapt_gradients d = {.size = sizeof d};
       for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++)
           if (l.rows[i]) {
               a.parameters.array[i] = x + l.offset[i];
               d.parameters[i] = dx + l.offset[i];
           } */
typedef struct rapt_attention_parameters_layout { /* size-first, see base.h */
    size_t size;
    size_t floats;                                    /* size of the block, a multiple of 16 */
    size_t offset[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* offset of each array in the block, in
                                                         floats, a multiple of 16 */
    int rows[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* product of all dimensions but the last of each
                                                    array, or 0 if the problem ignores the array */
    int columns[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* last dimension, or 0 */
} rapt_attention_parameters_layout;
/* Fills in *layout, whose size must be set. The arrays in a->parameters may still be NULL. Returns
   RAPT_BAD_ARGUMENT if the block would be too large, or if rapt_attention_check would reject the
   problem's shapes, score, locality or normalizer, or the sizes in a->parameters; *why names the
   field. */
RAPT_API rapt_status rapt_attention_parameters_lay_out(const rapt_attention *a,
                                                       rapt_attention_parameters_layout *layout,
                                                       rapt_message *why);

/* Checks whether a problem is valid. Returns RAPT_BAD_ARGUMENT if it is not; *why names the
   offending field. */
RAPT_API rapt_status rapt_attention_check(const rapt_attention *a, rapt_message *why);

/* Returns the number of bytes of workspace that the functions below need for this problem and its
   number of threads, or 0 if the problem is invalid. The workspace must be aligned to 64 bytes. Its
   size is linear in queries + keys, except that location-aware and coverage scores need queries x
   keys floats for each thread. If threads is 0, the size depends on OpenMP's number of threads,
   which must not increase before the workspace is used. */
RAPT_API size_t rapt_attention_workspace(const rapt_attention *a);

/* Results of rapt_attention_forward in addition to out, for rapt_attention_backward and
   rapt_attention_weights. lse and chosen are [heads][query rows of all sequences, back to back];
   statistics has two floats for each of these elements. Both functions require lse or statistics,
   although they never read the elements of lse. If statistics is NULL, they recompute the
   statistics from q and k; their results are bit-identical in both cases. */
typedef struct rapt_attention_saved { /* size-first, see base.h */
    size_t size;
    float *lse;  /* log of the softmax denominator, including the sink if there is one; 0 for
                    sigmoid, sparsemax, entmax-1.5 and entmax. -infinity if the query is fully
                    masked in the head. May be NULL */
    int *chosen; /* hard normalizers: the key that each query chose, as an index in the sequence, or
                    -1 if the query is fully masked or `expected` is set for the sequence. Soft
                    normalizers ignore this array, which may then be NULL */
    /* Numbers from which the weights are recomputed. Their meaning is internal, and forward leaves
       them unset if the problem does not need them. May be NULL. */
    float *statistics;
} rapt_attention_saved;

/* Computes out [batch][heads][queries][value_width] from q [batch][heads][queries][query_width], k
   [batch][key_heads][keys][key_width] and v [batch][key_heads][keys][value_width], with the strides
   in `a`, and fills in the arrays in saved. Results must not overlap the inputs. saved may be NULL
   unless the normalizer is hard. Arrays without rows may be NULL; with the location score, k may
   always be NULL.

   Returns RAPT_BAD_ARGUMENT if rapt_attention_check rejects the problem, a required array or struct
   is NULL, or workspace is NULL or misaligned. */
RAPT_API rapt_status rapt_attention_forward(const rapt_attention *a, const float *q, const float *k,
                                            const float *v, float *out,
                                            const rapt_attention_saved *saved, void *workspace,
                                            rapt_message *why);

/* Rewards for sampled keys, [heads][query rows of all sequences] as in rapt_attention_saved.
   rapt_attention_backward adds the gradient of the negative expected reward, as estimated by
   REINFORCE. */
typedef struct rapt_reinforce { /* size-first, see base.h */
    size_t size;
    const float *reward;   /* required for SAMPLE */
    const float *baseline; /* subtracted from reward; NULL means 0 */
    float entropy; /* for SAMPLE: weight of an entropy bonus, which adds the gradient of -entropy *
                      H(p) for each query that drew a key; H(p) is the entropy of p in nats (Xu et
                      al. 2015, section 4.1) */
} rapt_reinforce;

/* The arrays to which rapt_attention_backward adds gradients. Each has the layout of the array it
   belongs to, or is NULL if that gradient is not needed. A gradient can only be requested for an
   array that the problem has. If the problem ignores the array, nothing is added. */
typedef struct rapt_gradients { /* size-first, see base.h */
    size_t size;
    float *q;                                             /* gradient of q */
    float *k;                                             /* gradient of k */
    float *v;                                             /* gradient of v */
    float *bias;                                          /* gradient of mask.bias */
    float *slopes;                                        /* gradient of relative.slopes */
    float *table;                                         /* gradient of relative.table */
    float *parameters[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* indexed by rapt_attention_parameter */
    float *log_forget;                                    /* gradient of log_forget */
    float *talking_scores;                                /* gradient of talking_scores */
    float *talking_weights;                               /* gradient of talking_weights */
    rapt_distance_gradients distances;                    /* gradients of distances */
} rapt_gradients;

/* Adds gradients to the arrays in d. q, k and v are the inputs of rapt_attention_forward; out and
   saved are its results. dout is the gradient of out and has the same layout. reinforce may be NULL
   unless the normalizer is SAMPLE.

   Errors are the same as for rapt_attention_forward. Also returns RAPT_BAD_ARGUMENT if saved has
   neither lse nor statistics, if the normalizer is hard and saved lacks chosen, if
   reinforce->entropy is not finite, if a gradient is requested for an array that the problem does
   not have, or if the gradient of q, k, v or log_forget is requested and rows of that array share
   memory because a stride is 0. */
RAPT_API rapt_status rapt_attention_backward(const rapt_attention *a, const float *q,
                                             const float *k, const float *v, const float *out,
                                             const rapt_attention_saved *saved, const float *dout,
                                             const rapt_reinforce *reinforce,
                                             const rapt_gradients *d, void *workspace,
                                             rapt_message *why);

/* Recomputes the attention weights (before dropout) of query rows [first, first + rows) of one
   sequence and head. saved holds the results of rapt_attention_forward. weights is [rows][keys],
   where keys is the number of rows of k in that sequence (a->keys, or key_starts[sequence + 1] -
   key_starts[sequence]). mask.key_counts does not shorten the rows; hidden keys have weight 0.

   Errors are the same as for rapt_attention_forward. Also returns RAPT_BAD_ARGUMENT if saved has
   neither lse nor statistics, if the normalizer is hard and saved lacks chosen, or if the sequence,
   the head or a row is out of range. */
RAPT_API rapt_status rapt_attention_weights(const rapt_attention *a, const float *q, const float *k,
                                            const rapt_attention_saved *saved, int sequence,
                                            int head, int first, int rows, float *weights,
                                            void *workspace, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
