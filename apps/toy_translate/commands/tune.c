/* tune.c - train --from: its checks and defaults, and BLEU and chrF of the model before and after
   training, on validation pairs. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include <string.h>
#include <unistd.h>

/* Options that describe a new model. */
static const char *const of_new[] = {"for",
                                     "preset",
                                     "layers",
                                     "width",
                                     "heads",
                                     "ffn-width",
                                     "vocab",
                                     "sentencepiece",
                                     "sentencepiece-target",
                                     "separate",
                                     "guided-alignment-layer"};

static bool is_of_new(const char *name)
{
    for (size_t i = 0; i < sizeof of_new / sizeof *of_new; i++)
        if (strcmp(of_new[i], name) == 0) return true;
    return is_variant(name);
}

int tuning_check(const struct recipe *recipe, const struct command *command)
{
    static const char *const own[] = {"freeze", "lora", "lora-alpha", "source-lang", "target-lang"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!recipe->tuned && option_given(command, own[i]))
            return usage_error("train: --%s needs --from, a model to start from", own[i]);
    const char *const languages[] = {recipe->source_language, recipe->target_language};
    for (int i = 0; i < 2; i++) /* checkpoints separate options by spaces */
        if (languages[i] != NULL && strpbrk(languages[i], " \t\n") != NULL)
            return usage_error("train: --%s %s: give the code of a language whose name has a blank",
                               own[3 + i], languages[i]);
    if (option_given(command, "lora-alpha") && recipe->lora == 0)
        return usage_error("train: --lora-alpha needs --lora");
    for (int i = 0; recipe->tuned && i < command->count; i++) {
        const struct option_row *row = &command->rows[i];
        if (row->given && is_of_new(row->name))
            return usage_error(
                "train: --%s cannot be combined with --from, which keeps the model's "
                "architecture and vocabulary",
                row->name);
    }
    return EXIT_OK;
}

/* Students such as Firefox's were trained without dropout and label smoothing. Dropout of 0.1 makes
   the perplexity of one rise from 6 to 2700, and training first has to repair that. */
void tuning_defaults(struct recipe *recipe, const struct command *command)
{
    if (!option_given(command, "dropout")) recipe->dropout = 0;
    if (!option_given(command, "smoothing")) recipe->smoothing = 0;
    if (!option_given(command, "rate")) recipe->rate = recipe->lora > 0 ? 5e-4 : 5e-5;
    if (!option_given(command, "warmup")) recipe->warmup = 100;
    if (!option_given(command, "average")) recipe->average = 1;
    if (!option_given(command, "patience")) recipe->patience = 3;
    if (recipe->schedule == NULL) recipe->schedule = "linear";
    if (recipe->minutes <= 0 && recipe->steps == 0 && recipe->epochs == 0) recipe->epochs = 10;
}

/* ---- before and after ---- */

static int score_one(const char *path, const struct recipe *recipe, const struct pairs *pairs,
                     struct score *score)
{
    struct search search = search_default;
    rapt_translator *translator = NULL;
    search.model = path;
    search.threads = recipe->threads;
    if (recipe->quantize_aware > 0) search.precision = "int8";
    search.source_language = recipe->source_language;
    search.target_language = recipe->target_language;
    *score = (struct score){.tokens = RAPT_BLEU_TOKENS_13A};
    const char *unspaced = score_tokenizer(pairs);
    if (unspaced != NULL)
        score->tokens = strcmp(unspaced, "zh") == 0 ? RAPT_BLEU_TOKENS_ZH : RAPT_BLEU_TOKENS_CHAR;
    int code = search_open(&search, "train", &translator);
    if (code == EXIT_OK) code = score_pairs(score, translator, pairs, NULL);
    search_close(translator);
    return code;
}

static json_t *score_json(const struct score *score)
{
    return json_pack("{s:o, s:o}", "bleu", number(score_bleu(score->sums)), "chrf",
                     number(score_chrf(score->sums)));
}

static void report_scores(const struct recipe *recipe, const struct score *before,
                          const struct score *after)
{
    const bool both = before->sentences > 0;
    const char *how = recipe->quantize_aware > 0 ? ", in 8-bit arithmetic" : "";
    if (recipe->json) {
        json_t *object = json_pack("{s:I}", "evaluated", (json_int_t)after->sentences);
        if (both) put_member(object, "before", score_json(before));
        put_member(object, "after", score_json(after));
        print_json(object);
    }
    if (both)
        print_report("%zu validation pairs%s: BLEU %.1f before, %.1f after; chrF %.1f before, "
                     "%.1f after",
                     after->sentences, how, score_bleu(before->sums), score_bleu(after->sums),
                     score_chrf(before->sums), score_chrf(after->sums));
    else
        print_report("%zu validation pairs%s: BLEU %.1f, chrF %.1f; the original model is missing",
                     after->sentences, how, score_bleu(after->sums), score_chrf(after->sums));
}

int tuning_evaluate(const struct recipe *recipe, const struct pairs *pairs)
{
    struct score before = {0}, after = {0};
    const bool there = recipe->from != NULL && access(recipe->from, R_OK) == 0;
    int code = there ? score_one(recipe->from, recipe, pairs, &before) : EXIT_OK;
    if (code == EXIT_OK) code = score_one(recipe->out, recipe, pairs, &after);
    if (code == EXIT_OK) report_scores(recipe, &before, &after);
    score_free(&before);
    score_free(&after);
    return code;
}
