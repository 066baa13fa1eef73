/* translators.c - one model and one tokenizer, created or loaded once, shared by several
   translators: each, on its own thread, gives the bits that a translator loaded from the file
   gives. Models, tokenizers and options that do not fit together are refused. */
#include "translate/small_text.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 6, POSITIONS = 40 };

static uint64_t hash(uint64_t h, const void *data, size_t size) /* FNV-1a */
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 0x100000001B3u;
    return h;
}

static int add_text(void *user, const rapt_translation *t)
{
    uint64_t *h = user;
    *h = hash(hash(*h, t->text, t->size), &t->score, sizeof t->score);
    return 0;
}

static int add_score(void *user, const rapt_text_score *score)
{
    uint64_t *h = user;
    *h = hash(*h, &score->sum, sizeof score->sum);
    return 0;
}

static uint64_t work(rapt_translator *t)
{
    rapt_text texts[COUNT(small_lines)];
    uint64_t h = 0xCBF29CE484222325u;
    for (int i = 0; i < COUNT(texts); i++)
        texts[i] = (rapt_text){small_lines[i], strlen(small_lines[i])};
    for (int i = 0; i < ROUNDS; i++)
        if (rapt_translate_many(t, texts, COUNT(texts), i % 2, add_text, &h, NULL) ||
            rapt_translator_score(t, texts, texts, COUNT(texts), add_score, &h, NULL))
            return 0;
    return h;
}

struct job {
    const rapt_model *model;
    const rapt_tokenizer *tokenizer;
    int number;
    uint64_t result;
};

static void *run(void *argument)
{
    struct job *job = argument;
    const rapt_translator_options o = {
        .size = sizeof o, .nbest = 2, .threads = 1 + job->number % 2, .batch = 2 + job->number};
    rapt_translator *t = NULL;
    const rapt_tokenizer *tokenizer =
        job->number % 3 ? job->tokenizer : NULL; /* NULL: the model's own */
    if (rapt_translator_create(&t, job->model, tokenizer, NULL, &o, NULL, NULL)) return NULL;
    job->result = work(t);
    rapt_translator_free(t);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    char path[256];
    rapt_translator *alone = NULL;
    rapt_model *model = NULL;
    rapt_tokenizer *tokenizer = small_tokenizer();
    const rapt_translator_options o = {.size = sizeof o, .nbest = 2};
    struct job jobs[THREADS];
    pthread_t threads[THREADS];
    small_translator_file(small_path(path, "translators"), POSITIONS, 6);
    assert_int_equal(rapt_translator_load(&alone, path, &o, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_model_load(&model, path, NULL, NULL), RAPT_OK);
    uint64_t wanted = work(alone);
    assert_true(wanted != 0);
    rapt_translator_free(alone);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){model, tokenizer, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, run, &jobs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(jobs[i].result == wanted);
    }
    rapt_tokenizer_free(tokenizer);
    rapt_model_free(model);
    unlink(path);
}

static void refuse(const rapt_config *config, const rapt_tokenizer *source,
                   const rapt_tokenizer *target, rapt_translator_options o, const char *word)
{
    rapt_translator *t = NULL;
    rapt_message why = {""};
    rapt_model *model = small_model(config, 1);
    assert_int_equal(rapt_translator_create(&t, model, source, target, &o, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_null(t);
    if (!strstr(why.text, word)) fail_msg("%s", why.text);
    rapt_model_free(model);
}

static void test_refusals(void **state)
{
    (void)state;
    rapt_tokenizer *tokenizer = small_tokenizer();
    const rapt_translator_options o = {.size = sizeof o};
    rapt_config c = small_configs[0];
    refuse(&small_configs[10], tokenizer, NULL, o, "encoder-decoder");
    refuse(&c, tokenizer, NULL, o, "source has 275 tokens; the model's table has 11");
    c.source_vocab = SMALL_VOCAB;
    refuse(&c, tokenizer, NULL, o, "275 tokens; the model's table has 13");
    refuse(&c, tokenizer, tokenizer, o, "target has 275 tokens; the model's table has 13");
    c.target_vocab = SMALL_VOCAB;
    rapt_translator *t = NULL;
    rapt_message why = {""};
    rapt_model *model = small_model(&c, 1);
    assert_int_equal(rapt_translator_create(&t, model, NULL, NULL, &o, NULL, &why), RAPT_BAD_FILE);
    assert_true(!t && strstr(why.text, "metadata rapt.tokenizer"));
    rapt_model_free(model);
#define REFUSE(field, value)                                                                       \
    do {                                                                                           \
        rapt_translator_options wrong = o;                                                         \
        wrong.field = value;                                                                       \
        refuse(&c, tokenizer, tokenizer, wrong, #field);                                           \
    } while (0)
    REFUSE(beams, -1);
    REFUSE(beams, 1025);
    REFUSE(nbest, 6);
    REFUSE(nbest, -1);
    REFUSE(batch, -1);
    REFUSE(batch, 65537);
    REFUSE(batch_tokens, -1);
    REFUSE(threads, -1);
    REFUSE(min_length, -1);
    REFUSE(no_repeat_ngram, -1);
    REFUSE(length_penalty, NAN);
    REFUSE(repetition_penalty, -1);
    REFUSE(coverage_penalty, INFINITY);
    REFUSE(suppressed_text_count, 1);
#undef REFUSE
    rapt_tokenizer_free(tokenizer);
}

static int check_rules(void *user, const rapt_translation *t)
{
    *(int *)user += t->target_count;
    assert_true(t->target_count >= 9);
    for (int i = 0; i < t->target_count; i++)
        for (int j = 0; j < i; j++) assert_int_not_equal(t->target[i], t->target[j]);
    return 0;
}

/* min_length and no_repeat_ngram must reach the search. */
static void test_rules(void **state)
{
    (void)state;
    rapt_config c = small_configs[0];
    c.source_vocab = c.target_vocab = SMALL_VOCAB, c.positions = POSITIONS;
    rapt_model *model = small_model(&c, 3);
    rapt_tokenizer *tokenizer = small_tokenizer();
    const rapt_translator_options o = {.size = sizeof o, .min_length = 9, .no_repeat_ngram = 1};
    const rapt_text texts[] = {{"the cat", 7}, {"a bird", 6}};
    rapt_translator *t = NULL;
    int tokens = 0;
    assert_int_equal(rapt_translator_create(&t, model, tokenizer, NULL, &o, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_translate_many(t, texts, 2, 0, check_rules, &tokens, NULL), RAPT_OK);
    assert_true(tokens >= 18);
    rapt_translator_free(t);
    rapt_tokenizer_free(tokenizer);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
