/* evaluate.c - toy_translate evaluate: BLEU, chrF and exact matches of a model on sentence pairs.
 */
#include "toy.h"

static const char purpose[] =
    "Translates the source sentences of pairs and scores the result against their targets:\n"
    "  bleu         BLEU, cased, 13a tokens: sacreBLEU's default\n"
    "  bleu_lc_tok  BLEU, lower case, split at spaces: for tokenized text\n"
    "  chrf         chrF2\n"
    "  exact        translations equal to the target, in %\n"
    "Target tokens and tokens per second count the translations, end tokens included.";

static void print_text(const struct score *score)
{
    printf("sentences    %zu\nbleu         %.2f\nbleu_lc_tok  %.2f\nchrf         %.2f\n",
           score->sentences, rapt_bleu_score(&score->cased), rapt_bleu_score(&score->lowered),
           rapt_chrf_score(&score->chrf));
    printf("exact        %.2f %%\ntokens/s     %.0f\n", score_exact(score),
           (double)score->target_tokens / score->seconds);
}

static json_t *describe(const struct score *score, int threads)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:i}", "sentences",
                     (json_int_t)score->sentences, "bleu", number(rapt_bleu_score(&score->cased)),
                     "bleu_lc_tok", number(rapt_bleu_score(&score->lowered)), "chrf",
                     number(rapt_chrf_score(&score->chrf)), "exact", number(score_exact(score)),
                     "target_tokens", (json_int_t)score->target_tokens, "seconds",
                     number(score->seconds), "tokens_per_second",
                     number((double)score->target_tokens / score->seconds), "threads", threads);
}

static int evaluate(const struct search *search, const char *data, const char *source,
                    const char *target, bool more_columns, bool json)
{
    if ((data != NULL) == (source != NULL || target != NULL))
        return usage_error("evaluate: give either --data or both --source and --target");
    if ((source != NULL) != (target != NULL))
        return usage_error("evaluate: --source and --target go together");
    rapt_translator *translator = NULL;
    struct pairs pairs = {0};
    struct score score;
    int code = search_open(search, "evaluate", &translator);
    if (code == EXIT_OK) code = pairs_read(&pairs, data, source, target, more_columns);
    if (code == EXIT_OK) code = score_pairs(&score, translator, &pairs);
    if (code == EXIT_OK && json) print_json(describe(&score, threads_used(search->threads)));
    if (code == EXIT_OK && !json) print_text(&score);
    if (code == EXIT_OK) code = finish_output();
    pairs_free(&pairs);
    rapt_translator_free(translator);
    return code;
}

int command_evaluate(int argc, char **argv)
{
    struct search search = search_default;
    const char *data = NULL, *source = NULL, *target = NULL;
    bool more_columns = false, json = false;
    /* clang-format off */
    struct option_row rows[SEARCH_ROWS + 6] = {
        [SEARCH_ROWS] =
        {"Data", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"data", OPTION_INPUT, &data, "FILE", "sentence pairs, tab-separated: source, target", 0, 0, 0},
        {"source", OPTION_INPUT, &source, "FILE", "instead of --data: source sentences, one per line,", 0, 0, 0},
        {"target", OPTION_INPUT, &target, "FILE", "and their translations", 0, 0, 0},
        {"more-columns", OPTION_FLAG, &more_columns, "", "ignore columns after the second instead of refusing them", 0, 0, 0},
        {"json", OPTION_FLAG, &json, "", "print one JSON object", 0, 0, 0},
    };
    /* clang-format on */
    search_rows(&search, rows);
    struct command command = {.name = "evaluate",
                              .arguments = "",
                              .purpose = purpose,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows};
    int code = options_read(&command, argc, argv);
    return code == GO_ON ? evaluate(&search, data, source, target, more_columns, json) : code;
}
