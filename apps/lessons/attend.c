/* attend.c - attention of small arrays through rapt/attention.h. */
#include "attend.h"
#include "kit/layers.h"
#include "kit/program.h"
#include <stdlib.h>

void attend(const struct attended *a, float *out, float *weights)
{
    struct workspace workspace = {0};
    rapt_attention problem;
    float *statistics = xcalloc((size_t)a->queries * 2, sizeof *statistics);
    float *unused =
        out == NULL ? xcalloc((size_t)(a->queries * a->value_width), sizeof *unused) : NULL;
    rapt_attention_init(&problem, sizeof problem, 1, 1, a->queries, a->keys, a->width);
    problem.value_width = a->value_width;
    problem.v.row = problem.out.row = a->value_width;
    problem.v.batch = problem.v.head = (ptrdiff_t)a->keys * a->value_width;
    problem.out.batch = problem.out.head = (ptrdiff_t)a->queries * a->value_width;
    problem.scale = a->scale;
    void *memory = workspace_for(&workspace, &problem);
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = statistics};
    must(rapt_attention_forward(&problem, a->q, a->k, a->v, out != NULL ? out : unused, &saved,
                                memory, NULL));
    if (weights != NULL)
        must(rapt_attention_weights(&problem, a->q, a->k, &saved, 0, 0, 0, a->queries, weights,
                                    memory, NULL));
    free(workspace.data);
    free(statistics);
    free(unused);
}
