/* linear_monotonic_check.c - linear and monotonic attention: the sizes of workspaces, and the
   messages of calls that are refused. */
#include "attention/linear.h"
#include "attention/monotonic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- linear attention ---- */

static rapt_message why;

static void linear_sizes(void **state)
{
    (void)state;
    struct linear_choice c = {
        .batch = 2, .heads = 2, .rows = 200, .key_width = 24, .value_width = 40, .delta = true};
    int starts[8];
    rapt_linear_attention few = linear_problem(&c, starts), many;
    c.rows *= 1000, many = linear_problem(&c, starts);
    size_t forward = rapt_linear_attention_workspace(&few, 0);
    assert_true(forward > 0);
    assert_int_equal(forward, rapt_linear_attention_workspace(&many, 0));
    assert_true(rapt_linear_attention_workspace(&many, 1) >
                100 * rapt_linear_attention_workspace(&few, 1));
    few.threads = 3;
    assert_true(rapt_linear_attention_workspace(&few, 0) > 2 * forward);
    few.heads = 0;
    assert_int_equal(rapt_linear_attention_workspace(&few, 0), 0);
    assert_string_equal(rapt_feature_map_name(RAPT_FEATURE_MAP_ELU), "elu");
    assert_null(rapt_feature_map_name(RAPT_FEATURE_MAP_COUNT));
}

static void refuse_linear(const rapt_linear_attention *a, const char *wanted)
{
    why.text[0] = 0;
    assert_int_equal(rapt_linear_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, wanted)) fail_msg("\"%s\" does not contain \"%s\"", why.text, wanted);
    assert_int_equal(rapt_linear_attention_workspace(a, 1), 0);
    _Alignas(64) float x[64] = {0};
    assert_int_equal(rapt_linear_attention_forward(a, x, x, x, x + 32, NULL, x, NULL),
                     RAPT_BAD_ARGUMENT);
}

#define REFUSED_LINEAR(change, wanted)                                                             \
    {                                                                                              \
        rapt_linear_attention a = good;                                                            \
        change;                                                                                    \
        refuse_linear(&a, wanted);                                                                 \
    }

static void linear_messages(void **state)
{
    (void)state;
    static const float gates[64];
    static const int late[] = {1, 2, 3}, falling[] = {0, 5, 4}, lengthy[] = {0, 11, 12};
    rapt_linear_attention good;
    assert_int_equal(rapt_linear_attention_init(&good, sizeof good, 2, 4, 10, 8, 6), RAPT_OK);
    assert_int_equal(rapt_linear_attention_check(&good, &why), RAPT_OK);
    REFUSED_LINEAR(a.size = 0, "rapt_linear_attention")
    REFUSED_LINEAR(a.batch = -1, "batch is -1; it must be 0 or more")
    REFUSED_LINEAR(a.heads = 0, "heads is 0; it must be 1 or more")
    REFUSED_LINEAR(a.key_heads = 3, "key_heads is 3; it must be 0 or a divisor of heads")
    REFUSED_LINEAR(a.rows = -2, "rows is -2")
    REFUSED_LINEAR(a.rows = INT32_MAX, "rows is 2147483647; it must be 0 to 2147483519")
    REFUSED_LINEAR(a.key_width = 0, "key_width is 0; it must be 1 to 65536")
    REFUSED_LINEAR(a.key_width = 65537, "key_width is 65537")
    REFUSED_LINEAR(a.value_width = 65536, "value_width is 65536; it must be 1 to 65535")
    REFUSED_LINEAR(a.batch = 1 << 30, "batch times heads is 4294967296")
    REFUSED_LINEAR(a.starts = late, "starts[0] is 1; it must be 0")
    REFUSED_LINEAR(a.starts = falling, "starts[2] is 4, less than starts[1], which is 5")
    REFUSED_LINEAR(a.starts = lengthy, "starts: sequence 0 has 11 rows, but at most 10 are allowed")
    REFUSED_LINEAR(a.scale = NAN, "scale is nan; it must be finite")
    REFUSED_LINEAR(a.feature_map = RAPT_FEATURE_MAP_COUNT, "feature_map is 2")
    REFUSED_LINEAR(a.normalized = 1, "normalized is 1; it must be 0 unless feature_map is set")
    REFUSED_LINEAR((a.normalized = 1, a.feature_map = RAPT_FEATURE_MAP_ELU, a.beta = gates),
                   "normalized is 1; it must be 0 if beta is given")
    REFUSED_LINEAR(a.threads = -1, "threads is -1; it must be 0 or more")
    REFUSED_LINEAR(a.q.row = PTRDIFF_MAX, "q: rows and strides exceed the address space")
    REFUSED_LINEAR(a.k.batch = PTRDIFF_MIN, "k: rows and strides")
    REFUSED_LINEAR(a.v.head = PTRDIFF_MAX / 2, "v: rows and strides")
    REFUSED_LINEAR(a.out.head = PTRDIFF_MAX / 2, "out: rows and strides")
    REFUSED_LINEAR((a.beta = gates, a.gates.row = PTRDIFF_MAX), "gates: rows and strides")
    REFUSED_LINEAR(a.out.row = 0, "out: a stride is 0")
}

static void linear_arrays(void **state)
{
    (void)state;
    struct linear_choice c = {.batch = 1, .heads = 1, .rows = 2, .key_width = 2, .value_width = 2};
    struct linear_trial t = linear_make(&c, 1);
    rapt_linear_attention *a = &t.a;
    float *q = t.x[LINEAR_Q], *k = t.x[LINEAR_K], *v = t.x[LINEAR_V], d[8] = {0};
    char *space = linear_workspace(a, 1);
    const struct {
        rapt_linear_attention_gradients d;
        const char *wanted;
    } wrong[] = {{{.size = sizeof wrong[0].d, .log_decay = d}, "gradient of log_decay"},
                 {{.size = sizeof wrong[0].d, .beta = d}, "gradient of beta"},
                 {{.size = sizeof wrong[0].d, .initial_state = d}, "gradient of initial_state"}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            rapt_linear_attention_backward(a, q, k, v, t.dout, NULL, &wrong[i].d, space, &why),
            RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, wrong[i].wanted));
    }
    rapt_linear_attention_gradients repeated = {.size = sizeof repeated, .k = d};
    a->k.row = 0;
    assert_int_equal(
        rapt_linear_attention_backward(a, q, k, v, t.dout, NULL, &repeated, space, &why),
        RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "a stride of k is 0"));
    const rapt_linear_attention_gradients gates = {.size = sizeof gates, .log_decay = d};
    rapt_linear_attention decays = *a;
    decays.log_decay = d, decays.gates.row = 0;
    assert_int_equal(
        rapt_linear_attention_backward(&decays, q, k, v, t.dout, NULL, &gates, space, &why),
        RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "a stride of gates is 0"));
    assert_int_equal(rapt_linear_attention_forward(a, q, k, v, t.out, NULL, space, &why), RAPT_OK);
    assert_int_equal(rapt_linear_attention_forward(a, q, k, v, t.out, NULL, space + 4, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "workspace: the address"));
    free(space), linear_free(&t);
}

/* ---- monotonic attention ---- */

static void monotonic_sizes(void **state)
{
    (void)state;
    rapt_monotonic_attention few, many;
    rapt_monotonic_attention_init(&few, sizeof few, 2, 2, 20, 64, 8);
    rapt_monotonic_attention_init(&many, sizeof many, 2, 2, 20000, 64, 8);
    few.threads = many.threads = 1;
    size_t forward = rapt_monotonic_attention_workspace(&few, 0);
    assert_true(forward > 0);
    assert_int_equal(forward, rapt_monotonic_attention_workspace(&many, 0));
    assert_true(rapt_monotonic_attention_workspace(&many, 1) >= 20000 * 64 * sizeof(float));
    few.mode = RAPT_MONOTONIC_LOOKBACK;
    assert_true(rapt_monotonic_attention_workspace(&few, 0) > forward);
    few.threads = 3, few.mode = RAPT_MONOTONIC_HARD;
    assert_true(rapt_monotonic_attention_workspace(&few, 0) > 2 * forward);
    few.heads = 0;
    assert_int_equal(rapt_monotonic_attention_workspace(&few, 0), 0);
    assert_string_equal(rapt_monotonic_name(RAPT_MONOTONIC_LOOKBACK), "lookback");
    assert_null(rapt_monotonic_name(RAPT_MONOTONIC_COUNT));
}

static void refuse_monotonic(const rapt_monotonic_attention *a, const char *wanted)
{
    why.text[0] = 0;
    assert_int_equal(rapt_monotonic_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, wanted)) fail_msg("\"%s\" does not contain \"%s\"", why.text, wanted);
    assert_int_equal(rapt_monotonic_attention_workspace(a, 1), 0);
    _Alignas(64) float x[64] = {0};
    assert_int_equal(rapt_monotonic_attention_forward(a, x, x, x, x, x, x + 32, NULL, x, NULL),
                     RAPT_BAD_ARGUMENT);
}

#define REFUSED_MONOTONIC(change, wanted)                                                          \
    {                                                                                              \
        rapt_monotonic_attention a = good;                                                         \
        change;                                                                                    \
        refuse_monotonic(&a, wanted);                                                              \
    }

static void monotonic_messages(void **state)
{
    (void)state;
    static const int late[] = {1, 2, 3}, lengthy[] = {0, 11, 12}, many[] = {3, 13}, few[] = {-1, 3};
    rapt_monotonic_attention good;
    assert_int_equal(rapt_monotonic_attention_init(&good, sizeof good, 2, 4, 10, 12, 8), RAPT_OK);
    assert_int_equal(rapt_monotonic_attention_check(&good, &why), RAPT_OK);
    REFUSED_MONOTONIC(a.size = 0, "rapt_monotonic_attention")
    REFUSED_MONOTONIC(a.batch = -1, "batch is -1; it must be 0 or more")
    REFUSED_MONOTONIC(a.heads = 0, "heads is 0; it must be 1 or more")
    REFUSED_MONOTONIC(a.key_heads = 3, "key_heads is 3; it must be 0 or a divisor of heads")
    REFUSED_MONOTONIC(a.queries = -2, "queries is -2")
    REFUSED_MONOTONIC(a.queries = INT32_MAX, "queries is 2147483647; it must be at most 2147483519")
    REFUSED_MONOTONIC(a.keys = -2, "keys is -2")
    REFUSED_MONOTONIC(a.keys = INT32_MAX, "keys is 2147483647; it must be at most 2147483519")
    REFUSED_MONOTONIC(a.key_width = 0, "key_width is 0; it must be 1 to 65536")
    REFUSED_MONOTONIC(a.value_width = 65537, "value_width is 65537")
    REFUSED_MONOTONIC(a.mode = RAPT_MONOTONIC_COUNT, "mode is 3; it must be a rapt_monotonic")
    REFUSED_MONOTONIC(a.mode = RAPT_MONOTONIC_CHUNK,
                      "chunk is 0; it must be 1 or more in chunk mode")
    REFUSED_MONOTONIC(a.query_starts = late, "query_starts[0] is 1; it must be 0")
    REFUSED_MONOTONIC(a.query_starts = lengthy, "query_starts: sequence 0 has 11 rows")
    REFUSED_MONOTONIC(a.key_starts = late, "key_starts[0] is 1")
    REFUSED_MONOTONIC(a.key_counts = many, "key_counts[1] is 13; it must be 0 to 12")
    REFUSED_MONOTONIC(a.key_counts = few, "key_counts[0] is -1; it must be 0 to 12")
    REFUSED_MONOTONIC(a.scale = NAN, "scale is nan; it must be finite")
    REFUSED_MONOTONIC(a.chunk_scale = INFINITY, "chunk_scale is inf; it must be finite")
    REFUSED_MONOTONIC(a.noise = -1, "noise is -1; it must be finite and 0 or more")
    REFUSED_MONOTONIC(a.noise = NAN, "noise is nan")
    REFUSED_MONOTONIC(a.threads = -1, "threads is -1; it must be 0 or more")
    REFUSED_MONOTONIC(a.q.row = PTRDIFF_MAX, "q: rows and strides exceed the address space")
    REFUSED_MONOTONIC(a.k.batch = PTRDIFF_MIN, "k: rows and strides")
    REFUSED_MONOTONIC(a.v.head = PTRDIFF_MAX / 2, "v: rows and strides")
    REFUSED_MONOTONIC(a.weights.head = PTRDIFF_MAX / 2, "weights: rows and strides")
    REFUSED_MONOTONIC(a.out.row = 0, "out.row is 0; it must be the distance between rows")
    good.mode = RAPT_MONOTONIC_LOOKBACK;
    REFUSED_MONOTONIC(a.chunk_q.row = PTRDIFF_MAX, "chunk_q: rows and strides")
    REFUSED_MONOTONIC(a.chunk_k.row = PTRDIFF_MAX, "chunk_k: rows and strides")
}

/* ---- monotonic_arrays ---- */

static const struct monotonic_choice monotonic_small = {1, 1, 0, 2,
                                                        3, 2, 2, .mode = RAPT_MONOTONIC_LOOKBACK};

/* Runs forward with one of its seven monotonic_arrays missing, or with all of them if `missing`
 * is 7. */
static rapt_status forward_without(struct monotonic_trial *t, int missing, void *space)
{
    void *x[8] = {t->x[MONOTONIC_Q],
                  t->x[MONOTONIC_K],
                  t->x[MONOTONIC_V],
                  t->x[MONOTONIC_CHUNK_Q],
                  t->x[MONOTONIC_CHUNK_K],
                  t->out,
                  space};
    x[missing] = NULL;
    return rapt_monotonic_attention_forward(&t->a, x[0], x[1], x[2], x[3], x[4], x[5], NULL, x[6],
                                            &why);
}

static void monotonic_arrays(void **state)
{
    (void)state;
    static const char *const names[] = {"q", "k", "v", "chunk_q", "chunk_k", "out", "workspace"};
    struct monotonic_trial t = monotonic_make(&monotonic_small, 1);
    char *space = monotonic_workspace(&t.a, 1);
    for (int i = 0; i < 7; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "%s is NULL", names[i]);
        assert_int_equal(forward_without(&t, i, space), RAPT_BAD_ARGUMENT);
        assert_string_equal(why.text, wanted);
    }
    assert_int_equal(forward_without(&t, 7, space), RAPT_OK);
    assert_int_equal(forward_without(&t, 7, space + 4), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "workspace: the address"));
    t.a.mode = RAPT_MONOTONIC_HARD;
    assert_int_equal(forward_without(&t, 3, space), RAPT_OK);
    free(space), monotonic_free(&t);
}

static void monotonic_shared_rows(void **state)
{
    (void)state;
    struct monotonic_trial t = monotonic_make(&monotonic_small, 1);
    t.a.chunk_k.row = 0;
    assert_int_equal(monotonic_forward(&t, &why), RAPT_OK);
    assert_int_equal(monotonic_backward(&t, &why), RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text,
                        "gradients: a stride of chunk_k is 0, so rows would share one gradient");
    t.a.chunk_k.row = 2, t.a.weights.row = 0;
    assert_int_equal(monotonic_forward(&t, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "outputs: a stride of weights is 0"));
    monotonic_free(&t);
}

static void monotonic_positions(void **state)
{
    (void)state;
    struct monotonic_trial t = monotonic_make(&monotonic_small, 1);
    t.positions[0] = 4;
    assert_int_equal(monotonic_step(&t, &why), RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "positions[0] is 4; it must be 0 to 3");
    t.positions[0] = -1;
    assert_int_equal(monotonic_step(&t, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(t.positions[0], -1);
    t.positions[0] = 3;
    assert_int_equal(monotonic_step(&t, &why), RAPT_OK);
    for (size_t i = 0; i < t.outs; i++) assert_true(t.out[i] == 0);
    monotonic_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_sizes),          cmocka_unit_test(linear_messages),
        cmocka_unit_test(linear_arrays),         cmocka_unit_test(monotonic_sizes),
        cmocka_unit_test(monotonic_messages),    cmocka_unit_test(monotonic_arrays),
        cmocka_unit_test(monotonic_shared_rows), cmocka_unit_test(monotonic_positions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
