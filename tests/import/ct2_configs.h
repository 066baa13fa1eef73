/* ct2_configs.h - configurations that CTranslate2 supports with the same meaning. */
#ifndef RAPT_TESTS_IMPORT_CT2_CONFIGS_H
#define RAPT_TESTS_IMPORT_CT2_CONFIGS_H

#include "import/folder.h"

enum { CT2_OLDEST = 3 }; /* also supported by version 1, which has no attributes */

/* clang-format off */
static const rapt_config ct2_configs[] = {
    {.size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 7, .positions = 1024, .width = 8, .heads = 2, .ffn_width = 12,
     .encoder_layers = 2, .decoder_layers = 1, .norm_order = RAPT_NORM_ORDER_PRE, .position = RAPT_POSITION_CONCATENATED_N1,
     .first_position = 1, .output_bias = 1, .norm_epsilon = 1e-5f, .no_source_end = 1, .alignment_layer = 1},
    {.size = sizeof(rapt_config), .source_vocab = 8, .target_vocab = 8, .positions = 6, .width = 4, .heads = 1, .ffn_width = 5,
     .encoder_layers = 1, .decoder_layers = 2, .activation = RAPT_ACTIVATION_GELU, .position = RAPT_POSITION_LEARNED,
     .tie = RAPT_TIE_ALL, .output_bias = 1, .plain_embedding = 1, .norm_epsilon = 1e-3f, .decoder_start = RAPT_DECODER_START_ZERO,
     .alignment_layer = 1},
    {.size = sizeof(rapt_config), .source_vocab = 5, .target_vocab = 6, .positions = 1024, .width = 6, .heads = 3, .ffn_width = 4,
     .encoder_layers = 1, .decoder_layers = 1, .norm_order = RAPT_NORM_ORDER_PRE, .activation = RAPT_ACTIVATION_SILU,
     .position = RAPT_POSITION_CONCATENATED_N1, .first_position = 1, .tie = RAPT_TIE_OUTPUT, .norm_type = RAPT_NORM_TYPE_RMS,
     .ffn_gated = 1, .output_bias = 1, .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_END,
     .alignment_layer = 1, .alignment_heads = 2},
    {.size = sizeof(rapt_config), .source_vocab = 7, .target_vocab = 9, .positions = 1024, .width = 16, .heads = 8, .ffn_width = 12,
     .encoder_layers = 1, .decoder_layers = 2, .norm_order = RAPT_NORM_ORDER_PRE, .position = RAPT_POSITION_CONCATENATED_N1,
     .first_position = 1, .output_bias = 1, .norm_epsilon = 1e-5f, .no_source_end = 1, .alignment_layer = 2},
    {.size = sizeof(rapt_config), .source_vocab = 5, .target_vocab = 5, .positions = 1024, .width = 4, .heads = 2, .ffn_width = 6,
     .encoder_layers = 1, .decoder_layers = 1, .norm_order = RAPT_NORM_ORDER_PRE, .activation = RAPT_ACTIVATION_GELU_TANH,
     .position = RAPT_POSITION_CONCATENATED_N1, .first_position = 1, .norm_epsilon = 1e-5f, .alignment_layer = 1},
};
/* clang-format on */

#endif
