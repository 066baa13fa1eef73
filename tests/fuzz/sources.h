/* sources.h - models with an encoder chosen by the input, and their sources: ragged batches of
   tokens or of vectors, which may have any alignment of floats. */
#ifndef RAPT_TESTS_FUZZ_SOURCES_H
#define RAPT_TESTS_FUZZ_SOURCES_H

#include "arrays.h"
#include "definition.h"

enum { SOURCES = 8 };

struct source {
    int batch, starts[SOURCES + 1];
    size_t width, shift,
        size; /* width: of a vector, or 0 for tokens; shift: floats before x; size: floats in x */
    float *x; /* vectors */
    int32_t *ids; /* tokens */
    rapt_tokens tokens;
};

/* Creates a model. Returns NULL if its configuration was refused with a reason. */
static inline rapt_model *take_reader(struct feed *in, rapt_config *c, bool vectors, int positions)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    *c = take_config(in);
    c->positions = positions;
    if (c->kind == RAPT_KIND_DECODER_ONLY) c->kind = RAPT_KIND_ENCODER_ONLY, c->encoder_layers = 1;
    if (c->kind == RAPT_KIND_ENCODER_ONLY) c->decoder_layers = 0;
    c->source_vocab = vectors                  ? 0
                      : c->tie == RAPT_TIE_ALL ? c->target_vocab
                                               : 3 + take_below(in, 9);
    c->source_width = vectors ? 1 + take_below(in, 20) : 0;
    if (c->kind == RAPT_KIND_ENCODER_ONLY) c->pooling = (rapt_pooling)take_below(in, 3);
    rapt_status status = rapt_model_create(&model, c, take_byte(in), NULL, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    require((status == RAPT_OK) == (model != NULL), "a model, or a status");
    if (model) small_shake(model, take_byte(in), take_flag(in) ? 1.5f : 0.3f);
    return model;
}

/* Chooses at most `batch` sequences of at most `longest` rows. */
static inline void take_source(struct feed *in, struct source *s, const rapt_config *c, int batch,
                               int longest)
{
    uint64_t seed = take_byte(in);
    *s = (struct source){.batch = 1 + take_below(in, batch)};
    if (!take_flag(in)) s->batch = batch;
    s->shift = (size_t)take_below(in, 16);
    for (int b = 0; b < s->batch; b++)
        s->starts[b + 1] = s->starts[b] + take_below(in, longest + 1);
    size_t rows = (size_t)s->starts[s->batch];
    s->width = (size_t)c->source_width, s->size = rows * s->width;
    if (s->width) {
        s->x = array_uniform(s->size, s->shift, seed);
        s->tokens = (rapt_tokens){.batch = s->batch, .vectors = s->x, .starts = s->starts};
        return;
    }
    s->ids = malloc(rows * sizeof *s->ids + 1);
    require(s->ids != NULL, "memory for the test itself");
    for (size_t i = 0; i < rows; i++)
        s->ids[i] = (int32_t)(input_random(&seed) % (uint64_t)c->source_vocab);
    s->tokens = (rapt_tokens){.batch = s->batch, .ids = s->ids, .starts = s->starts};
}

static inline void drop_source(struct source *s)
{
    array_free_shifted(s->x, s->size, s->shift);
    free(s->ids);
}

/* Returns sequence b as a batch of its own. */
static inline rapt_tokens source_one(const struct source *s, int b, int starts[2])
{
    starts[0] = 0, starts[1] = s->starts[b + 1] - s->starts[b];
    if (s->width)
        return (rapt_tokens){
            .batch = 1, .vectors = s->x + (size_t)s->starts[b] * s->width, .starts = starts};
    return (rapt_tokens){.batch = 1, .ids = s->ids + s->starts[b], .starts = starts};
}

/* Returns sequence b in the form that the definition takes. */
static inline struct oracle_sentence source_sentence(const struct source *s, int b)
{
    int first = s->starts[b];
    return (struct oracle_sentence){.number = b,
                                    .first = first,
                                    .count = s->starts[b + 1] - first,
                                    .ids = s->width ? NULL : s->ids + first,
                                    .vectors = s->tokens.vectors};
}

/* Tells whether the outputs are smooth. With only two columns, a norm keeps hardly more than their
   order. */
static inline bool smooth_config(const rapt_config *c)
{
    return c->width > 3 && !hard_or_drawn(c->self_normalizer) &&
           !hard_or_drawn(c->cross_normalizer) && c->self_locality != RAPT_LOCALITY_LOCAL_P &&
           c->cross_locality != RAPT_LOCALITY_LOCAL_P;
}

#endif
