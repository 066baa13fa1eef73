/* learner.h - a small model of the library, its trainer and a session, and the batch that is
   being filled: what the lessons about models of rapt share. One thread each; a refusal of the
   library ends the program. */
#ifndef LESSONS_LEARNER_H
#define LESSONS_LEARNER_H

#include "kit/program.h"
#include "kit/random.h"
#include <rapt/rapt.h>

struct learner_setup {
    rapt_config config;
    int steps, batch; /* training steps (0: the caller sets each rate), sequences of a step */
    int source_rows, target_ids; /* of one sequence at most; target_ids: begin and end among them */
    float rate;                  /* peak: linear from 0 over a tenth of the steps, then to 0 */
    uint64_t seed;
};
struct learner {
    struct learner_setup setup;
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_session *session;
    int sequences;                      /* in the batch */
    int32_t *ids, *targets;             /* back to back */
    float *vectors;                     /* instead of ids where config.source_width is not 0 */
    int *source_starts, *target_starts; /* [batch + 1] */
};
/* Pre-norm, feed-forward layers of twice the width; `layers` in each half that the kind has. */
rapt_config learner_config(rapt_kind kind, int width, int heads, int layers, int positions);
void learner_create(struct learner *learner, const struct learner_setup *setup);
/* The session of the model, which learner_create makes. */
void learner_session(struct learner *learner);
void learner_free(struct learner *learner);

/* The batch: add source rows and target ids of a sequence, then end it. */
void learner_clear(struct learner *learner);
void learner_id(struct learner *learner, int id);
float *learner_vector(struct learner *learner); /* the next one, zeros, to be filled */
void learner_target(struct learner *learner, int id);
void learner_end(struct learner *learner);
rapt_tokens learner_sources(const struct learner *learner);
rapt_tokens learner_targets(const struct learner *learner);

/* One training step over the batch, which is empty afterwards; nats per target. */
double learner_step(struct learner *learner);
/* The batch stays. */
rapt_report learner_evaluate(struct learner *learner);
const float *learner_classify(struct learner *learner); /* logits */
/* Greedy targets of the batch, out [sequences][target_ids], counts [sequences]. prefix NULL: none.
   alignments NULL: not wanted; else those of a batch of one, [counts + 1][source rows]. */
void learner_generate(struct learner *learner, int begin, int end, const rapt_tokens *prefix,
                      int32_t *out, int *counts, float *alignments);
/* Logits after each id of the batch's targets, the last one included. */
const float *learner_decode(struct learner *learner);
/* Weights after learner_decode or learner_classify; layer, head: -1: the mean. */
void learner_weights(struct learner *learner, rapt_weights which, int layer, int head,
                     float *weights);
/* Ends the program with the library's message if status is not RAPT_OK. */
void learner_check(rapt_status status, const rapt_message *why);

#endif
