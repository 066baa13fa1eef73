/* translator.h - translation of texts with a model and its tokenizers; import and export of the
   models of other projects. */
#ifndef RAPT_TRANSLATOR_H
#define RAPT_TRANSLATOR_H

#include "file.h"
#include "generate.h"
#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model, its tokenizers and a session. One thread at a time may use a translator; any number of
   translators and threads may share the model and the tokenizers.

   A source consists of its tokens and the tokenizer's RAPT_TOKEN_END, unless the configuration has
   no_source_end. A target begins with rapt_target_begin and ends with RAPT_TOKEN_END. The search
   rules exclude tokens: padding and begin, with MARIAN also unknown, with CT2 none (but at least
   one token precedes the end). max_length_factor of the options limits the length; the model's
   positions always do.

   Tokenizers are metadata of the model file, as rapt_tokenizer_write writes them: "rapt.tokenizer"
   for both sides, or "rapt.source_tokenizer" and "rapt.target_tokenizer". */
typedef struct rapt_translator rapt_translator;

/* How to translate. */
typedef struct rapt_translator_options { /* size-first, see base.h */
    size_t size;
    int beams;                      /* 0: 5 */
    int nbest;                      /* translations per sentence; 0: 1 */
    float length_penalty;           /* 0: none; 1: the mean log-probability */
    int batch;                      /* sentences per batch; 0: 32 */
    int batch_tokens;               /* source tokens per batch; 0: 2048 */
    int threads;                    /* see base.h */
    int min_length;                 /* as in rapt_generate_options; 0: none */
    int no_repeat_ngram;            /* as in rapt_generate_options; 0: none */
    rapt_search_rules search_rules; /* of searches, length limits and excluded tokens */
    rapt_preprocess preprocess;     /* of sources, and of targets that are scored */
    /* A target has at most this many tokens per token of its source, counting the end in both. 0:
       the model's metadata "rapt.max_length_factor" with RAPT_SEARCH_RULES_MARIAN, else the
       project's rule: 2 plus 16 tokens (RAPT), 3 (MARIAN), 511 in all (HF) or 256 in all (CT2). */
    float max_length_factor;
} rapt_translator_options;

/* Imports a model with its tokenizers as metadata, either from a file that rapt_model_save wrote or
   from a folder or file of another project, as downloaded:

       CTranslate2     model.bin and vocabularies
       Marian          a .bin or .npz file, and the vocabularies that decoder.yml names, or .spm
                       files, or lists with "vocab" in their names, each plain or compressed by
                       gzip: OPUS-MT, the students of Firefox
       Hugging Face    MarianMT: config.json, vocab.json, added_tokens.json if it exists,
                       source.spm, target.spm, and weights in model.safetensors or
                       pytorch_model.bin (of any PyTorch), or in shards

   Quantized numbers become floats as the file's own engine reads them. Metadata "rapt.origin" names
   the format. The bias of MarianMT's pad token is -1e9 here, since no translation contains that
   token. Its sinusoids are computed, unless the file has tables of them that differ, as files in 16
   bits do: the model then has RAPT_POSITION_LEARNED with these tables. *model is the caller's to
   free. RAPT_NO_FILE: it cannot be read. RAPT_BAD_FILE: it is none of these, is damaged, or has an
   option that cannot be represented exactly; *why names it. */
RAPT_API rapt_status rapt_model_import(rapt_model **model, const char *path,
                                       const rapt_allocator *allocator, rapt_message *why);

/* Does the same as rapt_model_import. Once the model is complete, it also calls `file`, with user,
   for every file in the folder, in any order, unless path is a file that rapt_model_save wrote. */
RAPT_API rapt_status rapt_model_import_files(rapt_model **model, const char *path,
                                             rapt_file_fn *file, void *user,
                                             const rapt_allocator *allocator, rapt_message *why);

/* The formats of other projects. */
typedef enum rapt_export {
    RAPT_EXPORT_MARIAN, /* model.bin, and vocab.spm, or vocab.src.spm and vocab.trg.spm. A tokenizer
                           that is a list of names is written as .yml instead, and its pieces as
                           source.spm or target.spm */
    RAPT_EXPORT_BERGAMOT, /* the same with 8-bit matrices, as in Firefox: target_vocab must be a
                             multiple of 8, width and ffn_width of 16 */
    RAPT_EXPORT_HF,       /* MarianMT of Hugging Face: config.json, generation_config.json,
                             tokenizer_config.json, model.safetensors, vocab.json, source.spm and
                             target.spm; target_vocab.json if the names differ. A vocabulary without a
                             pad token gets one more row for it */
    RAPT_EXPORT_CT2       /* CTranslate2: model.bin, config.json, vocabularies; also source.spm and
                             target.spm, if there are any, which CTranslate2 leaves to its caller */
} rapt_export;
/* Exports a model into an existing folder, replacing each file atomically. Marian's files name one
   layer whose first head gives alignments, so that an alignment_layer of 0 is read back as the last
   layer; Hugging Face's files name none. RAPT_BAD_ARGUMENT: the other project cannot compute such a
   model or vocabulary (*why names the field or the tokenizer), or the folder holds a model in
   another format or a file of tensors or vocabulary that the export would not replace (*why names
   it). Nothing is written then. RAPT_NO_FILE: a file cannot be written. */
RAPT_API rapt_status rapt_model_export(const rapt_model *model, rapt_export format,
                                       const char *folder, rapt_message *why);

/* Loads a translator with a model of its own. path and errors: as rapt_model_import. Options may be
   NULL, here and below, for the defaults. *translator is the caller's to free. */
RAPT_API rapt_status rapt_translator_load(rapt_translator **translator, const char *path,
                                          const rapt_translator_options *options,
                                          const rapt_allocator *allocator, rapt_message *why);
/* Creates a translator for a model and tokenizers of the caller's, which are not copied and must
   outlive it; it costs the memory of a session. target NULL: the source's tokenizer serves both
   sides. Both NULL: those in the model's metadata, which the translator opens for itself.
   *translator is the caller's to free. RAPT_BAD_ARGUMENT: the model is not an encoder-decoder, or a
   tokenizer and its embeddings differ in their numbers of tokens. RAPT_BAD_FILE: the metadata lack
   tokenizers, or they are damaged. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_translator_create(rapt_translator **translator, const rapt_model *model,
                                            const rapt_tokenizer *source,
                                            const rapt_tokenizer *target,
                                            const rapt_translator_options *options,
                                            const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_translator_free(rapt_translator *translator); /* NULL is allowed */
/* Returns the model, owned by the caller of rapt_translator_create or by the translator that loaded
   it; NULL for NULL. */
RAPT_API const rapt_model *rapt_translator_model(const rapt_translator *translator);
/* Returns the tokenizer of sources, owned like the model; NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_translator_source(const rapt_translator *translator);
/* Returns the tokenizer of targets, owned like the model; NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_translator_target(const rapt_translator *translator);

/* From now on, targets contain only tokens that the shortlist has for their source, as with
   rapt_generate_options.shortlist; in a batch each sentence has its own. The shortlist is not
   copied and must outlive the translator, unless another call replaces it; NULL: none.
   rapt_translator_score ignores it. RAPT_BAD_ARGUMENT: it was made for other vocabularies. */
RAPT_API rapt_status rapt_translator_set_shortlist(rapt_translator *translator,
                                                   const rapt_shortlist *shortlist,
                                                   rapt_message *why);
/* The same with a shortlist file, which the translator loads for its tokenizers. Errors as
   rapt_shortlist_load. */
RAPT_API rapt_status rapt_translator_load_shortlist(rapt_translator *translator, const char *path,
                                                    rapt_message *why);

/* Returns the token that a target begins with according to config.decoder_start, or -1 if the
   target's tokenizer lacks it or an argument is NULL. */
RAPT_API int32_t rapt_target_begin(const rapt_model *model, const rapt_tokenizer *target);

/* Translates one sentence, `text`, into out [capacity]; both are terminated by 0. *size, if size is
   not NULL, is the number of bytes needed, including the 0. A text without tokens has an empty
   translation. Allocates memory for the duration of the call. RAPT_BAD_ARGUMENT: the text has more
   tokens than the model has positions, or capacity is less than *size. */
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
    int rank;              /* 0 .. nbest - 1, best first */
    rapt_status status;    /* RAPT_BAD_ARGUMENT: the sentence is too long, and its text empty */
    const char *text;      /* terminated by 0 */
    size_t size;           /* bytes of text, without the 0 */
    float score;           /* as in rapt_generate_outputs */
    const int32_t *source; /* [source_count] tokens of the source, without special tokens */
    const int32_t *target; /* [target_count] tokens of the translation, likewise */
    int source_count;
    int target_count;
    /* Cross-attention as in rapt_generate_outputs, [target_count + 1][source_count + 1] with the
       ends; NULL unless requested. The row of the end is 0 if the translation was truncated, its
       column is 0 if sources have no end token. */
    const float *alignment;
    /* The following, up to `ended`, are set along with alignment, and otherwise NULL or 0. */
    const rapt_span *source_spans; /* [source_count] what a token came from, in the source */
    const rapt_span *target_spans; /* [target_count] what a token became, in text */
    /* Words are maximal runs without white space (Unicode's White_Space). */
    const rapt_span *source_words; /* [source_word_count] in the source */
    const rapt_span *target_words; /* [target_word_count] in text */
    int source_word_count;
    int target_word_count;
    /* [target words][source words]: the mean over the tokens of a target word of the sum over those
       of a source word. A token with bytes in several words counts toward each in proportion. The
       weight of the end, and of tokens that are only white space, is in no column. */
    const float *word_alignment;
    int ended; /* 1: the model ended it; 0: a limit or the caller did, or the text is empty */
} rapt_translation;
/* Receives a translation. Anything but 0 stops the call, which then returns RAPT_OK. */
typedef int rapt_translation_fn(void *user, const rapt_translation *translation);

/* Translates texts [count] in batches of similar length; each translation is bit-identical to that
   of the text by itself. callback runs on the calling thread, once per sentence and rank, in order,
   and is passed user. alignments, if not 0, fills in `alignment` and what follows it. Allocates
   memory for the duration of the call. An error in one text is reported in the status of its
   translation. RAPT_NO_MEMORY: translations that callback has received remain valid.
   RAPT_BAD_ARGUMENT: an argument is NULL. */
RAPT_API rapt_status rapt_translate_many(rapt_translator *translator, const rapt_text *texts,
                                         size_t count, int alignments,
                                         rapt_translation_fn *callback, void *user,
                                         rapt_message *why);

/* What one call of rapt_translate_many_with does differently. Fields that are 0 or NULL change
   nothing. */
typedef struct rapt_translate_call { /* size-first, see base.h */
    size_t size;
    int alignments; /* not 0: fill in `alignment` and what follows it */
    /* Options in place of the translator's. beams is at most the translator's, and 0 stands for
       that number; batch, batch_tokens, threads, search_rules and preprocess cannot change and must
       be 0. All other fields have their usual defaults. */
    const rapt_translator_options *options;
    /* [count] translation i begins with the tokens of text i, which count like those of
       rapt_generate_options.prefix. The model decides whether it continues the last word or begins
       another; spaces at the end of the prefix are dropped, since they belong to the next word. A
       text without tokens still has an empty translation. A prefix with more tokens than a
       translation may have gives it the status RAPT_BAD_ARGUMENT. */
    const rapt_text *prefixes;
    /* Callbacks as in rapt_generate_options, on the calling thread. `source` is the index into
       texts, of which there are at most INT_MAX; the sentences of a batch alternate in no
       particular order. If token or stop stops the call, callback receives only the translations
       that have begun, each as far as it has come. */
    rapt_token_fn *token;   /* of each sentence's best translation, as it becomes known */
    rapt_logits_fn *logits; /* changes logits before a token is chosen */
    rapt_stop_fn *stop;     /* ends the call early */
} rapt_translate_call;

/* Translates like rapt_translate_many, with changes for this call; the translator itself is
   unchanged. call may be NULL. user is passed to all four callbacks, none of which may use the
   translator. Errors as rapt_translate_many; RAPT_BAD_ARGUMENT also: a field of call is out of
   range. */
RAPT_API rapt_status rapt_translate_many_with(rapt_translator *translator, const rapt_text *texts,
                                              size_t count, const rapt_translate_call *call,
                                              rapt_translation_fn *callback, void *user,
                                              rapt_message *why);

/* The score of a given translation. Its pointers are valid during the callback. Later versions may
   append fields. */
typedef struct rapt_text_score {
    size_t pair;        /* index into sources and targets */
    rapt_status status; /* RAPT_BAD_ARGUMENT: the source has no tokens, or a text has too many */
    double sum;         /* of the log-probabilities of the target's tokens and its end, in nats */
    const int32_t *target; /* [target_count] tokens, without the end */
    int target_count;
    const float *log_probabilities; /* [target_count + 1], that of the end last */
} rapt_text_score;
/* Receives a score. Anything but 0 stops the call, which then returns RAPT_OK. */
typedef int rapt_text_score_fn(void *user, const rapt_text_score *score);

/* Scores targets [count] as translations of sources [count], as rapt_score_targets does, with the
   same bits in any batch. Here probabilities are normalized over all tokens. While translating
   (except with the rules of MARIAN and HF) they are normalized only over the tokens that a
   translation may have: without padding, the begin token and what min_length or no_repeat_ngram
   forbids. The score of a translation without length_penalty is therefore at least as high as its
   sum here. callback runs on the calling thread, once per pair, in order, and is passed user.
   Allocates memory for the duration of the call. Errors as rapt_translate_many. */
RAPT_API rapt_status rapt_translator_score(rapt_translator *translator, const rapt_text *sources,
                                           const rapt_text *targets, size_t count,
                                           rapt_text_score_fn *callback, void *user,
                                           rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
