/* transformer.h - the Transformer of Vaswani et al. 2017, whole or one of its halves: its
   configuration, its parameters (a model, constant at inference) and its state while it runs (a
   session: activations, keys and values of the tokens so far). */
#ifndef RAPT_TRANSFORMER_H
#define RAPT_TRANSFORMER_H

#include "attention.h"
#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which halves a model has. */
typedef enum rapt_kind {
    RAPT_KIND_ENCODER_DECODER, /* source to target: rapt_encode, rapt_decode, rapt_generate */
    RAPT_KIND_ENCODER_ONLY,    /* source to classes: rapt_classify, rapt_embed */
    RAPT_KIND_DECODER_ONLY     /* a language model: rapt_decode, rapt_generate */
} rapt_kind;
/* Where the norm of a sublayer f is. */
typedef enum rapt_norm_order {
    RAPT_NORM_ORDER_POST, /* x = norm(x + f(x))   Vaswani et al. 2017 */
    RAPT_NORM_ORDER_PRE   /* x = x + f(norm(x)), and a norm after the last layer */
} rapt_norm_order;
/* Of the feed-forward layers. */
typedef enum rapt_activation {
    RAPT_ACTIVATION_RELU, /* max(0, x) */
    RAPT_ACTIVATION_GELU, /* x Phi(x), Phi the normal distribution */
    RAPT_ACTIVATION_SILU  /* x / (1 + exp(-x)) */
} rapt_activation;
/* What is added to the embedding of a token at position p, which counts from first_position. */
typedef enum rapt_position {
    /* angle(p, i) = p / 10000^(2i / width), i = 0 .. width/2 - 1 */
    RAPT_POSITION_INTERLEAVED,     /* columns sin cos sin cos ...      Vaswani et al. 2017, 3.5 */
    RAPT_POSITION_CONCATENATED,    /* all sines, then all cosines */
    RAPT_POSITION_CONCATENATED_N1, /* the same with i / (width/2 - 1): tensor2tensor, Marian */
    RAPT_POSITION_LEARNED,         /* a row of a learned table */
    RAPT_POSITION_NONE             /* nothing */
} rapt_position;
/* Which tables are one. */
typedef enum rapt_tie {
    RAPT_TIE_NONE,   /* source table, target table and output matrix are three */
    RAPT_TIE_OUTPUT, /* the target table is the output matrix */
    RAPT_TIE_ALL     /* one table for all three; the vocabularies are one */
} rapt_tie;
/* Of all norms. */
typedef enum rapt_norm_type {
    RAPT_NORM_TYPE_LAYER, /* Ba, Kiros and Hinton 2016 */
    RAPT_NORM_TYPE_RMS /* x / sqrt(mean of x^2 + epsilon), times a gain   Zhang and Sennrich 2019 */
} rapt_norm_type;
/* Added to the scores of self-attention by the distance of key and query; a stack has one for all
   of its layers. */
typedef enum rapt_relative_bias {
    RAPT_RELATIVE_BIAS_NONE,  /* nothing is added */
    RAPT_RELATIVE_BIAS_ALIBI, /* -slope |distance|, slopes 2^(-8 h / heads) for h = 1, 2, ...
                                 (of a number of heads that is no power of two: those of the
                                 power below, then every other one of the power above)
                                                    Press, Smith and Lewis 2022 */
    RAPT_RELATIVE_BIAS_ALIBI_LEARNED, /* begins there; "encoder.slopes", "decoder.slopes" */
    RAPT_RELATIVE_BIAS_T5             /* a learned table; "encoder.relative_bias.weight", in the
                                         encoder half of the buckets for keys after the query
                                                            Raffel et al. 2020 */
} rapt_relative_bias;
typedef enum rapt_pooling {                     /* of the rows of a sequence to one */
                            RAPT_POOLING_NONE,  /* each row stays */
                            RAPT_POOLING_FIRST, /* the first one */
                            RAPT_POOLING_MEAN   /* the mean */
} rapt_pooling;

/* What a target begins with. */
typedef enum rapt_decoder_start {
    RAPT_DECODER_START_BEGIN, /* the tokenizer's RAPT_TOKEN_BEGIN */
    RAPT_DECODER_START_END,   /* its RAPT_TOKEN_END: fairseq */
    RAPT_DECODER_START_PAD,   /* its RAPT_TOKEN_PAD: MarianMT of Hugging Face */
    RAPT_DECODER_START_ZERO   /* any token: the first one of every target is read as zeros, to which
                                 its position is added: Marian, CTranslate2 */
} rapt_decoder_start;

/* What a decoder remembers its earlier tokens by, instead of self-attention. */
typedef enum rapt_recurrence {
    RAPT_RECURRENCE_NONE, /* self-attention */
    RAPT_RECURRENCE_SSRU  /* y = max(c_t, 0), c_t = f c_(t-1) + (1 - f) W x, f = 1 / (1 + exp(-V x -
                             b)), c_0 = 0: the simpler simple recurrent unit of Kim et al. 2019; W,
                             V:  "decoder.layers.0.recurrent.input.weight", "...forget.weight" */
} rapt_recurrence;

/* The configuration of a model. Set size and whatever differs from 0, or start from a preset.
   Fields named self_* apply to self-attention in both halves. At inference nothing is drawn at
   random: SAMPLE takes the most likely key and GUMBEL_SOFTMAX adds no noise. rapt_config_field_at
   gives the name, range and default of every field to programs. */
enum { RAPT_CONFIG_FIELDS = 47 };
typedef struct rapt_config { /* size-first, see base.h */
    size_t size;             /* sizeof(rapt_config) */
    rapt_kind kind;          /* which halves the model has */
    int source_vocab;   /* tokens of the source vocabulary, 0 to 2^24; 0: there is no encoder, or it
                           reads vectors (source_width) */
    int target_vocab;   /* tokens of the target vocabulary, or classes of an encoder-only model, 1
                           to 2^24 */
    int positions;      /* tokens of the longest sequence, 1 to 2^24 */
    int width;          /* elements of a token's vector, 1 to 2^16; Vaswani et al.: 512 */
    int heads;          /* attention heads, 1 to 2^16; divides width */
    int key_heads;      /* heads of keys and values, 0 to 2^16; divides heads (Ainslie et al. 2023).
                           0: one for each query head */
    int ffn_width;      /* hidden units of the feed-forward layers, 0 to 2^20; 0: no feed-forward
                           layers. Vaswani et al.: 4 width */
    int encoder_layers; /* 0 to 2^10; 0: no encoder */
    int decoder_layers; /* 0 to 2^10; 0: no decoder */

    rapt_score self_score;  /* score function of self-attention */
    rapt_score cross_score; /* score function of cross-attention */

    rapt_norm_order norm_order; /* whether norms come after the residual sums or before the
                                   sublayers */
    rapt_activation activation; /* of the feed-forward layers */
    rapt_position position;     /* positional embedding */
    rapt_tie tie;               /* which embeddings and output matrix are the same */
    int output_bias;            /* 1: the logits have a bias */
    int plain_embedding;        /* 1: embeddings are not multiplied by sqrt(width) */
    float norm_epsilon;         /* added to the variance in norms, 0 to below 1; 0: 1e-5 */

    rapt_locality self_locality;      /* which keys self-attention can see */
    rapt_locality cross_locality;     /* which keys cross-attention can see */
    rapt_normalizer self_normalizer;  /* how scores become weights in self-attention */
    rapt_normalizer cross_normalizer; /* how scores become weights in cross-attention */
    float self_radius;                /* of local self-attention, in tokens, 0 or more; 0: 4 */
    float cross_radius;               /* of local cross-attention, in tokens, 0 or more; 0: 4 */
    float self_temperature;           /* of Gumbel-softmax in self-attention, 0 or more; 0: 1 */
    float cross_temperature;          /* of Gumbel-softmax in cross-attention, 0 or more; 0: 1 */

    int score_hidden;          /* hidden units of additive scores, 0 to 2^16; 0: width / heads */
    int center_hidden;         /* hidden units of the network that predicts the center of local-p, 0
                                  to 2^16; 0: width / heads */
    int location_channels;     /* filters of location-aware scores, 0 to 2^10; 0: 4 */
    int location_filter_width; /* width of these filters, odd, 0 to 2^10; 0: 7 */

    rapt_pooling pooling; /* of an encoder-only model: one answer per token (none) or one per
                             sequence */

    rapt_rotary rotary; /* rotary positions in self-attention (Su et al. 2021) */
    int rotary_width;   /* leading elements of a head that are rotated, even, 0 to 2^16; 0: all */
    float rotary_base;  /* base of the rotary angles, 0 or more; 0: 10000 */

    rapt_relative_bias relative_bias; /* added to scores of self-attention by distance */
    int relative_buckets;  /* buckets of T5 biases, even and at least 4, 0 to 2^10; 0: 32 */
    int relative_distance; /* distance in tokens from which on all keys share the last T5 bucket, 0
                              to 2^24; 0: 128 */

    float score_cap; /* soft cap of all scores: x becomes cap tanh(x / cap); 0 or more, 0: no
                        cap (Gemma Team 2024) */
    rapt_norm_type norm_type; /* layer norm or RMSNorm */
    int ffn_gated;      /* 1: feed-forward layers compute activation(x W) times x V: SwiGLU with
                           SiLU, GEGLU with GELU (Shazeer 2020) */
    int source_width;   /* elements of the vectors that the encoder reads instead of tokens, 0 to
                           2^16; source_vocab is 0 then. 0: it reads tokens */
    int first_position; /* position of the first token in sinusoids, 0 to 2^24 */

    rapt_decoder_start decoder_start;   /* first input of the decoder */
    rapt_recurrence decoder_recurrence; /* unit of the decoder in place of self-attention */
    int no_source_end;                  /* 1: translators append no end token to the source */
    int alignment_layer; /* decoder layer, counted from 1, whose first head of cross-attention gives
                            the alignment of translations, 0 to 2^10; 0: the mean of all layers and
                            heads */
    int reserved[1];     /* 0 */
} rapt_config;

/* What the library knows of one field. Static; the struct may grow at its end. */
typedef enum rapt_field_type {
    RAPT_FIELD_TYPE_INT,   /* an int */
    RAPT_FIELD_TYPE_FLAG,  /* an int, 0 or 1 */
    RAPT_FIELD_TYPE_FLOAT, /* a float */
    RAPT_FIELD_TYPE_ENUM   /* an enumeration, read and written as int */
} rapt_field_type;
/* One field of rapt_config. */
typedef struct rapt_config_field {
    const char *name;               /* "ffn_width", as in rapt_config and in model files */
    rapt_field_type type;           /* of its member */
    size_t offset;                  /* of 4 bytes in rapt_config */
    double min, max;                /* the least value; the greatest, of an enumeration too */
    double zero;                    /* the value that 0 stands for, where that is a fixed one */
    const char *(*word)(int value); /* of an enumeration: "pre"; NULL: no such value; else NULL */
    const char *meaning;            /* one line of English */
} rapt_config_field;
/* In the order of rapt_config; static. NULL: no such index. */
RAPT_API const rapt_config_field *rapt_config_field_at(int index);

/* Fills *config, whose size is set: "tiny" (4+4 layers, width 128), "small" (6+6, 256) or "base"
   (6+6, 512; Vaswani et al. 2017, table 3), with one vocabulary of `vocab` tokens and everything
   tied. RAPT_BAD_ARGUMENT: no such preset. */
RAPT_API rapt_status rapt_config_preset(rapt_config *config, const char *name, int vocab,
                                        rapt_message *why);
/* RAPT_OK, or RAPT_BAD_ARGUMENT and a message that names the field. */
RAPT_API rapt_status rapt_config_check(const rapt_config *config, rapt_message *why);

/* What is learned. Constant while it is used: any number of sessions and threads may share it. */
typedef struct rapt_model rapt_model;

/* A new model with random parameters. Equal seeds make equal models, on any machine. *model is the
   caller's to free. RAPT_BAD_ARGUMENT: what rapt_config_check refuses. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_model_create(rapt_model **model, const rapt_config *config, uint64_t seed,
                                       const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_model_free(rapt_model *model); /* NULL is allowed */
/* Owned by the model; NULL for NULL. Its size is the library's, so a copy needs its own:
       rapt_config copy = *rapt_model_config(model); copy.size = sizeof copy; */
RAPT_API const rapt_config *rapt_model_config(const rapt_model *model);
RAPT_API size_t rapt_model_parameters(const rapt_model *model); /* how many numbers are learned */
/* Of memory it holds; those of a file that it has mapped, too. */
RAPT_API size_t rapt_model_bytes(const rapt_model *model);

/* Metadata: pairs of strings (UTF-8) in a model file. "rapt.config" is the model's own, the others
   are the caller's; a translator keeps its tokenizers there. Will not grow. */
typedef struct rapt_metadata {
    const char *key, *value; /* its name, UTF-8, 0-terminated; its text, likewise */
} rapt_metadata;

/* One safetensors file with the configuration and the model's metadata inside; `metadata` adds to
   these, replaces the value of a key, and drops a key where value is NULL. The file is replaced
   atomically (temporary file, fsync, rename): after a failure the old one stands. RAPT_NO_FILE: it
   cannot be written. RAPT_BAD_ARGUMENT: a key is NULL, the library's own or there twice, a text is
   not UTF-8, or count is negative. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_model_save(const rapt_model *model, const char *path,
                                     const rapt_metadata *metadata, int count, rapt_message *why);
typedef struct rapt_save_options { /* size-first, see base.h */
    size_t size;                   /* sizeof(rapt_save_options) */
    int packed;                    /* not 0: as the library has parameters in memory */
    int reserved;                  /* 0 */
} rapt_save_options;
/* The same; NULL options: all defaults. Errors as rapt_model_save.

   A packed file is opened in milliseconds, whatever its size: it is mapped, not read, and all
   processes that have opened it share its memory. It is a safetensors file, in which a matrix of
   the model is [panels][columns][16]: element [p][c][i] is row 16 p + i, column c; other parameters
   are as long as whole vectors of 16. Metadata "rapt.layout" tells it from others. */
RAPT_API rapt_status rapt_model_save_with(const rapt_model *model, const char *path,
                                          const rapt_save_options *options,
                                          const rapt_metadata *metadata, int count,
                                          rapt_message *why);
/* Files of version 0.2 are read as well. *model is the caller's to free. RAPT_BAD_FILE: the file is
   damaged, or a parameter is infinite or NaN. */
RAPT_API rapt_status rapt_model_load(rapt_model **model, const char *path,
                                     const rapt_allocator *allocator, rapt_message *why);
typedef struct rapt_load_options { /* size-first, see base.h */
    size_t size;                   /* sizeof(rapt_load_options) */
    int non_finite;                /* not 0: parameters may be infinite or NaN */
    int no_mapping;                /* not 0: a packed file is read into memory, not mapped */
} rapt_load_options;
/* NULL options: all defaults, as rapt_model_load.

   A packed file on a disk is mapped, read-only, until the model is freed, written to or trained,
   which copies its parameters first; the file itself never changes. While it is mapped it must not
   be cut or changed in place, or the process may end by SIGBUS (saving a model to its path is no
   change: the old file stays until nobody uses it; on Windows a mapped file cannot be replaced).
   Where a file could change, where a mapping is not possible or of a file that other programs have
   written, all is read, as no_mapping asks. Sizes, names and offsets are checked whatever happens.
   That values are finite is believed of a mapped file whose writer has checked them ("rapt.layout":
   "panels 16, finite"); rapt_model_check does so again. A value that is not finite makes results
   that are none, and nothing worse. */
RAPT_API rapt_status rapt_model_load_with(rapt_model **model, const char *path,
                                          const rapt_load_options *options,
                                          const rapt_allocator *allocator, rapt_message *why);

/* RAPT_NOT_FINITE: a parameter is infinite or NaN; *why names it. Reads all of them. */
RAPT_API rapt_status rapt_model_check(const rapt_model *model, rapt_message *why);

/* The same as rapt_model_load_with of a file in memory, of size bytes, which are copied. */
RAPT_API rapt_status rapt_model_load_memory(rapt_model **model, const void *bytes, size_t size,
                                            const rapt_load_options *options,
                                            const rapt_allocator *allocator, rapt_message *why);
/* The same of a file that the caller reads. */
RAPT_API rapt_status rapt_model_load_from(rapt_model **model, const rapt_reader *reader,
                                          const rapt_load_options *options,
                                          const rapt_allocator *allocator, rapt_message *why);
/* The bytes that rapt_model_save writes, into memory: bytes [capacity]. *size: how many there are;
   bytes may be NULL to ask. RAPT_BAD_ARGUMENT, and nothing but *size written: capacity is less. */
RAPT_API rapt_status rapt_model_save_memory(const rapt_model *model, void *bytes, size_t capacity,
                                            size_t *size, const rapt_metadata *metadata, int count,
                                            rapt_message *why);
/* The same bytes, from the first to the last, to a file that the caller writes. */
RAPT_API rapt_status rapt_model_save_to(const rapt_model *model, const rapt_writer *writer,
                                        const rapt_metadata *metadata, int count,
                                        rapt_message *why);

/* The metadata a model was loaded with, owned by it, in the order of their keys. NULL: no such key.
   {NULL, NULL}: no such index. A created model has none. */
RAPT_API const char *rapt_model_metadata(const rapt_model *model, const char *key);
/* How many there are, and each by its index. */
RAPT_API int rapt_model_metadata_count(const rapt_model *model);
/* {NULL, NULL}: no such index. */
RAPT_API rapt_metadata rapt_model_metadata_at(const rapt_model *model, int index);

/* The parameters one by one, by name, as matrices [rows][columns] (a vector is one row). The model
   holds them in another order, so they are copied out and in. rapt_tensor will not grow. */
typedef struct rapt_tensor {
    const char *name;  /* "encoder.layers.0.self_attn.qkv.weight", owned by the model */
    int rows, columns; /* its rows, 1 or more; its columns, 1 or more */
} rapt_tensor;
/* How many there are; 0 for NULL. */
RAPT_API int rapt_model_tensors(const rapt_model *model);
RAPT_API rapt_tensor rapt_model_tensor(const rapt_model *model, int index); /* name NULL: none */
RAPT_API int rapt_model_find(const rapt_model *model, const char *name);    /* index, or -1 */
/* data: [rows][columns]. Writing while a session or trainer computes is a data race.
   RAPT_NO_MEMORY, of a mapped model alone: there is none for a copy. */
RAPT_API rapt_status rapt_model_read(const rapt_model *model, int index, float *data,
                                     rapt_message *why);
/* How whole numbers of the file that the model was imported from stand for a parameter, row by row:
   value = q x (1 / scale), |q| at most 127 or 32767; and what the engine of that file multiplies
   the rows with that meet the matrix, if it knows (alpha of Bergamot). scales and alphas: [rows], 0
   where there is none; either may be NULL. Training does not change them. They are metadata
   "rapt.scales", which a saved model keeps. RAPT_BAD_FILE: these metadata are damaged. */
RAPT_API rapt_status rapt_model_scales(const rapt_model *model, int index, float *scales,
                                       float *alphas, rapt_message *why);
/* The other way round: data [rows][columns] becomes the parameter. Errors as rapt_model_read. */
RAPT_API rapt_status rapt_model_write(rapt_model *model, int index, const float *data,
                                      rapt_message *why);

/* Sequences of tokens stored back to back: sequence b is ids[starts[b]] .. ids[starts[b+1] - 1];
   starts[0] is 0. Nothing is padded. */
typedef struct rapt_tokens {
    int batch;            /* sequences */
    const int32_t *ids;   /* of all sequences, back to back; NULL with vectors */
    const int *starts;    /* [batch + 1] */
    const float *vectors; /* instead of ids, of an encoder that reads vectors: see below */
} rapt_tokens;

/* A model whose encoder reads vectors (config.source_width) takes rapt_tokens with `vectors`
   instead of `ids` wherever it takes a source: image patches, frames, embeddings of your own. Row r
   of sequence b is vectors[(starts[b] + r) * source_width]. The model multiplies each row by
   "encoder.source.weight" [width][source_width] and adds "encoder.source.bias" and its positional
   embedding. Vectors for a model that reads tokens, and tokens for one that reads vectors, are
   RAPT_BAD_ARGUMENT. */

/* The largest inputs of a session; its memory follows from them. */
typedef struct rapt_limits { /* size-first, see base.h */
    size_t size;             /* sizeof(rapt_limits) */
    int batch;               /* source sequences at once */
    int beams;               /* target sequences per source; 0: 1 */
    int source_tokens;       /* of all source sequences together */
    int target_length;       /* tokens of one target sequence; memory has space for this rounded up
                                to a multiple of 16, which searches may use */
    int target_tokens;       /* of one call of rapt_decode; 0: batch * beams, which is what
                                rapt_generate needs */
    int threads;             /* see base.h */
    int alignments;   /* not 0: rapt_generate can give alignments; their rows are kept while it
                         searches, which takes target_length * beams * source_tokens floats or more */
    int self_weights; /* not 0: rapt_session_weights can give self-attention; queries and keys of
                         every layer are kept, which takes about layers * tokens * 4 * width floats,
                         and the encoder takes all sequences at once; no time */
} rapt_limits;

/* One thread at a time may use a session; a model may serve any number of them. */
typedef struct rapt_session rapt_session;
/* Bytes that rapt_session_create allocates; 0: an argument is wrong, or it would not fit into
   memory. */
RAPT_API size_t rapt_session_bytes(const rapt_model *model, const rapt_limits *limits);
/* The model is not copied and must outlive the session. *session is the caller's to free; limits
   are copied. RAPT_BAD_ARGUMENT: one of them is out of range, and *why names it. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_session_create(rapt_session **session, const rapt_model *model,
                                         const rapt_limits *limits, const rapt_allocator *allocator,
                                         rapt_message *why);
RAPT_API void rapt_session_free(rapt_session *session); /* NULL is allowed */

/* Encodes source sequences and drops all target tokens. *encoder_output: [source tokens][width],
   owned by the session and valid until the next call; encoder_output NULL: not wanted.
   A decoder-only model has no source: give batch alone (ids and starts NULL) to begin that many
   targets; a prompt is tokens of rapt_decode, or a prefix of rapt_generate.
   RAPT_BAD_ARGUMENT: more sequences or tokens than the limits, starts that do not ascend, or a
   token that is in no vocabulary; *why names its index. */
RAPT_API rapt_status rapt_encode(rapt_session *session, const rapt_tokens *source,
                                 const float **encoder_output, rapt_message *why);

/* What an encoder-only model was trained for: encodes the source, as rapt_encode does, and applies
   the output matrix. *logits: [source tokens][target_vocab], or, where the configuration pools,
   [source sequences][target_vocab]; owned by the session and valid until the next call. Of an empty
   sequence with pooling: the output's bias. Other kinds are RAPT_BAD_ARGUMENT: they have targets.
 */
RAPT_API rapt_status rapt_classify(rapt_session *session, const rapt_tokens *source,
                                   const float **logits, rapt_message *why);

/* One vector for each source sequence: encodes the source, as rapt_encode does, and pools the
   encoder's output, whatever the configuration says. *embeddings: [source sequences][width], owned
   by the session and valid until the next call; 0 for an empty sequence. pooling NONE is
   RAPT_BAD_ARGUMENT, and so is a decoder-only model. */
RAPT_API rapt_status rapt_embed(rapt_session *session, const rapt_tokens *source,
                                rapt_pooling pooling, const float **embeddings, rapt_message *why);

/* Appends tokens to the targets (batch * beams of the last rapt_encode; a sequence may be given
   0 tokens). *logits: [tokens][target_vocab], owned by the session, valid until the next call.
   n tokens in one call give the bits of n calls with one. RAPT_BAD_ARGUMENT: as rapt_encode; also
   if that has not been called. */
RAPT_API rapt_status rapt_decode(rapt_session *session, const rapt_tokens *target,
                                 const float **logits, rapt_message *why);

/* Target sequence i continues what was sequence parents[i] (of the same source), parents:
   [batch * beams]. Weights and alignments of the last rapt_decode cannot be asked for afterwards.
   RAPT_BAD_ARGUMENT: one of them is none, or of another source; the targets are those of a search
   (rapt_generate, rapt_score_targets). */
RAPT_API rapt_status rapt_session_reorder(rapt_session *session, const int *parents,
                                          rapt_message *why);

/* Cross-attention weights of the tokens given to the last rapt_decode: layer and head, or -1
   for the mean over all of them. weights: [tokens][source tokens], one row of the length of its own
   source for each token, back to back. Those of local-p do not sum to 1. RAPT_BAD_ARGUMENT: the
   model has no cross-attention, or no such layer or head, or targets were reordered since. */
RAPT_API rapt_status rapt_session_alignment(rapt_session *session, int layer, int head,
                                            float *weights, rapt_message *why);

/* Which weights; weights has one row for each query, back to back in the order of sequences. */
typedef enum rapt_weights {
    RAPT_WEIGHTS_ENCODER, /* self-attention; of each source token of the last rapt_encode a row as
                             long as its source */
    RAPT_WEIGHTS_DECODER, /* self-attention; of each token given to the last rapt_decode a row as
                             long as its target is now, 0 for the tokens after it */
    RAPT_WEIGHTS_CROSS    /* of the same tokens, as long as the source: rapt_session_alignment */
} rapt_weights;
/* Attention weights of a layer and head, or of their mean (-1), from what the model computed last
   and the statistics that its own softmax left: those that rapt_attention_weights gives of the same
   queries and keys, to the bit. Costs one product of queries and keys for each layer and head; with
   recurrent scores the rows of the call once more. weights: [queries][keys], each row as long as
   its own sequence. RAPT_BAD_ARGUMENT: limits.self_weights is 0, but self-attention is wanted; or
   the model has no such part, layer or head. */
RAPT_API rapt_status rapt_session_weights(rapt_session *session, rapt_weights which, int layer,
                                          int head, float *weights, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
