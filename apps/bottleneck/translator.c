/* translator.c - one interface to the three models; training with a shared learning-rate schedule.
 */
#include "bottleneck.h"
#include <stdlib.h>

const char *const kind_names[KINDS] = {"fixed vector", "attention", "attention only"};

void translator_create(struct translator *translator, enum kind kind, const struct setup *setup)
{
    *translator = (struct translator){.kind = kind, .setup = setup};
    if (kind == TRANSFORMER)
        translator->transformer = transformer_create(setup);
    else
        translator->recurrent = recurrent_create(setup, kind == WITH_ATTENTION);
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

void translator_train(struct translator *translator)
{
    const struct setup *setup = translator->setup;
    struct sentence *sentences = xcalloc((size_t)setup->batch, sizeof *sentences);
    for (int step = 0; step < setup->steps; step++) {
        batch_draw(setup, step, sentences);
        float rate = setup->rate * schedule_factor(step, setup->steps, 100, 0.05F);
        double loss = translator->transformer
                          ? transformer_step(translator->transformer, sentences, rate)
                          : recurrent_step(translator->recurrent, sentences, rate);
        translator->loss = step > 0 ? 0.98 * translator->loss + 0.02 * loss : loss;
        translator->step = step + 1;
        if (!setup->quiet && tenth_done(step, setup->steps))
            print_message("%-14s %6d sentences, loss %.4f per word", kind_names[translator->kind],
                          (step + 1) * setup->batch, translator->loss);
    }
    free(sentences);
}

void translator_translate(struct translator *translator, const struct sentence *sentences,
                          int count, struct words *out, float *weights)
{
    if (translator->transformer)
        transformer_translate(translator->transformer, sentences, count, out, weights);
    else
        recurrent_translate(translator->recurrent, sentences, count, out, weights);
}
