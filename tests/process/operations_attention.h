/* operations_attention.h - operations of linear_attention.h and monotonic_attention.h, for
   operations.h. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_ATTENTION_H
#define RAPT_TESTS_PROCESS_OPERATIONS_ATTENTION_H

#include "process/scene.h"

/* ---- linear: operations of linear_attention.h, for operations.h. ---- */

static rapt_status do_linear_attention(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_linear_attention a;
    rapt_linear_attention_gradients d = {
        .size = sizeof d, .q = s->dx[0], .k = s->dx[1], .v = s->dx[2]};
    float state[ATTENTION_WIDTH * ATTENTION_WIDTH] = {0}, gates[ATTENTION_ROWS];
    rapt_status status = rapt_linear_attention_init(&a, sizeof a, 1, 1, ATTENTION_ROWS,
                                                    ATTENTION_WIDTH, ATTENTION_WIDTH);
    for (int i = 0; i < ATTENTION_ROWS; i++) gates[i] = 0.1f * small_uniform(8, (uint64_t)i);
    for (int i = 0; i < ATTENTION_FLOATS; i++) s->x[i] = small_uniform(7, (uint64_t)i);
    memset(s->dx, 0, sizeof s->dx);
    a.threads = s->threads, a.log_decay = gates;
    a.feature_map = s->variant % 2 ? RAPT_FEATURE_MAP_ELU : RAPT_FEATURE_MAP_NONE;
    if (s->variant % 4) a.beta = gates;
    add_text(h, rapt_feature_map_name(a.feature_map));
    if (!status) status = rapt_linear_attention_check(&a, why);
    if (!status && rapt_linear_attention_workspace(&a, 1) > sizeof s->workspace)
        status = RAPT_NO_MEMORY;
    if (!status)
        status =
            rapt_linear_attention_forward(&a, s->x, s->x, s->x, s->out, state, s->workspace, why);
    add(h, s->out, sizeof s->out);
    if (!status)
        status = rapt_linear_attention_backward(&a, s->x, s->x, s->x, s->x, state, &d, s->workspace,
                                                why);
    if (!status)
        status = rapt_linear_attention_step(&a, s->x, s->x, s->x, state, s->out, s->workspace, why);
    add(h, s->out, sizeof s->out);
    add(h, s->dx, sizeof s->dx);
    add(h, state, sizeof state);
    return status;
}

/* ---- monotonic: operations of monotonic_attention.h, for operations.h. ---- */

static rapt_status do_monotonic_attention(struct scene *s, uint64_t *h, rapt_message *why)
{
    enum { ROWS = ATTENTION_ROWS, WIDTH = ATTENTION_WIDTH };
    rapt_monotonic_attention a;
    const rapt_monotonic_attention_outputs outputs = {.size = sizeof outputs, .alpha = s->weights};
    const rapt_monotonic_attention_gradients d = {
        .size = sizeof d, .q = s->dx[0], .k = s->dx[1], .v = s->dx[2]};
    int position = 0;
    rapt_status status = rapt_monotonic_attention_init(&a, sizeof a, 1, 1, ROWS, ROWS, WIDTH);
    for (int i = 0; i < ATTENTION_FLOATS; i++) s->x[i] = small_uniform(7, (uint64_t)i);
    memset(s->dx, 0, sizeof s->dx);
    a.threads = s->threads, a.chunk = 4;
    a.mode = (rapt_monotonic)(s->variant % RAPT_MONOTONIC_COUNT);
    add_text(h, rapt_monotonic_name(a.mode));
    if (!status) status = rapt_monotonic_attention_check(&a, why);
    if (!status && rapt_monotonic_attention_workspace(&a, 1) > sizeof s->workspace)
        status = RAPT_NO_MEMORY;
    const float *x = s->x;
    if (!status)
        status = rapt_monotonic_attention_forward(&a, x, x, x, x, x, s->out, &outputs, s->workspace,
                                                  why);
    add(h, s->out, sizeof s->out);
    add(h, s->weights, sizeof s->weights);
    if (!status)
        status = rapt_monotonic_attention_backward(&a, x, x, x, x, x, x, s->weights, x, &d,
                                                   s->workspace, why);
    if (!status)
        status =
            rapt_monotonic_attention_step(&a, x, x, x, x, x, &position, s->out, s->workspace, why);
    add(h, s->out, sizeof s->out);
    add(h, s->dx, sizeof s->dx);
    add(h, &position, sizeof position);
    return status;
}

#endif
