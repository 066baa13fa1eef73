/* linear_check.c - linear attention: the size of workspaces, and the messages of calls that are
   refused. */
#include "attention/linear.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static rapt_message why;

static void workspace(void **state)
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

static void refused(const rapt_linear_attention *a, const char *wanted)
{
    why.text[0] = 0;
    assert_int_equal(rapt_linear_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, wanted)) fail_msg("\"%s\" does not contain \"%s\"", why.text, wanted);
    assert_int_equal(rapt_linear_attention_workspace(a, 1), 0);
    _Alignas(64) float x[64] = {0};
    assert_int_equal(rapt_linear_attention_forward(a, x, x, x, x + 32, NULL, x, NULL),
                     RAPT_BAD_ARGUMENT);
}

#define REFUSED(change, wanted)                                                                    \
    {                                                                                              \
        rapt_linear_attention a = good;                                                            \
        change;                                                                                    \
        refused(&a, wanted);                                                                       \
    }

static void messages(void **state)
{
    (void)state;
    static const float gates[64];
    static const int late[] = {1, 2, 3}, falling[] = {0, 5, 4}, lengthy[] = {0, 11, 12};
    rapt_linear_attention good;
    assert_int_equal(rapt_linear_attention_init(&good, sizeof good, 2, 4, 10, 8, 6), RAPT_OK);
    assert_int_equal(rapt_linear_attention_check(&good, &why), RAPT_OK);
    REFUSED(a.size = 0, "rapt_linear_attention")
    REFUSED(a.batch = -1, "batch is -1; it must be 0 or more")
    REFUSED(a.heads = 0, "heads is 0; it must be 1 or more")
    REFUSED(a.key_heads = 3, "key_heads is 3; it must be 0 or a divisor of heads")
    REFUSED(a.rows = -2, "rows is -2")
    REFUSED(a.rows = INT32_MAX, "rows is 2147483647; it must be 0 to 2147483519")
    REFUSED(a.key_width = 0, "key_width is 0; it must be 1 to 65536")
    REFUSED(a.key_width = 65537, "key_width is 65537")
    REFUSED(a.value_width = 65536, "value_width is 65536; it must be 1 to 65535")
    REFUSED(a.batch = 1 << 30, "batch times heads is 4294967296")
    REFUSED(a.starts = late, "starts[0] is 1; it must be 0")
    REFUSED(a.starts = falling, "starts[2] is 4, less than starts[1], which is 5")
    REFUSED(a.starts = lengthy, "starts: sequence 0 has 11 rows, but the longest may have 10")
    REFUSED(a.scale = NAN, "scale is nan; it must be finite")
    REFUSED(a.feature_map = RAPT_FEATURE_MAP_COUNT, "feature_map is 2")
    REFUSED(a.normalized = 1, "normalized is 1; it must be 0 unless feature_map is set")
    REFUSED((a.normalized = 1, a.feature_map = RAPT_FEATURE_MAP_ELU, a.beta = gates),
            "normalized is 1; it must be 0 if beta is given")
    REFUSED(a.threads = -1, "threads is -1; it must be 0 or more")
    REFUSED(a.q.row = PTRDIFF_MAX, "q: rows and strides exceed the address space")
    REFUSED(a.k.batch = PTRDIFF_MIN, "k: rows and strides")
    REFUSED(a.v.head = PTRDIFF_MAX / 2, "v: rows and strides")
    REFUSED(a.out.head = PTRDIFF_MAX / 2, "out: rows and strides")
    REFUSED((a.beta = gates, a.gates.row = PTRDIFF_MAX), "gates: rows and strides")
    REFUSED(a.out.row = 0, "out: a stride is 0")
}

static void arrays(void **state)
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
    assert_int_equal(rapt_linear_attention_forward(a, q, k, v, t.out, NULL, space, &why), RAPT_OK);
    assert_int_equal(rapt_linear_attention_forward(a, q, k, v, t.out, NULL, space + 4, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "workspace: the address"));
    free(space), linear_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(workspace), cmocka_unit_test(messages),
                                       cmocka_unit_test(arrays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
