/* gru.c - the gated recurrent unit of the program bottleneck against difference quotients. */
#include "bottleneck/gru.c"
#include "quotient.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

const char program_name[] = "gru";

enum { ROWS = 2, HIDDEN = 5, WIDE = 3 * HIDDEN, PARAMS = HIDDEN * WIDE + WIDE + WIDE };

/* The inputs of a step, and what it saves for the backward pass. */
struct step {
    struct gru gru;
    float x[ROWS * WIDE], h[ROWS * HIDDEN], dnext[ROWS * HIDDEN];
    float gates[ROWS * WIDE], inner[ROWS * WIDE];
};

static double dot(void *argument, double *magnitude)
{
    struct step *s = argument;
    float next[ROWS * HIDDEN];
    double sum = 0;
    gru_forward(&s->gru, ROWS, s->x, s->h, next, (struct gru_tape){s->gates, s->inner});
    *magnitude = 0;
    for (int i = 0; i < ROWS * HIDDEN; i++) {
        double term = (double)next[i] * (double)s->dnext[i];
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

static void compare(struct step *s, float *number, float gradient)
{
    double quotient;
    if (!is_slope(dot, s, number, 0x1p-6F, (double)gradient, &quotient))
        fail_msg("gradient %g, quotient %g", (double)gradient, quotient);
}

static void test_gradients(void **state)
{
    struct random random = random_from(1, 1);
    struct params params;
    struct step s;
    float dx[ROWS * WIDE] = {0}, dh[ROWS * HIDDEN] = {0};
    (void)state;
    params_create(&params, PARAMS);
    gru_create(&s.gru, &params, &random, 1, HIDDEN);
    for (int i = 0; i < ROWS * WIDE; i++) s.x[i] = random_normal(&random);
    for (int i = 0; i < ROWS * HIDDEN; i++) s.h[i] = random_normal(&random);
    for (int i = 0; i < ROWS * HIDDEN; i++) s.dnext[i] = random_normal(&random);
    double magnitude;
    dot(&s, &magnitude);
    gru_backward(&s.gru, ROWS, s.h, s.dnext, dx, dh, (struct gru_tape){s.gates, s.inner});
    for (int i = 0; i < ROWS * WIDE; i++) compare(&s, s.x + i, dx[i]);
    for (int i = 0; i < ROWS * HIDDEN; i++) compare(&s, s.h + i, dh[i]);
    for (int i = 0; i < HIDDEN * WIDE; i++)
        compare(&s, s.gru.state.weight + i, s.gru.state.dweight[i]);
    params_free(&params);
}

/* An update gate of 1 keeps the state, whatever the input; of 0 discards it. */
static void test_gates(void **state)
{
    struct random random = random_from(2, 1);
    struct params params;
    struct step s;
    float next[ROWS * HIDDEN];
    (void)state;
    params_create(&params, PARAMS);
    gru_create(&s.gru, &params, &random, 1, HIDDEN);
    for (int i = 0; i < ROWS * HIDDEN; i++) s.h[i] = 0.1F * (float)i;
    for (int i = 0; i < ROWS * WIDE; i++) s.x[i] = i % WIDE / HIDDEN == 1 ? 40 : 1;
    gru_forward(&s.gru, ROWS, s.x, s.h, next, (struct gru_tape){s.gates, s.inner});
    for (int i = 0; i < ROWS * HIDDEN; i++)
        assert_true(fabs((double)(next[i] - s.h[i])) <= ROUNDING);
    for (int i = 0; i < ROWS * WIDE; i++) s.x[i] = i % WIDE / HIDDEN == 0 ? -40 : -60;
    gru_forward(&s.gru, ROWS, s.x, s.h, next, (struct gru_tape){s.gates, s.inner});
    for (int i = 0; i < ROWS * HIDDEN; i++) assert_true(fabs((double)next[i] + 1) <= ROUNDING);
    params_free(&params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_gates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
