/* gru - the recurrent unit of the program bottleneck, judged by difference quotients. */
#include "bottleneck/gru.c"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

const char program_name[] = "gru";

enum { ROWS = 2, HIDDEN = 5, WIDE = 3 * HIDDEN, PARAMS = HIDDEN * WIDE + WIDE + WIDE };

/* What a step works on: everything that has a gradient, in one array. */
struct step {
    struct gru gru;
    float x[ROWS * WIDE], h[ROWS * HIDDEN], dnext[ROWS * HIDDEN];
    float gates[ROWS * WIDE], inner[ROWS * WIDE];
};

static double along(struct step *s)
{
    float next[ROWS * HIDDEN];
    double sum = 0;
    gru_forward(&s->gru, ROWS, s->x, s->h, next, (struct gru_tape){s->gates, s->inner});
    for (int i = 0; i < ROWS * HIDDEN; i++) sum += (double)next[i] * (double)s->dnext[i];
    return sum;
}

static void compare(struct step *s, float *number, float gradient)
{
    const float kept = *number;
    *number = kept + 1e-2F;
    double above = along(s);
    *number = kept - 1e-2F;
    double below = along(s);
    *number = kept;
    double quotient = (above - below) / 2e-2;
    if (fabs(quotient - (double)gradient) > 2e-3 * (1 + fabs(quotient)))
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
    along(&s);
    gru_backward(&s.gru, ROWS, s.h, s.dnext, dx, dh, (struct gru_tape){s.gates, s.inner});
    for (int i = 0; i < ROWS * WIDE; i++) compare(&s, s.x + i, dx[i]);
    for (int i = 0; i < ROWS * HIDDEN; i++) compare(&s, s.h + i, dh[i]);
    for (int i = 0; i < HIDDEN * WIDE; i++)
        compare(&s, s.gru.state.weight + i, s.gru.state.dweight[i]);
    params_free(&params);
}

/* An update gate of 1 keeps the state, whatever comes in; of 0 it is forgotten. */
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
    for (int i = 0; i < ROWS * HIDDEN; i++) assert_float_equal(next[i], s.h[i], 1e-6);
    for (int i = 0; i < ROWS * WIDE; i++) s.x[i] = i % WIDE / HIDDEN == 0 ? -40 : -60;
    gru_forward(&s.gru, ROWS, s.x, s.h, next, (struct gru_tape){s.gates, s.inner});
    for (int i = 0; i < ROWS * HIDDEN; i++) assert_float_equal(next[i], -1, 1e-6);
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
