/* bits.c - a row's bits depend neither on other rows, nor on the number of threads, nor on the
   instruction set. */
#include "skips.h"
#include "trial.h"

static const struct choice choices[] = {
    {.batch = 2, .heads = 3, .queries = 70, .keys = 150, .key_width = 20, .value_width = 33},
    {.batch = 1,
     .heads = 1,
     .queries = 200,
     .keys = 300,
     .key_width = 64,
     .value_width = 64,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true},
    {.batch = 3,
     .heads = 4,
     .key_heads = 2,
     .queries = 61,
     .keys = 61,
     .key_width = 16,
     .value_width = 16,
     .ragged = true,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .causal = true,
     .dropout = 0.3f},
    {.batch = 2,
     .heads = 2,
     .queries = 40,
     .keys = 260,
     .key_width = 7,
     .value_width = 5,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .window = true,
     .before = 30,
     .after = 2,
     .counts = true},
    {.batch = 2,
     .heads = 2,
     .queries = 130,
     .keys = 140,
     .key_width = 12,
     .value_width = 40,
     .allowed = PER_BATCH | PER_ROW,
     .bias = PER_HEAD | PER_ROW},
    {.batch = 2,
     .heads = 4,
     .key_heads = 2,
     .queries = 60,
     .keys = 290,
     .key_width = 8,
     .value_width = 8,
     .bias = SHARED,
     .dropout = 0.1f},
    {.batch = 3, .heads = 1, .queries = 1, .keys = 37, .key_width = 32, .value_width = 32},
    {.batch = 2,
     .heads = 4,
     .key_heads = 2,
     .queries = 90,
     .keys = 300,
     .key_width = 16,
     .value_width = 24,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .bias = PER_HEAD | PER_ROW,
     .buckets = 8,
     .distance = 50,
     .bidirectional = true,
     .cap = 1.5f,
     .dropout = 0.1f},
    {.batch = 2,
     .heads = 3,
     .queries = 60,
     .keys = 270,
     .key_width = 16,
     .value_width = 16,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .bias = PER_BATCH | PER_ROW,
     .slopes = true},
    {.batch = 3,
     .heads = 4,
     .key_heads = 2,
     .queries = 33,
     .keys = 150,
     .key_width = 20,
     .value_width = 18,
     .ragged = true,
     .score = RAPT_SCORE_ADDITIVE,
     .learned = true,
     .hidden = 37,
     .dropout = 0.2f},
    {.batch = 2,
     .heads = 3,
     .queries = 21,
     .keys = 140,
     .key_width = 12,
     .value_width = 9,
     .score = RAPT_SCORE_LOCATION_AWARE,
     .learned = true,
     .hidden = 18,
     .previous = true,
     .normalizer = RAPT_NORMALIZER_GUMBEL_SOFTMAX,
     .temperature = 0.5f},
    {.batch = 3,
     .heads = 4,
     .key_heads = 2,
     .queries = 23,
     .keys = 130,
     .key_width = 11,
     .value_width = 19,
     .ragged = true,
     .score = RAPT_SCORE_COVERAGE,
     .learned = true,
     .hidden = 21,
     .previous = true,
     .dropout = 0.2f},
    {.batch = 2,
     .heads = 4,
     .key_heads = 1,
     .queries = 50,
     .keys = 160,
     .key_width = 24,
     .value_width = 17,
     .score = RAPT_SCORE_GENERAL,
     .learned = true,
     .locality = RAPT_LOCALITY_LOCAL_P,
     .radius = 20,
     .normalizer = RAPT_NORMALIZER_STRAIGHT_THROUGH},
    {.batch = 3,
     .heads = 2,
     .queries = 70,
     .keys = 145,
     .key_width = 16,
     .value_width = 32,
     .ragged = true,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .score = RAPT_SCORE_COSINE,
     .learned = true,
     .slopes = true,
     .buckets = 16,
     .distance = 40,
     .rotary = RAPT_ROTARY_HALVES,
     .cap = 2,
     .bias = SHARED | PER_ROW},
    {.batch = 2,
     .heads = 2,
     .queries = 60,
     .keys = 130,
     .key_width = 10,
     .value_width = 10,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .score = RAPT_SCORE_LOCATION,
     .learned = true,
     .locality = RAPT_LOCALITY_LOCAL_M,
     .radius = 12.5f,
     .normalizer = RAPT_NORMALIZER_SAMPLE,
     .rewards = true},
    {.batch = 3,
     .heads = 4,
     .key_heads = 2,
     .queries = 130,
     .keys = 170,
     .key_width = 16,
     .value_width = 24,
     .ragged = true,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .bias = PER_HEAD | PER_ROW,
     .dropout = 0.1f,
     .forget = true},
    {.batch = 2,
     .heads = 2,
     .queries = 30,
     .keys = 41,
     .key_width = 16,
     .value_width = 32,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .causal = true,
     .normalizer = RAPT_NORMALIZER_SPARSEMAX,
     .forget = true},
    {.batch = 3,
     .heads = 4,
     .key_heads = 2,
     .queries = 130,
     .keys = 170,
     .key_width = 16,
     .value_width = 24,
     .ragged = true,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .bias = SHARED,
     .dropout = 0.1f,
     .distances = DISTANCE_KEYS | DISTANCE_QUERIES | CONTENT_BIAS | POSITION_BIAS,
     .near_before = 40},
    {.batch = 2,
     .heads = 3,
     .queries = 30,
     .keys = 41,
     .key_width = 10,
     .value_width = 32,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .normalizer = RAPT_NORMALIZER_SINK_SOFTMAX,
     .learned = true,
     .distances = DISTANCE_KEYS | DISTANCE_QUERIES | POSITION_BIAS | DISTANCES_SHARED,
     .near_before = 4,
     .near_after = 5},
    {.batch = 2,
     .heads = 2,
     .queries = 30,
     .keys = 41,
     .key_width = 16,
     .value_width = 32,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .dropout = 0.1f,
     .distances = DISTANCE_KEYS | DISTANCE_VALUES | DISTANCES_SHARED,
     .near_before = 8,
     .near_after = 8},
    /* Short sequences with biases, whose gradient pairs share: those of a head, of a sequence, or
       all; also long sequences, of which members take whole pairs if there are enough. */
    {.batch = 5,
     .heads = 4,
     .queries = 30,
     .keys = 41,
     .key_width = 16,
     .value_width = 32,
     .allowed = PER_BATCH | PER_ROW,
     .bias = PER_HEAD | PER_ROW,
     .cap = 2,
     .dropout = 0.2f},
    {.batch = 5,
     .heads = 4,
     .queries = 30,
     .keys = 41,
     .key_width = 16,
     .value_width = 32,
     .ragged = true,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .causal = true,
     .allowed = PER_HEAD | PER_ROW,
     .bias = PER_BATCH | PER_ROW},
    {.batch = 3,
     .heads = 4,
     .queries = 30,
     .keys = 41,
     .key_width = 16,
     .value_width = 32,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .bias = SHARED | PER_ROW,
     .slopes = true,
     .buckets = 8,
     .distance = 20,
     .bidirectional = true,
     .dropout = 0.1f},
    {.batch = 3,
     .heads = 4,
     .queries = 30,
     .keys = 41,
     .key_width = 16,
     .value_width = 32,
     .bias = SHARED},
    {.batch = 2,
     .heads = 16,
     .queries = 20,
     .keys = 140,
     .key_width = 8,
     .value_width = 8,
     .bias = PER_HEAD | PER_ROW},
    /* So many keys that they are packed part by part. */
    {.batch = 2,
     .heads = 2,
     .key_heads = 1,
     .queries = 260,
     .keys = 4700,
     .key_width = 12,
     .value_width = 10,
     .ragged = true,
     .dropout = 0.1f},
    {.batch = 1,
     .heads = 3,
     .queries = 500,
     .keys = 4300,
     .key_width = 8,
     .value_width = 16,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .window = true,
     .before = 4000,
     .slopes = true},
    {.batch = 1,
     .heads = 1,
     .queries = 300,
     .keys = 4300,
     .key_width = 8,
     .value_width = 16,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .normalizer = RAPT_NORMALIZER_SIGMOID,
     .learned = true,
     .forget = true,
     .forget_size = 0.01f},
    {.batch = 1,
     .heads = 1,
     .queries = 300,
     .keys = 4300,
     .key_width = 8,
     .value_width = 16,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
     .causal = true,
     .distances = DISTANCE_KEYS | DISTANCE_QUERIES,
     .near_before = 100},
    /* So many queries that the team shares a pair backward; some sequences are short. */
    {.batch = 4,
     .heads = 2,
     .queries = 7300,
     .keys = 140,
     .key_width = 8,
     .value_width = 8,
     .ragged = true},
    {.batch = 3,
     .heads = 2,
     .queries = 7300,
     .keys = 140,
     .key_width = 8,
     .value_width = 8,
     .bias = PER_HEAD | PER_ROW},
    {.batch = 2,
     .heads = 2,
     .queries = 7300,
     .keys = 140,
     .key_width = 8,
     .value_width = 8,
     .ragged = true,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .causal = true,
     .forget = true},
    {.batch = 2,
     .heads = 2,
     .queries = 7300,
     .keys = 140,
     .key_width = 8,
     .value_width = 8,
     .ragged = true,
     .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
     .distances = DISTANCE_KEYS | DISTANCE_QUERIES,
     .near_before = 3,
     .near_after = 6},
};
enum { CHOICES = sizeof choices / sizeof *choices };

static void threads_and_instruction_sets(void **state)
{
    (void)state;
    for (int c = 0; c < CHOICES; c++) {
        struct trial x = make_trial(choices + c, (uint64_t)c);
        assert_same_results(&x, choice_text(choices + c), NULL);
        drop_trial(&x);
    }
}

/* Computes rows [t, t + rows) of one sequence and head of x by themselves, with their visible
   keys. */
static void alone(const struct trial *x, int b, int h, int t, int rows, float *out, float *lse)
{
    rapt_attention a = x->a;
    const rapt_stride *q = &a.q, *k = &a.k, *v = &a.v;
    a.batch = a.heads = 1, a.key_heads = 0, a.queries = rows;
    a.out = (rapt_stride){0, 0, a.value_width};
    int counts[] = {x->a.queries - t == rows ? x->a.keys : x->a.keys - (x->a.queries - t - rows)};
    if (a.mask.causal) a.mask.key_counts = counts; /* aligns the mask with these rows */
    void *workspace = make_workspace(&a);
    assert_int_equal(rapt_attention_forward(
                         &a, x->q + b * q->batch + h * q->head + t * q->row,
                         x->k + b * k->batch + h * k->head, x->v + b * v->batch + h * v->head, out,
                         &(rapt_attention_saved){
                             .size = sizeof(rapt_attention_saved), .lse = lse, .chosen = x->chosen},
                         workspace, NULL),
                     RAPT_OK);
    free(workspace);
}

static void rows_alone(void **state)
{
    (void)state;
    const int group[] = {1, 2, 5, 14, 57};
    for (int n = 0; n < 6; n++) { /* few keys are computed head by head unless there are few
                                     queries, and many are packed part by part */
        bool causal = n % 2, few = n / 2 == 1, many = n / 2 == 2;
        const struct choice c = {.batch = 2,
                                 .heads = 2,
                                 .queries = few ? 101 : 131,
                                 .keys = few    ? 119
                                         : many ? 4200
                                                : 270,
                                 .key_width = 24,
                                 .value_width = few ? 48 : 37,
                                 .causal = causal,
                                 .causal_alignment = causal ? RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT
                                                            : RAPT_CAUSAL_ALIGNMENT_NONE};
        struct trial x = make_trial(&c, 5);
        float *out = zeros((size_t)(57 * c.value_width)), lse[57];
        x.a.threads = 1;
        run_forward(&x);
        for (int i = 0; i < 5; i++)
            for (int t = 0; t + group[i] <= c.queries; t += group[i] + i) {
                int b = t % 2, h = t / 2 % 2;
                alone(&x, b, h, t, group[i], out, lse);
                for (int r = 0; r < group[i]; r++) {
                    const float *row =
                        x.out + b * x.a.out.batch + h * x.a.out.head + (t + r) * x.a.out.row;
                    assert_true(same_bits(out + r * c.value_width, row, (size_t)c.value_width));
                    assert_true(same_bits(lse + r, x.lse + (h * 2 + b) * c.queries + t + r, 1));
                }
            }
        free(out);
        drop_trial(&x);
    }
}

/* A ragged batch equals its sequences one by one. */
static void sequences_alone(void **state)
{
    (void)state;
    const struct choice c = {.batch = 5,
                             .heads = 4,
                             .key_heads = 2,
                             .queries = 67,
                             .keys = 140,
                             .key_width = 16,
                             .value_width = 16,
                             .ragged = true};
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct trial x = make_trial(&c, seed);
        run_forward(&x);
        float *out = zeros(x.no), *lse = zeros(x.nlse);
        for (int b = 0; b < c.batch; b++) {
            rapt_attention a = x.a;
            int first_q = a.query_starts[b], first_k = a.key_starts[b];
            a.queries = oracle_queries(&x.a, b), a.keys = oracle_keys(&x.a, b);
            a.batch = 1, a.query_starts = a.key_starts = NULL;
            void *workspace = make_workspace(&a);
            assert_int_equal(
                rapt_attention_forward(&a, x.q + first_q * a.q.row, x.k + first_k * a.k.row,
                                       x.v + first_k * a.v.row, out + first_q * a.out.row,
                                       &(rapt_attention_saved){.size = sizeof(rapt_attention_saved),
                                                               .lse = lse,
                                                               .chosen = x.chosen},
                                       workspace, NULL),
                RAPT_OK);
            free(workspace);
            for (int h = 0; h < c.heads; h++)
                assert_true(same_bits(lse + h * a.queries,
                                      x.lse + h * x.query_starts[c.batch] + first_q,
                                      (size_t)a.queries));
        }
        assert_true(same_bits(out, x.out, x.no));
        free(out), free(lse);
        drop_trial(&x);
    }
}

/* A later key changes nothing for queries it is hidden from. */
static void later_keys(void **state)
{
    (void)state;
    const struct choice c = {.batch = 1,
                             .heads = 1,
                             .queries = 150,
                             .keys = 150,
                             .key_width = 16,
                             .value_width = 16,
                             .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                             .causal = true};
    struct trial x = make_trial(&c, 9);
    run_forward(&x);
    float *out = zeros(x.no);
    memcpy(out, x.out, x.no * sizeof *out);
    for (int s = 1; s < c.keys; s += 7) {
        for (int i = 0; i < c.key_width; i++)
            x.k[s * x.a.k.row + i] += 3, x.v[s * x.a.v.row + i] -= 2;
        run_forward(&x);
        for (int t = 0; t < s; t++)
            assert_true(
                same_bits(out + t * x.a.out.row, x.out + t * x.a.out.row, (size_t)c.value_width));
        assert_false(
            same_bits(out + s * x.a.out.row, x.out + s * x.a.out.row, (size_t)c.value_width));
        memcpy(out, x.out, x.no * sizeof *out);
    }
    free(out);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_instruction_sets),
        cmocka_unit_test(rows_alone),
        cmocka_unit_test(sequences_alone),
        cmocka_unit_test(later_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
