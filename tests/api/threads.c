/* threads.c - one model, many threads of the caller, each with a session or trainer of its own:
   the same bits as alone. Also from inside the caller's parallel region. */
#include "api/small_api.h"

#include <pthread.h>

enum { WORKERS = 5, ROUNDS = 2, SEEDS = 3 };

struct job {
    const rapt_model *model;
    int number, threads;
    uint64_t generated[SEEDS], trained;
};

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
    }
}

static void test_pthreads(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    struct job jobs[WORKERS];
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        jobs[i] = (struct job){.model = model, .number = i, .threads = i % 4 ? 1 : 2};
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
    struct job jobs[4];
#pragma omp parallel for num_threads(3) schedule(dynamic)
    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct job){.model = model, .number = i, .threads = i};
        work(&jobs[i]);
    }
    compare(jobs, 4);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pthreads),
        cmocka_unit_test(test_parallel_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
