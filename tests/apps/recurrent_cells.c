/* recurrent_cells.c - tests one step of each recurrent cell against difference quotients, and with
   gates that are open or closed. */
#include "quotient.h"
#include "recurrent/recurrent.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

const char program_name[] = "recurrent_cells";

enum { ROWS = 2, HIDDEN = 5, STATE = ROWS * HIDDEN, WIDE = 4 * STATE, PARAMS = 1000 };

/* The inputs of a step, and what it saves for the backward pass. */
struct step {
    struct cell cell;
    float x[WIDE], h[STATE], c[STATE], next_h[STATE], next_c[STATE], dnext_h[STATE], dnext_c[STATE];
    float gates[WIDE], inner[WIDE];
};

static void forward(struct step *s)
{
    cell_forward(&s->cell, ROWS, s->x, (struct cell_state){s->h, s->c},
                 (struct cell_state){s->next_h, s->next_c}, (struct cell_tape){s->gates, s->inner});
}

static double dot(void *argument, double *magnitude)
{
    struct step *s = argument;
    double sum = 0;
    forward(s);
    *magnitude = 0;
    for (int i = 0; i < STATE; i++) {
        double h = (double)s->next_h[i] * (double)s->dnext_h[i];
        double c = (double)s->next_c[i] * (double)s->dnext_c[i];
        sum += h + c;
        *magnitude += fabs(h) + fabs(c);
    }
    return sum;
}

static void compare(struct step *s, float *number, float gradient)
{
    double quotient;
    if (!is_slope(dot, s, number, 0x1p-6F, (double)gradient, &quotient))
        fail_msg("%s: gradient %g, quotient %g", cell_names[s->cell.kind], (double)gradient,
                 quotient);
}

static void create(struct step *s, enum cell_kind kind, struct params *params)
{
    struct random random = random_from(1, 1);
    *s = (struct step){0};
    params_create(params, PARAMS);
    cell_create(&s->cell, kind, params, &random, 1, HIDDEN);
    float *all[] = {s->h, s->dnext_h, s->c, s->dnext_c};
    for (int i = 0; i < s->cell.gates * STATE; i++) s->x[i] = random_normal(&random);
    for (int k = 0; k < (kind == CELL_LSTM ? 4 : 2); k++)
        for (int i = 0; i < STATE; i++) all[k][i] = random_normal(&random);
}

static void test_gradients(void **state)
{
    (void)state;
    for (int kind = 0; kind < CELLS; kind++) {
        struct params params;
        struct step s;
        float dx[WIDE] = {0}, dh[STATE] = {0}, dc[STATE] = {0};
        create(&s, (enum cell_kind)kind, &params);
        forward(&s);
        cell_backward(&s.cell, ROWS, (struct cell_state){s.h, s.c},
                      (struct cell_state){s.next_h, s.next_c},
                      (struct cell_state){s.dnext_h, s.dnext_c}, dx, (struct cell_state){dh, dc},
                      (struct cell_tape){s.gates, s.inner});
        for (int i = 0; i < s.cell.gates * STATE; i++) compare(&s, s.x + i, dx[i]);
        for (int i = 0; i < STATE; i++) compare(&s, s.h + i, dh[i]);
        for (int i = 0; kind == CELL_LSTM && i < STATE; i++) compare(&s, s.c + i, dc[i]);
        for (int i = 0; i < s.cell.gates * HIDDEN * HIDDEN; i++)
            compare(&s, s.cell.state.weight + i, s.cell.state.dweight[i]);
        params_free(&params);
    }
}

/* Sets the input of one gate in all rows. */
static void drive(struct step *s, int gate, float x)
{
    for (int i = 0; i < s->cell.gates * STATE; i++)
        if (i / HIDDEN % s->cell.gates == gate) s->x[i] = x;
}

/* An update gate of 1 keeps the state, whatever the input; a gate of 0 discards it. */
static void test_update_gate(void **state)
{
    struct params params;
    struct step s;
    (void)state;
    create(&s, CELL_GRU, &params);
    drive(&s, 1, 60);
    forward(&s);
    for (int i = 0; i < STATE; i++)
        assert_true(fabs((double)(s.next_h[i] - s.h[i])) <= 2 * ROUNDING);
    drive(&s, 0, -60);
    drive(&s, 1, -60);
    drive(&s, 2, -60);
    forward(&s);
    for (int i = 0; i < STATE; i++) assert_true(fabs((double)s.next_h[i] + 1) <= ROUNDING);
    params_free(&params);
}

/* The memory stays as long as it is neither forgotten nor written. The output is its tanh while the
   output gate is open, else 0. */
static void test_memory(void **state)
{
    struct params params;
    struct step s;
    float memory[STATE];
    (void)state;
    create(&s, CELL_LSTM, &params);
    for (int i = 0; i < STATE; i++) memory[i] = s.c[i];
    for (int step = 0; step < 1000; step++) {
        drive(&s, 0, -60);
        drive(&s, 1, 60);
        drive(&s, 2, step == 999 ? 60 : -60);
        forward(&s);
        for (int i = 0; i < STATE; i++) {
            s.c[i] = s.next_c[i];
            s.h[i] = s.next_h[i];
        }
        if (step == 998) assert_true(fabs((double)s.h[0]) <= ROUNDING);
    }
    for (int i = 0; i < STATE; i++) {
        assert_true(fabs((double)(s.c[i] - memory[i])) <= ROUNDING);
        assert_true(fabs((double)s.h[i] - tanh((double)memory[i])) <= 4 * ROUNDING);
    }
    params_free(&params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_update_gate),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
