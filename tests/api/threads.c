/* threads.c - models, tokenizers and translators that many threads of the caller share. */
#include "api/small_world.h"
#include "translate/small_text.h"

#include <pthread.h>

/* ---- threads: one model used by many of the caller's threads, each with its own session or
   trainer, gives the same bits as a single thread. This must hold inside the caller's parallel
   region, with many more threads than processors, and if OpenMP's number of threads changes between
   calls. ---- */

#ifdef _OPENMP
#include <omp.h>
static void openmp_would_use(int threads)
{
    omp_set_num_threads(threads);
}
#else
static void openmp_would_use(int threads)
{
    (void)threads;
}
#endif

enum {
    WORKERS = 5,
    THREADS_ROUNDS = 2,
    SEEDS = 3,
    CALLS = 20,
    QUERIES = 40,
    WIDTH = 16,
    HEADS = 3
};
enum { FLOATS = HEADS * QUERIES * WIDTH };

struct threads_job {
    const rapt_model *model;
    int number, threads;
    uint64_t generated[SEEDS], trained, attended;
};

struct arrays {
    _Alignas(64) float q[FLOATS], k[FLOATS], v[FLOATS], out[FLOATS], dout[FLOATS];
    float dq[FLOATS], dk[FLOATS], dv[FLOATS], lse[HEADS * QUERIES];
};

/* Runs attention many times, with a team per call. Returns a hash of the results, or 0 if a call
   fails or two results differ. */
static uint64_t attend(int threads)
{
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, 1, HEADS, QUERIES, QUERIES, WIDTH);
    a.threads = threads;
    struct arrays *x = aligned_alloc(64, sizeof *x);
    void *workspace = aligned_alloc(64, (rapt_attention_workspace(&a) + 63) / 64 * 64);
    uint64_t first = 0;
    bool good = x && workspace;
    for (int i = 0; good && i < FLOATS; i++) {
        x->q[i] = sinf((float)i), x->k[i] = cosf((float)i);
        x->v[i] = sinf(3 * (float)i), x->dout[i] = cosf(3 * (float)i);
    }
    for (int i = 0; good && i < CALLS; i++) {
        const rapt_gradients d = {.size = sizeof d, .q = x->dq, .k = x->dk, .v = x->dv};
        memset(x->dq, 0, 3 * sizeof x->dq);
        good = !rapt_attention_forward(
                   &a, x->q, x->k, x->v, x->out,
                   &(rapt_attention_saved){.size = sizeof(rapt_attention_saved), .lse = x->lse},
                   workspace, NULL) &&
               !rapt_attention_backward(
                   &a, x->q, x->k, x->v, x->out,
                   &(rapt_attention_saved){.size = sizeof(rapt_attention_saved), .lse = x->lse},
                   x->dout, NULL, &d, workspace, NULL);
        uint64_t h = api_hash(api_hash(1, x->out, sizeof x->out), x->dq, 3 * sizeof x->dq);
        good = good && (i == 0 || h == first);
        first = h;
    }
    free(workspace);
    free(x);
    return good ? first : 0;
}

static void work_threads(struct threads_job *job)
{
    for (int round = 0; round < THREADS_ROUNDS; round++)
        for (int s = 0; s < SEEDS; s++) {
            int which = (s + job->number + round) % SEEDS;
            uint64_t h = api_generate(job->model, (uint64_t)which, job->threads);
            if (round && job->generated[which] != h) h = 0;
            job->generated[which] = h;
        }
    job->trained = api_train(7, job->threads);
    job->attended = attend(job->threads);
}

static void *enter(void *job)
{
    work_threads(job);
    return NULL;
}

static void compare(const struct threads_job *jobs, int count)
{
    struct threads_job alone = {.model = jobs[0].model, .threads = 1};
    work_threads(&alone);
    for (int i = 0; i < count; i++) {
        assert_memory_equal(jobs[i].generated, alone.generated, sizeof alone.generated);
        assert_true(jobs[i].trained == alone.trained && alone.trained && alone.generated[0]);
        assert_true(jobs[i].attended == alone.attended && alone.attended);
    }
}

static void test_pthreads(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    const int sizes[WORKERS] = {0, 1, 2, 3, 64};
    struct threads_job jobs[WORKERS];
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        jobs[i] = (struct threads_job){.model = model, .number = i, .threads = sizes[i]};
        assert_int_equal(pthread_create(&threads[i], NULL, enter, &jobs[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    compare(jobs, WORKERS);
    rapt_model_free(model);
}

static void test_parallel_region(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    struct threads_job jobs[8];
#pragma omp parallel for num_threads(8) schedule(dynamic)
    for (int i = 0; i < 8; i++) {
        jobs[i] = (struct threads_job){.model = model, .number = i, .threads = i % 4};
        work_threads(&jobs[i]);
    }
    compare(jobs, 8);
    rapt_model_free(model);
}

static void test_more_than_processors(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    struct threads_job jobs[3];
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct threads_job){.model = model, .threads = i < 2 ? 64 : 0};
        openmp_would_use(i ? 16 : 1); /* 64 are reduced to the number of processors, or to 16 */
        work_threads(&jobs[i]);
    }
    compare(jobs, 3);
    rapt_model_free(model);
}

/* A session that was created when OpenMP would use one thread has workspaces for one. It must not
   use more threads when OpenMP later would. */
static void test_number_that_grows(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    rapt_limits limits = {
        .size = sizeof limits, .batch = 3, .beams = 3, .source_tokens = 40, .target_length = 12};
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_train_limits max = {
        .size = sizeof max, .batch = 3, .source_tokens = 40, .target_tokens = 40};
    rapt_session *session;
    rapt_trainer *trainer;
    rapt_report report = {.size = sizeof report};
    struct small_batch batch;
    int lengths[] = {9, 20, 3}, counts[3];
    int32_t ids[36];
    float scores[3];
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, 1, 2);
    o.beams = 3;
    openmp_would_use(1);
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), 0);
    assert_int_equal(rapt_trainer_create(&trainer, model, &options, &max, NULL, NULL), 0);
    openmp_would_use(8);
    small_fill(&batch, 60, lengths, 3, 1);
    const rapt_generate_outputs out = {
        .size = sizeof out, .ids = ids, .counts = counts, .scores = scores};
    assert_int_equal(rapt_generate(session, &batch.tokens, &o, &out, NULL), 0);
    assert_int_equal(rapt_train_gradient(trainer, &batch.tokens, &batch.tokens, &report, NULL), 0);
    assert_int_equal(rapt_train_step(trainer, &report, NULL), 0);
    rapt_trainer_free(trainer);
    rapt_session_free(session);
    rapt_model_free(model);
}

/* Memory followed by guard bytes, which nothing may write. */
enum { GUARD = 1 << 20 };
struct guarded {
    unsigned char *memory;
    size_t bytes;
};

static void *guarded_alloc(void *user, size_t bytes)
{
    struct guarded *g = user;
    unsigned char *memory = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    memset(memory + bytes, 0x5A, GUARD);
    if (bytes > g->bytes) *g = (struct guarded){memory, bytes};
    return memory;
}

static void guarded_free(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

/* The same for a block of layers, with guard bytes after its memory. */
static void test_block_that_grows(void **state)
{
    (void)state;
    enum { ROWS = 1024, BLOCK_WIDTH = 64 };
    struct guarded g = {NULL, 0};
    const rapt_allocator allocator = {guarded_alloc, guarded_free, &g};
    rapt_config c = {.size = sizeof c, .width = BLOCK_WIDTH, .heads = 4};
    const rapt_block_limits l = {.size = sizeof l, .batch = 1, .rows = ROWS};
    const int starts[] = {0, ROWS};
    const rapt_block_rows r = {.size = sizeof r, .starts = starts, .batch = 1, .learning = 1};
    rapt_block *b;
    openmp_would_use(1);
    assert_int_equal(
        rapt_block_create(&b, RAPT_BLOCK_KIND_SELF_ATTENTION, &c, &l, &allocator, NULL), RAPT_OK);
    size_t floats = rapt_block_floats(b);
    float *parameters = aligned_alloc(64, (floats * sizeof(float) + 63) / 64 * 64);
    float *x = malloc(ROWS * BLOCK_WIDTH * sizeof *x), *y = malloc(ROWS * BLOCK_WIDTH * sizeof *y);
    float *gradient = calloc(floats, sizeof *gradient);
    assert_int_equal(rapt_block_init(b, 1, parameters, NULL), RAPT_OK);
    for (int i = 0; i < ROWS * BLOCK_WIDTH; i++) x[i] = sinf((float)i);
    openmp_would_use(2);
    for (int i = 0; i < 60; i++)
        assert_int_equal(rapt_block_forward(b, parameters, &r, x, y, NULL), RAPT_OK);
    for (int i = 0; i < 60; i++) {
        assert_int_equal(rapt_block_backward(b, parameters, &r, y, NULL, NULL, gradient, NULL),
                         RAPT_OK);
    }
    for (size_t i = 0; i < GUARD; i++) assert_int_equal(g.memory[g.bytes + i], 0x5A);
    free(x), free(y), free(gradient), free(parameters);
    rapt_block_free(b);
}

/* ---- translators: one model and one tokenizer, created or loaded once, shared by several
   translators: each, on its own thread, gives the bits that a translator loaded from the file
   gives. Models, tokenizers and options that do not fit together are refused. ---- */

enum { THREADS = 4, TRANSLATORS_ROUNDS = 6, POSITIONS = 40 };

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

static uint64_t work_translators(rapt_translator *t)
{
    rapt_text texts[COUNT(small_lines)];
    uint64_t h = 0xCBF29CE484222325u;
    for (int i = 0; i < COUNT(texts); i++)
        texts[i] = (rapt_text){small_lines[i], strlen(small_lines[i])};
    for (int i = 0; i < TRANSLATORS_ROUNDS; i++)
        if (rapt_translate_many(t, texts, COUNT(texts), i % 2, add_text, &h, NULL) ||
            rapt_translator_score(t, texts, texts, COUNT(texts), add_score, &h, NULL))
            return 0;
    return h;
}

struct translators_job {
    const rapt_model *model;
    const rapt_tokenizer *tokenizer;
    int number;
    uint64_t result;
};

static void *run(void *argument)
{
    struct translators_job *job = argument;
    const rapt_translator_options o = {
        .size = sizeof o, .nbest = 2, .threads = 1 + job->number % 2, .batch = 2 + job->number};
    rapt_translator *t = NULL;
    const rapt_tokenizer *tokenizer =
        job->number % 3 ? job->tokenizer : NULL; /* NULL: the model's own */
    if (rapt_translator_create(&t, job->model, tokenizer, NULL, &o, NULL, NULL)) return NULL;
    job->result = work_translators(t);
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
    struct translators_job jobs[THREADS];
    pthread_t threads[THREADS];
    small_translator_file(small_path(path, "translators"), POSITIONS, 6);
    assert_int_equal(rapt_translator_load(&alone, path, &o, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_model_load(&model, path, NULL, NULL), RAPT_OK);
    uint64_t wanted = work_translators(alone);
    assert_true(wanted != 0);
    rapt_translator_free(alone);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct translators_job){model, tokenizer, i, 0};
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
        cmocka_unit_test(test_pthreads),
        cmocka_unit_test(test_parallel_region),
        cmocka_unit_test(test_more_than_processors),
        cmocka_unit_test(test_number_that_grows),
        cmocka_unit_test(test_block_that_grows),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
