/* head_map.c - a linear map for each head: y_h = x_h W_h'. The matrices are parts of one matrix in
   panels, one after the other. */
#include "op/op.h"

#include <string.h>

static struct linear map_of(const struct head_map *m, int h)
{
    int out = m->all.out / m->heads;
    return rapt__linear_part(&m->all, h * out, out);
}

void rapt__head_map_forward(const struct exec_context *c, const struct head_map *m, int rows,
                            const float *x, float *y)
{
    for (int h = 0; h < m->heads; h++) {
        const struct linear l = map_of(m, h);
        rapt__linear_forward(c, &l, x + h * m->x_head, m->x_row, rows, y + h * m->y_head, m->y_row,
                             ACTIVATION_NONE, NULL);
    }
}

void rapt__head_map_backward(const struct exec_context *c, const struct head_map *m, int rows,
                             const float *x, const float *dy, float *dx, float *dweight)
{
    for (int h = 0; h < m->heads; h++) {
        const struct linear l = map_of(m, h);
        float *to = dweight + (ptrdiff_t)h * l.out * l.in;
        rapt__linear_backward_weight(c, &l, x + h * m->x_head, m->x_row, dy + h * m->y_head,
                                     m->y_row, rows, to, NULL);
        rapt__linear_backward_input(c, &l, dy + h * m->y_head, m->y_row, rows, dx + h * m->x_head,
                                    m->x_row, false);
    }
}

void rapt__heads_copy(const struct exec_context *c, int heads, int width, int rows, const float *x,
                      ptrdiff_t x_head, ptrdiff_t x_row, float *y, ptrdiff_t y_head,
                      ptrdiff_t y_row)
{
    size_t begin, end, bytes = (size_t)width * sizeof *y;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (ptrdiff_t r = (ptrdiff_t)begin; r < (ptrdiff_t)end; r++)
            for (int h = 0; h < heads; h++)
                memcpy(y + r * y_row + h * y_head, x + r * x_row + h * x_head, bytes);
    rapt__team_barrier(c->team);
}

void rapt__rows_add(const struct exec_context *c, int width, int rows, const float *x,
                    ptrdiff_t x_row, float *y, ptrdiff_t y_row)
{
    size_t begin, end;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (ptrdiff_t r = (ptrdiff_t)begin; r < (ptrdiff_t)end; r++)
            c->kernels->add(y + r * y_row, x + r * x_row, (size_t)width);
    rapt__team_barrier(c->team);
}
