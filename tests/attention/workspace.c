/* workspace.c - workspaces of attention: every member of a team lays out what was counted, for
   every layout over many problems; sizes that do not fit are refused; the requested size suffices,
   to the byte. */
#include "trial.h"

#include "attention/flash/flash.h"
#include "attention/general/general.h"
#include "attention/score/score.h"

static void transform_layout(struct arena *arena, const struct bounds *b)
{
    struct transformed t;
    rapt__transform_layout(arena, b, &t);
}

static const struct layout {
    const char *name;
    void (*lay_out)(struct arena *arena, const struct bounds *b);
    bool constant; /* the same for any number of keys beyond some thousands */
} layouts[] = {{"transform", transform_layout, false},
               {"flash forward", rapt__flash_forward_layout, true},
               {"flash backward", rapt__flash_backward_layout, false},
               {"general forward", rapt__general_forward_layout, false},
               {"general backward", rapt__general_backward_layout, false}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, PROBLEMS = 200 };

static struct choice draw_choice(uint64_t seed)
{
    uint64_t r = seed + 17;
    struct choice c = {.batch = 1 + draw_below(&r, 3),
                       .heads = 4,
                       .key_heads = draw_below(&r, 2) ? 2 : 0,
                       .queries = draw_below(&r, 150),
                       .keys = draw_below(&r, 300),
                       .key_width = 2 + 2 * draw_below(&r, 20),
                       .value_width = 1 + draw_below(&r, 40),
                       .ragged = draw_below(&r, 2),
                       .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
                       .score = (rapt_score)draw_below(&r, RAPT_SCORE_COUNT),
                       .locality = (rapt_locality)draw_below(&r, RAPT_LOCALITY_COUNT),
                       .slopes = draw_below(&r, 2),
                       .forget = draw_below(&r, 2),
                       .causal = true,
                       .distances = draw_below(&r, 64),
                       .near_before = draw_below(&r, 9),
                       .near_buckets = 4 * draw_below(&r, 2),
                       .near_distance = 6,
                       .radius = 3,
                       .learned = true};
    if (c.score != RAPT_SCORE_LOCATION_AWARE && c.score != RAPT_SCORE_COVERAGE && !c.distances &&
        draw_below(&r, 3) == 0)
        c.talking = TALKING;
    return c;
}

/* Checks that a path has enough for each of its layouts. */
static void enough(const struct bounds *b)
{
    for (int l = 1; l < LAYOUTS; l++) {
        struct arena one = {0}, path = {0};
        bool flash = strncmp(layouts[l].name, "flash", 5) == 0;
        layouts[l].lay_out(&one, b);
        (flash ? rapt__flash_layout : rapt__general_layout)(&path, b);
        assert_true(path.used >= one.used);
    }
}

/* Checks that every member fits into `bytes` bytes, each with its own copy of the memory. */
static void as_counted(const struct layout *l, const struct bounds *b, const char *text)
{
    struct arena counting = {0};
    l->lay_out(&counting, b);
    assert_false(counting.overflow);
    size_t bytes = counting.used;
    char *memory = aligned_alloc(64, bytes + 64);
    assert_non_null(memory);
    for (int rank = 0; rank < (int)b->team; rank++) {
        struct arena arena = rapt__arena_over(memory, bytes, rank);
        l->lay_out(&arena, b);
        if (arena.overflow || arena.used > bytes)
            fail_msg("%s, member %d: %zu bytes, counted %zu: %s", l->name, rank, arena.used, bytes,
                     text);
        assert_true(rapt__arena_close(&arena));
    }
    free(memory);
}

static void counting_is_handing_out(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const struct choice c = draw_choice((uint64_t)i);
        struct trial x = make_trial(&c, (uint64_t)i);
        const struct projected projected = rapt__projected(&x.a, NULL, NULL);
        const struct bounds b = rapt__bounds(&projected, 1 + i % 3);
        for (int l = 0; l < LAYOUTS; l++) as_counted(&layouts[l], &b, choice_text(&c));
        enough(&b);
        drop_trial(&x);
    }
}

/* Sizes that do not fit are refused, not wrapped. */
static void sizes_that_do_not_fit(void **state)
{
    (void)state;
    rapt_attention a;
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, 1, 4, 4, 16), RAPT_OK);
    struct projected projected = rapt__projected(&a, NULL, NULL);
    projected.additive = projected.recurrent = true;
    const struct bounds small = rapt__bounds(&projected, 2);
    const size_t huge = SIZE_MAX / 16;
    for (int l = 1; l < LAYOUTS; l++) {
        struct bounds keys = small, team = small;
        keys.longest_keys = keys.key_rows = keys.longest_queries = huge;
        team.team = SIZE_MAX / 64;
        struct arena many_keys = {0}, many_members = {0};
        layouts[l].lay_out(&many_keys, &keys);
        layouts[l].lay_out(&many_members, &team);
        assert_int_equal(many_keys.overflow, !layouts[l].constant);
        assert_true(many_members.overflow);
    }
}

/* With many sequences, one of them long, relative biases need only a few floats for each row and
   head. */
static void relative_biases_are_linear(void **state)
{
    (void)state;
    enum { BATCH = 1000, LONG = 1000, ROWS = BATCH - 1 + LONG, HEADS = 8 };
    static const float slopes[HEADS] = {1};
    int starts[BATCH + 1];
    for (int b = 0; b < BATCH; b++) starts[b] = b;
    starts[BATCH] = ROWS;
    for (int n = 0; n < RAPT_NORMALIZER_COUNT; n++) {
        rapt_attention a;
        rapt_attention_init_ragged(&a, sizeof a, BATCH, HEADS, starts, starts, 16);
        a.normalizer = (rapt_normalizer)n, a.threads = 1;
        a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
        size_t without = rapt_attention_workspace(&a);
        a.relative.slopes = slopes;
        size_t with = rapt_attention_workspace(&a);
        assert_true(with > without);
        assert_true(with - without < (size_t)6 * HEADS * ROWS * sizeof(float));
    }
}

/* A thread needs no more for a long sequence than for one of some thousands of queries and keys. */
static void threads_are_cheap(void **state)
{
    (void)state;
    enum { THREADS = 64, LONG = 131072, MEDIUM = 8192 };
    size_t more[2];
    for (int n = 0; n < 2; n++) {
        rapt_attention a;
        int rows = n ? LONG : MEDIUM;
        assert_int_equal(rapt_attention_init(&a, sizeof a, 1, 1, rows, rows, 64), RAPT_OK);
        more[n] = rapt__attention_workspace(&a, THREADS) - rapt__attention_workspace(&a, 2);
    }
    assert_true(more[0] > 0);
    assert_int_equal(more[0], more[1]);
}

/* Checked by the guard after every workspace of trial.h. */
static void the_size_is_enough(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const struct choice c = draw_choice((uint64_t)i);
        struct trial x = make_trial(&c, (uint64_t)i);
        x.a.threads = 1 + i % 3;
        assert_true(rapt_attention_workspace(&x.a) > 0);
        run_forward(&x), run_backward(&x);
        drop_trial(&x);
    }
}

/* An address that malloc may return is refused, not used. */
static void unaligned(void **state)
{
    (void)state;
    rapt_attention a;
    float x[4] = {0}, out[4], lse[1], dx[3][4] = {{0}}, weights[1];
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    const rapt_gradients d = {.size = sizeof d, .q = dx[0], .k = dx[1], .v = dx[2]};
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, 1, 1, 1, 4), RAPT_OK);
    a.threads = 1;
    size_t size = (rapt_attention_workspace(&a) + 127) / 64 * 64;
    char *memory = aligned_alloc(64, size);
    for (int i = 0; i < 64; i++) {
        rapt_status wanted = i ? RAPT_BAD_ARGUMENT : RAPT_OK;
        rapt_message why[3] = {{""}, {""}, {""}};
        char *at = memory + i;
        assert_int_equal(rapt_attention_forward(&a, x, x, x, out, &saved, at, &why[0]), wanted);
        assert_int_equal(
            rapt_attention_backward(&a, x, x, x, out, &saved, x, NULL, &d, at, &why[1]), wanted);
        assert_int_equal(rapt_attention_weights(&a, x, x, &saved, 0, 0, 0, 1, weights, at, &why[2]),
                         wanted);
        for (int n = 0; i && n < 3; n++) assert_non_null(strstr(why[n].text, "workspace"));
    }
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_is_handing_out),    cmocka_unit_test(sizes_that_do_not_fit),
        cmocka_unit_test(relative_biases_are_linear), cmocka_unit_test(threads_are_cheap),
        cmocka_unit_test(the_size_is_enough),         cmocka_unit_test(unaligned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
