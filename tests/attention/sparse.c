/* sparse.c - sparse attention has the bits of the same mask given key by key, and does not read
   keys that no query sees. product.c, general.c and cache.c compare it with its definition. */
#include "trial.h"

#include <limits.h>

static int existing_keys(const rapt_attention *a, int b)
{
    return a->mask.key_counts ? a->mask.key_counts[b] : oracle_keys(a, b);
}

/* Returns a boolean mask [batch][heads][queries][keys] of the sparse keys of a problem, and sets
   the strides. */
static uint8_t *dense_mask(const rapt_attention *a, rapt_stride *stride)
{
    size_t row = (size_t)a->keys, head = row * (size_t)a->queries, batch = head * (size_t)a->heads;
    uint8_t *mask = calloc(batch * (size_t)a->batch + 1, 1), *to = mask;
    *stride = (rapt_stride){(ptrdiff_t)batch, (ptrdiff_t)head, (ptrdiff_t)row};
    for (int b = 0; b < a->batch; b++)
        for (int h = 0; h < a->heads; h++)
            for (int t = 0; t < a->queries; t++, to += row) {
                struct oracle_row r = {.a = a, .b = b, .h = h, .t = t, .position = t};
                if (t >= oracle_queries(a, b)) continue;
                if (a->mask.causal_alignment == RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT)
                    r.position += existing_keys(a, b) - oracle_queries(a, b);
                for (int s = 0; s < oracle_keys(a, b); s++)
                    to[s] = oracle_in_locality(&r, s) && oracle_sees(a, b, h, t, s);
            }
    return mask;
}

static bool is_seen(const rapt_attention *a, const uint8_t *mask, int b, int g, int s)
{
    int group = a->heads / (a->key_heads ? a->key_heads : a->heads);
    for (int h = g * group; h < (g + 1) * group; h++)
        for (int t = 0; t < a->queries; t++)
            if (mask[((size_t)(b * a->heads + h) * (size_t)a->queries + (size_t)t) *
                         (size_t)a->keys +
                     (size_t)s])
                return true;
    return false;
}

static void fill(float *x, const rapt_stride *stride, const int *starts, int b, int g, int s,
                 int width)
{
    ptrdiff_t batch = starts ? starts[b] * stride->row : b * stride->batch;
    for (int i = 0; i < width; i++) x[batch + g * stride->head + s * stride->row + i] = NAN;
}

/* Sets keys and values that no query sees to NaN. Returns their number. */
static int hide_unseen(struct trial *x, const uint8_t *mask)
{
    const rapt_attention *a = &x->a;
    int hidden = 0;
    for (int b = 0; b < a->batch; b++)
        for (int g = 0; g < (a->key_heads ? a->key_heads : a->heads); g++)
            for (int s = 0; s < oracle_keys(a, b); s++) {
                if (is_seen(a, mask, b, g, s)) continue;
                fill(x->k, &a->k, a->key_starts, b, g, s, a->key_width);
                fill(x->v, &a->v, a->key_starts, b, g, s, a->value_width);
                hidden++;
            }
    return hidden;
}

static float *all_weights(struct trial *x, int head, size_t *n)
{
    const rapt_attention *a = &x->a;
    int rows = oracle_queries(a, 0);
    *n = (size_t)rows * (size_t)oracle_keys(a, 0);
    float *weights = zeros(*n);
    void *workspace = make_workspace(a);
    assert_int_equal(rapt_attention_weights(a, x->q, x->k, &x->saved, 0, head, 0, rows, weights,
                                            workspace, NULL),
                     RAPT_OK);
    drop_workspace(a, workspace);
    return weights;
}

/* Compares sparse attention with a boolean mask. Returns the number of unseen keys. */
static int compare(const struct choice *c, uint64_t seed)
{
    struct trial x = make_trial(c, seed);
    rapt_attention sparse = x.a;
    rapt_stride stride;
    size_t n, m;
    uint8_t *mask = dense_mask(&x.a, &stride);
    int hidden = hide_unseen(&x, mask);
    float *one = results(&x, &n), *weights = all_weights(&x, 1, &m);
    x.a.locality = RAPT_LOCALITY_GLOBAL;
    x.a.mask.allowed = mask, x.a.mask.allowed_stride = stride;
    float *two = results(&x, &n), *others = all_weights(&x, 1, &m);
    for (size_t i = 0; i < n; i++)
        if (isnan(one[i])) fail_msg("seed %d, %s: NaN", (int)seed, choice_text(c));
    if (!same_bits(one, two, n)) fail_msg("seed %d, %s: differs", (int)seed, choice_text(c));
    if (!same_bits(weights, others, m)) fail_msg("%s: weights differ", choice_text(c));
    x.a = sparse;
    free(one), free(two), free(weights), free(others), free(mask);
    drop_trial(&x);
    return hidden;
}

static struct choice choose(uint64_t *r)
{
    static const rapt_normalizer normalizers[] = {
        RAPT_NORMALIZER_SOFTMAX, RAPT_NORMALIZER_SINK_SOFTMAX, RAPT_NORMALIZER_SIGMOID,
        RAPT_NORMALIZER_SOFTMAX, RAPT_NORMALIZER_SPARSEMAX,    RAPT_NORMALIZER_ARGMAX};
    int size = 1 << (2 * draw_below(r, 5));
    struct choice c = {.batch = 1 + draw_below(r, 2),
                       .heads = 2,
                       .key_heads = draw_below(r, 2),
                       .queries = 1 + draw_below(r, 2 * size),
                       .keys = 1 + draw_below(r, 3 * size),
                       .key_width = 1 + draw_below(r, 20),
                       .value_width = 1 + draw_below(r, 20),
                       .ragged = draw_below(r, 2),
                       .counts = draw_below(r, 2),
                       .causal_alignment = (rapt_causal_alignment)draw_below(r, 3),
                       .locality = RAPT_LOCALITY_SPARSE,
                       .radius = (float)draw_below(r, 9),
                       .normalizer = normalizers[draw_below(r, 6)],
                       .score = draw_below(r, 6) ? RAPT_SCORE_SCALED_DOT : RAPT_SCORE_ADDITIVE,
                       .learned = true};
    c.causal = c.causal_alignment && draw_below(r, 2);
    if (c.causal_alignment && draw_below(r, 4) == 0) c.window = true, c.before = 9, c.after = 2;
    if (draw_below(r, 3) == 0) c.bias = SHARED | PER_ROW;
    if (draw_below(r, 3) == 0 && !is_hard(c.normalizer)) c.dropout = 0.2f;
    if (draw_below(r, 4) == 0) c.cap = 2;
    return c;
}

static void as_boolean_mask(void **state)
{
    (void)state;
    uint64_t r = 11;
    int hidden = 0;
    for (int i = 0; i < 300; i++) {
        const struct choice c = choose(&r);
        hidden += compare(&c, (uint64_t)i);
    }
    assert_true(hidden > 1000);
}

/* Keys that are packed part by part. */
static void as_boolean_mask_of_many_keys(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const struct choice c = {.batch = 1,
                                 .heads = 2,
                                 .key_heads = 1,
                                 .queries = i % 2 ? 700 : 90,
                                 .keys = 4097 + 700 * i,
                                 .key_width = 8,
                                 .value_width = 16,
                                 .causal_alignment = (rapt_causal_alignment)(i % 3),
                                 .causal = i % 3 && i % 4 == 0,
                                 .locality = RAPT_LOCALITY_SPARSE,
                                 .radius = i < 4 ? 100 : 0.5f};
        compare(&c, (uint64_t)i);
    }
}

static void threads_and_instruction_sets(void **state)
{
    (void)state;
    uint64_t r = 5;
    for (int i = 0; i < 40; i++) {
        const struct choice c = choose(&r);
        struct trial x = make_trial(&c, (uint64_t)i);
        assert_same_results(&x, choice_text(&c), NULL);
        drop_trial(&x);
    }
}

static void first_positions(void **state)
{
    (void)state;
    const struct choice c = {.batch = 2,
                             .heads = 2,
                             .queries = 150,
                             .keys = 150,
                             .key_width = 8,
                             .value_width = 8,
                             .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                             .locality = RAPT_LOCALITY_SPARSE,
                             .radius = 3};
    struct trial x = make_trial(&c, 1);
    size_t n;
    x.a.sparse = (rapt_sparse){.global_count = 3};
    float *one = results(&x, &n);
    x.a.sparse.globals = (const int[]){0, 1, 2};
    float *two = results(&x, &n);
    assert_true(same_bits(one, two, n));
    x.a.sparse.globals = (const int[]){0, 1, 149};
    float *three = results(&x, &n);
    assert_false(same_bits(one, three, n));
    free(one), free(two), free(three);
    drop_trial(&x);
}

/* Without a radius, global positions and blocks, every query is fully masked. */
static void nothing_visible(void **state)
{
    (void)state;
    struct choice c = {.batch = 1,
                       .heads = 2,
                       .queries = 20,
                       .keys = 200,
                       .key_width = 8,
                       .value_width = 8,
                       .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                       .locality = RAPT_LOCALITY_SPARSE,
                       .learned = true};
    for (int normalizer = 0; normalizer < RAPT_NORMALIZER_COUNT; normalizer++) {
        c.normalizer = (rapt_normalizer)normalizer;
        c.rewards = c.normalizer == RAPT_NORMALIZER_SAMPLE;
        struct trial x = make_trial(&c, 1);
        x.a.sparse = (rapt_sparse){0};
        run_forward(&x), run_backward(&x);
        for (size_t i = 0; i < x.no; i++) assert_true(x.out[i] == 0);
        for (size_t i = 0; i < x.nlse; i++) assert_true(x.lse[i] == -INFINITY);
        for (size_t i = 0; i < x.nq; i++) assert_true(x.dq[i] == 0);
        for (size_t i = 0; i < x.nk; i++) assert_true(x.dk[i] == 0);
        for (size_t i = 0; i < x.nv; i++) assert_true(x.dv[i] == 0);
        drop_trial(&x);
    }
}

/* ---- refusals ---- */

static void refuse(const rapt_attention *a, const char *field)
{
    rapt_message why = {""};
    assert_int_equal(rapt_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, field)) fail_msg("%s: \"%s\" is not named", why.text, field);
    assert_true(rapt_attention_workspace(a) == 0);
}

static rapt_attention sparse_problem(rapt_causal_alignment alignment)
{
    rapt_attention a;
    assert_int_equal(rapt_attention_init(&a, sizeof a, 2, 2, 5, 5, 4), RAPT_OK);
    a.locality = RAPT_LOCALITY_SPARSE, a.mask.causal_alignment = alignment;
    return a;
}

static void positions_needed(void **state)
{
    (void)state;
    rapt_attention a = sparse_problem(RAPT_CAUSAL_ALIGNMENT_NONE);
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a.radius = 1;
    refuse(&a, "causal_alignment is not set, but radius");
    a.radius = 0, a.sparse.global_count = 1;
    refuse(&a, "causal_alignment is not set, but sparse.global_count");
}

static void ranges(void **state)
{
    (void)state;
    static const uint8_t blocks[1000];
    const float numbers[] = {-1, NAN, INFINITY};
    rapt_attention a = sparse_problem(RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT);
    for (int i = 0; i < 3; i++) a.radius = numbers[i], refuse(&a, "radius");
    a.radius = 0, a.sparse.global_count = -1;
    refuse(&a, "sparse.global_count is -1");
    a.sparse.global_count = 0, a.sparse.blocks = blocks;
    refuse(&a, "sparse.block_queries is 0");
    a.sparse.block_queries = 1;
    refuse(&a, "sparse.block_keys is 0");
    a.sparse.block_keys = INT_MAX;
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a.sparse.block_stride.row = PTRDIFF_MAX / 2;
    refuse(&a, "sparse.block_stride");
    a.sparse.blocks = NULL;
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
}

static void global_positions(void **state)
{
    (void)state;
    rapt_attention a = sparse_problem(RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT);
    a.sparse.global_count = 3, a.sparse.globals = (const int[]){0, 4, 4};
    refuse(&a, "sparse.globals[2] is 4; it must be 5 to 2147483646");
    a.sparse.globals = (const int[]){-1, 4, 7};
    refuse(&a, "sparse.globals[0] is -1; it must be 0");
    a.sparse.globals = (const int[]){3, 4, INT_MAX};
    refuse(&a, "sparse.globals[2] is 2147483647");
    a.sparse.globals = (const int[]){3, 4, INT_MAX - 1};
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    a.sparse.reserved[3] = 1;
    refuse(&a, "sparse.reserved");
    a.locality = RAPT_LOCALITY_GLOBAL;
    refuse(&a, "sparse.reserved");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_boolean_mask),
        cmocka_unit_test(as_boolean_mask_of_many_keys),
        cmocka_unit_test(threads_and_instruction_sets),
        cmocka_unit_test(first_positions),
        cmocka_unit_test(nothing_visible),
        cmocka_unit_test(positions_needed),
        cmocka_unit_test(ranges),
        cmocka_unit_test(global_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
