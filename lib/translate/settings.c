/* settings.c - determines a translator's settings from its options and its model's metadata: the
   project whose rules it follows, defaults for its options, length limits, language tokens and
   other first tokens, and the tokens that it never generates. Metadata is untrusted: unusable
   values are ignored. */
#include "translate/translate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the search rules of the project that a model was imported from, according to the metadata
   that importers write. Returns RAPT_SEARCH_RULES_RAPT for other models. */
static rapt_search_rules origin_of(const rapt_model *model)
{
    static const struct {
        const char *begin;
        rapt_search_rules search_rules;
    } origins[] = {{"MarianMT", RAPT_SEARCH_RULES_HF},   {"T5", RAPT_SEARCH_RULES_HF},
                   {"M2M-100", RAPT_SEARCH_RULES_HF},    {"BART", RAPT_SEARCH_RULES_HF},
                   {"Marian", RAPT_SEARCH_RULES_MARIAN}, {"CTranslate2", RAPT_SEARCH_RULES_CT2}};
    const char *text = rapt_model_metadata(model, "rapt.origin");
    for (size_t i = 0; text && i < sizeof origins / sizeof *origins; i++)
        if (strncmp(text, origins[i].begin, strlen(origins[i].begin)) == 0)
            return origins[i].search_rules;
    return RAPT_SEARCH_RULES_RAPT;
}

/* Sets *x to the value of `key` in the metadata if that is a number from `min` to `max`. */
static void read_number(const rapt_model *model, const char *key, float min, float max, float *x)
{
    const char *text = rapt_model_metadata(model, key);
    float value;
    if (text && rapt__float_read(text, &value) && value >= min && value <= max) *x = value;
}

void rapt__read_count(const rapt_model *model, const char *key, int max, int *count)
{
    float x = 0;
    read_number(model, key, 1, (float)max, &x);
    if (x > 0) *count = (int)x;
}

int32_t rapt__read_token(const rapt_model *model, const char *key)
{
    float x = -1;
    read_number(model, key, 0, (float)(model->config.target_vocab - 1), &x);
    return (int32_t)x;
}

void rapt_translator_options_default(rapt_translator_options *options, size_t size,
                                     const rapt_model *model)
{
    rapt_translator_options own = {.size = sizeof own};
    if (model) {
        rapt__read_count(model, BEAMS_KEY, MAX_BEAMS, &own.beams);
        read_number(model, PENALTY_KEY, -100, 100, &own.length_penalty);
        rapt__read_count(model, LEAST_KEY, 1 << 24, &own.min_length);
        rapt__read_count(model, NGRAM_KEY, 1 << 24, &own.no_repeat_ngram);
        read_number(model, REPETITION_KEY, 1e-6f, 1e6f, &own.repetition_penalty);
    }
    rapt__struct_default(options, size, &own, sizeof own);
}

void rapt__follow_project(rapt_translator *t)
{
    static const struct target_limit limits[] = {[RAPT_SEARCH_RULES_RAPT] = {2, 16, 0},
                                                 [RAPT_SEARCH_RULES_MARIAN] = {3, 0, 0},
                                                 [RAPT_SEARCH_RULES_HF] = {0, 511, 0},
                                                 [RAPT_SEARCH_RULES_CT2] = {0, 256, 1}};
    if (!t->options.search_rules) t->options.search_rules = origin_of(t->model);
    t->limit = limits[t->options.search_rules];
    if (t->options.search_rules == RAPT_SEARCH_RULES_MARIAN)
        read_number(t->model, LENGTH_KEY, 1e-6f, 1000, &t->limit.per_source);
    if (t->options.search_rules == RAPT_SEARCH_RULES_HF)
        rapt__read_count(t->model, LIMIT_KEY, 1 << 24, &t->limit.extra);
}

/* ---- tokens that are never generated ---- */

/* Suppresses a token, unless it is missing (negative) or the end token. */
static void suppress(rapt_translator *t, int32_t token)
{
    if (token >= 0 && token != t->end) t->suppressed[t->suppressed_count++] = token;
}

/* Suppresses the tokens listed in the metadata, or only counts them if t->suppressed is NULL.
   Returns the number of tokens listed. */
static int suppress_listed(rapt_translator *t)
{
    const char *text = rapt_model_metadata(t->model, SUPPRESSED_KEY);
    int count = 0, vocab = t->model->config.target_vocab;
    while (text && *text >= '0' && *text <= '9') {
        char *end;
        long id = strtol(text, &end, 10);
        if (id < vocab && t->suppressed) suppress(t, (int32_t)id);
        count++;
        text = *end == ' ' ? end + 1 : end;
    }
    return count;
}

rapt_status rapt__suppress(rapt_translator *t, rapt_message *why)
{
    enum { SPECIALS = 3 }; /* pad, begin, unknown */
    int count = SPECIALS + suppress_listed(t), vocab = rapt_tokenizer_vocab(t->target);
    rapt_search_rules rules = t->options.search_rules;
    for (int32_t id = 0; id < vocab; id++) count += !rapt_tokenizer_name(t->target, id).size;
    t->suppressed = rapt__alloc(&t->allocator, (size_t)count * sizeof *t->suppressed);
    if (!t->suppressed) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a list of tokens");
    t->suppressed_capacity = count;
    for (int32_t id = 0; id < vocab; id++)
        if (!rapt_tokenizer_name(t->target, id).size) suppress(t, id);
    suppress_listed(t);
    if (rules == RAPT_SEARCH_RULES_CT2) return RAPT_OK;
    suppress(t, rapt_tokenizer_special(t->target, RAPT_TOKEN_PAD));
    if (t->model->config.decoder_start != RAPT_DECODER_START_UNKNOWN) suppress(t, t->begin);
    if (rules == RAPT_SEARCH_RULES_MARIAN)
        suppress(t, rapt_tokenizer_special(t->target, RAPT_TOKEN_UNKNOWN));
    return RAPT_OK;
}

/* ---- tokens around sources and targets, which in multilingual models name the languages ---- */

/* Sets *id to the token of the language that the caller has named, or to -1 if no language was
   named or found. Returns RAPT_BAD_ARGUMENT if the model does not have the language. */
static rapt_status find_language(const rapt_tokenizer *t, const char *option, const char *language,
                                 int32_t *id, rapt_message *why)
{
    char near[300];
    *id = -1;
    if (!language) return RAPT_OK;
    if (!rapt__language_any(t))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "%s is %.60s, but the model has no language tokens", option, language);
    *id = rapt__language_find(t, language);
    if (*id >= 0) return RAPT_OK;
    rapt__language_near(t, language, near, sizeof near);
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %.60s, which the model does not have%s%s",
                      option, language, *near ? "; similar: " : "", near);
}

/* Sets t->source_first, t->target_first and, if the decoder starts with the target's language
   token, t->begin. If the options name no target language, the token stored under the metadata key
   FIRST_KEY is used. Ignores unusable metadata. */
static void find_first_tokens(rapt_translator *t)
{
    int begins = 0, starts = 0;
    const int32_t first = rapt__read_token(t->model, FIRST_KEY);
    rapt__read_count(t->model, BEGIN_KEY, 1, &begins);
    t->source_first = begins ? rapt_tokenizer_special(t->source, RAPT_TOKEN_BEGIN) : -1;
    if (t->source_language >= 0) t->source_first = t->source_language;
    if (t->source_language >= 0 && t->source_language_last) t->source_first = -1;
    if (t->target_language < 0 && first != t->end) t->target_language = first;
    rapt__read_count(t->model, LANGUAGE_START_KEY, 1, &starts);
    t->target_first = starts ? -1 : t->target_language;
    if (starts && t->target_language >= 0) t->begin = t->target_language;
}

rapt_status rapt__languages_find(rapt_translator *t, rapt_message *why)
{
    rapt_translator_options *o = &t->options;
    int last = 0;
    rapt_status status =
        find_language(t->source, "source_language", o->source_language, &t->source_language, why);
    if (!status)
        status = find_language(t->target, "target_language", o->target_language,
                               &t->target_language, why);
    t->multilingual = rapt__language_any(t->target);
    rapt__read_count(t->model, LANGUAGE_LAST_KEY, 1, &last);
    t->source_language_last = last;
    find_first_tokens(t);
    o->source_language = o->target_language = NULL; /* the strings belong to the caller */
    return status;
}

/* Returns the language token that follows the end token of a source, or -1 if there is none. */
static int32_t source_last(const rapt_translator *t)
{
    return t->source_language_last ? t->source_language : -1;
}

size_t rapt__source_front(const rapt_translator *t)
{
    return t->source_first >= 0;
}

size_t rapt__source_more(const rapt_translator *t)
{
    return rapt__source_front(t) + (size_t)(t->source_end >= 0) + (size_t)(source_last(t) >= 0);
}

size_t rapt__source_frame(const rapt_translator *t, int32_t *ids, size_t count)
{
    if (t->source_first >= 0) ids[0] = t->source_first, count++;
    if (t->source_end >= 0) ids[count++] = t->source_end;
    if (source_last(t) >= 0) ids[count++] = source_last(t);
    return count;
}

int32_t rapt_translator_frame(const rapt_translator *t, rapt_frame which)
{
    if (!t) return -1;
    const int32_t tokens[] = {
        [RAPT_FRAME_SOURCE_FIRST] = t->source_first, [RAPT_FRAME_SOURCE_END] = t->source_end,
        [RAPT_FRAME_SOURCE_LAST] = source_last(t),   [RAPT_FRAME_TARGET_BEGIN] = t->begin,
        [RAPT_FRAME_TARGET_FIRST] = t->target_first, [RAPT_FRAME_TARGET_END] = t->end};
    return (unsigned)which < sizeof tokens / sizeof *tokens ? tokens[which] : -1;
}

rapt_status rapt__languages_given(const rapt_translator *t, rapt_message *why)
{
    const bool both = t->source_language >= 0 && t->target_language >= 0;
    if (both || !t->multilingual) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "%s is not set, but the model translates between many languages",
                      t->source_language < 0 ? "source_language" : "target_language");
}
