/* quantized.c - training for inference in 8-bit arithmetic (Jacob et al. 2018, section 3). The
   forward pass gives the same bits as the model in RAPT_PRECISION_INT8: before each batch, the
   parameters are quantized into a second model. In the backward pass, rounding is treated as a
   function whose derivative is 1 (the straight-through estimator, Bengio et al. 2013). A product y
   = x^ W^' of rounded factors thus has the gradients

       dx = dy W^        dW = dy' x^

   A third model computes them; its parameters are the values of W^ in floats. Rows x^ are rounded
   again in the backward pass (op/linear.c). The optimizer updates W in floats. */
#include "kernel/int8.h"
#include "train/train.h"

/* Returns the number of inputs of the widest matrix. */
static int widest(const struct layout *l)
{
    int columns = 0;
    for (int i = 0; i < l->count; i++)
        if (l->parameters[i].kind == IN_PANELS)
            columns = rapt__max(columns, l->parameters[i].columns);
    return columns;
}

/* Returns a model that shares the tables of the trainer's model, but has its own layout and
   block. */
static rapt_model twin_of(const rapt_model *m, const struct layout *layout, float *block)
{
    return (rapt_model){.config = m->config,
                        .layout = *layout,
                        .block = block,
                        .sinusoids = m->sinusoids,
                        .slopes = m->slopes,
                        .distances = m->distances,
                        .distance_buckets = m->distance_buckets};
}

void rapt__quantized_layout(rapt_trainer *t, int rows, struct arena *arena)
{
    struct quantized_models *q = &t->quantized;
    const struct layout *floats = &t->model->layout;
    struct layout bytes;
    if (!t->options.quantize_aware) return;
    rapt__layout_make(&bytes, &t->model->config, IN_BYTES, arena);
    q->forward = twin_of(t->model, &bytes, rapt__arena_floats(arena, bytes.floats, 1));
    q->backward = twin_of(t->model, floats, rapt__arena_floats(arena, floats->floats, 1));
    rows = rapt__max(rows, rapt__distances_rows(&t->model->config, false));
    q->rounded = rapt__arena_floats(arena, (size_t)rows, (size_t)widest(floats));
}

rapt_status rapt__quantized_check(const rapt_train_options *o, const rapt_model *model,
                                  rapt_message *why)
{
    rapt_status status = rapt__int_check("quantize_aware", o->quantize_aware, 0, 1, why);
    if (status || !o->quantize_aware) return status;
    return rapt__check_depths(&model->layout, IN_BYTES, why);
}

rapt_status rapt__quantized_begin(const rapt_trainer *t, rapt_message *why)
{
    rapt_model *m = t->model;
    if (!t->options.quantize_aware || !rapt_model_metadata(m, SCALES_KEY)) return RAPT_OK;
    if (rapt__metadata_replace(m, SCALES_KEY, NULL) == RAPT_OK) return RAPT_OK;
    return rapt__fail(why, RAPT_NO_MEMORY, "no memory for metadata");
}

void rapt__quantized_fill(const struct exec_context *c, const rapt_trainer *t)
{
    const struct quantized_models *q = &t->quantized;
    for (int i = 0; i < t->model->layout.count; i++) {
        const struct parameter *p = &t->model->layout.parameters[i],
                               *to = &q->forward.layout.parameters[i];
        const float *from = t->model->block + p->offset;
        float *back = q->backward.block + p->offset;
        if (to->kind == IN_BYTES) {
            const struct linear l = rapt__parameter_matrix(to, q->forward.block);
            rapt__int8_pack(c, from, l.out, l.in, NULL, (int8_t *)l.bytes, (float *)l.scale);
            rapt__int8_widen(c, &l, back);
        } else {
            rapt__copy(c, from, rapt__parameter_count(p), q->forward.block + to->offset);
            rapt__copy(c, from, rapt__parameter_count(p), back);
        }
    }
}

void rapt_trainer_set_quantized(rapt_trainer *trainer, int on)
{
    if (trainer) trainer->state.quantized = on != 0;
}
