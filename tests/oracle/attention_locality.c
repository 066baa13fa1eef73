/* attention_locality.c - how far a query sees: Luong, Pham and Manning 2015, section 3.2. */
#include "attention_axes.h"

#include <math.h>

/* c = keys sigmoid(z . tanh(C q)) */
void oracle_center(struct oracle_row *r)
{
    const rapt_learned *l = &r->a->learned;
    const double *q = oracle_query(r);
    int Q = oracle_query_width(r->a);
    double sum = 0, slip = 0;
    if (r->a->locality != RAPT_LOCALITY_LOCAL_P) return;
    for (int i = 0; i < l->center_hidden; i++) {
        ptrdiff_t at = (ptrdiff_t)r->h * l->center_hidden + i;
        double x = 0, size = 0;
        for (int j = 0; j < Q; j++) {
            x += r->in->learned[RAPT_LEARNED_CENTER_WEIGHT][at * Q + j] * q[j];
            size += fabs(r->in->learned[RAPT_LEARNED_CENTER_WEIGHT][at * Q + j] * q[j]);
        }
        sum += r->in->learned[RAPT_LEARNED_CENTER_VECTOR][at] * tanh(x);
        slip += fabs(r->in->learned[RAPT_LEARNED_CENTER_VECTOR][at]) * (2 + size);
    }
    int keys = r->existing;
    if (r->a->mask.causal && r->position + 1 < keys)
        keys = r->position + 1 > 0 ? r->position + 1 : 0;
    r->middle = r->center = keys / (1 + exp(-sum));
    r->slip = keys * (1 + slip / 4);
}

int oracle_localities(const struct oracle_row *r, int s)
{
    double radius = (double)r->a->radius, middle = r->middle;
    if (r->a->locality == RAPT_LOCALITY_GLOBAL) return 1;
    if (r->a->locality == RAPT_LOCALITY_LOCAL_M) middle = r->position;
    return s >= ceil(middle - radius) && s <= floor(middle + radius);
}

double oracle_edge(const struct oracle_row *r)
{
    double low = r->middle - (double)r->a->radius, high = r->middle + (double)r->a->radius;
    if (r->a->locality != RAPT_LOCALITY_LOCAL_P || r->existing == 0) return INFINITY;
    return fmin(fabs(low - round(low)), fabs(high - round(high)));
}

double oracle_bell(const struct oracle_row *r, int s, double *slip)
{
    double deviation = (double)r->a->radius / 2, far = (s - r->center) / deviation;
    *slip = 0;
    if (r->a->locality != RAPT_LOCALITY_LOCAL_P) return 1;
    *slip = 2 + far * far + fabs(far) / deviation * r->slip;
    return exp(-far * far / 2);
}
