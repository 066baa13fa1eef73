/* pick.c - finds the most likely next tokens of every row, and the log sum exp of the row's logits:

       log sum exp x = log sum over sections of exp(log sum exp of the section)

   The product with the output matrix is computed in sections of columns. The most likely tokens and
   the log sum of a section are found while its logits are in the processor's cache. If `keep`,
   `listed` or `sum_first` is set, all logits of a row are computed first. The sections do not
   depend on the number of rows or threads, so the results for a row are always bit-identical. */
#include "generate/generate.h"

#include <math.h>

enum {
    SECTION = 4096,
    AT_HAND = 1 << 17 /* logits computed at a time; at least one section of each row */
};

int rapt__pick_sections(int vocab)
{
    return rapt__ceil_div(vocab, SECTION);
}

/* Returns the column of a token, or a value below s->first if the token is not in the section. */
static int column_of(const struct section *s, int32_t token)
{
    int low = s->first, high = s->first + s->columns;
    if (!s->tokens) return token < high ? token : -1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (s->tokens[middle] < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->first + s->columns && s->tokens[low] == token ? low : -1;
}

float *rapt__section_logit(const struct section *s, int32_t token)
{
    int column = column_of(s, token);
    return column >= s->first ? &s->logits[column - s->first] : NULL;
}

void rapt__section_forbid(const struct section *s, int32_t token)
{
    float *logit = rapt__section_logit(s, token);
    if (logit) *logit = -INFINITY;
}

/* Returns where the log sum exp of a section is stored. */
static float *sum_at(const struct picks *p, int row, const struct section *s)
{
    return &p->section_sums[(size_t)row * (size_t)p->sections + (size_t)(s->first / SECTION)];
}

/* Stores the logits of the tokens that the caller requested, whether or not they are picked. */
static void read_wanted(struct picks *p, int row, const struct section *s)
{
    const struct term_memory *terms = p->terms;
    const float *wanted = p->wanted ? rapt__section_logit(s, p->wanted[row]) : NULL;
    if (wanted) p->wanted_logits[row] = *wanted;
    for (int i = terms ? terms->starts[row] : 0; terms && i < terms->starts[row + 1]; i++) {
        const float *logit = rapt__section_logit(s, terms->tokens[i]);
        if (logit) terms->logits[i] = *logit;
    }
}

/* Picks from one section of a row, and merges the result with the candidates from earlier
   sections. */
static void pick_section(const struct kernels *k, struct picks *p, int row, const struct section *s)
{
    size_t own = (size_t)row * (size_t)p->max;
    float *sum = sum_at(p, row, s);
    if (p->penalize) p->penalize(p->rules, row, s);
    if (p->sum_all && !p->sum_first) *sum = k->log_sum_row(s->logits, s->columns);
    for (int i = 0; i < p->suppressed_count; i++) rapt__section_forbid(s, p->suppressed[i]);
    if (p->forbid) p->forbid(p->rules, row, s);
    read_wanted(p, row, s);
    if (!p->sum_all) *sum = k->log_sum_row(s->logits, s->columns);
    if (p->max == 0) return;
    if (s->first == 0) p->counts[row] = 0;
    p->counts[row] = k->top_more(s->logits, s->columns, s->first, p->max, p->counts[row],
                                 p->tokens + own, p->logits + own);
}

/* Picks from columns [first, first + columns) of a row, section by section. `logits` holds the
   logits of these columns; `all` is the number of columns of the whole row. Picking from the last
   columns also computes the log sum of the row. If p->sum_first, `columns` must equal `all`. */
static void pick_row(const struct kernels *k, struct picks *p, int row, int first, int columns,
                     int all, const int32_t *tokens, float *logits)
{
    int sections = rapt__pick_sections(all);
    float *sums = p->section_sums + (size_t)row * (size_t)p->sections;
    for (int n = 0; p->sum_first && n < columns; n += SECTION)
        sums[n / SECTION] = k->log_sum_row(logits + n, rapt__min(columns - n, SECTION));
    if (p->sum_first) p->log_sums[row] = k->log_sum_row(sums, sections);
    for (int n = 0; n < columns; n += SECTION) {
        const struct section s = {first + n, rapt__min(columns - n, SECTION), tokens, logits + n};
        pick_section(k, p, row, &s);
    }
    if (first + columns == all) p->log_sums[row] = k->log_sum_row(sums, sections);
}

/* Picks from the tokens that are listed for the source of a row. `logits` holds the logits of all
   tokens if `whole`, otherwise one logit for each row of p->listed->output. The logits of the
   listed tokens are moved to the beginning of the array. Since the tokens are in ascending order,
   no logit is overwritten before it is read. */
static void pick_listed(const struct kernels *k, struct picks *p, int row, bool whole,
                        float *logits)
{
    const struct listed_rows *l = p->listed;
    int source = p->row_slot[row] / p->stride, first = l->starts[source],
        count = l->starts[source + 1] - first;
    const int32_t *tokens = l->tokens + first, *from = whole ? tokens : l->columns + first;
    int *picked = p->tokens + (size_t)row * (size_t)p->max;
    for (int i = 0; i < count; i++) logits[i] = logits[from[i]];
    pick_row(k, p, row, 0, count, count, tokens, logits);
    for (int i = 0; p->max && i < p->counts[row]; i++) picked[i] = tokens[picked[i]];
}

/* Picks from columns [first, first + columns) of all rows; logits is [rows][columns]. */
static void pick_rows(const struct exec_context *c, struct picks *p, int rows, int first,
                      int columns, int vocab, bool whole, float *logits)
{
    for (int r; (r = rapt__team_take(c->team)) < rows;) {
        float *own = logits + (size_t)r * (size_t)columns;
        if (p->listed)
            pick_listed(c->kernels, p, r, whole, own);
        else
            pick_row(c->kernels, p, r, first, columns, vocab, NULL, own);
    }
    rapt__team_barrier(c->team);
}

void rapt__pick(const struct exec_context *c, const struct linear *output, const float *x, int rows,
                struct picks *p, float *logits)
{
    if (p->listed) output = &p->listed->output;
    int vocab = output->out, at_once = AT_HAND / SECTION / rows * SECTION;
    if (at_once < SECTION) at_once = SECTION;
    if (at_once > vocab || p->keep || p->listed || p->sum_first) at_once = vocab;
    for (int first = 0, columns; first < vocab; first += columns) {
        columns = rapt__min(vocab - first, at_once);
        const struct linear part = rapt__linear_part(output, first, columns);
        rapt__linear_forward(c, &part, x, part.in, rows, logits, columns, ACTIVATION_NONE, NULL);
        pick_rows(c, p, rows, first, columns, vocab, false, logits);
    }
}

void rapt__pick_again(const struct exec_context *c, int rows, int vocab, struct picks *p,
                      float *logits)
{
    pick_rows(c, p, rows, 0, vocab, vocab, true, logits);
}
