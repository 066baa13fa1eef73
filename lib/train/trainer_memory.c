/* trainer_memory.c - checks options and limits and creates a trainer, with all of its working
   memory in one arena. */
#include "train/train.h"

#include <float.h>
#include <string.h>

/* Sets *source_rows and *target_rows to the maximum number of rows in the encoder and in the
   decoder. The number is 0 if the model lacks the encoder or the decoder, respectively. */
static void count_rows(const rapt_trainer *t, int *source_rows, int *target_rows)
{
    rapt_kind kind = t->model->config.kind;
    *source_rows = kind == RAPT_KIND_DECODER_ONLY ? 0 : t->limits.source_tokens;
    *target_rows = kind == RAPT_KIND_ENCODER_ONLY ? 0 : t->limits.target_tokens;
}

/* Returns the size in bytes of the workspace for attention. */
static size_t workspace_of(const rapt_trainer *t, int source, int target)
{
    const rapt_config *c = &t->model->config;
    int batch = t->limits.batch, threads = t->limits.threads;
    int cross = c->kind == RAPT_KIND_ENCODER_DECODER ? source : 0;
    size_t encoder = rapt__attention_bytes(c, false, batch, source, 0, threads);
    size_t decoder = rapt__attention_bytes(c, true, batch, target, cross, threads);
    return encoder > decoder ? encoder : decoder;
}

static void lay_out_rewards(rapt_trainer *t, int source, int target, struct arena *arena)
{
    size_t H = (size_t)t->model->config.heads, S = (size_t)source, T = (size_t)target;
    if (!rapt__attention_normalizes(&t->model->config, RAPT_NORMALIZER_SAMPLE)) return;
    t->losses = rapt__arena_floats(arena, S > T ? S : T, 1);
    t->expected_losses = rapt__arena_floats(arena, S > T ? S : T, 1);
    t->expected = rapt__arena_take(arena, (size_t)t->limits.batch, 1);
    t->all_expected = rapt__arena_take(arena, (size_t)t->limits.batch, 1);
    t->encoder_reward = rapt__arena_floats(arena, S, H);
    t->encoder_baseline = rapt__arena_floats(arena, S, H);
    t->decoder_reward = rapt__arena_floats(arena, T, H);
    t->decoder_baseline = rapt__arena_floats(arena, T, H);
}

static void lay_out_trainer(rapt_trainer *t, struct arena *arena)
{
    const rapt_config *c = &t->model->config;
    size_t floats = t->model->layout.floats, batch = (size_t)t->limits.batch;
    int source, target;
    count_rows(t, &source, &target);
    int max = source > target ? source : target;
    rapt__stack_layout(&t->encoder, c, false, source, 0, KEEPS_ALL, arena);
    rapt__stack_layout(&t->decoder, c, true, target,
                       c->kind == RAPT_KIND_ENCODER_DECODER ? source : 0, KEEPS_ALL, arena);
    t->gradients = rapt__arena_floats(arena, floats, 1);
    t->shards.spares = rapt__shard_levels(t->limits.shards);
    for (int i = 0; i < t->shards.spares; i++)
        t->shards.spare[i] = rapt__arena_floats(arena, floats, 1);
    rapt__tuning_layout(t, arena);
    t->partial = rapt__arena_floats(arena, rapt__norm_partial(max, c->width), 1);
    t->loss_workspace =
        rapt__arena_floats(arena, rapt__loss_workspace(max, c->width, c->target_vocab), 1);
    t->pack = rapt__arena_floats(arena, PACK_FLOATS, 1);
    size_t most = rapt__max_size(floats, t->tuning.floats);
    t->step_partial = rapt__arena_take(arena, 2 * rapt__square_partial(most), sizeof(double));
    rapt__quantized_layout(t, max, arena);
    t->inputs = rapt__arena_take(arena, (size_t)max, sizeof(int32_t));
    t->labels = rapt__arena_take(arena, (size_t)max, sizeof(int32_t));
    t->input_starts = rapt__arena_take(arena, batch + 1, sizeof(int));
    size_t pooled = c->pooling ? batch : 0;
    t->pooled = rapt__arena_floats(arena, pooled, (size_t)c->width);
    t->dpooled = rapt__arena_floats(arena, pooled, (size_t)c->width);
    t->hidden = rapt__arena_floats(arena, c->pooler ? pooled : 0, (size_t)c->width);
    t->dhidden = rapt__arena_floats(arena, c->pooler ? pooled : 0, (size_t)c->width);
    lay_out_rewards(t, source, target, arena);
    if (c->alignment_layer) t->guided = rapt__arena_take(arena, (size_t)target, sizeof *t->guided);
    rapt__coverage_layout(t, target, arena);
    t->attention_workspace = rapt__arena_take(arena, 1, workspace_of(t, source, target));
}

void rapt_train_options_default(rapt_train_options *options, size_t size)
{
    const rapt_train_options own = {.size = sizeof own,
                                    .rate = 1e-3f,
                                    .warmup = 1000,
                                    .beta1 = 0.9f,
                                    .beta2 = 0.98f,
                                    .epsilon = 1e-9f,
                                    .label_smoothing = 0.1f,
                                    .dropout = 0.1f,
                                    .products = rapt__kernels_plain() ? RAPT_PRODUCTS_AUTO
                                                                      : RAPT_PRODUCTS_BUILTIN,
                                    .seed = 1,
                                    .monotonic_noise = 1};
    rapt__struct_default(options, size, &own, sizeof own);
}

rapt_status rapt__rate_check(float rate, rapt_message *why)
{
    return rapt__float_check("rate", rate, 0, TRAIN_RATE_MAX, why);
}

static rapt_status check_floats(const rapt_train_options *o, rapt_message *why)
{
    const struct {
        const char *name;
        float value;
        double max; /* fractions must be less than 1; rate * weight_decay must fit in a float */
    } shares[] = {{"dropout", o->dropout, 1},
                  {"attention_dropout", o->attention_dropout, 1},
                  {"ffn_dropout", o->ffn_dropout, 1},
                  {"label_smoothing", o->label_smoothing, 1},
                  {"beta1", o->beta1, 1},
                  {"beta2", o->beta2, 1}},
      sizes[] = {{"epsilon", o->epsilon, (double)FLT_MAX},
                 {"weight_decay", o->weight_decay, 1e6},
                 {"clip_norm", o->clip_norm, (double)FLT_MAX},
                 {"monotonic_noise", o->monotonic_noise, 1e6}};
    rapt_status status = RAPT_OK;
    for (size_t i = 0; !status && i < sizeof shares / sizeof *shares; i++)
        status = rapt__share_check(shares[i].name, shares[i].value, why);
    for (size_t i = 0; !status && i < sizeof sizes / sizeof *sizes; i++)
        status = rapt__float_check(sizes[i].name, sizes[i].value, 0, sizes[i].max, why);
    if (!status) status = rapt__rate_check(o->rate, why);
    if (!status && o->epsilon == 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "epsilon is 0, so a parameter without a gradient would become NaN; call "
                          "rapt_train_options_default before setting options");
    return status;
}

static rapt_status check_frame(const rapt_train_options *o, const rapt_config *c, rapt_message *why)
{
    if (!o->frame && (o->begin || o->end))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "begin is %d and end is %d, but frame is 0: set frame to let the library put them "
            "around targets",
            (int)o->begin, (int)o->end);
    if (o->frame && c->kind == RAPT_KIND_ENCODER_ONLY)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "frame is %d; it must be 0: labels of an encoder-only model have no begin or end",
            o->frame);
    rapt_status status = rapt__int_check("begin", (int)o->begin, 0, c->target_vocab - 1, why);
    return status ? status : rapt__int_check("end", (int)o->end, 0, c->target_vocab - 1, why);
}

/* Rejects a hard-attention option that has no effect on the model. */
static rapt_status check_use(const char *name, double value, const rapt_config *c,
                             rapt_normalizer by, rapt_message *why)
{
    char text[FLOAT_TEXT];
    if (value == 0 || rapt__attention_normalizes(c, by)) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "%s is %s, but the model has no attention with the normalizer %s", name,
                      rapt__number_write(value, text), rapt_normalizer_name(by));
}

static rapt_status check_hard(const rapt_train_options *o, const rapt_config *c, rapt_message *why)
{
    const struct {
        const char *name;
        float value;
        double min, max;
        rapt_normalizer by;
    } numbers[] = {
        {"expected_share", o->expected_share, 0, 1, RAPT_NORMALIZER_SAMPLE},
        {"reward_scale", o->reward_scale, 0, 1e6, RAPT_NORMALIZER_SAMPLE},
        {"reward_decay", o->reward_decay, 0, 1, RAPT_NORMALIZER_SAMPLE},
        {"reward_entropy", o->reward_entropy, -1e6, 1e6, RAPT_NORMALIZER_SAMPLE},
        {"anneal", o->anneal, 0, 1e6, RAPT_NORMALIZER_ARGMAX},
    };
    rapt_status status =
        rapt__int_check("baseline", (int)o->baseline, 0, RAPT_BASELINE_EXPECTED, why);
    if (!status)
        status = check_use("baseline", (double)o->baseline, c, RAPT_NORMALIZER_SAMPLE, why);
    for (size_t i = 0; !status && i < sizeof numbers / sizeof *numbers; i++) {
        double value = (double)numbers[i].value;
        status = rapt__float_check(numbers[i].name, numbers[i].value, numbers[i].min,
                                   numbers[i].max, why);
        if (!status) status = check_use(numbers[i].name, value, c, numbers[i].by, why);
    }
    if (!status) status = rapt__int_check("anneal_steps", o->anneal_steps, 0, INT32_MAX, why);
    if (status) return status;
    if ((o->anneal != 0 && o->anneal < 1) || (o->anneal != 0) != (o->anneal_steps != 0)) {
        char text[FLOAT_TEXT];
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "anneal is %s and anneal_steps is %d: both must be 0, or both at least 1",
                          rapt__number_write((double)o->anneal, text), o->anneal_steps);
    }
    return RAPT_OK;
}

/* Rejects guided alignment unless the model has what it trains: the softmax weights of a single
   head of cross-attention in alignment_layer. */
static rapt_status check_guided(const rapt_train_options *o, const rapt_config *c,
                                rapt_message *why)
{
    rapt_status status = rapt__float_check("guided_alignment", o->guided_alignment, 0, 1e6, why);
    if (status || o->guided_alignment == 0) return status;
    char text[FLOAT_TEXT];
    rapt__number_write((double)o->guided_alignment, text);
    if (!c->alignment_layer)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "guided_alignment is %s, but the model has no alignment_layer", text);
    if (c->alignment_heads > 1)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "guided_alignment is %s and trains one head, but alignment_heads is %d",
                          text, c->alignment_heads);
    if (c->differential)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "guided_alignment is %s, but with differential attention the weights of "
                          "a head are the difference of two attention maps",
                          text);
    if (c->talking_heads)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "guided_alignment is %s, but talking_heads allows negative weights",
                          text);
    if (c->monotonic)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "guided_alignment is %s, but alignments may move backward, which "
                          "cross-attention cannot do if monotonic is %s",
                          text, rapt_config_field_at(CONFIG_monotonic)->word((int)c->monotonic));
    if (c->cross_normalizer != RAPT_NORMALIZER_SOFTMAX)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "guided_alignment is %s, but cross_normalizer is not softmax", text);
    return RAPT_OK;
}

static rapt_status check_options(const rapt_train_options *o, const rapt_model *model,
                                 rapt_message *why)
{
    rapt_status status = check_floats(o, why);
    if (!status) status = rapt__int_check("warmup", o->warmup, 0, INT32_MAX, why);
    if (!status) status = rapt__int_check("steps", o->steps, 0, INT32_MAX, why);
    if (!status)
        status = rapt__int_check("schedule", (int)o->schedule, 0, RAPT_SCHEDULE_CONSTANT, why);
    if (!status)
        status = rapt__int_check("products", (int)o->products, 0, RAPT_PRODUCTS_BF16_TILES, why);
    if (!status) status = check_hard(o, &model->config, why);
    if (!status) status = check_guided(o, &model->config, why);
    if (!status) status = rapt__coverage_check(o, &model->config, why);
    if (!status) status = rapt__tuning_check(o, model, why);
    if (!status) status = rapt__quantized_check(o, model, why);
    if (!status) status = check_frame(o, &model->config, why);
    if (status) return status;
    return o->products == RAPT_PRODUCTS_OPENBLAS ? rapt__openblas_load(why) : RAPT_OK;
}

/* Checks the limits of a trainer. If the model lacks the encoder or the decoder, the corresponding
   token limit is ignored, but it must not be negative or too large. */
static rapt_status check_train_limits(const rapt_train_limits *l, const rapt_config *c,
                                      rapt_message *why)
{
    rapt_kind kind = c->kind;
    int max = rapt__tokens_max(c);
    bool decodes = kind != RAPT_KIND_ENCODER_ONLY, reads = kind != RAPT_KIND_DECODER_ONLY;
    if (!c->target_vocab)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "target_vocab is 0: the model has no output, so there is no loss");
    rapt_status status = rapt__int_check("limits.batch", l->batch, 1, rapt__batch_max(c), why);
    if (!status)
        status = rapt__int_check("limits.source_tokens", l->source_tokens, reads, max, why);
    if (!status && decodes && l->target_tokens >= 0 && l->target_tokens < 2)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "limits.target_tokens is %d: set it to the largest number of target tokens in a batch, "
            "including the begin and end of each target",
            l->target_tokens);
    if (!status)
        status =
            rapt__int_check("limits.target_tokens", l->target_tokens, decodes ? 2 : 0, max, why);
    if (!status) status = rapt__int_check("limits.threads", l->threads, 0, INT32_MAX, why);
    if (!status) status = rapt__shards_check("limits.shards", l->shards, 0, why);
    if (!status) status = rapt__int_check("limits.reserved", l->reserved, 0, 0, why);
    return status;
}

static rapt_status read_limits(rapt_train_limits *own, const rapt_model *model,
                               const rapt_train_limits *limits, rapt_message *why)
{
    rapt_status status = rapt__struct_read(own, sizeof *own, limits, "rapt_train_limits", why);
    return status ? status : check_train_limits(own, &model->config, why);
}

size_t rapt_trainer_bytes(const rapt_model *model, const rapt_train_limits *limits)
{
    return rapt_trainer_bytes_with(model, NULL, limits);
}

size_t rapt_trainer_bytes_with(const rapt_model *model, const rapt_train_options *options,
                               const rapt_train_limits *limits)
{
    rapt_trainer t = {.model = (rapt_model *)(uintptr_t)model};
    rapt_train_options *o = &t.options;
    if (!model || read_limits(&t.limits, model, limits, NULL)) return 0;
    rapt_train_options_default(o, sizeof *o);
    if (options && rapt__struct_read(o, sizeof *o, options, "rapt_train_options", NULL)) return 0;
    if (rapt__tuning_check(o, model, NULL) || rapt__quantized_check(o, model, NULL)) return 0;
    lay_out_trainer(&t, &t.arena);
    return t.arena.overflow ? 0 : t.arena.used + sizeof t;
}

rapt_status rapt_trainer_create(rapt_trainer **trainer, rapt_model *model,
                                const rapt_train_options *options, const rapt_train_limits *limits,
                                const rapt_allocator *allocator, rapt_message *why)
{
    rapt_train_options o;
    rapt_train_limits l;
    if (!trainer || !model)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", trainer ? "model" : "trainer");
    rapt_status status = rapt__model_needs_floats(model, "trained", why);
    if (!status) status = rapt__struct_read(&o, sizeof o, options, "rapt_train_options", why);
    if (!status) status = read_limits(&l, model, limits, why);
    if (!status) status = check_options(&o, model, why);
    if (!status) status = rapt__model_own_block(model, why);
    if (status) return status;
    rapt_trainer *t = rapt__alloc(allocator, sizeof *t);
    if (!t) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a trainer");
    *t = (rapt_trainer){.allocator = rapt__allocator(allocator),
                        .model = model,
                        .options = o,
                        .limits = l,
                        .state = {.rate = o.rate,
                                  .mean_loss = rapt__mean_loss_first(model),
                                  .quantized = o.quantize_aware}};
    t->limits.threads = rapt__team_size(l.threads); /* fixed, because memory depends on it */
    lay_out_trainer(t, &t->arena);
    size_t bytes = t->arena.used;
    status = rapt__arena_reserve(&t->arena, allocator);
    if (status) {
        rapt__free(allocator, t, sizeof *t);
        return rapt__fail(why, status, "no memory for a trainer of %zu bytes", bytes);
    }
    lay_out_trainer(t, &t->arena);
    if (t->all_expected) memset(t->all_expected, 1, (size_t)l.batch);
    status = rapt__quantized_begin(t, why);
    if (status) {
        rapt_trainer_free(t);
        return status;
    }
    rapt__products_choose(t);
    rapt__tuning_begin(t);
    t->options.tuning = NULL; /* belongs to the caller */
    *trainer = t;
    return RAPT_OK;
}

void rapt_trainer_free(rapt_trainer *trainer)
{
    if (!trainer) return;
    rapt_allocator allocator = trainer->allocator;
    rapt__arena_free(&trainer->arena, &allocator);
    rapt__free(&allocator, trainer, sizeof *trainer);
}

float *rapt_trainer_gradients(rapt_trainer *trainer, size_t *count, long long **tokens)
{
    if (!trainer) return NULL;
    if (count) *count = trainer->model->layout.floats;
    if (tokens) *tokens = &trainer->tokens;
    return trainer->gradients;
}

rapt_status rapt_trainer_read_gradient(const rapt_trainer *trainer, int index, float *data,
                                       rapt_message *why)
{
    if (!trainer || !data)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", trainer ? "data" : "trainer");
    const struct layout *l = &trainer->model->layout;
    if (index < 0 || index >= l->count)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "index is %d; the model has %d tensors", index,
                          l->count);
    const struct parameter *p = &l->parameters[index];
    rapt__parameter_get(p, trainer->gradients, 0, (size_t)p->rows * (size_t)p->columns, data);
    return RAPT_OK;
}

void rapt_trainer_set_rate(rapt_trainer *trainer, float rate)
{
    if (trainer) trainer->state.rate = rate;
}
