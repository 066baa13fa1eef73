/* calibrate.c - measures the inputs of a model's matrix products while the model translates, and
   stores, for each product, the fixed scale with which engines such as Firefox's quantize these
   inputs:

       alpha = 127 / (mean + 1.1 * standard deviation)

   The mean and the (population) standard deviation are those of the largest magnitude in the inputs
   of the product, measured each time the product is computed: once for each group of sources that
   the encoder reads together, or once for each decoding step. Source: marian-nmt/marian-dev,
   scripts/alphas/extract_stats.py. */
#include "translate/translate.h"

#include <math.h>

struct measures { /* sums over all computations of a product: of the largest input magnitude, and of
                     its square */
    double sum, squares;
    size_t calls;
};
struct calibration {
    const rapt_model *model;
    struct measures *measures; /* [parameters] */
    bool infinite;             /* an input was infinite */
    size_t bad; /* index of the first text that is too long; SIZE_MAX if there is none */
};

/* Returns the index of the parameter whose matrix begins where the matrix of *l does, or -1. A
   product that is computed in parts is thus counted once, with its first part. */
static int parameter_of(const rapt_model *m, const struct linear *l)
{
    for (int n = 0; n < m->layout.count; n++) {
        if (m->layout.parameters[n].rows == 1) continue;
        struct linear p = rapt__parameter_matrix(&m->layout.parameters[n], m->block);
        if (l->weight == p.weight && l->half == p.half && l->bytes == p.bytes) return n;
    }
    return -1;
}

static void see(void *user, const struct linear *l, float largest)
{
    struct calibration *c = user;
    int n = parameter_of(c->model, l);
    if (n < 0) return;
    struct measures *m = &c->measures[n];
    m->sum += largest;
    m->squares += (double)largest * largest;
    m->calls++;
    c->infinite = c->infinite || isinf(largest);
}

static int count_text(void *user, const rapt_translation *translation)
{
    struct calibration *c = user;
    if (translation->status && c->bad == SIZE_MAX) c->bad = translation->sentence;
    return translation->status != RAPT_OK;
}

/* Returns the alpha of a parameter, or 0 if no product with it was measured. */
static float alpha_of(const struct measures *m)
{
    if (m->calls == 0) return 0;
    double calls = (double)m->calls, mean = m->sum / calls,
           variance = m->squares / calls - mean * mean;
    double typical = mean + 1.1 * sqrt(variance > 0 ? variance : 0);
    return (float)(127 / (typical > 0 ? typical : 1));
}

/* Measures the products while translating the texts with greedy search. */
static rapt_status measure(struct calibration *c, const rapt_text *texts, size_t count, int threads,
                           rapt_message *why)
{
    rapt_translator *t = NULL;
    rapt_translator_options options = {.size = sizeof options};
    const struct observer observer = {see, c};
    rapt_translator_options_default(&options, sizeof options, c->model);
    options.beams = 1, options.threads = threads;
    rapt_status status =
        rapt_translator_create(&t, c->model, NULL, NULL, &options, &c->model->allocator, why);
    if (status) return status;
    t->session->observer = &observer;
    status = rapt_translate_many(t, texts, count, 0, count_text, c, why);
    rapt_translator_free(t);
    return status;
}

static rapt_status check_measures(const struct calibration *c, rapt_message *why)
{
    if (c->bad != SIZE_MAX)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "texts[%zu] has more tokens than the model's maximum of %d", c->bad,
                          c->model->config.positions);
    if (c->infinite)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the model computes values that are not finite");
    for (int n = 0; n < c->model->layout.count; n++)
        if (c->measures[n].calls) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "calibration needs at least one text with a word");
}

rapt_status rapt_model_calibrate(rapt_model *model, const rapt_text *texts, size_t count,
                                 int threads, rapt_message *why)
{
    if (!model || (count && !texts))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", model ? "texts" : "model");
    size_t parameters = (size_t)model->layout.count;
    size_t bytes = parameters * sizeof(struct measures);
    struct calibration c = {.model = model, .bad = SIZE_MAX};
    c.measures = rapt__alloc(&model->allocator, bytes);
    float *alphas = rapt__alloc(&model->allocator, parameters * sizeof *alphas);
    rapt_status status = RAPT_OK;
    if (!c.measures || !alphas)
        status = rapt__fail(why, RAPT_NO_MEMORY, "out of memory while calibrating");
    for (size_t n = 0; !status && n < parameters; n++) c.measures[n] = (struct measures){0};
    if (!status) status = measure(&c, texts, count, threads, why);
    if (!status) status = check_measures(&c, why);
    float output = 0;
    for (size_t n = 0; !status && n < parameters; n++) {
        alphas[n] = alpha_of(&c.measures[n]);
        if (model->layout.parameters[n].offset == model->layout.output.weight) output = alphas[n];
    }
    if (!status) status = rapt__scales_set_alphas(model, alphas, output, why);
    rapt__free(&model->allocator, alphas, parameters * sizeof *alphas);
    rapt__free(&model->allocator, c.measures, bytes);
    return status;
}
