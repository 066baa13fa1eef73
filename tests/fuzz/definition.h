/* definition.h - compares a model's outputs and gradients with the definition
   (oracle/transformer.h). The tolerance is 1e-4 of the largest output, or 1e-3 of a slope, or 16
   times as much as rounding the parameters to float changes the definition, if that is more: layer
   norm multiplies the error of a row by up to epsilon^-1/2, steep scores by more. */
#ifndef RAPT_TESTS_FUZZ_DEFINITION_H
#define RAPT_TESTS_FUZZ_DEFINITION_H

#include <math.h>

#include "models.h"

#include "oracle/transformer.h"

/* Capacity for the states or logits of a sentence, in floats; the number of roundings that are
   tried. */
enum { DEFINITION_SIZE = 40 * 32, DEFINITION_ROUNDINGS = 8 };

/* Reads the model's parameters. If `rounding` is not 0, it is the seed of random changes of each
   parameter by at most half a unit in the last place of a float. The caller frees the result. */
static inline struct oracle_model *definition_read(const rapt_model *model, uint64_t rounding)
{
    struct oracle_model *oracle = oracle_model_read(model);
    for (int i = 0; rounding && i < oracle->count; i++)
        for (size_t j = 0; j < small_size(model, i); j++)
            oracle->tensors[i].data[j] *=
                1 + 0x1p-24 * (double)small_uniform(rounding * 1000 + (uint64_t)i, j);
    return oracle;
}

/* ---- outputs of a sentence ---- */

/* The outputs of a model for a sentence and their sizes. NULL: not checked. */
struct definition_outputs {
    const float *states, *logits;
    size_t states_n, logits_n;
};

/* Computes the outputs that the definition gives. source is NULL if the model has no encoder.
   target is NULL if the logits are those of classes. */
static inline void
definition_outputs(const rapt_model *model, uint64_t rounding, const struct oracle_sentence *source,
                   const struct oracle_sentence *target, const struct definition_outputs *got,
                   double states[DEFINITION_SIZE], double logits[DEFINITION_SIZE])
{
    struct oracle_model *oracle = definition_read(model, rounding);
    if (source) oracle_encode(oracle, NULL, source, states);
    if (got->logits && target)
        oracle_decode(oracle, NULL, source, states, target, logits, NULL);
    else if (got->logits)
        oracle_classify(oracle, NULL, source, logits);
    oracle_model_free(oracle);
}

static inline bool definition_near(const float *got, const double *wanted, size_t n, double error)
{
    double max = 0;
    for (size_t i = 0; i < n; i++) max = fmax(max, fabs(wanted[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 1e-4 * (1 + max) + error)) return false;
    return true;
}

/* Returns the largest difference. */
static inline double definition_moved(const double *a, const double *b, size_t n)
{
    double max = 0;
    for (size_t i = 0; i < n; i++) max = fmax(max, fabs(a[i] - b[i]));
    return max;
}

static inline void definition_check(const rapt_model *model, const struct oracle_sentence *source,
                                    const struct oracle_sentence *target,
                                    const struct definition_outputs *got)
{
    double states[DEFINITION_SIZE], moved_states[DEFINITION_SIZE], states_error = 0;
    double logits[DEFINITION_SIZE], moved_logits[DEFINITION_SIZE], logits_error = 0;
    const size_t states_n = got->states ? got->states_n : 0;
    const size_t logits_n = got->logits ? got->logits_n : 0;
    definition_outputs(model, 0, source, target, got, states, logits);
    if (definition_near(got->states, states, states_n, 0) &&
        definition_near(got->logits, logits, logits_n, 0))
        return;
    for (uint64_t rounding = 1; rounding <= DEFINITION_ROUNDINGS; rounding++) {
        definition_outputs(model, rounding, source, target, got, moved_states, moved_logits);
        states_error = fmax(states_error, definition_moved(moved_states, states, states_n));
        logits_error = fmax(logits_error, definition_moved(moved_logits, logits, logits_n));
    }
    require(definition_near(got->states, states, states_n, 16 * states_error),
            "the encoder's definition");
    require(definition_near(got->logits, logits, logits_n, 16 * logits_error),
            "the definition of logits");
}

/* ---- the gradient of a batch ---- */

/* A batch, and a seed for the signs of a direction in the space of all parameters. */
struct definition_batch {
    const rapt_tokens *source, *target;
    double smoothing; /* label smoothing */
    uint64_t signs;
};

/* Moves the parameters by h along the direction of the signs. Returns the derivative along it, or 0
   without a gradient. */
static inline double definition_along(struct oracle_model *oracle, uint64_t signs,
                                      const float *gradient, double h)
{
    double sum = 0;
    for (int i = 0; i < oracle->count; i++) {
        size_t n = (size_t)oracle->tensors[i].rows * (size_t)oracle->tensors[i].columns;
        for (size_t j = 0; j < n; j++) {
            double sign = input_random(&signs) % 2 ? 1 : -1;
            oracle->tensors[i].data[j] += sign * h;
            if (gradient) sum += sign * (double)*gradient++;
        }
    }
    return sum;
}

/* Returns the difference quotient of the definition's loss along the direction. */
static inline double definition_slope(const rapt_model *model, const struct definition_batch *b,
                                      uint64_t rounding, double h)
{
    struct oracle_model *oracle = definition_read(model, rounding);
    double side[2];
    oracle_model_hold(oracle);
    oracle_batch_loss(oracle, NULL, b->source, b->target, b->smoothing, NULL);
    for (int k = 0; k < 2; k++) {
        definition_along(oracle, b->signs, NULL, k ? -2 * h : h);
        side[k] = oracle_batch_loss(oracle, NULL, b->source, b->target, b->smoothing, NULL);
    }
    oracle_model_free(oracle);
    return (side[0] - side[1]) / (2 * h);
}

/* Compares `gradient`, of all parameters in the model's order, with the slope of the definition. If
   the slope depends on h, the loss has a kink nearby, and nothing is compared. */
static inline void definition_check_slope(const rapt_model *model, const struct definition_batch *b,
                                          const float *gradient)
{
    const double h = 1e-5, wanted = definition_slope(model, b, 0, h);
    struct oracle_model *oracle = definition_read(model, 0);
    const double error = fabs(definition_along(oracle, b->signs, gradient, 0) - wanted);
    oracle_model_free(oracle);
    double allowed = 1e-3 * (sqrt((double)rapt_model_parameters(model)) + fabs(wanted));
    if (error <= allowed) return;
    double moved = fabs(definition_slope(model, b, 0, h / 4) - wanted);
    for (uint64_t rounding = 1; rounding <= DEFINITION_ROUNDINGS; rounding++)
        moved = fmax(moved, fabs(definition_slope(model, b, rounding, h) - wanted));
    require(error <= allowed + 16 * moved, "the slope of the loss");
}

#endif
