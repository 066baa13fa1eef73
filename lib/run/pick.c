/* pick.c - the likeliest next tokens of every row and log sum exp of all its logits:

       log sum exp x = log sum over sections of exp(log sum exp of the section)

   The output matrix is multiplied in sections of columns. The likeliest tokens and the log sum of a
   section are found while its logits are in the processor's cache, so no [rows][vocab] array is
   filled. Sections do not depend on rows or threads, so neither do the bits. */
#include "run/run.h"

#include <math.h>

enum {
    SECTION = 4096,
    AT_HAND = 1 << 17 /* logits at once, if that is more than a section of each row */
};

int rapt__pick_sections(int vocab)
{
    return rapt__ceil_div(vocab, SECTION);
}

/* A row of logits of the section that begins with token `first`. */
static void pick_section(const struct kernels *k, struct picks *p, int row, int first, int columns,
                         int sections, float *logits)
{
    size_t own = (size_t)row * (size_t)p->max;
    float *sum = &p->section_sums[(size_t)row * (size_t)sections + (size_t)(first / SECTION)];
    if (p->sum_all) *sum = k->log_sum_row(logits, columns);
    for (int i = 0; i < p->suppressed_count; i++)
        if (p->suppressed[i] >= first && p->suppressed[i] - first < columns)
            logits[p->suppressed[i] - first] = -INFINITY;
    if (p->forbid) p->forbid(p->rules, row, first, columns, logits);
    if (p->wanted && p->wanted[row] >= first && p->wanted[row] - first < columns)
        p->wanted_logits[row] = logits[p->wanted[row] - first];
    if (!p->sum_all) *sum = k->log_sum_row(logits, columns);
    if (p->max == 0) return;
    if (first == 0) p->counts[row] = 0;
    p->counts[row] = k->top_more(logits, columns, first, p->max, p->counts[row], p->tokens + own,
                                 p->logits + own);
}

/* All sections of a row among columns [first, first + columns), whose logits are there. */
static void pick_row(const struct kernels *k, struct picks *p, int row, int first, int columns,
                     int vocab, float *logits)
{
    int sections = rapt__pick_sections(vocab);
    for (int n = 0; n < columns; n += SECTION)
        pick_section(k, p, row, first + n, rapt__min(columns - n, SECTION), sections, logits + n);
    if (first + columns == vocab)
        p->log_sums[row] =
            k->log_sum_row(p->section_sums + (size_t)row * (size_t)sections, sections);
}

void rapt__pick(const struct exec_context *c, const struct linear *output, const float *x, int rows,
                struct picks *p, float *logits)
{
    int vocab = output->out, at_once = AT_HAND / SECTION / rows * SECTION;
    if (at_once < SECTION) at_once = SECTION;
    if (at_once > vocab || p->keep) at_once = vocab;
    for (int first = 0, columns; first < vocab; first += columns) {
        columns = rapt__min(vocab - first, at_once);
        struct linear part = *output;
        part.weight += (ptrdiff_t)first * part.in;
        if (part.bias) part.bias += first;
        part.out = columns;
        rapt__linear_forward(c, &part, x, part.in, rows, logits, columns, ACTIVATION_NONE, NULL);
        for (int r; (r = rapt__team_take(c->team)) < rows;)
            pick_row(c->kernels, p, r, first, columns, vocab, logits + (size_t)r * (size_t)columns);
        rapt__team_barrier(c->team);
    }
}

void rapt__pick_again(const struct exec_context *c, int rows, int vocab, struct picks *p,
                      float *logits)
{
    for (int r; (r = rapt__team_take(c->team)) < rows;)
        pick_row(c->kernels, p, r, 0, vocab, vocab, logits + (size_t)r * (size_t)vocab);
    rapt__team_barrier(c->team);
}
