/* quantize.c - replaces the matrices of a model with 8-bit integers (kernel/int8.h). Vectors,
   learned positions and the learned arrays of attention stay floats. */
#include "kernel/int8.h"
#include "model/bytes.h"
#include <rapt/precision.h>

#include <string.h>

rapt_status rapt__model_needs_floats(const rapt_model *model, const char *what, rapt_message *why)
{
    if (!model->layout.bytes) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "the model was quantized to 8 bits and cannot be %s; load it again", what);
}

struct quantizing {
    const rapt_model *from;
    rapt_model *to;
    float *factors; /* [largest number of rows] scales of a matrix that the original file stores as
                       integers; 0 for other matrices */
    int index;      /* index of the current parameter */
};

static void work_on_parameter(struct team *team, void *argument)
{
    const struct quantizing *q = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    const struct parameter *from = &q->from->layout.parameters[q->index],
                           *to = &q->to->layout.parameters[q->index];
    const float *old = q->from->block + from->offset;
    float *new = q->to->block + to->offset;
    if (to->kind == IN_BYTES)
        rapt__int8_pack(&c, old, to->rows, to->columns, q->factors, (int8_t *)new,
                        (float *)rapt__scales_at(new, to->rows, to->columns));
    else
        rapt__copy(&c, old, rapt__parameter_floats(to), new);
}

/* Returns RAPT_BAD_ARGUMENT if the rows of a matrix are too long to be summed in 32 bits. */
static rapt_status check_depths(const struct layout *l, rapt_message *why)
{
    for (int i = 0; i < l->count; i++) {
        const struct parameter *p = &l->parameters[i];
        if (p->kind != IN_ROWS && p->columns > INT8_MAX_DEPTH)
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT,
                "tensor %s has rows of %d elements; at most %d can be summed in 32 bits", p->name,
                p->columns, INT8_MAX_DEPTH);
    }
    return RAPT_OK;
}

static rapt_status quantize_all(struct quantizing *q, int threads, rapt_message *why)
{
    const struct layout *l = &q->to->layout;
    size_t rows = 0;
    for (int i = 0; i < l->count; i++) rows = rapt__max_size(rows, (size_t)l->parameters[i].rows);
    q->factors = rapt__alloc(&q->from->allocator, rows * sizeof *q->factors);
    if (!q->factors) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for the scales of a model");
    rapt_status status = RAPT_OK;
    for (q->index = 0; !status && q->index < l->count; q->index++) {
        if (l->parameters[q->index].kind == IN_BYTES)
            status = rapt_model_scales(q->from, q->index, q->factors, NULL, why);
        if (!status) rapt__team_run(threads, work_on_parameter, q);
    }
    rapt__free(&q->from->allocator, q->factors, rows * sizeof *q->factors);
    return status;
}

/* Exchanges the parameters of two models. The metadata stays with `model`; `other` must not have
   any. */
static void swap_parameters(rapt_model *model, rapt_model *other)
{
    rapt_model old = *model;
    *model = *other;
    *other = old;
    model->metadata = old.metadata, other->metadata = NULL;
    model->metadata_count = old.metadata_count, other->metadata_count = 0;
    model->metadata_size = old.metadata_size, other->metadata_size = 0;
    model->scale_lines = old.scale_lines, other->scale_lines = NULL;
    model->scale_count = old.scale_count, other->scale_count = 0;
    model->bad_scale_line = old.bad_scale_line, other->bad_scale_line = 0;
}

rapt_status rapt_model_quantize(rapt_model *model, int threads, rapt_message *why)
{
    rapt_model *made = NULL;
    if (!model) return rapt__fail(why, RAPT_BAD_ARGUMENT, "model is NULL");
    rapt_status status = rapt__int_check("threads", threads, 0, INT32_MAX, why);
    if (status || model->layout.bytes) return status;
    status = check_depths(&model->layout, why);
    if (!status) status = rapt__model_make_bytes(&made, &model->config, &model->allocator, why);
    if (status) return status;
    struct quantizing q = {.from = model, .to = made};
    status = quantize_all(&q, threads, why);
    if (!status) swap_parameters(model, made);
    rapt_model_free(made);
    return status;
}
