/* calls_monotonic.h - one call of each public function of monotonic_attention.h, for calls.c. */
#ifndef RAPT_TESTS_API_CALLS_MONOTONIC_H
#define RAPT_TESTS_API_CALLS_MONOTONIC_H

#include "api/small_world.h"

enum { MONOTONIC_FLOATS = 2 * 3 * 4, MONOTONIC_BYTES = 1 << 20 };

static struct monotonic_world { /* 2 heads, 3 queries and keys, vectors of 4 floats */
    rapt_monotonic_attention a;
    rapt_monotonic_attention_outputs outputs;
    rapt_monotonic_attention_gradients d;
    float x[MONOTONIC_FLOATS], to[MONOTONIC_FLOATS], alpha[2 * 3 * 3];
    int positions[2];
    _Alignas(64) char workspace[MONOTONIC_BYTES];
} monotonic_world;

static struct monotonic_world *monotonic(void)
{
    struct monotonic_world *m = &monotonic_world;
    rapt_monotonic_attention_init(&m->a, sizeof m->a, 1, 2, 3, 3, 4);
    m->a.threads = 1, m->a.mode = RAPT_MONOTONIC_LOOKBACK;
    m->outputs = (rapt_monotonic_attention_outputs){.size = sizeof m->outputs, .alpha = m->alpha};
    m->d = (rapt_monotonic_attention_gradients){.size = sizeof m->d, .q = m->to};
    memset(m->positions, 0, sizeof m->positions);
    return m;
}

static rapt_status monotonic_attention_init(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_monotonic_attention a;
    return rapt_monotonic_attention_init(arg(null, 0, &a), sizeof a, 1, 2, 3, 4, 5);
}

static rapt_status monotonic_attention_check(struct world *w, int null, rapt_message *why)
{
    (void)w;
    return rapt_monotonic_attention_check(arg(null, 0, &monotonic()->a), why);
}

static rapt_status monotonic_attention_workspace(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    size_t bytes = rapt_monotonic_attention_workspace(arg(null, 0, &monotonic()->a), 1);
    return found(bytes > 0 && bytes <= MONOTONIC_BYTES);
}

static rapt_status monotonic_attention_forward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct monotonic_world *m = monotonic();
    return rapt_monotonic_attention_forward(
        arg(null, 0, &m->a), arg(null, 1, m->x), arg(null, 2, m->x), arg(null, 3, m->x),
        arg(null, 4, m->x), arg(null, 5, m->x), arg(null, 6, m->to), arg(null, 7, &m->outputs),
        arg(null, 8, m->workspace), why);
}

static rapt_status monotonic_attention_backward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct monotonic_world *m = monotonic();
    return rapt_monotonic_attention_backward(
        arg(null, 0, &m->a), arg(null, 1, m->x), arg(null, 2, m->x), arg(null, 3, m->x),
        arg(null, 4, m->x), arg(null, 5, m->x), arg(null, 6, m->x), arg(null, 7, m->alpha),
        arg(null, 8, m->x), arg(null, 9, &m->d), arg(null, 10, m->workspace), why);
}

static rapt_status monotonic_attention_step(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct monotonic_world *m = monotonic();
    return rapt_monotonic_attention_step(arg(null, 0, &m->a), arg(null, 1, m->x),
                                         arg(null, 2, m->x), arg(null, 3, m->x), arg(null, 4, m->x),
                                         arg(null, 5, m->x), arg(null, 6, m->positions),
                                         arg(null, 7, m->to), arg(null, 8, m->workspace), why);
}

#endif
