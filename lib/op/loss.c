/* loss.c - logits, softmax cross-entropy and their gradients, one chunk of rows at a time:

       logits = x W' + b,  p = softmax(logits),  q = (1 - s) [label] + s / vocab
       loss = -sum q log p,  dlogits = p - q

   Szegedy et al. 2016, "Rethinking the Inception architecture", section 7 (label smoothing). The
   gradient replaces the logits of a chunk in place (kernel/softmax.c), and both products with it
   are computed before the next chunk, so no [rows][vocab] array exists. W is transposed once for
   all chunks. Losses are summed in double precision, in the order of the rows. */
#include "op/op.h"

#include <string.h>

enum { CHUNK_FLOATS = 1 << 21, CHUNK_MIN = 64, CHUNK_MAX = 512 };

/* Returns the number of rows of a chunk: as many as fit into 8 MB, but at least CHUNK_MIN, because
   fewer rows would not repay reading the weights, and at most CHUNK_MAX. */
static int chunk_rows(int rows, int vocab)
{
    int chunk = CHUNK_FLOATS / (vocab > 0 ? vocab : 1);
    chunk = rapt__min(rapt__max(chunk, CHUNK_MIN), CHUNK_MAX);
    return rapt__min(rows, chunk);
}

/* Size of a struct loss_sums in floats. */
enum { SUMS_FLOATS = (sizeof(struct loss_sums) + sizeof(float) - 1) / sizeof(float) };

/* Offsets of the parts of the workspace, in floats, and its size. */
struct parts {
    size_t sums, transposed, size;
};

static struct parts parts_of(int rows, int in, int vocab)
{
    size_t chunk = (size_t)chunk_rows(rows, vocab);
    struct parts p = {.sums = chunk * (size_t)vocab};
    p.transposed = p.sums + rapt__round_up_size(chunk * SUMS_FLOATS, LANES);
    p.size = p.transposed + rapt__panels_size((size_t)in, (size_t)vocab);
    return p;
}

size_t rapt__loss_workspace(int rows, int in, int vocab)
{
    return parts_of(rows, in, vocab).size;
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

/* Adds the sums of a chunk, whose first row has index `first` in the batch. */
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
    int vocab = l->out, chunk = chunk_rows(rows, vocab), step;
    struct parts parts = parts_of(rows, l->in, vocab);
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
