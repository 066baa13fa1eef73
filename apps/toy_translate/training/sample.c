/* sample.c - translates one short validation sentence, always the same, by greedy search with the
   current parameters. */
#include "kit/heatmap.h"
#include "learner.h"
#include <stdlib.h>
#include <string.h>

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
