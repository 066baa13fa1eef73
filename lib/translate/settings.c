/* settings.c - reads settings of a translator from the metadata of its model: the project whose
   rules it follows, defaults of its options, length limits, and tokens that it never produces.
   Metadata is not trusted: unusable values are ignored. */
#include "translate/translate.h"

#include <stdlib.h>
#include <string.h>

/* Returns the rules of the project that a model was imported from, according to the metadata that
   importers write. */
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

/* ---- tokens that are never produced ---- */

/* Suppresses a token, unless it is missing (negative) or the end token. */
static void suppress(rapt_translator *t, int32_t token)
{
    if (token >= 0 && token != t->end) t->suppressed[t->suppressed_count++] = token;
}

/* Suppresses the tokens listed in the metadata, or only counts them if t->suppressed is NULL.
   Returns their number. */
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
