/* bits.c - a row's bits depend neither on other rows, nor on the number of threads, nor on the
   instruction set. */
#include "bits_choices.h"
#include "skips.h"

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
