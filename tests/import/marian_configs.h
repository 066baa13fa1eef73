/* marian_configs.h - configurations that Marian supports: the first PLAIN_CONFIGS with layer norms,
   the others with root mean squares. */
#ifndef RAPT_TESTS_IMPORT_MARIAN_CONFIGS_H
#define RAPT_TESTS_IMPORT_MARIAN_CONFIGS_H

#include "import/folder.h"

enum { PLAIN_CONFIGS = 4 };

/* clang-format off */
static const rapt_config marian_configs[] = {
    {.size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 9, .positions = 1024, .width = 16, .heads = 2, .ffn_width = 32,
     .encoder_layers = 2, .decoder_layers = 2, .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_ALL, .output_bias = 1,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .decoder_recurrence = RAPT_RECURRENCE_SSRU,
     .alignment_layer = 2},
    {.size = sizeof(rapt_config), .source_vocab = 8, .target_vocab = 7, .positions = 1024, .width = 8, .heads = 4, .ffn_width = 12,
     .encoder_layers = 1, .decoder_layers = 2, .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_OUTPUT, .output_bias = 1,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .norm_order = RAPT_NORM_ORDER_PRE,
     .activation = RAPT_ACTIVATION_SILU, .alignment_layer = 1},
    {.size = sizeof(rapt_config), .source_vocab = 5, .target_vocab = 7, .positions = 1024, .width = 4, .heads = 1, .ffn_width = 8,
     .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED_N1,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .alignment_layer = 1},
    {.size = sizeof(rapt_config), .source_vocab = 7, .target_vocab = 7, .positions = 1024, .width = 8, .heads = 2, .ffn_width = 8,
     .encoder_layers = 1, .decoder_layers = 2, .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_ALL, .output_bias = 1,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .norm_order = RAPT_NORM_ORDER_PRE,
     .decoder_recurrence = RAPT_RECURRENCE_SSRU, .alignment_layer = 2},
    {.size = sizeof(rapt_config), .source_vocab = 5, .target_vocab = 7, .positions = 1024, .width = 4, .heads = 1, .ffn_width = 8,
     .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED_N1, .norm_type = RAPT_NORM_TYPE_RMS,
     .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .alignment_layer = 1},
};
/* clang-format on */

#endif
