/* model.h - the interface of the model layer: configuration, parameters, model files, and the
   stacks of layers that are computed with them.

   Functions that take an exec_context are called by all members of a team (lib/base/base.h). */
#ifndef RAPT_LIB_MODEL_H
#define RAPT_LIB_MODEL_H

#include "attention/attention.h"
#include "format/format.h"
#include "op/op.h"
#include <rapt/transformer.h>

/* ---- parameters.c: where each parameter lies in the one block of floats ----
   Offsets count floats, so that one layout serves weights, gradients and moments. */
struct linear_offsets {
    size_t weight, bias; /* [out][in] in panels; [out] */
    int in, out;
};
struct norm_offsets {
    size_t gain, bias; /* [D] each; bias 0: there is none */
};
struct score_offsets { /* of what score and locality learn; 0: not there */
    size_t array[RAPT_ATTENTION_PARAMETER_COUNT];
};
struct attention_offsets { /* rows of qkv: H*K queries, then key_heads*K keys, then as many values
                            */
    struct linear_offsets qkv;   /* self-attention */
    struct linear_offsets q, kv; /* cross-attention */
    struct linear_offsets out;
    struct norm_offsets norm;
    struct score_offsets score;
};
struct recurrent_offsets {               /* of a decoder, instead of self-attention */
    struct linear_offsets input, forget; /* input has no bias */
    struct norm_offsets norm;
};
struct feedforward_offsets {
    struct linear_offsets in, out; /* gated: in makes 2F rows, first those that are activated */
    struct norm_offsets norm;
};
struct layer_offsets {
    struct attention_offsets self, cross; /* cross: decoder of an encoder-decoder only */
    struct recurrent_offsets recurrent;   /* or self */
    struct feedforward_offsets feedforward;
};
struct stack_offsets {       /* one side of the model */
    size_t table, positions; /* [vocab][D] panels; [positions][D] rows, learned positions only */
    struct linear_offsets
        source;      /* instead of a table: of an encoder of vectors; in 0: there is none */
    size_t relative; /* learned biases by distance: table [H][buckets] or slopes [H]; 0: none */
    struct layer_offsets *layers;
    int count;
    struct norm_offsets last; /* pre-norm only: after the last layer */
};
struct layout {
    struct stack_offsets encoder, decoder;
    struct linear_offsets output; /* logits; weight may be a table */
    struct parameter *parameters;
    int count;
    size_t floats; /* of the whole block */
};

enum layout_kind { IN_PANELS, IN_ROWS };
enum initial {
    INITIAL_ZERO,
    INITIAL_ONE,
    INITIAL_XAVIER,
    INITIAL_ATTENTION,
    INITIAL_TABLE,
    INITIAL_SLOPES,
    INITIAL_INVERSE_TEMPERATURE
};
struct parameter {
    char name[64];
    int rows, columns;
    enum layout_kind kind;
    enum initial initial;
    size_t offset;
};

/* What a layer does, in this order. */
enum part { PART_SELF, PART_RECURRENT, PART_CROSS, PART_FEEDFORWARD, PARTS };
struct layer_parts {
    bool has[PARTS];
    bool alone; /* without norms: one part as a function of its own */
};

/* stack_layout.c: the parts of a layer in order; how many. */
int rapt__parts_of(const rapt_config *c, bool decoder, enum part parts[3]);

/* Fills *layout from an arena: pieces first counted, then handed out (lib/base/base.h). */
void rapt__layout_make(struct layout *layout, const rapt_config *config, struct arena *arena);
/* The same of one layer without embedding, last norm and output; of a decoder or an encoder. */
void rapt__layer_layout_make(struct layout *layout, const rapt_config *config, bool decoder,
                             const struct layer_parts *parts, struct arena *arena);
size_t rapt__parameter_count(const struct parameter *p);  /* numbers in it */
size_t rapt__parameter_floats(const struct parameter *p); /* of the block, in whole vectors */
/* Elements [first, first + count) of a parameter between a block and a plain matrix
 * [rows][columns]. */
void rapt__parameter_get(const struct parameter *p, const float *block, size_t first, size_t count,
                         float *data);
void rapt__parameter_set(const struct parameter *p, float *block, size_t first, size_t count,
                         const float *data);
int rapt__ffn_rows(const rapt_config *c); /* that the first matrix of feed-forward layers makes */
void rapt__parameters_init(const struct layout *layout, uint64_t seed, float *block);

/* ---- position.c ---- */
double rapt__slope(int heads, int head); /* of ALiBi, from 0 */
/* Sinusoids of positions first_position .. as rows [positions][width]. */
void rapt__positions_fill(const rapt_config *config, float *table);

/* ---- config_fields.c: the fields of a configuration by number ---- */
enum config_field {
#define CONFIG_FIELD(ctype, name, ...) CONFIG_##name,
#include "model/config.def"
};
int rapt__config_get(const rapt_config *config, int field); /* a float's bits */
float rapt__config_get_float(const rapt_config *config, int field);
void rapt__config_set(rapt_config *config, int field, const void *value); /* an int or float */
/* A field, or what its 0 stands for. */
int rapt__config_int(const rapt_config *config, enum config_field field);
float rapt__config_float(const rapt_config *config, enum config_field field);
/* With what 0 stands for instead of 0, as far as that is a fixed value. */
rapt_config rapt__config_filled(const rapt_config *config);
/* Whether models of one are models of the other. */
bool rapt__config_same(const rapt_config *a, const rapt_config *b);

/* ---- config.c ---- */
rapt_status rapt__config_check(const rapt_config *config, rapt_message *why);
float rapt__epsilon(const rapt_config *config);
int rapt__key_heads(const rapt_config *config);

/* ---- config_json.c: the configuration as it stands in a model file ---- */
enum { CONFIG_TEXT = 4096 }; /* bytes that hold any */
rapt_status rapt__config_write(const rapt_config *config, char *text, size_t capacity);
/* RAPT_BAD_FILE: the file holds fewer numbers than a model of the configuration has, or, of
   sinusoids, which are computed from it, there would be many times as many. one_each: every
   parameter is a tensor of the file; there are too few. */
rapt_status rapt__config_backed(const rapt_config *config, const struct tensor_file *file,
                                bool one_each, rapt_message *why);
/* RAPT_BAD_FILE: it is no configuration, or one that rapt__config_check refuses. */
rapt_status rapt__config_read(rapt_config *config, const char *text, size_t size,
                              rapt_message *why);

/* ---- model.c ---- */
struct rapt_model {
    rapt_allocator allocator;
    rapt_config config;
    struct arena arena;   /* the layout, the sinusoids */
    struct arena weights; /* the block, unless it is in */
    struct disk_view map; /* a file, mapped: the block is not to be written then */
    struct layout layout;
    float *block;            /* [layout.floats] */
    float *sinusoids;        /* [positions][D]; NULL for learned positions or none */
    float *slopes;           /* [H] of ALiBi; NULL: they are learned, or not there */
    char *config_text;       /* the configuration as it stands in a file */
    rapt_metadata *metadata; /* [metadata_count] of the file it came from; strings behind them */
    int metadata_count;
    size_t metadata_size; /* bytes */
    double bound;         /* no parameter's magnitude is larger; infinite: unknown */
};
/* A model with all parameters 0. */
rapt_status rapt__model_make(rapt_model **model, const rapt_config *config,
                             const rapt_allocator *allocator, rapt_message *why);
/* The same in two steps: without a block, which is NULL; the block. */
rapt_status rapt__model_make_bare(rapt_model **model, const rapt_config *config,
                                  const rapt_allocator *allocator, rapt_message *why);
rapt_status rapt__model_take_block(rapt_model *model, rapt_message *why);
/* Before a parameter is written: copies a block that is mapped. RAPT_NO_MEMORY, and no change. */
rapt_status rapt__model_own_block(rapt_model *model, rapt_message *why);

/* ---- attention_config.c: what a configuration says about the attention of a sublayer ---- */
/* Its problem, all but the rows. learning: as in training; else nothing is drawn. offset NULL: what
   is learned stays open, for whoever asks for sizes alone. */
struct attention_use {
    bool decoder, cross, learning;
    const struct score_offsets *offset;
    const float *block;
    const float *relative; /* slopes or table, as the configuration says; not of cross-attention */
};
rapt_attention rapt__attention_of(const rapt_config *config, const struct attention_use *which);
/* The gradients of what is learned, in a block of gradients. */
rapt_gradients rapt__gradients_of(const struct score_offsets *offset, float *gradients);
bool rapt__attention_normalizes(const rapt_config *config, rapt_normalizer by); /* anywhere? */
/* Workspace for one attention sublayer, bytes; 0: more than fits. Sequences are at most
   config->positions long; 0: as long as rows and keys allow. */
size_t rapt__attention_bytes_of(const rapt_config *config, const struct attention_use *which,
                                int batch, int rows, int keys, int threads);
/* Workspace for the attention of one half, bytes. source_rows 0: no cross-attention. */
size_t rapt__attention_bytes(const rapt_config *config, bool decoder, int batch, int rows,
                             int source_rows, int threads);

/* ---- metadata.c ---- */
#define CONFIG_KEY  "rapt.config"
#define TRAINER_KEY "rapt.trainer" /* a trainer's counters */
#define LAYOUT_KEY  "rapt.layout"  /* of a packed file */
/* All of a file but the library's own, old keys under their new names. m has none yet. */
rapt_status rapt__metadata_copy(rapt_model *m, const struct tensor_file *file);
/* These instead, in this order, without those whose value is NULL. */
rapt_status rapt__metadata_set(rapt_model *m, const rapt_metadata *metadata, int count);
/* Whether a caller may give these: keys not NULL, and none of the library's own. */
rapt_status rapt__metadata_check(const rapt_metadata *metadata, int count, rapt_message *why);
/* Those given, but for values that are NULL, and the model's own of other keys go into all
   [count + m->metadata_count]; returns how many. */
int rapt__metadata_merge(const rapt_model *m, const rapt_metadata *metadata, int count,
                         struct tensor_metadata *all);

/* ---- file.c: a model file whose tensors come from several blocks (moments, for a trainer) ---- */
enum value_range { FINITE_VALUE, FINITE_NOT_NEGATIVE, ANY_VALUE };
struct block_file {
    const char *prefix; /* of the tensors' names: "", "adam.m.", ... */
    float *block;
    enum value_range range; /* what is accepted from a file; saving does not look */
};
struct block_output { /* where they go: the file at path, or a writer */
    const char *path;
    const rapt_writer *writer;
    bool packed; /* packed.c; of one block without a prefix */
};
/* trainer: the value of TRAINER_KEY, or NULL. */
rapt_status rapt__blocks_save(const rapt_model *model, const struct block_file *blocks, int count,
                              const struct block_output *to, const rapt_metadata *metadata,
                              int metadata_count, const char *trainer, rapt_message *why);
rapt_status rapt__blocks_load(const rapt_model *model, const struct block_file *blocks, int count,
                              struct tensor_file *file, rapt_message *why);

/* ---- packed.c: a file whose data are the block as it is in memory ---- */
/* Its tensors: panels [panels][columns][LANES], or rows end to end, in whole vectors. */
struct tensor_source rapt__packed_source(const struct parameter *p);
/* The value of LAYOUT_KEY. */
const char *rapt__packed_layout(const rapt_model *m);
/* The block of a model without one, mapped where that is possible and wanted. layout: the value of
   LAYOUT_KEY in the file. */
rapt_status rapt__packed_load(rapt_model *m, const struct tensor_file *file, const char *layout,
                              const rapt_load_options *options, rapt_message *why);
/* How many values at the front are finite. */
size_t rapt__finite_count(const float *x, size_t count);

/* ---- stack.c: the layers of one side ----
   rows of activations [rows][D], sequences back to back. */
struct drop { /* dropout of a pass; all zero at inference */
    float share, attention, hidden;
    uint64_t key;
};

/* What a sublayer computed; backward reads it. At inference all sublayers share the same memory. */
struct sublayer {
    float *q;                /* self: [rows][(H + 2 key_heads) K]; cross: [rows][H K];
                                recurrent: [rows][2 D] candidates and inputs of gates */
    float *kv;               /* cross: [source rows][2 key_heads K] */
    float *mixed;            /* [rows][D] output of the heads; recurrent: the cells */
    float *statistics;       /* [H][rows][2] of the softmax, see rapt_attention_saved */
    int *chosen;             /* hard normalizers: [H][rows] */
    float *projected_q;      /* inference: [rows][H][W] what the score makes of q, if it does; */
    float *projected_keys;   /*   [rows, or source rows][key_heads][W] of the keys; */
    float *centers;          /*   local-p: [H][rows], */
    float *center_hidden;    /*   [H][rows][center_hidden] on the way to them */
    float *hidden, *active;  /* feed-forward: [rows][F, gated: 2F] before the activation; after */
    float *y;                /* [rows][D] output of the sublayer, before the residual */
    float *sum;              /* [rows][D] with the residual */
    float *out;              /* [rows][D] after the norm that follows */
    struct norm_saved saved; /* of that norm */
};

struct stack_memory {
    struct sublayer *sublayers; /* count of them: layer by layer, the parts a layer has */
    int count;
    float *embedded; /* [rows][D] */
    float *first;    /* pre-norm: [rows][D] the norm of embedded */
    struct norm_saved first_saved;
    /* for backward only */
    float *dout, *dstream;                             /* [rows][D] */
    float *dq, *dmixed, *dhidden, *dactive, *dy, *dkv; /* dactive: gated feed-forward only */
};

/* Rows of one pass, and what attention needs to know about them. */
struct rows {
    int batch, count;  /* sequences; rows of all of them */
    const int *starts; /* [batch + 1] */
    int longest;       /* of the sequences */
};
static inline struct rows rapt__rows(int batch, const int *starts)
{
    return (struct rows){batch, starts[batch], starts, rapt__longest(batch, starts)};
}

struct cache_state { /* inference, of self- or cross-attention: what is there before a call; one per
                        layer */
    struct cache *caches;              /* keys and values of past tokens */
    struct attention_history *history; /* location-aware: weights of the last one; else NULL */
    float *packed;                     /* of each layer: weights as rapt__score_pack leaves them */
    size_t packed_size;                /*   so many floats; 0: the score needs none */
    float *relative;                 /* [H][relative_row] biases by distance, of all layers; NULL */
    int relative_row, relative_zero; /*   element s - position + zero */
    int *counts;         /* [batch] how many keys there are, for each sequence of the target */
    float *states;       /* a recurrent decoder has these alone: cells [layers][sequences][D] */
    float *spare_states; /*   as many, while they are reordered */
    int sequences;
};
struct stack_caches {
    struct cache_state self, cross;
    const int *past;      /* [batch] tokens of each sequence before this call */
    const int *source_of; /* [batch] which source a sequence belongs to */
};

struct stack {
    const rapt_model *model;
    const float *block; /* the parameters */
    bool decoder;       /* causal, and with cross-attention if there is a source */
    bool bare;          /* layers alone: vectors of D come in, and no norm follows the last layer */
    struct stack_memory *memory;
    void *attention_workspace;
    int threads;
    /* Called by all members in backward, NULL: not. The gradients of parameters at floats `from`
       and beyond are final, if they are beyond the layers of the decoder behind an encoder. */
    void (*final)(struct team *team, void *argument, size_t from);
    void *argument;
};

/* What a pass is about; the same for forward and backward. */
struct pass {
    const int32_t *ids;       /* [rows.count] */
    const float *vectors;     /* instead of ids: [rows.count][source_width]; of a bare stack [D] */
    struct rows rows, source; /* source: of cross-attention; count 0: none */
    const float *states;      /* [source.count][D] the encoder's output */
    const struct stack_caches *caches; /* NULL while training and in encoders */
    struct drop drop;
    bool learning;                  /* a gradient will follow; else nothing is drawn */
    const float *reward, *baseline; /* [H][rows.count] of sampled keys, while learning */
    const uint8_t *expected; /* [rows.batch] see rapt_attention, while learning; NULL: none */
    float entropy;           /* see rapt_reinforce, while learning */
    float anneal; /* while learning: an arg-max is the softmax of so many times the scores; 0: none
                     is */
    const struct guide *guide; /* of cross-attention in layer config.alignment_layer, backward;
                                  NULL: none */
};

/* What of a pass can be read afterwards: for weights of cross-attention the queries of every
   layer; for those of self-attention too (also its keys in an encoder, where no cache has them);
   for backward all, so that every sublayer has memory of its own, and nothing is in caches. */
enum stack_keeps { KEEPS_CROSS, KEEPS_SELF, KEEPS_ALL };
/* Memory for a pass of `rows` rows over `source_rows` (0: no cross-attention). */
void rapt__stack_layout(struct stack_memory *memory, const rapt_config *config, bool decoder,
                        int rows, int source_rows, enum stack_keeps keeps, struct arena *arena);

/* Memory for forward and backward of one layer of these parts, in their order. */
void rapt__layer_memory(struct stack_memory *memory, const rapt_config *config,
                        const enum part *parts, int count, int rows, int source_rows,
                        struct arena *arena);

/* The memory of that sublayer; NULL: the layers have no such part. */
struct sublayer *rapt__sublayer_of(const struct stack *s, int layer, enum part part);

/* ids through embedding and all layers; returns the last output [rows][D]. */
const float *rapt__stack_forward(const struct exec_context *c, const struct stack *s,
                                 const struct pass *p);

/* From memory->dout, the gradient of the last output, to the parameters' (adds to the block
   `gradients`); adds to dstates [source.count][D]. partial: rapt__norm_partial floats. Of a bare
   stack it returns the gradient of the vectors [rows.count][D], of others NULL. */
const float *rapt__stack_backward(const struct exec_context *c, const struct stack *s,
                                  const struct pass *p, float *dstates, float *gradients,
                                  float *partial);

/* ---- sublayer.c: one f of the chain; sublayer->y = f(in), and back ---- */
struct step { /* the sublayer of a pass */
    const struct stack *stack;
    const struct pass *pass;
    int layer, index; /* of the layer; of the sublayer in the chain */
    struct sublayer *u;
    const float *in; /* [rows][D] */
};
void rapt__sublayer_forward(const struct exec_context *c, const struct step *s, enum part part);
/* From dy, the gradient of u->y, to din: din = or, if add, += the gradient of in. dy may be din. */
void rapt__sublayer_backward(const struct exec_context *c, const struct step *s, enum part part,
                             const float *dy, float *din, bool add, float *dstates,
                             float *gradients);
/* After a pass of an encoder that keeps self-attention, over `all` rows: the weights of rows
   [first, first + rows) of one sequence in one layer and head, weights[rows][its rows]. */
void rapt__encoder_weights(struct team *team, const struct stack *s, const struct rows *all,
                           int layer, int head, int sequence, int first, int rows, float *weights);
/* Dropout of one site of a pass. Keys, with rapt__mix: of a batch mix(seed, batches before it); of
   a site in it mix(drop->key, ((index + 1) * SITES + site) * 2 + decoder), where index counts the
   sublayers of the half, -1 is the embedding. */
enum site { SITE_RESIDUAL, SITE_ATTENTION, SITE_HIDDEN, SITES };
struct dropout rapt__site(const struct drop *drop, float share, bool decoder, int index,
                          enum site site);

/* ---- cached.c: attention of the decoder at inference ---- */
/* Keys and values of sources for one layer of the decoder go into its cache. starts: of all
   sequences of the cache. */
void rapt__cross_append(const struct exec_context *c, const struct stack *s, int layer,
                        const struct cache_state *state, const float *states, int rows,
                        const int *starts);
/* Packs what scores have learned, of all layers, and fills the biases by distance. */
void rapt__scores_pack(struct team *team, const struct stack *s, const struct cache_state *state,
                       bool cross);
/* After a pass of the decoder: the weights of one of its rows (of target `sequence`) in one layer
   and head, times share, are added to weights [keys of its source, or tokens of the target so far].
   A pass keeps what this needs of every layer until the next one (stack_keeps). One thread; its
   memory is s->attention_workspace. */
void rapt__decoder_weights(const struct stack *s, const struct rows *rows,
                           const struct stack_caches *caches, bool cross, int layer, int head,
                           int sequence, int row, float share, float *weights);

/* ---- tokens.c ---- */
struct token_limits {
    const char *what; /* "source" or "target", for messages and names of limits: "source_tokens" */
    int vocab, batch;
    int tokens, length; /* at most, in the batch and in a sequence */
    int extra;          /* tokens that will be put around each sequence, and count */
    bool begin_and_end; /* extra tokens are begin and end: messages mention that they count */
    bool vectors;       /* rows are vectors instead of tokens */
};
/* The largest limits of tokens and sequences: attention counts the rows of all heads in an int. */
static inline int rapt__tokens_max(const rapt_config *config)
{
    return rapt__min(1 << 28, ATTENTION_ROWS / config->heads);
}
static inline int rapt__batch_max(const rapt_config *config)
{
    return rapt__min(1 << 20, rapt__tokens_max(config));
}
/* Returns RAPT_BAD_ARGUMENT if tokens are NULL, out of range or more than the limits. */
rapt_status rapt__tokens_check(const rapt_tokens *tokens, const struct token_limits *limits,
                               rapt_message *why);

/* The output matrix as an op reads it. */
struct linear rapt__linear_at(const struct linear_offsets *offset, const float *block);

/* ---- scales.c ---- */
#define SCALES_KEY "rapt.scales" /* in the metadata */
/* In the metadata: target tokens for each source token, as the settings beside the model have it */
#define LENGTH_KEY "rapt.max_length_factor"
/* rapt_model_scales of what is no parameter, with one row. */
rapt_status rapt__scales_named(const rapt_model *model, const char *name, float *scale,
                               float *alpha, rapt_message *why);

#endif
