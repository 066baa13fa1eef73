/* row_biases.c - the terms that are added to the scaled scores of a query, apart from the bias of
   the mask: relative biases (bias.c) and sums of forget gates (forget.c). */
#include "attention/projected.h"

void rapt__bias_row(const struct projected *c, const struct sequence *b, int h, int t,
                    struct attend_row *row)
{
    if (c->relative) row->relative = rapt__relative_row(c, b, h, t);
    if (!c->forget) return;
    size_t all = rapt__forget_panels((size_t)c->a->batch, (size_t)rapt__key_rows(c->a));
    row->forget = c->forget + ((size_t)h * all + rapt__forget_panel(b)) * FORGET_PANEL;
    rapt__forget_query(rapt__query_position(c->a, b, t), b->existing, row);
}

bool rapt__biased(const struct projected *c)
{
    return c->a->mask.bias || c->relative || c->forget;
}
