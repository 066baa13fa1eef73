/* memory.c - every allocation of models, sessions, trainers and translators fails once, and all
   from the n-th on: calls return RAPT_NO_MEMORY, leak nothing and write nothing. New memory is full
   of NaN. */
#include "translate/small_text.h"

/* An allocator that counts calls and fails those that it is set to fail. */
struct counting {
    long live, calls, fail_at; /* 0: never */
    size_t bytes;
    bool for_good;
};

static void *take(void *user, size_t bytes)
{
    struct counting *p = user;
    p->calls++;
    if (p->fail_at && (p->calls == p->fail_at || (p->for_good && p->calls > p->fail_at)))
        return NULL;
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0xff, bytes);
    p->live++;
    p->bytes += bytes;
    return memory;
}

static void give_back(void *user, void *memory, size_t bytes)
{
    struct counting *p = user;
    p->live--;
    p->bytes -= bytes;
    free(memory);
}

struct scene {
    struct counting counting;
    rapt_allocator allocator;
    char path[256];
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_translator *translator;
    int given;
};

typedef rapt_status deed(struct scene *s, rapt_message *why);

/* Repeats *what with each allocation failing in turn. It must fail until all of them succeed. */
static void each_fails(struct scene *s, deed *what)
{
    for (int for_good = 0; for_good < 2; for_good++)
        for (long n = 1;; n++) {
            struct counting before = s->counting;
            rapt_message why = {""};
            s->counting.calls = 0, s->counting.fail_at = n, s->counting.for_good = for_good;
            rapt_status status = what(s, &why);
            bool reached = s->counting.calls >= n;
            s->counting.fail_at = 0;
            assert_int_equal(s->counting.live, before.live);
            assert_int_equal(s->counting.bytes, before.bytes);
            if (!reached) {
                assert_int_equal(status, RAPT_OK);
                assert_true(n > 1);
                break;
            }
            assert_int_equal(status, RAPT_NO_MEMORY);
            assert_true(why.text[0]);
        }
}

static void *const untouched = (void *)(uintptr_t)64;

static rapt_status create_model(struct scene *s, rapt_message *why)
{
    rapt_model *model = untouched;
    rapt_status status = rapt_model_create(&model, &small_configs[1], 1, &s->allocator, why);
    if (status) {
        assert_ptr_equal(model, untouched);
    } else {
        assert_true(rapt_model_bytes(model) == s->counting.bytes || s->model);
        rapt_model_free(model);
    }
    return status;
}

static rapt_status load_model(struct scene *s, rapt_message *why)
{
    rapt_model *model = untouched;
    rapt_status status = rapt_model_load(&model, s->path, &s->allocator, why);
    if (status)
        assert_ptr_equal(model, untouched);
    else
        rapt_model_free(model);
    return status;
}

static rapt_status save_model(struct scene *s, rapt_message *why)
{
    unlink(s->path);
    rapt_status status = rapt_model_save(s->model, s->path, NULL, 0, why);
    if (status) assert_int_equal(access(s->path, F_OK), -1);
    return status;
}

static rapt_status create_session(struct scene *s, rapt_message *why)
{
    rapt_session *session = untouched;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 3,
                          .beams = 2,
                          .source_tokens = 20,
                          .target_length = 9,
                          .alignments = 1};
    size_t before = s->counting.bytes;
    rapt_status status = rapt_session_create(&session, s->model, &limits, &s->allocator, why);
    if (status) {
        assert_ptr_equal(session, untouched);
        return status;
    }
    size_t bytes = s->counting.bytes - before;
    long calls = s->counting.calls;
    assert_int_equal(rapt_session_bytes(s->model, &limits), bytes);
    assert_int_equal(s->counting.calls, calls); /* asking for a size allocates nothing */
    rapt_session_free(session);
    return status;
}

static const rapt_train_limits train_limits = {sizeof train_limits, 3, 20, 20, 2, .shards = 4};

static rapt_status create_trainer(struct scene *s, rapt_message *why)
{
    rapt_trainer *trainer = untouched;
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    size_t before = s->counting.bytes;
    rapt_status status =
        rapt_trainer_create(&trainer, s->model, &options, &train_limits, &s->allocator, why);
    if (status) {
        assert_ptr_equal(trainer, untouched);
        return status;
    }
    assert_int_equal(rapt_trainer_bytes(s->model, &train_limits), s->counting.bytes - before);
    rapt_trainer_free(trainer);
    return status;
}

static rapt_status save_trainer(struct scene *s, rapt_message *why)
{
    rapt_metadata note = {"a", "b"};
    return rapt_trainer_save(s->trainer, s->path, &note, 1, why);
}

static rapt_status load_trainer(struct scene *s, rapt_message *why)
{
    float *before = small_parameters(s->model);
    rapt_status status = rapt_trainer_load(s->trainer, s->path, why);
    float *after = small_parameters(s->model);
    if (status) assert_memory_equal(before, after, rapt_model_parameters(s->model) * sizeof *after);
    free(before);
    free(after);
    return status;
}

static void enter(struct scene *s)
{
    s->allocator = (rapt_allocator){take, give_back, &s->counting};
    small_path(s->path, "memory");
    unlink(s->path);
}

static void leave(struct scene *s)
{
    rapt_trainer_free(s->trainer);
    rapt_translator_free(s->translator);
    rapt_model_free(s->model);
    unlink(s->path);
    assert_int_equal(s->counting.live, 0);
    assert_int_equal(s->counting.bytes, 0);
}

static void test_model(void **state)
{
    (void)state;
    struct scene s = {.given = 0};
    enter(&s);
    each_fails(&s, create_model);
    assert_int_equal(rapt_model_create(&s.model, &small_configs[1], 1, &s.allocator, NULL),
                     RAPT_OK);
    each_fails(&s, save_model);
    each_fails(&s, load_model);
    each_fails(&s, create_session);
    leave(&s);
}

static void test_trainer(void **state)
{
    (void)state;
    struct scene s = {.given = 0};
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    enter(&s);
    assert_int_equal(rapt_model_create(&s.model, &small_configs[1], 1, &s.allocator, NULL),
                     RAPT_OK);
    each_fails(&s, create_trainer);
    assert_int_equal(
        rapt_trainer_create(&s.trainer, s.model, &options, &train_limits, &s.allocator, NULL),
        RAPT_OK);
    each_fails(&s, save_trainer);
    small_shake(s.model, 3, 1);
    each_fails(&s, load_trainer);
    leave(&s);
}

/* ---- translators ---- */

static rapt_status load_translator(struct scene *s, rapt_message *why)
{
    rapt_translator *translator = untouched;
    rapt_translator_options options = {
        .size = sizeof options, .beams = 2, .batch = 2, .batch_tokens = 20, .threads = 1};
    rapt_status status = rapt_translator_load(&translator, s->path, &options, &s->allocator, why);
    if (status)
        assert_ptr_equal(translator, untouched);
    else
        rapt_translator_free(translator);
    return status;
}

static int count(void *user, const rapt_translation *translation)
{
    struct scene *s = user;
    assert_true(translation->text[translation->size] == 0);
    s->given++;
    return 0;
}

static rapt_status translate(struct scene *s, rapt_message *why)
{
    rapt_text texts[] = {{"the cat", 7}, {"", 0}, {"a bird sleeps", 13}};
    s->given = 0;
    rapt_status status = rapt_translate_many(s->translator, texts, 3, 1, count, s, why);
    assert_int_equal(s->given, status ? 0 : 5);
    return status;
}

static rapt_status translate_one(struct scene *s, rapt_message *why)
{
    char out[1024] = "as before";
    size_t size = 7;
    rapt_status status = rapt_translate(s->translator, "the dog", out, sizeof out, &size, why);
    if (status) assert_true(size == 7 && strcmp(out, "as before") == 0);
    return status;
}

static void test_translator(void **state)
{
    (void)state;
    struct scene s = {.given = 0};
    rapt_translator_options options = {
        .size = sizeof options, .beams = 2, .nbest = 2, .batch = 2, .threads = 1};
    enter(&s);
    small_translator_file(s.path, 16, 1);
    each_fails(&s, load_translator);
    assert_int_equal(rapt_translator_load(&s.translator, s.path, &options, &s.allocator, NULL),
                     RAPT_OK);
    each_fails(&s, translate);
    each_fails(&s, translate_one);
    leave(&s);
}

/* Between creation and free nothing is allocated by encoding, decoding, generating, training. */
static void test_work(void **state)
{
    (void)state;
    struct scene s = {.given = 0};
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 2,
                          .beams = 2,
                          .source_tokens = 10,
                          .target_length = 9,
                          .threads = 3};
    rapt_session *session;
    struct small_batch source, target;
    rapt_report report = {.size = sizeof report};
    int lengths[] = {4, 3}, counts[2];
    int32_t ids[18];
    enter(&s);
    assert_int_equal(rapt_model_create(&s.model, &small_configs[1], 1, &s.allocator, NULL),
                     RAPT_OK);
    assert_int_equal(
        rapt_trainer_create(&s.trainer, s.model, &options, &train_limits, &s.allocator, NULL),
        RAPT_OK);
    assert_int_equal(rapt_session_create(&session, s.model, &limits, &s.allocator, NULL), RAPT_OK);
    small_fill(&source, 11, lengths, 2, 1);
    small_fill(&target, 11, lengths, 2, 2);
    s.counting.calls = 0;
    for (int i = 0; i < 2; i++) {
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, 1, 2);
        o.beams = 2 - i, o.temperature = (float)i;
        assert_int_equal(
            rapt_train_gradient(s.trainer, &source.tokens, &target.tokens, &report, NULL), RAPT_OK);
        assert_int_equal(rapt_train_step(s.trainer, &report, NULL), RAPT_OK);
        const rapt_generate_outputs out = {.size = sizeof out, .ids = ids, .counts = counts};
        assert_int_equal(rapt_generate(session, &source.tokens, &o, &out, NULL), RAPT_OK);
    }
    assert_int_equal(s.counting.calls, 0);
    rapt_session_free(session);
    leave(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_trainer),
        cmocka_unit_test(test_translator),
        cmocka_unit_test(test_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
