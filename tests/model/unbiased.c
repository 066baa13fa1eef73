/* unbiased.c - the mean of the gradient over all possible draws, weighted by their probability, is
   the gradient of the expected loss, for any baseline and share of expected values. With
   reward_decay it is not. The expected loss is summed and differentiated with the definition
   (oracle/transformer.c), whose draws are forced to each outcome in turn. */
#include "model/small.h"

#include "oracle/transformer.h"
#include "oracle/transformer_layers.h"

enum { LAYERS = 2, ROWS = 2, KEYS = 2, DRAWS = LAYERS * ROWS, OUTCOMES = 1 << DRAWS, CROSS = 1 };
enum { SOFT = OUTCOMES }; /* the outcome of a sentence that attends to expected values */
static const int source_lengths[] = {KEYS}, target_lengths[] = {ROWS + 1};

/* Two decoder layers: the key that a row draws in the first layer changes what later rows read. */
static const rapt_config config = {.size = sizeof(rapt_config),
                                   .source_vocab = 5,
                                   .target_vocab = 6,
                                   .positions = 4,
                                   .width = 4,
                                   .heads = 1,
                                   .decoder_layers = LAYERS,
                                   .encoder_layers = 1,
                                   .cross_normalizer = RAPT_NORMALIZER_SAMPLE};

struct scene {
    rapt_train_options options;
    rapt_model *model;
    struct small_batch source, target;
    struct oracle_model *oracle;
    struct oracle_drop drop;
    size_t tensor, size; /* the parameter under test */
    double mean[64];     /* mean of its gradient */
    bool seen[OUTCOMES + 1];
};

static struct oracle_fixed *cross_of(const struct scene *s, int layer)
{
    return &s->oracle->past->fixed[0][1][2 * layer + CROSS];
}

static double batch_loss(const struct scene *s)
{
    s->oracle->terms = 0;
    return oracle_batch_loss(s->oracle, &s->drop, &s->source.tokens, &s->target.tokens,
                             (double)s->options.label_smoothing, NULL);
}

/* Draws with this seed and returns the outcome. The definition holds its draws from now on. */
static int outcome_of(struct scene *s, uint64_t seed)
{
    int outcome = 0;
    s->drop.seed = seed;
    oracle_model_hold(s->oracle);
    batch_loss(s);
    if (cross_of(s, 0)->chosen[0] < 0) return SOFT;
    for (int i = 0; i < DRAWS; i++) outcome += cross_of(s, i / ROWS)->chosen[i % ROWS] << i;
    return outcome;
}

/* Returns the probability of an outcome and sets its loss, with the current parameters. Draws must
   be held. */
static double probability(struct scene *s, int outcome, double *loss)
{
    double share = (double)s->options.expected_share;
    s->oracle->share = outcome == SOFT ? 2 : 0;
    for (int i = 0; i < DRAWS; i++)
        cross_of(s, i / ROWS)->chosen[i % ROWS] = outcome == SOFT ? -1 : outcome >> i & 1;
    *loss = batch_loss(s);
    s->oracle->share = share;
    return outcome == SOFT ? share : (1 - share) * exp(s->oracle->terms);
}

static double expected_loss(struct scene *s)
{
    double sum = 0, all = 0, loss;
    for (int outcome = 0; outcome <= OUTCOMES; outcome++) {
        double p = probability(s, outcome, &loss);
        sum += p * loss, all += p;
    }
    assert_true(fabs(all - 1) < 1e-9);
    return sum;
}

/* Adds the gradient for a seed, weighted by `share`, to the mean. */
static void add_gradient(struct scene *s, uint64_t seed, double share)
{
    const rapt_train_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = 4, .target_tokens = 4, .threads = 1};
    float got[64];
    rapt_trainer *trainer;
    rapt_message why = {""};
    s->options.seed = seed;
    if (rapt_trainer_create(&trainer, s->model, &s->options, &limits, NULL, &why) ||
        rapt_train_gradient(trainer, &s->source.tokens, &s->target.tokens, NULL, &why))
        fail_msg("%s", why.text);
    rapt_trainer_read_gradient(trainer, (int)s->tensor, got, NULL);
    for (size_t i = 0; i < s->size; i++) s->mean[i] += share * (double)got[i];
    rapt_trainer_free(trainer);
}

static void sum_outcomes(struct scene *s)
{
    int wanted = s->options.expected_share > 0 ? OUTCOMES + 1 : OUTCOMES, seen = 0;
    s->oracle->count_draws = 1;
    for (uint64_t seed = 1; seen < wanted; seed++) {
        double loss;
        assert_true(seed < 20000);
        int outcome = outcome_of(s, seed);
        if (s->seen[outcome]) continue;
        s->seen[outcome] = true, seen++;
        add_gradient(s, seed, probability(s, outcome, &loss));
    }
}

/* Returns the largest difference from the gradient of the expected loss, relative to its largest
   element. */
static double bias_of(struct scene *s)
{
    const double h = 1e-5;
    double worst = 0, largest = 0, *x = s->oracle->tensors[s->tensor].data;
    for (size_t i = 0; i < s->size; i++) {
        double was = x[i];
        x[i] = was + h;
        double above = expected_loss(s);
        x[i] = was - h;
        double slope = (above - expected_loss(s)) / (2 * h);
        x[i] = was;
        worst = fmax(worst, fabs(slope - s->mean[i]));
        largest = fmax(largest, fabs(slope));
    }
    return worst / largest;
}

/* Returns the bias of the gradient of one parameter. */
static double bias(const char *name, rapt_baseline baseline, float share, float decay)
{
    struct scene s = {.model = small_model(&config, 4)};
    rapt_train_options_default(&s.options, sizeof s.options);
    s.options.dropout = 0, s.options.baseline = baseline;
    s.options.expected_share = share, s.options.reward_decay = decay;
    small_fill(&s.source, config.source_vocab, source_lengths, 1, 3);
    small_fill(&s.target, config.target_vocab, target_lengths, 1, 8);
    s.oracle = oracle_model_read(s.model);
    s.oracle->share = (double)share;
    while (strcmp(s.oracle->tensors[s.tensor].name, name) != 0)
        assert_true(++s.tensor < (size_t)s.oracle->count);
    const struct oracle_tensor *x = &s.oracle->tensors[s.tensor];
    s.size = (size_t)(x->rows * x->columns);
    assert_true(s.size <= 64);
    for (size_t i = 0; i < s.size; i++) assert_true(s.mean[i] == 0);
    sum_outcomes(&s);
    double found = bias_of(&s);
    oracle_model_free(s.oracle);
    rapt_model_free(s.model);
    return found;
}

static void test_unbiased(void **state)
{
    (void)state;
    static const char *const names[] = {"decoder.layers.0.cross_attn.q.weight",
                                        "decoder.layers.1.cross_attn.kv.weight"};
    for (int i = 0; i < 8; i++) {
        double found = bias(names[i % 2], i / 2 % 2 ? RAPT_BASELINE_EXPECTED : RAPT_BASELINE_MEAN,
                            i / 4 ? 0.25f : 0, 0);
        if (!(found < 1e-4)) fail_msg("%s, case %d: a bias of %g", names[i % 2], i, found);
    }
}

/* With reward_decay, a draw is not rewarded for its effect on later rows. This biases the gradient
   of the first layer, whose draws later rows read, but not that of the last. */
static void test_decay_biases(void **state)
{
    (void)state;
    double first = bias("decoder.layers.0.cross_attn.q.weight", RAPT_BASELINE_EXPECTED, 0, 1);
    double last = bias("decoder.layers.1.cross_attn.q.weight", RAPT_BASELINE_EXPECTED, 0, 1);
    if (!(first > 0.01)) fail_msg("a bias of only %g in the first layer", first);
    if (!(last < 1e-4)) fail_msg("a bias of %g in the last layer", last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unbiased),
        cmocka_unit_test(test_decay_biases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
