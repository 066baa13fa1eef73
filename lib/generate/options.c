/* options.c - sets the defaults of rapt_generate_options, and checks options. */
#include "generate/search.h"

#include <float.h>
#include <math.h>

void rapt_generate_options_default(rapt_generate_options *options, size_t size, int32_t begin,
                                   int32_t end)
{
    const rapt_generate_options own = {
        .size = sizeof own, .begin = begin, .end = end, .beams = 1, .nbest = 1};
    rapt__struct_default(options, size, &own, sizeof own);
}

/* Checks options against the limits of the session. */
static rapt_status check_sizes(const rapt_session *s, const rapt_generate_options *o, int sources,
                               rapt_message *why)
{
    int beams = o->beams ? o->beams : 1, nbest = o->nbest ? o->nbest : 1;
    int longest = rapt__session_target_capacity(s, sources);
    if (o->beams < 0 || beams > s->limits.beams)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "beams is %d; it must be from 0 to %d, the session's limits.beams",
                          o->beams, s->limits.beams);
    if (o->nbest < 0 || nbest > beams)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "nbest is %d; with beams %d, it must be from 0 to %d", o->nbest, o->beams,
                          beams);
    if (o->max_length < 0 || o->max_length > longest)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "max_length is %d; for %d sources the session's limits allow at most %d",
                          o->max_length, sources, longest);
    if (s->limits.target_tokens < s->limits.batch * beams)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "limits.target_tokens is %d; it must be at least limits.batch * beams, which is %d",
            s->limits.target_tokens, s->limits.batch * beams);
    return RAPT_OK;
}

static rapt_status check_numbers(const rapt_generate_options *o, int vocab, rapt_message *why)
{
    const struct {
        const char *name;
        int value, min, max;
    } ints[] = {
        {"begin", (int)o->begin, 0, vocab - 1},
        {"end", (int)o->end, 0, vocab - 1},
        {"max_extra", o->max_extra, 0, INT32_MAX},
        {"top_k", o->top_k, 0, INT32_MAX},
        {"min_length", o->min_length, 0, INT32_MAX},
        {"no_repeat_ngram", o->no_repeat_ngram, 0, INT32_MAX},
        {"search_rules", (int)o->search_rules, RAPT_SEARCH_RULES_MODEL, RAPT_SEARCH_RULES_CT2},
        {"suppressed_count", o->suppressed_count, 0, INT32_MAX},
        {"scored_prefix", o->scored_prefix, 0, INT32_MAX}};
    const struct {
        const char *name;
        float value, min, max;
    } floats[] = {{"max_ratio", o->max_ratio, 0, INFINITY},
                  {"temperature", o->temperature, 0, FLT_MAX},
                  {"top_p", o->top_p, 0, 1},
                  {"length_penalty", o->length_penalty, -FLT_MAX, FLT_MAX},
                  {"repetition_penalty", o->repetition_penalty, 0, FLT_MAX},
                  {"coverage_penalty", o->coverage_penalty, 0, FLT_MAX}};
    rapt_status status = RAPT_OK;
    for (size_t i = 0; !status && i < sizeof ints / sizeof *ints; i++)
        status = rapt__int_check(ints[i].name, ints[i].value, ints[i].min, ints[i].max, why);
    for (size_t i = 0; !status && i < sizeof floats / sizeof *floats; i++)
        status = rapt__float_check(floats[i].name, floats[i].value, (double)floats[i].min,
                                   (double)floats[i].max, why);
    return status;
}

static rapt_status check_prefix(const rapt_session *s, const rapt_generate_options *o, int sources,
                                rapt_message *why)
{
    int length = o->max_length ? o->max_length : s->limits.target_length;
    if (!o->prefix) return RAPT_OK;
    const struct token_limits limits = {.what = "prefix",
                                        .vocab = s->model->config.target_vocab,
                                        .batch = s->limits.batch,
                                        .tokens = INT32_MAX,
                                        .length = length};
    rapt_status status = rapt__tokens_check(o->prefix, &limits, why);
    if (!status && o->prefix->batch != sources)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "prefix has %d sequences, but there are %d sources", o->prefix->batch,
                          sources);
    return status;
}

static rapt_status check_shortlist(const rapt_session *s, const rapt_generate_options *o,
                                   rapt_message *why)
{
    if (!o->shortlist) return RAPT_OK;
    if (s->model->config.kind == RAPT_KIND_DECODER_ONLY || s->model->config.source_width > 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "shortlist: the model has no source tokens");
    if (o->temperature > 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "a shortlist cannot be combined with sampling (temperature above 0)");
    return rapt__shortlist_check(o->shortlist, &s->model->config, why);
}

static rapt_status check_terms(const rapt_session *s, const rapt_generate_options *o, int sources,
                               rapt_message *why)
{
    if (!o->terms) return RAPT_OK;
    if (o->temperature > 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "terms cannot be combined with sampling (temperature above 0)");
    return rapt__terms_check(o->terms, &s->model->config, o->end, sources, why);
}

/* Checks suppressed tokens and sequences. */
static rapt_status check_suppressed(const rapt_session *s, const rapt_generate_options *o,
                                    rapt_message *why)
{
    const int vocab = s->model->config.target_vocab;
    const rapt_tokens *sequences = o->suppressed_sequences;
    if (o->suppressed_count > 0 && !o->suppressed)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "suppressed is NULL, but suppressed_count is %d",
                          o->suppressed_count);
    for (int i = 0; i < o->suppressed_count; i++)
        if (o->suppressed[i] < 0 || o->suppressed[i] >= vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "suppressed[%d] is %d; the vocabulary has %d tokens", i,
                              (int)o->suppressed[i], vocab);
    if (!sequences) return RAPT_OK;
    const struct token_limits limits = {.what = "suppressed_sequences",
                                        .vocab = vocab,
                                        .batch = INT32_MAX,
                                        .tokens = INT32_MAX,
                                        .length = INT32_MAX};
    rapt_status status = rapt__tokens_check(sequences, &limits, why);
    for (int i = 0; !status && i < sequences->batch; i++)
        if (sequences->starts[i + 1] == sequences->starts[i])
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "suppressed_sequences: sequence %d is empty",
                              i);
    return status;
}

rapt_status rapt__generate_check(const rapt_session *s, const rapt_generate_options *o, int sources,
                                 rapt_message *why)
{
    int vocab = s->model->config.target_vocab;
    if (s->model->config.kind == RAPT_KIND_ENCODER_ONLY)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "an encoder-only model cannot generate");
    rapt_status status = check_sizes(s, o, sources, why);
    if (!status) status = check_numbers(o, vocab, why);
    if (status) return status;
    if (o->temperature > 0 && o->beams > 1)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "beams is %d and temperature is above 0: sampling keeps one hypothesis",
                          o->beams);
    status = check_shortlist(s, o, why);
    if (!status) status = check_terms(s, o, sources, why);
    if (status) return status;
    status = check_suppressed(s, o, why);
    if (status) return status;
    if (o->coverage_penalty > 0 && !s->record.rows)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "coverage_penalty needs a session with limits.alignments");
    return check_prefix(s, o, sources, why);
}
