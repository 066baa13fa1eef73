/* monotonic.c - monotonic attention: expected values against the definition and against the mean
   over all paths, gradients against difference quotients, hard stops, and equality of bits. */
#include "attention/monotonic.h"
#include "skips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define HARD     RAPT_MONOTONIC_HARD
#define CHUNK    RAPT_MONOTONIC_CHUNK
#define LOOKBACK RAPT_MONOTONIC_LOOKBACK

/* batch, heads, key_heads, queries, keys, key_width, value_width, mode, chunk */
static const struct monotonic_choice choices[] = {
    {2, 2, 0, 19, 23, 8, 16, .mode = HARD},
    {2, 3, 0, 20, 37, 5, 7, CHUNK, 4, .offset = true},
    {1, 2, 0, 35, 40, 16, 20, LOOKBACK, 0, .offset = true, .last_stops = true},
    {3, 4, 2, 18, 30, 12, 9, CHUNK, 3, .by_rows = true, .ragged = true, .offset = true},
    {3, 4, 2, 18, 30, 12, 9, LOOKBACK, 0, .by_rows = true, .ragged = true, .counted = true},
    {2, 6, 3, 33, 21, 17, 33, HARD, 0, .counted = true, .last_stops = true, .scale = -0.6f},
    {2, 2, 0, 10, 25, 8, 8, HARD, 0, .offset = true, .noise = 1},
    {2, 2, 1, 10, 25, 8, 8, LOOKBACK, 0, .ragged = true, .offset = true, .noise = 0.7f},
    {1, 2, 0, 9, 200, 6, 4, CHUNK, 16, .offset = true, .shift = -4},
    {1, 1, 0, 12, 60, 10, 3, LOOKBACK, 0, .offset = true, .shift = -3, .strength = 12},
    {1, 1, 0, 12, 60, 10, 3, CHUNK, 1000, .offset = true, .strength = 12},
    {2, 1, 0, 3, 5, 3, 2, CHUNK, 1, .counted = true},
    {2, 1, 0, 1, 1, 1, 1, .mode = LOOKBACK},
    {2, 1, 0, 1, 1, 1, 1, HARD, 0, .last_stops = true, .counted = true}, /* no key exists */
    {2, 2, 0, 3, 0, 3, 2, LOOKBACK, 0, .last_stops = true},
    {2, 2, 0, 0, 4, 3, 2, CHUNK, 2, .offset = true},
    {0, 1, 0, 3, 4, 3, 2, .mode = HARD},
};
enum { CHOICES = sizeof choices / sizeof *choices };

static rapt_message why;

static void run(struct monotonic_trial *t, bool backward)
{
    if (monotonic_forward(t, &why) || (backward && monotonic_backward(t, &why)))
        fail_msg("%s", why.text);
}

/* ---- the definition ---- */

/* Energies of up to 30 have errors of some roundings of their terms, and p and the weights of a
   chunk have a fraction of these. */
enum { ROUNDINGS = 20 };

static void check_number(double got, double wanted, double size, const char *what, int choice)
{
    if (!within_roundings(got, wanted, ROUNDINGS, size))
        fail_msg("choice %d: %s is %.9g, wanted %.9g", choice, what, got, wanted);
}

static void check_row(const float *got, const double *wanted, int n, double size, const char *what,
                      int choice)
{
    for (int i = 0; i < n; i++) check_number((double)got[i], wanted[i], size, what, choice);
}

static void check_head(const struct monotonic_trial *t, const struct oracle_monotonic_results *r,
                       int b, int h, int choice)
{
    const rapt_monotonic_attention *a = &t->a;
    const int n = oracle_monotonic_keys(a, b), V = a->value_width;
    const int all = a->key_starts ? a->key_starts[b + 1] - a->key_starts[b] : a->keys;
    for (int i = 0; i < oracle_monotonic_queries(a, b); i++) {
        ptrdiff_t row = oracle_monotonic_query(a, &a->weights, b, h, i);
        check_row(t->out + oracle_monotonic_query(a, &a->out, b, h, i), r->out + i * V, V, 1, "out",
                  choice);
        check_row(t->alpha + row, r->alpha + i * n, n, 1, "alpha", choice);
        check_row(t->weights + row, r->weights + i * n, n, 1, "weights", choice);
        check_number((double)t->delay[oracle_monotonic_delay(a, b, h, i)], r->delays[i], n, "delay",
                     choice);
        for (int s = n; s < all; s++)
            assert_true(t->alpha[row + s] == 0 && t->weights[row + s] == 0);
    }
}

static void check_all(const struct monotonic_trial *t, int choice)
{
    struct monotonic_doubles d = monotonic_double(t);
    struct oracle_monotonic_results r = monotonic_results(&t->a);
    for (int b = 0; b < t->a.batch; b++)
        for (int h = 0; h < t->a.heads; h++) {
            oracle_monotonic_head(&t->a, &d.inputs, b, h, &r);
            check_head(t, &r, b, h, choice);
        }
    monotonic_results_free(&r), monotonic_double_free(&d);
}

static void forward(void **state)
{
    (void)state;
    rapt_isa used = rapt_isa_used();
    for (int i = 0; i < CHOICES; i++) {
        struct monotonic_trial t = monotonic_make(&choices[i], (uint64_t)i);
        run(&t, false), check_all(&t, i);
        assert_int_equal(rapt_isa_use(RAPT_ISA_SCALAR), RAPT_OK);
        run(&t, false), check_all(&t, i);
        assert_int_equal(rapt_isa_use(used), RAPT_OK);
        monotonic_free(&t);
    }
}

/* The expected values are the means over all paths of random stops. */
static void paths(void **state)
{
    (void)state;
    for (int i = 0; i < 24; i++) {
        struct monotonic_choice c = {1,
                                     2,
                                     0,
                                     1 + i % 4,
                                     1 + i % 5,
                                     3,
                                     2,
                                     .mode = (rapt_monotonic)(i % 3),
                                     .chunk = 1 + i % 3};
        c.offset = i % 2, c.last_stops = i % 7 == 0, c.noise = i % 5 == 0;
        struct monotonic_trial t = monotonic_make(&c, (uint64_t)i);
        struct monotonic_doubles d = monotonic_double(&t);
        struct oracle_monotonic_results mean = monotonic_results(&t.a);
        struct oracle_monotonic_results r = monotonic_results(&t.a);
        run(&t, false);
        for (int h = 0; h < c.heads; h++) {
            oracle_monotonic_head(&t.a, &d.inputs, 0, h, &r);
            oracle_monotonic_paths(&t.a, &d.inputs, 0, h, &mean);
            memcpy(mean.delays, r.delays, (size_t)c.queries * sizeof(double));
            check_head(&t, &mean, 0, h, i);
            for (int j = 0; j < c.queries * c.keys; j++)
                assert_true(fabs(mean.weights[j] - r.weights[j]) < 1e-14);
        }
        monotonic_results_free(&mean), monotonic_results_free(&r);
        monotonic_double_free(&d), monotonic_free(&t);
    }
}

/* ---- gradients ---- */

/* Returns the sequence and the query head that read element i of an input. With shared keys and for
   offsets, several of them do, so it adds up their objectives. */
static double objective_of(const struct monotonic_trial *t, const struct monotonic_doubles *d)
{
    double sum = 0;
    for (int b = 0; b < t->a.batch; b++)
        for (int h = 0; h < t->a.heads; h++) sum += monotonic_objective(t, d, b, h);
    return sum;
}

/* Compares about `samples` elements of a gradient with central difference quotients. */
static void check_gradient(const struct monotonic_trial *t, int array, const float *before,
                           size_t samples, int choice)
{
    struct monotonic_doubles d = monotonic_double(t);
    size_t step = t->count[array] / samples + 1;
    double most = 0;
    for (size_t i = 0; i < t->count[array]; i++) most = fmax(most, fabs((double)t->d[array][i]));
    for (size_t i = (size_t)choice % step; i < t->count[array]; i += step) {
        double x = d.x[array][i], h = 1e-5, up, down;
        d.x[array][i] = x + h, up = objective_of(t, &d);
        d.x[array][i] = x - h, down = objective_of(t, &d);
        d.x[array][i] = x;
        double wanted = (double)before[i] + (up - down) / (2 * h), got = (double)t->d[array][i];
        if (!(fabs(got - wanted) <= 2e-5 * fmax(1, most)))
            fail_msg("choice %d: gradient of %s[%zu] is %.9g, wanted %.9g", choice,
                     monotonic_names[array], i, got, wanted);
    }
    monotonic_double_free(&d);
}

static void gradients(void **state)
{
    (void)state;
    for (int i = 0; i < CHOICES; i++) {
        struct monotonic_trial t = monotonic_make(&choices[i], (uint64_t)i);
        struct monotonic_trial old = monotonic_make(&choices[i], (uint64_t)i);
        run(&t, true);
        for (int array = 0; array < MONOTONIC_INPUTS; array++)
            if (t.count[array]) check_gradient(&t, array, old.d[array], 12, i);
        monotonic_free(&t), monotonic_free(&old);
    }
}

/* Without the gradients of alpha and delays, and with keys that serve as chunk keys, too. */
static void shared_keys(void **state)
{
    (void)state;
    struct monotonic_trial t = monotonic_make(&choices[1], 3), u = monotonic_make(&choices[1], 3);
    const rapt_monotonic_attention *a = &t.a;
    void *workspace = monotonic_workspace(a, 1);
    size_t n = t.count[MONOTONIC_K];
    float *both = calloc(n, sizeof *both),
          *parts[2] = {calloc(n, sizeof *both), calloc(n, sizeof *both)};
    rapt_monotonic_attention_gradients d = {.size = sizeof d, .k = both, .chunk_k = both};
    const float *q = t.x[MONOTONIC_Q], *k = t.x[MONOTONIC_K], *v = t.x[MONOTONIC_V];
    assert_int_equal(rapt_monotonic_attention_backward(a, q, k, v, q, k, t.dout, NULL, NULL, &d,
                                                       workspace, &why),
                     RAPT_OK);
    d.k = parts[0], d.chunk_k = parts[1];
    assert_int_equal(rapt_monotonic_attention_backward(a, q, k, v, q, k, t.dout, NULL, NULL, &d,
                                                       workspace, &why),
                     RAPT_OK);
    for (size_t i = 0; i < n; i++)
        assert_true(within_roundings((double)both[i], (double)parts[0][i] + (double)parts[1][i],
                                     ROUNDINGS, 1));
    free(both), free(parts[0]), free(parts[1]), free(workspace);
    monotonic_free(&t), monotonic_free(&u);
}

/* ---- hard stops ---- */

/* Compares stops and outputs with the definition, unless an energy is nearly 0. */
static void check_stops(const struct monotonic_trial *t, int choice)
{
    const rapt_monotonic_attention *a = &t->a;
    struct monotonic_doubles d = monotonic_double(t);
    double *out = calloc((size_t)a->value_width, sizeof *out);
    for (int b = 0; b < a->batch; b++)
        for (int h = 0; h < a->heads; h++) {
            int position = 0, queries = oracle_monotonic_queries(a, b);
            for (int i = 0; i < queries; i++) {
                double near = oracle_monotonic_stop(a, &d.inputs, b, h, i, &position, out, NULL);
                if (near < 1e-5) break;
                check_row(t->out + oracle_monotonic_query(a, &a->out, b, h, i), out, a->value_width,
                          1, "out of a step", choice);
                if (i == queries - 1) assert_int_equal(t->positions[b * a->heads + h], position);
            }
        }
    free(out), monotonic_double_free(&d);
}

static void stops(void **state)
{
    (void)state;
    for (int i = 0; i < CHOICES; i++) {
        struct monotonic_choice c = choices[i];
        struct monotonic_trial t = monotonic_make(&c, (uint64_t)i);
        if (monotonic_step(&t, &why)) fail_msg("%s", why.text);
        check_stops(&t, i);
        monotonic_free(&t);
    }
}

/* If all probabilities are 0 or 1, the expected values are those of hard stops. */
static void certain(void **state)
{
    (void)state;
    for (int i = 0; i < CHOICES; i++) {
        struct monotonic_choice c = choices[i];
        c.strength = 1e6f, c.noise = 0, c.shift = 0;
        struct monotonic_trial t = monotonic_make(&c, (uint64_t)i);
        struct monotonic_trial u = monotonic_make(&c, (uint64_t)i);
        run(&t, false);
        assert_int_equal(monotonic_step(&u, &why), RAPT_OK);
        for (size_t n = 0; n < t.outs; n++)
            check_number((double)u.out[n], (double)t.out[n], 1, "out of a certain stop", i);
        monotonic_free(&t), monotonic_free(&u);
    }
}

/* One query at a time, and keys that arrive one at a time, give the same bits as all at once. Keys
   and values after the last stop are NaN: they are not read. */
static void streams(void **state)
{
    (void)state;
    enum { QUERIES = 9, KEYS = 40, WIDTH = 6 };
    for (int mode = 0; mode < RAPT_MONOTONIC_COUNT; mode++) {
        struct monotonic_choice c = {
            1, 1, 0, QUERIES, KEYS, WIDTH, WIDTH, .mode = (rapt_monotonic)mode, .chunk = 3};
        struct monotonic_trial t = monotonic_make(&c, 6), u = monotonic_make(&c, 6);
        c.queries = 1;
        assert_int_equal(monotonic_step(&t, &why), RAPT_OK);
        assert_in_range(t.positions[0], 1, KEYS - 2); /* the last query stops */
        for (int array = MONOTONIC_K; array < MONOTONIC_OFFSET; array++)
            for (int i = (t.positions[0] + 1) * WIDTH; i < KEYS * WIDTH; i++)
                if (array != MONOTONIC_CHUNK_Q && t.count[array]) u.x[array][i] = NAN;
        int exist = 0;
        u.a.queries = 1, u.a.key_counts = &exist;
        void *workspace = monotonic_workspace(&u.a, 0);
        for (int i = 0; i < QUERIES; i++) do {
                if (u.positions[0] == exist) exist++;
                assert_int_equal(
                    rapt_monotonic_attention_step(
                        &u.a, u.x[MONOTONIC_Q] + i * WIDTH, u.x[MONOTONIC_K], u.x[MONOTONIC_V],
                        u.x[MONOTONIC_CHUNK_Q] + (mode ? i * WIDTH : 0), u.x[MONOTONIC_CHUNK_K],
                        u.positions, u.out + i * WIDTH, workspace, &why),
                    RAPT_OK);
            } while (u.positions[0] == exist);
        assert_int_equal(u.positions[0], t.positions[0]);
        assert_memory_equal(u.out, t.out, t.outs * sizeof(float));
        free(workspace), monotonic_free(&t), monotonic_free(&u);
    }
}

/* ---- where nothing stops ---- */

static void no_stop(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct monotonic_choice c = {
            1, 1, 0, 5, 7, 4, 3, (rapt_monotonic)(i % 3), 2, .offset = true, .shift = -1e4f};
        c.last_stops = i >= 3;
        struct monotonic_trial t = monotonic_make(&c, 8);
        for (int n = 0; n < MONOTONIC_INPUTS; n++) memset(t.d[n], 0, t.count[n] * sizeof(float));
        run(&t, true);
        if (c.last_stops) {
            check_all(&t, i);
            for (int q = 0; q < 5; q++) assert_true(t.alpha[q * 7 + 6] == 1 && t.delay[q] == 7);
        } else {
            for (size_t n = 0; n < t.outs; n++) assert_true(t.out[n] == 0);
            for (int array = 0; array < MONOTONIC_INPUTS; array++)
                for (size_t n = 0; n < t.count[array]; n++) assert_true(t.d[array][n] == 0);
        }
        assert_int_equal(monotonic_step(&t, &why), RAPT_OK);
        assert_int_equal(t.positions[0], c.last_stops ? 6 : 7);
        monotonic_free(&t);
    }
}

/* Products of thousands of probabilities underflow, but the alignments stay exact where they are
   not negligible: no key stops by chance, and the last one always. */
static void long_rows(void **state)
{
    (void)state;
    enum { KEYS = 3000 };
    struct monotonic_choice c = {1, 1, 0, 3, KEYS, 4, 3, LOOKBACK, 0, .offset = true};
    struct monotonic_trial t = monotonic_make(&c, 8);
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < KEYS * 4; i++) t.x[MONOTONIC_K][i] = 0;
        t.x[MONOTONIC_OFFSET][0] = half ? 0 : -9;
        run(&t, true), check_all(&t, half);
        for (int i = 0; i < KEYS * 4; i++) assert_true(isfinite(t.d[MONOTONIC_K][i]));
        double sum = 0, keep = 1 - 1 / (1 + exp(half ? 0 : 9));
        for (int s = 0; s < KEYS; s++) sum += (double)t.alpha[s];
        assert_true(within_roundings(sum, 1 - pow(keep, KEYS), 8, 1));
    }
    monotonic_free(&t);
}

/* ---- the same bits ---- */

static void compare_trials(const struct monotonic_trial *t, const struct monotonic_trial *u)
{
    assert_memory_equal(t->out, u->out, t->outs * sizeof(float));
    assert_memory_equal(t->alpha, u->alpha, t->pairs * sizeof(float));
    assert_memory_equal(t->weights, u->weights, t->pairs * sizeof(float));
    assert_memory_equal(t->delay, u->delay, t->delays * sizeof(float));
    for (int i = 0; i < MONOTONIC_INPUTS; i++)
        assert_memory_equal(t->d[i], u->d[i], t->count[i] * sizeof(float));
}

static void threads_and_instructions(void **state)
{
    (void)state;
    static const int threads[] = {1, 3};
    rapt_isa sets[EQUAL_SETS], used = rapt_isa_used();
    int count = equal_sets("monotonic attention, instruction sets", sets);
    for (int i = 0; i < CHOICES; i++) {
        struct monotonic_trial t = monotonic_make(&choices[i], (uint64_t)i);
        run(&t, true);
        for (int n = 0; n < 2 * count; n++) {
            struct monotonic_trial u = monotonic_make(&choices[i], (uint64_t)i);
            u.a.threads = threads[n % 2];
            assert_int_equal(rapt_isa_use(sets[n / 2]), RAPT_OK);
            run(&u, true), compare_trials(&t, &u), monotonic_free(&u);
        }
        assert_int_equal(rapt_isa_use(used), RAPT_OK);
        monotonic_free(&t);
    }
}

/* Keys and values that do not exist are not read. */
static void padding(void **state)
{
    (void)state;
    for (int i = 0; i < CHOICES; i++) {
        struct monotonic_trial t = monotonic_make(&choices[i], 4);
        struct monotonic_trial u = monotonic_make(&choices[i], 4);
        const rapt_monotonic_attention *a = &u.a;
        const rapt_stride *const strides[] = {NULL, &a->k, &a->v, NULL, &a->chunk_k};
        const int widths[] = {0, a->key_width, a->value_width, 0, a->key_width};
        int key_heads = a->key_heads ? a->key_heads : a->heads;
        for (int n = 0; n < a->batch * key_heads && choices[i].counted; n++) {
            int b = n / key_heads, keys = oracle_monotonic_keys(a, b);
            int all = choices[i].ragged ? u.key_starts[b + 1] - u.key_starts[b] : a->keys;
            for (int array = MONOTONIC_K; array <= MONOTONIC_CHUNK_K; array++)
                for (int s = keys; s < all && strides[array] && u.count[array]; s++)
                    for (int j = 0; j < widths[array]; j++)
                        u.x[array]
                           [oracle_monotonic_key(a, strides[array], b, n % key_heads, s) + j] = NAN;
        }
        run(&t, true), run(&u, true), compare_trials(&t, &u);
        monotonic_free(&t), monotonic_free(&u);
    }
}

/* A sequence alone has the same bits as in a batch. */
static void alone(void **state)
{
    (void)state;
    struct monotonic_choice c = choices[4];
    struct monotonic_trial t = monotonic_make(&c, 2), u = monotonic_make(&c, 2);
    run(&t, false);
    int query_starts[2] = {0}, key_starts[2] = {0};
    for (int b = 0; b < c.batch; b++) {
        rapt_monotonic_attention *a = &u.a;
        query_starts[1] = t.query_starts[b + 1] - t.query_starts[b];
        key_starts[1] = t.key_starts[b + 1] - t.key_starts[b];
        a->batch = 1, a->query_starts = query_starts, a->key_starts = key_starts;
        a->queries = query_starts[1], a->keys = key_starts[1], a->key_counts = t.key_counts + b;
        void *workspace = monotonic_workspace(a, 0);
        ptrdiff_t q = t.query_starts[b] * a->q.row, k = t.key_starts[b] * a->k.row;
        assert_int_equal(rapt_monotonic_attention_forward(
                             a, t.x[MONOTONIC_Q] + q, t.x[MONOTONIC_K] + k,
                             t.x[MONOTONIC_V] + t.key_starts[b] * a->v.row,
                             t.x[MONOTONIC_CHUNK_Q] + q, t.x[MONOTONIC_CHUNK_K] + k,
                             u.out + t.query_starts[b] * a->out.row, NULL, workspace, &why),
                         RAPT_OK);
        free(workspace);
    }
    assert_memory_equal(t.out, u.out, t.outs * sizeof(float));
    monotonic_free(&t), monotonic_free(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward),   cmocka_unit_test(paths),
        cmocka_unit_test(gradients), cmocka_unit_test(shared_keys),
        cmocka_unit_test(stops),     cmocka_unit_test(certain),
        cmocka_unit_test(streams),   cmocka_unit_test(no_stop),
        cmocka_unit_test(long_rows), cmocka_unit_test(threads_and_instructions),
        cmocka_unit_test(padding),   cmocka_unit_test(alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
