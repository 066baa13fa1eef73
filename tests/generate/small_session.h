/* small_session.h - helpers of the tests of sessions: a model with every dimension larger than one
   tile, limits that hold its batches, and sessions with any limits. */
#ifndef RAPT_TESTS_GENERATE_SMALL_SESSION_H
#define RAPT_TESTS_GENERATE_SMALL_SESSION_H

#include "model/small.h"

static const rapt_config larger = {.size = sizeof larger,
                                   .source_vocab = 70,
                                   .target_vocab = 90,
                                   .positions = 80,
                                   .width = 36,
                                   .heads = 3,
                                   .ffn_width = 50,
                                   .encoder_layers = 2,
                                   .decoder_layers = 2,
                                   .tie = RAPT_TIE_OUTPUT,
                                   .output_bias = 1};

enum { LARGER_BATCH = 6 };
static const rapt_limits larger_limits = {.size = sizeof larger_limits,
                                          .batch = LARGER_BATCH,
                                          .beams = 1,
                                          .source_tokens = 200,
                                          .target_length = 80,
                                          .target_tokens = 200};

static const rapt_limits roomy = {.size = sizeof roomy,
                                  .batch = 8,
                                  .beams = 1,
                                  .source_tokens = 96,
                                  .target_length = 12,
                                  .target_tokens = 96};

static inline rapt_session *session_of(const rapt_model *model, const rapt_limits *limits,
                                       int threads)
{
    rapt_session *session = NULL;
    rapt_message why = {""};
    rapt_limits l = *limits;
    l.threads = threads;
    if (rapt_session_create(&session, model, &l, NULL, &why)) fail_msg("%s", why.text);
    return session;
}

#endif
