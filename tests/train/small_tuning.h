/* small_tuning.h - helpers of the tests of fine-tuning: masks that freeze parameters and give
   matrices adapters. */
#ifndef RAPT_TESTS_TRAIN_SMALL_TUNING_H
#define RAPT_TESTS_TRAIN_SMALL_TUNING_H

#include "train/small_train.h"

enum { RANK = 2, MOST = 128 };
static const float alpha = 3;

/* Which parameters have adapters, and which are frozen. */
enum mix { LORA_ONLY, MIXED, HALF_FROZEN };
static inline bool is_matrix(const rapt_model *model, int index)
{
    const rapt_tensor t = rapt_model_tensor(model, index);
    return strstr(t.name, ".layers.") && strstr(t.name, ".weight") && t.rows > 1;
}

/* Fills the mask. With LORA_ONLY, all but the matrices of layers are frozen; with MIXED, every
   third parameter is trained in full; with HALF_FROZEN there are no adapters. */
static inline const uint8_t *mask_of(const rapt_model *model, enum mix mix, uint8_t mask[MOST])
{
    assert_in_range(rapt_model_tensors(model), 1, MOST);
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        bool full = mix == HALF_FROZEN ? i % 2 : mix == MIXED && i % 3 == 0;
        bool lora = mix != HALF_FROZEN && !full && is_matrix(model, i);
        mask[i] = full ? RAPT_TUNING_FULL : lora ? RAPT_TUNING_LORA : RAPT_TUNING_FROZEN;
    }
    return mask;
}

static inline rapt_train_options options_of(const rapt_model *model, enum mix mix,
                                            uint8_t mask[MOST])
{
    rapt_train_options o = dropout_and_clipping();
    o.tuning = mask_of(model, mix, mask);
    if (mix != HALF_FROZEN) o.lora_rank = RANK, o.lora_alpha = alpha;
    return o;
}

static const rapt_config *const configs[] = {&wide, &small_configs[0], &small_configs[14],
                                             &small_configs[21], &small_configs[35]};

#endif
