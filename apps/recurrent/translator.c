/* translator.c - one interface to recurrent models and the Transformer, and their training with a
   shared learning-rate schedule. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "kit/demo.h"
#include "recurrent.h"
#include <stdlib.h>
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
