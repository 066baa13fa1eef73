/* pick.c - the most likely tokens and log sums of rows with any logits, against the definition. The
   logits are the weights of a product of depth 1. */
#include "generate/small_search.h"

#include "generate/generate.h"

enum { ROWS = 70, WIDEST = 10001, BEST = 7 };

static const int vocabs[] = {1, 5, 4095, 4096, 4097, 8200, WIDEST};
static const float factors[] = {1, -1, 0.5f, -0.25f, 2};

struct trial {
    struct linear output;
    struct picks picks;
    int rows;
    float x[ROWS], sums[ROWS], section_sums[ROWS * 3];
    int counts[ROWS], tokens[ROWS * BEST];
    float best[ROWS * BEST];
    float *logits;
};

static void work(struct team *team, void *argument)
{
    struct trial *t = argument;
    struct exec_context c = {team, rapt__kernels(), NULL, NULL, NULL};
    rapt__pick(&c, &t->output, t->x, t->rows, &t->picks, t->logits);
}

/* Ranks the tokens of a row from likely to unlikely, equal ones by number; returns how many. */
static int rank(const float *logits, int vocab, int max, int *tokens)
{
    int count = 0;
    for (bool found = true; found && count < max; count += found) {
        found = false;
        for (int i = 0; i < vocab; i++) {
            bool used = !(logits[i] > -INFINITY);
            for (int j = 0; j < count && !used; j++) used = tokens[j] == i;
            if (used || (found && !(logits[i] > logits[tokens[count]]))) continue;
            tokens[count] = i, found = true;
        }
    }
    return count;
}

static void check_row(const struct trial *t, int r, const float *weight)
{
    static float row[WIDEST];
    int vocab = t->output.out, wanted[BEST];
    double sum = 0, max = -INFINITY;
    for (int i = 0; i < vocab; i++)
        row[i] = fmaf(t->x[r], weight[i], t->output.bias ? t->output.bias[i] : 0);
    for (int i = 0; i < t->picks.suppressed_count; i++) row[t->picks.suppressed[i]] = -INFINITY;
    int count = rank(row, vocab, t->picks.max, wanted);
    assert_int_equal(t->counts[r], count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(t->tokens[r * t->picks.max + i], wanted[i]);
        assert_true(t->best[r * t->picks.max + i] == row[wanted[i]]);
    }
    for (int i = 0; i < vocab; i++) max = fmax(max, (double)row[i]);
    for (int i = 0; i < vocab; i++) sum += exp((double)row[i] - (max > -INFINITY ? max : 0));
    double log_sum = (max > -INFINITY ? max : 0) + log(sum);
    if (isfinite(log_sum))
        assert_true(fabs((double)t->sums[r] - log_sum) < 1e-6 * (1 + fabs(log_sum)));
    else
        assert_true(isnan(log_sum) ? isnan(t->sums[r]) : (double)t->sums[r] == log_sum);
}

/* Fills x with a kind of logits: random, many ties, rising, some or all -infinity, one NaN. */
static void fill_kind(float *x, int n, int kind, uint64_t seed)
{
    for (int i = 0; i < n; i++) {
        x[i] = (float)(16 * rapt__uniform(seed, (uint64_t)i) - 8);
        if (kind == 1) x[i] = roundf(x[i] / 4);
        if (kind == 2) x[i] = (float)i / 1024;
        if (kind == 3 && i % 3) x[i] = -INFINITY;
        if (kind == 4) x[i] = -INFINITY;
        if (kind == 5 && i == n / 2) x[i] = NAN;
    }
}

/* Makes one trial. Rows have factors, which are negative only if all logits are finite. */
static void try_shape(struct trial *t, int vocab, int kind, int rows, int max, int threads)
{
    static float weight[WIDEST], bias[WIDEST], panels[WIDEST + LANES];
    static const int32_t suppressed[] = {0, 4, 4096, 4096, 10000};
    fill_kind(weight, vocab, kind, (uint64_t)(vocab + kind));
    fill_kind(bias, vocab, 0, 5);
    memset(panels, 0, sizeof panels);
    memcpy(panels, weight, sizeof *weight * (size_t)vocab); /* with depth 1, a panel is a row */
    t->rows = rows;
    t->output = (struct linear){
        .weight = panels, .bias = kind == 0 && rows % 2 ? bias : NULL, .in = 1, .out = vocab};
    t->picks.max = max;
    t->picks.suppressed = suppressed;
    t->picks.suppressed_count = 0;
    while (kind % 2 && t->picks.suppressed_count < 5 &&
           suppressed[t->picks.suppressed_count] < vocab)
        t->picks.suppressed_count++;
    for (int r = 0; r < rows; r++) t->x[r] = kind < 3 ? factors[r % 5] : factors[r % 2 * 4];
    rapt__team_run(threads, work, t);
    for (int r = 0; r < rows; r++) check_row(t, r, weight);
}

static void begin(struct trial *t)
{
    memset(t, 0, sizeof *t);
    t->picks = (struct picks){.counts = t->counts,
                              .tokens = t->tokens,
                              .logits = t->best,
                              .log_sums = t->sums,
                              .section_sums = t->section_sums,
                              .sections = 3};
    t->logits = malloc(sizeof *t->logits * ROWS * WIDEST);
    assert_non_null(t->logits);
}

static void test_definition(void **state)
{
    static const int rows[] = {1, 3, 33, ROWS}, bests[] = {1, 2, 5, BEST};
    static struct trial t;
    (void)state;
    begin(&t);
    for (size_t v = 0; v < sizeof vocabs / sizeof *vocabs; v++)
        for (int kind = 0; kind < 6; kind++)
            for (int i = 0; i < 4; i++)
                try_shape(&t, vocabs[v], kind, rows[(i + kind) % 4], bests[i], 1 + i % 3);
    free(t.logits);
}

/* The bits of a row do not depend on the number of rows or threads, or on `keep`. */
static void test_bits(void **state)
{
    static struct trial one, many;
    (void)state;
    begin(&one), begin(&many);
    for (int keep = 0; keep < 2; keep++) {
        many.picks.keep = keep;
        try_shape(&many, WIDEST, 0, ROWS, 5, 1 + 2 * keep);
        try_shape(&one, WIDEST, 0, 2, 5, 1);
        assert_memory_equal(one.sums, many.sums, 2 * sizeof *one.sums);
        assert_memory_equal(one.best, many.best, 2 * 5 * sizeof *one.best);
        assert_memory_equal(one.tokens, many.tokens, 2 * 5 * sizeof *one.tokens);
        for (int i = 0; keep && i < WIDEST; i++)
            assert_true(many.logits[WIDEST + i] == -many.logits[i]);
    }
    free(one.logits), free(many.logits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition),
                                       cmocka_unit_test(test_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
