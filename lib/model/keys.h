/* keys.h - keys of the metadata in model files, and the scales that one of them holds; part of the
   interface of the model layer (model.h). */
#ifndef RAPT_LIB_MODEL_KEYS_H
#define RAPT_LIB_MODEL_KEYS_H

#include <rapt/transformer.h>

/* ---- scales.c ---- */
/* Indexes the lines of the metadata entry SCALES_KEY. Must be called whenever the metadata is
   set. */
rapt_status rapt__scales_index(rapt_model *model);
void rapt__scales_free(rapt_model *model); /* frees the index */
struct scale_text {                        /* the value of SCALES_KEY while it is composed */
    char *text;                            /* [capacity] ends with 0; NULL if there are no lines */
    size_t size, capacity;
};
struct scale_rows { /* rows [first, first + count) of a parameter */
    const char *name;
    size_t first, count;
    const float *scales; /* [count], or [1] if `same`; 0 means unknown */
    bool same;           /* all rows have the same scale */
    float alpha;         /* 0 means unknown */
};
/* Appends lines for these rows. Rows whose scale and alpha are both unknown may be left out. */
rapt_status rapt__scales_append(struct scale_text *t, const rapt_allocator *allocator,
                                const struct scale_rows *rows, rapt_message *why);
/* Replaces all alphas. `alphas` holds one for each parameter of the model, or 0 if it is unknown;
   `none` is stored under the name "none". Scales do not change. After an error, the model is
   unchanged. */
rapt_status rapt__scales_set_alphas(rapt_model *model, const float *alphas, float none,
                                    rapt_message *why);
#define SCALES_KEY "rapt.scales" /* lines that scales.c reads */
/* Key of the metadata for the maximum number of target tokens per source token, from the settings
   of an imported model. */
#define LENGTH_KEY "rapt.max_length_factor"
/* Keys for other settings of an imported model. The first five are defaults of a translator (see
   rapt_translator_options_default). LIMIT_KEY is the maximum number of target tokens, including the
   end token. SUPPRESSED_KEY lists tokens that are never produced, separated by spaces. FIRST_KEY is
   the first token of every translation, unless the caller names a target language. IGNORED_KEY
   lists, for human readers, the settings that are not supported. */
#define BEAMS_KEY      "rapt.beams"
#define PENALTY_KEY    "rapt.length_penalty"
#define LEAST_KEY      "rapt.min_length"
#define NGRAM_KEY      "rapt.no_repeat_ngram"
#define REPETITION_KEY "rapt.repetition_penalty"
#define LIMIT_KEY      "rapt.max_length"
#define SUPPRESSED_KEY "rapt.suppressed"
#define FIRST_KEY      "rapt.first_token"
#define IGNORED_KEY    "rapt.ignored_settings"
/* Keys in the metadata of a text encoder. BEGIN_KEY, which translators follow too, means that the
   begin token precedes a text. TOKENS_KEY is the maximum number of tokens of a text, including
   special tokens. NORMALIZE_KEY means that embeddings are divided by their L2 norm. PAIR_KEY is the
   number of end tokens between the texts of a pair, 1 if it is missing. */
#define BEGIN_KEY     "rapt.source_begin"
#define TOKENS_KEY    "rapt.max_tokens"
#define NORMALIZE_KEY "rapt.normalize"
#define PAIR_KEY      "rapt.pair_ends"
/* Keys in the metadata of multilingual translators. LANGUAGE_LAST_KEY means that the language token
   of a source follows the end token instead of preceding the text. LANGUAGE_START_KEY means that
   the language token of a target is the decoder's first input, not its first output. */
#define LANGUAGE_LAST_KEY  "rapt.source_language_last"
#define LANGUAGE_START_KEY "rapt.language_starts"
/* Works like rapt_model_scales for a name that is not a parameter and has one row. */
rapt_status rapt__scales_named(const rapt_model *model, const char *name, float *scale,
                               float *alpha, rapt_message *why);

#endif
