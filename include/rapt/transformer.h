/* transformer.h - the model of Vaswani et al. 2017, whole or in halves.

   A model holds what is learned and does not change while it is used: any number of sessions
   and threads may share it. A session holds what changes: activations, and the keys and values
   of the tokens so far. */
#ifndef RAPT_TRANSFORMER_H
#define RAPT_TRANSFORMER_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rapt_kind {
    RAPT_KIND_ENCODER_DECODER,
    RAPT_KIND_ENCODER_ONLY,
    RAPT_KIND_DECODER_ONLY
} rapt_kind;
typedef enum rapt_norm_order {
    RAPT_NORM_ORDER_POST, /* x = norm(x + f(x))   Vaswani et al. 2017 */
    RAPT_NORM_ORDER_PRE   /* x = x + f(norm(x)), and a norm after the last layer */
} rapt_norm_order;
typedef enum rapt_activation {
    RAPT_ACTIVATION_RELU,
    RAPT_ACTIVATION_GELU,
    RAPT_ACTIVATION_SILU
} rapt_activation;
typedef enum rapt_position {
    /* angle(p, i) = p / base^(2i / width), i = 0 .. width/2 - 1 */
    RAPT_POSITION_INTERLEAVED,     /* columns sin cos sin cos ...      Vaswani et al. 2017, 3.5 */
    RAPT_POSITION_CONCATENATED,    /* all sines, then all cosines */
    RAPT_POSITION_CONCATENATED_N1, /* the same with i / (width/2 - 1): tensor2tensor, Marian */
    RAPT_POSITION_LEARNED,
    RAPT_POSITION_NONE
} rapt_position;
typedef enum rapt_tie {
    RAPT_TIE_NONE,   /* source table, target table and output matrix are three */
    RAPT_TIE_OUTPUT, /* the target table is the output matrix */
    RAPT_TIE_ALL     /* one table for all three; the vocabularies are one */
} rapt_tie;

typedef struct rapt_config {
    rapt_kind kind;
    int source_vocab, target_vocab; /* tokens; 0 for the half that is absent */
    int positions;                  /* the longest sequence, in tokens */
    int width;                      /* of a token */
    int heads, key_heads;           /* heads divides width; key_heads 0: as many as heads */
    int ffn_width;                  /* of the feed-forward layer; 0: there is none */
    int encoder_layers, decoder_layers;
    rapt_score self_score, cross_score;
    rapt_norm_order norm_order;
    rapt_activation activation;
    rapt_position position;
    rapt_tie tie;
    int output_bias;     /* not 0: logits have a bias */
    int plain_embedding; /* not 0: embeddings are not multiplied by sqrt(width) */
    float norm_epsilon;  /* 0: 1e-5 */
    /* Of self-attention, in both halves, and of cross-attention, as attention.h defines them. All
       zero: a softmax over all keys. What scores and reach learn are parameters of the model. In
       use nothing is drawn: "sample" takes the likeliest key, "gumbel" adds no noise. */
    rapt_locality self_locality, cross_locality;
    rapt_normalizer self_normalizer, cross_normalizer;
    float self_radius, cross_radius;           /* of local reach; 0: 4 */
    float self_temperature, cross_temperature; /* of gumbel; 0: 1 */
    int score_hidden;  /* of additive and location-aware scores; 0: width / heads */
    int center_hidden; /* of local-p; 0: width / heads */
    int location_channels,
        location_filter_width; /* of location-aware scores; 0: 4 and 7; taps are odd */
} rapt_config;

/* "tiny" (4+4 layers, width 128), "small" (6+6, 256) or "base" (6+6, 512; Vaswani et al. 2017,
   table 3); RAPT_BAD_ARGUMENT: no such preset. One joint vocabulary, everything tied. */
RAPT_API rapt_status rapt_config_preset(rapt_config *config, const char *name, int vocab);
RAPT_API rapt_status rapt_config_check(const rapt_config *config, rapt_message *why);

typedef struct rapt_model rapt_model;

/* Equal seeds make equal models, on any machine. */
RAPT_API rapt_status rapt_model_create(rapt_model **model, const rapt_config *config, uint64_t seed,
                                       const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_model_free(rapt_model *model); /* NULL is allowed */
RAPT_API rapt_config rapt_model_config(const rapt_model *model);
RAPT_API size_t rapt_model_parameters(const rapt_model *model); /* how many numbers are learned */
RAPT_API size_t rapt_model_bytes(const rapt_model *model);      /* of memory it holds */

/* Notes are strings that travel in a model file: "rapt.config" is the model's own, the others
   are the caller's (a translator keeps its tokenizers there). */
typedef struct rapt_metadata {
    const char *key, *value;
} rapt_metadata;

/* One safetensors file with the configuration inside. Written to a temporary file, synced and
   renamed: after a failure the old file stands. */
RAPT_API rapt_status rapt_model_save(const rapt_model *model, const char *path,
                                     const rapt_metadata *metadata, int count, rapt_message *why);
RAPT_API rapt_status rapt_model_load(rapt_model **model, const char *path,
                                     const rapt_allocator *allocator, rapt_message *why);
/* The value of a note the model was loaded with, owned by the model; NULL: no such note. */
RAPT_API const char *rapt_model_metadata(const rapt_model *model, const char *key);

/* The parameters one by one, by name, as matrices [rows][columns] (a vector is one row).
   Inside they are stored the way the products read them, so they are copied out and in. */
typedef struct rapt_tensor {
    const char *name; /* "encoder.layers.0.self_attn.qkv.weight", owned by the model */
    int rows, columns;
} rapt_tensor;
RAPT_API int rapt_model_tensors(const rapt_model *model);
RAPT_API rapt_tensor rapt_model_tensor(const rapt_model *model, int index);
RAPT_API int rapt_model_find(const rapt_model *model, const char *name); /* index, or -1 */
RAPT_API rapt_status rapt_model_read(const rapt_model *model, int index, float *data);
RAPT_API rapt_status rapt_model_write(rapt_model *model, int index, const float *data);

/* Sequences of tokens stored back to back: sequence b is ids[starts[b]] .. ids[starts[b+1] - 1];
   starts[0] is 0. Nothing is padded. */
typedef struct rapt_tokens {
    int batch;
    const int32_t *ids;
    const int *starts; /* [batch + 1] */
} rapt_tokens;

/* What a session must have room for. */
typedef struct rapt_limits {
    int batch;         /* source sequences at once */
    int beams;         /* target sequences per source; 0: 1 */
    int source_tokens; /* of all source sequences together */
    int target_length; /* of one target sequence */
    int target_tokens; /* given to one call of rapt_decode; 0: batch * beams */
    int threads;       /* see base.h */
} rapt_limits;

typedef struct rapt_session rapt_session;
/* 0: the limits are wrong. Allocates for the length of the call. */
RAPT_API size_t rapt_session_bytes(const rapt_model *model, const rapt_limits *limits);
RAPT_API rapt_status rapt_session_create(rapt_session **session, const rapt_model *model,
                                         const rapt_limits *limits, const rapt_allocator *allocator,
                                         rapt_message *why);
RAPT_API void rapt_session_free(rapt_session *session); /* NULL is allowed */

/* Reads source sentences and forgets all target tokens. *memory: the encoder's output,
   [source tokens][width], owned by the session and valid until the next call; NULL allowed.
   A decoder-only model has no source: give batch alone (ids NULL) to begin that many targets. */
RAPT_API rapt_status rapt_encode(rapt_session *session, const rapt_tokens *source,
                                 const float **memory, rapt_message *why);

/* Appends tokens to the targets (batch * beams of the last rapt_encode; a sequence may be given
   0 tokens). *logits: [tokens][target_vocab], owned by the session, valid until the next call.
   n tokens in one call give the bits of n calls with one. */
RAPT_API rapt_status rapt_decode(rapt_session *session, const rapt_tokens *target,
                                 const float **logits, rapt_message *why);

/* Target sequence i continues what was sequence parents[i] (of the same source). */
RAPT_API rapt_status rapt_session_reorder(rapt_session *session, const int *parents);

/* Cross-attention weights of the tokens given to the last rapt_decode: layer and head, or -1
   for the mean over all of them. weights: for each token, one row of the length of its source,
   back to back. Those of local-p do not sum to 1. */
RAPT_API rapt_status rapt_session_alignment(rapt_session *session, int layer, int head,
                                            float *weights, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
