/* translate.c - texts translated by a model file with its tokenizer: in order, each with the bits
   that it has by itself, with alignments, in any batches; bad arguments are refused. */
#include "translate/small_text.h"

enum { POSITIONS = 24, TEXTS = 24 };

struct cache_state {
    char text[2000];
    float score;
    rapt_status status;
    int source_count, target_count, seen;
};
struct all {
    struct cache_state kept[TEXTS][3];
    float alignments[TEXTS][3][(POSITIONS + 1) * POSITIONS];
    size_t last;
    int calls, stop_at;
};

static int keep(void *user, const rapt_translation *t)
{
    struct all *all = user;
    struct cache_state *k = &all->kept[t->sentence][t->rank];
    assert_true(t->sentence >= all->last && t->sentence < TEXTS && t->rank < 3);
    all->last = t->sentence;
    assert_int_equal(strlen(t->text), t->size);
    snprintf(k->text, sizeof k->text, "%s", t->text);
    k->score = t->score, k->status = t->status, k->seen++;
    k->source_count = t->source_count, k->target_count = t->target_count;
    for (int row = 0; t->alignment && row <= t->target_count; row++) {
        const float *weights = t->alignment + row * (t->source_count + 1);
        float sum = 0;
        for (int i = 0; i <= t->source_count; i++) sum += weights[i];
        bool truncated = row == t->target_count && sum == 0; /* truncated: no row for the end */
        assert_true(truncated || fabsf(sum - 1) < 1e-5f);
    }
    if (t->alignment)
        memcpy(all->alignments[t->sentence][t->rank], t->alignment,
               sizeof *t->alignment * (size_t)((t->source_count + 1) * (t->target_count + 1)));
    return ++all->calls == all->stop_at;
}

static rapt_translator *translator_of(const char *path, rapt_translator_options options)
{
    rapt_translator *t = NULL;
    rapt_message why = {""};
    if (rapt_translator_load(&t, path, &options, NULL, &why)) fail_msg("%s", why.text);
    return t;
}

static void make_texts(rapt_text texts[TEXTS])
{
    static const char longest[] = "xyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzy"; /* one token per byte */
    for (int i = 0; i < TEXTS; i++) {
        const char *line = small_lines[i % COUNT(small_lines)];
        texts[i] = (rapt_text){line, strlen(line) - (size_t)(i / COUNT(small_lines))};
    }
    texts[3] = (rapt_text){"", 0};
    texts[5] = (rapt_text){longest, 35};
    texts[7] = (rapt_text){longest, POSITIONS - 1};
    texts[9] = (rapt_text){longest, POSITIONS};
    texts[11] = (rapt_text){"\xff\xfe\0z", 4};
}

static void test_batches(void **state)
{
    (void)state;
    static const rapt_translator_options ways[] = {
        {.size = sizeof *ways, .beams = 3, .nbest = 3, .batch = 1, .threads = 1},
        {.size = sizeof *ways,
         .beams = 3,
         .nbest = 3,
         .batch = 7,
         .batch_tokens = 30,
         .threads = 2},
        {.size = sizeof *ways,
         .beams = 3,
         .nbest = 3,
         .batch = 64,
         .batch_tokens = 5000,
         .threads = 1},
    };
    static struct all results[COUNT(ways)];
    char path[256];
    rapt_text texts[TEXTS];
    small_translator_file(small_path(path, "translate"), POSITIONS, 4);
    make_texts(texts);
    memset(results, 0, sizeof results);
    for (int w = 0; w < COUNT(ways); w++) {
        rapt_translator *t = translator_of(path, ways[w]);
        rapt_message why = {""};
        if (rapt_translate_many(t, texts, TEXTS, w != 1, keep, &results[w], &why))
            fail_msg("%s", why.text);
        rapt_translator_free(t);
        assert_memory_equal(results[w].kept, results[0].kept, sizeof results[0].kept);
        if (w != 1)
            assert_memory_equal(results[w].alignments, results[0].alignments,
                                sizeof results[0].alignments);
    }
    for (int i = 0; i < TEXTS; i++) {
        const struct cache_state *k = results[0].kept[i];
        bool empty = i == 3, too_long = i == 5 || i == 9;
        assert_int_equal(k[0].seen, 1);
        assert_int_equal(k[0].status, too_long ? RAPT_BAD_ARGUMENT : RAPT_OK);
        if (empty || too_long) assert_true(k[0].text[0] == 0 && k[1].seen == 0);
        if (k[1].seen) assert_true(k[0].score >= k[1].score);
    }
    unlink(path);
}

static void test_one(void **state)
{
    (void)state;
    char path[256], out[2000], tight[2000];
    struct all result = {.calls = 0};
    rapt_text texts[TEXTS];
    size_t size, needed;
    rapt_message why = {""};
    small_translator_file(small_path(path, "one"), POSITIONS, 4);
    make_texts(texts);
    rapt_translator *t = translator_of(
        path, (rapt_translator_options){.size = sizeof(rapt_translator_options), .threads = 1});
    assert_int_equal(rapt_translate_many(t, texts, 3, 0, keep, &result, NULL), RAPT_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rapt_translate(t, small_lines[i], out, sizeof out, &size, NULL), RAPT_OK);
        assert_string_equal(out, result.kept[i][0].text);
        assert_int_equal(size, strlen(out) + 1);
        memset(tight, 'x', sizeof tight);
        assert_int_equal(rapt_translate(t, small_lines[i], tight, size - 1, &needed, &why),
                         RAPT_BAD_ARGUMENT);
        assert_true(needed == size && why.text[0] && tight[0] == 'x' && tight[size - 1] == 'x');
        assert_int_equal(rapt_translate(t, small_lines[i], NULL, 0, &needed, NULL),
                         RAPT_BAD_ARGUMENT);
        assert_int_equal(rapt_translate(t, small_lines[i], tight, size, NULL, NULL), RAPT_OK);
        assert_string_equal(tight, out);
    }
    assert_int_equal(rapt_translate(t, "", out, 1, &size, NULL), RAPT_OK);
    assert_true(size == 1 && out[0] == 0);
    assert_int_equal(
        rapt_translate(t, "xyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzy", out, sizeof out, &size, &why),
        RAPT_BAD_ARGUMENT);
    /* the callback may stop the call */
    result = (struct all){.stop_at = 2};
    assert_int_equal(rapt_translate_many(t, texts, TEXTS, 0, keep, &result, NULL), RAPT_OK);
    assert_int_equal(result.calls, 2);
    assert_int_equal(rapt_translate_many(t, NULL, 0, 0, keep, &result, NULL), RAPT_OK);
    assert_int_equal(rapt_translate_many(t, NULL, 1, 0, keep, &result, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_translate_many(t, texts, 1, 0, NULL, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_translate(t, NULL, out, sizeof out, &size, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_translate(t, "a", NULL, 9, &size, &why), RAPT_BAD_ARGUMENT);
    rapt_translator_free(t);
    rapt_translator_free(NULL);
    unlink(path);
}

/* With alignments a window holds few long sentences; translations stay the same. */
static int hash(void *user, const rapt_translation *t)
{
    uint64_t *h = user;
    h[0] = h[0] * 31 + t->sentence * 3 + (uint64_t)t->rank;
    for (int i = 0; i < t->target_count; i++) h[0] = h[0] * 31 + (uint64_t)t->target[i];
    for (int i = 0; t->alignment && i < (t->source_count + 1) * t->target_count; i++)
        h[1] += t->alignment[i] >= 0 && t->alignment[i] <= 1;
    h[2] += (uint64_t)((t->source_count + 1) * t->target_count);
    return 0;
}

static void test_windows(void **state)
{
    (void)state;
    enum { LONG = 400, MANY = 20 };
    static char bytes[LONG];
    char path[256];
    rapt_text texts[MANY];
    uint64_t with[3] = {0}, without[3] = {0};
    for (int i = 0; i < LONG; i++) bytes[i] = "xyzq"[i * i % 7 % 4];
    for (int i = 0; i < MANY; i++) texts[i] = (rapt_text){bytes + i, (size_t)(LONG - 7 * i)};
    small_translator_file(small_path(path, "windows"), LONG + 1, 4);
    rapt_translator *t = translator_of(
        path, (rapt_translator_options){
                  .size = sizeof(rapt_translator_options), .beams = 2, .nbest = 2, .threads = 2});
    assert_int_equal(rapt_translate_many(t, texts, MANY, 1, hash, with, NULL), RAPT_OK);
    assert_int_equal(rapt_translate_many(t, texts, MANY, 0, hash, without, NULL), RAPT_OK);
    assert_true(with[0] == without[0] && with[1] == with[2] && without[1] == 0);
    assert_true(with[2] > 1 << 22); /* more than one window is allowed */
    rapt_translator_free(t);
    unlink(path);
}

static void test_refusals(void **state)
{
    (void)state;
    static const rapt_translator_options wrong[] = {
        {.size = sizeof *wrong, .beams = -1},
        {.size = sizeof *wrong, .beams = 2, .nbest = 3},
        {.size = sizeof *wrong, .nbest = -1},
        {.size = sizeof *wrong, .batch = -1},
        {.size = sizeof *wrong, .beams = INT32_MAX},
        {.size = sizeof *wrong, .batch = INT32_MAX},
        {.size = sizeof *wrong, .batch_tokens = -1},
        {.size = sizeof *wrong, .batch_tokens = INT32_MAX},
        {.size = sizeof *wrong, .threads = -1},
        {.size = sizeof *wrong, .length_penalty = NAN},
        {.size = sizeof *wrong, .length_penalty = INFINITY},
    };
    char path[256];
    rapt_translator *t = (rapt_translator *)(uintptr_t)64;
    rapt_message why = {""};
    small_translator_file(small_path(path, "refuse"), POSITIONS, 4);
    for (int i = 0; i < COUNT(wrong); i++) {
        why.text[0] = 0;
        assert_int_equal(rapt_translator_load(&t, path, &wrong[i], NULL, &why), RAPT_BAD_ARGUMENT);
        assert_true(why.text[0]);
    }
    assert_int_equal(
        rapt_translator_load(&t, temporary_missing((char[TEMPORARY]){""}), NULL, NULL, &why),
        RAPT_NO_FILE);
    /* models that cannot translate */
    for (int i = 0; i < COUNT(small_configs); i++) {
        rapt_model *model = small_model(&small_configs[i], 1);
        rapt_tokenizer *tokenizer = small_tokenizer();
        char text[20000];
        size_t size;
        assert_int_equal(rapt_tokenizer_write(tokenizer, text, sizeof text, &size, NULL), RAPT_OK);
        if (i % 3 == 2) text[size / 2] ^= 1;
        rapt_metadata note = {i % 3 ? "rapt.tokenizer" : "other", text};
        assert_int_equal(rapt_model_save(model, path, &note, 1, NULL), RAPT_OK);
        assert_int_equal(rapt_translator_load(&t, path, NULL, NULL, &why), RAPT_BAD_FILE);
        assert_non_null(strstr(why.text, path));
        rapt_tokenizer_free(tokenizer);
        rapt_model_free(model);
    }
    assert_true((uintptr_t)t == 64);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
