/* prepare.c - sets up training: vocabulary, batches, model and trainer, new or from a
   checkpoint. */
#include "learner.h"
#include "training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int recipe_config(const struct recipe *recipe, rapt_config *config)
{
    rapt_message why = {""};
    *config = (rapt_config){.size = sizeof *config};
    if (recipe->tuned) return EXIT_OK;
    if (rapt_config_preset(config, recipe->preset, recipe->vocab, &why) != RAPT_OK)
        return usage_error("%s", why.text);
    if (recipe->layers > 0) config->encoder_layers = config->decoder_layers = recipe->layers;
    if (recipe->width > 0) config->width = recipe->width;
    if (recipe->heads > 0) config->heads = recipe->heads;
    if (recipe->ffn_width > 0) config->ffn_width = recipe->ffn_width;
    variant_apply(&recipe->variant, config);
    if (recipe->separate) config->tie = RAPT_TIE_OUTPUT;
    if (recipe->guided != NULL)
        config->alignment_layer =
            recipe->guided_layer > 0 ? recipe->guided_layer : config->decoder_layers;
    if (rapt_config_check(config, &why) == RAPT_OK) return EXIT_OK;
    return usage_error("%s", why.text);
}

/* Learns the vocabulary from text with the same noise, so that it has tokens for capital letters.
   Pairs are not concatenated, since this would not need other tokens. */
static int learn_vocabulary(struct learner *learner, const struct pairs *sample)
{
    const struct recipe *recipe = learner->recipe;
    struct noise noise = recipe->noise;
    struct pairs noisy = {0};
    noise.rates[NOISE_CONCAT] = 0;
    if (noise_any(&noise)) {
        noise_pairs(&noisy, sample, &noise, recipe->seed);
        sample = &noisy;
    }
    int code = vocabulary_learn(&learner->vocabulary, sample, recipe->vocab, recipe->exact_vocab,
                                recipe->separate);
    pairs_free(&noisy);
    return code;
}

static int create_model(struct learner *learner, const struct pairs *sample)
{
    const struct recipe *recipe = learner->recipe;
    rapt_config config;
    rapt_message why = {""};
    if (recipe->from != NULL) return tune_open(learner);
    int code = recipe_config(recipe, &config);
    if (code != EXIT_OK) return code;
    if (recipe->sentencepiece != NULL)
        code = vocabulary_open(&learner->vocabulary, recipe->sentencepiece,
                               recipe->sentencepiece_target);
    else
        code = learn_vocabulary(learner, sample);
    if (code != EXIT_OK) return code;
    config.source_vocab = rapt_tokenizer_vocab(learner->vocabulary.source);
    config.target_vocab = rapt_tokenizer_vocab(learner->vocabulary.target);
    if (recipe->project != NULL)
        code = export_check(recipe->project, &config, &learner->vocabulary);
    if (code != EXIT_OK) return code;
    if (rapt_model_create(&learner->model, &config, recipe->seed, NULL, &why) == RAPT_OK)
        return EXIT_OK;
    return failed("%s", why.text);
}

bool trains_in_bf16(const struct recipe *recipe)
{
    return recipe->precision != NULL && strcmp(recipe->precision, "f32") != 0;
}

static int set_bf16(const char *precision, const char *products, rapt_train_options *options)
{
    options->products =
        strcmp(precision, "bf16") == 0 ? RAPT_PRODUCTS_BF16 : RAPT_PRODUCTS_BF16_TILES;
    if (products == NULL || strcmp(products, "builtin") == 0) return EXIT_OK;
    return failed("--products %s: OpenBLAS multiplies floats only; with --precision %s, omit "
                  "--products",
                  products, precision);
}

/* Ranks must not each measure which library is faster, since their results could then differ. */
static int set_products(const struct learner *learner, rapt_train_options *options)
{
    const char *products = learner->recipe->products;
    bool alone = learner->exchange.ranks->count == 1;
    if (trains_in_bf16(learner->recipe))
        return set_bf16(learner->recipe->precision, products, options);
    if (products != NULL)
        options->products = strcmp(products, "auto") == 0       ? RAPT_PRODUCTS_AUTO
                            : strcmp(products, "openblas") == 0 ? RAPT_PRODUCTS_OPENBLAS
                                                                : RAPT_PRODUCTS_BUILTIN;
    if (alone || options->products != RAPT_PRODUCTS_AUTO) return EXIT_OK;
    if (products == NULL) options->products = RAPT_PRODUCTS_BUILTIN;
    return products == NULL ? EXIT_OK
                            : failed("--products auto: each of %d ranks might choose differently; "
                                     "give openblas or builtin",
                                     learner->exchange.ranks->count);
}

rapt_train_limits train_limits(const struct learner *learner)
{
    int budget = (int)shard_budget(learner), sentences = budget / 2 + 1;
    return (rapt_train_limits){
        .size = sizeof(rapt_train_limits),
        .batch = sentences < MAX_SENTENCES ? sentences : MAX_SENTENCES,
        .source_tokens = budget,
        .target_tokens = budget,
        .threads = learner->recipe->threads,
        .shards = learner->recipe->shards,
    };
}

static int create_trainer(struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_train_limits limits = train_limits(learner);
    rapt_message why = {""};
    options.rate = (float)recipe->rate;
    options.warmup = 0; /* step.c sets the rate of each step */
    options.schedule = RAPT_SCHEDULE_CONSTANT;
    options.label_smoothing = (float)recipe->smoothing;
    options.dropout = (float)recipe->dropout;
    options.seed = recipe->seed;
    if (recipe->guided != NULL) options.guided_alignment = (float)recipe->guided_weight;
    hard_apply(&recipe->hard, &options);
    tune_options(learner, &options);
    int code = set_products(learner, &options);
    if (code != EXIT_OK) return code;
    if (rapt_trainer_create(&learner->trainer, learner->model, &options, &limits, NULL, &why) ==
        RAPT_OK)
        return EXIT_OK;
    return failed("%s", why.text);
}

size_t max_tokens(const struct learner *learner)
{
    size_t budget = (size_t)learner->recipe->batch_tokens;
    size_t positions = (size_t)rapt_model_config(learner->model)->positions;
    return positions < budget ? positions : budget;
}

size_t shard_budget(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    return batches_part_budget((size_t)recipe->batch_tokens, max_tokens(learner),
                               recipe->shards > 0 ? (size_t)recipe->shards : 1);
}

/* Refuses what can be refused before the pairs are tokenized, and divides the number of token ids
   that may be held in memory: most are for training pairs. */
static int plan_examples(struct learner *learner, const struct data *data)
{
    const struct recipe *recipe = learner->recipe;
    size_t max_ids = 0;
    struct frames frames;
    if (rapt_target_begin(learner->model, learner->vocabulary.target) < 0)
        return failed("--decoder-start: the vocabulary has no such token");
    int code = frames_find(&frames, learner->model, &learner->vocabulary, recipe->source_language,
                           recipe->target_language);
    if (code != EXIT_OK) return code;
    if (recipe->guided != NULL && frames.source.after_count == 0)
        return failed("--guided-alignment: sources of this model have no end token, to which words "
                      "without a counterpart are aligned");
    if (recipe->guided != NULL &&
        (frame_count(&frames.source) != 1 || frames.target.before_count != 1))
        return failed("--guided-alignment: not supported for models with tokens of languages or "
                      "begin tokens in sources");
    code = memory_plan(learner, data, &max_ids);
    learner->train = (struct examples){.vocabulary = &learner->vocabulary,
                                       .frames = frames,
                                       .max_tokens = max_tokens(learner),
                                       .max_ids = max_ids - max_ids / 8,
                                       .threads = recipe->threads,
                                       .ranks = learner->exchange.ranks};
    learner->valid = learner->train;
    learner->valid.max_ids = max_ids / 8;
    return code;
}

/* Makes training and validation pairs from the files. If all pairs are held, the files are
   closed. */
static int create_examples(struct learner *learner, struct data *data)
{
    struct seen seen = {0};
    const struct recipe *recipe = learner->recipe;
    const char *known = rapt_model_metadata(learner->model, WORDS_KEY);
    int code = examples_make(&learner->train, &data->train, &seen);
    if (code == EXIT_OK) code = examples_make(&learner->valid, &data->valid, NULL);
    if (code == EXIT_OK && recipe->guided != NULL)
        code = alignments_make(&learner->alignments, &learner->train, &data->train);
    if (code == EXIT_OK && noise_any(&recipe->noise))
        examples_augment(&learner->train, &recipe->noise, recipe->seed,
                         recipe->guided != NULL ? &learner->alignments : NULL);
    /* A model that is tuned has seen other words before; without a list they are unknown. */
    if (recipe->tuned && known != NULL) seen_add_list(&seen, known);
    if (code == EXIT_OK && (!recipe->tuned || known != NULL)) learner->words = seen_list(&seen);
    seen_free(&seen);
    bool held =
        learner->train.held == learner->train.count && learner->valid.held == learner->valid.count;
    if (code == EXIT_OK && held) data_close(data);
    return code;
}

static int create_batches(struct learner *learner)
{
    int code =
        batches_create(&learner->batches, &learner->train, (size_t)learner->recipe->batch_tokens);
    if (code == EXIT_OK)
        code = batches_create(&learner->valid_batches, &learner->valid, shard_budget(learner));
    if (code == EXIT_OK) code = examples_epoch(&learner->train, (int)learner->state.epoch);
    if (code != EXIT_OK) return code;
    batches_plan(&learner->valid_batches, 0, 0);
    batches_plan(&learner->batches, learner->recipe->seed, (int)learner->state.epoch);
    if (learner->state.position < (long long)learner->batches.count) return EXIT_OK;
    return failed("%s: the position is %lld, but epoch %lld has %zu batches", learner->path,
                  learner->state.position, learner->state.epoch, learner->batches.count);
}

int prepare(struct learner *learner, struct data *data)
{
    const struct recipe *recipe = learner->recipe;
    learner->valid_loss = NAN;
    learner->path = xasprintf("%s.checkpoint", recipe->out);
    learner->options = options_text(recipe, !data->separate);
    int code =
        recipe->guided != NULL ? alignments_open(&learner->alignments, recipe->guided) : EXIT_OK;
    learner->state = (struct state){
        .epoch = 1, .best = INFINITY, .data = alignments_hash(&learner->alignments, data->hash)};
    if (code == EXIT_OK)
        code = recipe->resume ? checkpoint_open(learner) : create_model(learner, data->sample);
    data_forget_sample(data);
    if (code == EXIT_OK) code = tune_choose(learner);
    if (code != EXIT_OK) return code;
    average_create(&learner->average, learner->model, recipe->average);
    code = plan_examples(learner, data);
    if (code == EXIT_OK) code = split_settle(data, &learner->train);
    if (recipe->ranks != NULL) code = agree(recipe->ranks, code, learner);
    if (code == EXIT_OK) code = create_examples(learner, data);
    if (code == EXIT_OK) code = create_batches(learner);
    if (code == EXIT_OK && leads(learner)) code = output_check(learner);
    if (code == EXIT_OK) code = create_trainer(learner);
    if (code == EXIT_OK && recipe->resume) code = checkpoint_continue(learner);
    if (code == EXIT_OK && recipe->resume) code = best_find(learner);
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
    alignments_free(&learner->alignments);
    examples_free(&learner->valid);
    vocabulary_free(&learner->vocabulary);
    history_free(&learner->history);
    exchange_free(&learner->exchange);
    free(learner->words);
    free(learner->tuning);
    free(learner->path);
    free(learner->options);
}

/* ---- checks before the first step that the project for which a model is trained supports such a
   model ---- */

rapt_export export_format(const char *name)
{
    static const struct {
        const char *name;
        rapt_export format;
    } formats[] = {{"bergamot", RAPT_EXPORT_BERGAMOT},
                   {"firefox", RAPT_EXPORT_FIREFOX},
                   {"hf", RAPT_EXPORT_HF},
                   {"ct2", RAPT_EXPORT_CT2}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0) return formats[i].format;
    return RAPT_EXPORT_MARIAN;
}

/* Makes a model with the vocabulary in its metadata. */
static rapt_status make_copy(rapt_model **copy, const rapt_config *config,
                             const struct vocabulary *vocabulary, rapt_message *why)
{
    rapt_metadata pairs[2];
    rapt_model *bare = NULL;
    size_t size = 0;
    char *bytes = NULL;
    int count = vocabulary_metadata(vocabulary, pairs);
    rapt_status status = rapt_model_create(&bare, config, 1, NULL, why);
    if (!status) status = rapt_model_save_memory(bare, NULL, 0, &size, pairs, count, why);
    if (!status) bytes = xcalloc(size, 1);
    if (!status) status = rapt_model_save_memory(bare, bytes, size, &size, pairs, count, why);
    if (!status) status = rapt_model_load_memory(copy, bytes, size, NULL, NULL, why);
    free(bytes);
    rapt_model_free(bare);
    return status;
}

/* The number of layers does not matter, so the copy that is checked has one on each side. Nor do
   the languages, which are not known yet. */
int export_check(const char *project, const rapt_config *config,
                 const struct vocabulary *vocabulary)
{
    const rapt_export_options options = {.size = sizeof options,
                                         .source_language = "source",
                                         .target_language = "target",
                                         .check_only = 1};
    rapt_config small = *config;
    rapt_model *copy = NULL;
    rapt_message why = {""};
    small.encoder_layers = small.decoder_layers = 1;
    if (small.alignment_layer > 1) small.alignment_layer = 1;
    rapt_status status = make_copy(&copy, &small, vocabulary, &why);
    if (!status)
        status = rapt_model_export_with(copy, export_format(project), NULL, &options, &why);
    rapt_model_free(copy);
    return status == RAPT_OK ? EXIT_OK : failed("--for %s: %s", project, why.text);
}
