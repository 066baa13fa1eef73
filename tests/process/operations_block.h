/* operations_block.h - the operations of operations.h on layers and plain arrays. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_BLOCK_H
#define RAPT_TESTS_PROCESS_OPERATIONS_BLOCK_H

#include "process/operations_train.h"

enum { BLOCK_ROWS = 6, BLOCK_WIDTH_MAX = 64 };

/* Fills x with values in 0 .. 1 that are the same in every call. */
static inline void block_fill(float *x, int count)
{
    for (int i = 0; i < count; i++) x[i] = small_uniform(21, (uint64_t)i);
}

/* Runs a layer of the scene's configuration forward and backward, and reads and writes a
   parameter. */
static rapt_status block_step(struct scene *s, rapt_block *block, uint64_t *h, rapt_message *why)
{
    const int width = s->config.width;
    float *parameters = s->layer[0], *gradients = s->layer[1];
    static const int starts[] = {0, 4, BLOCK_ROWS}, source_starts[] = {0, 1, 3};
    float x[BLOCK_ROWS * BLOCK_WIDTH_MAX], y[BLOCK_ROWS * BLOCK_WIDTH_MAX];
    float dx[BLOCK_ROWS * BLOCK_WIDTH_MAX] = {0};
    block_fill(x, BLOCK_ROWS * width);
    const rapt_block_rows rows = {.size = sizeof rows,
                                  .starts = starts,
                                  .source_starts = source_starts,
                                  .source = x,
                                  .batch = 2,
                                  .learning = 1,
                                  .dropout = 0.25f};
    rapt_status status = rapt_block_init(block, 5, parameters, why);
    int index = rapt_block_find(block, "self_attn.out.weight");
    index = index < 0 ? rapt_block_tensors(block) - 1 : index;
    rapt_tensor tensor = rapt_block_tensor(block, index);
    s->changed |= (size_t)tensor.rows * (size_t)tensor.columns > SCENE_FLOATS;
    if (!status) status = rapt_block_read(block, parameters, index, s->floats, why);
    if (!status) status = rapt_block_write(block, parameters, index, s->floats, why);
    if (!status) status = rapt_block_forward(block, parameters, &rows, x, y, why);
    if (!status)
        status = rapt_block_backward(block, parameters, &rows, y, dx, NULL, gradients, why);
    add(h, y, (size_t)(BLOCK_ROWS * width) * sizeof *y);
    add(h, dx, (size_t)(BLOCK_ROWS * width) * sizeof *dx);
    add(h, gradients, rapt_block_floats(block) * sizeof *gradients);
    return status;
}

static rapt_status do_block(struct scene *s, uint64_t *h, rapt_message *why)
{
    const rapt_block_limits limits = {.size = sizeof limits,
                                      .batch = 2,
                                      .rows = BLOCK_ROWS,
                                      .source_rows = 3,
                                      .threads = s->threads};
    rapt_block *block = scene_untouched;
    rapt_status status =
        rapt_block_create(&block, RAPT_BLOCK_KIND_DECODER, &s->config, &limits, s->allocator, why);
    if (status) {
        s->changed |= block != scene_untouched;
        return status;
    }
    const size_t floats = rapt_block_floats(block);
    if (floats > SCENE_FLOATS || s->config.width > BLOCK_WIDTH_MAX) {
        s->changed = true; /* the arrays of a scene are too small: the test is wrong */
    } else {
        memset(s->layer[1], 0, floats * sizeof(float));
        status = block_step(s, block, h, why);
    }
    rapt_block_free(block);
    return status;
}

#endif
