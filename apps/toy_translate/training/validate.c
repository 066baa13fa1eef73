/* validate.c - computes the negative log-likelihood per token of the validation pairs, for the
   current parameters and for the mean of the last epochs. The better of the two models is saved if
   it is the best so far. */
#include "kit/heatmap.h"
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The loss of one batch. */
struct batch_loss {
    double likelihood; /* NaN if not finite */
    long long tokens;
};

static int evaluate_batch(struct learner *learner, size_t b, struct batch_loss *loss)
{
    rapt_tokens source, target;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    int code = batches_get(&learner->valid_batches, b, &source, &target);
    if (code != EXIT_OK) return code;
    rapt_status status = rapt_train_evaluate(learner->trainer, &source, &target, &report, &why);
    *loss = (struct batch_loss){status == RAPT_NOT_FINITE ? (double)NAN : report.likelihood,
                                report.tokens};
    if (status == RAPT_OK || status == RAPT_NOT_FINITE) return EXIT_OK;
    return failed("validation: %s", *why.text ? why.text : rapt_status_text(status));
}

/* Computes the loss per token. Each rank evaluates some of the batches, and all ranks add all
   losses in the same order. */
static int validation_loss(struct learner *learner, double *loss)
{
    const struct ranks *ranks = learner->exchange.ranks;
    size_t batches = learner->valid_batches.count, count = (size_t)ranks->count;
    struct batch_loss sum = {0, 0}, *losses = xcalloc(batches, sizeof *losses);
    size_t *starts = xcalloc(count + 1, sizeof *starts);
    int code = EXIT_OK;
    for (size_t r = 0; r <= count; r++) starts[r] = batches * r / count * sizeof *losses;
    size_t first = starts[ranks->rank] / sizeof *losses;
    size_t end = starts[ranks->rank + 1] / sizeof *losses;
    for (size_t b = first; code == EXIT_OK && b < end; b++)
        code = evaluate_batch(learner, b, &losses[b]);
    if (code == EXIT_OK) code = exchange_parts(&learner->exchange, losses, starts);
    for (size_t b = 0; b < batches; b++) {
        sum.likelihood += losses[b].likelihood;
        sum.tokens += losses[b].tokens;
    }
    *loss = sum.likelihood / (double)sum.tokens;
    free(losses);
    free(starts);
    return code;
}

static int validate_mean(struct learner *learner, double raw, double best, bool within_epoch,
                         double *loss)
{
    int code = EXIT_OK;
    average_apply(&learner->average, learner->model);
    code = validation_loss(learner, loss);
    learner->valid_loss = *loss;
    if (code == EXIT_OK && *loss < raw && *loss < best) code = best_save(learner, within_epoch);
    average_undo(&learner->average, learner->model);
    return code;
}

int validate(struct learner *learner, struct state *state, bool within_epoch, double *loss)
{
    double start = now(), raw = NAN, mean = NAN;
    int code = validation_loss(learner, &raw);
    if (code == EXIT_OK && learner->average.count > 1)
        code = validate_mean(learner, raw, state->best, within_epoch, &mean);
    if (code != EXIT_OK) return code;
    *loss = mean < raw ? mean : raw;
    if (*loss < state->best) {
        learner->valid_loss = raw;
        if (!(mean < raw)) code = best_save(learner, within_epoch);
        state->best = *loss;
        state->since = 0;
    } else {
        code = best_restore(learner);
        state->since++;
    }
    learner->valid_loss = NAN; /* for models that are saved before the next validation */
    learner->validation_seconds = now() - start;
    return code;
}

/* ---- translates one short validation sentence, always the same, by greedy search with the current
   parameters ---- */

enum { FIRST = 50, LONGEST = 9 }; /* sentences to choose from; tokens of the one chosen */

/* Returns the longest of the first sentences that is short enough, or the first sentence. */
static size_t choose_sentence(const struct examples *valid)
{
    size_t best = 0, longest = 0;
    for (size_t i = 0; i < valid->count && i < FIRST; i++) {
        size_t length = examples_length(valid, i);
        if (length > LONGEST || length <= longest) continue;
        longest = length;
        best = i;
    }
    return best;
}

/* Returns a new string, or NULL if the tokens cannot be decoded. */
static char *decode_text(const rapt_tokenizer *tokenizer, const int32_t *ids, int count)
{
    size_t size = 0;
    rapt_tokenizer_decode(tokenizer, ids, (size_t)count, NULL, 0, &size, NULL);
    char *bytes = xcalloc(size + 1, 1), *text = NULL;
    if (rapt_tokenizer_decode(tokenizer, ids, (size_t)count, bytes, size, &size, NULL) == RAPT_OK)
        text = printable((rapt_text){bytes, size});
    free(bytes);
    return text;
}

/* Returns "source -> target", or NULL if the model gives no translation, for instance because its
   logits are not finite. */
static char *translate_sample(const struct learner *learner, rapt_session *session,
                              const int32_t *ids, int count, int limit)
{
    const struct vocabulary *v = &learner->vocabulary;
    const struct frame *source_frame = &learner->valid.frames.source,
                       *target_frame = &learner->valid.frames.target;
    const rapt_tokens first = {
        .batch = 1, .ids = target_frame->before + 1, .starts = (const int[]){0, 1}};
    int starts[2] = {0, count}, length = 0;
    int32_t *target = xcalloc((size_t)limit, sizeof *target);
    rapt_tokens source = {.batch = 1, .ids = ids, .starts = starts};
    rapt_generate_options options;
    rapt_generate_outputs outputs = {.size = sizeof outputs, .ids = target, .counts = &length};
    char *from = NULL, *to = NULL, *text = NULL;
    rapt_generate_options_default(&options, sizeof options, target_frame->before[0],
                                  target_frame->after[0]);
    if (target_frame->before_count > 1) options.prefix = &first;
    if (rapt_generate(session, &source, &options, &outputs, NULL) == RAPT_OK && length >= 0) {
        from = decode_text(v->source, ids + source_frame->before_count,
                           count - (int)frame_count(source_frame));
        to = decode_text(v->target, target, length);
    }
    if (from != NULL && to != NULL) text = xasprintf("%s -> %s", from, to);
    free(from);
    free(to);
    free(target);
    return text;
}

char *sample(struct learner *learner)
{
    struct examples *valid = &learner->valid;
    size_t index = choose_sentence(valid);
    int count = (int)valid->source[index], limit = 2 * count + 16;
    int positions = rapt_model_config(learner->model)->positions;
    if (limit > positions) limit = positions;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 1,
                          .source_tokens = count,
                          .target_length = limit,
                          .threads = 1};
    rapt_session *session = NULL;
    if (rapt_session_create(&session, learner->model, &limits, NULL, NULL) != RAPT_OK) return NULL;
    int32_t *source = xcalloc(valid->source[index], sizeof *source);
    int32_t *target = xcalloc(valid->target[index], sizeof *target);
    char *text = NULL;
    if (examples_get(valid, index, source, target) == EXIT_OK)
        text = translate_sample(learner, session, source, count, limit);
    free(source);
    free(target);
    rapt_session_free(session);
    return text;
}
