/* linear_attention.c - the recurrences of Katharopoulos et al. 2020 (arXiv 2006.16236, equations 16
   to 20) and of Yang et al. 2024 (Gated DeltaNet, arXiv 2412.06464, equation 10), one row after the
   other. The state here is the transpose of that of Gated DeltaNet. */
#include "linear_attention.h"

#include <math.h>
#include <stdlib.h>

int oracle_linear_rows(const rapt_linear_attention *a, int sequence)
{
    return a->starts ? a->starts[sequence + 1] - a->starts[sequence] : a->rows;
}

ptrdiff_t oracle_linear_at(const rapt_linear_attention *a, const rapt_stride *s, int sequence,
                           int head, int row)
{
    ptrdiff_t at = head * s->head;
    if (a->starts) return at + (a->starts[sequence] + row) * s->row;
    return at + sequence * s->batch + row * s->row;
}

static double feature(const rapt_linear_attention *a, double x)
{
    if (a->feature_map == RAPT_FEATURE_MAP_NONE) return x;
    return x > 0 ? x + 1 : exp(x);
}

/* S = a S, then S = S + k u' with u = v or b (v - S' k). magnitude is S with the absolute values of
   all terms. */
static void update(int width, int values, double decay, const double *beta, const double *k,
                   const double *v, double *state, double *magnitude)
{
    for (int i = 0; i < width * values; i++) state[i] *= decay, magnitude[i] *= decay;
    for (int j = 0; j < values; j++) {
        double u = v[j], size = fabs(v[j]);
        if (beta) {
            for (int i = 0; i < width; i++) {
                u -= state[i * values + j] * k[i];
                size += fabs(magnitude[i * values + j] * k[i]);
            }
            u *= *beta, size *= fabs(*beta);
        }
        for (int i = 0; i < width; i++) {
            state[i * values + j] += k[i] * u;
            magnitude[i * values + j] += fabs(k[i]) * size;
        }
    }
}

/* out = scale S' q or, if normalized, S' q divided by its last element. */
static void read_state(const rapt_linear_attention *a, int values, const double *q,
                       const double *state, const double *magnitude, double *out, double *size)
{
    double scale = a->scale != 0 ? (double)a->scale : 1 / sqrt(a->key_width), sum = 0;
    for (int i = 0; i < a->key_width; i++) sum += q[i] * state[i * values + values - 1];
    if (a->normalized) scale = sum != 0 ? 1 / sum : 0;
    for (int j = 0; j < a->value_width; j++) {
        double y = 0, terms = 0;
        for (int i = 0; i < a->key_width; i++) {
            y += q[i] * state[i * values + j];
            terms += fabs(q[i]) * magnitude[i * values + j];
        }
        out[j] = scale * y;
        if (size) size[j] = fabs(scale) * terms;
    }
}

void oracle_linear_head(const rapt_linear_attention *a, const struct oracle_linear_inputs *x,
                        int sequence, int head, double *out, double *state, double *size)
{
    int key_heads = a->key_heads ? a->key_heads : a->heads, g = head / (a->heads / key_heads);
    int width = a->key_width, values = a->value_width + (a->normalized ? 1 : 0);
    double *k = calloc((size_t)(2 * width), sizeof *k), *q = k + width;
    double *v = calloc((size_t)values, sizeof *v);
    double *magnitude = calloc((size_t)(width * values), sizeof *magnitude);
    ptrdiff_t first = ((ptrdiff_t)sequence * key_heads + g) * width * values;
    for (int i = 0; i < width * values; i++) {
        state[i] = x->state ? x->state[first + i] : 0;
        magnitude[i] = fabs(state[i]);
    }
    v[values - 1] = 1;
    for (int t = 0; t < oracle_linear_rows(a, sequence); t++) {
        ptrdiff_t gate = oracle_linear_at(a, &a->gates, sequence, g, t);
        const double *kt = x->k + oracle_linear_at(a, &a->k, sequence, g, t);
        const double *qt = x->q + oracle_linear_at(a, &a->q, sequence, head, t);
        const double *vt = x->v + oracle_linear_at(a, &a->v, sequence, g, t);
        for (int i = 0; i < width; i++) k[i] = feature(a, kt[i]), q[i] = feature(a, qt[i]);
        for (int j = 0; j < a->value_width; j++) v[j] = vt[j];
        update(width, values, x->log_decay ? exp(x->log_decay[gate]) : 1,
               x->beta ? x->beta + gate : NULL, k, v, state, magnitude);
        read_state(a, values, q, state, magnitude, out + t * a->value_width,
                   size ? size + t * a->value_width : NULL);
    }
    free(k), free(v), free(magnitude);
}
