/* pooler.c - the dense layer between a pooled row and the output matrix, as in BERT (Devlin et al.
   2019). */
#include "model/model.h"

void rapt__pooler_forward(const struct exec_context *c, const rapt_model *model, const float *x,
                          int rows, float *y)
{
    const struct linear l = rapt__linear_at(&model->layout, &model->layout.pooler, model->block);
    size_t begin, end, width = (size_t)l.out;
    rapt__linear_forward(c, &l, x, l.in, rows, y, l.out, ACTIVATION_NONE, NULL);
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++) c->kernels->tanh_row(y + r * width, width);
    rapt__team_barrier(c->team);
}

void rapt__pooler_backward(const struct exec_context *c, const rapt_model *model, const float *x,
                           const float *y, int rows, float *dy, float *dx, float *gradients)
{
    const struct linear_offsets *offset = &model->layout.pooler;
    const struct linear l = rapt__linear_at(&model->layout, offset, model->block);
    size_t begin, end, width = (size_t)l.out;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t i = begin * width; i < end * width; i++) dy[i] *= 1 - y[i] * y[i];
    rapt__team_barrier(c->team);
    rapt__linear_backward_input(c, &l, dy, l.out, rows, dx, l.in, false);
    rapt__linear_backward_weight(c, &l, x, l.in, dy, l.out, rows, gradients + offset->weight,
                                 gradients + offset->bias);
}
