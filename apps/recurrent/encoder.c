/* encoder.c - keys and values of a source sentence and its encoding as a whole, forward and
   backward. A recurrent network reads the sentence in one or two directions, once or for each state
   of the decoder; without an encoder the embedded words are used. */
#include "model.h"
#include <string.h>

static bool recurs(const struct recurrent *m)
{
    return m->config.encoder != ENCODER_NONE;
}

static int gate_width(const struct recurrent *m)
{
    return m->sides[0].cell.gates * m->config.encoder_hidden;
}

/* Writes left and right, [rows][width] each, side by side to [rows][2 width]. */
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

/* Joins the states of two directions. */
static void join_directions(const struct recurrent *m, int rows, const float *left,
                            const float *right, float *to)
{
    const int width = m->config.encoder_hidden;
    if (m->config.directions == 2)
        join_halves(rows, width, left, right, to);
    else
        memcpy(to, left, (size_t)rows * (size_t)width * sizeof *to);
}

static void part(const struct recurrent *m, int rows, const float *from, float *left, float *right)
{
    const int width = m->config.encoder_hidden;
    if (m->config.directions == 2)
        add_halves(rows, width, from, left, right);
    else
        for (int i = 0; i < rows * width; i++) left[i] += from[i];
}

/* Computes y, projection `which` of x; without projections y is x itself. */
static void project(const struct recurrent *m, int which, int rows, const float *x, float *y)
{
    if (!m->config.projected) return;
    clear_rows(y, rows, m->context);
    linear_forward(&m->projection[which], rows, x, y);
}

static void project_backward(const struct recurrent *m, int which, int rows, const float *x,
                             const float *dy, float *dx)
{
    if (m->config.projected)
        linear_backward(&m->projection[which], rows, x, dy, dx);
    else
        for (int i = 0; i < rows * m->annotation; i++) dx[i] += dy[i];
}

/* State t + 1 of direction 0 depends on words 0 .. t, and state t of direction 1 on words t ..
   end. */
static void read_source(struct recurrent *m, int count, int length)
{
    const int k = m->config.encoder_hidden, wide = gate_width(m), rows = count * length;
    const bool past = m->config.reads == READS_PAST;
    struct cell_state left = m->sides[0].states.x, right = m->sides[1].states.x;
    for (int d = 0; d < m->config.directions; d++) {
        struct side *side = &m->sides[d];
        clear_state(state_at(side->states.x, d == 0 ? 0 : length, count, k), count, k);
        for (int i = 0; i < length; i++) {
            int t = d == 0 ? i : length - 1 - i;
            struct cell_state before = state_at(side->states.x, t + d, count, k);
            if (past) past_forward(m, count, t);
            cell_forward(&side->cell, count, at_step(side->in.x, t, count, wide),
                         past ? state_at(side->past.mixed.x, t, count, k) : before,
                         state_at(side->states.x, t + 1 - d, count, k),
                         tape_at(side->tape, t, count, wide));
        }
        m->cell_steps += (size_t)rows;
    }
    join_directions(m, rows, at_step(left.h, 1, count, k), right.h, m->annotations.x);
    join_directions(m, count, at_step(left.h, length, count, k), right.h, m->summary.x.h);
    if (left.c)
        join_directions(m, count, at_step(left.c, length, count, k), right.c, m->summary.x.c);
    project(m, 1, rows, m->annotations.x, m->keys.x);
    project(m, 2, rows, m->annotations.x, m->values.x);
}

/* Propagates the gradients of keys, values and summary to the inputs of the cells. */
static void read_source_backward(struct recurrent *m, int count, int length)
{
    const int k = m->config.encoder_hidden, wide = gate_width(m), rows = count * length;
    const bool past = m->config.reads == READS_PAST;
    struct cell_state left = m->sides[0].states.d, right = m->sides[1].states.d;
    clear_rows(m->annotations.d, rows, m->annotation);
    for (int d = 0; d < m->config.directions; d++) {
        clear_state(m->sides[d].states.d, rows + count, k);
        clear_rows(m->sides[d].in.d, rows, wide);
    }
    if (past) past_clear(m, count, length);
    project_backward(m, 1, rows, m->annotations.x, m->keys.d, m->annotations.d);
    project_backward(m, 2, rows, m->annotations.x, m->values.d, m->annotations.d);
    part(m, count, m->summary.d.h, at_step(left.h, length, count, k), right.h);
    if (left.c) part(m, count, m->summary.d.c, at_step(left.c, length, count, k), right.c);
    part(m, rows, m->annotations.d, at_step(left.h, 1, count, k), right.h);
    for (int d = 0; d < m->config.directions; d++) {
        struct side *side = &m->sides[d];
        for (int i = length - 1; i >= 0; i--) {
            int t = d == 0 ? i : length - 1 - i, first = past ? t : t + d;
            const struct states *before = past ? &side->past.mixed : &side->states;
            if (past) past_complete(m, count, t);
            cell_backward(&side->cell, count, state_at(before->x, first, count, k),
                          state_at(side->states.x, t + 1 - d, count, k),
                          state_at(side->states.d, t + 1 - d, count, k),
                          at_step(side->in.d, t, count, wide), state_at(before->d, first, count, k),
                          tape_at(side->tape, t, count, wide));
            if (past) past_backward(m, count, t);
        }
    }
}

void encoder_again(struct recurrent *m, int count, int length, int state)
{
    const int wide = gate_width(m);
    const float *h = at_step(m->states.x.h, state, count, m->config.hidden);
    for (int d = 0; d < m->config.directions; d++) {
        struct side *side = &m->sides[d];
        float *first = side->in.x;
        clear_rows(first, count, wide);
        linear_forward(&side->asked, count, h, first);
        for (int t = length - 1; t >= 0; t--) /* the first rows are overwritten last */
            for (int i = 0; i < count * wide; i++)
                at_step(side->in.x, t, count, wide)[i] =
                    first[i] + at_step(side->base.x, t, count, wide)[i];
    }
    read_source(m, count, length);
}

void encoder_again_backward(struct recurrent *m, int count, int length, int state)
{
    const int wide = gate_width(m), h = m->config.hidden;
    read_source_backward(m, count, length);
    for (int d = 0; d < m->config.directions; d++) {
        struct side *side = &m->sides[d];
        float *sum = side->in.d; /* sum over the words, in the first rows */
        for (int i = 0; i < length * count * wide; i++) side->base.d[i] += side->in.d[i];
        for (int t = 1; t < length; t++)
            for (int i = 0; i < count * wide; i++) sum[i] += at_step(sum, t, count, wide)[i];
        linear_backward(&side->asked, count, at_step(m->states.x.h, state, count, h), sum,
                        at_step(m->states.d.h, state, count, h));
    }
}

void encoder_clear(struct recurrent *m, int count, int length)
{
    clear_rows(m->keys.d, count * length, m->context);
    clear_rows(m->values.d, count * length, m->context);
    clear_state(m->summary.d, count, m->annotation);
}

void encoder_forward(struct recurrent *m, int count, int length)
{
    const int rows = count * length;
    clear_rows(m->embedded.x, rows, m->config.embed);
    embed_forward(&m->source, rows, m->source_ids, m->embedded.x);
    for (int d = 0; recurs(m) && d < m->config.directions; d++) {
        struct side *side = &m->sides[d];
        clear_rows(side->base.x, rows, gate_width(m));
        clear_rows(side->base.d, rows, gate_width(m));
        linear_forward(&side->cell.input, rows, m->embedded.x, side->base.x);
    }
    if (m->config.encoder == ENCODER_ONCE) read_source(m, count, length);
    if (!recurs(m)) {
        memcpy(m->annotations.x, m->embedded.x,
               (size_t)rows * (size_t)m->annotation * sizeof(float));
        embed_forward(&m->position, rows, m->positions, m->annotations.x);
        project(m, 1, rows, m->annotations.x, m->keys.x);
        project(m, 2, rows, m->embedded.x, m->values.x);
    }
    initial_forward(m, count);
}

void encoder_backward(struct recurrent *m, int count, int length)
{
    const int rows = count * length;
    clear_rows(m->embedded.d, rows, m->config.embed);
    initial_backward(m, count);
    if (m->config.encoder == ENCODER_ONCE) read_source_backward(m, count, length);
    for (int d = 0; recurs(m) && d < m->config.directions; d++)
        linear_backward(&m->sides[d].cell.input, rows, m->embedded.x, m->sides[d].base.d,
                        m->embedded.d);
    if (!recurs(m)) {
        clear_rows(m->annotations.d, rows, m->annotation);
        project_backward(m, 1, rows, m->annotations.x, m->keys.d, m->annotations.d);
        project_backward(m, 2, rows, m->embedded.x, m->values.d, m->embedded.d);
        embed_backward(&m->position, rows, m->positions, m->annotations.d);
        for (int i = 0; i < rows * m->annotation; i++) m->embedded.d[i] += m->annotations.d[i];
    }
    embed_backward(&m->source, rows, m->source_ids, m->embedded.d);
}
