/* trainer.h - what trainer.c, trainer_memory.c and trainer_file.c share. */
#ifndef RAPT_LIB_TRAINER_H
#define RAPT_LIB_TRAINER_H

#include "run/run.h"

struct rapt_trainer {
    rapt_allocator allocator;
    rapt_model *model;
    rapt_train_options options;
    rapt_train_limits limits;
    struct arena arena;
    struct stack_memory encoder, decoder;
    float *gradients, *m, *v; /* [layout.floats]: sums; Adam's moments */
    float *partial, *loss_scratch, *pack;
    double *square_partial;
    void *attention_scratch;
    int32_t *inputs, *labels; /* [target rows] what the decoder is fed and should say */
    int *input_starts;        /* [batch + 1] */
    long long tokens;         /* whose gradients have been added since the last step */
    long long steps, calls;   /* steps made; batches seen, the counter of dropout */
    float rate;               /* the highest of the schedule */
};

/* Forgets the gradients added since the last step. */
void rapt__trainer_discard(rapt_trainer *t);

#endif
