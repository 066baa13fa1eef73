/* check.c - nonsense gets a status and a message that names the field, and changes nothing. */
#include "trial.h"

#include <limits.h>

static const rapt_attention good = {.batch = 2,
                                    .heads = 4,
                                    .key_heads = 2,
                                    .queries = 3,
                                    .keys = 5,
                                    .key_width = 8,
                                    .value_width = 6,
                                    .q = {96, 24, 8},
                                    .k = {80, 40, 8},
                                    .v = {60, 30, 6},
                                    .out = {72, 18, 6}};

static void refuse(const rapt_attention *a, const char *field)
{
    rapt_message why = {""};
    float x[400] = {0}, out[400];
    memset(out, 0x55, sizeof out);
    assert_int_equal(rapt_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, field)) fail_msg("\"%s\" does not name %s", why.text, field);
    assert_int_equal(rapt_attention_check(a, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_scratch(a), 0);
    assert_int_equal(rapt_attention_forward(a, x, x, x, out, out, x), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_backward(a, x, x, x, x, x, x,
                                             &(rapt_gradients){.q = out, .k = out, .v = out}, x),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_weights(a, x, x, x, 0, 0, 0, 1, out, x), RAPT_BAD_ARGUMENT);
    for (int i = 0; i < 400; i++) assert_memory_equal(out + i, "UUUU", 4);
}

static void sizes(void **state)
{
    (void)state;
    const struct {
        ptrdiff_t offset;
        int value;
        const char *name;
    } wrong[] = {
        {offsetof(rapt_attention, batch), -1, "batch"},
        {offsetof(rapt_attention, heads), 0, "heads"},
        {offsetof(rapt_attention, heads), -4, "heads"},
        {offsetof(rapt_attention, heads), 5, "key_heads"},
        {offsetof(rapt_attention, key_heads), 3, "key_heads"},
        {offsetof(rapt_attention, key_heads), 8, "key_heads"},
        {offsetof(rapt_attention, key_heads), -2, "key_heads"},
        {offsetof(rapt_attention, queries), -1, "queries"},
        {offsetof(rapt_attention, queries), INT_MAX, "queries"},
        {offsetof(rapt_attention, keys), INT_MIN, "keys"},
        {offsetof(rapt_attention, keys), INT_MAX, "keys"},
        {offsetof(rapt_attention, key_width), 0, "key_width"},
        {offsetof(rapt_attention, key_width), INT_MAX, "key_width"},
        {offsetof(rapt_attention, value_width), -6, "value_width"},
        {offsetof(rapt_attention, threads), -1, "threads"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rapt_attention a = good;
        memcpy((char *)&a + wrong[i].offset, &wrong[i].value, sizeof(int));
        refuse(&a, wrong[i].name);
    }
    assert_int_equal(rapt_attention_check(&good, NULL), RAPT_OK);
    assert_int_equal(rapt_attention_check(NULL, NULL), RAPT_BAD_ARGUMENT);
}

static void numbers(void **state)
{
    (void)state;
    const float shares[] = {-0.1f, 1, 2, NAN, INFINITY}, scales[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 5; i++) {
        rapt_attention a = good;
        a.dropout = shares[i];
        refuse(&a, "dropout");
    }
    for (int i = 0; i < 3; i++) {
        rapt_attention a = good;
        a.scale = scales[i];
        refuse(&a, "scale");
    }
    rapt_attention a = good;
    a.score = RAPT_SCORES;
    refuse(&a, "score");
    a.score = (rapt_score)-1;
    refuse(&a, "score");
}

static void masks(void **state)
{
    (void)state;
    rapt_attention a = good;
    a.mask.causal = 1;
    refuse(&a, "corner");
    a.mask.corner = (rapt_corner)3;
    refuse(&a, "corner");
    a.mask.corner = RAPT_CORNER_TOP_LEFT;
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a = good;
    a.mask.window = 1;
    refuse(&a, "corner");
    a.mask.corner = RAPT_CORNER_BOTTOM_RIGHT;
    a.mask.before = -1;
    refuse(&a, "before");
    a.mask.before = INT_MAX, a.mask.after = INT_MIN;
    refuse(&a, "after");
    a.mask.after = INT_MAX;
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a = good;
    a.mask.key_counts = (const int[]){5, 6};
    refuse(&a, "key_counts[1]");
    a.mask.key_counts = (const int[]){-1, 0};
    refuse(&a, "key_counts[0]");
}

static void ragged(void **state)
{
    (void)state;
    rapt_attention a = good;
    a.query_starts = (const int[]){1, 2, 3};
    refuse(&a, "query_starts");
    a.query_starts = (const int[]){0, 3, 2};
    refuse(&a, "query_starts");
    a.query_starts = (const int[]){0, 4, 5};
    refuse(&a, "query_starts");
    a.query_starts = (const int[]){0, 3, 3};
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a.key_starts = (const int[]){0, 5, 11};
    refuse(&a, "key_starts");
    a.key_starts = (const int[]){0, 2, 4};
    a.mask.key_counts = (const int[]){2, 3};
    refuse(&a, "key_counts");
}

static void strides(void **state)
{
    (void)state;
    rapt_attention a = good;
    a.out.row = 0;
    refuse(&a, "out.row");
    a = good, a.out.head = 0;
    refuse(&a, "out.head");
    a = good, a.out.batch = 0;
    refuse(&a, "out.batch");
}

/* Missing arrays; gradients of rows that repeat; a gradient of a bias that is not there. */
static void pointers(void **state)
{
    (void)state;
    rapt_attention a = good;
    float x[400] = {0}, to[400], lse[24] = {0};
    void *s = make_scratch(&a);
    assert_int_equal(rapt_attention_forward(&a, x, x, x, to, NULL, s), RAPT_OK);
    assert_int_equal(rapt_attention_forward(&a, NULL, x, x, to, NULL, s), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_forward(&a, x, NULL, x, to, NULL, s), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_forward(&a, x, x, NULL, to, NULL, s), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_forward(&a, x, x, x, NULL, NULL, s), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_forward(&a, x, x, x, to, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_backward(&a, x, x, x, x, NULL, x,
                                             &(rapt_gradients){.q = to, .k = to, .v = to}, s),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(
        rapt_attention_backward(&a, x, x, x, x, lse, x,
                                &(rapt_gradients){.q = to, .k = to, .v = to, .bias = to}, s),
        RAPT_BAD_ARGUMENT);
    a.k.batch = 0;
    assert_int_equal(rapt_attention_backward(&a, x, x, x, x, lse, x,
                                             &(rapt_gradients){.q = to, .k = to, .v = to}, s),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(
        rapt_attention_backward(&a, x, x, x, x, lse, x, &(rapt_gradients){.q = to, .v = to}, s),
        RAPT_OK);
    free(s);
}

/* Nothing to do is no mistake, and needs no arrays. */
static void empty(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        rapt_attention a =
            rapt_attention_make(i == 0 ? 0 : 2, 2, i == 1 ? 0 : 3, i == 2 ? 0 : 3, 4);
        float out[48], lse[12];
        void *s = make_scratch(&a);
        for (int j = 0; j < 48; j++) out[j] = NAN;
        assert_int_equal(rapt_attention_forward(&a, out, i == 2 ? NULL : out, i == 2 ? NULL : out,
                                                i == 2 ? out : NULL, i == 2 ? lse : NULL, s),
                         i == 2 || i == 0 || i == 1 ? RAPT_OK : RAPT_BAD_ARGUMENT);
        for (int j = 0; i == 2 && j < 48; j++) assert_true(out[j] == 0);
        for (int j = 0; i == 2 && j < 12; j++) assert_true(lse[j] == -INFINITY);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),  cmocka_unit_test(numbers), cmocka_unit_test(masks),
        cmocka_unit_test(ragged), cmocka_unit_test(strides), cmocka_unit_test(pointers),
        cmocka_unit_test(empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
