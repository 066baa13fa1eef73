/* calls_linear.h - one call of each public function of linear_attention.h, for calls.c. */
#ifndef RAPT_TESTS_API_CALLS_LINEAR_H
#define RAPT_TESTS_API_CALLS_LINEAR_H

#include "api/small_world.h"

enum { LINEAR_FLOATS = 2 * 3 * 4, LINEAR_BYTES = 1 << 20 };

static struct linear_world { /* 2 heads, 3 rows, vectors of 4 floats */
    rapt_linear_attention a;
    rapt_linear_attention_gradients d;
    float x[LINEAR_FLOATS], to[LINEAR_FLOATS], state[2 * 4 * 4];
    _Alignas(64) char workspace[LINEAR_BYTES];
} linear_world;

static struct linear_world *linear(void)
{
    struct linear_world *l = &linear_world;
    rapt_linear_attention_init(&l->a, sizeof l->a, 1, 2, 3, 4, 4);
    l->a.threads = 1;
    l->d = (rapt_linear_attention_gradients){.size = sizeof l->d, .q = l->to};
    return l;
}

static rapt_status linear_attention_init(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_linear_attention a;
    return rapt_linear_attention_init(arg(null, 0, &a), sizeof a, 1, 2, 3, 4, 5);
}

static rapt_status linear_attention_check(struct world *w, int null, rapt_message *why)
{
    (void)w;
    return rapt_linear_attention_check(arg(null, 0, &linear()->a), why);
}

static rapt_status linear_attention_workspace(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    size_t bytes = rapt_linear_attention_workspace(arg(null, 0, &linear()->a), 1);
    return found(bytes > 0 && bytes <= LINEAR_BYTES);
}

static rapt_status linear_attention_forward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct linear_world *l = linear();
    return rapt_linear_attention_forward(
        arg(null, 0, &l->a), arg(null, 1, l->x), arg(null, 2, l->x), arg(null, 3, l->x),
        arg(null, 4, l->to), arg(null, 5, l->state), arg(null, 6, l->workspace), why);
}

static rapt_status linear_attention_backward(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct linear_world *l = linear();
    return rapt_linear_attention_backward(arg(null, 0, &l->a), arg(null, 1, l->x),
                                          arg(null, 2, l->x), arg(null, 3, l->x),
                                          arg(null, 4, l->x), arg(null, 5, l->state),
                                          arg(null, 6, &l->d), arg(null, 7, l->workspace), why);
}

static rapt_status linear_attention_step(struct world *w, int null, rapt_message *why)
{
    (void)w;
    struct linear_world *l = linear();
    return rapt_linear_attention_step(arg(null, 0, &l->a), arg(null, 1, l->x), arg(null, 2, l->x),
                                      arg(null, 3, l->x), arg(null, 4, l->state),
                                      arg(null, 5, l->to), arg(null, 6, l->workspace), why);
}

#endif
