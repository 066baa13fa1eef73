/* threads.c - one model used by many of the caller's threads, each with its own session or trainer,
   gives the same bits as a single thread. This must hold inside the caller's parallel region, with
   many more threads than processors, and if OpenMP's number of threads changes between calls. */
#include "api/small_api.h"

#include <pthread.h>

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

enum { WORKERS = 5, ROUNDS = 2, SEEDS = 3, CALLS = 20, QUERIES = 40, WIDTH = 16, HEADS = 3 };
enum { FLOATS = HEADS * QUERIES * WIDTH };

struct job {
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

static void work(struct job *job)
{
    for (int round = 0; round < ROUNDS; round++)
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
    work(job);
    return NULL;
}

static void compare(const struct job *jobs, int count)
{
    struct job alone = {.model = jobs[0].model, .threads = 1};
    work(&alone);
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
    struct job jobs[WORKERS];
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        jobs[i] = (struct job){.model = model, .number = i, .threads = sizes[i]};
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
    struct job jobs[8];
#pragma omp parallel for num_threads(8) schedule(dynamic)
    for (int i = 0; i < 8; i++) {
        jobs[i] = (struct job){.model = model, .number = i, .threads = i % 4};
        work(&jobs[i]);
    }
    compare(jobs, 8);
    rapt_model_free(model);
}

static void test_more_than_processors(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    struct job jobs[3];
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct job){.model = model, .threads = i < 2 ? 64 : 0};
        openmp_would_use(i ? 16 : 1); /* 64 are reduced to the number of processors, or to 16 */
        work(&jobs[i]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pthreads),
        cmocka_unit_test(test_parallel_region),
        cmocka_unit_test(test_more_than_processors),
        cmocka_unit_test(test_number_that_grows),
        cmocka_unit_test(test_block_that_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
