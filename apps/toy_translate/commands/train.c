/* train.c - toy_translate train: checks its options and opens the data. With --from, compares the
   model before and after. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char purpose[] =
    "Trains a translator on sentence pairs: either one file with a source sentence, a tab and its "
    "translation on each line, or two files with the same number of lines. Lines must be UTF-8. A "
    "pair is skipped and counted if one side is empty, has more than 65536 bytes, or is longer "
    "than the model supports.\n\n"
    "The model is validated after every epoch. The best model so far is written to OUT, and the "
    "learning curve is drawn as OUT.svg. Perplexities are per target token, without label "
    "smoothing: ppl is that of the training pairs, smoothed over the last steps, and valid that "
    "of the validation pairs.\n\n"
    "During the run, OUT.checkpoint and OUT hold what --resume needs. Ctrl-C or SIGTERM writes "
    "the checkpoint and exits with status 130. The result of a resumed run is bit-identical to "
    "that of an uninterrupted one, unless --minutes ends it by the clock. Options that are not "
    "given are taken from the checkpoint, except --threads, --memory-limit and --json. --steps, "
    "--epochs and --patience may be raised: the result is that of the longer run, except with "
    "--schedule linear, whose learning rate depends on the length of the run from the start. "
    "Other options that contradict the checkpoint are refused.\n\n"
    "--from fine-tunes a model on one's own pairs, with a low learning rate, and keeps its "
    "vocabulary. OUT first holds the opened model, and then each better one. At the end, BLEU and "
    "chrF of both are printed for at most 200 validation pairs. toy_translate info --tensors lists "
    "the names for --freeze. --lora takes less memory and changes the model less; the adapters "
    "are part of the weights in OUT.\n\n"
    "--quantize-aware trains a model for --precision int8: weights and activations are rounded as "
    "in that precision, and gradients ignore the rounding. OUT holds floats. Unless the whole run "
    "is trained in this way, --patience is off.\n\n"
    "With --augment, some of the training pairs get noise: both sides in capital letters (caps, "
    "by default .07 of the pairs), both in title case (title, .05), typing errors in the source "
    "(typos, .05), tags such as <b> around a word and its translation (tags, .005; around the "
    "sentence without --guided-alignment), both without their last punctuation "
    "(no-end-punctuation, .2), and the pair followed by the next one (concat, .05). A pair may "
    "get several kinds. The noise depends only on the seed, the epoch and the position of the "
    "pair in the data.\n\n"
    "With --average N, OUT.checkpoint.1, .2 and so on hold the parameters of the last N epochs. "
    "If a run ends within an epoch with its best model, OUT.checkpoint.best holds the best model "
    "at the end of an epoch.";

static const char examples[] =
    "  toy_translate train --data pairs.tsv --out m.safetensors\n"
    "  toy_translate train --source a.en --target a.de --minutes 20 -o m.safetensors\n"
    "  toy_translate train --resume -o m.safetensors\n"
    "  toy_translate train --from opus-mt --lora 8 --data pairs.tsv -o m.safetensors";

/* ---- --from: checks and defaults ---- */

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

/* Refuses options that cannot be combined with --from and, without --from, options that need it. */
static int tuning_check(const struct recipe *recipe, const struct command *command)
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

/* Student models such as Firefox's were trained without dropout and label smoothing. Dropout of 0.1
   makes the perplexity of one of them rise from 6 to 2700, which training first has to repair. */
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

/* ---- --from: BLEU and chrF before and after, on validation pairs ---- */

enum { EVALUATED_PAIRS = 200 };

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

/* Prints BLEU and chrF of the original and the tuned model on these pairs. */
static int tuning_evaluate(const struct recipe *recipe, const struct pairs *pairs)
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

/* ---- the command ---- */

static int check_files(const struct training_files *files)
{
    const struct pair_files *valid = &files->valid;
    int code = pair_files_check(&files->train, "train");
    if (code != EXIT_OK) return code;
    if ((valid->source != NULL) != (valid->target != NULL))
        return usage_error("train: --valid-source and --valid-target must be given together");
    if (valid->data != NULL && valid->source != NULL)
        return usage_error("train: --valid and --valid-source cannot be combined");
    return EXIT_OK;
}

/* Fails if an output file is one of the input files. */
static int refuse_input(const char *path, const void *user)
{
    const struct training_files *files = user;
    const struct pair_files *a = &files->train, *b = &files->valid;
    const char *const inputs[] = {a->data,   a->source, a->target,       b->data,
                                  b->source, b->target, files->alignment};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i] != NULL && file_same(path, inputs[i]))
            return usage_error("train: the output %s is the same file as the input %s", path,
                               inputs[i]);
    return EXIT_OK;
}

static int read_pairs(const struct training *t, struct data *data)
{
    const struct recipe *recipe = &t->recipe;
    struct pair_files of_valid = t->files.valid;
    of_valid.more_columns = t->files.train.more_columns;
    return data_open(data, &t->files.train, &of_valid, 1000,
                     !recipe->resume && recipe->sentencepiece == NULL && !recipe->tuned);
}

/* Fails if the data are also OUT or a file of its checkpoint. options_read cannot check this, since
   paths of data may come from the checkpoint. */
static int check_outputs(const struct training *t)
{
    const struct recipe *recipe = &t->recipe;
    int code = refuse_input(recipe->out, &t->files);
    if (code == EXIT_OK) code = outputs_each(recipe->out, refuse_input, &t->files);
    if (code == EXIT_OK) code = outputs_check(recipe);
    return code;
}

static int check_coverage(const struct recipe *recipe, const rapt_config *config)
{
    if (recipe->coverage_loss == 0 || config->cross_score == RAPT_SCORE_COVERAGE) return EXIT_OK;
    return usage_error("train: --coverage-loss needs --cross-score coverage");
}

static int train_pairs(struct training *t, const struct command *command)
{
    struct recipe *recipe = &t->recipe;
    rapt_config config;
    struct data data = {0};
    struct pairs evaluated = {0};
    training_fill_in(t, command);
    int code = recipe_config(recipe, &config);
    if (code == EXIT_OK && !recipe->tuned) code = hard_check(&recipe->hard, &config);
    if (code == EXIT_OK && !recipe->tuned) code = check_coverage(recipe, &config);
    if (code == EXIT_OK) code = read_pairs(t, &data);
    if (code == EXIT_OK && recipe->tuned && recipe->ranks->rank == 0)
        code = part_sample(&data.valid, EVALUATED_PAIRS, &evaluated);
    if (code == EXIT_OK) training_fit(t, command, data.train.bytes);
    char *text = training_text(command);
    recipe->command = text;
    if (code == EXIT_OK) code = learn(recipe, &data, NULL);
    recipe->command = NULL;
    free(text);
    data_close(&data);
    if (code == EXIT_OK && evaluated.count > 0) code = tuning_evaluate(recipe, &evaluated);
    pairs_free(&evaluated);
    if (finish_output() != EXIT_OK && code == EXIT_OK) code = EXIT_FAILED;
    return code;
}

/* The number of shards must not depend on the number of ranks, or the result would. */
static int check_shards(struct recipe *recipe)
{
    enum { SHARDS = 8 };
    const struct ranks *ranks = recipe->ranks;
    if (recipe->shards == 0 && ranks->launched) recipe->shards = SHARDS;
    if ((recipe->shards & (recipe->shards - 1)) != 0)
        return usage_error("train: --shards %d is not a power of two", recipe->shards);
    if (ranks->count > 1 && ranks->count > recipe->shards)
        return usage_error(
            "train: %d ranks cannot share %d shards; give each at least one with --shards",
            ranks->count, recipe->shards);
    recipe->json = recipe->json && ranks->rank == 0;
    recipe->curve = recipe->curve && ranks->rank == 0;
    return EXIT_OK;
}

/* Patience could end a run before its last part, which is trained in 8-bit arithmetic. */
static int check_patience(const struct recipe *recipe, bool given)
{
    if (!quantizes_late(recipe) || !given || recipe->patience == 0) return EXIT_OK;
    return usage_error("train: --patience could end the run before its last part, which "
                       "--quantize-aware %g trains in 8-bit arithmetic; omit one of them",
                       recipe->quantize_aware);
}

static int train_checked(struct training *t, const struct command *command)
{
    struct recipe *recipe = &t->recipe;
    if (recipe->out == NULL) return usage_error("train: --out is missing");
    if (recipe->resume && recipe->force)
        return usage_error("train: --resume and --force cannot be combined");
    if (recipe->resume && recipe->from != NULL)
        return usage_error("train: --resume and --from cannot be combined: the checkpoint contains "
                           "the model");
    recipe->tuned = recipe->from != NULL;
    if (recipe->sentencepiece != NULL && (option_given(command, "vocab") || recipe->separate))
        return usage_error("train: --sentencepiece cannot be combined with --vocab or --separate");
    if (recipe->project != NULL && recipe->from == NULL && !recipe->resume &&
        recipe->sentencepiece == NULL)
        return usage_error("train: --for %s needs --sentencepiece", recipe->project);
    if (recipe->sentencepiece_target != NULL && recipe->sentencepiece == NULL)
        return usage_error("train: --sentencepiece-target needs --sentencepiece");
    if (recipe->sentencepiece_target != NULL) recipe->separate = true;
    const bool patient = option_given(command, "patience"); /* --resume also sets it */
    int code = training_for(t, command);
    if (code == EXIT_OK && recipe->ranks->rank == 0) code = lock_open(&t->lock, recipe->out);
    if (code == EXIT_OK && recipe->resume) code = training_resume(t, command);
    if (code == EXIT_OK) code = tuning_check(recipe, command);
    recipe->guided = t->files.alignment;
    if (code == EXIT_OK) code = noise_read(&recipe->noise, t->augment, false, "train", "augment");
    if (code == EXIT_OK && recipe->guided == NULL &&
        (option_given(command, "guided-alignment-weight") ||
         option_given(command, "guided-alignment-layer")))
        return usage_error("train: --guided-alignment-weight and --guided-alignment-layer need "
                           "--guided-alignment");
    if (code == EXIT_OK) code = check_patience(recipe, patient);
    if (code == EXIT_OK) code = check_shards(recipe);
    if (code == EXIT_OK) code = check_files(&t->files);
    if (code == EXIT_OK) code = check_outputs(t);
    return code == EXIT_OK ? train_pairs(t, command) : code;
}

int command_train(int argc, char **argv)
{
    struct ranks ranks = ranks_open();
    messages_of_rank(ranks.rank);
    struct training training = {.recipe = {.preset = "tiny",
                                           .ranks = &ranks,
                                           .smoothing = 0.1,
                                           .guided_weight = 0.1,
                                           .hard = {.monotonic_noise = HARD_NOISE},
                                           .batch_tokens = 4096,
                                           .average = 5,
                                           .patience = 10,
                                           .seed = 1,
                                           .checkpoint = true,
                                           .curve = true},
                                .lock = -1};
    struct option_row rows[TRAINING_ROWS];
    struct command command = {
        .name = "train", .arguments = "", .purpose = purpose, .examples = examples, .rows = rows};
    command.count = training_rows(&training, rows);
    int code = options_read(&command, argc, argv);
    if (code == GO_ON) code = train_checked(&training, &command);
    training_free(&training);
    if (code != EXIT_OK) code = agree(&ranks, code, NULL);
    ranks_close(&ranks, code);
    return code;
}
