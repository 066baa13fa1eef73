/* bits.c - prints checksums of what the kernels of plain C compute: each kernel that works along
   rows, attention with each score and the delta rule, forward and backward, and translations of
   small models. wasm.sh runs it here and as WebAssembly, where it must print the same. */
#include "attention/linear.h"
#include "attention/monotonic.h"
#include "attention/trial.h"
#include "base/base.h"
#include "kernel/cases.h"
#include "model/small.h"

enum { LONGEST = 200 };
static const int lengths[] = {1, 15, 16, 67, LONGEST};

static void print(const char *what, int number, const float *x, size_t n)
{
    printf("%s %d: %08x\n", what, number, (unsigned)rapt__hash(x, n * sizeof *x));
}

static void fill(float *x, size_t n, float low, uint64_t key)
{
    for (size_t i = 0; i < n; i++) x[i] = low + (1 - low) * (float)rapt__uniform(key, i);
}

static void print_kernel(const struct kernel_case *c, const struct kernels *k, int n)
{
    static float in[CASE_INS][CASE_ROWS * LONGEST], out[CASE_OUTS][LONGEST];
    struct case_data d = {.number = {0}};
    if (n < c->min) return;
    for (int i = 0; i < CASE_INS; i++) {
        fill(in[i], CASE_ROWS * LONGEST, -1, (uint64_t)i);
        d.in[i] = in[i];
    }
    for (int i = 0; i < CASE_OUTS; i++) {
        fill(out[i], LONGEST, 0, (uint64_t)i + CASE_INS);
        d.out[i] = out[i];
    }
    c->run(k, n, &d);
    for (int i = 0; i < c->outs; i++) print(c->name, n, out[i], (size_t)n);
    print(c->name, n, d.number, 4);
}

static void print_attention(rapt_score score, rapt_normalizer normalizer)
{
    const struct choice c = {.batch = 2,
                             .heads = 4,
                             .key_heads = 2,
                             .queries = 19,
                             .keys = 45,
                             .key_width = 20,
                             .value_width = 18,
                             .ragged = true,
                             .score = score,
                             .normalizer = normalizer,
                             .learned = true,
                             .hidden = 21,
                             .previous = score >= RAPT_SCORE_LOCATION_AWARE};
    struct trial x = make_trial(&c, 7);
    size_t n;
    float *all = results(&x, &n);
    print(rapt_score_name(score), (int)normalizer, all, n);
    free(all);
    drop_trial(&x);
}

static void print_linear(void)
{
    const struct linear_choice c = {.batch = 2,
                                    .heads = 4,
                                    .key_heads = 2,
                                    .rows = 90,
                                    .key_width = 20,
                                    .value_width = 18,
                                    .decay = true,
                                    .delta = true,
                                    .state = true};
    struct linear_trial t = linear_make(&c, 7);
    assert_int_equal(linear_forward(&t, NULL), RAPT_OK);
    assert_int_equal(linear_backward(&t, NULL), RAPT_OK);
    print("delta rule", 0, t.out, t.outs);
    for (int i = 0; i < LINEAR_INPUTS; i++) print(linear_names[i], 0, t.d[i], t.count[i]);
    linear_free(&t);
}

static void print_monotonic(void)
{
    const struct monotonic_choice c = {2, 4,         2, 20, 30, 20, 18, RAPT_MONOTONIC_LOOKBACK,
                                       0, .noise = 1};
    struct monotonic_trial t = monotonic_make(&c, 7);
    assert_int_equal(monotonic_forward(&t, NULL), RAPT_OK);
    assert_int_equal(monotonic_backward(&t, NULL), RAPT_OK);
    print("monotonic", 0, t.out, t.outs);
    for (int i = 0; i < MONOTONIC_INPUTS; i++) print(monotonic_names[i], 0, t.d[i], t.count[i]);
    monotonic_free(&t);
}

static void print_translation(int index)
{
    const rapt_config *config = &small_configs[index];
    enum { BATCH = 3, BEAMS = 2, LENGTH = 9 };
    rapt_model *model = small_model(config, 5);
    rapt_session *session = NULL;
    struct small_batch source;
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = BATCH,
                                .beams = BEAMS,
                                .source_tokens = 20,
                                .target_length = LENGTH,
                                .threads = 1};
    int32_t ids[BATCH * LENGTH] = {0};
    int counts[BATCH] = {0};
    float scores[BATCH] = {0};
    rapt_generate_options options;
    rapt_generate_options_default(&options, sizeof options, 1, 2);
    options.beams = BEAMS;
    options.max_length = LENGTH;
    small_fill(&source, config->source_vocab, (const int[]){9, 4, 7}, BATCH, 1);
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    const rapt_generate_outputs outputs = {
        .size = sizeof outputs, .ids = ids, .counts = counts, .scores = scores};
    assert_int_equal(rapt_generate(session, &source.tokens, &options, &outputs, NULL), RAPT_OK);
    print("translation of model", index, scores, BATCH);
    for (int i = 0; i < BATCH * LENGTH; i++)
        printf("%d%c", (int)ids[i], i % LENGTH < LENGTH - 1 ? ' ' : '\n');
    rapt_session_free(session);
    rapt_model_free(model);
}

int main(void)
{
    const struct kernels *k = rapt__kernels_of(RAPT_ISA_SCALAR);
    assert_int_equal(rapt_isa_use(RAPT_ISA_SCALAR), RAPT_OK);
    for (int i = 0; i < KERNEL_CASES; i++)
        for (int j = 0; j < COUNT(lengths); j++) print_kernel(&kernel_cases[i], k, lengths[j]);
    for (int score = 0; rapt_score_name((rapt_score)score) != NULL; score++)
        for (int normalizer = RAPT_NORMALIZER_SOFTMAX; normalizer <= RAPT_NORMALIZER_ARGMAX;
             normalizer++)
            print_attention((rapt_score)score, (rapt_normalizer)normalizer);
    print_linear();
    print_monotonic();
    for (int i = 0; i < COUNT(small_configs); i++)
        if (small_configs[i].kind == RAPT_KIND_ENCODER_DECODER) print_translation(i);
    return 0;
}
