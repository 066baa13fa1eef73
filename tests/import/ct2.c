/* ct2.c - tests a real folder of CTranslate2 (transliteration of Arabic names, in float32, int16
   and int8): translations, prefixes, n-best lists and token scores must be those that CTranslate2's
   own tests expect (tests/translator_test.cc), the scores to 1e-5. Integers are opened as floats,
   with which those scores were computed. */
#include "../skips.h"
#include "model/small.h"

static const char atzmon[] = "\xD8\xA2 \xD8\xAA \xD8\xB2 \xD9\x85 \xD9\x88 \xD9\x86";
static const char aza[] = "\xD8\xA2 \xD8\xB2 \xD8\xA7";
static const char ulises[] = "\xD8\xA3 \xD9\x88 \xD9\x84 \xD9\x8A \xD8\xB3 \xD8\xB3";

/* Composes the path of the folder of one precision. Returns false if it does not exist. */
static bool folder_of(const char *suffix, char path[DATA_PATH])
{
    char name[100];
    snprintf(name, sizeof name, "ct2-aren/aren-transliteration%s/model.bin", suffix);
    if (!data_path("import/ct2", name, path)) return false;
    *strrchr(path, '/') = 0;
    return true;
}

static rapt_translator *translator_with(const char *path, int beams, int nbest, int min_length,
                                        float penalty)
{
    const rapt_translator_options options = {.size = sizeof options,
                                             .beams = beams,
                                             .nbest = nbest,
                                             .length_penalty = penalty,
                                             .min_length = min_length,
                                             .threads = 1,
                                             .precision = RAPT_PRECISION_F32};
    rapt_translator *t = NULL;
    rapt_message why = {""};
    if (rapt_translator_load(&t, path, &options, NULL, &why)) fail_msg("%s", why.text);
    return t;
}

static rapt_translator *translator_of(const char *path, int beams, int nbest, int min_length)
{
    return translator_with(path, beams, nbest, min_length, 1);
}

static const char *const precisions[] = {"", "-i16", "-i8"};

static void test_translations(void **state)
{
    (void)state;
    char path[512], out[200];
    for (int p = 0; p < COUNT(precisions); p++)
        for (int beams = 1; beams <= 22; beams += 3) {
            if (!folder_of(precisions[p], path)) return;
            rapt_translator *t = translator_of(path, beams, 1, 0);
            assert_int_equal(rapt_translate(t, atzmon, out, sizeof out, NULL, NULL), RAPT_OK);
            assert_string_equal(out, "a t z m o n");
            assert_int_equal(rapt_translate(t, aza, out, sizeof out, NULL, NULL), RAPT_OK);
            assert_string_equal(out, "a z z a");
            assert_int_equal(rapt_translate(t, "", out, sizeof out, NULL, NULL), RAPT_OK);
            assert_string_equal(out, "");
            rapt_translator_free(t);
        }
}

/* ---- token scores ---- */

struct scored {
    int count;
    float log_p[16];
};

static int keep_scores(void *user, const rapt_text_score *score)
{
    struct scored *to = user;
    to->count = score->status ? 0 : score->target_count + 1;
    memcpy(to->log_p, score->log_probabilities, sizeof(float) * (size_t)to->count);
    return 0;
}

static const struct {
    const char *precision, *source, *target;
    double limit;
    int count;
    double wanted[8];
} scores[] = {
    {"",
     atzmon,
     "a t z m o n",
     1e-5,
     7,
     {-0.106023, -0.065410, -0.056002, -0.447953, -0.230714, -0.092184, -0.063463}},
    {"",
     "\xD8\xA2 \xD8\xAA \xD8\xB4 \xD9\x8A \xD8\xB3 \xD9\x88 \xD9\x86",
     "a c h i s o n",
     1e-5,
     8,
     {-0.072660, -0.300309, -0.181187, -0.395671, -0.025631, -0.123466, -0.002034, -0.012639}},
    {"",
     "\xD8\xA2 \xD8\xB1 \xD8\xA8 \xD8\xA7 \xD9\x83 \xD9\x87",
     "a r b a k e",
     1e-5,
     7,
     {-0.103136, -0.089504, -0.063889, -0.007327, -0.452072, -0.060154, -0.016636}},
    {"",
     "\xD8\xA2 \xD8\xB1 \xD8\xAB \xD8\xB1",
     "a r t h e r",
     1e-5,
     7,
     {-0.076704, -0.036037, -0.029253, -0.030273, -0.149276, -0.002440, -0.003742}},
    /* first scores with the quantized weights, from a forward pass in double precision */
    {"-i16", atzmon, "a t z m o n", 1e-5, 1, {-0.107075}},
    {"-i8", atzmon, "a t z m o n", 1e-5, 1, {-0.108879}},
};

static void test_scores(void **state)
{
    (void)state;
    char path[512];
    for (int i = 0; i < COUNT(scores); i++) {
        if (!folder_of(scores[i].precision, path)) return;
        rapt_translator *t = translator_of(path, 1, 1, 0);
        const rapt_text source = {scores[i].source, strlen(scores[i].source)},
                        target = {scores[i].target, strlen(scores[i].target)};
        struct scored got = {0};
        assert_int_equal(rapt_translator_score(t, &source, &target, 1, keep_scores, &got, NULL),
                         RAPT_OK);
        assert_true(got.count >= scores[i].count);
        for (int j = 0; j < scores[i].count; j++)
            if (fabs((double)got.log_p[j] - scores[i].wanted[j]) > scores[i].limit)
                fail_msg("%s, token %d: %.7f, not %.6f", scores[i].target, j, (double)got.log_p[j],
                         scores[i].wanted[j]);
        rapt_translator_free(t);
    }
}

/* ---- prefixes and n-best lists ---- */

enum { LENGTH = 32 };

/* Returns the best target with a prefix, as text. */
static void with_prefix(const rapt_translator *t, const char *source, const char *prefix, int beams,
                        char out[200])
{
    const rapt_tokenizer *from = rapt_translator_source(t), *to = rapt_translator_target(t);
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .beams = beams,
                                .source_tokens = LENGTH,
                                .target_length = LENGTH,
                                .threads = 1};
    rapt_generate_options o;
    int32_t ids[LENGTH], given[LENGTH], found[LENGTH];
    int count, starts[2] = {0, 0}, given_starts[2] = {0, 0};
    size_t n, size;
    rapt_session *session;
    rapt_generate_options_default(&o, sizeof o, rapt_target_begin(rapt_translator_model(t), to),
                                  rapt_tokenizer_special(to, RAPT_TOKEN_END));
    assert_int_equal(rapt_tokenizer_encode(from, (rapt_text){source, strlen(source)}, ids, NULL,
                                           LENGTH, &n, NULL),
                     RAPT_OK);
    starts[1] = (int)n;
    assert_int_equal(rapt_tokenizer_encode(to, (rapt_text){prefix, strlen(prefix)}, given, NULL,
                                           LENGTH, &n, NULL),
                     RAPT_OK);
    given_starts[1] = (int)n;
    const rapt_tokens tokens = {.batch = 1, .ids = ids, .starts = starts},
                      before = {.batch = 1, .ids = given, .starts = given_starts};
    o.search_rules = RAPT_SEARCH_RULES_CT2;
    o.beams = beams, o.prefix = &before, o.length_penalty = 1;
    const rapt_generate_outputs outputs = {.size = sizeof outputs, .ids = found, .counts = &count};
    assert_int_equal(rapt_session_create(&session, rapt_translator_model(t), &limits, NULL, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_generate(session, &tokens, &o, &outputs, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_decode(to, found, (size_t)count, out, 199, &size, NULL),
                     RAPT_OK);
    out[size] = 0;
    rapt_session_free(session);
}

static void test_prefixes(void **state)
{
    (void)state;
    static const struct {
        const char *source, *prefix, *wanted;
        int beams;
    } all[] = {
        {atzmon, "a t s", "a t s u m o n", 1},     {atzmon, "a t s", "a t s u m o n", 4},
        {atzmon, "<unk> t", "<unk> t z m o n", 1}, {atzmon, "<unk> t", "<unk> t z m o n", 4},
        {atzmon, "a t z o", "a t z o m o n", 2},   {aza, "", "a z z a", 2},
        {ulises, "u l i s e", "u l i s e s", 5},
    };
    char path[512], out[200];
    if (!folder_of("", path)) return;
    rapt_translator *t = translator_of(path, 1, 1, 0);
    for (int i = 0; i < COUNT(all); i++) {
        with_prefix(t, all[i].source, all[i].prefix, all[i].beams, out);
        assert_string_equal(out, all[i].wanted);
    }
    rapt_translator_free(t);
}

struct list {
    int count;
    float scores[LENGTH];
    char texts[LENGTH][100];
};

static int keep_text(void *user, const rapt_translation *t)
{
    struct list *list = user;
    assert_int_equal(t->rank, list->count);
    list->scores[list->count] = t->score;
    snprintf(list->texts[list->count++], 100, "%s", t->text);
    return 0;
}

static struct list listed_with(const char *path, int beams, int nbest, int min_length,
                               float penalty)
{
    struct list list = {0};
    const rapt_text text = {atzmon, strlen(atzmon)};
    rapt_translator *t = translator_with(path, beams, nbest, min_length, penalty);
    assert_int_equal(rapt_translate_many(t, &text, 1, 0, keep_text, &list, NULL), RAPT_OK);
    rapt_translator_free(t);
    return list;
}

static struct list listed(const char *path, int beams, int nbest, int min_length)
{
    return listed_with(path, beams, nbest, min_length, 1);
}

/* Follows CTranslate2's ReturnAllHypotheses, NormalizeScores and SameBeamAndGreedyScore: there are
   as many hypotheses as beams, even with more beams than half the vocabulary; scores are divided by
   the length including the end token. */
static void test_published_lists(void **state)
{
    (void)state;
    static const int beams[] = {1, 2, 4, 22};
    char path[512];
    double first = 0;
    for (int i = 0; i < COUNT(beams); i++) {
        if (!folder_of("", path)) return;
        const struct list all = listed(path, beams[i], beams[i], 0),
                          plain = listed_with(path, beams[i], 1, 0, 0);
        assert_int_equal(all.count, beams[i]);
        for (int j = 1; j < all.count; j++) assert_true(all.scores[j] <= all.scores[j - 1]);
        for (int j = 0; j < all.count; j++) assert_true(all.texts[j][0] != 0);
        assert_string_equal(all.texts[0], plain.texts[0]);
        assert_true(fabs((double)all.scores[0] - (double)plain.scores[0] / 7) < 1e-6);
        if (i == 0) first = (double)all.scores[0];
        assert_true(fabs((double)all.scores[0] - first) < 1e-5);
    }
}

static void test_lists(void **state)
{
    (void)state;
    char path[512];
    if (!folder_of("", path)) return;
    const struct list four = listed(path, 4, 4, 0), greedy = listed(path, 1, 1, 0),
                      eight = listed(path, 4, 1, 8);
    assert_int_equal(four.count, 4);
    assert_string_equal(four.texts[0], "a t z m o n");
    for (int i = 1; i < 4; i++) {
        assert_true(four.scores[i] <= four.scores[i - 1]);
        assert_string_not_equal(four.texts[i], four.texts[i - 1]);
    }
    assert_true(fabsf(four.scores[0] - greedy.scores[0]) < 1e-5f);
    double sum = 0;
    for (int i = 0; i < 7; i++) sum += scores[0].wanted[i];
    assert_true(fabs((double)four.scores[0] - sum / 7) < 1e-5);
    assert_int_equal(strlen(eight.texts[0]), 8 + 7);
}

/* ---- imported models saved as model files of our own ---- */

static void test_saved(void **state)
{
    (void)state;
    char path[512], own[256], out[200];
    rapt_model *model, *read;
    if (!folder_of("-i8", path)) return;
    assert_int_equal(rapt_model_import(&model, path, NULL, NULL), RAPT_OK);
    assert_string_equal(rapt_model_metadata(model, "rapt.origin"),
                        "CTranslate2 model.bin, version 2, TransformerBase 2");
    assert_int_equal(rapt_model_save(model, small_path(own, "import"), NULL, 0, NULL), RAPT_OK);
    assert_int_equal(rapt_model_import(&read, own, NULL, NULL), RAPT_OK);
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        size_t size = small_size(model, i) * sizeof(float);
        float *a = malloc(size), *b = malloc(size);
        assert_int_equal(rapt_model_read(model, i, a, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(read, i, b, NULL), RAPT_OK);
        assert_memory_equal(a, b, size);
        free(a);
        free(b);
    }
    rapt_translator *t = translator_of(own, 4, 1, 0);
    assert_int_equal(rapt_translate(t, atzmon, out, sizeof out, NULL, NULL), RAPT_OK);
    assert_string_equal(out, "a t z m o n");
    rapt_translator_free(t);
    rapt_model_free(model);
    rapt_model_free(read);
    unlink(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_translations),    cmocka_unit_test(test_scores),
        cmocka_unit_test(test_prefixes),        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_published_lists), cmocka_unit_test(test_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
