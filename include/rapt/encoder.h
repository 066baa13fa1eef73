/* encoder.h - turns texts into vectors (embeddings) for search and comparison, and classifies or
   scores texts or pairs of texts. */
#ifndef RAPT_ENCODER_H
#define RAPT_ENCODER_H

#include "precision.h"
#include "text.h"
#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model with an encoder, its tokenizer and a session. Only one thread at a time may use an
   encoder. Any number of encoders and threads may share the model and the tokenizer.

   A text is encoded as the sequence of its tokens, preceded by RAPT_TOKEN_BEGIN if the metadata key
   "rapt.source_begin" is "1", and followed by RAPT_TOKEN_END unless config.no_source_end is set.
   Texts longer than max_tokens (see rapt_encoder_options) are truncated. */
typedef struct rapt_encoder rapt_encoder;

/* Determines whether an embedding is divided by its L2 norm. */
typedef enum rapt_normalize {
    RAPT_NORMALIZE_MODEL, /* yes if the model's metadata key "rapt.normalize" is "1", else no */
    RAPT_NORMALIZE_YES,
    RAPT_NORMALIZE_NO
} rapt_normalize;

/* Options of an encoder. */
typedef struct rapt_encoder_options { /* size-first, see base.h */
    size_t size;
    rapt_pooling pooling;     /* how rapt_encoder_embed reduces the encoder's output, one row per
                                 token, to one vector; 0 means config.pooling or, if that is NONE,
                                 MEAN */
    rapt_normalize normalize; /* whether embeddings are normalized */
    int max_tokens; /* maximum number of tokens per text, including special tokens, at most 2^24; 0
                       means the value of the metadata key "rapt.max_tokens" or, if that is missing,
                       config.positions. Values above config.positions mean config.positions */
    int batch;      /* texts per batch, at most 65536; 0 means 32 */
    int batch_tokens; /* tokens per batch, at most 2^28; 0 means 2048. Values below max_tokens
                         mean max_tokens */
    int threads;      /* maximum number of threads, see base.h */
    rapt_precision precision; /* precision in which rapt_encoder_load loads the model */
    rapt_products products;   /* as in rapt_limits */
} rapt_encoder_options;

/* Loads an encoder from a model file, or from any file or folder that rapt_model_import accepts.
   options may be NULL for the defaults. The caller must free *encoder.

   Returns RAPT_NO_FILE if the model cannot be read. Returns RAPT_BAD_FILE if it is damaged or has
   no encoder that reads tokens, if its tokenizer is missing, lacks a special token or does not
   match the model, or if max_tokens leaves no room for tokens between the special tokens of a pair.
   Returns RAPT_BAD_ARGUMENT if an option is out of range, and RAPT_NO_MEMORY if an allocation
   fails. Other errors are the same as for rapt_model_import_with. */
RAPT_API rapt_status rapt_encoder_load(rapt_encoder **encoder, const char *path,
                                       const rapt_encoder_options *options,
                                       const rapt_allocator *allocator, rapt_message *why);
/* Creates an encoder for a model and a tokenizer that belong to the caller, are not copied and must
   outlive the encoder. If tokenizer is NULL, the encoder creates a tokenizer from the model's
   metadata, and owns it. options->precision must be 0: convert the model with
   rapt_model_set_precision first. options may be NULL for the defaults. The caller must free
   *encoder.

   Returns RAPT_BAD_ARGUMENT if an option is out of range, options->precision is not 0, max_tokens
   leaves no room for tokens between the special tokens of a pair, the model has no encoder that
   reads tokens, or the tokenizer does not match the model's vocabulary or lacks a special token.
   Returns RAPT_BAD_FILE if the tokenizer in the metadata is missing or damaged, and RAPT_NO_MEMORY
   if an allocation fails. */
RAPT_API rapt_status rapt_encoder_create(rapt_encoder **encoder, const rapt_model *model,
                                         const rapt_tokenizer *tokenizer,
                                         const rapt_encoder_options *options,
                                         const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_encoder_free(rapt_encoder *encoder); /* NULL is allowed */
/* Returns the model. It belongs to the caller if it was passed to rapt_encoder_create, else to the
   encoder. Returns NULL for NULL. */
RAPT_API const rapt_model *rapt_encoder_model(const rapt_encoder *encoder);

/* Returns the tokenizer. It belongs to the caller if it was passed to rapt_encoder_create, else to
   the encoder. Returns NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_encoder_tokenizer(const rapt_encoder *encoder);

/* Computes the embeddings of texts [count] as vectors [count][config.width]. The vector of a text
   does not depend on the other texts. If a text has no tokens at all, not even special ones, its
   vector is 0.

   Returns RAPT_BAD_ARGUMENT if a text is NULL or cannot be tokenized, and RAPT_NO_MEMORY if an
   allocation fails. After an error, vectors may hold the embeddings of some of the texts. */
RAPT_API rapt_status rapt_encoder_embed(rapt_encoder *encoder, const rapt_text *texts, size_t count,
                                        float *vectors, rapt_message *why);

/* Computes logits [count][config.target_vocab] for texts [count] or, if seconds is not NULL, for
   the pairs texts[i], seconds[i]. A pair is encoded as one sequence: the first text as usual, then
   the second text and another RAPT_TOKEN_END. If the model has two or more token types, the second
   text and its end token have type 1. If the metadata key "rapt.pair_ends" is "2", as in models
   with the vocabulary of RoBERTa or MPNet, two end tokens separate the texts, and all tokens have
   type 0. If a pair is too long, tokens are removed one at a time until it fits: from the longer
   text, or from both alternately once they are equally long.

   Returns RAPT_BAD_ARGUMENT if the model does not compute one row of logits per text, because it
   has a decoder or lacks an output matrix or pooling. Other errors are the same as for
   rapt_encoder_embed; after an error, logits may hold the results for some of the texts. */
RAPT_API rapt_status rapt_encoder_classify(rapt_encoder *encoder, const rapt_text *texts,
                                           const rapt_text *seconds, size_t count, float *logits,
                                           rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
