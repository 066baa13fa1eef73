/* hard_learns.c - what makes hard attention learn, on a task that takes seconds: to reverse
   sequences, for which each row must find one key. Sampled keys learn if some sequences attend to
   expected values, the baseline is each row's expected loss and the reward its own loss; with the
   running mean as baseline and the losses of all later rows they do not. The arg-max learns more
   with annealing. All are judged with the arg-max, on sequences that were not trained on. */
#include "model/small.h"

enum { SYMBOLS = 16, BEGIN = SYMBOLS, END, VOCAB, SEQUENCES = 32, SHORTEST = 6, LONGEST = 10 };
enum { STEPS = 600, TESTS = 8, MAX = SEQUENCES * (LONGEST + 2) };

struct pairs {
    int32_t source[MAX], target[MAX];
    int source_starts[SEQUENCES + 1], target_starts[SEQUENCES + 1];
};

static void draw_pairs(struct pairs *p, uint64_t seed)
{
    uint64_t n = 0;
    int s = 0, t = 0;
    p->source_starts[0] = p->target_starts[0] = 0;
    for (int b = 0; b < SEQUENCES; b++) {
        int length = SHORTEST + (int)(small_random(seed, n++) % (LONGEST - SHORTEST + 1));
        p->target[t++] = BEGIN;
        for (int i = 0; i < length; i++) {
            p->source[s + i] = (int32_t)(small_random(seed, n++) % SYMBOLS);
            p->target[t + length - 1 - i] = p->source[s + i];
        }
        s += length, t += length;
        p->target[t++] = END;
        p->source_starts[b + 1] = s, p->target_starts[b + 1] = t;
    }
}

static rapt_config backwards(rapt_normalizer normalizer)
{
    return (rapt_config){.size = sizeof(rapt_config),
                         .source_vocab = VOCAB,
                         .target_vocab = VOCAB,
                         .positions = LONGEST + 2,
                         .width = 32,
                         .heads = 2,
                         .ffn_width = 32,
                         .encoder_layers = 1,
                         .decoder_layers = 1,
                         .position = RAPT_POSITION_LEARNED,
                         .cross_normalizer = normalizer};
}

static rapt_train_options options_of(int steps)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    o.rate = 0.01f, o.warmup = 40, o.steps = steps, o.schedule = RAPT_SCHEDULE_LINEAR;
    o.dropout = 0, o.label_smoothing = 0;
    return o;
}

/* Trains; returns the share of correct symbols. */
static double learn(rapt_normalizer normalizer, const rapt_train_options *o)
{
    const rapt_config config = backwards(normalizer);
    const rapt_train_limits limits = {
        .size = sizeof limits, .batch = SEQUENCES, .source_tokens = MAX, .target_tokens = MAX};
    static struct pairs p;
    const rapt_tokens source = {.batch = SEQUENCES, .ids = p.source, .starts = p.source_starts},
                      target = {.batch = SEQUENCES, .ids = p.target, .starts = p.target_starts};
    rapt_model *model = small_model(&config, 1);
    rapt_trainer *trainer;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    long long correct = 0, tokens = 0;
    if (rapt_trainer_create(&trainer, model, o, &limits, NULL, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < o->steps; i++) {
        draw_pairs(&p, (uint64_t)i);
        assert_int_equal(rapt_train_gradient(trainer, &source, &target, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    }
    for (int i = 0; i < TESTS; i++) {
        draw_pairs(&p, (uint64_t)(1000000 + i));
        assert_int_equal(rapt_train_evaluate(trainer, &source, &target, &report, NULL), RAPT_OK);
        correct += report.correct, tokens += report.tokens;
    }
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return (double)correct / (double)tokens;
}

static void test_sampled(void **state)
{
    (void)state;
    rapt_train_options plain = options_of(STEPS), reduced = plain;
    reduced.baseline = RAPT_BASELINE_EXPECTED, reduced.reward_decay = 1;
    reduced.expected_share = 0.5f, reduced.reward_scale = 0.1f, reduced.reward_entropy = 0.01f;
    double none = learn(RAPT_NORMALIZER_SAMPLE, &plain),
           all = learn(RAPT_NORMALIZER_SAMPLE, &reduced);
    print_message("sampled keys: %.3f right; with reductions of variance %.3f\n", none, all);
    assert_true(none < 0.3 && all > 0.75);
}

static void test_annealed(void **state)
{
    (void)state;
    rapt_train_options plain = options_of(STEPS), annealed = plain;
    annealed.anneal = 10, annealed.anneal_steps = STEPS;
    double none = learn(RAPT_NORMALIZER_ARGMAX, &plain),
           sharpened = learn(RAPT_NORMALIZER_ARGMAX, &annealed);
    print_message("arg-max: %.3f right; annealed %.3f\n", none, sharpened);
    assert_true(none < 0.65 && sharpened > 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_annealed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
