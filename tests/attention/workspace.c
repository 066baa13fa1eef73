/* workspace.c - workspaces of attention: what is counted is what every member of a team lays out,
   for every layout over many problems; the size asked for is enough, to the byte; results do not
   depend on what the workspace held. */
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
} layouts[] = {{"transform", transform_layout},
               {"flash", rapt__flash_layout},
               {"flash forward", rapt__flash_forward_layout},
               {"flash backward", rapt__flash_backward_layout},
               {"general", rapt__general_layout},
               {"general forward", rapt__general_forward_layout},
               {"general backward", rapt__general_backward_layout}};
enum { LAYOUTS = sizeof layouts / sizeof *layouts, PROBLEMS = 200 };

static struct choice draw_choice(uint64_t seed)
{
    uint64_t r = seed + 17;
    struct choice c = {.batch = draw_below(&r, 4),
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
                       .radius = 3,
                       .learned = true};
    return c;
}

/* Every member lays out in `bytes` bytes of its own copy of the memory. */
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
        drop_trial(&x);
    }
}

/* Sizes that do not fit are refused, not wrapped. */
static void sizes_that_do_not_fit(void **state)
{
    (void)state;
    rapt_attention a = rapt_attention_make(1, 1, 4, 4, 16);
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
        assert_true(many_keys.overflow);
        assert_true(many_members.overflow);
    }
}

enum { GUARD = 192, MARK = 0x3c };

/* A workspace of exactly the size asked for, full of `fill`, before bytes that nobody may touch. */
static char *guarded(size_t bytes, int fill)
{
    char *memory = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory, fill, bytes);
    memset(memory + bytes, MARK, GUARD);
    return memory;
}

static void expect_guard(const char *memory, size_t bytes, const char *text)
{
    for (int i = 0; i < GUARD; i++)
        if (memory[bytes + (size_t)i] != MARK)
            fail_msg("byte %d behind the workspace was written: %s", i, text);
}

static void the_size_is_enough(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const struct choice c = draw_choice((uint64_t)i);
        float *out[2], *dq[2];
        for (int fill = 0; fill < 2; fill++) {
            struct trial x = make_trial(&c, (uint64_t)i);
            x.a.threads = 1 + i % 3;
            size_t bytes = rapt_attention_workspace(&x.a);
            char *memory = guarded(bytes, fill ? 0xff : 0);
            free(x.workspace);
            x.workspace = memory;
            assert_true(bytes > 0);
            run_forward(&x), run_backward(&x);
            expect_guard(memory, bytes, choice_text(&c));
            out[fill] = zeros(x.no), dq[fill] = zeros(x.nq);
            memcpy(out[fill], x.out, x.no * sizeof(float));
            memcpy(dq[fill], x.dq, x.nq * sizeof(float));
            if (fill) {
                assert_memory_equal(out[0], out[1], x.no * sizeof(float));
                assert_memory_equal(dq[0], dq[1], x.nq * sizeof(float));
            }
            drop_trial(&x);
        }
        for (int n = 0; n < 2; n++) free(out[n]), free(dq[n]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counting_is_handing_out),
                                       cmocka_unit_test(sizes_that_do_not_fit),
                                       cmocka_unit_test(the_size_is_enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
