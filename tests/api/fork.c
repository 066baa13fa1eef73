/* fork.c - after fork() the child can go on with its copy of the model. GNU's OpenMP deadlocks if a
   child opens a parallel region on a thread whose parent had already opened one: it waits for
   threads that fork() did not copy. So the child asks for one thread, or calls from a new
   thread. */
#define _DEFAULT_SOURCE
#include "api/small_world.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 60 };

struct call {
    const rapt_model *model;
    int threads;
    uint64_t generated, trained;
};

static void *do_all(void *argument)
{
    struct call *call = argument;
    call->generated = api_generate(call->model, 3, call->threads);
    call->trained = api_train(3, call->threads);
    return NULL;
}

/* Runs everything in a child and checks that it gives the bits of `wanted`. An alarm ends a child
   that hangs. */
static void in_child(const rapt_model *model, int threads, bool own_thread,
                     const struct call *wanted)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct call call = {.model = model, .threads = threads};
        pthread_t thread;
        alarm(SECONDS);
        if (!own_thread)
            do_all(&call);
        else if (pthread_create(&thread, NULL, do_all, &call) || pthread_join(thread, NULL))
            _exit(2);
        _exit(call.generated != wanted->generated || call.trained != wanted->trained);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_fork(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    struct call wanted = {.model = model, .threads = 1}, after = {.model = model, .threads = 3};
    do_all(&wanted);
    in_child(model, 3, true, &wanted); /* before the parent's first parallel region */
    do_all(&after);                    /* now OpenMP has started threads in the parent */
    assert_true(after.generated == wanted.generated && after.trained == wanted.trained);
    in_child(model, 1, false, &wanted);
    in_child(model, 3, true, &wanted);
    do_all(&after); /* the parent still works */
    assert_true(after.generated == wanted.generated && after.trained == wanted.trained);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fork)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
