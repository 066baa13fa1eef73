/* train.h - learning. While a trainer lives, the model is its to change. */
#ifndef RAPT_TRAIN_H
#define RAPT_TRAIN_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rapt_schedule {
    RAPT_SCHEDULE_INVERSE_SQRT, /* linear to rate over warmup steps, then rate * sqrt(warmup / step)
                                 */
    RAPT_SCHEDULE_LINEAR,       /* linear to rate over warmup steps, then linear to 0 at `steps` */
    RAPT_SCHEDULE_CONSTANT      /* linear to rate over warmup steps, then rate */
} rapt_schedule;

typedef enum rapt_products {
    RAPT_PRODUCTS_BUILTIN, /* same bits for any number of threads and on any instruction set */
    RAPT_PRODUCTS_OPENBLAS /* same bits for any number of threads; RAPT_BAD_ARGUMENT if absent */
} rapt_products;

typedef struct rapt_train_options {
    float rate;        /* the highest learning rate */
    int warmup, steps; /* of the schedule */
    rapt_schedule schedule;
    float beta1, beta2, epsilon;          /* Adam: Kingma and Ba 2015, algorithm 1 */
    float weight_decay;                   /* decoupled; 0: none */
    float clip_norm;                      /* of the whole gradient; 0: none */
    float label_smoothing;                /* share spread evenly over the whole vocabulary */
    float dropout;                        /* of embeddings and of each sublayer's output */
    float attention_dropout, ffn_dropout; /* of attention weights; of the hidden layer */
    uint64_t seed;
    rapt_products products;
} rapt_train_options;
RAPT_API rapt_train_options rapt_train_options_default(void);

typedef struct rapt_report {
    double loss;                /* label-smoothed cross-entropy summed over tokens, in nats */
    double likelihood;          /* plain negative log-likelihood summed over tokens, in nats */
    long long tokens;           /* target tokens predicted */
    long long correct;          /* of them, where the likeliest token was the right one */
    double gradient_norm, rate; /* by rapt_train_step */
    long long step;             /* steps made so far */
} rapt_report;

typedef struct rapt_trainer rapt_trainer;

/* What one call of rapt_train_gradient may be given. */
typedef struct rapt_train_limits {
    int batch, source_tokens, target_tokens;
    int threads; /* see base.h */
} rapt_train_limits;

RAPT_API size_t rapt_trainer_bytes(const rapt_model *model, const rapt_train_limits *limits);
RAPT_API rapt_status rapt_trainer_create(rapt_trainer **trainer, rapt_model *model,
                                         const rapt_train_options *options,
                                         const rapt_train_limits *limits,
                                         const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_trainer_free(rapt_trainer *trainer); /* NULL is allowed */

/* Teacher forcing: target sequence b is begin, y1 .. yn, end; its first n+1 tokens are fed, its
   last n+1 are predicted. For an encoder-only model target holds one label per source token,
   negative: no label. Adds the gradient of the summed loss to the block and *report to the
   counts (set it to zero first). RAPT_NOT_FINITE: the loss was infinite or NaN; what had
   been added since the last step is dropped, the model is as it was. */
RAPT_API rapt_status rapt_train_gradient(rapt_trainer *trainer, const rapt_tokens *source,
                                         const rapt_tokens *target, rapt_report *report,
                                         rapt_message *why);

/* Divides what has been added by the tokens it was added over, clips, applies Adam and clears.
   RAPT_NOT_FINITE: the gradient was not finite; parameters and moments are as before and the
   gradient is cleared. */
RAPT_API rapt_status rapt_train_step(rapt_trainer *trainer, rapt_report *report);

/* The loss without dropout, without touching the gradient. */
RAPT_API rapt_status rapt_train_evaluate(rapt_trainer *trainer, const rapt_tokens *source,
                                         const rapt_tokens *target, rapt_report *report,
                                         rapt_message *why);

/* The gradients as one block of *count floats, in the order and layout of the parameters, and
   the tokens they were added over: so that a caller may sum them across machines. */
RAPT_API float *rapt_trainer_gradients(rapt_trainer *trainer, size_t *count, long long **tokens);
/* The gradient of one parameter, as rapt_model_read gives the parameter. */
RAPT_API rapt_status rapt_trainer_read_gradient(const rapt_trainer *trainer, int index,
                                                float *data);

RAPT_API void rapt_trainer_set_rate(rapt_trainer *trainer, float rate);

/* All that is needed to go on tomorrow, bit for bit, as if there had been no night: parameters,
   moments, counters. Notes as in rapt_model_save; rapt_model_load reads such a file too. */
RAPT_API rapt_status rapt_trainer_save(const rapt_trainer *trainer, const char *path,
                                       const rapt_metadata *metadata, int count, rapt_message *why);
/* The trainer's model must have the configuration of the file; it gets the file's parameters. */
RAPT_API rapt_status rapt_trainer_load(rapt_trainer *trainer, const char *path, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
