/* scales.c - stores the scales and alphas of a file's tensors as metadata, and exports them with
   the model to Marian. See model/scales.c. */
#include "import/export.h"
#include "import/parts.h"
#include <stdio.h>

enum { SOME = 4096 }; /* rows whose scales are read at a time */

rapt_status rapt__import_keep_alpha(struct import *i, const char *name, float alpha)
{
    const struct scale_rows rows = {
        .name = name, .count = 1, .scales = &(float){0}, .same = true, .alpha = alpha};
    return rapt__scales_append(&i->scales, &i->lasting, &rows, i->why);
}

rapt_status rapt__import_keep_scales(struct import *i, const char *name, size_t first, size_t count,
                                     const struct tensor_entry *e)
{
    float scales[SOME] = {e->scale};
    struct scale_rows rows = {.name = name, .scales = scales, .alpha = e->alpha};
    rapt_status status = RAPT_OK;
    rows.same = e->scales == 1;
    if (!rows.same && (e->scales != count || e->transposed)) return RAPT_OK;
    for (size_t done = 0; done < count && !status; done += rows.count) {
        rows.first = first + done;
        rows.count = rows.same ? count : rapt__min_size(count - done, SOME);
        if (!rows.same) status = rapt__tensors_scales(i->file, e, done, rows.count, scales, i->why);
        if (!status) status = rapt__scales_append(&i->scales, &i->lasting, &rows, i->why);
    }
    return status;
}

/* ---- exporting ---- */

/* Returns the value that all rows share, or 0 if they differ. */
static float common(const float *of_rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (of_rows[i] != of_rows[0]) return 0;
    return of_rows[0];
}

/* Assigns the scales and alphas of parameter n to its parts among the first `count` tensors. memory
   holds 2 floats for each row of the parameter. */
static rapt_status take_scales(struct exporting *e, int n, int count, float *memory)
{
    const struct parameter *p = &e->model->layout.parameters[n];
    float *alphas = memory + p->rows;
    rapt_status status = rapt_model_scales(e->model, n, memory, alphas, e->why);
    for (int i = 0; i < count && !status; i++) {
        struct export_tensor *t = &e->tensors[i];
        if (t->p != p) continue;
        size_t rows = (size_t)(p->rows / t->row->parts), first = (size_t)t->row->part * rows;
        e->sources[i].scale = common(memory + first, rows);
        t->alpha = common(alphas + first, rows);
    }
    return status == RAPT_BAD_FILE ? RAPT_BAD_ARGUMENT : status;
}

static rapt_status take_all_scales(struct exporting *e, int count)
{
    const rapt_model *m = e->model;
    rapt_status status = RAPT_OK;
    if (!rapt_model_metadata(m, SCALES_KEY)) return RAPT_OK;
    for (int n = 0; n < m->layout.count && !status; n++) {
        if (m->layout.parameters[n].rows == 1) continue;
        size_t bytes = 2 * (size_t)m->layout.parameters[n].rows * sizeof(float);
        float *memory = rapt__alloc(&m->allocator, bytes);
        if (!memory) return rapt__fail(e->why, RAPT_NO_MEMORY, "no memory for scales");
        status = take_scales(e, n, count, memory);
        rapt__free(&m->allocator, memory, bytes);
    }
    return status;
}

static void add_alpha(struct exporting *e, const char *of, const float *alpha)
{
    char name[IMPORT_NAME];
    snprintf(name, sizeof name, "%.100s_QuantMultA", of);
    rapt__export_add(e, name, 1, 1, alpha);
    e->sources[e->count - 1].rank = 1;
}

rapt_status rapt__export_scales(struct exporting *e)
{
    int parts = e->count;
    rapt_status status = take_all_scales(e, parts);
    if (!status) status = rapt__scales_named(e->model, "none", NULL, &e->none_alpha, e->why);
    for (int i = 0; i < parts && !status; i++)
        if (e->tensors[i].alpha > 0) add_alpha(e, e->tensors[i].name, &e->tensors[i].alpha);
    if (!status && e->none_alpha > 0) add_alpha(e, "none", &e->none_alpha);
    return status;
}
