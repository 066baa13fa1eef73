/* training.h - models and batches for measuring training. */
#ifndef RAPT_PERF_TRAINING_H
#define RAPT_PERF_TRAINING_H

#include "bench.h"

#include <rapt/train.h>

struct training {
    const char *label;
    int encoder_layers, decoder_layers, width, heads, hidden, vocab;
    int pairs, length; /* sentence pairs of a batch; tokens of each side */
};
/* Tiny and base; then one for --check. */
enum { TRAININGS = 2 };
extern const struct training trainings[TRAININGS + 1];

rapt_config training_config(const struct training *t);
json_t *training_shape(const struct training *t);
/* Returns the operations of a step: each weight of a product costs 2 forward and 4 backward per
   row; attention costs 4 and 10 per query, key and column, half of that if causal. */
double training_operations(const struct training *t);
/* Returns sequences of random tokens, all of one length. Free them with training_tokens_free. */
rapt_tokens training_tokens(int pairs, int length, int vocab, uint64_t key);
void training_tokens_free(const rapt_tokens *tokens);
/* Runs `count` steps on one batch. */
void training_steps(rapt_trainer *trainer, const rapt_tokens *source, const rapt_tokens *target,
                    int count);
/* Ends the program if the status is not RAPT_OK. */
void training_check(rapt_status status, const rapt_message *why);

#endif
