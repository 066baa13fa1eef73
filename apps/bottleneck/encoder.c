/* encoder.c - two recurrent networks read the sentence, one from each end. */
#include "recurrent.h"
#include <string.h>

float *part(float *rows, int step, int count, int width)
{
    return rows + (size_t)step * (size_t)count * (size_t)width;
}

static struct gru_tape tape_part(struct gru_tape tape, int t, int count, int width)
{
    return (struct gru_tape){part(tape.gates, t, count, width), part(tape.inner, t, count, width)};
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

/* State t + 1 of forth has read words 0 .. t, state t of back words t .. length - 1. */
void encoder_forward(struct recurrent *m, int count, int length)
{
    int rows = count * length, h = m->hidden;
    clear(m->read, rows, m->setup->embed);
    clear(m->forth_x, rows, 3 * h);
    clear(m->back_x, rows, 3 * h);
    clear(m->forth_h, count, h);
    clear(part(m->back_h, length, count, h), count, h);
    embed_forward(&m->source, rows, m->source_ids, m->read);
    linear_forward(&m->forth.input, rows, m->read, m->forth_x);
    linear_forward(&m->back.input, rows, m->read, m->back_x);
    for (int t = 0; t < length; t++)
        gru_forward(&m->forth, count, part(m->forth_x, t, count, 3 * h),
                    part(m->forth_h, t, count, h), part(m->forth_h, t + 1, count, h),
                    tape_part(m->forth_tape, t, count, 3 * h));
    for (int t = length - 1; t >= 0; t--)
        gru_forward(&m->back, count, part(m->back_x, t, count, 3 * h),
                    part(m->back_h, t + 1, count, h), part(m->back_h, t, count, h),
                    tape_part(m->back_tape, t, count, 3 * h));
    join_halves(rows, h, part(m->forth_h, 1, count, h), m->back_h, m->annotations);
    join_halves(count, h, part(m->forth_h, length, count, h), m->back_h, m->whole);
    clear(m->states, count, h);
}

/* Given dnotes, dvalues and dwhole. */
void encoder_backward(struct recurrent *m, int count, int length)
{
    int rows = count * length, h = m->hidden;
    clear(m->dforth_h, rows + count, h);
    clear(m->dback_h, rows + count, h);
    clear(m->dforth_x, rows, 3 * h);
    clear(m->dback_x, rows, 3 * h);
    clear(m->dread, rows, m->setup->embed);
    add_halves(count, h, m->dwhole, part(m->dforth_h, length, count, h), m->dback_h);
    add_halves(rows, h, m->dnotes, part(m->dforth_h, 1, count, h), m->dback_h);
    add_halves(rows, h, m->dvalues, part(m->dforth_h, 1, count, h), m->dback_h);
    for (int t = length - 1; t >= 0; t--)
        gru_backward(&m->forth, count, part(m->forth_h, t, count, h),
                     part(m->dforth_h, t + 1, count, h), part(m->dforth_x, t, count, 3 * h),
                     part(m->dforth_h, t, count, h), tape_part(m->forth_tape, t, count, 3 * h));
    for (int t = 0; t < length; t++)
        gru_backward(&m->back, count, part(m->back_h, t + 1, count, h),
                     part(m->dback_h, t, count, h), part(m->dback_x, t, count, 3 * h),
                     part(m->dback_h, t + 1, count, h), tape_part(m->back_tape, t, count, 3 * h));
    linear_backward(&m->forth.input, rows, m->read, m->dforth_x, m->dread);
    linear_backward(&m->back.input, rows, m->read, m->dback_x, m->dread);
    embed_backward(&m->source, rows, m->source_ids, m->dread);
}
