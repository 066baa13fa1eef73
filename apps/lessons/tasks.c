/* tasks.c - small Transformers of the library learn several tasks in parallel threads;
   then each task shows its measurements. */
#include "tasks.h"
#include "kit/demo.h"
#include <string.h>

static const struct task *const tasks[] = {&task_translate, &task_parse, &task_caption,
                                           &task_answer,    &task_spell, &task_language};
enum { TASKS = sizeof tasks / sizeof *tasks };

/* One model of a task. */
struct job {
    const struct task *task;
    void *state;
    int model;
};

static void *tasks_work(void *argument)
{
    const struct job *job = argument;
    job->task->train(job->state, job->model);
    return NULL;
}

static void add_rows(struct page *page, const char *rows)
{
    while (*rows) {
        const size_t size = strcspn(rows, "\n");
        page_row(page, "%.*s", (int)size, rows);
        rows += size + (rows[size] == '\n');
    }
}

static void tell_conditions(struct page *page)
{
    page_step(page, "To be conditioned on something");
    page_paragraph(
        page, SHORT,
        "An output is conditioned on X if X, or some encoding of X, is one of the inputs of the "
        "network. A one-to-one network is conditioned on its input only, and gives the same output "
        "for it every time. A recurrent network is conditioned on its past as well, through its "
        "state, and a decoder on the source and on everything that it has written. A network can "
        "also be given a random number: the same prompt then has many continuations, one for each "
        "number. Variational autoencoders do this by adding noise to their code, and the language "
        "model below by drawing each word at random.");
    page_formula(page, SHORT, "y_t = f(x, y_1 … y_{t-1}, ε)");
}

int lesson_tasks(struct page *page, const struct lesson_options *options)
{
    void *states[TASKS][2]; /* without and with training */
    struct job jobs[TASKS * MAX_MODELS * 2];
    int models = 0;
    for (int trained = 1; trained >= 0; trained--)
        for (int i = TASKS - 1; i >= 0; i--) { /* the slowest tasks begin */
            states[i][trained] = tasks[i]->create(options, trained);
            for (int m = 0; m < tasks[i]->models; m++)
                jobs[models++] = (struct job){tasks[i], states[i][trained], m};
        }
    page_paragraph(
        page, SHORT,
        "Attention can read whatever an output is conditioned on. This lesson has %d small models "
        "that learn their tasks side by side, which takes some seconds.",
        models / 2);
    tell_conditions(page);
    page_step(page, "Which half of a Transformer");
    run_threads(tasks_work, jobs, models, sizeof *jobs, options->threads);
    page_table(page, SHORT, "What goes in, and what comes out", "task\tin\tout\tmodel\tsequences");
    for (int i = 0; i < TASKS; i++) add_rows(page, tasks[i]->rows);
    page_paragraph(
        page, SHORT,
        "Many to one: a single answer at the end of a sequence. Many to many: an output for each "
        "item. If no output needs a later item, the task is called streaming, and outputs can be "
        "written on the fly, as a decoder or a tagger with a causal mask does "
        "(apps/examples/tagger.c). Generative: the output is a sequence with a length of its own, "
        "written after all of the input has been read.");
    for (int i = 0; i < TASKS; i++) {
        tasks[i]->show(page, states[i][true], states[i][false]);
        for (int trained = 0; trained < 2; trained++) tasks[i]->free(states[i][trained]);
    }
    return EXIT_OK;
}
