/* block_long.c - blocks of every score, locality and normalizer with sequences as long as their
   limits, forward and backward: no byte after a block's memory is written, and a sequence has the
   bits that it has by itself. Only scores that learn a row for each position have another limit. A
   source without rows may be NULL. */
#include "model/variants.h"

enum { ROWS = 40, SOURCE_ROWS = 50, WIDTH = 8, BATCH = 3, GUARD = 4096, FILL = 0x5a };

static const int one[] = {0, ROWS, ROWS, ROWS},
                 one_source[] = {0, SOURCE_ROWS, SOURCE_ROWS, SOURCE_ROWS},
                 three[] = {0, 3, 37, ROWS}, three_sources[] = {0, 1, 46, SOURCE_ROWS};

/* ---- memory followed by bytes that must not change ---- */

static void *guarded_alloc(void *user, size_t bytes)
{
    (void)user;
    char *memory = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory + bytes, FILL, GUARD);
    return memory;
}

static void guarded_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    for (size_t i = 0; memory && i < GUARD; i++)
        assert_int_equal(((unsigned char *)memory)[bytes + i], FILL);
    free(memory);
}

/* ---- a block and its arrays ---- */

struct trial {
    rapt_block *block;
    float *parameters, *gradients;
    float x[ROWS * WIDTH], source[SOURCE_ROWS * WIDTH], dy[ROWS * WIDTH];
    float y[ROWS * WIDTH], dx[ROWS * WIDTH], dsource[SOURCE_ROWS * WIDTH];
    bool reads; /* it has a source */
};

static void fill(float *x, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) x[i] = small_uniform(seed, i);
}

static void begin(struct trial *t, rapt_block_kind kind, const rapt_config *config)
{
    const rapt_allocator allocator = {guarded_alloc, guarded_free, NULL};
    rapt_block_limits limits = {.size = sizeof limits, .batch = BATCH, .rows = ROWS, .threads = 2};
    rapt_message why = {""};
    memset(t, 0, sizeof *t);
    t->reads = kind == RAPT_BLOCK_KIND_DECODER || kind == RAPT_BLOCK_KIND_CROSS_ATTENTION;
    if (t->reads) limits.source_rows = SOURCE_ROWS;
    if (rapt_block_create(&t->block, kind, config, &limits, &allocator, &why))
        fail_msg("%s", why.text);
    size_t bytes = (rapt_block_floats(t->block) * sizeof(float) + 63) / 64 * 64;
    t->parameters = aligned_alloc(64, bytes), t->gradients = aligned_alloc(64, bytes);
    memset(t->gradients, 0, bytes);
    assert_int_equal(rapt_block_init(t->block, 7, t->parameters, NULL), RAPT_OK);
    fill(t->x, ROWS * WIDTH, 1), fill(t->source, SOURCE_ROWS * WIDTH, 2);
    fill(t->dy, ROWS * WIDTH, 3);
}

static void end(struct trial *t)
{
    rapt_block_free(t->block);
    free(t->parameters);
    free(t->gradients);
}

static rapt_block_rows rows_of(const struct trial *t, int learning, const int *starts,
                               const int *source_starts)
{
    rapt_block_rows r = {
        .size = sizeof r, .starts = starts, .batch = BATCH, .learning = learning, .seed = 9};
    if (t->reads) r.source = t->source, r.source_starts = source_starts;
    return r;
}

static void finite(const char *what, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i])) fail_msg("%s[%zu] is %g", what, i, (double)x[i]);
}

static void learn(struct trial *t, const int *starts, const int *source_starts)
{
    const rapt_block_rows r = rows_of(t, 1, starts, source_starts);
    rapt_message why = {""};
    if (rapt_block_forward(t->block, t->parameters, &r, t->x, t->y, &why) ||
        rapt_block_backward(t->block, t->parameters, &r, t->dy, t->dx, t->dsource, t->gradients,
                            &why))
        fail_msg("%s", why.text);
    finite("y", t->y, ROWS * WIDTH), finite("dx", t->dx, ROWS * WIDTH);
    finite("gradients", t->gradients, rapt_block_floats(t->block));
}

/* Compares the second of three sequences by itself. */
static void compare_alone(struct trial *t)
{
    rapt_block_rows r = rows_of(t, 0, three, three_sources);
    const int starts[] = {0, three[2] - three[1]},
              sources[] = {0, three_sources[2] - three_sources[1]};
    static float y[ROWS * WIDTH];
    assert_int_equal(rapt_block_forward(t->block, t->parameters, &r, t->x, t->y, NULL), RAPT_OK);
    r.batch = 1, r.starts = starts;
    if (t->reads) r.source = t->source + three_sources[1] * WIDTH, r.source_starts = sources;
    assert_int_equal(
        rapt_block_forward(t->block, t->parameters, &r, t->x + three[1] * WIDTH, y, NULL), RAPT_OK);
    assert_memory_equal(y, t->y + three[1] * WIDTH, (size_t)(starts[1] * WIDTH) * sizeof *y);
}

static void test_any_length(void **state)
{
    (void)state;
    static const rapt_block_kind kinds[] = {
        RAPT_BLOCK_KIND_ENCODER, RAPT_BLOCK_KIND_DECODER, RAPT_BLOCK_KIND_DECODER_ONLY,
        RAPT_BLOCK_KIND_SELF_ATTENTION, RAPT_BLOCK_KIND_CROSS_ATTENTION};
    for (int i = 0; i < VARIANTS; i++) {
        rapt_config c = variant(i);
        struct trial t;
        c.positions = SOURCE_ROWS;
        begin(&t, kinds[i % COUNT(kinds)], &c);
        learn(&t, one, one_source);
        learn(&t, three, three_sources);
        compare_alone(&t);
        end(&t);
    }
}

/* ---- positions ---- */

static void refused(struct trial *t, const int *starts, const int *source_starts, const char *says)
{
    const rapt_block_rows r = rows_of(t, 0, starts, source_starts);
    rapt_message why = {""};
    assert_int_equal(rapt_block_forward(t->block, t->parameters, &r, t->x, t->y, &why),
                     RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, says);
}

static void accepted(struct trial *t, const int *starts, const int *source_starts)
{
    const rapt_block_rows r = rows_of(t, 0, starts, source_starts);
    rapt_message why = {""};
    if (rapt_block_forward(t->block, t->parameters, &r, t->x, t->y, &why)) fail_msg("%s", why.text);
}

/* A decoder's self-attention reads keys of x, its cross-attention keys of the source. */
static void test_positions(void **state)
{
    (void)state;
    static const int ten[] = {0, 10, 10, 14}, nine[] = {0, 9, 9, 18},
                     long_source[] = {0, 2, 30, 30};
    rapt_config c = {.size = sizeof c, .width = WIDTH, .heads = 2, .positions = 9};
    struct trial t;
    c.self_score = RAPT_SCORE_LOCATION;
    begin(&t, RAPT_BLOCK_KIND_DECODER, &c);
    refused(&t, ten, ten, "starts: sequence 0 has 10 rows, but the maximum is 9");
    accepted(&t, nine, long_source);
    end(&t);
    c.self_score = RAPT_SCORE_DOT, c.cross_score = RAPT_SCORE_LOCATION;
    begin(&t, RAPT_BLOCK_KIND_DECODER, &c);
    refused(&t, nine, long_source, "source_starts: sequence 1 has 28 rows, but the maximum is 9");
    accepted(&t, ten, nine);
    end(&t);
    begin(&t, RAPT_BLOCK_KIND_CAUSAL_ATTENTION, &c); /* it has no cross-attention */
    accepted(&t, one, NULL);
    end(&t);
    rapt_block_limits limits = {.size = sizeof limits, .batch = 1, .rows = 1, .source_rows = 1};
    rapt_block *block = NULL;
    rapt_message why = {""};
    c.positions = 0;
    assert_int_equal(
        rapt_block_create(&block, RAPT_BLOCK_KIND_CROSS_ATTENTION, &c, &limits, NULL, &why),
        RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "positions is 0"));
    assert_null(block);
}

/* If the sources have no rows, cross-attention gives its bias. */
static void test_no_source_rows(void **state)
{
    (void)state;
    static const int none[BATCH + 1];
    const rapt_config c = {.size = sizeof c, .width = WIDTH, .heads = 2, .ffn_width = 6};
    struct trial t;
    begin(&t, RAPT_BLOCK_KIND_DECODER, &c);
    rapt_block_rows r = rows_of(&t, 1, three, none);
    float first[ROWS * WIDTH];
    learn(&t, three, none);
    memcpy(first, t.y, sizeof first);
    r.source = NULL;
    assert_int_equal(rapt_block_forward(t.block, t.parameters, &r, t.x, t.y, NULL), RAPT_OK);
    assert_memory_equal(first, t.y, sizeof first);
    assert_int_equal(
        rapt_block_backward(t.block, t.parameters, &r, t.dy, t.dx, NULL, t.gradients, NULL),
        RAPT_OK);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_length),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_no_source_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
