/* linear.c - linear attention and the delta rule: chunks against the definition, gradients against
   difference quotients, steps, decays that forget everything, and equality of bits. */
#include "attention/linear.h"
#include "skips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct linear_choice choices[] = {
    {.batch = 2, .heads = 2, .rows = 150, .key_width = 16, .value_width = 16},
    {.batch = 1, .heads = 3, .rows = 64, .key_width = 5, .value_width = 7, .decay = true},
    {.batch = 1, .heads = 2, .rows = 65, .key_width = 33, .value_width = 20, .delta = true},
    {.batch = 2,
     .heads = 2,
     .rows = 200,
     .key_width = 24,
     .value_width = 40,
     .decay = true,
     .delta = true,
     .state = true,
     .scale = -0.7f},
    {.batch = 3,
     .heads = 4,
     .key_heads = 2,
     .rows = 130,
     .key_width = 12,
     .value_width = 9,
     .by_rows = true,
     .ragged = true,
     .decay = true,
     .delta = true,
     .state = true},
    {.batch = 2,
     .heads = 2,
     .rows = 100,
     .key_width = 8,
     .value_width = 16,
     .features = true,
     .normalized = true},
    {.batch = 2,
     .heads = 6,
     .key_heads = 2,
     .rows = 70,
     .key_width = 10,
     .value_width = 15,
     .ragged = true,
     .decay = true,
     .state = true,
     .features = true,
     .normalized = true},
    {.batch = 1,
     .heads = 1,
     .rows = 90,
     .key_width = 20,
     .value_width = 6,
     .by_rows = true,
     .decay = true,
     .delta = true,
     .features = true},
    {.batch = 1,
     .heads = 2,
     .rows = 140,
     .key_width = 17,
     .value_width = 18,
     .decay = true,
     .delta = true,
     .state = true,
     .strength = 60},
    {.batch = 2, .heads = 1, .rows = 1, .key_width = 1, .value_width = 1, .state = true},
    {.batch = 2, .heads = 1, .rows = 0, .key_width = 3, .value_width = 2, .state = true},
    {.batch = 0, .heads = 1, .rows = 9, .key_width = 3, .value_width = 2},
};
enum { CHOICES = sizeof choices / sizeof *choices };

static rapt_message why;

static void run(struct linear_trial *t, bool backward)
{
    if (linear_forward(t, &why) || (backward && linear_backward(t, &why))) fail_msg("%s", why.text);
}

/* ---- the definition ---- */

/* Checks out and the state of one head. A sum of n terms in float may be wrong by some roundings of
   the sum of their magnitudes; with the delta rule, errors pass from row to row. */
static void check_head(const struct linear_trial *t, const struct linear_doubles *d, int b, int h,
                       double roundings, const char *what)
{
    const rapt_linear_attention *a = &t->a;
    int key_heads = a->key_heads ? a->key_heads : a->heads, g = h / (a->heads / key_heads);
    struct linear_head r = linear_head(a, d, b, h);
    double most = 1e-30;
    size_t values = (size_t)(a->value_width + (a->normalized ? 1 : 0));
    size_t n = (size_t)a->key_width * values, first = linear_state_of(a, b, g);
    for (int row = 0; row < oracle_linear_rows(a, b); row++)
        for (int j = 0; j < a->value_width; j++) {
            double wanted = r.out[row * a->value_width + j];
            double got = (double)t->out[oracle_linear_at(a, &a->out, b, h, row) + j];
            if (!within_roundings(got, wanted, roundings, r.size[row * a->value_width + j]))
                fail_msg("%s: out[%d][%d] of head %d is %.9g, wanted %.9g", what, row, j, h, got,
                         wanted);
        }
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(r.state[i]));
    for (size_t i = 0; i < n; i++)
        if (!within_roundings((double)t->final_state[first + i], r.state[i], 2 * roundings, most))
            fail_msg("%s: state[%zu] of head %d is %.9g, wanted %.9g", what, i, g,
                     (double)t->final_state[first + i], r.state[i]);
    linear_head_free(&r);
}

static void check_all(const struct linear_trial *t, double roundings, const char *what)
{
    struct linear_doubles d = linear_double(t);
    for (int b = 0; b < t->a.batch; b++)
        for (int h = 0; h < t->a.heads; h++) check_head(t, &d, b, h, roundings, what);
    linear_double_free(&d);
}

enum { ROUNDINGS = 16 };

static void forward(void **state)
{
    (void)state;
    rapt_isa used = rapt_isa_used();
    for (int i = 0; i < CHOICES; i++) {
        struct linear_trial t = linear_make(&choices[i], (uint64_t)i);
        char what[32];
        snprintf(what, sizeof what, "choice %d", i);
        run(&t, false), check_all(&t, ROUNDINGS, what);
        assert_int_equal(rapt_isa_use(RAPT_ISA_SCALAR), RAPT_OK);
        run(&t, false), check_all(&t, ROUNDINGS, what);
        assert_int_equal(rapt_isa_use(used), RAPT_OK);
        linear_free(&t);
    }
}

/* Steps of 1 to 7 rows. The problems of steps are the rows of a longer problem. */
static void step_rows(struct linear_trial *t, int rows_at_once)
{
    rapt_linear_attention part = t->a;
    for (int b = 0; b < t->a.batch; b++)
        for (int row = 0; row < oracle_linear_rows(&t->a, b); row += part.rows) {
            int left = oracle_linear_rows(&t->a, b) - row;
            part.rows = left < rows_at_once ? left : rows_at_once, part.batch = 1;
            part.starts = NULL, part.initial_state = NULL;
            void *workspace = linear_workspace(&part, 0);
            const rapt_linear_attention *a = &t->a;
            ptrdiff_t gate = oracle_linear_at(a, &a->gates, b, 0, row);
            if (a->log_decay) part.log_decay = a->log_decay + gate;
            if (a->beta) part.beta = a->beta + gate;
            assert_int_equal(rapt_linear_attention_step(
                                 &part, t->x[LINEAR_Q] + oracle_linear_at(a, &a->q, b, 0, row),
                                 t->x[LINEAR_K] + oracle_linear_at(a, &a->k, b, 0, row),
                                 t->x[LINEAR_V] + oracle_linear_at(a, &a->v, b, 0, row),
                                 t->final_state + linear_state_of(a, b, 0),
                                 t->out + oracle_linear_at(a, &a->out, b, 0, row), workspace, &why),
                             RAPT_OK);
            free(workspace);
        }
}

static void start_states(struct linear_trial *t)
{
    memset(t->final_state, 0, t->states * sizeof(float));
    if (t->count[LINEAR_STATE])
        memcpy(t->final_state, t->x[LINEAR_STATE], t->states * sizeof(float));
}

/* Steps satisfy the definition, too; one call or many give the same bits. */
static void steps(void **state)
{
    (void)state;
    for (int i = 0; i < CHOICES; i++) {
        struct linear_trial t = linear_make(&choices[i], (uint64_t)i);
        struct linear_trial u = linear_make(&choices[i], (uint64_t)i);
        start_states(&t), start_states(&u);
        step_rows(&t, 1), step_rows(&u, 7);
        check_all(&t, ROUNDINGS, "steps");
        assert_memory_equal(t.out, u.out, t.outs * sizeof(float));
        assert_memory_equal(t.final_state, u.final_state, t.states * sizeof(float));
        linear_free(&t), linear_free(&u);
    }
}

/* ---- gradients ---- */

/* Returns the key head of a sequence that reads element i of an input, or false if there is
   none. */
static bool reader_of(const struct linear_trial *t, int array, size_t i, int *b, int *g)
{
    const rapt_linear_attention *a = &t->a;
    const rapt_stride *const strides[] = {&a->q, &a->k, &a->v, &a->gates, &a->gates};
    const int widths[] = {a->key_width, a->key_width, a->value_width, 1, 1};
    int key_heads = a->key_heads ? a->key_heads : a->heads;
    for (*b = 0; *b < a->batch; ++*b)
        for (*g = 0; *g < key_heads; ++*g) {
            size_t first = linear_state_of(a, *b, *g);
            size_t n = linear_state_of(a, 1, 0) / (size_t)key_heads;
            if (array == LINEAR_STATE && i >= first && i < first + n) return true;
            int group = array == LINEAR_Q ? a->heads / key_heads : 1;
            for (int h = *g * group; h < (*g + 1) * group && array != LINEAR_STATE; h++)
                for (int row = 0; row < oracle_linear_rows(a, *b); row++) {
                    size_t at = (size_t)oracle_linear_at(a, strides[array], *b, h, row);
                    if (i >= at && i < at + (size_t)widths[array]) return true;
                }
        }
    return false;
}

/* Compares about `samples` elements of a gradient with central difference quotients. */
static void check_gradient(const struct linear_trial *t, int array, const float *before,
                           size_t samples, int choice)
{
    struct linear_doubles d = linear_double(t);
    size_t step = t->count[array] / samples + 1;
    double most = 0;
    for (size_t i = 0; i < t->count[array]; i++) most = fmax(most, fabs((double)t->d[array][i]));
    for (size_t i = (size_t)choice % step; i < t->count[array]; i += step) {
        int b = 0, g = 0;
        assert_true(reader_of(t, array, i, &b, &g));
        double x = d.x[array][i], h = 1e-5, up, down;
        d.x[array][i] = x + h, up = linear_objective(t, &d, b, g);
        d.x[array][i] = x - h, down = linear_objective(t, &d, b, g);
        d.x[array][i] = x;
        double wanted = (double)before[i] + (up - down) / (2 * h), got = (double)t->d[array][i];
        if (!(fabs(got - wanted) <= 1e-5 * fmax(1, most)))
            fail_msg("choice %d: gradient of %s[%zu] is %.9g, wanted %.9g", choice,
                     linear_names[array], i, got, wanted);
    }
    linear_double_free(&d);
}

static void gradients(void **state)
{
    (void)state;
    for (int i = 0; i < CHOICES; i++) {
        struct linear_trial t = linear_make(&choices[i], (uint64_t)i);
        struct linear_trial old = linear_make(&choices[i], (uint64_t)i);
        run(&t, true);
        for (int array = 0; array < LINEAR_INPUTS; array++)
            if (t.count[array]) check_gradient(&t, array, old.d[array], 80, i);
        linear_free(&t), linear_free(&old);
    }
}

/* ---- decays that forget everything ---- */

/* After a row of decay 0, everything is as if the sequence began there, in both directions. */
static void forgotten(void **state)
{
    (void)state;
    enum { ROWS = 100, FORGETS = 37, WIDTH = 8 };
    struct linear_choice c = {.batch = 1,
                              .heads = 1,
                              .rows = ROWS,
                              .key_width = WIDTH,
                              .value_width = WIDTH,
                              .decay = true,
                              .delta = true,
                              .state = true};
    const float logs[] = {-INFINITY, -1e30f, -1e7f, -200};
    for (int i = 0; i < 4; i++) {
        struct linear_trial t = linear_make(&c, 5);
        t.x[LINEAR_LOG_DECAY][FORGETS] = logs[i];
        for (int n = 0; n < LINEAR_INPUTS; n++) memset(t.d[n], 0, t.count[n] * sizeof(float));
        run(&t, true);
        check_all(&t, ROUNDINGS, "forgotten");
        assert_true(t.d[LINEAR_LOG_DECAY][FORGETS] == 0);
        struct linear_trial u = t;
        u.a.initial_state = NULL, u.a.rows = ROWS - FORGETS, u.count[LINEAR_STATE] = 0;
        u.x[LINEAR_Q] += FORGETS * WIDTH, u.x[LINEAR_K] += FORGETS * WIDTH;
        u.x[LINEAR_V] += FORGETS * WIDTH, u.dout += FORGETS * WIDTH;
        u.a.log_decay += FORGETS, u.a.beta += FORGETS;
        u.out = calloc(ROWS * WIDTH, sizeof(float));
        for (int n = 0; n < LINEAR_INPUTS; n++) u.d[n] = calloc(t.count[n], sizeof(float));
        run(&u, true);
        for (int r = 0; r < (ROWS - FORGETS) * WIDTH; r++) {
            double far = (double)t.out[FORGETS * WIDTH + r], near = (double)u.out[r];
            assert_true(within_roundings(far, near, ROUNDINGS, 4));
            far = (double)t.d[LINEAR_K][FORGETS * WIDTH + r], near = (double)u.d[LINEAR_K][r];
            assert_true(within_roundings(far, near, 4 * ROUNDINGS, 8));
        }
        for (int n = 0; n < LINEAR_INPUTS; n++) free(u.d[n]);
        free(u.out), linear_free(&t);
    }
}

/* The gradient of a decay's logarithm is accurate relative to its own size, however small the decay
   is: it contains no differences of larger terms. */
static void small_decays(void **state)
{
    (void)state;
    struct linear_choice c = {.batch = 1,
                              .heads = 1,
                              .rows = 80,
                              .key_width = 8,
                              .value_width = 8,
                              .decay = true,
                              .delta = true};
    struct linear_trial t = linear_make(&c, 9);
    for (int r = 0; r < 80; r++) t.x[LINEAR_LOG_DECAY][r] = -40;
    memset(t.d[LINEAR_LOG_DECAY], 0, 80 * sizeof(float));
    run(&t, true);
    struct linear_doubles d = linear_double(&t);
    double *log = d.x[LINEAR_LOG_DECAY];
    for (int r = 1; r < 80; r++) { /* J is linear in one decay: compare exp(log) and 0 */
        double with = linear_objective(&t, &d, 0, 0), x = log[r], decay = exp(x), up;
        log[r] = 0, up = linear_objective(&t, &d, 0, 0);
        log[r] = -1e9;
        double slope = (up - linear_objective(&t, &d, 0, 0)) * decay;
        log[r] = x;
        assert_true(isfinite(with));
        if (!within_roundings((double)t.d[LINEAR_LOG_DECAY][r], slope, 1e4, fabs(slope) + 1e-20))
            fail_msg("gradient of log_decay[%d] is %.9g, wanted %.9g", r,
                     (double)t.d[LINEAR_LOG_DECAY][r], slope);
    }
    linear_double_free(&d), linear_free(&t);
}

/* If all weights of a query are 0, so are its output and its gradients. */
static void no_weights(void **state)
{
    (void)state;
    struct linear_choice c = {.batch = 1,
                              .heads = 1,
                              .rows = 3,
                              .key_width = 4,
                              .value_width = 4,
                              .features = true,
                              .normalized = true};
    struct linear_trial t = linear_make(&c, 3);
    for (int i = 0; i < 4; i++) t.x[LINEAR_Q][4 + i] = -200; /* features are exp(-200) = 0 */
    for (int n = 0; n < LINEAR_INPUTS; n++) memset(t.d[n], 0, t.count[n] * sizeof(float));
    run(&t, true);
    for (int i = 0; i < 12; i++) {
        bool empty = i / 4 == 1;
        assert_true(isfinite(t.out[i]) && (t.out[i] == 0) == empty);
        assert_true(isfinite(t.d[LINEAR_K][i]) && isfinite(t.d[LINEAR_V][i]));
        assert_true((t.d[LINEAR_Q][i] == 0) == empty || i < 4);
    }
    linear_free(&t);
}

/* ---- bits ---- */

static void same(const struct linear_trial *t, const struct linear_trial *u)
{
    bool equal = !memcmp(t->out, u->out, t->outs * sizeof(float)) &&
                 !memcmp(t->final_state, u->final_state, t->states * sizeof(float));
    for (int i = 0; i < LINEAR_INPUTS; i++)
        equal &= !memcmp(t->d[i], u->d[i], t->count[i] * sizeof(float));
    if (!equal)
        fail_msg("%s with %d threads differs", rapt_isa_name(rapt_isa_used()), u->a.threads);
}

static void threads_and_instructions(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 5};
    rapt_isa sets[EQUAL_SETS], used = rapt_isa_used();
    int count = equal_sets("linear attention, instruction sets", sets);
    for (int i = 0; i < CHOICES; i++) {
        struct linear_trial t = linear_make(&choices[i], (uint64_t)i);
        run(&t, true);
        for (int n = 0; n < 3 * count; n++) {
            struct linear_trial u = linear_make(&choices[i], (uint64_t)i);
            u.a.threads = threads[n % 3];
            assert_int_equal(rapt_isa_use(sets[n / 3]), RAPT_OK);
            run(&u, true), same(&t, &u), linear_free(&u);
        }
        assert_int_equal(rapt_isa_use(used), RAPT_OK);
        linear_free(&t);
    }
}

/* Compares the results of one sequence alone with those in a batch. */
static void check_alone(const struct linear_choice *c, int sequence)
{
    struct linear_trial t = linear_make(c, 3);
    run(&t, true);
    const size_t batch = (size_t)c->batch, at = (size_t)sequence;
    const size_t outs = t.outs / batch, states = t.states / batch;
    struct linear_trial u = linear_make(c, 3);
    u.a.batch = 1;
    for (int i = 0; i < LINEAR_INPUTS; i++) {
        size_t part = u.count[i] / batch;
        memmove(u.x[i], u.x[i] + at * part, part * sizeof(float));
        memmove(u.d[i], u.d[i] + at * part, part * sizeof(float));
    }
    memmove(u.dout, u.dout + at * outs, outs * sizeof(float));
    memmove(u.dstate, u.dstate + at * states, states * sizeof(float));
    run(&u, true);
    assert_memory_equal(u.out, t.out + at * outs, outs * sizeof(float));
    assert_memory_equal(u.final_state, t.final_state + at * states, states * sizeof(float));
    for (int i = 0; i < LINEAR_INPUTS; i++) {
        size_t part = t.count[i] / batch;
        assert_memory_equal(u.d[i], t.d[i] + at * part, part * sizeof(float));
    }
    linear_free(&t), linear_free(&u);
}

/* A sequence alone has the bits that it has in a batch, even in one so large that rows are
   prefetched. */
static void alone(void **state)
{
    (void)state;
    const struct linear_choice large = {.batch = 140,
                                        .heads = 1,
                                        .rows = 200,
                                        .key_width = 64,
                                        .value_width = 64,
                                        .decay = true,
                                        .delta = true,
                                        .state = true};
    check_alone(&choices[3], 1);
    check_alone(&large, 77);
}

/* Two calls that meet at a multiple of 64 rows have the bits of one call; final_state may be the
   initial state. */
static void continued(void **state)
{
    (void)state;
    enum { FIRST = 128 };
    struct linear_choice c = choices[3];
    c.by_rows = true, c.batch = 1;
    struct linear_trial t = linear_make(&c, 3), u = linear_make(&c, 3);
    run(&t, false);
    start_states(&u);
    for (int part = 0; part < 2; part++) {
        struct linear_trial p = u;
        int from = part ? FIRST : 0;
        p.a.rows = part ? c.rows - FIRST : FIRST, p.a.initial_state = u.final_state;
        p.x[LINEAR_Q] += from * u.a.q.row, p.x[LINEAR_K] += from * u.a.k.row;
        p.x[LINEAR_V] += from * u.a.v.row, p.out += from * u.a.out.row;
        p.a.log_decay += from * u.a.gates.row, p.a.beta += from * u.a.gates.row;
        run(&p, false);
    }
    assert_memory_equal(u.out, t.out, t.outs * sizeof(float));
    assert_memory_equal(u.final_state, t.final_state, t.states * sizeof(float));
    linear_free(&t), linear_free(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forward),
                                       cmocka_unit_test(steps),
                                       cmocka_unit_test(gradients),
                                       cmocka_unit_test(forgotten),
                                       cmocka_unit_test(small_decays),
                                       cmocka_unit_test(no_weights),
                                       cmocka_unit_test(threads_and_instructions),
                                       cmocka_unit_test(alone),
                                       cmocka_unit_test(continued)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
