/* rows.c - finds and clears the rows of one step of a time-major array. */
#include "model.h"
#include <string.h>

float *at_step(float *rows, int step, int count, int width)
{
    return rows + (size_t)step * (size_t)count * (size_t)width;
}

struct cell_state state_at(struct cell_state states, int step, int count, int width)
{
    return (struct cell_state){at_step(states.h, step, count, width),
                               states.c ? at_step(states.c, step, count, width) : NULL};
}

struct cell_tape tape_at(struct cell_tape tape, int step, int count, int width)
{
    return (struct cell_tape){at_step(tape.gates, step, count, width),
                              at_step(tape.inner, step, count, width)};
}

void clear_rows(float *x, int rows, int width)
{
    memset(x, 0, (size_t)rows * (size_t)width * sizeof *x);
}

void clear_state(struct cell_state x, int rows, int width)
{
    clear_rows(x.h, rows, width);
    if (x.c) clear_rows(x.c, rows, width);
}
