/* generate.c - implements rapt_generate, a loop over target positions. Each step decodes one token
   of every live hypothesis, chooses the next tokens, and reorders the caches to match. */
#include "generate/search.h"

#include <math.h>
#include <string.h>

/* Returns the maximum number of tokens in a target, including its end token. */
static int limit_of(const struct search *s, int source, int source_length)
{
    const rapt_generate_options *o = s->options;
    if (o->max_ratio <= 0) return s->max_length;
    double limit = (double)o->max_ratio * source_length;
    if (s->search_rules == RAPT_SEARCH_RULES_MARIAN) {
        /* Marian computes the product in float, and ends a sequence when its length reaches the
           product. */
        const float product = o->max_ratio * (float)source_length;
        limit = ceil((double)product);
    }
    limit += o->max_extra;
    if (o->terms) limit += rapt__terms_of(o->terms, source).tokens;
    if (limit < 1) return 1;
    return limit < s->max_length ? (int)limit : s->max_length;
}

/* Sets up a search over the encoded sources, each with one empty hypothesis. */
static struct search search_begin(rapt_session *session, const rapt_generate_options *o)
{
    struct search_memory *m = &session->search;
    struct search s = {.session = session, .m = m, .options = o};
    s.beams = o->beams ? o->beams : 1;
    s.nbest = o->nbest ? o->nbest : 1;
    s.search_rules = o->search_rules ? o->search_rules : RAPT_SEARCH_RULES_RAPT;
    s.stride = session->limits.beams;
    s.length = s.max_length = session->target_capacity;
    s.picks = (struct picks){.max = s.beams + 1,
                             .counts = m->counts,
                             .tokens = m->tokens,
                             .logits = m->logits,
                             .log_sums = m->log_sums,
                             .section_sums = m->section_sums,
                             .sections = rapt__pick_sections(session->model->config.target_vocab),
                             .row_slot = m->row_slot,
                             .stride = s.stride,
                             .suppressed = o->suppressed,
                             .suppressed_count = o->suppressed_count,
                             .sum_all = s.search_rules == RAPT_SEARCH_RULES_MARIAN ||
                                        s.search_rules == RAPT_SEARCH_RULES_HF,
                             .keep = o->temperature > 0};
    bool decoder_only = session->model->config.kind == RAPT_KIND_DECODER_ONLY;
    for (int b = 0; b < session->sources; b++) {
        int n = decoder_only ? 0 : session->source_starts[b + 1] - session->source_starts[b];
        m->live_count[b] = 1;
        m->ended_count[b] = m->top_ended[b] = 0;
        m->done_count[b] = m->count[b] = m->given[b] = m->announced[b] = 0;
        m->limit[b] = decoder_only ? s.max_length : limit_of(&s, b, n);
        m->sums[(ptrdiff_t)b * s.stride] = 0;
    }
    return s;
}

/* Stores the tokens of a source's prefix in its only hypothesis. */
static void give_prefix(struct search *s, const rapt_tokens *prefix, int source)
{
    struct search_memory *m = s->m;
    int count = prefix->starts[source + 1] - prefix->starts[source], slot = source * s->stride;
    size_t row = (size_t)slot * (size_t)s->length, targets = (size_t)s->session->targets;
    m->count[source] = m->given[source] = m->announced[source] = count;
    if (count)
        memcpy(m->live + row, prefix->ids + prefix->starts[source],
               sizeof *m->live * (size_t)count);
    if (s->logs) memset(m->live_log + row, 0, sizeof(float) * (size_t)count);
    for (int t = 1; s->record && t <= count; t++)
        s->record->parents[(size_t)t * targets + (size_t)slot] = slot;
}

/* Truncates the hypotheses of sources whose prefix has reached the limit. */
static void end_prefixes(struct search *s)
{
    const struct search_memory *m = s->m;
    for (int b = 0; b < s->session->sources; b++)
        if (m->count[b] >= m->limit[b]) rapt__search_truncate(s, b);
}

/* Decodes the begin token and the prefix of every source, except the last of these tokens, which is
   the input of the first step. */
static rapt_status feed_prefix(struct search *s, const rapt_tokens *prefix, rapt_message *why)
{
    const struct feed feed = {prefix, s->options->begin, -1};
    struct picks none = {0};
    for (int b = 0; b < prefix->batch; b++) give_prefix(s, prefix, b);
    for (;;) {
        const rapt_tokens rows = rapt__feed_next(s->session, &feed);
        if (rows.starts[rows.batch] == 0) break;
        rapt_status status = rapt__decode(s->session, &rows, &none, why);
        if (status) return status;
        if (s->record) rapt__record_rows(s);
    }
    end_prefixes(s);
    return RAPT_OK;
}

/* Returns the inputs of a step: one row for each live hypothesis, and no row for the other
   slots. */
static rapt_tokens inputs_of(struct search *s)
{
    struct search_memory *m = s->m;
    int rows = 0, slots = s->session->targets;
    m->starts[0] = 0;
    for (int i = 0; i < slots; i++) {
        int source = i / s->stride, count = m->count[source];
        if (i % s->stride < m->live_count[source]) {
            m->row_slot[rows] = i;
            m->inputs[rows++] = count ? m->live[(size_t)i * (size_t)s->length + (size_t)count - 1]
                                      : s->options->begin;
        }
        m->starts[i + 1] = rows;
    }
    return (rapt_tokens){.batch = slots, .ids = m->inputs, .starts = m->starts};
}

/* Makes the chosen continuations the live hypotheses, truncates those that have reached their
   limit, and reorders the caches to match. */
static rapt_status advance(struct search *s, rapt_message *why)
{
    struct search_memory *m = s->m;
    int32_t *tokens = m->live;
    float *log = m->live_log;
    double *sums = m->sums;
    m->live = m->next, m->next = tokens;
    m->live_log = m->next_log, m->next_log = log;
    m->sums = m->next_sums, m->next_sums = sums;
    for (int b = 0; b < s->session->sources; b++) {
        if (m->live_count[b] == 0) continue;
        m->count[b]++;
        if (s->record) rapt__record_parents(s, b);
        if (m->count[b] >= m->limit[b]) rapt__search_truncate(s, b);
    }
    return rapt__reorder(s->session, m->parents, why);
}

static void work_on_logits(struct team *team, void *argument)
{
    struct search *s = argument;
    rapt_session *session = s->session;
    const struct exec_context c = {team, rapt__kernels(), session->pack, NULL, NULL};
    rapt__pick_again(&c, session->target_rows, session->model->config.target_vocab, &s->picks,
                     session->logits);
}

/* Finds the most likely next tokens of all live hypotheses. If options.logits is set, all logits
   are computed and passed to that callback before tokens are picked. */
static rapt_status search_decode(struct search *s, rapt_message *why)
{
    const rapt_generate_options *o = s->options;
    const struct search_memory *m = s->m;
    rapt_session *session = s->session;
    const rapt_tokens inputs = inputs_of(s);
    if (o->terms) rapt__terms_prepare(s);
    rapt_status status = rapt__decode(session, &inputs, o->logits ? NULL : &s->picks, why);
    if (status) return status;
    if (s->record) rapt__record_rows(s);
    if (!o->logits) return RAPT_OK;
    int vocab = session->model->config.target_vocab;
    for (int row = 0; row < session->target_rows; row++) {
        int slot = m->row_slot[row], source = slot / s->stride;
        o->logits(o->user, source, m->live + (size_t)slot * (size_t)s->length, m->count[source],
                  session->logits + (size_t)row * (size_t)vocab, vocab);
    }
    rapt__team_run(session->limits.threads, work_on_logits, s);
    return RAPT_OK;
}

/* Performs one step for all sources. */
static rapt_status search_step(struct search *s, rapt_message *why)
{
    struct search_memory *m = s->m;
    rapt_status status = search_decode(s, why);
    if (status) return status;
    for (int i = 0; i < s->session->targets; i++) m->parents[i] = i;
    if (s->options->temperature > 0)
        rapt__search_sample(s);
    else
        for (int b = 0; b < s->session->sources; b++)
            if (m->live_count[b]) rapt__search_choose(s, b, m->starts[(ptrdiff_t)b * s->stride]);
    return advance(s, why);
}

/* ---- announcing tokens ----

   Tokens are passed to the caller's callback as soon as they are certain to be in the best sequence
   of a source. The best sequence will be either a finished hypothesis or the continuation of a live
   hypothesis. Therefore the common prefix of all live and finished hypotheses is certain. */

struct known { /* the prefix of a source's best sequence that is already certain */
    const int32_t *ids;
    const float *log;
    int count;
    bool ended; /* the end token follows */
};

/* Truncates *k to the common prefix of *k and ids[count]. Their first `from` tokens are known to be
   equal. If k->ids is NULL, sets *k to ids[count]. */
static void known_agree(struct known *k, const int32_t *ids, const float *log, int count, int from)
{
    if (!k->ids) {
        *k = (struct known){ids, log, count, false};
        return;
    }
    if (count < k->count) k->count = count;
    for (int t = from; t < k->count; t++)
        if (k->ids[t] != ids[t]) k->count = t;
}

/* Returns the prefix of a source's best sequence that is already certain. Once no hypothesis is
   live, this is the whole best hypothesis. */
static struct known known_of(const struct search *s, int source)
{
    const struct search_memory *m = s->m;
    int first = source * s->stride;
    struct known k = {0};
    if (m->live_count[source] == 0) {
        int best = rapt__search_best(s, source);
        size_t at = (size_t)best * (size_t)s->length;
        if (best >= 0)
            k = (struct known){m->done + at, m->done_log + at, m->done_length[best],
                               m->done_ended[best]};
        return k;
    }
    for (int i = 0; i < m->live_count[source]; i++) {
        size_t at = (size_t)(first + i) * (size_t)s->length;
        known_agree(&k, m->live + at, m->live_log + at, m->count[source], m->announced[source]);
    }
    for (int i = 0; i < m->done_count[source]; i++) {
        size_t at = (size_t)(first + i) * (size_t)s->length;
        known_agree(&k, m->done + at, m->done_log + at, m->done_length[first + i],
                    m->announced[source]);
    }
    return k;
}

/* Calls options.token for the tokens of a source that have become certain. Returns false if the
   callback asked to stop. */
static bool announce(struct search *s, int source)
{
    struct search_memory *m = s->m;
    const rapt_generate_options *o = s->options;
    if (m->announced[source] < 0) return true;
    const struct known k = known_of(s, source);
    while (k.ids && m->announced[source] < k.count) {
        int t = m->announced[source]++;
        if (o->token(o->user, source, k.ids[t], k.log[t])) return false;
    }
    if (m->live_count[source]) return true;
    m->announced[source] = -1;
    return !k.ended || o->token(o->user, source, o->end, k.log[k.count]) == 0;
}

/* ---- the loop ---- */

static bool search_alive(const struct search *s)
{
    for (int b = 0; b < s->session->sources; b++)
        if (s->m->live_count[b]) return true;
    return false;
}

/* Runs steps until all sources are finished or a callback stops the call. Then truncates the
   hypotheses that are still live, and reports the remaining tokens unless the callback that stopped
   the call was options.token. */
static rapt_status search_run(struct search *s, rapt_message *why)
{
    const rapt_generate_options *o = s->options;
    bool stop = o->stop && o->stop(o->user), announcing = o->token;
    rapt_status status = RAPT_OK;
    while (!stop && search_alive(s)) {
        status = search_step(s, why);
        if (status) return status;
        for (int b = 0; announcing && b < s->session->sources; b++) announcing = announce(s, b);
        bool ended_by_token = o->token && !announcing;
        stop = ended_by_token || (o->stop && search_alive(s) && o->stop(o->user));
    }
    for (int b = 0; b < s->session->sources; b++) rapt__search_truncate(s, b);
    for (int b = 0; announcing && b < s->session->sources; b++) announcing = announce(s, b);
    return status;
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

/* Generates the targets of sources that have already been encoded. */
static rapt_status search_sources(rapt_session *session, const rapt_generate_options *o,
                                  const rapt_generate_outputs *out,
                                  const struct listed_rows *listed, rapt_message *why)
{
    struct search s = search_begin(session, o);
    rapt_status status = RAPT_OK;
    s.logs = out->log_probabilities || o->token;
    s.picks.listed = listed;
    if (o->terms) s.picks.terms = &session->terms;
    rapt__constrain(&s);
    if (out->alignments || o->coverage_penalty > 0) s.record = &session->record;
    if (o->prefix) status = feed_prefix(&s, o->prefix, why);
    if (!status) status = search_run(&s, why);
    if (status) return status;
    for (int b = 0; b < session->sources; b++) rapt__search_output(&s, b, out);
    return RAPT_OK;
}

rapt_status rapt_generate(rapt_session *session, const rapt_tokens *source,
                          const rapt_generate_options *options,
                          const rapt_generate_outputs *outputs, rapt_message *why)
{
    rapt_generate_options o;
    rapt_generate_outputs out;
    rapt_terms terms;
    if (!session) return rapt__fail(why, RAPT_BAD_ARGUMENT, "session is NULL");
    if (!source) return rapt__fail(why, RAPT_BAD_ARGUMENT, "source is NULL");
    rapt_status status = rapt__struct_read(&o, sizeof o, options, "rapt_generate_options", why);
    if (!status && o.terms) {
        status = rapt__struct_read(&terms, sizeof terms, o.terms, "rapt_terms", why);
        o.terms = &terms;
    }
    if (!status) status = rapt__generate_check(session, &o, source->batch, why);
    if (!status) status = read_outputs(&out, outputs, session, why);
    if (status) return status;
    int length = o.max_length ? o.max_length : session->limits.target_length;
    status = rapt__encode(session, source, length, NULL, why);
    if (status) return status;
    struct listed_rows *listed = &session->listed;
    session->searched = true;
    rapt__listed_rows_free(listed, session); /* the last call may have exited via longjmp() */
    rapt__terms_end(session);
    if (o.shortlist) status = rapt__listed_rows_make(listed, session, &o, source, why);
    if (!status && o.terms) status = rapt__terms_begin(session, &o, why);
    if (!status) status = search_sources(session, &o, &out, o.shortlist ? listed : NULL, why);
    rapt__terms_end(session);
    rapt__listed_rows_free(listed, session);
    return status;
}
