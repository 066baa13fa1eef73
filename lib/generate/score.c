/* score.c - forced decoding: computes the log-probability of every token of given targets as its
   logit minus the log sum exp of the row, with the same sums as in generation. */
#include "generate/generate.h"

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
