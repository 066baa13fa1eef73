/* encoder.h - computes with texts what an encoder knows about them: vectors (embeddings) for search
   and comparison, and the classes or scores of a text or a pair of texts. */
#ifndef RAPT_ENCODER_H
#define RAPT_ENCODER_H

#include "text.h"
#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model with an encoder, its tokenizer and a session. Only one thread at a time may use an
   encoder. Any number of encoders and threads may share the model and the tokenizer.

   A text is encoded as its tokens, followed by RAPT_TOKEN_END unless the configuration has
   no_source_end, and preceded by RAPT_TOKEN_BEGIN if the metadata "rapt.source_begin" is "1". A
   longer text is cut to the metadata "rapt.max_tokens", or to the model's positions. */
typedef struct rapt_encoder rapt_encoder;

/* Whether an embedding is divided by its L2 norm. */
typedef enum rapt_normalize {
    RAPT_NORMALIZE_MODEL, /* if the model's metadata "rapt.normalize" is "1" */
    RAPT_NORMALIZE_YES,
    RAPT_NORMALIZE_NO
} rapt_normalize;

/* Options of an encoder. */
typedef struct rapt_encoder_options { /* size-first, see base.h */
    size_t size;
    rapt_pooling pooling;     /* of embeddings; 0 means that of the configuration, or else MEAN */
    rapt_normalize normalize; /* of embeddings */
    int max_tokens;   /* tokens of a text, special ones included; 0 means as the model says */
    int batch;        /* texts per batch; 0 means 32 */
    int batch_tokens; /* tokens per batch; 0 means 2048 */
    int threads;      /* maximum number of threads, see base.h */
} rapt_encoder_options;

/* Loads an encoder from a model file or an imported folder (rapt_model_import). options may be NULL
   for the defaults. The caller must free *encoder.

   Returns RAPT_NO_FILE or RAPT_BAD_FILE if the model cannot be loaded, has no tokenizer or has no
   encoder; RAPT_BAD_ARGUMENT if an option is out of range; or RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_encoder_load(rapt_encoder **encoder, const char *path,
                                       const rapt_encoder_options *options,
                                       const rapt_allocator *allocator, rapt_message *why);
/* Creates an encoder for a model and a tokenizer that the caller owns. They are not copied and must
   outlive it. tokenizer may be NULL for the one in the model's metadata, which the encoder opens.
   The caller must free *encoder.

   Returns RAPT_BAD_ARGUMENT if an option is out of range, the model has no encoder of tokens, or
   the tokenizer does not match its vocabulary; RAPT_BAD_FILE if the metadata lack a tokenizer or it
   is damaged; or RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_encoder_create(rapt_encoder **encoder, const rapt_model *model,
                                         const rapt_tokenizer *tokenizer,
                                         const rapt_encoder_options *options,
                                         const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_encoder_free(rapt_encoder *encoder); /* NULL is allowed */
/* Returns the model, owned by the caller of rapt_encoder_create or by the encoder that loaded it;
   NULL for NULL. */
RAPT_API const rapt_model *rapt_encoder_model(const rapt_encoder *encoder);

/* Returns the tokenizer, owned by the caller who passed it to rapt_encoder_create, or else by the
   encoder; NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_encoder_tokenizer(const rapt_encoder *encoder);

/* Embeds texts [count]: vectors [count][width], where width is that of the configuration. The
   vector of a text does not depend on the others. A text without tokens, not even special ones,
   gets 0.

   Returns RAPT_BAD_ARGUMENT if a text is NULL or its words are in no vocabulary, or RAPT_NO_MEMORY.
   vectors then holds those of earlier texts. */
RAPT_API rapt_status rapt_encoder_embed(rapt_encoder *encoder, const rapt_text *texts, size_t count,
                                        float *vectors, rapt_message *why);

/* Computes the logits of texts [count], or of pairs of texts [count] and seconds [count] if seconds
   is not NULL: logits [count][target_vocab]. A pair is encoded as one sequence, in which the second
   text is followed by another RAPT_TOKEN_END and its tokens have type 1, if the model has types. If
   the pair is too long, the longer text is cut first.

   Returns RAPT_BAD_ARGUMENT if the model does not give one answer per text, for the reasons that
   rapt_encoder_embed has, or RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_encoder_classify(rapt_encoder *encoder, const rapt_text *texts,
                                           const rapt_text *seconds, size_t count, float *logits,
                                           rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
