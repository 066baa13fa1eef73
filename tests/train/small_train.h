/* small_train.h - helpers of the tests of trainers: options with dropout and clipping, a few
   batches, steps, sharded steps, and fine-tuning. */
#ifndef RAPT_TESTS_TRAIN_SMALL_TRAIN_H
#define RAPT_TESTS_TRAIN_SMALL_TRAIN_H

#include "model/small.h"

static const rapt_config wide = {.size = sizeof(rapt_config),
                                 .source_vocab = 70,
                                 .target_vocab = 90,
                                 .positions = 40,
                                 .width = 36,
                                 .heads = 3,
                                 .key_heads = 1,
                                 .ffn_width = 50,
                                 .encoder_layers = 2,
                                 .decoder_layers = 2,
                                 .tie = RAPT_TIE_OUTPUT};

enum { BATCH = 4, BATCHES = 5 };
static const int source_lengths[] = {9, 2, 5, 7}, target_lengths[] = {6, 11, 3, 2};
static const rapt_train_limits small_limits = {
    .size = sizeof small_limits, .batch = BATCH, .source_tokens = 23, .target_tokens = 23};

static inline rapt_train_options dropout_and_clipping(void)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    o.warmup = 3;
    o.rate = 0.01f;
    o.attention_dropout = o.ffn_dropout = 0.2f;
    o.clip_norm = 1;
    o.weight_decay = 0.01f;
    return o;
}

static inline rapt_trainer *trainer_of(rapt_model *model, const rapt_train_options *options,
                                       int threads)
{
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    rapt_train_limits l = small_limits;
    l.threads = threads;
    if (rapt_trainer_create(&trainer, model, options, &l, NULL, &why)) fail_msg("%s", why.text);
    return trainer;
}

static inline void batch_of(const rapt_config *c, int number, struct small_batch *source,
                            struct small_batch *target)
{
    uint64_t seed = 100 + (uint64_t)number % BATCHES;
    bool labels = c->kind == RAPT_KIND_ENCODER_ONLY;
    small_fill(source, small_source_ids(c), source_lengths, BATCH, seed);
    small_fill(target, c->target_vocab, labels ? source_lengths : target_lengths, BATCH, seed + 7);
}

static inline double one_step(rapt_trainer *trainer, const rapt_config *c, int number)
{
    struct small_batch source, target;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    batch_of(c, number, &source, &target);
    if (rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    assert_int_equal(report.step, number + 1);
    return report.loss;
}

/* Returns the parameters after `steps` steps. */
static inline float *train(const rapt_config *c, const rapt_train_options *o, int threads,
                           int steps, double *last)
{
    rapt_model *model = small_model(c, 11);
    rapt_trainer *trainer = trainer_of(model, o, threads);
    for (int i = 0; i < steps; i++) *last = one_step(trainer, c, i);
    float *parameters = small_parameters(model);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return parameters;
}

/* ---- sharded steps: a model that samples keys, and "machines", each a trainer with its own
 * model ---- */

static const rapt_config sampling_config = {.size = sizeof(rapt_config),
                                            .source_vocab = 17,
                                            .target_vocab = 19,
                                            .positions = 12,
                                            .width = 8,
                                            .heads = 2,
                                            .ffn_width = 8,
                                            .encoder_layers = 1,
                                            .decoder_layers = 1,
                                            .self_normalizer = RAPT_NORMALIZER_GUMBEL_SOFTMAX,
                                            .cross_normalizer = RAPT_NORMALIZER_SAMPLE};

enum { SHARDS = 16 };

struct machine {
    rapt_model *model;
    rapt_trainer *trainer;
};

static inline struct machine machine_of(const rapt_config *c, int shards, int threads)
{
    struct machine m = {small_model(c, 11), NULL};
    rapt_train_limits l = small_limits;
    rapt_train_options o = dropout_and_clipping();
    rapt_message why = {""};
    l.threads = threads, l.shards = shards;
    if (rapt_trainer_create(&m.trainer, m.model, &o, &l, NULL, &why)) fail_msg("%s", why.text);
    return m;
}

static inline void release_machine(struct machine *m)
{
    rapt_trainer_free(m->trainer);
    rapt_model_free(m->model);
}

/* ---- fine-tuning: masks that freeze parameters and give matrices adapters ---- */

enum { RANK = 2, MOST_TENSORS = 128 };
static const float lora_alpha = 3;

/* Which parameters have adapters, and which are frozen. */
enum tuning_mix { LORA_ONLY, MIXED, HALF_FROZEN };
static inline bool is_matrix(const rapt_model *model, int index)
{
    const rapt_tensor t = rapt_model_tensor(model, index);
    return strstr(t.name, ".layers.") && strstr(t.name, ".weight") && t.rows > 1;
}

/* Fills the mask. With LORA_ONLY, all but the matrices of layers are frozen; with MIXED, every
   third parameter is trained in full; with HALF_FROZEN there are no adapters. */
static inline const uint8_t *mask_of(const rapt_model *model, enum tuning_mix mix,
                                     uint8_t mask[MOST_TENSORS])
{
    assert_in_range(rapt_model_tensors(model), 1, MOST_TENSORS);
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        bool full = mix == HALF_FROZEN ? i % 2 : mix == MIXED && i % 3 == 0;
        bool lora = mix != HALF_FROZEN && !full && is_matrix(model, i);
        mask[i] = full ? RAPT_TUNING_FULL : lora ? RAPT_TUNING_LORA : RAPT_TUNING_FROZEN;
    }
    return mask;
}

static inline rapt_train_options tuned_options(const rapt_model *model, enum tuning_mix mix,
                                               uint8_t mask[MOST_TENSORS])
{
    rapt_train_options o = dropout_and_clipping();
    o.tuning = mask_of(model, mix, mask);
    if (mix != HALF_FROZEN) o.lora_rank = RANK, o.lora_alpha = lora_alpha;
    return o;
}

static const rapt_config *const tuned_configs[] = {&wide, &small_configs[0], &small_configs[14],
                                                   &small_configs[21], &small_configs[35]};

#endif
