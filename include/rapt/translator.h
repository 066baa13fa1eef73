/* translator.h - translation: a model file with its tokenizers and texts go in, texts come out. */
#ifndef RAPT_TRANSLATOR_H
#define RAPT_TRANSLATOR_H

#include "file.h"
#include "generate.h"
#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thread at a time may use a translator. Its model and tokenizers are constant: any number of
   translators, sessions and threads may share them, at once.

   The source is read as its tokens and the tokenizer's RAPT_TOKEN_END (rapt_tokenizer_special),
   unless the configuration says no_source_end; the
   target begins with rapt_target_begin and ends with its RAPT_TOKEN_END. How long it may become is
   max_length_factor of the options; it never has more tokens than the model has positions. No
   target has a token that stands for padding or the begin; like Marian none has <unk>, like CT2
   each token may come, but one at least before the end. Tokenizers are metadata of the model file,
   as rapt_tokenizer_write writes them: "rapt.tokenizer" for both sides, or "rapt.source_tokenizer"
   and "rapt.target_tokenizer". */
typedef struct rapt_translator rapt_translator;

typedef struct rapt_translator_options { /* size-first, see base.h */
    size_t size;                         /* sizeof(rapt_translator_options) */
    int beams;                           /* 0: 5 */
    int nbest;                           /* 0: 1 */
    float length_penalty;                /* 0: none; 1: the mean log-probability */
    int batch;                           /* sentences at once; 0: 32 */
    int batch_tokens;                    /* source tokens at once; 0: 2048 */
    int threads;                         /* see base.h */
    int min_length;                      /* as in rapt_generate_options; 0: none */
    int no_repeat_ngram;                 /* as in rapt_generate_options; 0: none */
    rapt_search_rules search_rules;      /* whose beam search, limits and suppressed tokens */
    rapt_preprocess preprocess;          /* of sources, and of targets that are scored */
    /* A target has at most this many tokens for each token of its source, the end counted in both.
       0: as the model's metadata "rapt.max_length_factor" say for RAPT_SEARCH_RULES_MARIAN, else as
       the project has it: 2 and 16 more (RAPT), 3 (MARIAN), 511 (HF) or 256 (CT2) in all */
    float max_length_factor;
} rapt_translator_options;

/* The model of a translator, with its tokenizers as metadata, from a file of rapt_model_save, or
   from a folder or file of another project as it was downloaded:

       CTranslate2     model.bin, vocabularies
       Marian          a .bin or .npz file, vocabularies (those that decoder.yml names, or .spm, or
                       lists with "vocab" in their names), each as it is or compressed by gzip:
                       OPUS-MT, students of Firefox
       Hugging Face    MarianMT: config.json, vocab.json, added_tokens.json if there is one,
                       source.spm, target.spm, weights in model.safetensors or pytorch_model.bin
                       (of any PyTorch), or in shards

   Whole numbers become float as the file's own engine reads them. Metadata "rapt.origin" says what
   it was. The bias of MarianMT's pad token is -1e9 here, since no translation has that token. Its
   sinusoids are computed, unless the file has tables of them that differ: those of a file in 16
   bits are rounded, and the model then has RAPT_POSITION_LEARNED with these tables.
   *model is the caller's to free. RAPT_BAD_FILE: it is none of these, is damaged, or has an option
   that cannot be held exactly; *why names it. */
RAPT_API rapt_status rapt_model_import(rapt_model **model, const char *path,
                                       const rapt_allocator *allocator, rapt_message *why);

/* The same as rapt_model_import, and once the model is complete `file` is called for every file of
   its folder, in any order. It is not called for a model file of rapt_model_save. */
RAPT_API rapt_status rapt_model_import_files(rapt_model **model, const char *path,
                                             rapt_file_fn *file, void *user,
                                             const rapt_allocator *allocator, rapt_message *why);

/* How other projects store a model. */
typedef enum rapt_export {
    RAPT_EXPORT_MARIAN,   /* model.bin, and vocab.spm or vocab.src.spm and vocab.trg.spm; .yml, and
                             source.spm and target.spm, where the tokenizer is a list of names */
    RAPT_EXPORT_BERGAMOT, /* the same with matrices in 8 bits, as Firefox has them: target_vocab is
                             a multiple of 8, width and ffn_width of 16 */
    RAPT_EXPORT_HF,       /* MarianMT of Hugging Face: config.json, generation_config.json,
                             tokenizer_config.json, model.safetensors, vocab.json, source.spm and
                             target.spm; target_vocab.json where names differ. A vocabulary without
                             a pad token gets one more row for it */
    RAPT_EXPORT_CT2       /* CTranslate2: model.bin, config.json, vocabularies; source.spm and
                             target.spm, which CTranslate2 leaves to its caller, if there are any */
} rapt_export;
/* Writes files into a folder that is there, each replaced atomically. Marian takes alignments from
   the first head of one layer: an alignment_layer of 0 is read again as the last layer; Hugging
   Face's files name no layer. RAPT_BAD_ARGUMENT: the other project does not compute such a model,
   or has no such vocabulary; *why names the field of the configuration, or the tokenizer. The same,
   and nothing is written, if the folder has a model in another format, or a file of tensors or
   vocabulary that would stay; *why names it. */
RAPT_API rapt_status rapt_model_export(const rapt_model *model, rapt_export format,
                                       const char *folder, rapt_message *why);

/* path and errors: as rapt_model_import. NULL options, here and below: all defaults. *translator is
   the caller's to free. */
RAPT_API rapt_status rapt_translator_load(rapt_translator **translator, const char *path,
                                          const rapt_translator_options *options,
                                          const rapt_allocator *allocator, rapt_message *why);
/* *translator is the caller's to free. The caller's model and tokenizers, which are not copied,
   must outlive the translator, and serve any number of translators and threads; target NULL: the
   one of the source is the target's too; both NULL: those in the model's metadata, of which the
   translator makes its own. Such a translator costs a session's memory. RAPT_BAD_ARGUMENT: the
   model is no encoder-decoder, or a tokenizer has not as many tokens as the model's table.
   RAPT_BAD_FILE: the metadata have no tokenizers, or damaged ones. */
RAPT_API rapt_status rapt_translator_create(rapt_translator **translator, const rapt_model *model,
                                            const rapt_tokenizer *source,
                                            const rapt_tokenizer *target,
                                            const rapt_translator_options *options,
                                            const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_translator_free(rapt_translator *translator); /* NULL is allowed */
/* Its model and tokenizers, owned by whoever made them (by the translator that has loaded them);
   NULL for NULL. */
RAPT_API const rapt_model *rapt_translator_model(const rapt_translator *translator);
/* The tokenizer of sources, owned as its model is; NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_translator_source(const rapt_translator *translator);
/* The tokenizer of targets, owned as its model is; NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_translator_target(const rapt_translator *translator);

/* From now on targets have the tokens alone that are listed for their source: see shortlist of
   rapt_generate_options; each sentence by its own tokens, whatever the batch. The shortlist is not
   copied and must outlive the translator, or its next one; NULL: none. rapt_translator_score goes
   by all tokens. RAPT_BAD_ARGUMENT: it is for other vocabularies. */
RAPT_API rapt_status rapt_translator_set_shortlist(rapt_translator *translator,
                                                   const rapt_shortlist *shortlist,
                                                   rapt_message *why);
/* The same with one of its own, of a file for its tokenizers: see rapt_shortlist_load. */
RAPT_API rapt_status rapt_translator_load_shortlist(rapt_translator *translator, const char *path,
                                                    rapt_message *why);

/* The token that a target of such a model begins with, as config.decoder_start says; -1: the
   tokenizer of targets has none, or NULL. */
RAPT_API int32_t rapt_target_begin(const rapt_model *model, const rapt_tokenizer *target);

/* One sentence. Writes a 0-terminated string; *size, if not NULL: bytes it needs with the 0.
   A text without tokens (an empty one) translates to an empty text. RAPT_BAD_ARGUMENT: the text has
   more tokens than the model has positions, or capacity is too small (then *size tells). Allocates
   for the length of the call. */
RAPT_API rapt_status rapt_translate(rapt_translator *translator, const char *text, char *out,
                                    size_t capacity, size_t *size, rapt_message *why);

/* Bytes [begin, end) of a text. Will not grow. */
typedef struct rapt_span {
    size_t begin, end; /* the first byte; the one after the last */
} rapt_span;

/* One result. New versions of the library add fields at the end. */
typedef struct rapt_translation {
    size_t sentence;    /* index into texts */
    int rank;           /* 0 .. nbest - 1, best first */
    rapt_status status; /* RAPT_BAD_ARGUMENT: the sentence is too long, its text empty */
    const char *text;   /* 0-terminated; this and all pointers here are valid during the call */
    size_t size;        /* bytes of text without the 0 */
    float score;        /* as rapt_generate_outputs has it */
    const int32_t *source, *target; /* tokens of the source, without specials; of the target */
    int source_count, target_count; /* tokens of the source; of the target */
    /* Cross-attention, as rapt_generate_outputs has it: [target tokens + end][source tokens + end],
       NULL unless asked for; 0 in the end's row of a translation that its limit has truncated, and
       in the end's column where sources have none. */
    const float *alignment;
    /* What follows, but for ended, is there with alignment, else NULL and 0. */
    const rapt_span
        *source_spans; /* [source_count] the bytes of the source that a token came from */
    const rapt_span *target_spans; /* [target_count] the bytes of text that a token has become */
    /* Words: the longest parts of both texts without white space (Unicode's White_Space). */
    const rapt_span *source_words; /* [source_word_count], in the source */
    const rapt_span *target_words; /* [target_word_count], in text */
    int source_word_count;         /* how many there are */
    int target_word_count;         /* how many there are */
    /* [target words][source words]. A row is the mean over the tokens of a target word, a column
       the sum over those of a source word; a token with bytes in several words counts for each in
       proportion. What went to the end and to tokens of white space alone is in no column. */
    const float *word_alignment;
    int ended; /* 1: the model has ended it; 0: a limit has, or the caller, or the text is empty */
} rapt_translation;
/* Anything but 0 stops the translation, which then returns RAPT_OK. */
typedef int rapt_translation_fn(void *user, const rapt_translation *translation);

/* Many sentences, in batches of similar length; each has the bits that it would have alone.
   callback is called on the calling thread, once per sentence and rank, in order; user is passed
   on. alignments, not 0: fill in `alignment` and what follows it. Allocates for the length of the
   call. What is wrong with one text is the status of its translation. RAPT_NO_MEMORY: those that
   callback has got stand. RAPT_BAD_ARGUMENT: an argument is NULL. */
RAPT_API rapt_status rapt_translate_many(rapt_translator *translator, const rapt_text *texts,
                                         size_t count, int alignments,
                                         rapt_translation_fn *callback, void *user,
                                         rapt_message *why);

/* What one call of rapt_translate_many_with asks for; fields that are 0 or NULL ask for nothing. */
typedef struct rapt_translate_call { /* size-first, see base.h */
    size_t size;                     /* sizeof(rapt_translate_call) */
    int alignments;                  /* not 0: fill in `alignment` and what follows it */
    /* Instead of the translator's, with the same defaults; but beams 0 are the translator's, which
       are the most there may be; batch, batch_tokens, threads and like stay the translator's and
       must be 0. NULL: all are the translator's. */
    const rapt_translator_options *options;
    /* [count] translation i begins with the tokens of text i, which count as those of
       rapt_generate_options.prefix do. The model decides whether what follows continues the last
       word or begins another one; spaces at the end belong to what follows. A text without tokens
       has an empty translation all the same. Where they are more
       than a translation may have, its status is RAPT_BAD_ARGUMENT. */
    const rapt_text *prefixes;
    /* As those of rapt_generate_options, on the thread that called: `source` is the index into
       texts, of which there are at most INT_MAX then; the sentences of a batch take turns, in no
       order. Once token or stop has stopped the call, translations that have begun are given to
       callback as far as they have come, others not at all. */
    rapt_token_fn *token;   /* of each sentence's best translation, here as it becomes known */
    rapt_logits_fn *logits; /* changes logits before a token is chosen */
    rapt_stop_fn *stop;     /* ends the call early */
} rapt_translate_call;

/* rapt_translate_many as this call wants it; the translator stays as it was. NULL call: all
   defaults. user goes to all four callbacks, none of which may use the translator. Errors as
   rapt_translate_many; RAPT_BAD_ARGUMENT also: a field of call is out of range. */
RAPT_API rapt_status rapt_translate_many_with(rapt_translator *translator, const rapt_text *texts,
                                              size_t count, const rapt_translate_call *call,
                                              rapt_translation_fn *callback, void *user,
                                              rapt_message *why);

/* How likely the model finds one given translation. New versions add fields at the end. */
typedef struct rapt_text_score {
    size_t pair;        /* index into sources and targets */
    rapt_status status; /* RAPT_BAD_ARGUMENT: the source has no tokens, or one has too many */
    double sum;         /* of the log-probabilities of the target's tokens and its end, in nats */
    const int32_t *target; /* tokens without the end; both pointers are valid during the call */
    int target_count;      /* how many */
    const float *log_probabilities; /* [target_count + 1], of the end as the last */
} rapt_text_score;
/* Anything but 0 stops the call, which then returns RAPT_OK. */
typedef int rapt_text_score_fn(void *user, const rapt_text_score *score);

/* Scores translation targets[i] of sources[i], i < count, as rapt_score_targets does, among all
   tokens: the same bits in any batch. The score that rapt_translate_many gives a translation is
   among those that a translation may have, thus neither the pad nor the begin token nor what
   min_length or no_repeat_ngram forbids: it is as high as this sum or higher, without
   length_penalty. callback is called on the calling thread, once per pair, in order. Allocates for
   the length of the call. Errors as rapt_translate_many. */
RAPT_API rapt_status rapt_translator_score(rapt_translator *translator, const rapt_text *sources,
                                           const rapt_text *targets, size_t count,
                                           rapt_text_score_fn *callback, void *user,
                                           rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
