/* small_shards.h - helpers of the tests of steps in shards: a model that samples keys, and
   "machines", each a trainer with its own model. */
#ifndef RAPT_TESTS_TRAIN_SMALL_SHARDS_H
#define RAPT_TESTS_TRAIN_SMALL_SHARDS_H

#include "train/small_train.h"

static const rapt_config sampling = {.size = sizeof(rapt_config),
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

static inline void release(struct machine *m)
{
    rapt_trainer_free(m->trainer);
    rapt_model_free(m->model);
}

#endif
