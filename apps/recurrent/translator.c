/* translator.c - one interface to recurrent models and the Transformer, their training with a
   shared learning-rate schedule, and the quality of their translations. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "kit/demo.h"
#include "recurrent.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void batch_draw(const struct training *training, int step, struct sentence *sentences)
{
    const struct language *language = training->language;
    struct random random = random_from(training->seed, (uint64_t)step);
    int length = MIN_WORDS + random_below(&random, training->max_words - MIN_WORDS + 1);
    for (int i = 0; i < training->batch; i++)
        language->draw(language, &sentences[i], &random, length);
}

void translator_free(struct translator *translator)
{
    recurrent_free(translator->recurrent);
    transformer_free(translator->transformer);
}

size_t translator_parameters(const struct translator *translator)
{
    return translator->transformer ? transformer_parameters(translator->transformer)
                                   : recurrent_parameters(translator->recurrent);
}

bool translator_attends(const struct translator *translator)
{
    return translator->transformer || recurrent_attends(translator->recurrent);
}

/* Returns the processor time of this thread. */
static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void *translator_train(void *argument)
{
    struct translator *translator = argument;
    const struct training *training = translator->training;
    struct sentence *sentences = xcalloc((size_t)training->batch, sizeof *sentences);
    const double start = seconds();
    for (int step = 0; step < training->steps; step++) {
        batch_draw(training, step, sentences);
        float rate = training->rate * schedule_factor(step, training->steps, 100, 0.05F);
        double loss =
            translator->transformer
                ? transformer_step(translator->transformer, sentences, training->batch, rate)
                : recurrent_step(translator->recurrent, sentences, rate);
        translator->loss = step > 0 ? 0.98 * translator->loss + 0.02 * loss : loss;
        translator->step = step + 1;
        if (training->quiet) training_progress(translator->name, step + 1, training->steps);
        if (!training->quiet && tenth_done(step, training->steps))
            print_message("%-14s %6d sentences, loss %.4f per word", translator->name,
                          (step + 1) * training->batch, translator->loss);
    }
    translator->seconds = seconds() - start;
    free(sentences);
    return NULL;
}

void translator_translate(struct translator *translator, const struct sentence *sentences,
                          int count, struct words *out, const struct seen *seen)
{
    if (translator->transformer)
        transformer_translate(translator->transformer, sentences, count, out, seen);
    else
        recurrent_translate(translator->recurrent, sentences, count, out, seen);
}

void translator_influence(struct translator *translator, const struct sentence *sentence, int step,
                          float *norms)
{
    if (translator->transformer)
        transformer_influence(translator->transformer, sentence, step, norms);
    else
        recurrent_influence(translator->recurrent, sentence, 1, step, norms);
}

/* ---- quality ----
   BLEU (Papineni et al. 2002), exact translations, and the alignment error rate of attention (Och
   and Ney 2003, section 6), for sentences of given lengths. */

enum { TEXT = 4096 };
static const uint64_t TEST_STREAM = UINT64_MAX / 2; /* training uses streams 0 .. steps - 1 */

struct tally {
    rapt_bleu bleu;
    int sentences, exact;
    int links, sure, sure_found, possible_found; /* in exact translations */
};

static bool tally_add(struct tally *tally, const struct vocabulary *target, const struct words *out,
                      const struct words *wanted)
{
    char text[TEXT], reference[TEXT];
    words_spell(target, out->tokens, out->count, text, sizeof text);
    words_spell(target, wanted->tokens, wanted->count, reference, sizeof reference);
    rapt_text hypothesis = {text, strlen(text)}, right = {reference, strlen(reference)};
    if (rapt_bleu_add(&tally->bleu, RAPT_BLEU_TOKENS_NONE, 0, hypothesis, right, NULL, NULL) !=
        RAPT_OK)
        exit(failed("out of memory"));
    tally->sentences++;
    bool exact = strcmp(text, reference) == 0;
    tally->exact += exact;
    return exact;
}

/* Links each word to the source word with the largest weight. weights has a row for each word. */
static void add_links(struct tally *tally, const struct sentence *sentence, const float *weights)
{
    const int columns = sentence->source.count + 1;
    for (int t = 0; t < sentence->target.count; t++, weights += columns) {
        const struct link *truth = &sentence->links[t];
        int s = argmax(columns, weights);
        tally->links++;
        tally->sure += truth->sure >= 0;
        tally->sure_found += s == truth->sure;
        tally->possible_found += s == truth->sure || (s >= truth->first && s <= truth->last);
    }
}

static double alignment_error(const struct tally *tally)
{
    int links = tally->links + tally->sure;
    return links > 0 ? 1 - (double)(tally->sure_found + tally->possible_found) / links
                     : (double)NAN;
}

/* Adds sentences of one length. weights is as in struct seen, or NULL. */
static void add_batch(struct tally *tally, struct translator *translator,
                      const struct sentence *sentences, int count, struct words *out,
                      float *weights)
{
    const struct seen seen = {weights, NULL};
    const size_t columns = (size_t)sentences[0].source.count + 1;
    translator_translate(translator, sentences, count, out, weights ? &seen : NULL);
    for (int i = 0; i < count; i++)
        if (tally_add(tally, &translator->training->language->target, &out[i],
                      &sentences[i].target) &&
            weights)
            add_links(tally, &sentences[i], weights + (size_t)(i * MAX_TARGET) * columns);
}

struct quality quality_of(struct translator *translator, int from, int to, int tests)
{
    const struct training *training = translator->training;
    const struct language *language = training->language;
    const size_t batch = (size_t)training->batch;
    struct sentence *sentences = xcalloc(batch, sizeof *sentences);
    struct words *out = xcalloc(batch, sizeof *out);
    float *weights = translator_attends(translator)
                         ? xcalloc(batch * MAX_TARGET * (size_t)(to + 1), sizeof *weights)
                         : NULL;
    struct tally tally = {0};
    for (int length = from; length <= to; length++) {
        struct random random = random_from(training->seed, TEST_STREAM + (uint64_t)length);
        for (int first = 0; first < tests; first += training->batch) {
            int some = tests - first < training->batch ? tests - first : training->batch;
            for (int i = 0; i < some; i++) language->draw(language, &sentences[i], &random, length);
            add_batch(&tally, translator, sentences, some, out, weights);
        }
    }
    free(sentences);
    free(out);
    free(weights);
    return (struct quality){rapt_bleu_score(&tally.bleu), 100.0 * tally.exact / tally.sentences,
                            alignment_error(&tally)};
}

double diagonal_error(const struct training *training, int from, int to, int tests)
{
    const struct language *language = training->language;
    struct sentence *sentence = xcalloc(1, sizeof *sentence);
    float *weights = xcalloc(MAX_TARGET * (size_t)(to + 1), sizeof *weights);
    struct tally tally = {0};
    for (int length = from; length <= to; length++) {
        struct random random = random_from(training->seed, TEST_STREAM + (uint64_t)length);
        for (int i = 0; i < tests; i++) {
            language->draw(language, sentence, &random, length);
            memset(weights, 0, MAX_TARGET * (size_t)(to + 1) * sizeof *weights);
            for (int t = 0; t < sentence->target.count; t++)
                weights[t * (length + 1) + (t < length ? t : length)] = 1;
            add_links(&tally, sentence, weights);
        }
    }
    free(sentence);
    free(weights);
    return alignment_error(&tally);
}
