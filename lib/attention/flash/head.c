/* head.c - decides which pairs (a sequence and a key head) are computed one query head at a time on
   plain rows (kernel/flash_head.c), and describes such a head to the kernel. In short sequences, no
   key or value is read often enough to repay packing. Also decides whether rows are prefetched. */
#include "attention/flash/flash.h"
#include "op/op.h"

/* Computes the ranges of visible keys of all queries. Returns false if every range contains all
   keys. */
static bool visible_ranges(const rapt_attention *a, const struct sequence *b, float *low,
                           float *high)
{
    if (!a->mask.causal && !a->mask.window && !rapt__locality_windowed(a)) return false;
    for (int t = 0; t < b->queries; t++) {
        struct attend_row row;
        rapt__mask_row(a, b, 0, t, &row);
        low[t] = (float)row.low, high[t] = (float)row.high;
    }
    return true;
}

bool rapt__flash_rows_far(const struct projected *c, bool gradients)
{
    const rapt_attention *a = c->a;
    double keys = (double)rapt__key_rows(a) * rapt__key_heads_of(a),
           queries = (double)rapt__query_rows(a) * a->heads;
    double floats = keys * (c->width + a->value_width) + queries * c->width;
    return floats * sizeof(float) * (gradients ? 2 : 1) > (double)rapt__near_size();
}

bool rapt__flash_head(const struct projected *c, const struct sequence *b, int g, float *low,
                      float *high, struct attend_head *head)
{
    const rapt_attention *a = c->a;
    const struct dropout drop = rapt__dropout(a->dropout, 0);
    if (b->queries < LANES / 2 || b->existing == 0 || b->existing > ATTEND_BLOCK) return false;
    if (c->kind == ATTEND_SIGMOID || rapt__locality_sparse(a)) return false;
    bool masked = visible_ranges(a, b, low, high);
    *head = (struct attend_head){.k = c->k + rapt__key_at(&c->k_stride, b, g, 0),
                                 .q_row = c->q_stride.row,
                                 .k_row = c->k_stride.row,
                                 .v_row = a->v.row,
                                 .out_row = a->out.row,
                                 .queries = b->queries,
                                 .keys = b->existing,
                                 .key_width = c->width,
                                 .value_width = a->value_width,
                                 .low = masked ? low : NULL,
                                 .high = high,
                                 .bias_row = a->mask.bias_stride.row,
                                 .allowed_row = a->mask.allowed_stride.row,
                                 .kind = c->kind,
                                 .scale = c->scale,
                                 .cap = a->cap,
                                 .drop_below = drop.below,
                                 .drop_scale = drop.scale};
    return true;
}

const float *rapt__flash_whole_rows(const float *x, ptrdiff_t *row, int rows, int width, float *to)
{
    if (width % LANES == 0) return x;
    rapt__kernels()->pad_rows(x, *row, rows, width, to);
    *row = rapt__padded(width);
    return to;
}

void rapt__flash_head_queries(const struct projected *c, const struct sequence *b, int h, int first,
                              struct attend_head *head)
{
    const rapt_mask *m = &c->a->mask;
    head->q = c->q + rapt__query_at(&c->q_stride, b, h, first);
    struct attend_row row = {0};
    if (m->bias || m->allowed) {
        rapt__mask_row(c->a, b, h, first, &row);
        head->bias = row.bias, head->allowed = row.allowed;
    }
    rapt__bias_row(c, b, h, first, &row);
    head->relative = row.relative, head->forget = row.forget, head->distances = row.distances;
    head->distance_row = (ptrdiff_t)rapt__distance_row(c->a);
    head->position = (int)rapt__query_position(c->a, b, first);
    head->number = rapt__number_of(c, h);
    head->drop_row = (uint64_t)first;
    if (head->drop_below) head->drop_key = rapt__attention_drop_key(c->a, b, h);
}
