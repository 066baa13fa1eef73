/* recurrent.c - the simpler simple recurrent unit (SSRU) over ragged sequences, forward and
   backward (Kim et al. 2019, section 3.1). Columns do not interact, so the columns of all sequences
   are divided among the members in whole vectors. */
#include "op/op.h"

#include <string.h>

/* Columns [first, first + count) of one sequence. */
struct strip {
    int sequence;
    size_t first, count;
};

/* Returns the strip that begins with vector number *at, where vectors are numbered across all
   sequences, and ends before vector `end` or at the end of its sequence. Moves *at past the
   strip. */
static struct strip next_strip(const struct ssru *s, size_t *at, size_t end)
{
    size_t width = (size_t)s->width, vectors = rapt__ceil_div_size(width, LANES);
    size_t sequence = *at / vectors, first = *at % vectors;
    size_t last = rapt__min_size(vectors, first + (end - *at));
    *at += last - first;
    return (struct strip){(int)sequence, first * LANES,
                          rapt__min_size(last * LANES, width) - first * LANES};
}

static bool take_strips(const struct exec_context *c, const struct ssru *s, size_t *begin,
                        size_t *end)
{
    size_t vectors = rapt__ceil_div_size((size_t)s->width, LANES);
    return rapt__team_part(c->team, (size_t)s->batch * vectors, 1, begin, end);
}

void rapt__ssru_forward(const struct exec_context *c, const struct ssru *s, const float *x,
                        float *cells, float *y)
{
    size_t at = 0, end = 0, width = (size_t)s->width;
    while (at < end || take_strips(c, s, &at, &end)) {
        const struct strip strip = next_strip(s, &at, end);
        size_t own = (size_t)strip.sequence * width + strip.first;
        float *state = s->states ? s->states + own : NULL;
        const float *before = state;
        for (int r = s->starts[strip.sequence]; r < s->starts[strip.sequence + 1]; r++) {
            const float *row = x + 2 * (size_t)r * width + strip.first;
            size_t to = (size_t)r * width + strip.first;
            c->kernels->ssru_row(row, row + width, before, cells + to, y + to, strip.count);
            before = cells + to;
        }
        if (state && before != state) memcpy(state, before, strip.count * sizeof *state);
    }
    rapt__team_barrier(c->team);
}

void rapt__ssru_backward(const struct exec_context *c, const struct ssru *s, const float *x,
                         const float *cells, float *dcells, float *dx)
{
    size_t at = 0, end = 0, width = (size_t)s->width;
    while (at < end || take_strips(c, s, &at, &end)) {
        const struct strip strip = next_strip(s, &at, end);
        int first = s->starts[strip.sequence];
        for (int r = s->starts[strip.sequence + 1] - 1; r >= first; r--) {
            size_t row = 2 * (size_t)r * width + strip.first, to = (size_t)r * width + strip.first;
            const float *before = r > first ? cells + to - width : NULL;
            c->kernels->ssru_row_backward(x + row, x + row + width, before, dcells + to, dx + row,
                                          dx + row + width, strip.count);
            if (r > first) c->kernels->add(dcells + to - width, dcells + to, strip.count);
        }
    }
    rapt__team_barrier(c->team);
}
