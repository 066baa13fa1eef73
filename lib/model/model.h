/* model.h - the internal interface of lib/model: configuration, parameters, model files, and the
   stacks of layers that use them.

   Each function that takes an exec_context is called by all threads of a team (lib/base/base.h). */
#ifndef RAPT_LIB_MODEL_H
#define RAPT_LIB_MODEL_H

#include "attention/attention.h"
#include "model/files.h"
#include "model/layout.h"
#include "op/op.h"
#include <rapt/transformer.h>

/* ---- config_fields.c: access to the fields of a configuration by index ---- */
enum config_field {
#define CONFIG_FIELD(ctype, name, ...) CONFIG_##name,
#include "model/config.def"
};
/* Return the value of a field. The first function returns the bits of a FLOAT field as an int. The
   second accepts only FLOAT fields. */
int rapt__config_get(const rapt_config *config, int field);
float rapt__config_get_float(const rapt_config *config, int field);
/* Sets a field to *value, an int or a float. */
void rapt__config_set(rapt_config *config, int field, const void *value);
/* Return the value of a field or, if it is 0, the constant that 0 stands for (config.def). */
int rapt__config_int(const rapt_config *config, enum config_field field);
float rapt__config_float(const rapt_config *config, enum config_field field);
/* Returns the configuration with every 0 that stands for a constant replaced by that constant. */
rapt_config rapt__config_filled(const rapt_config *config);
/* Returns true if two configurations are equal after rapt__config_filled. */
bool rapt__config_same(const rapt_config *a, const rapt_config *b);

/* ---- config.c ---- */
/* Returns RAPT_BAD_ARGUMENT if a configuration is invalid; the message names the field. */
rapt_status rapt__config_check(const rapt_config *config, rapt_message *why);
float rapt__epsilon(const rapt_config *config);
int rapt__key_heads(const rapt_config *config);
int rapt__head_width(const rapt_config *config);
int rapt__gates(const rapt_config *config);                      /* output gates per token, or 0 */
int rapt__forget_gates(const rapt_config *config, bool decoder); /* per token, or 0 */
/* Returns true if the decoder has linear attention in place of self-attention. */
bool rapt__decoder_is_linear(const rapt_config *config);
/* Returns true if the decoder's linear attention normalizes queries, keys and outputs. */
bool rapt__linear_normed(const rapt_config *config);
/* Return the number of decays and the number of delta-rule rates for each decoder token, or 0. */
int rapt__linear_decays(const rapt_config *config);
int rapt__linear_rates(const rapt_config *config);

/* ---- model.c ---- */
struct model_notes {      /* metadata */
    rapt_metadata *pairs; /* [count] entries, followed by their strings; `size` bytes in all */
    int count;
    size_t size;
    size_t *scale_lines; /* [scale_count] offsets of the lines of SCALES_KEY, sorted by name */
    size_t scale_count;
    int bad_scale_line; /* number of the first damaged line, counted from 1; 0 if there is none */
};
struct rapt_model {
    rapt_allocator allocator;
    rapt_config config;
    struct arena arena;   /* holds everything that is derived from config */
    struct arena weights; /* holds the block, unless it is in `map` */
    struct disk_view map; /* a mapped file whose block must not be modified */
    struct layout layout;
    float *block;          /* [layout.floats] */
    float *sinusoids;      /* [positions][D]; NULL if positions are learned or absent */
    float *slopes;         /* ALiBi slopes [maps]; NULL if they are learned or absent */
    float *distances;      /* Transformer-XL's sinusoids [distances][D]; otherwise NULL */
    int *distance_buckets; /* with relative_bias deberta and relative_buckets, the bucket of each
                              distance from -relative_distance to relative_distance; otherwise
                              NULL */
    char *config_text;     /* the configuration as JSON */
    struct model_notes notes;
    double bound; /* upper bound on the magnitudes of all parameters; infinite if unknown */
};
/* Makes a model whose parameters are all 0. `matrices` is as in struct layout. */
rapt_status rapt__model_make(rapt_model **model, const rapt_config *config,
                             enum layout_kind matrices, const rapt_allocator *allocator,
                             rapt_message *why);
/* Do the same in two steps: the first function makes a model whose block is NULL, and the second
   allocates the block. */
rapt_status rapt__model_make_bare(rapt_model **model, const rapt_config *config,
                                  enum layout_kind matrices, const rapt_allocator *allocator,
                                  rapt_message *why);
rapt_status rapt__model_take_block(rapt_model *model, rapt_message *why);
/* Replaces a mapped block with a writable copy. Changes nothing if it returns RAPT_NO_MEMORY. */
rapt_status rapt__model_own_block(rapt_model *model, rapt_message *why);

/* ---- precision.c ---- */
/* Returns the layout of matrices in a precision, or `stored` for RAPT_PRECISION_STORED. */
enum layout_kind rapt__matrices_of(rapt_precision precision, enum layout_kind stored);
/* Returns RAPT_BAD_ARGUMENT if a value is not an enumerator of rapt_precision. */
rapt_status rapt__precision_check(rapt_precision precision, rapt_message *why);
/* Returns RAPT_BAD_ARGUMENT if `matrices` is IN_BYTES and a matrix has more than INT8_MAX_DEPTH
   columns. */
rapt_status rapt__check_depths(const struct layout *layout, enum layout_kind matrices,
                               rapt_message *why);
/* Checks a model that was just converted. If the model is in f16 and an element is NaN or infinite,
   for example because it was too large for f16, returns `otherwise`. */
rapt_status rapt__check_rounded(const rapt_model *model, rapt_status otherwise, rapt_message *why);
/* Returns RAPT_BAD_ARGUMENT if the matrices of a model are not floats. The message says that the
   model can be `what`, for example "trained", only in f32. */
rapt_status rapt__model_needs_floats(const rapt_model *model, const char *what, rapt_message *why);

/* ---- positions.c: slopes and sinusoids ---- */
double rapt__slope(int heads, int head); /* ALiBi slope of a head, counted from 0 */
/* Fills table [positions][width] with the sinusoids of positions first_position, first_position +
   1, ... */
void rapt__positions_fill(const rapt_config *config, float *table);

/* ---- positions.c: distance vectors, if relative_bias uses them ---- */
int rapt__distances_before(const rapt_config *c); /* `before` and `after` of rapt_distances */
int rapt__distances_after(const rapt_config *c, bool decoder);
int rapt__distances_rows(const rapt_config *c, bool decoder); /* number of vectors; 0 if none */
/* Returns the number of floats in the vectors that a layer computes by projection, or 0 if none. */
size_t rapt__distances_floats(const rapt_config *c, bool decoder);
size_t rapt__distances_sinusoids(const rapt_config *c); /* number of floats in model->distances */
void rapt__distances_sinusoids_fill(const rapt_config *c, float *to); /* to may be NULL */
/* Return the number of elements in model->distance_buckets, and fill that array. A decoder uses
   only the elements up to distance 0. */
size_t rapt__distances_buckets(const rapt_config *c);
void rapt__distances_buckets_fill(const rapt_config *c, int *to); /* to may be NULL */
/* If the vectors are projections, makes a->distances point to the vectors in `arrays`
   [rapt__distances_floats]. */
void rapt__distances_use(const rapt_config *c, bool decoder, const float *arrays,
                         rapt_attention *a);

/* ---- attention_config.c: the attention of a sublayer, derived from a configuration ---- */
/* Selects an attention sublayer and its parameters. If `learning` is false, dropout, sampling and
   noise are off. `offset` may be NULL if only sizes are needed; learned arrays are then NULL or
   placeholders. */
struct attention_use {
    bool decoder, cross, learning;
    const struct score_offsets *offset;
    const float *block;
    const float *relative; /* slopes or table of self-attention, if the configuration has them */
    const struct attention_offsets *all; /* offsets of the sublayer, or NULL */
    const int *buckets;                  /* distance buckets; NULL if only sizes are needed */
};
/* Returns the attention problem. The caller must set the fields that depend on the pass, such as
   the numbers of rows and the strides of q, k and v. If the configuration has forget gates or
   projected distance vectors, their pointers are placeholders, which the caller must replace. */
rapt_attention rapt__attention_of(const rapt_config *config, const struct attention_use *which);
/* Returns pointers to the gradients of the learned arrays in a block of gradients. */
rapt_gradients rapt__gradients_of(const struct score_offsets *offset, float *gradients);
/* Returns true if `by` is the normalizer of self-attention or, in an encoder-decoder, of
   cross-attention. */
bool rapt__attention_normalizes(const rapt_config *config, rapt_normalizer by);
/* The workspace functions of lib/attention return 0 if the size overflows. Converts this 0 to
   SIZE_MAX, which no arena can satisfy. The functions below also return SIZE_MAX on overflow, so
   that it survives when callers take the maximum of several sizes. */
static inline size_t rapt__bytes_or_max(size_t bytes)
{
    return bytes ? bytes : SIZE_MAX;
}
/* Returns the workspace size of one attention sublayer in bytes. If config->positions is not 0, no
   sequence may have more tokens than that. */
size_t rapt__attention_bytes_of(const rapt_config *config, const struct attention_use *which,
                                int batch, int rows, int keys, int threads);
/* Returns a workspace size in bytes that suffices for every attention sublayer of the encoder or
   decoder. If source_rows is 0, there is no cross-attention. */
size_t rapt__attention_bytes(const rapt_config *config, bool decoder, int batch, int rows,
                             int source_rows, int threads);

/* ---- recurrence.c: linear attention and the recurrent unit of the decoder ---- */
/* Returns the workspace size in bytes for sequences of at most `rows` rows. Without `learning`, the
   size suffices only for inference and does not depend on rows. */
size_t rapt__linear_bytes(const rapt_config *config, int rows, bool learning, int threads);
/* Returns the number of floats that a recurrent decoder stores for each target and layer: 0 if the
   decoder is not recurrent, SIZE_MAX if the number overflows. */
size_t rapt__state_floats(const rapt_config *config);

/* ---- monotonic.c: monotonic attention of the decoder to the source ---- */
/* Returns RAPT_BAD_ARGUMENT if `monotonic` contradicts another field. */
rapt_status rapt__monotonic_check(const rapt_config *config, rapt_message *why);
/* Returns true if monotonic cross-attention has a softmax with queries and keys of its own. */
bool rapt__monotonic_is_soft(const rapt_config *config);
/* Returns the workspace size in bytes. Without `learning`, the size suffices only for inference. */
size_t rapt__monotonic_bytes(const rapt_config *config, int batch, int rows, int keys,
                             bool learning, int threads);

/* ---- stack.c: the layers of an encoder or decoder ----
   Activations are [rows][D], with the sequences back to back. In this section, H is config.heads
   (not the number of maps, see layout.h), W is rapt__score_width, P is rapt__latent_rotary, and the
   other letters are those of parameters.def. */
struct drop { /* dropout rates of a pass, and its random key; all zeros at inference */
    float share, attention, hidden; /* rates for the embedding and residual branches, for attention
                                       weights, and for feed-forward units */
    uint64_t key;
};

/* The results of a sublayer, which backward reads. At inference, layers share most of this
   memory. */
struct sublayer {
    float *q;  /* self-attention and linear attention: [rows] queries, keys and values (struct
                  head_rows); cross-attention: [rows] queries; recurrent unit: [rows][2 D]
                  candidates and gate inputs */
    float *kv; /* cross-attention: [source rows] keys and values */
    float *raw_q, *raw_kv; /* for backward, with query_key_norm or latent_width: queries and keys
                              before their norms, in the layouts of q and kv; in linear attention,
                              raw_q is q before its activation */
    float *inverse_q;      /* with raw_q: reciprocals of the norms [maps][rows]; with
                              latent_query_width, [rows]; in linear attention, [rows][H] */
    float *inverse_k;      /* with raw_q: reciprocals of the norms [key maps][rows or source rows];
                              in linear attention, [rows][key_heads] */
    float *mixed;          /* [rows][H K] output of the heads, or [rows][D] cells of the recurrent
                              unit */
    float *forget;         /* with forget_gate: gates [rows][maps] before the sigmoid; in linear
                              attention with decays, [rows][key_heads] */
    float *log_forget;     /* log sigmoid of forget */
    float *distances;      /* projected distance vectors (rapt__distances_project) */
    float *by_query;       /* at inference: result of rapt__score_distances */
    float *rate_in, *rate; /* delta rule: rates [rows][key_heads] before and after the sigmoid */
    float *gate, *gated;   /* with output_gate: gates [rows][gates] before the sigmoid, and
                              [rows][H K] outputs after the gates */
    float *values;         /* differential: [rows or source rows][key maps][K], each value twice */
    float *queries;        /* with latent_query_width: [rows][H (P + K)] queries, computed from the
                              latent rows in q */
    float *latent_q;       /* with latent_width: [rows][H][P + latent_width] queries that are
                              multiplied by latent rows */
    float *maps;           /* differential: [rows][maps][K] outputs of all maps; with latent_width:
                              [rows][H][latent_width] weighted sums of latent rows */
    float *raw_mixed;      /* for backward, in differential or linear attention: [rows][H K] `mixed`
                              before the norm */
    float *inverse_mixed;  /* with raw_mixed: reciprocals of the norms [H][rows] */
    float *statistics;     /* [maps][rows][2] softmax statistics (see rapt_attention_saved) */
    int *chosen;           /* [H][rows] keys chosen by a hard normalizer or, at inference, monotonic
                              stops */
    float *projected_q;    /* at inference: [rows][maps][W] queries projected by the score; NULL if
                              queries are used unchanged */
    float *projected_keys; /* at inference: [rows or source rows][key maps][W] new keys projected by
                              the score; NULL if keys are used unchanged */
    float *centers;        /* at inference, with local-p: [maps][rows] */
    float *center_hidden;  /* at inference, with local-p: [maps][rows][center_hidden] */
    float *hidden, *active;  /* feed-forward: [rows][F, or 2F if gated] before the activation, and
                                [rows][F] after it */
    float *y;                /* [rows][D] output of the sublayer, before the residual sum */
    float *sum;              /* [rows][D] the residual sum */
    float *out;              /* [rows][D] `sum` after the norm that follows */
    struct norm_saved saved; /* statistics of that norm, for its backward pass */
};

struct stack_memory {
    struct sublayer *sublayers; /* [count] layer by layer, in the order of parts */
    int count;
    float *raw;      /* with embedding_norm: [rows][D] embeddings before that norm */
    float *embedded; /* [rows][D] */
    float *first;    /* pre-norm: [rows][D] `embedded` after the first norm */
    struct norm_saved embedded_saved, first_saved;
    /* for backward only: */
    float *dout, *dstream;                             /* [rows][D] */
    float *dq, *dmixed, *dhidden, *dactive, *dy, *dkv; /* dactive only with ffn_gated */
    float *norm_partial;                               /* workspace for the norms of heads */
    float *dgate, *dgated, *dforget, *drate;           /* gradients of gate, gated, ... */
    float *ddistances;                                 /* for projected distance vectors */
    float *dvalues, *dmaps;                            /* with differential or latent_width */
    float *dlambda, *dlatent_q; /* dlambda [rows] with differential; dlatent_q with latent_width */
    float *dqueries;            /* with latent_query_width */
};

/* The rows of a pass. */
struct rows {
    int batch, count;  /* number of sequences, and of rows in all sequences */
    const int *starts; /* [batch + 1] */
    int longest;       /* rows of the longest sequence */
};
static inline struct rows rapt__rows(int batch, const int *starts)
{
    return (struct rows){batch, starts[batch], starts, rapt__longest(batch, starts)};
}

/* The sources of monotonic cross-attention at inference, and the positions of its heads. */
struct monotonic_state {
    float *keys;       /* [layers][rows] keys and values, in rows like those of sublayer->kv */
    size_t rows;       /* capacity in source rows */
    const int *starts; /* [sources + 1] where the rows of each source begin */
    int *positions;    /* [layers][targets][heads] the key at which each head continues */
    int *spare;        /* scratch memory as large as `positions`, used to reorder */
    int targets;
};

struct cache_state {      /* state of self- or cross-attention between calls at inference */
    struct cache *caches; /* [layers] keys and values of past tokens or of sources */
    struct attention_history *history; /* [layers] with recurrent scores, otherwise NULL */
    float *packed;                     /* [layers][packed_size] (see rapt__score_pack) */
    size_t packed_size;                /* floats per layer; 0 if the score needs none */
    float *distances; /* [layers][rapt__distances_floats] (see rapt__distances_project) */
    float *relative;  /* [maps][relative_row] relative biases, or NULL */
    int relative_row, relative_zero; /* the bias of key s for a query at `position` is element s -
                                        position + relative_zero */
    int *counts;                     /* [batch] number of keys of each target sequence */
    float *states;                   /* recurrent decoders only: [layers][sequences]
                                        [rapt__state_floats] */
    float *spare_states;             /* scratch memory as large as `states`, used to reorder */
    int sequences;
    struct monotonic_state monotonic; /* replaces `caches` in monotonic cross-attention; its
                                         pointers are NULL otherwise */
};
struct stack_caches {
    struct cache_state self, cross;
    const int *past;      /* [batch] number of tokens of each sequence before this call */
    const int *source_of; /* [batch] index of each sequence's source */
};

struct stack {
    const rapt_model *model;
    const float *block; /* block of parameters */
    bool decoder;       /* causal, and with cross-attention if there is a source */
    bool bare;          /* no embedding and no norm after the last layer; the input is [rows][D] */
    struct stack_memory *memory;
    void *attention_workspace;
    int threads;
    /* If not NULL, all threads of the team call this function during backward whenever more
       gradients have become final. Those from offset `from` to the end of the block are then
       final. */
    void (*final)(struct team *team, void *argument, size_t from);
    void *argument;
};

/* The inputs of a pass, the same for forward and backward. */
struct pass {
    const int32_t *ids;   /* [rows.count] */
    const float *vectors; /* replaces ids: [rows.count][source_width], or [rows.count][D] if bare */
    struct rows rows, source;          /* `source`: the rows that cross-attention without caches
                                          reads; otherwise its count is 0 */
    const float *states;               /* [source.count][D] output of the encoder */
    const struct stack_caches *caches; /* set only in a session's decoder */
    struct drop drop;
    bool learning; /* true in training; if false, dropout, sampling and noise are off */
    const float *reward, *baseline; /* in training: [H][rows.count], for sampled keys */
    const uint8_t *expected; /* in training: [rows.batch] (see rapt_attention); NULL if none */
    float entropy;           /* in training: see rapt_reinforce */
    float anneal; /* in training: if not 0, the arg-max is replaced by a softmax of anneal times the
                     scores */
    float noise;  /* in training: standard deviation of the noise in monotonic attention */
    struct weight_losses losses; /* for backward: losses on the weights of cross-attention; the
                                    guide applies to layer config.alignment_layer */
};

/* The results that a pass keeps. KEEPS_CROSS keeps, in every layer, the results that are needed in
   addition to the caches to compute the weights of cross-attention, such as queries. KEEPS_SELF
   also keeps those that are needed for the weights of self-attention; in an encoder, which has no
   caches, they include the keys. KEEPS_ALL keeps everything for backward: every sublayer has its
   own memory, and there are no caches. */
enum stack_keeps { KEEPS_CROSS, KEEPS_SELF, KEEPS_ALL };
/* Lays out the memory of a pass over `rows` rows. source_rows is the number of source rows, or 0
   without cross-attention. */
void rapt__stack_layout(struct stack_memory *memory, const rapt_config *config, bool decoder,
                        int rows, int source_rows, enum stack_keeps keeps, struct arena *arena);

/* Lays out the memory of one layer that consists of these parts, in this order, for forward and
   backward. */
void rapt__layer_memory(struct stack_memory *memory, const rapt_config *config, bool decoder,
                        const enum part *parts, int count, int rows, int source_rows,
                        struct arena *arena);

/* Returns the sublayer that computes this part of a layer, or NULL if layers have no such part. */
struct sublayer *rapt__sublayer_of(const struct stack *s, int layer, enum part part);

/* Computes the embedding and runs all layers. Returns the last output [rows][D]. */
const float *rapt__stack_forward(const struct exec_context *c, const struct stack *s,
                                 const struct pass *p);

/* Runs the backward pass. memory->dout holds the gradient of the last output. Adds the gradients of
   the parameters to the block `gradients`, and the gradient of the source to dstates
   [source.count][D]. partial is workspace of rapt__norm_partial floats. Returns the gradient of the
   vectors [rows.count][D] if the stack is bare, otherwise NULL. */
const float *rapt__stack_backward(const struct exec_context *c, const struct stack *s,
                                  const struct pass *p, float *dstates, float *gradients,
                                  float *partial);

/* ---- sublayer.c: one sublayer f of the chain, sublayer->y = f(in), and its gradient ---- */
struct step { /* one sublayer in a pass */
    const struct stack *stack;
    const struct pass *pass;
    int layer, index; /* index of the layer, and of the sublayer in the chain */
    struct sublayer *u;
    const float *in; /* [rows][D] */
};
void rapt__sublayer_forward(const struct exec_context *c, const struct step *s, enum part part);
/* Given dy, the gradient of u->y, sets din to the gradient of `in`, or adds it to din if `add` is
   set. dy may be din. Adds the gradients of the parameters to the block `gradients` and, in
   cross-attention, the gradient of the encoder's output to dstates. */
void rapt__sublayer_backward(const struct exec_context *c, const struct step *s, enum part part,
                             const float *dy, float *din, bool add, float *dstates,
                             float *gradients);
/* Computes weights[rows][keys of the sequence], the self-attention weights of rows [first, first +
   rows) of one sequence in one layer and map. The last pass of the encoder, over `all` rows, must
   have kept its queries and keys (KEEPS_SELF). */
void rapt__encoder_weights(struct team *team, const struct stack *s, const struct rows *all,
                           int layer, int map, int sequence, int first, int rows, float *weights);
/* Returns the index of map i of a head. A head has one map, or two with `differential`. Sets *share
   to the factor by which the weights of the map are multiplied when they are added to those of the
   head: 1, or -lambda for a second map. */
int rapt__map_of(const struct stack *s, int layer, bool cross, int head, int i, float *share);
enum site { SITE_RESIDUAL, SITE_ATTENTION, SITE_HIDDEN, SITES };
/* Returns the dropout at one site in a pass. drop->key is rapt_block_rows.seed or, in a trainer,
   rapt__mix(seed, index of the batch). The key of a site is rapt__mix(drop->key, ((index + 1) *
   SITES + site) * 2 + decoder). `index` is the index of the sublayer in the encoder or decoder, or
   -1 for the embedding. */
struct dropout rapt__site(const struct drop *drop, float share, bool decoder, int index,
                          enum site site);

/* ---- cached.c: the decoder's attention at inference ---- */
/* Computes the keys and values of sources from states [rows][D] and appends them to the cache of a
   decoder layer, or to state->monotonic. Rows [starts[i], starts[i + 1]) belong to sequence i of
   the cache; `starts` covers all sequences, some of which may be empty. */
void rapt__cross_append(const struct exec_context *c, const struct stack *s, int layer,
                        const struct cache_state *state, const float *states, int rows,
                        const int *starts);
/* Prepares the decoder's self- or cross-attention for rapt__stack_forward with caches: packs the
   learned arrays of scores, projects distance vectors and fills in relative biases, if the
   configuration has them. */
void rapt__scores_pack(const struct exec_context *c, const struct stack *s,
                       const struct cache_state *state, bool cross);
/* After a pass of the decoder, adds `share` times the attention weights of one row of that pass, in
   one layer and head, to weights [keys of the source, or tokens of the target so far]. The row
   belongs to target `sequence`. The pass must have kept the queries of that sublayer (enum
   stack_keeps). Runs on one thread and uses s->attention_workspace. */
void rapt__decoder_weights(const struct stack *s, const struct rows *rows,
                           const struct stack_caches *caches, bool cross, int layer, int head,
                           int sequence, int row, float share, float *weights);

/* ---- stack.c: the pooler, y = tanh(W x + b) of pooled rows x [rows][D] ---- */
void rapt__pooler_forward(const struct exec_context *c, const rapt_model *model, const float *x,
                          int rows, float *y);
/* Overwrites dy with the gradient before tanh, sets dx, and adds the gradients of W and b. */
void rapt__pooler_backward(const struct exec_context *c, const rapt_model *model, const float *x,
                           const float *y, int rows, float *dy, float *dx, float *gradients);

/* ---- model.c: checks of tokens ---- */
/* Returns the number of possible ids in a source. An id is token + type * source_vocab. */
static inline int rapt__source_ids(const rapt_config *c)
{
    return c->source_vocab * rapt__max(c->token_types, 1);
}
struct token_limits {
    const char *what;   /* name of the tokens in messages */
    int vocab, batch;   /* `batch` is the maximum number of sequences */
    int tokens, length; /* maximum number of tokens in the batch, and in a sequence. `tokens` is the
                           caller's limit, which messages call limits.<what>_tokens, or INT32_MAX if
                           there is no limit */
    int extra; /* tokens that will be added around each sequence; both limits include them */
    bool begin_and_end; /* messages say that the counts include begin and end tokens */
    bool vectors;       /* rows are vectors instead of tokens */
};
/* Return the largest valid limits on tokens and on sequences. Within them, attention can count the
   rows of all maps in an int. */
static inline int rapt__tokens_max(const rapt_config *config)
{
    return rapt__min(1 << 28, ATTENTION_ROWS / rapt__maps(config));
}
static inline int rapt__batch_max(const rapt_config *config)
{
    return rapt__min(1 << 20, rapt__tokens_max(config));
}
/* Returns RAPT_BAD_ARGUMENT, with a message that names the field, if `tokens` is NULL, invalid or
   beyond the limits. */
rapt_status rapt__tokens_check(const rapt_tokens *tokens, const struct token_limits *limits,
                               rapt_message *why);

/* ---- parameters.c ---- */
/* Returns a matrix and its bias in a block. */
struct linear rapt__linear_at(const struct layout *layout, const struct linear_offsets *offset,
                              const float *block);

#endif
