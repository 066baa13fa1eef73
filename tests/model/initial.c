/* initial.c - the parameters of a new model have the distributions that lib/model/parameters.c
   states. For each kind, range, mean, variance and shape (quartiles) are within bounds that chance
   breaks once in 10^6 models. Constants are exact, and no two parameters and no two seeds are
   alike. */
#include "model/small.h"

#include <float.h>

/* Deviations from the mean that a normal variable exceeds once in 10^9. */
static const double SIGMAS = 6.1;

/* Large matrices of every kind. Where a kind has two sides, they differ. */
static const rapt_config large = {.size = sizeof(rapt_config),
                                  .source_vocab = 700,
                                  .target_vocab = 300,
                                  .positions = 90,
                                  .width = 96,
                                  .heads = 4,
                                  .key_heads = 2,
                                  .ffn_width = 352,
                                  .encoder_layers = 1,
                                  .decoder_layers = 1,
                                  .position = RAPT_POSITION_LEARNED,
                                  .norm_order = RAPT_NORM_ORDER_PRE,
                                  .output_bias = 1,
                                  .self_score = RAPT_SCORE_COSINE,
                                  .cross_score = RAPT_SCORE_LOCATION_AWARE,
                                  .self_locality = RAPT_LOCALITY_LOCAL_P,
                                  .score_hidden = 64,
                                  .center_hidden = 40,
                                  .location_channels = 30,
                                  .location_filter_width = 15,
                                  .relative_bias = RAPT_RELATIVE_BIAS_T5,
                                  .relative_buckets = 1024,
                                  .relative_distance = 600};

enum shape { CONSTANT, UNIFORM, NORMAL, IDENTITY, SHAPES };
struct distribution {
    enum shape shape;
    double scale; /* the constant; half of the range; the standard deviation */
};

static bool ends(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Returns the distribution for a name. Matrices follow Glorot and Bengio 2010, equation 16; in
   packed projections of attention it applies to each square part, with gain 1/sqrt 2: 6 / (D + D) /
   2. Embeddings and learned scores are normal with variance 1/columns. */
static struct distribution distribution_of(const rapt_tensor *t)
{
    const double in = t->columns, out = t->rows;
    if (ends(t->name, "norm.weight")) return (struct distribution){CONSTANT, 1};
    if (ends(t->name, "bias")) return (struct distribution){CONSTANT, 0};
    if (ends(t->name, "sigmoid_bias")) return (struct distribution){CONSTANT, -log(32)};
    if (ends(t->name, "score.sink") || ends(t->name, "entmax_alpha"))
        return (struct distribution){CONSTANT, 0};
    if (ends(t->name, "monotonic.offset")) return (struct distribution){CONSTANT, -2};
    if (strstr(t->name, ".talking.")) return (struct distribution){IDENTITY, 1};
    if (ends(t->name, "differential.weight")) return (struct distribution){NORMAL, 0.1};
    if (ends(t->name, "inverse_temperature")) return (struct distribution){CONSTANT, 8};
    if (ends(t->name, "qkv.weight") || ends(t->name, "cross_attn.q.weight") ||
        ends(t->name, "cross_attn.kv.weight"))
        return (struct distribution){UNIFORM, sqrt(6 / (in + in) / 2)};
    if (strstr(t->name, ".score.") || strstr(t->name, "embedding") ||
        strstr(t->name, "positions") || strstr(t->name, "relative_bias"))
        return (struct distribution){NORMAL, sqrt(1 / in)};
    return (struct distribution){UNIFORM, sqrt(6 / (in + out))};
}

static void within(const rapt_tensor *t, const char *what, double got, double wanted, double bound)
{
    if (!(fabs(got - wanted) <= bound))
        fail_msg("%s, %s: %g, wanted %g +- %g", t->name, what, got, wanted, bound);
}

/* Judges n independent numbers. Their mean has variance v/n and their variance (m4 - v^2)/n, where
   the fourth moment m4 is 9/5 v^2 for uniform and 3 v^2 for normal numbers. A share p has variance
   p(1 - p)/n. */
static void judge(const rapt_tensor *t, const struct distribution *d, const float *x, size_t n)
{
    const bool uniform = d->shape == UNIFORM;
    const double v = uniform ? d->scale * d->scale / 3 : d->scale * d->scale;
    const double quartile = uniform ? d->scale / 2 : 0.6744897501960817 * d->scale;
    double mean = 0, square = 0, inside = 0, largest = 0, neighbors = 0, N = (double)n;
    for (size_t i = 0; i < n; i++) {
        mean += (double)x[i] / N;
        square += (double)x[i] * (double)x[i] / N;
        inside += (fabs((double)x[i]) < quartile) / N;
        largest = fmax(largest, fabs((double)x[i]));
        if (i > 0) neighbors += (double)x[i] * (double)x[i - 1] / N;
    }
    within(t, "mean", mean, 0, SIGMAS * sqrt(v / N));
    within(t, "variance", square, v, SIGMAS * v * sqrt((uniform ? 0.8 : 2) / N));
    within(t, "share inside the quartiles", inside, 0.5, SIGMAS * 0.5 / sqrt(N));
    within(t, "covariance of neighbors", neighbors, 0, SIGMAS * v / sqrt(N));
    if (uniform && (largest > d->scale * (1 + FLT_EPSILON) || largest < d->scale * (1 - 25 / N)))
        fail_msg("%s: largest %g, wanted %g", t->name, largest, d->scale);
    if (!uniform && (largest > 7.5 * d->scale || largest < 2 * d->scale))
        fail_msg("%s: largest %g of deviation %g", t->name, largest, d->scale);
}

/* Judges all parameters and counts those of each shape. */
static void judge_model(const rapt_model *model, int seen[SHAPES])
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor t = rapt_model_tensor(model, i);
        const struct distribution d = distribution_of(&t);
        size_t n = small_size(model, i);
        float *x = malloc(n * sizeof *x);
        assert_int_equal(rapt_model_read(model, i, x, NULL), RAPT_OK);
        seen[d.shape]++;
        bool known = d.shape == CONSTANT || d.shape == IDENTITY;
        if (!known) judge(&t, &d, x, n);
        for (size_t j = 0; known && j < n; j++) {
            bool zero = d.shape == IDENTITY && (int)j / t.columns != (int)j % t.columns;
            if ((double)x[j] != (zero ? 0 : d.scale))
                fail_msg("%s[%zu]: %g", t.name, j, (double)x[j]);
        }
        free(x);
    }
}

static void test_distributions(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        rapt_model *model = NULL;
        int seen[SHAPES] = {0};
        assert_int_equal(rapt_model_create(&model, &large, seed, NULL, NULL), RAPT_OK);
        judge_model(model, seen);
        assert_true(seen[CONSTANT] >= 20 && seen[UNIFORM] >= 12 && seen[NORMAL] >= 12);
        rapt_model_free(model);
    }
    rapt_model *model = NULL;
    int seen[SHAPES] = {0};
    rapt_config c = {.size = sizeof c, .kind = RAPT_KIND_DECODER_ONLY, .target_vocab = 200};
    c.positions = 9, c.width = 64, c.heads = 1, c.head_width = 512, c.decoder_layers = 1;
    c.differential = 1;
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
    judge_model(model, seen);
    assert_true(seen[NORMAL] == 2); /* the embedding and the vectors of lambda */
    rapt_model_free(model);
    c.heads = 8, c.head_width = 0, c.differential = 0, c.talking_heads = 1;
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
    judge_model(model, seen);
    assert_true(seen[IDENTITY] == 2);
    rapt_model_free(model);
    c = large, c.cross_score = RAPT_SCORE_SCALED_DOT, c.monotonic = RAPT_CROSS_MONOTONIC_LOOKBACK;
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
    assert_true(rapt_model_find(model, "decoder.layers.0.cross_attn.monotonic.offset") >= 0);
    judge_model(model, seen);
    rapt_model_free(model);
}

/* Learned slopes start at the values of Press, Smith and Lewis 2022: 1/2, 1/4, .. 1/256 for 8
   heads. For 12 heads the last four are taken from those for 16. */
static void test_slopes(void **state)
{
    (void)state;
    for (int heads = 8; heads <= 12; heads += 4) {
        rapt_config c = small_configs[0];
        rapt_model *model = NULL;
        float slopes[12];
        c.width = 2 * heads, c.heads = heads, c.relative_bias = RAPT_RELATIVE_BIAS_ALIBI_LEARNED;
        assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
        int index = rapt_model_find(model, "decoder.slopes");
        assert_int_equal(rapt_model_read(model, index, slopes, NULL), RAPT_OK);
        for (int h = 0; h < 8; h++) assert_true(slopes[h] == ldexpf(1, -h - 1));
        for (int h = 8; h < heads; h++)
            assert_true(fabs((double)slopes[h] - exp2(-0.5 * (2 * (h - 8) + 1))) < 1e-7);
        rapt_model_free(model);
    }
}

/* A parameter must not be correlated with another of the same shape, or with itself under another
   seed. */
static void test_independent(void **state)
{
    (void)state;
    rapt_model *a = NULL, *b = NULL;
    assert_int_equal(rapt_model_create(&a, &large, 1, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_model_create(&b, &large, 2, NULL, NULL), RAPT_OK);
    static const char *const names[] = {"encoder.layers.0.self_attn.qkv.weight",
                                        "decoder.layers.0.self_attn.qkv.weight"};
    int first = rapt_model_find(a, names[0]), second = rapt_model_find(a, names[1]);
    size_t n = small_size(a, first);
    rapt_tensor t = rapt_model_tensor(a, first);
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), *z = malloc(n * sizeof *z);
    assert_int_equal(rapt_model_read(a, first, x, NULL), RAPT_OK);
    assert_int_equal(rapt_model_read(a, second, y, NULL), RAPT_OK);
    assert_int_equal(rapt_model_read(b, first, z, NULL), RAPT_OK);
    double other = 0, seed = 0, N = (double)n, v = 3 / (2 * 96.0) / 3;
    for (size_t i = 0; i < n; i++) {
        other += (double)x[i] * (double)y[i] / N;
        seed += (double)x[i] * (double)z[i] / N;
    }
    within(&t, "covariance of parameters", other, 0, SIGMAS * v / sqrt(N));
    within(&t, "covariance of seeds", seed, 0, SIGMAS * v / sqrt(N));
    free(x);
    free(y);
    free(z);
    rapt_model_free(a);
    rapt_model_free(b);
}

/* Returns the FNV-1a hash of the bits of all parameters. */
static uint64_t hash_of(const rapt_model *model)
{
    uint64_t hash = 0xCBF29CE484222325u;
    float *x = small_parameters(model);
    for (size_t i = 0; i < rapt_model_parameters(model); i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        for (int k = 0; k < 32; k += 8) hash = (hash ^ (bits >> k & 0xFF)) * 0x100000001B3u;
    }
    free(x);
    return hash;
}

/* Equal seeds must give equal models on any machine: the stored ones. */
static void test_stored(void **state)
{
    (void)state;
    static const uint64_t wanted[] = {0xCB3F7427875E90EEu, 0x4531B32FF7EFEAC1u};
    const rapt_config *const configs[] = {&small_configs[0], &large};
    for (int i = 0; i < COUNT(configs); i++) {
        rapt_model *model = NULL;
        assert_int_equal(rapt_model_create(&model, configs[i], 7, NULL, NULL), RAPT_OK);
        uint64_t hash = hash_of(model);
        if (hash != wanted[i]) fail_msg("model %d: 0x%016llX", i, (unsigned long long)hash);
        rapt_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_slopes),
        cmocka_unit_test(test_independent),
        cmocka_unit_test(test_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
