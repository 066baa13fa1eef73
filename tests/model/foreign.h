/* foreign.h - a configuration that Marian, Bergamot and CTranslate2 can represent. */
#ifndef RAPT_TESTS_MODEL_FOREIGN_H
#define RAPT_TESTS_MODEL_FOREIGN_H

#include <rapt/transformer.h>

/* width must be even. Bergamot requires multiples of 16 for it, and of 8 for vocab. */
static inline rapt_config foreign_config(int vocab, int width)
{
    return (rapt_config){.size = sizeof(rapt_config),
                         .source_vocab = vocab,
                         .target_vocab = vocab,
                         .positions = 16,
                         .width = width,
                         .heads = 2,
                         .ffn_width = 2 * width,
                         .encoder_layers = 1,
                         .decoder_layers = 1,
                         .position = RAPT_POSITION_CONCATENATED_N1,
                         .tie = RAPT_TIE_ALL,
                         .output_bias = 1,
                         .norm_epsilon = 1e-6f,
                         .decoder_start = RAPT_DECODER_START_ZERO};
}

#endif
