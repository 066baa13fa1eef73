/* small_search.h - helpers of the tests of generation: two models, sessions, and the model's own
   next-token probabilities, computed by decoding a whole sequence at once. */
#ifndef RAPT_TESTS_GENERATE_SMALL_SEARCH_H
#define RAPT_TESTS_GENERATE_SMALL_SEARCH_H

#include "model/small.h"

enum { BEGIN = 1, END = 2 };

static const rapt_config five = {.size = sizeof(rapt_config),
                                 .source_vocab = 7,
                                 .target_vocab = 5,
                                 .positions = 24,
                                 .width = 8,
                                 .heads = 2,
                                 .ffn_width = 12,
                                 .encoder_layers = 1,
                                 .decoder_layers = 1,
                                 .output_bias = 1};
static const rapt_config larger = {.size = sizeof(rapt_config),
                                   .source_vocab = 40,
                                   .target_vocab = 50,
                                   .positions = 40,
                                   .width = 24,
                                   .heads = 4,
                                   .key_heads = 2,
                                   .ffn_width = 30,
                                   .encoder_layers = 1,
                                   .decoder_layers = 2,
                                   .norm_order = RAPT_NORM_ORDER_PRE};

static inline rapt_session *session_of(const rapt_model *model, int batch, int beams, int length,
                                       int threads)
{
    rapt_session *session = NULL;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = batch,
                          .beams = beams,
                          .source_tokens = 100,
                          .target_length = length,
                          .threads = threads};
    rapt_message why = {""};
    if (rapt_session_create(&session, model, &limits, NULL, &why)) fail_msg("%s", why.text);
    return session;
}

static inline const rapt_tokens *one_source(struct small_batch *b, int vocab, int length,
                                            uint64_t seed)
{
    small_fill(b, vocab, &length, 1, seed);
    return &b->tokens;
}

/* Calls rapt_generate with its outputs as separate arguments. */
static inline rapt_status generate(rapt_session *session, const rapt_tokens *source,
                                   const rapt_generate_options *o, int32_t *ids, int *counts,
                                   float *scores, rapt_message *why)
{
    const rapt_generate_outputs out = {
        .size = sizeof out, .ids = ids, .counts = counts, .scores = scores};
    return rapt_generate(session, source, o, &out, why);
}

/* Computes the log-probabilities of the token after tokens[n], decoding begin and all of them. */
static inline void next(rapt_session *probe, const rapt_tokens *source, const int32_t *tokens,
                        int n, int vocab, double *log_p)
{
    int32_t fed[64] = {BEGIN};
    int starts[] = {0, n + 1};
    const float *logits;
    double sum = 0;
    if (n) memcpy(fed + 1, tokens, sizeof *fed * (size_t)n);
    assert_int_equal(rapt_encode(probe, source, NULL, NULL), RAPT_OK);
    assert_int_equal(
        rapt_decode(probe, &(rapt_tokens){.batch = 1, .ids = fed, .starts = starts}, &logits, NULL),
        RAPT_OK);
    logits += n * vocab;
    for (int i = 0; i < vocab; i++) sum += exp((double)logits[i]);
    for (int i = 0; i < vocab; i++) log_p[i] = (double)logits[i] - log(sum);
}

static inline rapt_session *probe_of(const rapt_model *model, int length)
{
    rapt_session *session = NULL;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 1,
                          .source_tokens = 100,
                          .target_length = length,
                          .target_tokens = length,
                          .threads = 1};
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    return session;
}

/* ---- sorted lists of hypotheses, for plain reimplementations of search ---- */

enum { PLAIN_BEAMS = 5, PLAIN_MAX = 9, PLAIN_VOCAB = 5 };

struct hypothesis {
    int32_t ids[PLAIN_MAX];
    float log[PLAIN_MAX];
    int count;
    bool ended;
    double sum, score;
};
struct plain_list {
    struct hypothesis items[PLAIN_BEAMS * PLAIN_VOCAB];
    int count;
};

static inline double plain_key(const struct hypothesis *h, bool score)
{
    return score ? h->score : h->sum;
}

static inline void plain_sort(struct plain_list *l, bool score) /* stable, largest first */
{
    for (int i = 1; i < l->count; i++)
        for (int j = i;
             j > 0 && plain_key(&l->items[j], score) > plain_key(&l->items[j - 1], score); j--) {
            struct hypothesis t = l->items[j];
            l->items[j] = l->items[j - 1], l->items[j - 1] = t;
        }
}

#endif
