/* small_api.h - shared by the tests of the public interface: a small model, some work, and a hash
   of its results. It includes no header of the library except <rapt/rapt.h>. */
#ifndef RAPT_TESTS_API_SMALL_API_H
#define RAPT_TESTS_API_SMALL_API_H

#include "model/small.h"

static const rapt_config api_config = {.size = sizeof(rapt_config),
                                       .source_vocab = 60,
                                       .target_vocab = 70,
                                       .positions = 40,
                                       .width = 40,
                                       .heads = 4,
                                       .ffn_width = 50,
                                       .encoder_layers = 2,
                                       .decoder_layers = 2,
                                       .tie = RAPT_TIE_OUTPUT};

static inline uint64_t api_hash(uint64_t h, const void *data, size_t size) /* FNV-1a */
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 0x100000001B3u;
    return h;
}

/* Encodes, searches and samples. Returns a hash of the results, or 0 if anything fails. */
static inline uint64_t api_generate(const rapt_model *model, uint64_t seed, int threads)
{
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 3,
                          .beams = 3,
                          .source_tokens = 40,
                          .target_length = 12,
                          .threads = threads};
    rapt_session *session;
    struct small_batch source;
    int lengths[] = {9, 20, 3}, counts[3];
    int32_t ids[36] = {0};
    float scores[3];
    uint64_t h = 0xCBF29CE484222325u;
    small_fill(&source, 60, lengths, 3, seed);
    if (rapt_session_create(&session, model, &limits, NULL, NULL)) return 0;
    for (int sampled = 0; sampled < 2; sampled++) {
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, 1, 2);
        o.beams = sampled ? 1 : 3, o.temperature = (float)sampled, o.seed = seed;
        const rapt_generate_outputs out = {
            .size = sizeof out, .ids = ids, .counts = counts, .scores = scores};
        if (rapt_generate(session, &source.tokens, &o, &out, NULL)) h = 0;
        h = api_hash(api_hash(h, counts, sizeof counts), scores, sizeof scores);
        for (int b = 0; b < 3; b++)
            h = api_hash(h, ids + b * 12, sizeof *ids * (size_t)(counts[b] > 0 ? counts[b] : 0));
    }
    rapt_session_free(session);
    return h;
}

/* Trains a new model for a few steps. Returns a hash of the result, or 0 if anything fails. */
static inline uint64_t api_train(uint64_t seed, int threads)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    rapt_train_limits limits = {sizeof limits, 3, 40, 40, .threads = threads};
    rapt_model *model = NULL;
    rapt_trainer *trainer = NULL;
    struct small_batch source, target;
    int lengths[] = {9, 20, 3};
    rapt_report report = {.size = sizeof report};
    small_fill(&source, 60, lengths, 3, seed);
    small_fill(&target, 60, lengths, 3, seed + 1);
    if (rapt_model_create(&model, &api_config, seed, NULL, NULL)) return 0;
    if (rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL)) return 0;
    for (int i = 0; i < 3; i++)
        if (rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL) ||
            rapt_train_step(trainer, &report, NULL))
            return 0;
    uint64_t h = api_hash(0xCBF29CE484222325u, &report, sizeof report);
    float *all = small_parameters(model);
    h = api_hash(h, all, rapt_model_parameters(model) * sizeof *all);
    free(all);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return h;
}

#endif
