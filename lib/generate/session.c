/* session.c - decoding: appends tokens to the targets and computes the logits of the next tokens,
   using cached keys and values. Also reorders targets, and computes the log-probabilities of known
   targets. */
#include "generate/generate.h"

#include <assert.h>
#include <string.h>

struct writing {
    rapt_session *session;
    struct stack decoder;
    struct stack_caches caches;
    struct pass pass;
    struct picks *picks;
};

static void work_on_target(struct team *team, void *argument)
{
    struct writing *w = argument;
    rapt_session *s = w->session;
    struct exec_context c = rapt__session_exec(s, team);
    int rows = w->pass.rows.count;
    const float *last = rapt__stack_forward(&c, &w->decoder, &w->pass);
    struct linear output =
        rapt__linear_at(&s->model->layout, &s->model->layout.output, s->model->block);
    if (w->picks && w->picks->max == 0 && !w->picks->wanted) return;
    if (w->picks)
        rapt__pick(&c, &output, last, rows, w->picks, s->logits);
    else
        rapt__linear_forward(&c, &output, last, output.in, rows, s->logits, output.out,
                             ACTIVATION_NONE, NULL);
}

static rapt_status check_target(const rapt_session *s, const rapt_tokens *target, rapt_message *why)
{
    const struct token_limits limits = {.what = "target",
                                        .vocab = s->model->config.target_vocab,
                                        .batch = INT32_MAX,
                                        .tokens = s->limits.target_tokens,
                                        .length = s->target_capacity};
    if (target && target->batch > 0 && s->targets == 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "there are no targets: call rapt_encode first");
    if (target && target->batch != s->targets)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "target: batch is %d, but must be %d (%d sources from the last rapt_encode "
            "times limits.beams, which is %d)",
            target->batch, s->targets, s->sources, s->limits.beams);
    rapt_status status = rapt__tokens_check(target, &limits, why);
    if (status) return status;
    assert(target); /* rapt__tokens_check rejects NULL */
    for (int b = 0; b < target->batch; b++)
        if (target->starts[b + 1] - target->starts[b] > s->target_capacity - s->length[b])
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT,
                "target: sequence %d has %d tokens; adding %d would exceed its capacity of %d", b,
                s->length[b], target->starts[b + 1] - target->starts[b], s->target_capacity);
    return RAPT_OK;
}

rapt_status rapt__decode(rapt_session *s, const rapt_tokens *target, struct picks *picks,
                         rapt_message *why)
{
    if (s->model->config.kind == RAPT_KIND_ENCODER_ONLY)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "an encoder-only model has no target");
    rapt_status status = check_target(s, target, why);
    if (status) return status;
    for (int b = 0; b < target->batch; b++) {
        s->past[b] = s->length[b];
        s->length[b] += target->starts[b + 1] - target->starts[b];
    }
    rapt__starts_copy(s->target_starts, target->starts, target->batch,
                      s->limits.batch * s->limits.beams);
    s->target_rows = target->starts[target->batch];
    s->reordered = false;
    if (s->target_rows == 0) return RAPT_OK;
    struct writing w = {.session = s, .decoder = rapt__session_stack(s, true), .picks = picks};
    w.caches = rapt__session_caches(s);
    w.pass.ids = target->ids;
    w.pass.caches = &w.caches;
    w.pass.rows = rapt__rows(target->batch, s->target_starts);
    rapt__team_run(s->limits.threads, work_on_target, &w);
    return RAPT_OK;
}

/* Returns an error if the targets belong to a search. The caller must not extend or move such
   targets. */
static rapt_status check_targets(const rapt_session *s, rapt_message *why)
{
    if (!s->searched) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "the targets belong to rapt_generate or rapt_score_targets: call "
                      "rapt_encode first");
}

rapt_status rapt_decode(rapt_session *s, const rapt_tokens *target, const float **logits,
                        rapt_message *why)
{
    if (!s) return rapt__fail(why, RAPT_BAD_ARGUMENT, "session is NULL");
    rapt_status status = check_targets(s, why);
    if (!status) status = rapt__decode(s, target, NULL, why);
    if (!status && logits) *logits = s->logits;
    return status;
}

/* ---- reordering ---- */

/* Copies the states of each target's parent to the spare memory of the target. */
static void move_states(struct team *team, rapt_session *s)
{
    size_t begin, end, slots = (size_t)s->self.sequences;
    size_t floats = rapt__state_floats(&s->model->config);
    rapt__team_share(team, (size_t)s->model->layout.decoder.count * slots, 1, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        size_t from = i / slots * slots + (size_t)s->parents[i % slots];
        memcpy(s->self.spare_states + i * floats, s->self.states + from * floats,
               floats * sizeof *s->self.states);
    }
}

/* Copies the head positions of each target's parent to the spare memory of the target. */
static void move_positions(struct team *team, rapt_session *s)
{
    const struct monotonic_state *m = &s->cross.monotonic;
    size_t begin, end, slots = (size_t)m->targets, heads = (size_t)s->model->config.heads;
    rapt__team_share(team, (size_t)s->model->layout.decoder.count * slots, 1, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        size_t from = i / slots * slots + (size_t)s->parents[i % slots];
        memcpy(m->spare + i * heads, m->positions + from * heads, heads * sizeof *m->spare);
    }
}

static void work_on_move(struct team *team, void *argument)
{
    rapt_session *s = argument;
    if (s->self.states) move_states(team, s);
    if (s->cross.monotonic.positions) move_positions(team, s);
    for (int l = 0; l < s->model->layout.decoder.count; l++) {
        if (s->self.caches) rapt__cache_reorder(team, &s->self.caches[l], s->parents);
        if (s->self.history) rapt__history_reorder(team, &s->self.history[l], s->parents);
        if (s->cross.history) rapt__history_reorder(team, &s->cross.history[l], s->parents);
    }
}

rapt_status rapt_session_reorder(rapt_session *s, const int *parents, rapt_message *why)
{
    if (!s || !parents)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", s ? "parents" : "session");
    rapt_status status = check_targets(s, why);
    return status ? status : rapt__reorder(s, parents, why);
}

rapt_status rapt__reorder(rapt_session *s, const int *parents, rapt_message *why)
{
    bool moves = false;
    for (int i = 0; i < s->targets; i++) {
        if (parents[i] < 0 || parents[i] >= s->targets ||
            s->source_of[parents[i]] != s->source_of[i])
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "parents[%d] is %d, not a target of source %d", i, parents[i],
                              s->source_of[i]);
        moves = moves || parents[i] != i;
    }
    s->reordered = true;
    if (!moves) return RAPT_OK;
    for (int i = 0; i < s->limits.batch * s->limits.beams; i++)
        s->parents[i] = i < s->targets ? parents[i] : i;
    rapt__team_run(s->limits.threads, work_on_move, s);
    float *moved = s->self.spare_states;
    s->self.spare_states = s->self.states;
    s->self.states = moved;
    int *positions = s->cross.monotonic.spare;
    s->cross.monotonic.spare = s->cross.monotonic.positions;
    s->cross.monotonic.positions = positions;
    for (int i = 0; i < s->targets; i++) s->past[i] = s->length[parents[i]];
    memcpy(s->length, s->past, sizeof(int) * (size_t)s->targets);
    s->target_rows = 0;
    return RAPT_OK;
}

/* ---- known tokens: a prefix before a search, or whole targets to be scored ---- */

/* Returns the number of rows of a sequence: one for each token, and one for the end token if there
   is one. The token that the last row predicts is never an input. */
static int feed_rows(const struct feed *f, int source)
{
    return f->tokens->starts[source + 1] - f->tokens->starts[source] + (f->end >= 0);
}

/* Splits the tokens across calls to rapt__decode, and returns those for the next call. The input of
   row p is token p - 1, or the begin token for p = 0. It is followed by token p, or by the end
   token. */
rapt_tokens rapt__feed_next(rapt_session *s, const struct feed *f)
{
    struct search_memory *m = &s->search;
    int rows = 0, beams = s->limits.beams;
    m->starts[0] = 0;
    for (int i = 0; i < s->targets; i++) {
        int source = i / beams, first = f->tokens->starts[source];
        int end = i % beams == 0 ? feed_rows(f, source) : 0;
        for (int p = s->length[i]; p < end && rows < s->limits.target_tokens; p++, rows++) {
            bool last = first + p == f->tokens->starts[source + 1];
            m->inputs[rows] = p ? f->tokens->ids[first + p - 1] : f->begin;
            m->wanted[rows] = last ? f->end : f->tokens->ids[first + p];
        }
        m->starts[i + 1] = rows;
    }
    return (rapt_tokens){.batch = s->targets, .ids = m->inputs, .starts = m->starts};
}

/* ---- scores of whole targets ----

   The log-probability of a token is its logit minus the log sum exp of the row, which is computed
   as in generation. */

static rapt_status check_scored(const rapt_session *s, const rapt_tokens *source,
                                const rapt_tokens *target, const struct feed *f, rapt_message *why)
{
    int vocab = s->model->config.target_vocab;
    if (s->model->config.kind == RAPT_KIND_ENCODER_ONLY)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "an encoder-only model has no target");
    if (!source) return rapt__fail(why, RAPT_BAD_ARGUMENT, "source is NULL");
    if (f->begin < 0 || f->begin >= vocab)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "begin is %d; the vocabulary has %d tokens",
                          (int)f->begin, vocab);
    if (f->end < -1 || f->end >= vocab)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "end is %d; the vocabulary has %d tokens",
                          (int)f->end, vocab);
    int longest = rapt__session_target_capacity(s, source->batch) - (f->end >= 0);
    const struct token_limits limits = {.what = "target",
                                        .vocab = vocab,
                                        .batch = s->limits.batch,
                                        .tokens = INT32_MAX,
                                        .length = longest};
    rapt_status status = rapt__tokens_check(target, &limits, why);
    if (status) return status;
    if (target->batch != source->batch)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%d source sequences, but %d target sequences",
                          source->batch, target->batch);
    return RAPT_OK;
}

/* Stores the results of one rapt__decode. The log-probabilities of sequence b begin at starts[b],
   or at starts[b] + b if there is an end token, since every earlier sequence then has one more
   value. */
static void take_scores(const rapt_session *s, const struct feed *f, float *log_probabilities,
                        double *sums)
{
    const struct search_memory *m = &s->search;
    for (int b = 0; b < s->sources; b++) {
        int slot = b * s->limits.beams;
        ptrdiff_t at = f->tokens->starts[b] + (f->end >= 0 ? b : 0) + s->past[slot];
        for (int row = s->target_starts[slot]; row < s->target_starts[slot + 1]; row++, at++) {
            double log_p = (double)m->wanted_logits[row] - (double)m->log_sums[row];
            if (log_probabilities) log_probabilities[at] = (float)log_p;
            if (sums) sums[b] += log_p;
        }
    }
}

rapt_status rapt_score_targets(rapt_session *s, const rapt_tokens *source,
                               const rapt_tokens *target, int32_t begin, int32_t end,
                               float *log_probabilities, double *sums, rapt_message *why)
{
    const struct feed feed = {target, begin, end};
    if (!s) return rapt__fail(why, RAPT_BAD_ARGUMENT, "session is NULL");
    rapt_status status = check_scored(s, source, target, &feed, why);
    if (status) return status;
    int length = rapt__longest(target->batch, target->starts) + (end >= 0);
    status = rapt__encode(s, source, rapt__max(length, 1), NULL, why);
    if (status) return status;
    s->searched = true;
    struct search_memory *m = &s->search;
    struct picks picks = {.log_sums = m->log_sums,
                          .section_sums = m->section_sums,
                          .sections = rapt__pick_sections(s->model->config.target_vocab),
                          .wanted = m->wanted,
                          .wanted_logits = m->wanted_logits};
    for (int b = 0; sums && b < target->batch; b++) sums[b] = 0;
    for (;;) {
        const rapt_tokens rows = rapt__feed_next(s, &feed);
        if (rows.starts[rows.batch] == 0) return RAPT_OK;
        status = rapt__decode(s, &rows, &picks, why);
        if (status) return status;
        take_scores(s, &feed, log_probabilities, sums);
    }
}
