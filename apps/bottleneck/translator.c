/* translator.c - three models behind one face. */
#include "bottleneck.h"
#include <stdlib.h>

const char *const kind_names[KINDS] = {"fixed vector", "attention", "attention only"};

void translator_create(struct translator *translator, enum kind kind, const struct setup *setup)
{
    *translator = (struct translator){.kind = kind, .setup = setup};
    if (kind == ATTENTION_ONLY)
        translator->pure = pure_create(setup);
    else
        translator->recurrent = recurrent_create(setup, kind == ATTENDING);
}

void translator_free(struct translator *translator)
{
    recurrent_free(translator->recurrent);
    pure_free(translator->pure);
}

size_t translator_parameters(const struct translator *translator)
{
    return translator->pure ? pure_parameters(translator->pure)
                            : recurrent_parameters(translator->recurrent);
}

/* Up within the first hundredth, constant, then down within the last half. */
static float rate_at(const struct setup *setup, int step)
{
    float done = (float)step / (float)setup->steps, rise = 100 * done + 0.05F;
    float fall = done < 0.5F ? 1 : 1 - 0.95F * (2 * done - 1);
    return setup->rate * (rise < 1 ? rise : fall);
}

void translator_learn(struct translator *translator)
{
    const struct setup *setup = translator->setup;
    struct sentence *sentences = xcalloc((size_t)setup->batch, sizeof *sentences);
    for (int step = 0; step < setup->steps; step++) {
        batch_draw(setup, step, sentences);
        double loss = translator->pure
                          ? pure_step(translator->pure, sentences, rate_at(setup, step))
                          : recurrent_step(translator->recurrent, sentences, rate_at(setup, step));
        translator->loss = step > 0 ? 0.98 * translator->loss + 0.02 * loss : loss;
        translator->step = step + 1;
        if (!setup->quiet && (step + 1) * 10LL / setup->steps > step * 10LL / setup->steps)
            print_message("%-14s %6d sentences, loss %.4f per word", kind_names[translator->kind],
                          (step + 1) * setup->batch, translator->loss);
    }
    free(sentences);
}

void translator_translate(struct translator *translator, const struct sentence *sentences,
                          int count, struct words *out, float *weights)
{
    if (translator->pure)
        pure_translate(translator->pure, sentences, count, out, weights);
    else
        recurrent_translate(translator->recurrent, sentences, count, out, weights);
}
