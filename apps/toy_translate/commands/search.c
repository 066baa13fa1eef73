/* search.c - opens models, and the search options that translate, evaluate and attend share. */
#include "commands.h"
#include <string.h>

int model_open(rapt_model **model, const char *path)
{
    rapt_message why = {""};
    if (rapt_model_import(model, path, NULL, &why) == RAPT_OK) return EXIT_OK;
    return failed("%s", why.text);
}

const struct search search_default = {
    .beam = 5, .nbest = 1, .batch_tokens = 2048, .length_penalty = 1};

void search_rows(struct search *search, struct option_row rows[SEARCH_ROWS])
{
    /* clang-format off */
    const struct option_row all[SEARCH_ROWS] = {
        {"Search", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"model", OPTION_INPUT, &search->model, "FILE", "the model", 0, 0, 0},
        {"beam", OPTION_INTEGER, &search->beam, "N", "beam size; 1: greedy search", 1, 1024, 0},
        {"length-penalty", OPTION_REAL, &search->length_penalty, "A",
         "rank translations by log-probability / length^A", 0, 10, 0},
        {"like", OPTION_CHOICE, &search->like, "rapt|marian|hf|ct2",
         "follow the search rules of this project [that of the model's format]", 0, 0, 0},
        {"max-length-factor", OPTION_REAL, &search->max_length_factor, "F",
         "generate at most F tokens for each source token; 0: the rule of the model or its project", 0, 1000, 0},
        {"preprocess", OPTION_CHOICE, &search->preprocess, "none|opus",
         "opus: prepare sources like the scripts of OPUS-MT [none]", 0, 0, 0},
        {"shortlist", OPTION_INPUT, &search->shortlist, "FILE",
         "lexical shortlist: consider only its target tokens for the words of the source", 0, 0, 0},
        {"batch-tokens", OPTION_INTEGER, &search->batch_tokens, "N", "maximum source tokens per batch", 1, 1 << 24, 0},
        {"threads", OPTION_INTEGER, &search->threads, "N", "number of threads [one per processor]", 0, 1024, 0},
    };
    /* clang-format on */
    memcpy(rows, all, sizeof all);
}

/* Without a word, the rules of the project that the model comes from are used. */
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

int search_open(const struct search *search, const char *command, rapt_translator **translator)
{
    if (search->model == NULL) return usage_error("%s: --model is missing", command);
    if (search->nbest > search->beam)
        return usage_error("%s: --nbest %d is more than --beam %d", command, search->nbest,
                           search->beam);
    rapt_translator_options options = {
        .size = sizeof options,
        .beams = search->beam,
        .nbest = search->nbest,
        .length_penalty = (float)search->length_penalty,
        .max_length_factor = (float)search->max_length_factor,
        .batch_tokens = search->batch_tokens,
        .threads = threads_used(search->threads),
        .search_rules = like_of(search->like),
        .preprocess = search->preprocess != NULL && strcmp(search->preprocess, "opus") == 0
                          ? RAPT_PREPROCESS_OPUS
                          : RAPT_PREPROCESS_NONE,
    };
    rapt_message why = {""};
    if (rapt_translator_load(translator, search->model, &options, NULL, &why) != RAPT_OK ||
        (search->shortlist != NULL &&
         rapt_translator_load_shortlist(*translator, search->shortlist, &why) != RAPT_OK))
        return failed("%s", why.text);
    return EXIT_OK;
}
