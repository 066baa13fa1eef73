/* row_biases.c - the terms that are added to the scaled scores of a query, apart from the bias of
   the mask: relative biases (bias.c), sums of forget gates (forget.c) and products with distance
   vectors (score/distances.c). */
#include "attention/projected.h"

/* Sets *x for query t of head h. */
static void set_distances(const struct projected *c, const struct sequence *b, int h, int t,
                          struct distances *x)
{
    const rapt_attention *a = c->a;
    size_t rows = (size_t)rapt__query_rows(a), row = rapt__distance_row(a);
    size_t panels = rapt__key_panels((size_t)a->batch, (size_t)rapt__key_rows(a));
    size_t panel = ((size_t)h * panels + rapt__key_panel(b)) * rapt__distance_panel(a);
    *x = (struct distances){.before = a->distances.before,
                            .after = a->distances.after,
                            .position = (int)rapt__query_position(a, b, t)};
    size_t at = ((size_t)h * rows + (size_t)b->query_first + (size_t)t) * row + LANES +
                (size_t)a->distances.before;
    if (c->by_query) x->by_query = c->by_query + at;
    if (c->by_dout) x->by_dout = c->by_dout + at;
    if (c->distance_weights) x->weights = c->distance_weights + at;
    if (c->by_key) x->by_key = c->by_key + panel;
}

void rapt__bias_row(const struct projected *c, const struct sequence *b, int h, int t,
                    struct attend_row *row)
{
    if (c->relative) row->relative = rapt__relative_row(c, b, h, t);
    if (c->by_query || c->by_key || c->a->distances.values)
        set_distances(c, b, h, t, &row->distances);
    if (!c->forget) return;
    size_t all = rapt__key_panels((size_t)c->a->batch, (size_t)rapt__key_rows(c->a));
    row->forget = c->forget + ((size_t)h * all + rapt__key_panel(b)) * FORGET_PANEL;
    rapt__forget_query(rapt__query_position(c->a, b, t), b->existing, row);
}

void rapt__distance_gradients(const struct projected *c, const struct projected_gradients *d,
                              struct distances *x)
{
    if (d->by_query) x->dby_query = d->by_query + (x->by_query - c->by_query);
    if (d->by_key) x->dby_key = d->by_key + (x->by_key - c->by_key);
}

bool rapt__biased(const struct projected *c)
{
    return c->a->mask.bias || c->relative || c->forget || rapt__distances_wanted(c->a);
}
