/* errors.c - the table of errors: of out, weights and every gradient, for each score and length,
   compared with those of plain loops in float. The root of the mean square error is relative to
   that of the right values, and the greatest error to the greatest right value, both in roundings
   (2^-23), as geometric means over seeds. In neither norm may an array be less accurate than the
   plain loops by more than chance explains (struct effort). Without arguments lengths go up to 1024
   keys; with "all" up to 65,536 (ctest -C full), for one score if a second argument names it.
   errors.txt keeps that output. */
#include "contest.h"

enum { ARRAYS = NET_ARRAYS + 1, WEIGHTS = NET_ARRAYS, QUICK_LENGTHS = 3, LENGTHS = 7 };
static const int lengths[LENGTHS] = {16, 128, 1024, 256, 4096, 16384, 65536};

static bool full;
static const char *only; /* score; NULL: all */

enum norm { MEAN, MAX, NORMS };
struct norms { /* of one array and seed: errors [0] ours, [1] naive; right values */
    double error[2][NORMS], right[NORMS];
};
struct spread {                       /* over seeds */
    double ours[NORMS], naive[NORMS]; /* sums of logarithms */
    double squares[NORMS];            /* of the logarithm of the quotient */
    int seeds;
};

static void add(struct norms *s, double right, double ours, double naive)
{
    double error[] = {fabs(ours - right), fabs(naive - right)};
    for (int k = 0; k < 2; k++) {
        s->error[k][MEAN] += error[k] * error[k];
        s->error[k][MAX] = fmax(s->error[k][MAX], error[k]);
    }
    s->right[MEAN] += right * right;
    s->right[MAX] = fmax(s->right[MAX], fabs(right));
}

static void add_weights(const struct contest *n, struct norms *s)
{
    size_t cells = (size_t)n->x.a.queries * (size_t)n->x.a.keys;
    float *w = zeros(cells);
    void *workspace = make_workspace(&n->x.a);
    assert_int_equal(rapt_attention_weights(&n->x.a, n->x.q, n->x.k, &n->x.saved, 0, 0, 0,
                                            n->x.a.queries, w, workspace, NULL),
                     RAPT_OK);
    for (size_t i = 0; i < cells; i++) add(s, n->d.p[i], (double)w[i], (double)n->f.p[i]);
    drop_workspace(&n->x.a, workspace);
    free(w);
}

/* Adds the errors of one seed. Those below a hundredth of a rounding count as a hundredth. */
static void add_seed(struct spread *to, const struct norms *s)
{
    if (s->right[MEAN] == 0) return; /* the score does not read it */
    for (int norm = 0; norm < NORMS; norm++) {
        double log_of[2];
        for (int k = 0; k < 2; k++) {
            double x = s->error[k][norm] / s->right[norm];
            log_of[k] = log(fmax(norm == MEAN ? sqrt(x) : x, 0.01 * 0x1p-23) * 0x1p23);
        }
        double quotient = log_of[0] - log_of[1];
        to->ours[norm] += log_of[0], to->naive[norm] += log_of[1];
        to->squares[norm] += quotient * quotient;
    }
    to->seeds++;
}

static void add_contest(const struct choice *c, uint64_t seed, struct spread spread[ARRAYS])
{
    struct contest n = make_contest(c, seed);
    struct norms norms[ARRAYS] = {0};
    for (int i = 0; i < NET_ARRAYS; i++)
        for (size_t e = 0; e < n.array[i].n; e++)
            add(norms + i, n.d.to[i][e], (double)n.array[i].to[in_trial(&n, i, e)],
                (double)n.f.to[i][e]);
    add_weights(&n, norms + WEIGHTS);
    for (int i = 0; i < ARRAYS; i++) add_seed(spread + i, norms + i);
    drop_contest(&n);
}

/* How often a length is tried, by default and by "all". chance: how many standard errors a mean
   over that many seeds exceeds as rarely as a normal distribution exceeds three standard
   deviations: quantiles of Student's t. */
struct effort {
    int longest, queries;
    struct {
        int seeds;
        double chance;
    } tries[2];
};
static const struct effort efforts[] = {{128, 16, {{32, 3.26}, {256, 3.03}}},
                                        {1024, 16, {{8, 4.53}, {64, 3.12}}},
                                        {4096, 16, {{8, 4.53}, {32, 3.26}}},
                                        {16384, 8, {{4, 9.22}, {24, 3.36}}},
                                        {65536, 8, {{4, 9.22}, {4, 9.22}}}};

static const struct effort *effort_of(int length)
{
    const struct effort *e = efforts;
    while (length > e->longest) e++;
    return e;
}

/* Prints an array's errors, ours/naive, and returns whether ours are larger by more than chance. */
static bool print_spread(const struct spread *s, const char *name, double chance)
{
    bool far = false;
    if (s->seeds == 0) return false;
    printf(" %s", name);
    for (int norm = 0; norm < NORMS; norm++) {
        double n = s->seeds, ours = s->ours[norm] / n, naive = s->naive[norm] / n;
        double quotient = ours - naive, variance = s->squares[norm] / n - quotient * quotient;
        bool above = quotient > chance * sqrt(fmax(variance, 0) / (n - 1));
        printf(" %.2f/%.2f%s", exp(ours), exp(naive), above ? "(!)" : "");
        far |= above;
    }
    return far;
}

static int table_row(int score, int length, float query_size)
{
    struct spread spread[ARRAYS] = {0};
    const struct effort *effort = effort_of(length);
    int width = full ? 64 : 16, far = 0;
    const struct choice c = {.batch = 1,
                             .heads = 1,
                             .queries = effort->queries,
                             .keys = length,
                             .key_width = width,
                             .value_width = width,
                             .score = (rapt_score)score,
                             .learned = true,
                             .hidden = score >= RAPT_SCORE_ADDITIVE ? 16 : width,
                             .query_size = query_size};
    for (int seed = 1; seed <= effort->tries[full].seeds; seed++)
        add_contest(&c, (uint64_t)(1000 * score + seed), spread);
    printf("%s %d, queries of %g:", rapt_score_name((rapt_score)score), length, (double)query_size);
    for (int i = 0; i < ARRAYS; i++)
        far += print_spread(spread + i, i == WEIGHTS ? "weights" : net_names[i],
                            effort->tries[full].chance);
    printf("\n");
    fflush(stdout);
    return far;
}

static void table(void **state)
{
    (void)state;
    int far = 0;
    printf("score and keys: array, root of mean square, greatest error, each ours/naive\n");
    for (int score = 0; score < RAPT_SCORE_COUNT; score++) {
        if (only && strcmp(only, rapt_score_name((rapt_score)score)) != 0) continue;
        for (int i = 0; i < (full ? LENGTHS : QUICK_LENGTHS); i++)
            for (int size = 1; size <= 8; size += 7)
                far += table_row(score, lengths[i], (float)size);
    }
    assert_int_equal(far, 0);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(table)};
    full = count > 1 && strcmp(arguments[1], "all") == 0;
    only = count > 2 ? arguments[2] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
