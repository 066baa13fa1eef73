/* tasks.c - lesson 10: what attention is for. Small Transformers of the library learn the tasks
   side by side, each in a thread; then each task shows what it measured. */
#include "tasks.h"
#include "kit/demo.h"
#include <stdatomic.h>

static const struct task *const tasks[] = {&task_translate, &task_caption, &task_answer,
                                           &task_spell, &task_language};
enum { TASKS = sizeof tasks / sizeof *tasks };

struct pool {
    void *states[TASKS];
    int models; /* of all tasks */
    atomic_int taken;
};

/* Trains what nobody has taken yet, those of the last tasks first, which take longest. */
static void *work(void *argument)
{
    struct pool *pool = argument;
    for (int left; (left = pool->models - 1 - atomic_fetch_add(&pool->taken, 1)) >= 0;) {
        int i = 0;
        for (; left >= tasks[i]->models; i++) left -= tasks[i]->models;
        tasks[i]->train(pool->states[i], left);
    }
    return NULL;
}

int lesson_tasks(struct page *page, const struct lesson_options *options)
{
    struct pool pool = {.models = 0};
    for (int i = 0; i < TASKS; i++) {
        pool.states[i] = tasks[i]->create(options);
        pool.models += tasks[i]->models;
    }
    page_paragraph(page, SHORT,
                   "Whatever an output is conditioned on can be attended to. %d small models learn "
                   "their tasks side by side, which takes some seconds.",
                   pool.models);
    page_step(page, "Which half of a Transformer");
    run_threads(work, &pool, options->threads < pool.models ? options->threads : pool.models, 0);
    page_table(page, SHORT, "What goes in, what comes out", "task\tin\tout\tmodel");
    for (int i = 0; i < TASKS; i++) page_row(page, "%s", tasks[i]->row);
    for (int i = 0; i < TASKS; i++) {
        tasks[i]->show(page, pool.states[i]);
        tasks[i]->free(pool.states[i]);
    }
    return EXIT_OK;
}
