/* translator.h - translates texts with a model and its tokenizers; imports and exports the models
   of other projects. */
#ifndef RAPT_TRANSLATOR_H
#define RAPT_TRANSLATOR_H

#include "file.h"
#include "generate.h"
#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model, its tokenizers and a session. Only one thread at a time may use a translator. Any number
   of translators and threads may share the model and the tokenizers.

   A source consists of its tokens, followed by the tokenizer's RAPT_TOKEN_END unless the
   configuration has no_source_end. A target begins with rapt_target_begin and ends with
   RAPT_TOKEN_END. The search rules determine which tokens a target cannot contain: padding and
   begin tokens, and with MARIAN also the unknown token. With CT2 none of these is excluded, but at
   least one token must precede the end. Tokens without a name are always excluded, as are those in
   the model's metadata "rapt.suppressed", ids separated by spaces. The length of a target is
   limited by the option max_length_factor, and always by the model's positions.

   Tokenizers are stored in the metadata of a model file in the form of rapt_tokenizer_write:
   "rapt.tokenizer" for both sides, or "rapt.source_tokenizer" and "rapt.target_tokenizer". */
typedef struct rapt_translator rapt_translator;

/* Options of a translator. */
typedef struct rapt_translator_options { /* size-first, see base.h */
    size_t size;
    int beams;                      /* width of the beam; 0 means 5 */
    int nbest;                      /* translations per sentence; 0 means 1 */
    float length_penalty;           /* 0 for no penalty; 1 ranks by mean log-probability */
    int batch;                      /* sentences per batch; 0 means 32 */
    int batch_tokens;               /* source tokens per batch; 0 means 2048 */
    int threads;                    /* maximum number of threads, see base.h */
    int min_length;                 /* as in rapt_generate_options */
    int no_repeat_ngram;            /* as in rapt_generate_options */
    rapt_search_rules search_rules; /* rules for searches, length limits and excluded tokens */
    rapt_preprocess preprocess;     /* normalization of sources, and of targets to be scored */
    /* Maximum number of target tokens per source token, counting the end in both. 0 means the
       default of the search rules: 2 plus 16 tokens (RAPT), the model's metadata
       "rapt.max_length_factor" or else 3 (MARIAN), the metadata "rapt.max_length" or else 511
       tokens in all (HF), or 256 tokens in all (CT2). */
    float max_length_factor;
} rapt_translator_options;

/* Fills in the options with which a model's own project would decode it: beams, length_penalty,
   min_length and no_repeat_ngram from the metadata "rapt.beams" and so on, in which
   rapt_model_import keeps the settings of a folder. The other options, and all if model is NULL,
   become 0. Writes at most `size` bytes. */
RAPT_API void rapt_translator_options_default(rapt_translator_options *options, size_t size,
                                              const rapt_model *model);

/* Imports a model, with its tokenizers as metadata, either from a file that rapt_model_save wrote
   or from a downloaded folder or file of another project:

       CTranslate2     model.bin and vocabularies
       Marian          a .bin or .npz file, and the vocabularies: those that decoder.yml names, or
                       .spm files, or lists with "vocab" in their names. Each may be compressed
                       by gzip. Includes OPUS-MT and the student models of Firefox
       Hugging Face    MarianMT: config.json, vocab.json, added_tokens.json if it exists,
                       source.spm, target.spm, and weights in model.safetensors or
                       pytorch_model.bin (any version of PyTorch), possibly in shards. BERT and
                       DistilBERT, with or without a classifier: config.json, weights, vocab.txt,
                       and what sentence-transformers adds (modules.json, 1_Pooling/config.json,
                       sentence_bert_config.json)

   Settings for decoding, in decoder.yml, generation_config.json or config.json, become metadata:
   "rapt.beams", "rapt.length_penalty", "rapt.max_length", "rapt.min_length",
   "rapt.no_repeat_ngram", "rapt.max_length_factor" and "rapt.suppressed". "rapt.ignored_settings"
   lists those that would change translations but cannot be followed.

   Quantized numbers become floats in the same way as in the file's own engine. The metadata
   "rapt.origin" names the format. The bias of MarianMT's pad token is set to -1e9, since no
   translation contains that token. MarianMT's sinusoids are computed, unless the file contains
   tables of sinusoids that differ, as 16-bit files do. The model then has RAPT_POSITION_LEARNED
   with these tables.

   The caller must free *model. Returns RAPT_NO_FILE if the model cannot be read, and RAPT_BAD_FILE
   if it has none of these formats, is damaged, or has an option that cannot be represented exactly;
   *why names it. */
RAPT_API rapt_status rapt_model_import(rapt_model **model, const char *path,
                                       const rapt_allocator *allocator, rapt_message *why);

/* Works like rapt_model_import. When the model is complete, also calls `file` with user for every
   file in the folder, in any order, unless path is a file that rapt_model_save wrote. Errors are
   the same as for rapt_model_import. */
RAPT_API rapt_status rapt_model_import_files(rapt_model **model, const char *path,
                                             rapt_file_fn *file, void *user,
                                             const rapt_allocator *allocator, rapt_message *why);

/* The formats in which a model can be exported. */
typedef enum rapt_export {
    RAPT_EXPORT_MARIAN, /* model.bin and vocab.spm, or vocab.src.spm and vocab.trg.spm. A tokenizer
                           that is a list of names is written as .yml instead, and its pieces as
                           source.spm or target.spm */
    RAPT_EXPORT_BERGAMOT, /* the same with 8-bit matrices, as in Firefox: target_vocab must be a
                             multiple of 8, width and ffn_width multiples of 16 */
    RAPT_EXPORT_HF,       /* MarianMT of Hugging Face: config.json, generation_config.json,
                             tokenizer_config.json, model.safetensors, vocab.json, source.spm and
                             target.spm; also target_vocab.json if the names of the two vocabularies
                             differ. A vocabulary without a pad token gets one more row for it */
    RAPT_EXPORT_CT2       /* CTranslate2: model.bin, config.json and vocabularies. Also source.spm
                             and target.spm if there are any, although CTranslate2 itself does not
                             read them */
} rapt_export;
/* Exports a model into an existing folder, replacing each file atomically. Marian's files name one
   layer whose first head gives alignments, so an alignment_layer of 0 is read back as the last
   layer, and alignment_heads as 1. CTranslate2's name one layer and a number of heads, so an
   alignment_layer of 0 is read back as all heads of the last. Hugging Face's name neither.

   Returns RAPT_BAD_ARGUMENT if the other project cannot run such a model or vocabulary; *why names
   all such fields and tokenizers. Also returns it if the folder contains a model in another format,
   or a file of tensors or vocabulary that the export would not replace; *why names the file. In
   these cases nothing is written. Returns RAPT_NO_FILE if a file cannot be written. */
RAPT_API rapt_status rapt_model_export(const rapt_model *model, rapt_export format,
                                       const char *folder, rapt_message *why);

/* Loads a translator that owns its model. path and errors are the same as for rapt_model_import.
   The options may be NULL, here and below, for those of
   rapt_translator_options_default. The caller must free *translator. */
RAPT_API rapt_status rapt_translator_load(rapt_translator **translator, const char *path,
                                          const rapt_translator_options *options,
                                          const rapt_allocator *allocator, rapt_message *why);
/* Creates a translator for a model and tokenizers that belong to the caller. They are not copied
   and must outlive the translator, which needs only the memory of a session. If target is NULL, the
   source's tokenizer is used for both sides. If both are NULL, the translator creates tokenizers of
   its own from the model's metadata. The caller must free *translator.

   Returns RAPT_BAD_ARGUMENT if the model is not an encoder-decoder, or if a tokenizer and its
   embeddings differ in their numbers of tokens. Returns RAPT_BAD_FILE if the tokenizers in the
   metadata are missing or damaged, or RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_translator_create(rapt_translator **translator, const rapt_model *model,
                                            const rapt_tokenizer *source,
                                            const rapt_tokenizer *target,
                                            const rapt_translator_options *options,
                                            const rapt_allocator *allocator, rapt_message *why);
/* Frees a translator. NULL is allowed. */
RAPT_API void rapt_translator_free(rapt_translator *translator);
/* Returns the model, owned by the translator if it loaded the model, else by the caller of
   rapt_translator_create. Returns NULL for NULL. */
RAPT_API const rapt_model *rapt_translator_model(const rapt_translator *translator);
/* Returns the tokenizer of sources, owned like the model; NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_translator_source(const rapt_translator *translator);
/* Returns the tokenizer of targets, owned like the model; NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_translator_target(const rapt_translator *translator);

/* Restricts the targets of all later calls to tokens that the shortlist has for their source, as
   with rapt_generate_options.shortlist. In a batch, each sentence has its own list. The shortlist
   is not copied and must outlive the translator, unless another call replaces it. NULL removes the
   restriction. rapt_translator_score ignores the shortlist. Returns RAPT_BAD_ARGUMENT if the
   shortlist was made for other vocabularies. */
RAPT_API rapt_status rapt_translator_set_shortlist(rapt_translator *translator,
                                                   const rapt_shortlist *shortlist,
                                                   rapt_message *why);
/* Sets a shortlist from a file, which the translator loads and owns. Errors are the same as for
   rapt_shortlist_load. */
RAPT_API rapt_status rapt_translator_load_shortlist(rapt_translator *translator, const char *path,
                                                    rapt_message *why);

/* Returns the first token of every target according to config.decoder_start, or -1 if the target's
   tokenizer does not have it or an argument is NULL. */
RAPT_API int32_t rapt_target_begin(const rapt_model *model, const rapt_tokenizer *target);

/* Translates one sentence, `text`, into out [capacity]; both are terminated by 0. *size receives
   the number of bytes needed, including the 0; size may be NULL. A text without tokens has an empty
   translation, and so has one of only begin and end tokens, except with MARIAN and HF. Allocates
   memory for the duration of the call. Returns RAPT_BAD_ARGUMENT if the text has more tokens than
   the model has positions, or if capacity is less than *size. */
RAPT_API rapt_status rapt_translate(rapt_translator *translator, const char *text, char *out,
                                    size_t capacity, size_t *size, rapt_message *why);

/* Bytes [begin, end) of a text. This struct will not grow. */
typedef struct rapt_span {
    size_t begin; /* the first byte */
    size_t end;   /* the byte after the last */
} rapt_span;

/* A translation. Its pointers are valid during the callback. Later versions may append fields. */
typedef struct rapt_translation {
    size_t sentence;       /* index into texts */
    int rank;              /* rank of the translation, 0 .. nbest - 1; 0 is the best */
    rapt_status status;    /* RAPT_BAD_ARGUMENT if the sentence is too long, in which case its text
                              is empty */
    const char *text;      /* terminated by 0 */
    size_t size;           /* bytes of text, without the 0 */
    float score;           /* as in rapt_generate_outputs */
    const int32_t *source; /* [source_count] tokens of the source, without special tokens */
    const int32_t *target; /* [target_count] tokens of the translation, without special tokens */
    int source_count;
    int target_count;
    /* Cross-attention as in rapt_generate_outputs, [target_count + 1][source_count + 1] including
       the ends; NULL unless requested. The row of the end is 0 if the translation was truncated,
       and its column is 0 if sources have no end token. */
    const float *alignment;
    /* The following fields, up to `ended`, are set if alignment is, and otherwise NULL or 0. */
    const rapt_span *source_spans; /* [source_count] bytes of the source that each token came
                                      from */
    const rapt_span *target_spans; /* [target_count] bytes of text that each token became */
    /* Words are maximal runs without white space (Unicode's White_Space). */
    const rapt_span *source_words; /* [source_word_count] words of the source */
    const rapt_span *target_words; /* [target_word_count] words of text */
    int source_word_count;
    int target_word_count;
    /* [target words][source words]: for each source word, the weights of its tokens are summed; for
       each target word, these sums are averaged over its tokens. A token with bytes in several
       words counts toward each in proportion. The weights of the end, and of tokens that consist of
       white space only, are in no column. */
    const float *word_alignment;
    int ended; /* 1 if the model ended the translation, 0 if a limit or the caller did or the text
                  is empty */
} rapt_translation;
/* Receives a translation. A nonzero result stops the call, which then returns RAPT_OK. */
typedef int rapt_translation_fn(void *user, const rapt_translation *translation);

/* Translates texts [count] in batches of similar length. Each translation is bit-identical to that
   of the same text on its own. callback runs on the calling thread and receives user. It is called
   once per sentence and rank, in order. If alignments is not 0, `alignment` and the fields that
   depend on it are filled in. Allocates memory for the duration of the call.

   An error in one text is reported in the status of its translation. Returns RAPT_NO_MEMORY
   (translations that callback has already received are not affected), or RAPT_BAD_ARGUMENT if an
   argument is NULL. */
RAPT_API rapt_status rapt_translate_many(rapt_translator *translator, const rapt_text *texts,
                                         size_t count, int alignments,
                                         rapt_translation_fn *callback, void *user,
                                         rapt_message *why);

/* Changes for a single call of rapt_translate_many_with. Fields that are 0 or NULL change
   nothing. */
typedef struct rapt_translate_call { /* size-first, see base.h */
    size_t size;
    int alignments; /* if nonzero, fill in `alignment` and the fields that depend on it */
    /* Options that replace those of the translator. beams must not exceed the translator's; 0 means
       the same number. batch, batch_tokens, threads, search_rules and preprocess cannot change and
       must be 0. All other fields have their usual defaults. */
    const rapt_translator_options *options;
    /* [count] translation i begins with the tokens of prefix i, which count like those of
       rapt_generate_options.prefix. The model decides whether to continue the last word or begin
       another; spaces at the end of the prefix are dropped, since they belong to the next word. A
       text without tokens still has an empty translation. If a prefix has more tokens than a
       translation may have, the status of its translation is RAPT_BAD_ARGUMENT. */
    const rapt_text *prefixes;
    /* Callbacks as in rapt_generate_options, on the calling thread. `source` is the index into
       texts, of which there are at most INT_MAX. Calls for different sentences of a batch are
       interleaved in no particular order. If token or stop stops the call, callback receives only
       the translations that have begun, as far as they have been generated. */
    rapt_token_fn *token;   /* reports tokens of each sentence's best translation once they are
                               final */
    rapt_logits_fn *logits; /* changes logits before a token is chosen */
    rapt_stop_fn *stop;     /* ends the call early */
} rapt_translate_call;

/* Translates like rapt_translate_many, but with the changes in call, which may be NULL. The
   translator itself is unchanged. user is passed to all four callbacks, none of which may use the
   translator. Errors are the same as for rapt_translate_many. Returns RAPT_BAD_ARGUMENT also if a
   field of call is out of range. */
RAPT_API rapt_status rapt_translate_many_with(rapt_translator *translator, const rapt_text *texts,
                                              size_t count, const rapt_translate_call *call,
                                              rapt_translation_fn *callback, void *user,
                                              rapt_message *why);

/* The score of a given translation. Its pointers are valid during the callback. Later versions may
   append fields. */
typedef struct rapt_text_score {
    size_t pair;        /* index into sources and targets */
    rapt_status status; /* RAPT_BAD_ARGUMENT if the source has no tokens or a text has too many */
    double sum;         /* sum of the log-probabilities of the target's tokens and its end, in
                           nats */
    const int32_t *target; /* [target_count] tokens, without the end */
    int target_count;
    const float *log_probabilities; /* [target_count + 1] log-probabilities of the tokens, followed
                                       by the end's */
} rapt_text_score;
/* Receives a score. A nonzero result stops the call, which then returns RAPT_OK. */
typedef int rapt_text_score_fn(void *user, const rapt_text_score *score);

/* Scores targets [count] as translations of sources [count], as rapt_score_targets does, with the
   same bits in any batch. callback runs on the calling thread, once per pair, in order, and
   receives user. Allocates memory for the duration of the call. Errors are the same as for
   rapt_translate_many.

   This function normalizes probabilities over all tokens. Translation (except with the rules of
   MARIAN and HF) normalizes them only over the tokens that a translation may contain, which exclude
   padding, the begin token and those that min_length or no_repeat_ngram forbids. The score of a
   translation without length_penalty is therefore at least as high as its sum here. */
RAPT_API rapt_status rapt_translator_score(rapt_translator *translator, const rapt_text *sources,
                                           const rapt_text *targets, size_t count,
                                           rapt_text_score_fn *callback, void *user,
                                           rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
