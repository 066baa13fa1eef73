/* side.c - projects all rows of one side (queries or existing keys) block by block, or adds the
   gradients of the rows to the caller's arrays. */
#include "attention/score/score.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_ROWS = 64 };

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
                                .rows = rapt__min(left, BLOCK_ROWS),
                                .position = position,
                                .x =
                                    r->x ? r->x + rapt__side_at(r, &r->x_stride, b, head, t) : NULL,
                                .x_row = r->x_stride.row,
                                .y = r->y + rapt__side_at(r, &r->y_stride, b, head, t),
                                .y_row = r->y_stride.row};
}

/* Copies rows and adds the content bias of a head to its queries (rapt/distances.h). */
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
            for (int t = 0; chosen(only, i, h) && t < rapt__side_rows(r, &b); t += BLOCK_ROWS) {
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
            for (int t = 0; t < rapt__side_rows(r, &b); t += BLOCK_ROWS) {
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
