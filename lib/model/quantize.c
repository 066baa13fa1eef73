/* quantize.c - replaces the matrices of a model by 8-bit integers (kernel/int8.h). Vectors, learned
   positions and what attention learns stay floats. */
#include "kernel/int8.h"
#include "model/model.h"

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
    float *factors; /* [rows of the largest parameter] of the parameter, if its file had integers */
    int index;      /* the parameter */
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

static rapt_status quantize_all(struct quantizing *q, int threads, rapt_message *why)
{
    const struct layout *l = &q->from->layout;
    for (q->index = 0; q->index < l->count; q->index++) {
        rapt_status status = rapt_model_scales(q->from, q->index, q->factors, NULL, why);
        if (status) return status;
        rapt__team_run(threads, work_on_parameter, q);
    }
    return RAPT_OK;
}

/* Returns the rows of the parameter that has most, or 0 if a row is too long to be summed. */
static size_t most_rows(const rapt_model *model, rapt_message *why)
{
    size_t most = 0;
    for (int i = 0; i < model->layout.count; i++) {
        const struct parameter *p = &model->layout.parameters[i];
        most = rapt__max_size(most, (size_t)p->rows);
        if (p->kind == IN_ROWS || p->columns <= INT8_MAX_DEPTH) continue;
        rapt__fail(why, RAPT_BAD_ARGUMENT,
                   "tensor %s has rows of %d, at most %d can be summed in 32 bits", p->name,
                   p->columns, INT8_MAX_DEPTH);
        return 0;
    }
    return most;
}

/* Lets `model` have the parameters of `other`, and the reverse. Their metadata stay. */
static void swap_parameters(rapt_model *model, rapt_model *other)
{
    rapt_model old = *model;
    *model = *other;
    *other = old;
    model->metadata = old.metadata, other->metadata = NULL;
    model->metadata_count = old.metadata_count, other->metadata_count = 0;
    model->metadata_size = old.metadata_size, other->metadata_size = 0;
}

rapt_status rapt_model_quantize(rapt_model *model, int threads, rapt_message *why)
{
    rapt_model *made = NULL;
    if (!model) return rapt__fail(why, RAPT_BAD_ARGUMENT, "model is NULL");
    rapt_status status = rapt__int_check("threads", threads, 0, INT32_MAX, why);
    if (status || model->layout.bytes) return status;
    size_t rows = most_rows(model, why), bytes = rows * sizeof(float);
    if (rows == 0) return RAPT_BAD_ARGUMENT;
    struct quantizing q = {.from = model, .factors = rapt__alloc(&model->allocator, bytes)};
    if (!q.factors) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for %zu scales", rows);
    status = rapt__model_make_bytes(&made, &model->config, &model->allocator, why);
    q.to = made;
    if (!status) status = quantize_all(&q, threads, why);
    rapt__free(&model->allocator, q.factors, bytes);
    if (!status) swap_parameters(model, made);
    rapt_model_free(made);
    return status;
}
