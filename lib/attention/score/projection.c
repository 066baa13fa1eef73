/* projection.c - multiplies rows by a score's learned projection matrix, and projects all queries
   or all keys of a problem. Each element of a product is a chain of fused multiply-adds in the
   order of the inner index, so the result for a row is bit-identical, whatever other rows are
   computed with it. */
#include "attention/score/score.h"

#include <assert.h>
#include <string.h>

/* Number of rows of x that are read LANES times while they are in the cache. */
enum { ROWS = 64 };

size_t rapt__projection_panels(int in, int out)
{
    size_t forward = rapt__panels_size((size_t)out, (size_t)in);
    size_t backward = rapt__panels_size((size_t)in, (size_t)out);
    return rapt__max_size(forward, backward);
}

void rapt__projection_pack(struct team *team, const struct projection *p, bool transposed,
                           float *panels)
{
    const struct kernels *k = rapt__kernels();
    size_t size = rapt__projection_panels(p->in, p->out);
    int per_head = rapt__ceil_div(transposed ? p->in : p->out, LANES);
    int depth = transposed ? p->out : p->in;
    for (int64_t n; (n = rapt__team_take(team)) < (int64_t)per_head * p->heads;) {
        int head = (int)(n / per_head), panel = (int)(n % per_head);
        const float *w = p->weight + (size_t)head * (size_t)p->out * (size_t)p->in;
        float *to = panels + (size_t)head * size + (size_t)panel * LANES * (size_t)depth;
        if (transposed)
            k->pack_rows(w, p->in, p->in, p->out, panel, 1, to);
        else
            k->pack_columns(w, p->in, p->out, p->in, 1, panel, 1, to);
    }
    rapt__team_barrier(team);
}

void rapt__project(const struct projection *p, const float *panels, const struct score_block *b)
{
    const struct gemm_block gemm = {
        .rows = b->rows,
        .columns = p->out,
        .depth = p->in,
        .a = b->x,
        .a_row = b->x_row,
        .a_step = 1,
        .b = panels + (size_t)b->head * rapt__projection_panels(p->in, p->out),
        .b_panel = (ptrdiff_t)LANES * p->in,
        .b_step = LANES,
        .c = b->y,
        .c_row = b->y_row,
        .c_panel = LANES,
        .bias = p->bias ? p->bias + (size_t)b->head * (size_t)p->out : NULL};
    rapt__kernels()->gemm(&gemm);
}

void rapt__project_backward(const struct projection *p, const float *panels,
                            const struct score_block *b)
{
    const struct gemm_block gemm = {.rows = b->rows,
                                    .columns = p->in,
                                    .depth = p->out,
                                    .a = b->y,
                                    .a_row = b->y_row,
                                    .a_step = 1,
                                    .b = panels +
                                         (size_t)b->head * rapt__projection_panels(p->in, p->out),
                                    .b_panel = (ptrdiff_t)LANES * p->out,
                                    .b_step = LANES,
                                    .c = b->dx,
                                    .c_row = b->dx_row,
                                    .c_panel = LANES,
                                    .add = true};
    rapt__kernels()->gemm(&gemm);
}

/* Adds dy' x, summed over a block of rows, to LANES rows of dweight, starting at row `first` of a
   head. */
static void add_outputs(const struct projection *p, const struct score_block *b, int first)
{
    float columns[LANES][ROWS];
    int outputs = rapt__min(p->out - first, LANES);
    float *to = p->dweight + ((size_t)b->head * (size_t)p->out + (size_t)first) * (size_t)p->in;
    for (int r = 0; r < b->rows; r++)
        for (int n = 0; n < outputs; n++) columns[n][r] = b->y[r * b->y_row + first + n];
    for (int n = 0; n < outputs; n++, to += p->in)
        rapt__kernels()->gemv(columns[n], b->rows, b->x, b->x_row, p->in, to);
}

static void add_weights(const struct projection *p, const struct score_rows *r, int head, int first)
{
    for (int i = 0; i < r->a->batch; i++) {
        struct sequence b = rapt__sequence(r->a, i);
        int rows = rapt__side_rows(r, &b);
        for (int t = 0; t < rows; t += ROWS) {
            const struct score_block block = {
                .head = head,
                .rows = rapt__min(rows - t, ROWS),
                .x = r->x + rapt__side_at(r, &r->x_stride, &b, head, t),
                .x_row = r->x_stride.row,
                .y = r->y + rapt__side_at(r, &r->y_stride, &b, head, t),
                .y_row = r->y_stride.row};
            add_outputs(p, &block, first);
        }
    }
}

static void add_bias(const struct projection *p, const struct score_rows *r, int head)
{
    float *to = p->dbias + (size_t)head * (size_t)p->out;
    for (int i = 0; i < r->a->batch; i++) {
        struct sequence b = rapt__sequence(r->a, i);
        rapt__kernels()->column_sum(to, r->y + rapt__side_at(r, &r->y_stride, &b, head, 0),
                                    r->y_stride.row, rapt__side_rows(r, &b), p->out);
    }
}

void rapt__projection_gradient(struct team *team, const struct projection *p,
                               const struct score_rows *r)
{
    int per_head = rapt__ceil_div(p->out, LANES);
    for (int64_t n; p->dweight && (n = rapt__team_take(team)) < (int64_t)per_head * p->heads;)
        add_weights(p, r, (int)(n / per_head), (int)(n % per_head) * LANES);
    rapt__team_barrier(team);
    for (int h; p->dbias && (h = rapt__team_take(team)) < p->heads;) add_bias(p, r, h);
    rapt__team_barrier(team);
}

/* ---- all rows of a side ---- */

/* These functions compute y for all rows of one side (queries or valid keys) block by block, or add
   the gradients of x to the caller's array. */

int rapt__side_rows(const struct score_rows *r, const struct sequence *b)
{
    return r->keys ? b->existing : b->queries;
}

int rapt__side_heads(const struct score_rows *r)
{
    return r->keys ? rapt__key_heads_of(r->a) : r->a->heads;
}

ptrdiff_t rapt__side_at(const struct score_rows *r, const rapt_stride *s, const struct sequence *b,
                        int h, int t)
{
    return r->keys ? rapt__key_at(s, b, h, t) : rapt__query_at(s, b, h, t);
}

static struct score_block block_of(const struct score_rows *r, const struct sequence *b,
                                   const int *positions, int head, int t)
{
    int left = rapt__side_rows(r, b) - t;
    int position = positions ? positions[b->index] + t
                   : r->keys ? t
                             : (int)rapt__query_position(r->a, b, t);
    return (struct score_block){.head = head,
                                .rows = rapt__min(left, ROWS),
                                .position = position,
                                .x =
                                    r->x ? r->x + rapt__side_at(r, &r->x_stride, b, head, t) : NULL,
                                .x_row = r->x_stride.row,
                                .y = r->y + rapt__side_at(r, &r->y_stride, b, head, t),
                                .y_row = r->y_stride.row};
}

/* Copies rows and, if they are queries, adds the content bias of their head (rapt/distances.h). */
static void copy_rows(const rapt_attention *a, bool keys, const struct score_block *b)
{
    size_t width = (size_t)rapt__score(a->score)->width(a);
    const float *u = keys ? NULL : a->distances.content_bias;
    assert(b->x);
    for (int r = 0; r < b->rows; r++) {
        float *y = b->y + r * b->y_row;
        memcpy(y, b->x + r * b->x_row, width * sizeof(float));
        if (u) rapt__kernels()->add(y, u + (size_t)b->head * width, width);
    }
}

static void add_rows(int width, const struct score_block *b)
{
    for (int r = 0; r < b->rows; r++)
        rapt__kernels()->add(b->dx + r * b->dx_row, b->y + r * b->y_row, (size_t)width);
}

static bool chosen(struct score_choice only, int sequence, int head)
{
    return (only.sequence < 0 || only.sequence == sequence) && (only.head < 0 || only.head == head);
}

void rapt__side_forward(struct team *team, const struct score_side *side,
                        const struct score_rows *r, const float *panels, const int *positions,
                        struct score_choice only)
{
    struct tickets tickets = rapt__tickets(team, 1);
    struct projection p = {0};
    if (side->weights) p = side->weights(r->a, NULL);
    for (int i = 0; i < r->a->batch; i++) {
        struct sequence b = rapt__sequence(r->a, i);
        for (int h = 0; h < rapt__side_heads(r); h++)
            for (int t = 0; chosen(only, i, h) && t < rapt__side_rows(r, &b); t += ROWS) {
                if (!rapt__mine(&tickets)) continue;
                const struct score_block block = block_of(r, &b, positions, h, t);
                if (side->weights)
                    rapt__project(&p, panels, &block);
                else if (side->rows)
                    side->rows(r->a, &block);
                else
                    copy_rows(r->a, r->keys, &block);
            }
    }
    rapt__team_barrier(team);
}

void rapt__side_backward(struct team *team, const struct score_side *side,
                         const struct score_rows *r, const float *panels, float *dx)
{
    struct tickets tickets = rapt__tickets(team, 1);
    struct projection p = {0};
    if (side->weights) p = side->weights(r->a, NULL);
    for (int i = 0; i < r->a->batch; i++) {
        struct sequence b = rapt__sequence(r->a, i);
        for (int h = 0; h < rapt__side_heads(r); h++)
            for (int t = 0; t < rapt__side_rows(r, &b); t += ROWS) {
                if (!rapt__mine(&tickets)) continue;
                struct score_block block = block_of(r, &b, NULL, h, t);
                block.dx = dx + rapt__side_at(r, &r->x_stride, &b, h, t);
                block.dx_row = r->x_stride.row;
                if (side->weights)
                    rapt__project_backward(&p, panels, &block);
                else if (side->rows_back)
                    side->rows_back(r->a, &block);
                else
                    add_rows(rapt__score(r->a->score)->width(r->a), &block);
            }
    }
    rapt__team_barrier(team);
}
