/* learner.h - a small model of the library with its trainer, a session and the batch that is being
   filled, for the lessons that train models of rapt. All calls use one thread. If the library
   refuses, the program ends. */
#ifndef LESSONS_LEARNER_H
#define LESSONS_LEARNER_H

#include "kit/program.h"
#include "kit/random.h"
#include "lesson.h"
#include <rapt/rapt.h>

struct learner_setup {
    rapt_config config;
    int steps, batch; /* training steps (0 means that the caller sets each rate), sequences per
                         step */
    int source_rows, target_ids; /* limits of one sequence; target_ids includes begin and end */
    float rate; /* peak; the rate grows from 0 over a tenth of the steps and then falls to 0, both
                   linearly */
    uint64_t seed;
};
struct learner {
    struct learner_setup setup;
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_session *session;
    int steps;                          /* of training so far */
    int sequences;                      /* in the batch so far */
    int32_t *ids, *targets;             /* of all sequences, one after another */
    float *vectors;                     /* replace ids if config.source_width is not 0 */
    int *source_starts, *target_starts; /* [batch + 1] */
};
/* Returns a pre-norm configuration with feed-forward layers of twice the width and `layers` layers
   in each half that the kind has. */
rapt_config learner_config(rapt_kind kind, int width, int heads, int layers, int positions);
void learner_create(struct learner *learner, const struct learner_setup *setup);
/* Creates the session; learner_create creates the model. */
void learner_session(struct learner *learner);
void learner_free(struct learner *learner);

/* A batch is filled by adding the source rows and target ids of a sequence and then ending it. */
void learner_clear(struct learner *learner);
void learner_id(struct learner *learner, int id);
float *learner_vector(struct learner *learner); /* returns the next one, filled with zeros */
void learner_target(struct learner *learner, int id);
void learner_end(struct learner *learner);
rapt_tokens learner_sources(const struct learner *learner);
rapt_tokens learner_targets(const struct learner *learner);

/* Makes one training step with the batch and clears it; returns nats per target. */
double learner_step(struct learner *learner);
/* Computes the loss; the batch stays. */
rapt_report learner_evaluate(struct learner *learner);
const float *learner_classify(struct learner *learner); /* returns the logits */
struct learner_search {
    int begin, end;
    const rapt_tokens *prefix; /* or NULL */
    float temperature;         /* 0 means greedy */
    uint64_t seed;             /* of draws */
};
/* out [sequences][target_ids], counts [sequences]. alignments may be NULL; otherwise the batch has
   one sequence and they are [counts + 1][source rows]. */
void learner_search(struct learner *learner, const struct learner_search *how, int32_t *out,
                    int *counts, float *alignments);
/* Does the same greedily. */
void learner_generate(struct learner *learner, int begin, int end, const rapt_tokens *prefix,
                      int32_t *out, int *counts, float *alignments);
/* Returns the logits after each id of the batch's targets, including the last one. */
const float *learner_decode(struct learner *learner);
/* Reads weights after learner_decode or learner_classify. layer or head -1 means the mean. */
void learner_weights(struct learner *learner, rapt_weights which, int layer, int head,
                     float *weights);
/* Appends a claim about what the model learned. The same measure of a model with the same initial
   parameters that was not trained is its control. */
typedef double learner_measure_fn(struct learner *learner, const void *user);
bool learner_claim(struct learner *learner, struct page *page, const char *statement,
                   learner_measure_fn *measure, const void *user, enum page_relation relation,
                   double bound);
/* Ends the program with the library's message if status is not RAPT_OK. */
void learner_check(rapt_status status, const rapt_message *why);

#endif
