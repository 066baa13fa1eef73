/* training.c - the loss, Adam, and filling, copying and adding whole arrays. */
#include "op/op.h"

#include <math.h>
#include <string.h>

/* ---- loss: logits, softmax cross-entropy and their gradients, one chunk of rows at a time:

       logits = x W' + b,  p = softmax(logits),  q[i] = (1 - s) [i == label] + s / vocab
       loss = -sum q log p,  dlogits = p - q

   Szegedy et al. 2016, "Rethinking the Inception architecture", section 7 (label smoothing). The
   gradient replaces the logits of a chunk in place (kernel/softmax.c), and both products with it
   are computed before the next chunk, so no [rows][vocab] array exists. For the gradient of x, W is
   transposed once for all chunks. Losses are summed in double precision, in the order of the rows.
   ---- */

enum { LOSS_FLOATS = 1 << 21, LOSS_ROWS_MIN = 64, LOSS_ROWS_MAX = 512 };

/* Returns the number of rows in a chunk: as many as fit in 8 MB, but at least LOSS_ROWS_MIN,
   because fewer rows would not repay reading the weights, and at most LOSS_ROWS_MAX. */
static int loss_rows(int rows, int vocab)
{
    int chunk = LOSS_FLOATS / (vocab > 0 ? vocab : 1);
    chunk = rapt__min(rapt__max(chunk, LOSS_ROWS_MIN), LOSS_ROWS_MAX);
    return rapt__min(rows, chunk);
}

/* Size of a struct loss_sums in floats. */
enum { SUMS_FLOATS = (sizeof(struct loss_sums) + sizeof(float) - 1) / sizeof(float) };

/* Offsets of the parts of the workspace, and the size of the workspace, in floats. */
struct loss_parts {
    size_t sums, transposed, size;
};

static struct loss_parts loss_parts_of(int rows, int in, int vocab)
{
    size_t chunk = (size_t)loss_rows(rows, vocab);
    struct loss_parts p = {.sums = chunk * (size_t)vocab};
    p.transposed = p.sums + rapt__round_up_size(chunk * SUMS_FLOATS, LANES);
    p.size = p.transposed + rapt__panels_size((size_t)in, (size_t)vocab);
    return p;
}

size_t rapt__loss_workspace(int rows, int in, int vocab)
{
    return loss_parts_of(rows, in, vocab).size;
}

/* Replaces the logits of a chunk with their gradients, and sets sums[r] for each row with a
   label. */
static void loss_chunk(const struct exec_context *c, int vocab, const int32_t *labels, int rows,
                       float smoothing, float *logits, struct loss_sums *sums)
{
    for (int r; (r = rapt__team_take(c->team)) < rows;) {
        float *row = logits + (size_t)r * (size_t)vocab;
        if (labels[r] < 0)
            memset(row, 0, (size_t)vocab * sizeof *row);
        else
            c->kernels->loss_row(row, vocab, labels[r], smoothing, 1, &sums[r]);
    }
    rapt__team_barrier(c->team);
}

/* Adds the sums of a chunk to *to. The first row of the chunk has index `first` in the batch. */
static void add_sums(struct loss *to, const int32_t *labels, int first, int rows,
                     const struct loss_sums *sums)
{
    for (int r = 0; r < rows; r++) {
        if (to->rows) to->rows[first + r] = labels[r] < 0 ? 0 : sums[r].loss;
        if (labels[r] < 0) continue;
        to->loss += (double)sums[r].loss;
        to->likelihood += (double)sums[r].likelihood;
        to->tokens++;
        to->correct += sums[r].best == labels[r];
    }
}

void rapt__loss(const struct exec_context *c, const struct linear *l, const float *x, int rows,
                const int32_t *labels, float smoothing, struct loss *sums, float *dx,
                float *dweight, float *dbias, float *workspace)
{
    int vocab = l->out, chunk = loss_rows(rows, vocab), step;
    struct loss_parts parts = loss_parts_of(rows, l->in, vocab);
    float *logits = workspace;
    struct loss_sums *of_rows = (void *)(workspace + parts.sums);
    struct linear back = {.weight = workspace + parts.transposed, .in = vocab, .out = l->in};
    if (dx) rapt__linear_transpose(c, l, workspace + parts.transposed);
    for (int r = 0; r < rows; r += step) {
        const float *from = x + (ptrdiff_t)r * l->in;
        step = rows - r < chunk ? rows - r : chunk;
        rapt__linear_forward(c, l, from, l->in, step, logits, vocab, ACTIVATION_NONE, NULL);
        loss_chunk(c, vocab, labels + r, step, smoothing, logits, of_rows);
        if (c->team->rank == 0) add_sums(sums, labels + r, r, step, of_rows);
        if (!dx) continue;
        rapt__linear_backward_weight(c, l, from, l->in, logits, vocab, step, dweight, dbias);
        rapt__linear_forward(c, &back, logits, vocab, step, dx + (ptrdiff_t)r * l->in, l->in,
                             ACTIVATION_NONE, NULL);
    }
    rapt__team_barrier(c->team);
}

/* ---- Adam for whole blocks of parameters: the sum of squared gradients (for clipping), the
   largest magnitudes that a step would produce, the step itself (kernel/adam.c), and filling,
   copying and adding. The squares are summed in chunks, whose sums are added in order in double
   precision. ---- */

enum { SUM_CHUNK = 4096 };

size_t rapt__square_partial(size_t n)
{
    return rapt__ceil_div_size(n, SUM_CHUNK);
}

void rapt__square_sum(const struct exec_context *c, const float *x, size_t n, double *partial,
                      double *sum)
{
    size_t chunks = rapt__square_partial(n), begin, end;
    while (rapt__team_part(c->team, chunks, 1, &begin, &end))
        for (size_t i = begin; i < end; i++) {
            size_t left = n - i * SUM_CHUNK;
            partial[i] =
                (double)c->kernels->square_sum(x + i * SUM_CHUNK, rapt__min_size(left, SUM_CHUNK));
        }
    rapt__team_barrier(c->team);
    if (c->team->rank == 0) {
        *sum = 0;
        for (size_t i = 0; i < chunks; i++) *sum += partial[i];
    }
    rapt__team_barrier(c->team);
}

static double larger(double max, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double magnitude = fabs((double)x[i]);
        if (!(magnitude <= max)) max = isfinite(magnitude) ? magnitude : (double)INFINITY;
    }
    return max;
}

enum { STEP_TRIAL = 512 };

/* Extends *range to include the results for n <= STEP_TRIAL elements, which are computed on
   copies. */
static void try_step(const struct exec_context *c, const struct adam *a, const float *p,
                     const float *g, const float *m, const float *v, size_t n,
                     struct adam_range *range)
{
    float new_p[STEP_TRIAL], new_m[STEP_TRIAL], new_v[STEP_TRIAL];
    memcpy(new_p, p, n * sizeof *p);
    memcpy(new_m, m, n * sizeof *m);
    memcpy(new_v, v, n * sizeof *v);
    c->kernels->adam_span(a, new_p, g, new_m, new_v, n);
    range->parameter = larger(range->parameter, new_p, n);
    range->moment = larger(range->moment, new_m, n);
    if (!isfinite(larger(0, new_v, n))) range->moment = (double)INFINITY;
}

void rapt__adam_range(const struct exec_context *c, const struct adam *a, const float *p,
                      const float *g, const float *m, const float *v, size_t n, double *partial,
                      struct adam_range *range)
{
    size_t chunks = rapt__square_partial(n), begin, end;
    while (rapt__team_part(c->team, chunks, 1, &begin, &end))
        for (size_t i = begin; i < end; i++) {
            struct adam_range own = {0, 0};
            size_t to = rapt__min_size(n, (i + 1) * SUM_CHUNK);
            for (size_t at = i * SUM_CHUNK; at < to; at += STEP_TRIAL)
                try_step(c, a, p + at, g + at, m + at, v + at, rapt__min_size(to - at, STEP_TRIAL),
                         &own);
            partial[2 * i] = own.parameter, partial[2 * i + 1] = own.moment;
        }
    rapt__team_barrier(c->team);
    if (c->team->rank == 0) {
        *range = (struct adam_range){0, 0};
        for (size_t i = 0; i < chunks; i++) {
            range->parameter = fmax(range->parameter, partial[2 * i]);
            range->moment = fmax(range->moment, partial[2 * i + 1]);
        }
    }
    rapt__team_barrier(c->team);
}

void rapt__adam(const struct exec_context *c, const struct adam *a, float *p, const float *g,
                float *m, float *v, size_t n)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        c->kernels->adam_span(a, p + begin, g + begin, m + begin, v + begin, end - begin);
    rapt__team_barrier(c->team);
}

void rapt__copy(const struct exec_context *c, const float *x, size_t n, float *y)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        if (end > begin) memcpy(y + begin, x + begin, (end - begin) * sizeof *y);
    rapt__team_barrier(c->team);
}

void rapt__add(const struct exec_context *c, const float *x, size_t n, float *y)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        c->kernels->add(y + begin, x + begin, end - begin);
    rapt__team_barrier(c->team);
}

void rapt__fill(const struct exec_context *c, float *x, size_t n, float value)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        for (size_t i = begin; i < end; i++) x[i] = value;
    rapt__team_barrier(c->team);
}
