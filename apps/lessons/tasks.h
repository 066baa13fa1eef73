/* tasks.h - the tasks of the last lesson. The models of all tasks are trained in parallel threads;
   then each task appends its measurements. A new task is a file and a row in tasks.c. */
#ifndef TASKS_H
#define TASKS_H

#include "lesson.h"

enum { MAX_MODELS = 3 };
struct task {
    const char *rows; /* "task, in, out, model, kind of sequences": cells separated by tabs, rows by
                         newlines */
    int models;       /* how many it trains, up to MAX_MODELS */
    /* trained: otherwise training makes no step, and the task is the control of claims. */
    void *(*create)(const struct lesson_options *options, bool trained);
    void (*train)(void *task, int model); /* trains and measures a model, in a thread of its own */
    void (*show)(struct page *page, void *task, void *untrained);
    void (*free)(void *task);
};
extern const struct task task_translate, task_parse, task_caption, task_answer, task_spell,
    task_language;

#endif
