/* general.c - the general path (one query at a time) at sizes of several panels of keys and of
   widths: results and gradients by the definition; the same bits for any number of threads, every
   instruction set and a query by itself; keys drawn as often as the softmax says; ties. Uses only
   public calls: hard, sampled and Gumbel normalizers, additive scores and local-p always take this
   path. */
#include "judge.h"
#include "skips.h"

static const rapt_score scores[] = {RAPT_SCORE_DOT, RAPT_SCORE_SCALED_DOT, RAPT_SCORE_ADDITIVE,
                                    RAPT_SCORE_LOCATION_AWARE, RAPT_SCORE_COVERAGE};
enum { SCORES = sizeof scores / sizeof *scores };

/* Whether the case would take the flash path, which a softmax of dot products does. Gumbel-softmax
   without noise at temperature 1 is the same on the general path. */
static bool is_flash(const struct choice *c)
{
    return c->normalizer == RAPT_NORMALIZER_SOFTMAX && c->score <= RAPT_SCORE_DOT &&
           c->locality != RAPT_LOCALITY_LOCAL_P;
}

static struct trial make_general(const struct choice *c, uint64_t seed)
{
    struct choice own = *c;
    if (is_flash(c)) own.normalizer = RAPT_NORMALIZER_GUMBEL_SOFTMAX, own.temperature = 1;
    struct trial x = make_trial(&own, seed);
    x.a.noiseless = is_flash(c);
    return x;
}

/* Varies everything but score, locality and normalizer from case to case. Errors of location-aware
   and coverage scores grow from query to query: with wide rows, rounding would decide where windows
   of local-p end. */
static struct choice choose(int turn)
{
    int n = turn;
    struct choice c = {.normalizer = (rapt_normalizer)(n % RAPT_NORMALIZER_COUNT)};
    n /= RAPT_NORMALIZER_COUNT;
    c.locality = (rapt_locality)(n % RAPT_LOCALITY_COUNT);
    c.score = scores[n / RAPT_LOCALITY_COUNT];
    c.batch = 3, c.heads = 2, c.key_heads = turn % 2 ? 2 : 1;
    c.queries = 9, c.keys = turn % 3 ? 21 : 37;
    bool grows = c.score >= RAPT_SCORE_LOCATION_AWARE && c.locality == RAPT_LOCALITY_LOCAL_P;
    c.key_width = c.hidden = turn % 5 || grows ? 5 : 34, c.value_width = turn % 4 ? 3 : 70;
    c.learned = true, c.previous = turn % 3 == 2;
    c.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, c.causal = turn % 4 == 3;
    c.ragged = turn % 2, c.counts = true, c.allowed = PER_ROW;
    c.bias = turn % 3 == 0 ? PER_ROW : NONE;
    c.buckets = turn % 3 != 1 ? 8 : 0, c.distance = 20, c.bidirectional = true;
    c.cap = turn % 2 ? 1.5f : 0, c.temperature = 0.7f;
    c.radius = c.locality == RAPT_LOCALITY_GLOBAL ? 0 : 4.5f;
    c.rewards = c.normalizer == RAPT_NORMALIZER_SAMPLE;
    c.expected = c.rewards && turn % 2;
    c.dropout = turn % 2 && !is_hard(c.normalizer) ? 0.3f : 0;
    return c;
}
enum { TURNS = SCORES * RAPT_LOCALITY_COUNT * RAPT_NORMALIZER_COUNT };

/* Returns false if a window of local-p ends too near a key. */
static bool is_defined(const struct choice *c, uint64_t seed)
{
    struct trial x = make_general(c, seed);
    struct judge j;
    hide(&x);
    run_forward(&x);
    run_backward(&x);
    bool decided = make_judge(&j, &x, choice_text(c));
    if (decided) {
        judge_forward(&j);
        judge_weights(&j);
        judge_backward(&j, 2, 3);
    }
    drop_judge(&j);
    drop_trial(&x);
    return decided;
}

static void by_definition(void **state)
{
    (void)state;
    for (int turn = 0; turn < TURNS; turn++) {
        const struct choice c = choose(turn);
        uint64_t seed = (uint64_t)turn;
        while (!is_defined(&c, seed)) assert_true((seed += TURNS) < 20 * TURNS);
    }
}

/* ---- bits ---- */

static void threads_and_instruction_sets(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 3, 7};
    rapt_isa sets[EQUAL_SETS], used = rapt_isa_used();
    int count = equal_sets("attention/general, instruction sets", sets);
    for (int turn = 0; turn < TURNS; turn += 4) {
        struct choice c = choose(turn);
        c.batch = 4, c.heads = 4, c.queries = 20, c.keys = 90, c.key_width = 37, c.value_width = 21;
        c.radius *= 6;
        struct trial x = make_general(&c, (uint64_t)turn);
        float *first = NULL;
        size_t n;
        for (int i = 0; i < count * 4; i++) {
            assert_int_equal(rapt_isa_use(sets[i / 4]), RAPT_OK);
            x.a.threads = threads[i % 4];
            float *now = results(&x, &n);
            if (first && !same_bits(first, now, n))
                fail_msg("%s: %s with %d threads differs", choice_text(&c),
                         rapt_isa_name(sets[i / 4]), x.a.threads);
            if (i > 0) free(now);
            if (i == 0) first = now;
        }
        free(first);
        drop_trial(&x);
    }
    rapt_isa_use(used);
}

static void queries_alone(void **state)
{
    (void)state;
    for (int n = 0; n < 3 * SCORES - 6; n++) { /* not location-aware and coverage, which go from
                                                  query to query */
        const struct choice c = {.batch = 1,
                                 .heads = 2,
                                 .queries = 12,
                                 .keys = 300,
                                 .key_width = 40,
                                 .value_width = 19,
                                 .score = scores[n / 3],
                                 .normalizer = n % 3 == 0   ? RAPT_NORMALIZER_SOFTMAX
                                               : n % 3 == 1 ? RAPT_NORMALIZER_ARGMAX
                                                            : RAPT_NORMALIZER_STRAIGHT_THROUGH,
                                 .learned = true,
                                 .hidden = 37};
        struct trial x = make_general(&c, (uint64_t)n);
        run_forward(&x);
        rapt_attention a = x.a;
        float out[2 * 19], lse[2];
        a.queries = 1, a.out = (rapt_stride){0, 19, 38};
        void *workspace = make_workspace(&a);
        for (int t = 0; t < c.queries; t++) {
            assert_int_equal(
                rapt_attention_forward(&a, x.q + t * x.a.q.row, x.k, x.v, out,
                                       &(rapt_attention_saved){.size = sizeof(rapt_attention_saved),
                                                               .lse = lse,
                                                               .chosen = x.chosen},
                                       workspace, NULL),
                RAPT_OK);
            for (int h = 0; h < 2; h++) {
                const float *row = x.out + h * x.a.out.head + t * x.a.out.row;
                assert_true(same_bits(out + h * 19, row, 19));
                assert_true(same_bits(lse + h, x.lse + h * c.queries + t, 1));
            }
        }
        free(workspace);
        drop_trial(&x);
    }
}

/* ---- draws ---- */

/* Of 4000 equal queries, each key is chosen as often as its probability says. */
static void draws_follow_the_softmax(void **state)
{
    (void)state;
    const struct choice c = {.batch = 1,
                             .heads = 1,
                             .queries = 4000,
                             .keys = 20,
                             .key_width = 3,
                             .value_width = 1,
                             .allowed = SHARED,
                             .normalizer = RAPT_NORMALIZER_SAMPLE};
    struct trial x = make_trial(&c, 1);
    for (int t = 1; t < c.queries; t++) memcpy(x.q + t * x.a.q.row, x.q, 3 * sizeof(float));
    for (int s = 0; s < c.keys; s++) x.allowed[s] = s != 1;
    run_forward(&x);
    int often[20] = {0};
    double chi = 0;
    for (int t = 0; t < c.queries; t++) often[x.chosen[t]]++;
    for (int s = 0; s < c.keys; s++) {
        double score = 0;
        if (s == 1) continue;
        for (int i = 0; i < 3; i++) score += (double)x.q[i] * (double)x.k[s * x.a.k.row + i];
        double want = c.queries * exp(score / sqrt(3) - (double)x.lse[0]);
        chi += (often[s] - want) * (often[s] - want) / want;
    }
    assert_int_equal(often[1], 0);
    assert_true(chi < 18 + 4 * sqrt(2 * 18.0)); /* 18 degrees of freedom, four standard
                                                   deviations */
    assert_true(chi > 3);
    drop_trial(&x);
}

/* Sequences with expected values have the bits of the softmax for any reward, and choose
   nothing. */
static void expected_values(void **state)
{
    (void)state;
    struct choice c = {.batch = 2,
                       .heads = 2,
                       .queries = 5,
                       .keys = 19,
                       .key_width = 6,
                       .value_width = 4,
                       .score = RAPT_SCORE_ADDITIVE,
                       .normalizer = RAPT_NORMALIZER_SAMPLE,
                       .learned = true,
                       .rewards = true,
                       .expected = true};
    struct trial x = make_trial(&c, 3);
    size_t n, soft_n;
    for (int b = 0; b < 2; b++) x.expected[b] = 1;
    float *got = results(&x, &n);
    for (size_t i = 0; i < x.nlse; i++) assert_int_equal(x.chosen[i], -1);
    x.a.normalizer = RAPT_NORMALIZER_SOFTMAX;
    float *wanted = results(&x, &soft_n);
    assert_true(n == soft_n && same_bits(got, wanted, n));
    free(got);
    free(wanted);
    drop_trial(&x);
}

static void ties_go_to_the_lowest(void **state)
{
    (void)state;
    const struct choice c = {.batch = 1,
                             .heads = 1,
                             .queries = 2,
                             .keys = 70,
                             .key_width = 3,
                             .value_width = 1,
                             .allowed = PER_ROW,
                             .normalizer = RAPT_NORMALIZER_ARGMAX};
    struct trial x = make_trial(&c, 1);
    memset(x.q, 0, x.nq * sizeof(float));
    for (int t = 0; t < 2; t++) /* visible: keys from 2 on, for query 1 from 3 on */
        for (int s = 0; s < c.keys; s++)
            x.allowed[t * x.a.mask.allowed_stride.row + s] = s >= 2 + t;
    run_forward(&x);
    assert_int_equal(x.chosen[0], 2);
    assert_int_equal(x.chosen[1], 3);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_definition),   cmocka_unit_test(threads_and_instruction_sets),
        cmocka_unit_test(queries_alone),   cmocka_unit_test(draws_follow_the_softmax),
        cmocka_unit_test(expected_values), cmocka_unit_test(ties_go_to_the_lowest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
