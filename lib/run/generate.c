/* generate.c - generation: sources in, target tokens with scores out. A loop over positions: decode
   one token of each live hypothesis, choose the next, reorder the caches. */
#include "run/search.h"

#include <math.h>
#include <string.h>

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

static rapt_status check(const rapt_session *s, const rapt_generate_options *o, int sources,
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
    if (o->suppressed_count < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "suppressed_count is %d", o->suppressed_count);
    for (int i = 0; i < o->suppressed_count; i++)
        if (!o->suppressed || o->suppressed[i] < 0 || o->suppressed[i] >= vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "suppressed[%d] is %d, the vocabulary has %d",
                              i, o->suppressed ? (int)o->suppressed[i] : -1, vocab);
    return RAPT_OK;
}

static int limit_of(const struct search *s, int source_length)
{
    const rapt_generate_options *o = s->options;
    if (o->max_ratio <= 0) return s->max_length;
    double limit = (double)o->max_ratio * source_length + o->max_extra;
    if (limit < 1) return 1;
    return limit < s->max_length ? (int)limit : s->max_length;
}

static struct search begin(rapt_session *session, const rapt_generate_options *o)
{
    struct search_memory *m = &session->search;
    struct search s = {.session = session, .m = m, .options = o};
    s.beams = o->beams ? o->beams : 1;
    s.nbest = o->nbest ? o->nbest : 1;
    s.stride = session->limits.beams;
    s.length = s.max_length = session->target_capacity;
    s.picks = (struct picks){.max = s.beams + 1,
                             .counts = m->counts,
                             .tokens = m->tokens,
                             .logits = m->logits,
                             .log_sums = m->log_sums,
                             .section_sums = m->section_sums,
                             .suppressed = o->suppressed,
                             .suppressed_count = o->suppressed_count,
                             .keep = o->temperature > 0};
    bool decoder_only = session->model->config.kind == RAPT_KIND_DECODER_ONLY;
    for (int b = 0; b < session->sources; b++) {
        int n = decoder_only ? 0 : session->source_starts[b + 1] - session->source_starts[b];
        m->live_count[b] = 1;
        m->done_count[b] = 0;
        m->limit[b] = decoder_only ? s.max_length : limit_of(&s, n);
        m->sums[(ptrdiff_t)b * s.stride] = 0;
    }
    return s;
}

/* The rows of a step: one for each live hypothesis, none for the other slots. */
static rapt_tokens inputs_of(struct search *s)
{
    struct search_memory *m = s->m;
    int rows = 0, slots = s->session->targets;
    m->starts[0] = 0;
    for (int i = 0; i < slots; i++) {
        if (i % s->stride < m->live_count[i / s->stride])
            m->inputs[rows++] = s->step
                                    ? m->live[(size_t)i * (size_t)s->length + (size_t)s->step - 1]
                                    : s->options->begin;
        m->starts[i + 1] = rows;
    }
    return (rapt_tokens){slots, m->inputs, m->starts};
}

/* What was chosen becomes what lives, in the caches too. */
static rapt_status advance(struct search *s, rapt_message *why)
{
    struct search_memory *m = s->m;
    int32_t *tokens = m->live;
    double *sums = m->sums;
    m->live = m->next, m->next = tokens;
    m->sums = m->next_sums, m->next_sums = sums;
    s->step++;
    if (s->record) rapt__record_parents(s);
    for (int b = 0; b < s->session->sources; b++) rapt__search_truncate(s, b);
    return rapt_session_reorder(s->session, m->parents, why);
}

static rapt_status step(struct search *s, rapt_message *why)
{
    struct search_memory *m = s->m;
    rapt_tokens inputs = inputs_of(s);
    rapt_status status = rapt__decode(s->session, &inputs, &s->picks, why);
    if (status) return status;
    if (s->record) rapt__record_step(s);
    for (int i = 0; i < s->session->targets; i++) m->parents[i] = i;
    if (s->options->temperature > 0)
        rapt__search_sample(s);
    else
        for (int b = 0; b < s->session->sources; b++)
            if (m->live_count[b]) rapt__search_choose(s, b, m->starts[(ptrdiff_t)b * s->stride]);
    return advance(s, why);
}

static bool alive(const struct search *s)
{
    for (int b = 0; b < s->session->sources; b++)
        if (s->m->live_count[b]) return true;
    return false;
}

static rapt_status read_outputs(rapt_generate_outputs *out, const rapt_generate_outputs *outputs,
                                const rapt_session *session, rapt_message *why)
{
    rapt_status status = rapt__struct_read(out, sizeof *out, outputs, "rapt_generate_outputs", why);
    if (status) return status;
    if (!out->ids || !out->counts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "outputs: %s is NULL",
                          out->ids ? "counts" : "ids");
    if (out->alignments && !session->record.rows)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "outputs: alignments need a session with limits.alignments");
    return RAPT_OK;
}

rapt_status rapt_generate(rapt_session *session, const rapt_tokens *source,
                          const rapt_generate_options *options,
                          const rapt_generate_outputs *outputs, rapt_message *why)
{
    rapt_generate_options o;
    rapt_generate_outputs out;
    if (!session) return rapt__fail(why, RAPT_BAD_ARGUMENT, "session: NULL");
    if (!source) return rapt__fail(why, RAPT_BAD_ARGUMENT, "source: NULL");
    rapt_status status = rapt__struct_read(&o, sizeof o, options, "rapt_generate_options", why);
    if (!status) status = check(session, &o, source->batch, why);
    if (!status) status = read_outputs(&out, outputs, session, why);
    if (status) return status;
    int length = o.max_length ? o.max_length : session->limits.target_length;
    status = rapt__encode(session, source, length, NULL, why);
    if (status) return status;
    struct search s = begin(session, &o);
    if (out.alignments) s.record = &session->record;
    while (!status && alive(&s)) status = step(&s, why);
    if (status) return status;
    for (int b = 0; b < session->sources; b++) rapt__search_output(&s, b, &out);
    return RAPT_OK;
}
