/* ahead.c - rows that are prefetched with the tiles of the pair before: which ones, and how many at
   a time; and a problem so large that this happens, which has the bits of its sequences computed
   one by one. */
#include "attention/flash/flash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_rows(void **state)
{
    (void)state;
    static const float first[5 * 40], second[7 * 50];
    struct rows_ahead ahead = {.parts = 0};
    rapt__ahead_add(&ahead, first, 40, 5, 33);
    rapt__ahead_add(&ahead, first, 40, 0, 33);
    rapt__ahead_add(&ahead, first, 40, 129, 33);
    rapt__ahead_add(&ahead, second, 50, 7, 16);
    assert_int_equal(ahead.parts, 2);
    rapt__ahead_spread(&ahead, 4);
    rapt__ahead_tile(&ahead);
    assert_int_equal(ahead.at, 0);
    assert_ptr_equal(ahead.part[0].x, first + 3 * 40);
    rapt__ahead_tile(&ahead);
    assert_int_equal(ahead.at, 1);
    assert_ptr_equal(ahead.part[1].x, second + 50);
    rapt__ahead_tile(&ahead);
    rapt__ahead_tile(&ahead);
    assert_int_equal(ahead.at, 2);
    rapt__ahead_tile(&ahead);
    assert_int_equal(ahead.at, 2);
}

static void test_full(void **state)
{
    (void)state;
    static const float x[3 * 16];
    struct rows_ahead ahead = {.parts = 0};
    for (int i = 0; i < AHEAD_PARTS + 2; i++) rapt__ahead_add(&ahead, x, 16, 3, 16);
    assert_int_equal(ahead.parts, AHEAD_PARTS);
    rapt__ahead_spread(&ahead, 1);
    rapt__ahead_tile(&ahead);
    assert_int_equal(ahead.at, AHEAD_PARTS);
    for (int i = 0; i < AHEAD_PARTS; i++) assert_int_equal(ahead.part[i].rows, 0);
}

enum { HEADS = 2, WIDTH = 32, ROW = HEADS * WIDTH, LENGTHS = 48, LONG = ATTEND_BLOCK + 2 };

struct arrays {
    float *x, *out, *statistics, *dq, *dk, *dv;
};

static float *zeros(size_t count)
{
    float *x = calloc(count, sizeof *x);
    assert_non_null(x);
    return x;
}

static void check(rapt_status status, const rapt_message *why)
{
    if (status) fail_msg("%s: %s", rapt_status_text(status), why->text);
}

static void *space(const rapt_attention *a)
{
    enum { ALIGNMENT = 64 };
    void *workspace =
        aligned_alloc(ALIGNMENT, rapt__round_up_size(rapt_attention_workspace(a), ALIGNMENT));
    assert_non_null(workspace);
    return workspace;
}

/* Runs self-attention of x, and its gradients with x as that of the output. */
static void run(const rapt_attention *a, const struct arrays *m)
{
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = m->statistics};
    const rapt_gradients d = {.size = sizeof d, .q = m->dq, .k = m->dk, .v = m->dv};
    void *workspace = space(a);
    rapt_message why = {.text = ""};
    check(rapt_attention_forward(a, m->x, m->x, m->x, m->out, &saved, workspace, &why), &why);
    check(rapt_attention_backward(a, m->x, m->x, m->x, m->out, &saved, m->x, NULL, &d, workspace,
                                  &why),
          &why);
    free(workspace);
}

static bool far(const rapt_attention *a, bool gradients)
{
    const struct projected c = {.a = a, .width = a->key_width};
    return rapt__flash_rows_far(&c, gradients);
}

/* Makes sequences of lengths 1 .. LENGTHS in turn and sometimes LONG, until the rows are far. */
static int *lengths_of(rapt_attention *a, int *count)
{
    size_t capacity =
        16 * rapt__second_level_size() / (ROW * sizeof(float)) / LENGTHS + 2 * LENGTHS;
    int *starts = calloc(capacity, sizeof *starts);
    assert_non_null(starts);
    for (*count = 1; (size_t)*count < capacity; ++*count) {
        int n = *count - 1;
        starts[n + 1] = starts[n] + (n % 16 == 9 ? LONG : 1 + n * 7 % LENGTHS);
        rapt_attention_init_ragged(a, sizeof *a, *count, HEADS, starts, starts, WIDTH);
        if (far(a, false)) break;
    }
    return starts;
}

static void test_far(void **state)
{
    (void)state;
    rapt_attention a, one;
    int sequences, *starts = lengths_of(&a, &sequences);
    size_t rows = (size_t)starts[sequences], size = rows * ROW;
    assert_true(far(&a, false) && far(&a, true));
    struct arrays all = {zeros(size), zeros(size), zeros(2 * HEADS * rows),
                         zeros(size), zeros(size), zeros(size)};
    struct arrays part = {all.x,       zeros(size), zeros(2 * HEADS * rows),
                          zeros(size), zeros(size), zeros(size)};
    for (size_t i = 0; i < size; i++) all.x[i] = (float)rapt__uniform(1, i) - 0.5f;
    a.threads = 2;
    run(&a, &all);
    for (int b = 0; b < sequences; b++) {
        size_t at = (size_t)starts[b] * ROW, length = (size_t)(starts[b + 1] - starts[b]);
        const int alone[] = {0, (int)length};
        struct arrays p = {all.x + at,   part.out + at, part.statistics,
                           part.dq + at, part.dk + at,  part.dv + at};
        rapt_attention_init_ragged(&one, sizeof one, 1, HEADS, alone, alone, WIDTH);
        assert_false(far(&one, true));
        run(&one, &p);
    }
    assert_memory_equal(all.out, part.out, size * sizeof(float));
    assert_memory_equal(all.dq, part.dq, size * sizeof(float));
    assert_memory_equal(all.dk, part.dk, size * sizeof(float));
    assert_memory_equal(all.dv, part.dv, size * sizeof(float));
    float *arrays[] = {all.x,    all.out,         all.statistics, all.dq,  all.dk, all.dv,
                       part.out, part.statistics, part.dq,        part.dk, part.dv};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    free(starts);
}

/* With many queries and no keys, k and v may be NULL and nothing is read from them. */
static void test_no_keys(void **state)
{
    (void)state;
    rapt_attention a;
    int rows = (int)(4 * rapt__second_level_size() / (ROW * sizeof(float))) + 1;
    const int starts[] = {0, rows, 2 * rows}, none[] = {0, 0, 0};
    size_t size = 2 * (size_t)rows * ROW;
    float *x = zeros(size), *out = zeros(size);
    for (size_t i = 0; i < size; i++) out[i] = 1;
    rapt_attention_init_ragged(&a, sizeof a, 2, HEADS, starts, none, WIDTH);
    assert_true(far(&a, false));
    void *workspace = space(&a);
    rapt_message why = {.text = ""};
    check(rapt_attention_forward(&a, x, NULL, NULL, out, NULL, workspace, &why), &why);
    for (size_t i = 0; i < size; i++) assert_true(out[i] == 0);
    free(workspace);
    free(out);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_full),
                                       cmocka_unit_test(test_far), cmocka_unit_test(test_no_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
