/* huge.c - sizes and strides near the limits of their types: each problem is refused with a message
   that names the field, or accepted with a workspace; nothing overflows on the way (UBSan). */
#include "trial.h"

#include <limits.h>

static const int sizes[] = {INT_MIN, -1, 0, 1, 2, 65536, 1 << 24, 1 << 30, INT_MAX - 63, INT_MAX};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Checks that a problem is accepted, or refused with a message. Returns whether it was accepted. */
static bool decided(const rapt_attention *a)
{
    rapt_message why = {""};
    rapt_status status = rapt_attention_check(a, &why);
    assert_true(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]));
    assert_true((rapt_attention_workspace(a) > 0) == (status == RAPT_OK));
    return status == RAPT_OK;
}

static void initialized(void **state)
{
    (void)state;
    int accepted = 0, all = SIZES * SIZES * SIZES * SIZES * SIZES;
    for (int n = 0; n < all; n++) {
        int at[5];
        for (int i = 0, rest = n; i < 5; i++, rest /= SIZES) at[i] = sizes[rest % SIZES];
        rapt_attention a;
        assert_int_equal(rapt_attention_init(&a, sizeof a, at[0], at[1], at[2], at[3], at[4]),
                         RAPT_OK);
        accepted += decided(&a);
    }
    assert_in_range(accepted, 1000, all / 2);
}

static void refused(const rapt_attention *a, const char *field)
{
    rapt_message why = {""};
    float x[4] = {0};
    assert_int_equal(rapt_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, field)) fail_msg("\"%s\" does not name %s", why.text, field);
    assert_int_equal(rapt_attention_forward(a, x, x, x, x, NULL, x, NULL), RAPT_BAD_ARGUMENT);
}

/* Rows that repeat take no memory, so only their number can be too large. */
static void rows(void **state)
{
    (void)state;
    for (int heads = 1; heads <= 64; heads *= 4)
        for (int over = -1; over <= 200; over++) {
            rapt_attention a;
            int limit = (INT_MAX - 128) / heads;
            if (over > INT_MAX - limit) break;
            assert_int_equal(rapt_attention_init(&a, sizeof a, 1, heads, limit + over, 1, 1),
                             RAPT_OK);
            a.q = (rapt_stride){0};
            if (over <= 0)
                assert_true(decided(&a));
            else
                refused(&a, "queries");
            assert_int_equal(rapt_attention_init(&a, sizeof a, 1, 1, 1, INT_MAX - 128, 1), RAPT_OK);
            a.k = a.v = (rapt_stride){0};
            assert_true(decided(&a));
            a.keys += 1 + over % 128 + (over < 0);
            refused(&a, "keys");
        }
}

static void strides(void **state)
{
    (void)state;
    static const ptrdiff_t far[] = {PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX / 2, PTRDIFF_MIN / 2 + 1};
    static const char *const names[] = {"q:", "k:", "v:", "out:", "mask.allowed", "mask.bias"};
    const uint8_t allowed = 1;
    const float bias = 0;
    for (int n = 0; n < 4 * 3 * 6; n++) {
        rapt_attention a;
        assert_int_equal(rapt_attention_init(&a, sizeof a, 3, 3, 3, 3, 3), RAPT_OK);
        a.mask.allowed = &allowed, a.mask.bias = &bias;
        assert_true(decided(&a));
        rapt_stride *all[] = {
            &a.q, &a.k, &a.v, &a.out, &a.mask.allowed_stride, &a.mask.bias_stride};
        rapt_stride *s = all[n / 12];
        *(n % 3 == 0 ? &s->batch : n % 3 == 1 ? &s->head : &s->row) = far[n / 3 % 4];
        refused(&a, names[n / 12]);
    }
}

/* A filter reaches beyond both ends of the keys. */
static void filters(void **state)
{
    (void)state;
    rapt_attention a;
    const float some = 0;
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, 1, 1, INT_MAX - 128 - 65534, 1), RAPT_OK);
    a.score = RAPT_SCORE_LOCATION_AWARE;
    a.parameters.hidden = a.parameters.channels = 1, a.parameters.filter_width = 32769;
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) a.parameters.array[i] = &some;
    refused(&a, "filter_width");
    a.parameters.filter_width = 32767;
    assert_true(decided(&a));
}

/* There are too many pairs of sequences, all but one of them empty, and heads to be counted. */
static void many_heads(void **state)
{
    (void)state;
    enum { BATCH = 4096 };
    static int starts[BATCH + 1];
    rapt_attention a;
    for (int i = 1; i <= BATCH; i++) starts[i] = 1;
    rapt_attention_init(&a, sizeof a, BATCH, 1 << 18, 1, 1, 1);
    a.query_starts = a.key_starts = starts;
    a.q = a.k = a.v = a.out = (rapt_stride){0, 1, 1 << 19};
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a.heads = 1 << 19;
    refused(&a, "batch times heads");
}

/* There are more sequences than their rows could be counted if all had the same length. */
static void many_sequences(void **state)
{
    (void)state;
    enum { BATCH = 70000, LONGEST = 40000 };
    int *starts = malloc((BATCH + 1) * sizeof *starts);
    rapt_attention a;
    for (int i = 0; i < BATCH; i++) starts[i] = i;
    starts[BATCH] = BATCH - 1 + LONGEST;
    rapt_attention_init(&a, sizeof a, BATCH, 1, LONGEST, 1, 1);
    a.query_starts = starts;
    a.q = a.out = (rapt_stride){0, 1, 1};
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    size_t floats = (size_t)starts[BATCH];
    float *q = calloc(floats, sizeof *q), *k = calloc(BATCH, sizeof *k),
          *out = malloc(floats * sizeof *out);
    for (int i = 0; i < BATCH; i++) k[i] = (float)(i % 101);
    void *s = make_workspace(&a);
    assert_int_equal(rapt_attention_forward(&a, q, k, k, out, NULL, s, NULL), RAPT_OK);
    for (int i = 0; i < BATCH; i++) assert_true(out[starts[i]] == k[i]);
    free(s), free(q), free(k), free(out), free(starts);
}

/* In back-to-back sequences of one row each, a stride of 0 is the distance between rows of
   different sequences. */
static void single_rows(void **state)
{
    (void)state;
    const int starts[] = {0, 1, 2};
    const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float to[8] = {0}, lse[2] = {0};
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, 2, 1, 1, 1, 4);
    a.query_starts = a.key_starts = starts;
    a.out.row = 0;
    refused(&a, "out.row");
    a.out.row = 4;
    void *s = make_workspace(&a);
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    assert_int_equal(rapt_attention_forward(&a, x, x, x, to, &saved, s, NULL), RAPT_OK);
    for (int i = 0; i < 3; i++) {
        rapt_attention b = a;
        const rapt_gradients d = {.size = sizeof d,
                                  .q = i == 0 ? to : NULL,
                                  .k = i == 1 ? to : NULL,
                                  .v = i == 2 ? to : NULL};
        rapt_message why = {""};
        assert_int_equal(rapt_attention_backward(&a, x, x, x, x, &saved, x, NULL, &d, s, NULL),
                         RAPT_OK);
        *(i == 0 ? &b.q.row : i == 1 ? &b.k.row : &b.v.row) = 0;
        assert_int_equal(rapt_attention_backward(&b, x, x, x, x, &saved, x, NULL, &d, s, &why),
                         RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, i == 0   ? "gradients.q"
                                         : i == 1 ? "gradients.k"
                                                  : "gradients.v"));
    }
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initialized), cmocka_unit_test(rows),
        cmocka_unit_test(strides),     cmocka_unit_test(filters),
        cmocka_unit_test(many_heads),  cmocka_unit_test(many_sequences),
        cmocka_unit_test(single_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
