/* score.c - forced decoding of known tokens: of a prefix before a search, or of whole targets to be
   scored. The log-probability of a token is its logit minus the log sum exp of the row, with the
   same sums as in generation. */
#include "generate/generate.h"

/* ---- known tokens ---- */

/* Returns the number of rows of a sequence: one for each token, and one for the end if there is
   one. The token that the last row predicts is never an input. */
static int feed_rows(const struct feed *f, int source)
{
    return f->tokens->starts[source + 1] - f->tokens->starts[source] + (f->end >= 0);
}

/* Divides the tokens into calls of rapt__decode. The input of row p is token p - 1, or the begin
   token for p = 0. It is followed by token p, or by the end. */
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

/* ---- scores of whole targets ---- */

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
   or at starts[b] + b if there are ends, since every earlier sequence then has one more value. */
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
