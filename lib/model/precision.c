/* precision.c - converts the matrices of a model between floats, 8-bit integers (kernel/int8.h) and
   16-bit floats (kernel/half.h). Parameters that are IN_ROWS, such as vectors, tables of positions,
   types and distances, and the learned arrays of attention, remain floats. */
#include "kernel/int8.h"
#include "model/model.h"
#include <rapt/precision.h>

#include <string.h>

/* The name of each precision, and the layout that matrices have in it. */
static const struct {
    rapt_precision precision;
    enum layout_kind matrices;
    const char *name;
} forms[] = {
    {RAPT_PRECISION_F32, IN_PANELS, "f32"},
    {RAPT_PRECISION_INT8, IN_BYTES, "int8"},
    {RAPT_PRECISION_BF16, IN_BF16, "bf16"},
    {RAPT_PRECISION_F16, IN_F16, "f16"},
};
enum { FORMS = sizeof forms / sizeof *forms };

enum layout_kind rapt__matrices_of(rapt_precision precision, enum layout_kind stored)
{
    for (int i = 0; i < FORMS; i++)
        if (forms[i].precision == precision) return forms[i].matrices;
    return stored;
}

static int form_of(const rapt_model *model)
{
    int i = 0;
    while (forms[i].matrices != model->layout.matrices) i++;
    return i;
}

rapt_precision rapt_model_precision(const rapt_model *model)
{
    return model ? forms[form_of(model)].precision : RAPT_PRECISION_STORED;
}

const char *rapt_precision_name(rapt_precision precision)
{
    for (int i = 0; i < FORMS; i++)
        if (forms[i].precision == precision) return forms[i].name;
    return NULL;
}

rapt_status rapt__precision_check(rapt_precision precision, rapt_message *why)
{
    return rapt__int_check("precision", (int)precision, RAPT_PRECISION_STORED, FORMS, why);
}

rapt_status rapt__model_needs_floats(const rapt_model *model, const char *what, rapt_message *why)
{
    if (model->layout.matrices == IN_PANELS) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "the model is in %s; it can be %s only in f32: load it in that precision, or "
                      "call rapt_model_set_precision",
                      forms[form_of(model)].name, what);
}

rapt_status rapt__check_depths(const struct layout *l, enum layout_kind matrices, rapt_message *why)
{
    for (int i = 0; i < l->count; i++) {
        const struct parameter *p = &l->parameters[i];
        if (matrices == IN_BYTES && p->kind != IN_ROWS && p->columns > INT8_MAX_DEPTH)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "tensor %s has rows of %d elements; at most %d can be summed in "
                              "32 bits",
                              p->name, p->columns, INT8_MAX_DEPTH);
    }
    return RAPT_OK;
}

rapt_status rapt__check_rounded(const rapt_model *model, rapt_status otherwise, rapt_message *why)
{
    rapt_message reason;
    if (model->layout.matrices != IN_F16 || !rapt_model_check(model, &reason)) return RAPT_OK;
    return rapt__fail(why, otherwise, "%.300s (the largest f16 number is 65,504)", reason.text);
}

/* ---- a model in memory ---- */

struct converting {
    const rapt_model *from;
    rapt_model *to;
    float *factors; /* [largest number of rows] scales of the rows that the original file stored as
                       integers; 0 for other rows */
    float *memory;  /* [threads][share] */
    size_t share;   /* floats per thread: LANES rows, and scratch for rapt__parameter_set_rows */
    int index;      /* index of the current parameter */
};

/* Converts a parameter to floats and then to its new layout, LANES rows at a time. */
static void work_on_parameter(struct team *team, void *argument)
{
    const struct converting *c = argument;
    const struct parameter *from = &c->from->layout.parameters[c->index],
                           *to = &c->to->layout.parameters[c->index];
    float *rows = c->memory + (size_t)team->rank * c->share;
    float *scratch = rows + LANES * (size_t)from->columns;
    for (int t; (t = rapt__team_take(team)) < rapt__ceil_div(from->rows, LANES);) {
        int row = t * LANES, count = rapt__min(from->rows - row, LANES);
        rapt__parameter_get(from, c->from->block, (size_t)row * (size_t)from->columns,
                            (size_t)count * (size_t)from->columns, rows);
        rapt__parameter_set_rows(to, c->to->block, row, count, rows, c->factors + row, scratch);
    }
    rapt__team_barrier(team);
}

static rapt_status convert_all(struct converting *c, int threads, rapt_message *why)
{
    const struct layout *l = &c->to->layout;
    const rapt_allocator *a = &c->from->allocator;
    const int members = rapt__team_size(threads);
    const struct row_sizes sizes = rapt__row_sizes(l);
    rapt_status status = RAPT_OK;
    c->share = LANES * sizes.columns + sizes.scratch;
    const size_t floats = rapt__product((size_t)members, c->share), bytes = floats * sizeof(float);
    c->factors = rapt__alloc(a, sizes.rows * sizeof *c->factors);
    c->memory = floats <= SIZE_MAX / sizeof(float) ? rapt__alloc(a, bytes) : NULL;
    if (!c->factors || !c->memory)
        status = rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to convert a model");
    for (c->index = 0; !status && c->index < l->count; c->index++) {
        status = rapt_model_scales(c->from, c->index, c->factors, NULL, why);
        if (!status) rapt__team_run(members, work_on_parameter, c);
    }
    rapt__free(a, c->memory, bytes);
    rapt__free(a, c->factors, sizes.rows * sizeof *c->factors);
    return status;
}

/* Exchanges everything except the metadata between two models that have the same configuration and
   allocator. */
static void swap_parameters(rapt_model *model, rapt_model *other)
{
    const rapt_model old = *model;
    *model = *other;
    *other = old;
    other->notes = model->notes, model->notes = old.notes;
}

rapt_status rapt_model_set_precision(rapt_model *model, rapt_precision precision, int threads,
                                     rapt_message *why)
{
    rapt_model *made = NULL;
    if (!model) return rapt__fail(why, RAPT_BAD_ARGUMENT, "model is NULL");
    rapt_status status = rapt__int_check("threads", threads, 0, INT32_MAX, why);
    if (!status) status = rapt__precision_check(precision, why);
    if (status) return status;
    enum layout_kind matrices = rapt__matrices_of(precision, model->layout.matrices);
    if (matrices == model->layout.matrices) return RAPT_OK;
    status = rapt__check_depths(&model->layout, matrices, why);
    if (!status) status = rapt__model_make(&made, &model->config, matrices, &model->allocator, why);
    if (status) return status;
    struct converting c = {.from = model, .to = made};
    status = convert_all(&c, threads, why);
    if (!status) status = rapt__check_rounded(made, RAPT_BAD_ARGUMENT, why);
    if (!status) swap_parameters(model, made);
    rapt_model_free(made);
    return status;
}
