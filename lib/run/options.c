/* options.c - options of a generation: their defaults, and what of them is refused. */
#include "run/search.h"

#include <math.h>

void rapt_generate_options_default(rapt_generate_options *options, size_t size, int32_t begin,
                                   int32_t end)
{
    const rapt_generate_options own = {
        .size = sizeof own, .begin = begin, .end = end, .beams = 1, .nbest = 1};
    rapt__struct_default(options, size, &own, sizeof own);
}

static rapt_status check_sizes(const rapt_session *s, const rapt_generate_options *o, int sources,
                               rapt_message *why)
{
    int beams = o->beams ? o->beams : 1, nbest = o->nbest ? o->nbest : 1;
    if (o->beams < 0 || beams > s->limits.beams)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "beams is %d, the limits have %d", o->beams,
                          s->limits.beams);
    if (o->nbest < 0 || nbest > beams)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "nbest is %d of %d beams", o->nbest, beams);
    if (o->max_length < 0 || o->max_length > rapt__session_target_capacity(s, sources))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "max_length is %d, the limits allow %d",
                          o->max_length, rapt__session_target_capacity(s, sources));
    if (s->limits.target_tokens < s->limits.batch * beams)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "target_tokens is %d, %d hypotheses need a row each",
                          s->limits.target_tokens, s->limits.batch * beams);
    return RAPT_OK;
}

static rapt_status check_prefix(const rapt_session *s, const rapt_generate_options *o, int sources,
                                rapt_message *why)
{
    int length = o->max_length ? o->max_length : s->limits.target_length;
    if (!o->prefix) return RAPT_OK;
    rapt_status status = rapt__tokens_check(o->prefix, "prefix", s->model->config.target_vocab,
                                            s->limits.batch, INT32_MAX, length, why);
    if (!status && o->prefix->batch != sources)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "prefix: %d sequences for %d sources",
                          o->prefix->batch, sources);
    return status;
}

rapt_status rapt__generate_check(const rapt_session *s, const rapt_generate_options *o, int sources,
                                 rapt_message *why)
{
    int vocab = s->model->config.target_vocab;
    if (s->model->config.kind == RAPT_KIND_ENCODER_ONLY)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "an encoder-only model generates nothing");
    rapt_status status = check_sizes(s, o, sources, why);
    if (status) return status;
    if (o->begin < 0 || o->begin >= vocab || o->end < 0 || o->end >= vocab)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "begin %d or end %d is outside the vocabulary",
                          (int)o->begin, (int)o->end);
    if (!(o->max_ratio >= 0) || o->max_extra < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "max_ratio %g or max_extra %d is negative",
                          (double)o->max_ratio, o->max_extra);
    if (!(o->temperature >= 0) || o->top_k < 0 || !(o->top_p >= 0 && o->top_p <= 1))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "temperature %g, top_k %d or top_p %g",
                          (double)o->temperature, o->top_k, (double)o->top_p);
    if (o->temperature > 0 && o->beams > 1)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "sampling keeps one hypothesis, not %d beams",
                          o->beams);
    if (!isfinite(o->length_penalty))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "length_penalty is not finite");
    if (o->min_length < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "min_length is %d", o->min_length);
    if (o->no_repeat_ngram < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "no_repeat_ngram is %d", o->no_repeat_ngram);
    if (o->suppressed_count < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "suppressed_count is %d", o->suppressed_count);
    for (int i = 0; i < o->suppressed_count; i++)
        if (!o->suppressed || o->suppressed[i] < 0 || o->suppressed[i] >= vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "suppressed[%d] is %d, the vocabulary has %d",
                              i, o->suppressed ? (int)o->suppressed[i] : -1, vocab);
    return check_prefix(s, o, sources, why);
}
