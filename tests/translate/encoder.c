/* encoder.c - encoders of texts: vectors and logits are those of the tokens put together by hand, a
   text does not depend on the others, long texts and pairs are cut, options follow the model. */
#include "translate/small_text.h"

enum { TEXTS = 7, WIDTH = 16, POSITIONS = 24 };

static const char *const names[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a",     "b",
                                    "c",     "##d",   ".",     "e",     "[MASK]"};
enum { NAMES = sizeof names / sizeof *names, CLS = 2, SEP = 3 };
static const char *const lines[TEXTS] = {
    "a b", "",      "cd .", "a a a a a a a a a a a a a a a a a a a a a a a a a a a a b",
    "q",   "e c b", "a."};
static const int32_t ids_of_0[] = {CLS, 4, 5, SEP}, ids_of_2[] = {CLS, 6, 7, 8, SEP};

static rapt_tokenizer *words(void)
{
    rapt_text texts[NAMES];
    rapt_tokenizer *t = NULL;
    for (int i = 0; i < NAMES; i++) texts[i] = (rapt_text){names[i], strlen(names[i])};
    assert_int_equal(rapt_tokenizer_create_wordpiece(&t, texts, NAMES, NULL, NULL, NULL), RAPT_OK);
    return t;
}

static rapt_config config_of(int classes)
{
    return (rapt_config){.size = sizeof(rapt_config),
                         .kind = RAPT_KIND_ENCODER_ONLY,
                         .source_vocab = NAMES,
                         .target_vocab = classes,
                         .positions = POSITIONS,
                         .width = WIDTH,
                         .heads = 2,
                         .ffn_width = 20,
                         .encoder_layers = 2,
                         .position = RAPT_POSITION_LEARNED,
                         .activation = RAPT_ACTIVATION_GELU,
                         .plain_embedding = 1,
                         .embedding_norm = 1,
                         .token_types = 2,
                         .pooling = classes ? RAPT_POOLING_FIRST : RAPT_POOLING_MEAN,
                         .pooler = classes > 0,
                         .output_bias = classes > 0};
}

/* Saves a random model with a tokenizer and, unless NULL, two more metadata. */
static void save(const char *path, int classes, const char *max_tokens, const char *normalize)
{
    const rapt_config c = config_of(classes);
    rapt_model *model = small_model(&c, 5);
    rapt_tokenizer *t = words();
    char text[1000];
    size_t size;
    assert_int_equal(rapt_tokenizer_write(t, text, sizeof text, &size, NULL), RAPT_OK);
    const rapt_metadata pairs[] = {{"rapt.tokenizer", text},
                                   {"rapt.source_begin", "1"},
                                   {"rapt.max_tokens", max_tokens},
                                   {"rapt.normalize", normalize}};
    assert_int_equal(rapt_model_save(model, path, pairs, 4, NULL), RAPT_OK);
    rapt_tokenizer_free(t);
    rapt_model_free(model);
}

static rapt_encoder *opened(const char *path, const rapt_encoder_options *o)
{
    rapt_encoder *e = NULL;
    rapt_message why = {""};
    if (rapt_encoder_load(&e, path, o, NULL, &why)) fail_msg("%s", why.text);
    return e;
}

static void take_texts(rapt_text *texts)
{
    for (int i = 0; i < TEXTS; i++) texts[i] = (rapt_text){lines[i], strlen(lines[i])};
}

/* Computes by hand: the vector of these tokens, or their logits. */
static void by_hand(const rapt_model *model, const int32_t *ids, int count, rapt_pooling pooling,
                    float *out)
{
    const int starts[] = {0, count};
    const rapt_tokens tokens = {.batch = 1, .ids = ids, .starts = starts};
    const rapt_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = POSITIONS, .target_length = 1};
    rapt_session *session = NULL;
    const float *rows;
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    if (pooling)
        assert_int_equal(rapt_embed(session, &tokens, pooling, &rows, NULL), RAPT_OK);
    else
        assert_int_equal(rapt_classify(session, &tokens, &rows, NULL), RAPT_OK);
    size_t width = pooling ? WIDTH : (size_t)rapt_model_config(model)->target_vocab;
    memcpy(out, rows, width * sizeof *out);
    rapt_session_free(session);
}

static void test_vectors(void **state)
{
    (void)state;
    char path[256];
    float all[TEXTS][WIDTH], one[WIDTH], hand[WIDTH];
    rapt_text texts[TEXTS];
    take_texts(texts);
    save(small_path(path, "encoder"), 0, NULL, NULL);
    for (int threads = 1; threads <= 2; threads++) {
        const rapt_encoder_options o = {.size = sizeof o, .batch = 3, .threads = threads};
        rapt_encoder *e = opened(path, &o);
        assert_int_equal(rapt_encoder_embed(e, texts, TEXTS, all[0], NULL), RAPT_OK);
        for (int i = 0; i < TEXTS; i++) {
            assert_int_equal(rapt_encoder_embed(e, &texts[i], 1, one, NULL), RAPT_OK);
            assert_memory_equal(one, all[i], sizeof one);
        }
        by_hand(rapt_encoder_model(e), ids_of_0, 4, RAPT_POOLING_MEAN, hand);
        assert_memory_equal(all[0], hand, sizeof hand);
        by_hand(rapt_encoder_model(e), ids_of_2, 5, RAPT_POOLING_MEAN, hand);
        assert_memory_equal(all[2], hand, sizeof hand);
        assert_int_equal(rapt_tokenizer_vocab(rapt_encoder_tokenizer(e)), NAMES);
        assert_int_equal(rapt_encoder_embed(e, NULL, 0, NULL, NULL), RAPT_OK);
        rapt_encoder_free(e);
    }
    unlink(path);
}

/* A text is cut to what the option, the model's metadata or its positions allow. */
static void test_limits(void **state)
{
    (void)state;
    char path[256];
    const int32_t cut[] = {CLS, 4, 4, 4, SEP};
    int32_t most[POSITIONS];
    float got[WIDTH], hand[WIDTH];
    rapt_text texts[TEXTS];
    take_texts(texts);
    for (int i = 0; i < POSITIONS; i++) most[i] = i == 0 ? CLS : i == POSITIONS - 1 ? SEP : 4;
    for (int kind = 0; kind < 3; kind++) {
        const rapt_encoder_options o = {.size = sizeof o, .max_tokens = kind == 2 ? 5 : 0};
        save(small_path(path, "encoder"), 0, kind == 1 ? "5" : kind == 2 ? "7" : NULL, NULL);
        rapt_encoder *e = opened(path, &o);
        assert_int_equal(rapt_encoder_embed(e, &texts[3], 1, got, NULL), RAPT_OK);
        by_hand(rapt_encoder_model(e), kind ? cut : most, kind ? 5 : POSITIONS, RAPT_POOLING_MEAN,
                hand);
        assert_memory_equal(got, hand, sizeof hand);
        rapt_encoder_free(e);
    }
    unlink(path);
}

static double norm_of(const float *x)
{
    double sum = 0;
    for (int j = 0; j < WIDTH; j++) sum += (double)x[j] * (double)x[j];
    return sqrt(sum);
}

static void test_pooling_and_norm(void **state)
{
    (void)state;
    char path[256];
    float got[WIDTH], hand[WIDTH];
    const rapt_text text = {lines[0], strlen(lines[0])};
    for (int i = 0; i < 6; i++) {
        const rapt_encoder_options o = {.size = sizeof o,
                                        .pooling = i % 2 ? RAPT_POOLING_FIRST : 0,
                                        .normalize = (rapt_normalize)(i / 2)};
        save(small_path(path, "encoder"), 0, NULL, i % 2 ? "1" : NULL);
        rapt_encoder *e = opened(path, &o);
        assert_int_equal(rapt_encoder_embed(e, &text, 1, got, NULL), RAPT_OK);
        by_hand(rapt_encoder_model(e), ids_of_0, 4, i % 2 ? RAPT_POOLING_FIRST : RAPT_POOLING_MEAN,
                hand);
        const bool divided = o.normalize == RAPT_NORMALIZE_YES || (!o.normalize && i % 2);
        const double norm = divided ? norm_of(hand) : 1;
        for (int j = 0; j < WIDTH; j++) assert_true(got[j] == (float)((double)hand[j] / norm));
        rapt_encoder_free(e);
    }
    unlink(path);
}

static void test_pairs(void **state)
{
    (void)state;
    char path[256];
    const int32_t type = NAMES, ids[] = {CLS, 4, 5, SEP, 6 + type, 7 + type, 8 + type, SEP + type};
    int32_t halves[POSITIONS] = {CLS};
    float got[4][3], hand[3];
    rapt_text texts[TEXTS], first[4], second[4];
    take_texts(texts);
    first[0] = texts[0], second[0] = texts[2];
    first[1] = texts[3], second[1] = texts[0]; /* only the longer text is cut */
    first[2] = second[2] = texts[3];           /* both are */
    first[3] = second[3] = texts[1];
    save(small_path(path, "encoder"), 3, NULL, NULL);
    rapt_encoder *e = opened(path, NULL);
    const rapt_model *m = rapt_encoder_model(e);
    assert_int_equal(rapt_encoder_classify(e, first, second, 4, got[0], NULL), RAPT_OK);
    by_hand(m, ids, 8, RAPT_POOLING_NONE, hand);
    assert_memory_equal(got[0], hand, sizeof hand);
    for (int i = 1; i < POSITIONS; i++) halves[i] = 4;
    halves[POSITIONS - 4] = SEP, halves[POSITIONS - 3] = 4 + type, halves[POSITIONS - 2] = 5 + type;
    halves[POSITIONS - 1] = SEP + type;
    by_hand(m, halves, POSITIONS, RAPT_POOLING_NONE, hand);
    assert_memory_equal(got[1], hand, sizeof hand);
    for (int i = 1; i < POSITIONS; i++) halves[i] = 4 + (i > 11 ? type : 0);
    halves[11] = SEP, halves[POSITIONS - 1] = SEP + type; /* 10 and 11 tokens */
    by_hand(m, halves, POSITIONS, RAPT_POOLING_NONE, hand);
    assert_memory_equal(got[2], hand, sizeof hand);
    by_hand(m, (const int32_t[]){CLS, SEP, SEP + type}, 3, RAPT_POOLING_NONE, hand);
    assert_memory_equal(got[3], hand, sizeof hand);
    assert_int_equal(rapt_encoder_classify(e, first, NULL, 1, got[0], NULL), RAPT_OK);
    by_hand(m, ids_of_0, 4, RAPT_POOLING_NONE, hand);
    assert_memory_equal(got[0], hand, sizeof hand);
    rapt_encoder_free(e);
    unlink(path);
}

/* The encoder of a translator has no begin token, and its tokenizer may be that of the sources. */
static void test_translator(void **state)
{
    (void)state;
    char path[256];
    float got[WIDTH], hand[WIDTH];
    int32_t ids[32];
    size_t count;
    const rapt_text text = {small_lines[0], strlen(small_lines[0])};
    small_translator_file(small_path(path, "encoder"), 32, 3);
    rapt_encoder *e = opened(path, NULL);
    rapt_message why = {""};
    assert_int_equal(
        rapt_tokenizer_encode(rapt_encoder_tokenizer(e), text, ids, NULL, 31, &count, NULL),
        RAPT_OK);
    ids[count++] = RAPT_TOKEN_END;
    assert_true(count <= POSITIONS);
    by_hand(rapt_encoder_model(e), ids, (int)count, RAPT_POOLING_MEAN, hand);
    assert_int_equal(rapt_encoder_embed(e, &text, 1, got, NULL), RAPT_OK);
    assert_memory_equal(got, hand, sizeof hand);
    assert_int_equal(rapt_encoder_classify(e, &text, NULL, 1, got, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "it has a decoder"));
    rapt_encoder_free(e);
    unlink(path);
}

/* A precision gives the vectors of a model that was converted to it. */
static void test_precision(void **state)
{
    (void)state;
    char path[256];
    float vector[WIDTH], hand[WIDTH];
    const rapt_text text = {lines[0], strlen(lines[0])};
    save(small_path(path, "encoder"), 0, NULL, NULL);
    for (rapt_precision p = RAPT_PRECISION_STORED; p <= RAPT_PRECISION_F16; p++) {
        const rapt_encoder_options o = {.size = sizeof o, .precision = p};
        rapt_encoder *e = opened(path, &o);
        const rapt_precision want = p ? p : RAPT_PRECISION_F32;
        rapt_model *model = NULL;
        assert_int_equal(rapt_model_precision(rapt_encoder_model(e)), want);
        assert_int_equal(rapt_encoder_embed(e, &text, 1, vector, NULL), RAPT_OK);
        assert_int_equal(rapt_model_load(&model, path, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_model_set_precision(model, want, 1, NULL), RAPT_OK);
        by_hand(model, ids_of_0, COUNT(ids_of_0), RAPT_POOLING_MEAN, hand);
        assert_memory_equal(vector, hand, sizeof hand);
        rapt_model_free(model);
        rapt_encoder_free(e);
    }
    unlink(path);
}

static void refuse(const char *path, const rapt_encoder_options *o, rapt_status status,
                   const char *phrase)
{
    rapt_encoder *e = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_encoder_load(&e, path, o, NULL, &why), status);
    assert_null(e);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not say \"%s\"", why.text, phrase);
}

static void test_encoder_refusals(void **state)
{
    (void)state;
    char path[256];
    float out[WIDTH];
    rapt_message why = {""};
    const rapt_encoder_options few = {.size = sizeof few, .max_tokens = 3},
                               bad = {.size = sizeof bad, .pooling = (rapt_pooling)3},
                               worse = {.size = sizeof worse, .normalize = (rapt_normalize)3},
                               less = {.size = sizeof less, .batch = -1},
                               odd = {.size = sizeof odd, .precision = (rapt_precision)9},
                               int8 = {.size = sizeof int8, .precision = RAPT_PRECISION_INT8};
    save(small_path(path, "encoder"), 0, NULL, NULL);
    refuse("/", NULL, RAPT_BAD_FILE, "model");
    refuse(path, &few, RAPT_BAD_FILE, "max_tokens is 3");
    refuse(path, &bad, RAPT_BAD_ARGUMENT, "pooling is 3");
    refuse(path, &worse, RAPT_BAD_ARGUMENT, "normalize is 3");
    refuse(path, &less, RAPT_BAD_ARGUMENT, "batch is -1");
    refuse(path, &odd, RAPT_BAD_ARGUMENT, "precision is 9");
    rapt_encoder *e = opened(path, NULL);
    const rapt_text text = {"a", 1}, none = {NULL, 2};
    assert_int_equal(rapt_encoder_classify(e, &text, NULL, 1, out, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "it has no output matrix"));
    assert_int_equal(rapt_encoder_embed(e, &none, 1, out, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "texts[0].bytes is NULL"));
    rapt_encoder_free(e);
    rapt_tokenizer *other = small_tokenizer();
    const rapt_config c = config_of(0);
    rapt_model *model = small_model(&c, 1);
    assert_int_equal(rapt_encoder_create(&e, model, other, NULL, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "the tokenizer has 275 tokens"));
    assert_int_equal(rapt_encoder_create(&e, model, NULL, NULL, NULL, &why), RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "the model has no tokenizer"));
    assert_int_equal(rapt_encoder_create(&e, model, other, &int8, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "options.precision is 2, but the model belongs to the"));
    rapt_model_free(model);
    rapt_tokenizer_free(other);
    unlink(path);
}

/* Creates an encoder from random parameters and a list of names. */
static void refuse_names(const rapt_config *c, const char *const *list, int count,
                         const rapt_encoder_options *o, const char *phrase)
{
    rapt_text texts[4];
    rapt_tokenizer *t = NULL;
    rapt_encoder *e = NULL;
    rapt_message why = {""};
    rapt_model *model = small_model(c, 1);
    for (int i = 0; i < count; i++) texts[i] = (rapt_text){list[i], strlen(list[i])};
    assert_int_equal(rapt_tokenizer_create_list(&t, texts, count, NULL, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_encoder_create(&e, model, t, o, NULL, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not say \"%s\"", why.text, phrase);
    rapt_tokenizer_free(t);
    rapt_model_free(model);
}

static void test_models_refused(void **state)
{
    (void)state;
    static const char *const bare[] = {"a", "b", "c", "d"}, *const ending[] = {"</s>", "a"};
    const rapt_encoder_options one = {.size = sizeof one, .max_tokens = 2};
    const rapt_config decoder = {.size = sizeof decoder,
                                 .kind = RAPT_KIND_DECODER_ONLY,
                                 .target_vocab = 2,
                                 .positions = POSITIONS,
                                 .width = WIDTH,
                                 .heads = 2,
                                 .decoder_layers = 1};
    rapt_config c = config_of(0);
    refuse_names(&decoder, bare, 2, NULL, "the model has no encoder that reads tokens");
    c.source_vocab = 4;
    refuse_names(&c, bare, 4, NULL, "the tokenizer has no end token");
    c.source_vocab = 2;
    refuse_names(&c, ending, 2, &one, "max_tokens is 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),          cmocka_unit_test(test_limits),
        cmocka_unit_test(test_pooling_and_norm), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_translator),       cmocka_unit_test(test_encoder_refusals),
        cmocka_unit_test(test_models_refused),   cmocka_unit_test(test_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
