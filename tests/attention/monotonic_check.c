/* monotonic_check.c - monotonic attention: the size of workspaces, and the messages of calls that
   are refused. */
#include "attention/monotonic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static rapt_message why;

static void workspace(void **state)
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

static void refused(const rapt_monotonic_attention *a, const char *wanted)
{
    why.text[0] = 0;
    assert_int_equal(rapt_monotonic_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, wanted)) fail_msg("\"%s\" does not contain \"%s\"", why.text, wanted);
    assert_int_equal(rapt_monotonic_attention_workspace(a, 1), 0);
    _Alignas(64) float x[64] = {0};
    assert_int_equal(rapt_monotonic_attention_forward(a, x, x, x, x, x, x + 32, NULL, x, NULL),
                     RAPT_BAD_ARGUMENT);
}

#define REFUSED(change, wanted)                                                                    \
    {                                                                                              \
        rapt_monotonic_attention a = good;                                                         \
        change;                                                                                    \
        refused(&a, wanted);                                                                       \
    }

static void messages(void **state)
{
    (void)state;
    static const int late[] = {1, 2, 3}, lengthy[] = {0, 11, 12}, many[] = {3, 13}, few[] = {-1, 3};
    rapt_monotonic_attention good;
    assert_int_equal(rapt_monotonic_attention_init(&good, sizeof good, 2, 4, 10, 12, 8), RAPT_OK);
    assert_int_equal(rapt_monotonic_attention_check(&good, &why), RAPT_OK);
    REFUSED(a.size = 0, "rapt_monotonic_attention")
    REFUSED(a.batch = -1, "batch is -1; it must be 0 or more")
    REFUSED(a.heads = 0, "heads is 0; it must be 1 or more")
    REFUSED(a.key_heads = 3, "key_heads is 3; it must be 0 or a divisor of heads")
    REFUSED(a.queries = -2, "queries is -2")
    REFUSED(a.queries = INT32_MAX, "queries is 2147483647; it must be at most 2147483519")
    REFUSED(a.keys = -2, "keys is -2")
    REFUSED(a.keys = INT32_MAX, "keys is 2147483647; it must be at most 2147483519")
    REFUSED(a.key_width = 0, "key_width is 0; it must be 1 to 65536")
    REFUSED(a.value_width = 65537, "value_width is 65537")
    REFUSED(a.mode = RAPT_MONOTONIC_COUNT, "mode is 3; it must be a rapt_monotonic")
    REFUSED(a.mode = RAPT_MONOTONIC_CHUNK, "chunk is 0; it must be 1 or more in mode chunk")
    REFUSED(a.query_starts = late, "query_starts[0] is 1; it must be 0")
    REFUSED(a.query_starts = lengthy, "query_starts: sequence 0 has 11 rows")
    REFUSED(a.key_starts = late, "key_starts[0] is 1")
    REFUSED(a.key_counts = many, "key_counts[1] is 13; it must be 0 to 12")
    REFUSED(a.key_counts = few, "key_counts[0] is -1; it must be 0 to 12")
    REFUSED(a.scale = NAN, "scale is nan; it must be finite")
    REFUSED(a.chunk_scale = INFINITY, "chunk_scale is inf; it must be finite")
    REFUSED(a.noise = -1, "noise is -1; it must be finite and 0 or more")
    REFUSED(a.noise = NAN, "noise is nan")
    REFUSED(a.threads = -1, "threads is -1; it must be 0 or more")
    REFUSED(a.q.row = PTRDIFF_MAX, "q: rows and strides exceed the address space")
    REFUSED(a.k.batch = PTRDIFF_MIN, "k: rows and strides")
    REFUSED(a.v.head = PTRDIFF_MAX / 2, "v: rows and strides")
    REFUSED(a.weights.head = PTRDIFF_MAX / 2, "weights: rows and strides")
    REFUSED(a.out.row = 0, "out.row is 0; it must be the distance between rows")
    good.mode = RAPT_MONOTONIC_LOOKBACK;
    REFUSED(a.chunk_q.row = PTRDIFF_MAX, "chunk_q: rows and strides")
    REFUSED(a.chunk_k.row = PTRDIFF_MAX, "chunk_k: rows and strides")
}

/* ---- arrays ---- */

static const struct monotonic_choice small = {1, 1, 0, 2, 3, 2, 2, .mode = RAPT_MONOTONIC_LOOKBACK};

/* Runs forward with one of its seven arrays missing, or with all of them if `missing` is 7. */
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

static void arrays(void **state)
{
    (void)state;
    static const char *const names[] = {"q", "k", "v", "chunk_q", "chunk_k", "out", "workspace"};
    struct monotonic_trial t = monotonic_make(&small, 1);
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

static void shared_rows(void **state)
{
    (void)state;
    struct monotonic_trial t = monotonic_make(&small, 1);
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

static void positions(void **state)
{
    (void)state;
    struct monotonic_trial t = monotonic_make(&small, 1);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(workspace), cmocka_unit_test(messages),
                                       cmocka_unit_test(arrays), cmocka_unit_test(shared_rows),
                                       cmocka_unit_test(positions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
