/* eight.c - eight threads of the caller run every operation at once on one constant model and one
   tokenizer, and must get the bits that a single thread gets. Arguments: threads per call (0: as
   many as OpenMP would use), rounds. With one thread per call OpenMP is never entered, so that
   helgrind, which does not understand its barriers, can check the rest. */
#include "process/operations.h"

#include <pthread.h>

enum { WORKERS = 8 };

struct worker {
    struct scene *scene;
    int number;
    uint64_t results[OPERATIONS];
};

/* Runs all operations. Each worker begins at a different place in the table. The operation that
   sets the instruction set is skipped, since that is not allowed while others compute. */
static void *work(void *argument)
{
    struct worker *w = argument;
    for (int i = 0; i < OPERATIONS; i++) {
        int which = (i + w->number * OPERATIONS / WORKERS) % OPERATIONS;
        if (strcmp(operations[which].name, "isa_use") != 0)
            w->results[which] = scene_run(w->scene, &operations[which]);
    }
    return NULL;
}

static int threads_of_call = 2, rounds = 1;

/* Runs the workers all together or one after the other. */
static void run_workers(struct worker workers[WORKERS], const struct scene *shared, bool together)
{
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        memset(&workers[i], 0, sizeof workers[i]);
        workers[i].number = i;
        workers[i].scene = scene_new(shared->variant, threads_of_call, i + 1, shared);
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        if (!together) assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; together && i < WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < WORKERS; i++) scene_free(workers[i].scene, shared);
}

static void test_eight(void **state)
{
    static struct worker together[WORKERS], alone[WORKERS];
    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct scene *shared = scene_new(round % SCENE_VARIANTS, 1, 0, NULL);
        run_workers(alone, shared, false);
        run_workers(together, shared, true);
        for (int i = 0; i < WORKERS; i++)
            for (int k = 0; k < OPERATIONS; k++)
                if (together[i].results[k] != alone[i].results[k] ||
                    (!alone[i].results[k] && strcmp(operations[k].name, "isa_use")))
                    fail_msg("%s: other bits in thread %d", operations[k].name, i);
        scene_free(shared, NULL);
    }
    printf("cases: process/eight: %d operations at once\n", rounds * WORKERS * OPERATIONS);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_eight)};
    if (count > 1) threads_of_call = atoi(words[1]);
    if (count > 2) rounds = atoi(words[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
