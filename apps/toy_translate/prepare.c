/* prepare.c - sets up training: vocabulary, batches, model and trainer, new or from a checkpoint.
 */
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int recipe_config(const struct recipe *recipe, rapt_config *config)
{
    rapt_message why = {""};
    *config = (rapt_config){.size = sizeof *config};
    if (rapt_config_preset(config, recipe->preset, recipe->vocab, &why) != RAPT_OK)
        return usage_error("%s", why.text);
    if (recipe->layers > 0) config->encoder_layers = config->decoder_layers = recipe->layers;
    if (recipe->width > 0) config->width = recipe->width;
    if (recipe->heads > 0) config->heads = recipe->heads;
    if (recipe->ffn_width > 0) config->ffn_width = recipe->ffn_width;
    variant_apply(&recipe->variant, config);
    if (recipe->separate) config->tie = RAPT_TIE_OUTPUT;
    if (rapt_config_check(config, &why) == RAPT_OK) return EXIT_OK;
    return usage_error("%s", why.text);
}

static int create_model(struct learner *learner, const struct pairs *train)
{
    const struct recipe *recipe = learner->recipe;
    rapt_config config;
    rapt_message why = {""};
    int code = recipe_config(recipe, &config);
    if (code != EXIT_OK) return code;
    if (recipe->sentencepiece != NULL)
        code = vocabulary_open(&learner->vocabulary, recipe->sentencepiece,
                               recipe->sentencepiece_target);
    else
        code = vocabulary_learn(&learner->vocabulary, train, recipe->vocab, recipe->exact_vocab,
                                recipe->separate);
    if (code != EXIT_OK) return code;
    config.source_vocab = rapt_tokenizer_vocab(learner->vocabulary.source);
    config.target_vocab = rapt_tokenizer_vocab(learner->vocabulary.target);
    if (rapt_model_create(&learner->model, &config, recipe->seed, NULL, &why) == RAPT_OK)
        return EXIT_OK;
    return failed("%s", why.text);
}

/* Where ranks measured, each for itself, they would not compute the same. */
static int set_products(const struct learner *learner, rapt_train_options *options)
{
    const char *products = learner->recipe->products;
    bool alone = learner->exchange.ranks->count == 1;
    if (products != NULL)
        options->products = strcmp(products, "auto") == 0       ? RAPT_PRODUCTS_AUTO
                            : strcmp(products, "openblas") == 0 ? RAPT_PRODUCTS_OPENBLAS
                                                                : RAPT_PRODUCTS_BUILTIN;
    if (alone || options->products != RAPT_PRODUCTS_AUTO) return EXIT_OK;
    if (products == NULL) options->products = RAPT_PRODUCTS_BUILTIN;
    return products == NULL ? EXIT_OK
                            : failed("--products auto: each of %d ranks would choose for itself; "
                                     "take openblas or builtin",
                                     learner->exchange.ranks->count);
}

static int create_trainer(struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    int budget = (int)learner->valid_batches.budget;
    rapt_train_limits limits = {
        .size = sizeof limits,
        .batch = budget / 2 + 1,
        .source_tokens = budget,
        .target_tokens = budget,
        .threads = recipe->threads,
        .shards = recipe->shards,
    };
    rapt_message why = {""};
    learner->bytes = rapt_trainer_bytes(learner->model, &limits);
    options.rate = (float)recipe->rate;
    options.warmup = 0; /* rate.c sets the rate of each step */
    options.schedule = RAPT_SCHEDULE_CONSTANT;
    options.label_smoothing = (float)recipe->smoothing;
    options.dropout = (float)recipe->dropout;
    options.seed = recipe->seed;
    hard_apply(&recipe->hard, &options);
    int code = set_products(learner, &options);
    if (code != EXIT_OK) return code;
    if (rapt_trainer_create(&learner->trainer, learner->model, &options, &limits, NULL, &why) ==
        RAPT_OK)
        return EXIT_OK;
    return failed("%s", why.text);
}

static int create_batches(struct learner *learner, const struct pairs *train,
                          const struct pairs *valid)
{
    size_t budget = (size_t)learner->recipe->batch_tokens;
    size_t max_tokens = (size_t)rapt_model_config(learner->model)->positions;
    size_t parts = learner->recipe->shards > 0 ? (size_t)learner->recipe->shards : 1;
    if (max_tokens > budget) max_tokens = budget;
    int32_t begin = rapt_target_begin(learner->model, learner->vocabulary.target);
    if (begin < 0) return failed("--decoder-start: the vocabulary has no such token");
    int code = examples_make(&learner->train, train, &learner->vocabulary, begin, max_tokens);
    if (code == EXIT_OK)
        code = examples_make(&learner->valid, valid, &learner->vocabulary, begin, max_tokens);
    if (code == EXIT_OK) learner->words = seen_words(&learner->train, learner->vocabulary.source);
    if (code == EXIT_OK) code = batches_create(&learner->batches, &learner->train, budget);
    if (code == EXIT_OK)
        code = batches_create(&learner->valid_batches, &learner->valid,
                              batches_part_budget(budget, max_tokens, parts));
    if (code != EXIT_OK) return code;
    batches_plan(&learner->valid_batches, 0, 0);
    batches_plan(&learner->batches, learner->recipe->seed, (int)learner->state.epoch);
    if (learner->state.position < (long long)learner->batches.count) return EXIT_OK;
    return failed("%s: its position is %lld, but epoch %lld has %zu batches", learner->path,
                  learner->state.position, learner->state.epoch, learner->batches.count);
}

int prepare(struct learner *learner, const struct pairs *train, const struct pairs *valid)
{
    const struct recipe *recipe = learner->recipe;
    learner->valid_loss = NAN;
    learner->state = (struct state){.epoch = 1, .best = INFINITY};
    uint64_t hash = pairs_hash(0xCBF29CE484222325U, train);
    learner->path = xasprintf("%s.checkpoint", recipe->out);
    learner->options = options_text(recipe);
    learner->state.data = pairs_hash(hash, valid);
    int code = recipe->resume ? checkpoint_open(learner) : create_model(learner, train);
    if (code != EXIT_OK) return code;
    average_create(&learner->average, learner->model, recipe->average);
    code = create_batches(learner, train, valid);
    if (code == EXIT_OK && leads(learner)) code = output_check(learner);
    if (code == EXIT_OK && recipe->force && recipe->checkpoint && !recipe->resume && leads(learner))
        outputs_remove(recipe->out);
    if (code == EXIT_OK) code = create_trainer(learner);
    if (code == EXIT_OK && recipe->resume) code = checkpoint_continue(learner);
    learner->written = now();
    return code;
}

void release(struct learner *learner)
{
    rapt_trainer_free(learner->trainer);
    rapt_model_free(learner->model);
    average_free(&learner->average);
    batches_free(&learner->batches);
    batches_free(&learner->valid_batches);
    examples_free(&learner->train);
    examples_free(&learner->valid);
    vocabulary_free(&learner->vocabulary);
    history_free(&learner->history);
    exchange_free(&learner->exchange);
    free(learner->words);
    free(learner->path);
    free(learner->options);
}
