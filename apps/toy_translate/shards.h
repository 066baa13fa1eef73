/* shards.h - the gradient of one step in shards, of which other ranks compute some. */
#ifndef TOY_TRANSLATE_SHARDS_H
#define TOY_TRANSLATE_SHARDS_H

#include "exchange.h"

/* The batch of one shard; batch 0: it is empty. EXIT_OK, or another code after a message. */
typedef int shards_batch_fn(void *user, int shard, rapt_tokens *source, rapt_tokens *target);

/* records [shards]: those of all ranks, and the trainer holds the sum of all gradients, unless a
   loss is not finite. EXIT_OK, and *status with *why if it is not RAPT_OK; EXIT_INTERRUPTED: asked
   to end within a step, or a rank is lost; another code of a batch. */
int shards_gradient(struct exchange *x, rapt_trainer *trainer, shards_batch_fn *batch, void *user,
                    rapt_shard *records, rapt_status *status, rapt_message *why);

#endif
