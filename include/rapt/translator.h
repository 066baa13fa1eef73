/* translator.h - translates and scores texts with a model and its tokenizers; imports models from
   other projects, and calibrates and exports models. */
#ifndef RAPT_TRANSLATOR_H
#define RAPT_TRANSLATOR_H

#include "file.h"
#include "generate.h"
#include "glossary.h"
#include "precision.h"
#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model, its tokenizers and a session. Only one thread at a time may use a translator. Any number
   of translators and threads may share the model and the tokenizers.

   rapt_frame lists the special tokens around sources and targets. The search never chooses tokens
   that have no name or whose ids are listed under the model's metadata key "rapt.suppressed"
   (separated by spaces). All search rules except CT2 also exclude the pad token and the token that
   rapt_target_begin returns (unless it is the end or the unknown token); MARIAN excludes the
   unknown token as well. CT2 instead requires at least one token before the end token.
   max_length_factor, max_length and config.positions limit the length of a target.

   A model file stores tokenizers in its metadata, as strings written by rapt_tokenizer_write:
   "rapt.tokenizer" for both sides, or "rapt.source_tokenizer" and "rapt.target_tokenizer". */
typedef struct rapt_translator rapt_translator;

/* Options of a translator. */
typedef struct rapt_translator_options { /* size-first, see base.h */
    size_t size;
    int beams;                      /* width of the beam, at most 1024; 0 means 5 */
    int nbest;                      /* translations per sentence, at most `beams`; 0 means 1 */
    float length_penalty;           /* 0 means no penalty; 1 ranks by mean log-probability */
    int batch;                      /* sentences per batch, at most 65536; 0 means 32 */
    int batch_tokens;               /* source tokens per batch, 0 or more; 0 means 2048 */
    int threads;                    /* maximum number of threads, see base.h */
    int min_length;                 /* as in rapt_generate_options */
    int no_repeat_ngram;            /* as in rapt_generate_options */
    rapt_search_rules search_rules; /* rules for search, length limits and excluded tokens */
    rapt_preprocess preprocess;     /* normalization of sources and of targets to be scored */
    /* Maximum number of target tokens per source token, 0 or more; special tokens count on both
       sides. 0 means the default of the search rules:

           RAPT    2 per source token plus 16
           MARIAN  the model's metadata key "rapt.max_length_factor", or 3 if it is missing

       or, regardless of the length of the source,

           HF      the model's metadata key "rapt.max_length", or 511 if it is missing
           CT2     256 */
    float max_length_factor;
    rapt_precision precision; /* precision of the model that rapt_translator_load opens */
    int bf16_cache;           /* as in rapt_limits */
    /* The language of the source for a multilingual model such as NLLB-200, M2M-100 or mBART: a
       token, code or English name, such as eng_Latn, en or English. Case is ignored. Multilingual
       models need both languages. Must be NULL for models with a single language pair. */
    const char *source_language;
    const char *target_language; /* the same for the target. May also be NULL if the model forces a
                                    first token, see "rapt.first_token" in rapt_model_import */
    int max_length;              /* maximum number of target tokens, including the end token; 0
                                    means no such limit */
    /* If above 0, translations are sampled at this temperature, and `beams` is ignored. `nbest`
       translations, at most 1024, are drawn and sorted by score, best first. The random numbers of
       draw n for a text depend only on the seed, n and the text's sequence number (see
       rapt_translate_call.first). Cannot be combined with a shortlist or a glossary. */
    float temperature;
    int top_k;              /* as in rapt_generate_options */
    float top_p;            /* as in rapt_generate_options */
    rapt_products products; /* as in rapt_limits */
    uint64_t seed;          /* seed for sampling */
    /* If not NULL, translations should contain the targets of the entries whose sources occur in
       the text. The search cannot guarantee this; see rapt_translation.terms_met. Each occurrence
       is a term as in rapt_terms, up to RAPT_TERMS_MAX per sentence; its phrases are the forms of
       the target that the tokenizer can spell. Sentences with terms are translated with at least 16
       beams in a separate session, and the limits that depend on search_rules or max_length_factor
       grow by the number of tokens in the terms. The glossary is not copied and must be valid
       during calls. */
    const rapt_glossary *glossary;
    float repetition_penalty; /* as in rapt_generate_options */
    float coverage_penalty;   /* as in rapt_generate_options */
    /* [suppressed_text_count] words and phrases to suppress, each with 1 to 255 bytes of UTF-8.
       Each is expanded to the token sequences with which the tokenizer spells it at the start of a
       text and elsewhere. These sequences are suppressed even at the beginning of longer words, but
       the model may still spell a word with other tokens. Matching is case-sensitive. The strings
       are not copied and must be valid during calls. */
    const rapt_text *suppressed_texts;
    size_t suppressed_text_count; /* length of suppressed_texts */
} rapt_translator_options;

/* Sets *options, which is `size` bytes long, to the settings that the model's original project
   would use. beams, length_penalty, min_length, no_repeat_ngram and repetition_penalty come from
   the metadata keys "rapt.beams", "rapt.length_penalty", "rapt.min_length", "rapt.no_repeat_ngram"
   and "rapt.repetition_penalty", under which rapt_model_import stores the settings that it finds in
   a folder. All other options become 0. If model is NULL, all options become 0. */
RAPT_API void rapt_translator_options_default(rapt_translator_options *options, size_t size,
                                              const rapt_model *model);

/* Imports a model, with its tokenizers as metadata. path names a file written by rapt_model_save, a
   folder in Hugging Face's cache such as models--facebook--bart-base (the revision in refs/main is
   opened), or a folder or file of another project:

       CTranslate2     model.bin and vocabularies; source.spm and target.spm, or Hugging Face's
                       tokenizer files, if they were copied into the folder (for encoders, also if
                       they are in the parent folder). Includes Argos Translate packages: an
                       .argosmodel file or the folder in it, with metadata.json, the folder "model",
                       and sentencepiece.model or bpe.model
       Marian          a .bin or .npz file, and vocabularies: the files named in decoder.yml, or
                       .spm files, or token lists in files whose names contain "vocab" and end in
                       .yml, .yaml, .json or .txt. Each file may be compressed with gzip or zstd.
                       Includes OPUS-MT and the student models of Firefox
       Hugging Face    config.json, weights in model.safetensors or pytorch_model.bin (of any
                       version of PyTorch), possibly in shards, tokenizer_config.json if it exists,
                       and for each kind of model:
         MarianMT      source.spm, target.spm, vocab.json, and added_tokens.json if it exists
         T5            spiece.model, except for ByT5; includes mT5, ByT5 and MADLAD-400
         NLLB, mBART   sentencepiece.bpe.model; includes M2M-100, which also has vocab.json
         BART          vocab.json and merges.txt
         BERT          vocab.txt, sentencepiece.bpe.model, or vocab.json and merges.txt, and the
                       files of sentence-transformers if they exist (modules.json,
                       1_Pooling/config.json, sentence_bert_config.json); includes RoBERTa,
                       XLM-RoBERTa, MPNet, DistilBERT

   tokenizer.json is read if the vocabulary files of T5, NLLB-200, mBART, BART or BERT are missing.

   The decoding settings in decoder.yml, generation_config.json or config.json become metadata:
   "rapt.beams", "rapt.length_penalty", "rapt.max_length", "rapt.min_length",
   "rapt.no_repeat_ngram", "rapt.repetition_penalty", "rapt.max_length_factor", "rapt.suppressed",
   and "rapt.first_token", the first token of every translation. "rapt.ignored_settings" lists the
   settings that would change translations but are not supported.

   If a CTranslate2, Marian or Firefox file stores its layer matrices as 8-bit integers, the model
   is in RAPT_PRECISION_INT8 and has the same integers. With RAPT_PRECISION_F32 (see
   rapt_model_import_with), quantized weights are converted to floats exactly as the original engine
   converts them. The metadata key "rapt.origin" names the format. For MarianMT, the bias of the pad
   token is set to -1e9, because no translation contains that token. The sinusoids of MarianMT are
   computed, but if the file contains tables with other values, as 16-bit files do, the model uses
   RAPT_POSITION_LEARNED with these tables. For T5, the factor width^-0.5 of the output is folded
   into the gain of the decoder's last norm.

   The caller must free *model. Returns RAPT_NO_MEMORY if an allocation fails and RAPT_NO_FILE if
   the model cannot be read. Returns RAPT_BAD_FILE if the model is in none of these formats, is
   damaged, or has an option that cannot be represented exactly; *why describes the problem. */
RAPT_API rapt_status rapt_model_import(rapt_model **model, const char *path,
                                       const rapt_allocator *allocator, rapt_message *why);

/* Works like rapt_model_import, but with options; NULL means the defaults. For files of other
   projects, only options->precision has an effect. If the model is from another project and `file`
   is not NULL, `file` is called with `user` at the end, for each file in the folder and each file
   used from the parent folder, in any order, to report how the file was used. Errors are the same
   as for rapt_model_import and rapt_model_load_with. */
RAPT_API rapt_status rapt_model_import_with(rapt_model **model, const char *path,
                                            const rapt_load_options *options, rapt_file_fn *file,
                                            void *user, const rapt_allocator *allocator,
                                            rapt_message *why);

/* Measures the activations of an encoder-decoder and stores an alpha for each matrix: the scale
   with which Firefox's engines quantize the rows that they multiply by it (see rapt_model_scales).
   These engines open only models with alphas. texts are typical sentences; a few hundred suffice.
   The model translates them greedily, several at a time. Each time it multiplies by a matrix, the
   largest input magnitude is recorded. alpha is 127 / (m + 1.1 d), where m is the mean and d the
   standard deviation of the values recorded for the matrix. Alphas are stored as metadata and do
   not affect this library's results; alphas from an earlier call are replaced. `threads` is the
   maximum number of threads, see base.h.

   No session, trainer or translator may use the model at the same time. Returns RAPT_BAD_ARGUMENT
   if the model is not an encoder-decoder with a single language pair, threads is negative, a text
   is too long, no text contains a word, or the model computes values that are not finite. Returns
   RAPT_BAD_FILE if the model's metadata is damaged or its tokenizers are missing or unsuitable, and
   RAPT_NO_MEMORY if an allocation fails. After an error, the model is unchanged. */
RAPT_API rapt_status rapt_model_calibrate(rapt_model *model, const rapt_text *texts, size_t count,
                                          int threads, rapt_message *why);

/* The formats in which a model can be exported. */
typedef enum rapt_export {
    RAPT_EXPORT_MARIAN,   /* model.bin and vocab.spm, or vocab.src.spm and vocab.trg.spm. For a
                             tokenizer that is a list of names, the list is written as .yml instead,
                             and its SentencePiece model as source.spm or target.spm */
    RAPT_EXPORT_BERGAMOT, /* the same with 8-bit matrices, as in Firefox. target_vocab must be a
                             multiple of 8, and width and ffn_width must be multiples of 16 */
    RAPT_EXPORT_HF,       /* Hugging Face's MarianMT: config.json, generation_config.json,
                             tokenizer_config.json, model.safetensors, vocab.json, source.spm and
                             target.spm; also target_vocab.json if the names of the two vocabularies
                             differ. A pad token is added to a vocabulary that lacks one */
    RAPT_EXPORT_CT2,      /* CTranslate2: model.bin, config.json and vocabularies. Also source.spm
                             and target.spm, which CTranslate2 itself does not read, if the
                             tokenizers have SentencePiece models */
    RAPT_EXPORT_FIREFOX   /* the files of RAPT_EXPORT_BERGAMOT with Mozilla's names, such as
                             model.ende.intgemm.alphas.bin, vocab.ende.spm (or srcvocab.ende.spm and
                             trgvocab.ende.spm) and lex.50.50.ende.s2t.bin, with config.yml for
                             decoding and metadata.json. Requires rapt_model_calibrate, the
                             languages in rapt_export_options, SentencePiece models, and an
                             architecture that Firefox's engines support: a decoder with SSRU, layer
                             norms after sublayers, and RELU */
} rapt_export;

/* Options of an export. */
typedef struct rapt_export_options { /* size-first, see base.h */
    size_t size;
    /* The languages, for RAPT_EXPORT_FIREFOX: codes of 2 to 12 ASCII letters, digits, - and _, such
       as "en" or "zh-Hans". */
    const char *source_language;
    const char *target_language;     /* see source_language */
    const rapt_shortlist *shortlist; /* written by RAPT_EXPORT_FIREFOX; may be NULL */
    /* If nonzero, nothing is written. The call only checks that the project supports the model,
       which need not be calibrated yet, and, unless folder is NULL, that the export may write to
       the folder. */
    int check_only;
    /* If nonzero, RAPT_EXPORT_FIREFOX compresses the model, the vocabularies and the shortlist with
       gzip, as in Mozilla's published models, and their names end in .gz. Needs zlib. */
    int gzip;
} rapt_export_options;
/* Exports a model into an existing folder, replacing each file atomically. Some alignment settings
   are lost. Marian's files always name a layer, and Marian aligns with the first head of that
   layer, so an alignment_layer of 0 becomes the last layer, and alignment_heads becomes 1.
   CTranslate2's files name one layer and a number of heads, so an alignment_layer of 0 becomes all
   heads of the last layer. Hugging Face's files name neither a layer nor heads.

   Returns RAPT_BAD_ARGUMENT if the other project does not support such a model or vocabulary; *why
   names the fields and tokenizers that it does not support, as many as fit. Also returns
   RAPT_BAD_ARGUMENT if the folder contains a model in another format, or a file that would be
   imported together with the new ones. In that case *why names the file. In both cases nothing is
   written. Allocates memory for the duration of the call. Returns RAPT_NO_FILE if the folder cannot
   be listed or a file cannot be written, RAPT_BAD_ARGUMENT or RAPT_BAD_FILE if the model's metadata
   is damaged, and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_model_export(const rapt_model *model, rapt_export format,
                                       const char *folder, rapt_message *why);
/* Works like rapt_model_export, but with options; NULL means the defaults. Errors are the same as
   for rapt_model_export. Also returns RAPT_BAD_ARGUMENT if an option is invalid. */
RAPT_API rapt_status rapt_model_export_with(const rapt_model *model, rapt_export format,
                                            const char *folder, const rapt_export_options *options,
                                            rapt_message *why);

/* Loads a translator that owns its model and tokenizers. path and errors are the same as for
   rapt_model_import. Also returns RAPT_BAD_ARGUMENT if an option is out of range or the model lacks
   a language, and RAPT_BAD_FILE if the model is not an encoder-decoder or its tokenizers are
   missing or unsuitable. While the translator exists, a packed file remains mapped and must not be
   truncated (see rapt_model_load_with). If options is NULL, those of
   rapt_translator_options_default are used. The caller must free *translator. */
RAPT_API rapt_status rapt_translator_load(rapt_translator **translator, const char *path,
                                          const rapt_translator_options *options,
                                          const rapt_allocator *allocator, rapt_message *why);
/* Creates a translator for a model and tokenizers that belong to the caller, are not copied and
   must outlive the translator. The translator itself needs little more memory than a session. If
   `target` is NULL, `source` is used for both sides. If both are NULL, the translator creates and
   owns tokenizers from the model's metadata. If options is NULL, those of
   rapt_translator_options_default are used. options->precision must be 0; convert the model with
   rapt_model_set_precision first. The caller must free *translator.

   Returns RAPT_BAD_ARGUMENT if the model is not an encoder-decoder, if an option is out of range,
   if options->precision is not 0, if the model lacks a language, if `target` is given without
   `source`, or if a given tokenizer lacks a token that the translator needs (see rapt_frame) or
   does not match the model's vocabulary. Returns RAPT_BAD_FILE if the tokenizers in the metadata
   are missing or unsuitable, and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_translator_create(rapt_translator **translator, const rapt_model *model,
                                            const rapt_tokenizer *source,
                                            const rapt_tokenizer *target,
                                            const rapt_translator_options *options,
                                            const rapt_allocator *allocator, rapt_message *why);
/* Frees a translator. NULL is allowed. */
RAPT_API void rapt_translator_free(rapt_translator *translator);
/* Returns the model. It belongs to the translator if the translator loaded it, else to the caller
   of rapt_translator_create. Returns NULL for NULL. */
RAPT_API const rapt_model *rapt_translator_model(const rapt_translator *translator);
/* Returns the source tokenizer. It belongs to the caller if it was passed to
   rapt_translator_create, else to the translator. Returns NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_translator_source(const rapt_translator *translator);
/* Returns the target tokenizer, which may be the source tokenizer and belongs to the same owner.
   Returns NULL for NULL. */
RAPT_API const rapt_tokenizer *rapt_translator_target(const rapt_translator *translator);

/* The special tokens that a translator puts around the tokens of a text. A source is SOURCE_FIRST,
   the text, SOURCE_END, SOURCE_LAST. The decoder's first input is TARGET_BEGIN; a target is
   TARGET_FIRST, the text, TARGET_END. */
typedef enum rapt_frame {
    RAPT_FRAME_SOURCE_FIRST, /* the language of the source, or a begin token */
    RAPT_FRAME_SOURCE_END,
    RAPT_FRAME_SOURCE_LAST, /* the language, in models that put it there */
    RAPT_FRAME_TARGET_BEGIN,
    RAPT_FRAME_TARGET_FIRST, /* the language of the target, or another forced token */
    RAPT_FRAME_TARGET_END
} rapt_frame;
/* Returns one of these tokens; -1 if there is none, or if translator is NULL. Training needs the
   same tokens as translation. */
RAPT_API int32_t rapt_translator_frame(const rapt_translator *translator, rapt_frame which);

/* Restricts the targets of all later calls to the tokens that the shortlist lists for their source,
   like rapt_generate_options.shortlist. Each sentence of a batch has its own list. The shortlist is
   not copied; it must outlive the translator or remain valid until another call replaces it. NULL
   removes the restriction. rapt_translator_score ignores the shortlist. Returns RAPT_BAD_ARGUMENT
   if the shortlist was made for other vocabularies. */
RAPT_API rapt_status rapt_translator_set_shortlist(rapt_translator *translator,
                                                   const rapt_shortlist *shortlist,
                                                   rapt_message *why);
/* Sets a shortlist that the translator loads from a file and owns. Errors are those of
   rapt_shortlist_load: RAPT_NO_FILE or RAPT_BAD_FILE for the file, or RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_translator_load_shortlist(rapt_translator *translator, const char *path,
                                                    rapt_message *why);

/* Returns the decoder's first input according to config.decoder_start (the end token for ZERO), or
   -1 if the target tokenizer lacks this token or an argument is NULL. */
RAPT_API int32_t rapt_target_begin(const rapt_model *model, const rapt_tokenizer *target);

/* Translates one sentence, `text`, into out [capacity]; both are null-terminated. *size receives
   the number of bytes needed, including the terminator; size may be NULL, and so may out if
   capacity is 0. The translation is empty if the sentence has no tokens or, except with the search
   rules MARIAN and HF, only begin and end tokens. Errors are the same as for rapt_translate_many.
   Also returns RAPT_BAD_ARGUMENT if the sentence has more tokens than config.positions, including
   special ones, or if capacity is less than *size. */
RAPT_API rapt_status rapt_translate(rapt_translator *translator, const char *text, char *out,
                                    size_t capacity, size_t *size, rapt_message *why);

/* A range of bytes in a string. This struct will not grow. */
typedef struct rapt_span {
    size_t begin; /* the first byte */
    size_t end;   /* the byte after the last */
} rapt_span;

/* Faults in a translation, as bits. n is the number of source tokens, including special ones. */
enum {
    RAPT_FAULT_REPEATS = 1, /* a sequence of 1 to 64 tokens occurs at least 4 times in a row (8 or
                               more tokens in total), and more than twice as many times as any
                               sequence occurs in a row in the source */
    RAPT_FAULT_LONG = 2,    /* n is at most 8, and the translation has more than min_length tokens,
                               and more than 2 n + 8 plus the tokens of its terms and language */
    RAPT_FAULT_EMPTY = 4,   /* the translation has no tokens, apart from its language token */
    RAPT_FAULT_REMAINS = 8, /* also set if no better translation was found */
    RAPT_FAULT_LOST = 16    /* an opaque part occurs fewer times in the translation than among the
                               opaque parts of the source; see rapt_translate_call.copy */
};

/* A translation. Its pointers are valid during the callback. Later versions may append fields. */
typedef struct rapt_translation {
    size_t sentence;       /* index into texts */
    int rank;              /* rank of the translation, 0 .. nbest - 1; 0 is the best */
    rapt_status status;    /* RAPT_BAD_ARGUMENT if the sentence or its prefix is too long; `text` is
                              then empty */
    const char *text;      /* null-terminated */
    size_t size;           /* bytes of text, without the terminator */
    float score;           /* as in rapt_generate_outputs */
    const int32_t *source; /* [source_count] tokens of the source without the last one, which is the
                              end token or, in multilingual models that append one, the language
                              token; all tokens if sources have no end token */
    const int32_t *target; /* [target_count] tokens of the translation without the end token,
                              beginning with RAPT_FRAME_TARGET_FIRST if there is one */
    int source_count;
    int target_count;
    /* Cross-attention as in rapt_generate_outputs, [target_count + 1][source_count + 1] including
       the end tokens; NULL unless requested. The last row is 0 if `ended` is 0; the last column is
       0 if sources have no end token. */
    const float *alignment;
    /* These fields, up to word_alignment, are NULL or 0 if alignment is NULL. */
    const rapt_span *source_spans; /* [source_count] the bytes of the source from which each token
                                      came */
    const rapt_span *target_spans; /* [target_count] the bytes of `text` that each token became */
    /* Words are maximal runs without white space (Unicode's White_Space). */
    const rapt_span *source_words; /* [source_word_count] words of the source */
    const rapt_span *target_words; /* [target_word_count] words of text */
    int source_word_count;
    int target_word_count;
    /* [target words][source words]: the weights, summed over the tokens of the source word and
       averaged over the tokens of the target word. A token with bytes in several words counts
       toward each of them in proportion. End tokens and tokens outside words are omitted. */
    const float *word_alignment;
    int ended;  /* 1 if the translation has an end token (see rapt_generate_outputs); 0 if a limit
                   or the caller cut it off, or if the sentence has no tokens */
    int faults; /* RAPT_FAULT_... in the best translation from the first search, the same for all
                   ranks. If there are faults but not RAPT_FAULT_REMAINS, the translations are from
                   a second search (unless `stop` ended it). 0 if rapt_translate_call.mend is 0 */
    int terms;  /* number of glossary terms in the sentence */
    int terms_met; /* number of these terms whose targets are in the translation */
    /* [target_count + ended] log-probabilities of the tokens and of the end token, in nats, each
       given the tokens before it. They are normalized as in rapt_generate_outputs. They are 0 for a
       prefix and for RAPT_FRAME_TARGET_FIRST. NULL unless requested. */
    const float *log_probabilities;
    float mean_log_probability; /* mean of log_probabilities, leaving out the prefix and
                                   RAPT_FRAME_TARGET_FIRST; 0 if no tokens remain or it was not
                                   requested */
    /* [target_word_count] mean of the log-probabilities of the word's tokens, weighted as in
       word_alignment. NULL unless alignments and log-probabilities are requested. */
    const float *word_log_probabilities;
    /* [target_word_count] the first source word with the largest weight in word_alignment, or -1 if
       all weights are 0. NULL if word_alignment is NULL. */
    const int *word_sources;
    int source_words_covered; /* number of different source words in word_sources */
} rapt_translation;
/* Receives a translation. A nonzero result stops the call, which then returns RAPT_OK. */
typedef int rapt_translation_fn(void *user, const rapt_translation *translation);

/* Translates texts [count], each a sentence, in batches of sentences of similar length. Results are
   bit-identical in any batch. `callback` is called on the calling thread with `user`, in order of
   sentences and ranks: once for a sentence with an error or no tokens, otherwise for each
   translation found, at most nbest. If `alignments` is not 0, `alignment` and the fields that
   depend on it are set. Allocates memory for the duration of the call.

   An error in one sentence is reported in the status of its translation. Returns RAPT_NO_MEMORY if
   an allocation fails; translations that `callback` has already received are then still correct.
   Returns RAPT_BAD_ARGUMENT, before the first callback, if a text's `bytes` is NULL although its
   size is not 0, if the options name no languages for a multilingual model, or if options cannot be
   combined. */
RAPT_API rapt_status rapt_translate_many(rapt_translator *translator, const rapt_text *texts,
                                         size_t count, int alignments,
                                         rapt_translation_fn *callback, void *user,
                                         rapt_message *why);

/* Settings of a single call to rapt_translate_many_with. Fields that are 0 or NULL change
   nothing. */
typedef struct rapt_translate_call { /* size-first, see base.h */
    size_t size;
    int alignments; /* if nonzero, fill in `alignment` and the fields that depend on it */
    /* Options that replace those of the translator. beams must not exceed the translator's; 0 means
       the translator's. batch, batch_tokens, threads, search_rules, preprocess, precision,
       bf16_cache, products and languages must be 0 or NULL. In others, 0 has its usual meaning. */
    const rapt_translator_options *options;
    /* [count] translation i begins with the tokens of prefix i. They count toward the length limit
       but do not affect scores (except with the search rules CT2), as in
       rapt_generate_options.prefix. The model decides whether to continue the last word or begin
       another. Spaces at the end of a prefix are dropped, because they belong to the next word. A
       sentence without tokens has an empty translation. If a prefix has more tokens than the length
       limit, the status of the translation is RAPT_BAD_ARGUMENT. */
    const rapt_text *prefixes;
    /* These callbacks work as in rapt_generate_options and run on the calling thread. For `token`
       and `logits`, `source` is an index into texts, so count must be at most INT_MAX. Calls for
       different sentences are interleaved in any order. If `token` or `stop` ends the call early,
       `callback` still receives the translations that have begun; unfinished ones are truncated. */
    rapt_token_fn *token;   /* reports tokens of each sentence's best translation once they are
                               final; if translations are sampled, nbest must be 1 */
    rapt_logits_fn *logits; /* changes logits before a token is chosen */
    rapt_stop_fn *stop;     /* ends the call early */
    uint64_t first; /* sequence number that sampling uses for texts[0]; set it to continue an
                       earlier call */
    /* If nonzero, a sentence whose best translation has a fault is translated again under a
       constraint that excludes the fault: no sequence of 4 tokens occurs twice, the length limit of
       RAPT_FAULT_LONG applies, or there is at least one token (see also `copy`). The new
       translations replace the old ones if the best of them has no fault, has at least as many
       terms, and has an end token (`ended`) if the best old one does. With prefixes,
       RAPT_FAULT_LONG and RAPT_FAULT_EMPTY are not checked. Cannot be combined with `token`. */
    int mend;
    const rapt_glossary *glossary; /* replaces the glossary of the options; NULL changes nothing */
    /* [opaque_starts[count]] parts of the texts, such as addresses, that terms must not overlap.
       The parts of a text are in ascending order. NULL if there are none */
    const rapt_span *opaque;
    /* [count + 1] the index of the first part of each text; read if opaque is not NULL */
    const size_t *opaque_starts;
    /* If nonzero, a missing opaque part is a fault (RAPT_FAULT_LOST), and the sentence is
       translated again with its opaque parts of at most 255 bytes as terms (see `glossary`). Parts
       that the target tokenizer cannot spell are ignored. Requires `mend` and temperature 0. */
    int copy;
    int log_probabilities; /* if nonzero, fill in `log_probabilities` and the fields that depend on
                              it */
    /* [count] if not NULL, `alignments` applies only to texts whose byte in this array is not 0 */
    const unsigned char *aligned;
} rapt_translate_call;

/* Works like rapt_translate_many, but with the settings in `call`, which may be NULL. The
   translator's own options do not change. `user` is passed to all four callbacks, none of which may
   use the translator. Errors are the same as for rapt_translate_many. Also returns
   RAPT_BAD_ARGUMENT if a field of `call` is out of range or cannot be combined with another. A
   callback may exit via longjmp() or an exception; see base.h. */
RAPT_API rapt_status rapt_translate_many_with(rapt_translator *translator, const rapt_text *texts,
                                              size_t count, const rapt_translate_call *call,
                                              rapt_translation_fn *callback, void *user,
                                              rapt_message *why);

/* The score of a given translation. Its pointers are valid during the callback. Later versions may
   append fields. */
typedef struct rapt_text_score {
    size_t pair;           /* index into sources and targets */
    rapt_status status;    /* RAPT_BAD_ARGUMENT if the source has no tokens, or if the source or
                              target has too many tokens; the fields below are then 0 */
    double sum;            /* sum of the log-probabilities of the target's tokens and of the end
                              token, in nats */
    const int32_t *target; /* [target_count] tokens, without the special tokens around them */
    int target_count;
    const float *log_probabilities; /* [target_count + 1] log-probabilities of the tokens and of the
                                       end token */
} rapt_text_score;
/* Receives a score. A nonzero result stops the call, which then returns RAPT_OK. */
typedef int rapt_text_score_fn(void *user, const rapt_text_score *score);

/* Scores targets [count] as translations of sources [count]. Results are bit-identical in any
   batch. `callback` runs on the calling thread and receives `user`. It is called once per pair, in
   order. Allocates memory for the duration of the call. Errors are the same as for
   rapt_translate_many.

   This function normalizes probabilities over all tokens, and so does rapt_translate_many with the
   search rules MARIAN and HF. With the other rules, rapt_translate_many normalizes over the tokens
   that a translation may contain at that point; min_length, for example, can exclude the end token.
   Without penalties for length, coverage and repetition, rapt_translation.score is therefore at
   least as high as the sum here, even with HF, where an end token at the length limit adds 0. */
RAPT_API rapt_status rapt_translator_score(rapt_translator *translator, const rapt_text *sources,
                                           const rapt_text *targets, size_t count,
                                           rapt_text_score_fn *callback, void *user,
                                           rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
