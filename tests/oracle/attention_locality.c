/* attention_locality.c - which keys a query sees, by its position or a predicted center (Luong,
   Pham and Manning 2015, section 3.2), or by a window, global positions (Beltagy, Peters and Cohan
   2020, section 3.1) and blocks (Zaheer et al. 2020, section 2 and appendix D). */
#include "attention_axes.h"

#include <math.h>
#include <stdlib.h>

/* Sets the center c = keys sigmoid(z . tanh(C q)). */
void oracle_center(struct oracle_row *r)
{
    const rapt_attention_parameters *l = &r->a->parameters;
    const double *q = oracle_query(r);
    int Q = oracle_query_width(r->a);
    double sum = 0, error = 0;
    if (r->a->locality != RAPT_LOCALITY_LOCAL_P) return;
    for (int i = 0; i < l->center_hidden; i++) {
        ptrdiff_t at = (ptrdiff_t)r->h * l->center_hidden + i;
        double x = 0, size = 0;
        for (int j = 0; j < Q; j++) {
            x += r->in->learned[RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT][at * Q + j] * q[j];
            size += fabs(r->in->learned[RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT][at * Q + j] * q[j]);
        }
        sum += r->in->learned[RAPT_ATTENTION_PARAMETER_CENTER_VECTOR][at] * tanh(x);
        error += fabs(r->in->learned[RAPT_ATTENTION_PARAMETER_CENTER_VECTOR][at]) * (2 + size);
    }
    int keys = r->existing;
    if (r->a->mask.causal && r->position + 1 < keys)
        keys = r->position + 1 > 0 ? r->position + 1 : 0;
    r->window_center = r->center = keys / (1 + exp(-sum));
    r->center_error = keys * (1 + error / 4);
}

static int is_global(const rapt_sparse *sparse, int position)
{
    for (int i = 0; i < sparse->global_count; i++)
        if ((sparse->globals ? sparse->globals[i] : i) == position) return 1;
    return 0;
}

/* Whether the query attends to key s in the graph of sparse attention. */
static int in_graph(const struct oracle_row *r, int s)
{
    const rapt_sparse *sparse = &r->a->sparse;
    const rapt_stride *stride = &sparse->block_stride;
    double radius = (double)r->a->radius;
    if (radius > 0 && abs(s - r->position) <= radius) return 1;
    if (is_global(sparse, r->position) || is_global(sparse, s)) return 1;
    if (!sparse->blocks) return 0;
    return sparse->blocks[r->b * stride->batch + r->h * stride->head +
                          r->t / sparse->block_queries * stride->row + s / sparse->block_keys] != 0;
}

int oracle_in_locality(const struct oracle_row *r, int s)
{
    double radius = (double)r->a->radius, center = r->window_center;
    if (r->a->locality == RAPT_LOCALITY_SPARSE) return in_graph(r, s);
    if (r->a->locality == RAPT_LOCALITY_GLOBAL) return 1;
    if (r->a->locality == RAPT_LOCALITY_LOCAL_M) center = r->position;
    return s >= ceil(center - radius) && s <= floor(center + radius);
}

double oracle_edge(const struct oracle_row *r)
{
    double low = r->window_center - (double)r->a->radius,
           high = r->window_center + (double)r->a->radius;
    if (r->a->locality != RAPT_LOCALITY_LOCAL_P || r->existing == 0) return INFINITY;
    return fmin(fabs(low - round(low)), fabs(high - round(high))) / (1 + r->center_error);
}

double oracle_gaussian(const struct oracle_row *r, int s, double *error)
{
    double deviation = (double)r->a->radius / 2, z = (s - r->center) / deviation;
    *error = 0;
    if (r->a->locality != RAPT_LOCALITY_LOCAL_P) return 1;
    *error = 2 + z * z + fabs(z) / deviation * r->center_error;
    return exp(-z * z / 2);
}
