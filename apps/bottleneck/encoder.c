/* encoder.c - a bidirectional GRU: annotations of all words, the final states, and the backward
 * pass. */
#include "recurrent.h"
#include <string.h>

float *at_step(float *rows, int step, int count, int width)
{
    return rows + (size_t)step * (size_t)count * (size_t)width;
}

static struct gru_tape tape_at_step(struct gru_tape tape, int t, int count, int width)
{
    return (struct gru_tape){at_step(tape.gates, t, count, width),
                             at_step(tape.inner, t, count, width)};
}

static void clear(float *x, int rows, int width)
{
    memset(x, 0, (size_t)rows * (size_t)width * sizeof *x);
}

/* to [rows][2H] = left, right [rows][H] side by side. */
static void join_halves(int rows, int width, const float *left, const float *right, float *to)
{
    for (int r = 0; r < rows; r++) {
        memcpy(to + 2 * r * width, left + r * width, (size_t)width * sizeof *to);
        memcpy(to + (2 * r + 1) * width, right + r * width, (size_t)width * sizeof *to);
    }
}

static void add_halves(int rows, int width, const float *from, float *left, float *right)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < width; i++) {
            left[r * width + i] += from[2 * r * width + i];
            right[r * width + i] += from[(2 * r + 1) * width + i];
        }
}

/* State t + 1 of fwd depends on words 0 .. t, state t of bwd on words t .. length - 1. */
void encoder_forward(struct recurrent *m, int count, int length)
{
    int rows = count * length, h = m->hidden;
    clear(m->embedded, rows, m->setup->embed);
    clear(m->fwd_x, rows, 3 * h);
    clear(m->bwd_x, rows, 3 * h);
    clear(m->fwd_h, count, h);
    clear(at_step(m->bwd_h, length, count, h), count, h);
    embed_forward(&m->source, rows, m->source_ids, m->embedded);
    linear_forward(&m->fwd.input, rows, m->embedded, m->fwd_x);
    linear_forward(&m->bwd.input, rows, m->embedded, m->bwd_x);
    for (int t = 0; t < length; t++)
        gru_forward(&m->fwd, count, at_step(m->fwd_x, t, count, 3 * h),
                    at_step(m->fwd_h, t, count, h), at_step(m->fwd_h, t + 1, count, h),
                    tape_at_step(m->fwd_tape, t, count, 3 * h));
    for (int t = length - 1; t >= 0; t--)
        gru_forward(&m->bwd, count, at_step(m->bwd_x, t, count, 3 * h),
                    at_step(m->bwd_h, t + 1, count, h), at_step(m->bwd_h, t, count, h),
                    tape_at_step(m->bwd_tape, t, count, 3 * h));
    join_halves(rows, h, at_step(m->fwd_h, 1, count, h), m->bwd_h, m->annotations);
    join_halves(count, h, at_step(m->fwd_h, length, count, h), m->bwd_h, m->summary);
    clear(m->states, count, h);
}

/* Given dkeys, dvalues and dsummary. */
void encoder_backward(struct recurrent *m, int count, int length)
{
    int rows = count * length, h = m->hidden;
    clear(m->dfwd_h, rows + count, h);
    clear(m->dbwd_h, rows + count, h);
    clear(m->dfwd_x, rows, 3 * h);
    clear(m->dbwd_x, rows, 3 * h);
    clear(m->dembedded, rows, m->setup->embed);
    add_halves(count, h, m->dsummary, at_step(m->dfwd_h, length, count, h), m->dbwd_h);
    add_halves(rows, h, m->dkeys, at_step(m->dfwd_h, 1, count, h), m->dbwd_h);
    add_halves(rows, h, m->dvalues, at_step(m->dfwd_h, 1, count, h), m->dbwd_h);
    for (int t = length - 1; t >= 0; t--)
        gru_backward(&m->fwd, count, at_step(m->fwd_h, t, count, h),
                     at_step(m->dfwd_h, t + 1, count, h), at_step(m->dfwd_x, t, count, 3 * h),
                     at_step(m->dfwd_h, t, count, h), tape_at_step(m->fwd_tape, t, count, 3 * h));
    for (int t = 0; t < length; t++)
        gru_backward(&m->bwd, count, at_step(m->bwd_h, t + 1, count, h),
                     at_step(m->dbwd_h, t, count, h), at_step(m->dbwd_x, t, count, 3 * h),
                     at_step(m->dbwd_h, t + 1, count, h),
                     tape_at_step(m->bwd_tape, t, count, 3 * h));
    linear_backward(&m->fwd.input, rows, m->embedded, m->dfwd_x, m->dembedded);
    linear_backward(&m->bwd.input, rows, m->embedded, m->dbwd_x, m->dembedded);
    embed_backward(&m->source, rows, m->source_ids, m->dembedded);
}
