/* search.c - opens models, and defines the search options that translate, evaluate and attend
   share. */
#include "commands.h"
#include <string.h>

rapt_precision precision_of(const char *word)
{
    for (rapt_precision p = RAPT_PRECISION_F32; word && rapt_precision_name(p); p++)
        if (strcmp(rapt_precision_name(p), word) == 0) return p;
    return RAPT_PRECISION_STORED;
}

int model_open(rapt_model **model, const char *path, const char *precision)
{
    rapt_message why = {""};
    const rapt_load_options options = {.size = sizeof options,
                                       .precision = precision_of(precision)};
    if (rapt_model_import_with(model, path, &options, NULL, NULL, NULL, &why) == RAPT_OK)
        return EXIT_OK;
    return failed("%s", why.text);
}

/* A value below an option's range means that the option is not given, so that the model's setting
   or the program's default applies. */
const struct search search_default = {.beam = 0,
                                      .nbest = 1,
                                      .batch_tokens = 2048,
                                      .length_penalty = -1,
                                      .repetition_penalty = -1,
                                      .min_length = -1,
                                      .no_repeat_ngram = -1};

/* clang-format off */
struct option_row model_row(const char **path)
{
    return (struct option_row){"model", OPTION_INPUT, path, "FILE", "the model, a file or a folder", 0, 0, 0};
}

struct option_row source_language_row(const char **language)
{
    return (struct option_row){"source-lang", OPTION_TEXT, language, "L",
                               "language of the source, for multilingual models: eng_Latn, en or English", 0, 0, 0};
}

struct option_row target_language_row(const char **language)
{
    return (struct option_row){"target-lang", OPTION_TEXT, language, "L", "language of the target, for multilingual models", 0, 0, 0};
}

struct option_row precision_row(const char **word)
{
    return (struct option_row){"precision", OPTION_CHOICE, word, "f32|bf16|f16|int8",
                               "precision of the weights: int8 is fastest, bf16 and f16 take half the memory of f32 [that of the model's file]", 0, 0, 0};
}

struct option_row batch_row(int *tokens)
{
    return (struct option_row){"batch-tokens", OPTION_INTEGER, tokens, "N", "maximum tokens per batch", 1, 1 << 24, 0};
}
/* clang-format on */

void search_rows(struct search *search, struct option_row rows[SEARCH_ROWS])
{
    /* clang-format off */
    const struct option_row all[SEARCH_ROWS] = {
        {"Search", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        model_row(&search->model),
        {"beam", OPTION_INTEGER, &search->beam, "N", "beam size; 1: greedy search [that of the model's settings, or 5]", 1, 1024, 0},
        {"length-penalty", OPTION_REAL, &search->length_penalty, "A",
         "rank translations by log-probability / length^A [that of the model's settings, or 1]", 0, 10, 0},
        {"min-length", OPTION_INTEGER, &search->min_length, "N",
         "generate at least N tokens [that of the model's settings, or 0]", 0, 1 << 24, 0},
        {"max-length", OPTION_INTEGER, &search->max_length, "N",
         "generate at most N tokens, including the end; 0: limited by --max-length-factor", 0, 1 << 24, 0},
        {"no-repeat-ngram", OPTION_INTEGER, &search->no_repeat_ngram, "N",
         "never repeat N tokens in a translation; 0: allow it [that of the model's settings, or 0]", 0, 1 << 24, 0},
        {"repetition-penalty", OPTION_REAL, &search->repetition_penalty, "R",
         "above 1: make tokens that a translation already contains less likely; 0 or 1: no penalty [that of the model's settings, or 0]", 0, 1e6, 0},
        {"coverage-penalty", OPTION_REAL, &search->coverage_penalty, "B",
         "penalize translations that do not attend to parts of the source, with weight B", 0, 1e6, 0},
        {"like", OPTION_CHOICE, &search->like, "rapt|marian|hf|ct2",
         "follow the search rules of this project [that of the model's format]", 0, 0, 0},
        {"max-length-factor", OPTION_REAL, &search->max_length_factor, "F",
         "generate at most F tokens for each source token; 0: the rule of the model or its project", 0, 1000, 0},
        {"preprocess", OPTION_CHOICE, &search->preprocess, "none|opus",
         "opus: prepare sources like the scripts of OPUS-MT [none]", 0, 0, 0},
        {"shortlist", OPTION_INPUT, &search->shortlist, "FILE",
         "lexical shortlist: consider only its target tokens for the words of the source", 0, 0, 0},
        precision_row(&search->precision),
        {"bf16-cache", OPTION_FLAG, &search->bf16_cache, "",
         "cache keys and values in bf16, which takes half the memory and changes results slightly", 0, 0, 0},
        {"products", OPTION_CHOICE, &search->products, "f32|bf16|bf16-tiles",
         "multiply matrices of floats or bf16 in bf16: faster for many rows on processors with AVX512_BF16, bf16-tiles on those with AMX [f32]", 0, 0, 0},
        source_language_row(&search->source_language),
        target_language_row(&search->target_language),
        batch_row(&search->batch_tokens),
        threads_row(&search->threads),
    };
    /* clang-format on */
    memcpy(rows, all, sizeof all);
}

/* If the option is not given, the rules of the project that the model comes from are used. */
static rapt_search_rules like_of(const char *word)
{
    static const struct {
        const char *word;
        rapt_search_rules search_rules;
    } all[] = {{"rapt", RAPT_SEARCH_RULES_RAPT},
               {"marian", RAPT_SEARCH_RULES_MARIAN},
               {"hf", RAPT_SEARCH_RULES_HF},
               {"ct2", RAPT_SEARCH_RULES_CT2}};
    for (size_t i = 0; word != NULL && i < sizeof all / sizeof *all; i++)
        if (strcmp(word, all[i].word) == 0) return all[i].search_rules;
    return RAPT_SEARCH_RULES_MODEL;
}

static rapt_products products_of(const char *word)
{
    if (word == NULL || strcmp(word, "f32") == 0) return RAPT_PRODUCTS_BUILTIN;
    return strcmp(word, "bf16") == 0 ? RAPT_PRODUCTS_BF16 : RAPT_PRODUCTS_BF16_TILES;
}

/* Returns the options of a translator: those of the command line, or else the model's settings. */
static rapt_translator_options options_of(const struct search *search, const rapt_model *model)
{
    rapt_translator_options o;
    rapt_translator_options_default(&o, sizeof o, model);
    if (search->beam > 0) o.beams = search->beam;
    if (o.beams == 0) o.beams = 5;
    if (rapt_model_metadata(model, "rapt.length_penalty") == NULL) o.length_penalty = 1;
    if (search->length_penalty >= 0) o.length_penalty = (float)search->length_penalty;
    if (search->min_length >= 0) o.min_length = search->min_length;
    if (search->no_repeat_ngram >= 0) o.no_repeat_ngram = search->no_repeat_ngram;
    if (search->repetition_penalty >= 0) o.repetition_penalty = (float)search->repetition_penalty;
    o.coverage_penalty = (float)search->coverage_penalty;
    o.suppressed_texts = search->suppressed, o.suppressed_text_count = search->suppressed_count;
    o.max_length = search->max_length;
    o.temperature = (float)search->temperature, o.top_p = (float)search->top_p;
    o.top_k = search->top_k, o.seed = search->seed;
    o.nbest = search->nbest;
    o.max_length_factor = (float)search->max_length_factor;
    o.batch_tokens = search->batch_tokens;
    o.threads = threads_used(search->threads);
    o.bf16_cache = search->bf16_cache;
    o.products = products_of(search->products);
    o.source_language = search->source_language, o.target_language = search->target_language;
    o.search_rules = like_of(search->like);
    o.preprocess = search->preprocess != NULL && strcmp(search->preprocess, "opus") == 0
                       ? RAPT_PREPROCESS_OPUS
                       : RAPT_PREPROCESS_NONE;
    return o;
}

int search_open(const struct search *search, const char *command, rapt_translator **translator)
{
    if (search->model == NULL) return usage_error("%s: --model is missing", command);
    const bool samples = search->temperature > 0;
    if (!samples && search->beam > 0 && search->nbest > search->beam)
        return usage_error("%s: --nbest %d is more than --beam %d", command, search->nbest,
                           search->beam);
    rapt_model *model = NULL;
    rapt_message why = {""};
    int code = model_open(&model, search->model, search->precision);
    if (code != EXIT_OK) return code;
    const rapt_translator_options options = options_of(search, model);
    if (!samples && search->nbest > options.beams)
        code = usage_error("%s: --nbest %d is more than the model's beam size, %d: give --beam",
                           command, search->nbest, options.beams);
    else if (rapt_translator_create(translator, model, NULL, NULL, &options, NULL, &why) != RAPT_OK)
        code = failed("%s: %s", search->model, why.text);
    if (code != EXIT_OK) {
        rapt_model_free(model);
        return code;
    }
    if (search->shortlist != NULL &&
        rapt_translator_load_shortlist(*translator, search->shortlist, &why) != RAPT_OK)
        code = failed("%s", why.text);
    return code;
}

void search_report(const struct search *search, const rapt_translator *translator)
{
    const rapt_model *model = rapt_translator_model(translator);
    const char *ignored = rapt_model_metadata(model, "rapt.ignored_settings");
    if (ignored != NULL)
        print_report("%s: its settings for decoding include some that are not followed: %s",
                     search->model, ignored);
}

void search_close(rapt_translator *translator)
{
    rapt_model *model = (rapt_model *)rapt_translator_model(translator); /* search_open made it */
    rapt_translator_free(translator);
    rapt_model_free(model);
}
