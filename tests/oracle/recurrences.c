/* recurrences.c - linear attention and monotonic attention, from the papers. */
#include "recurrences.h"

#include "op.h"

#include <math.h>
#include <stdlib.h>

/* ---- linear attention: the recurrences of Katharopoulos et al. 2020 (arXiv 2006.16236, equations
   16 to 20) and of Yang et al. 2024 (Gated DeltaNet, arXiv 2412.06464, equation 10), one row after
   the other. The state here is the transpose of that of Gated DeltaNet. ---- */

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

static double linear_feature(const rapt_linear_attention *a, double x)
{
    if (a->feature_map == RAPT_FEATURE_MAP_NONE) return x;
    return x > 0 ? x + 1 : exp(x);
}

/* S = a S, then S = S + k u' with u = v or b (v - S' k). magnitude is S with the absolute values of
   all terms. */
static void linear_update(int width, int values, double decay, const double *beta, const double *k,
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
static void linear_read_state(const rapt_linear_attention *a, int values, const double *q,
                              const double *state, const double *magnitude, double *out,
                              double *size)
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
        for (int i = 0; i < width; i++)
            k[i] = linear_feature(a, kt[i]), q[i] = linear_feature(a, qt[i]);
        for (int j = 0; j < a->value_width; j++) v[j] = vt[j];
        linear_update(width, values, x->log_decay ? exp(x->log_decay[gate]) : 1,
                      x->beta ? x->beta + gate : NULL, k, v, state, magnitude);
        linear_read_state(a, values, q, state, magnitude, out + t * a->value_width,
                          size ? size + t * a->value_width : NULL);
    }
    free(k), free(v), free(magnitude);
}

/* ---- monotonic attention by the definitions of Raffel et al. 2017, Chiu and Raffel 2018 and
   Arivazhagan et al. 2019, and by the process of random stops from which they follow ---- */

int oracle_monotonic_queries(const rapt_monotonic_attention *a, int sequence)
{
    return a->query_starts ? a->query_starts[sequence + 1] - a->query_starts[sequence] : a->queries;
}

int oracle_monotonic_keys(const rapt_monotonic_attention *a, int sequence)
{
    if (a->key_counts) return a->key_counts[sequence];
    return a->key_starts ? a->key_starts[sequence + 1] - a->key_starts[sequence] : a->keys;
}

static ptrdiff_t row_at(const rapt_stride *s, const int *starts, int sequence, int head, int row)
{
    if (starts) return head * s->head + (starts[sequence] + row) * s->row;
    return sequence * s->batch + head * s->head + row * s->row;
}

ptrdiff_t oracle_monotonic_query(const rapt_monotonic_attention *a, const rapt_stride *s,
                                 int sequence, int head, int t)
{
    return row_at(s, a->query_starts, sequence, head, t);
}

ptrdiff_t oracle_monotonic_key(const rapt_monotonic_attention *a, const rapt_stride *s,
                               int sequence, int key_head, int key)
{
    return row_at(s, a->key_starts, sequence, key_head, key);
}

size_t oracle_monotonic_delay(const rapt_monotonic_attention *a, int sequence, int head, int t)
{
    int all = a->query_starts ? a->query_starts[a->batch] : a->batch * a->queries;
    int first = a->query_starts ? a->query_starts[sequence] : sequence * a->queries;
    return (size_t)head * (size_t)all + (size_t)(first + t);
}

static int key_head_of(const rapt_monotonic_attention *a, int head)
{
    return a->key_heads ? head / (a->heads / a->key_heads) : head;
}

static double product(const double *x, const double *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Returns the sum of twelve uniform numbers, each of 53 bits from two words, minus six. */
static double noise_of(const rapt_monotonic_attention *a, int sequence, int head, int t, int key)
{
    uint64_t stream = oracle_mix(oracle_mix(a->seed, (uint64_t)sequence), (uint64_t)head);
    double sum = -6;
    for (uint64_t i = 1; i <= 6; i++) {
        uint32_t w[4];
        oracle_philox(stream, (uint64_t)t << 32 | (uint64_t)key, i, w);
        for (int j = 0; j < 4; j += 2)
            sum += (double)(((uint64_t)w[j] << 32 | w[j + 1]) >> 11) * 0x1p-53;
    }
    return (double)a->noise * sum;
}

/* One query head of a sequence. */
struct reader {
    const rapt_monotonic_attention *a;
    const struct oracle_monotonic_inputs *x;
    int sequence, head, key_head, queries, keys;
};

static struct reader reader_of(const rapt_monotonic_attention *a,
                               const struct oracle_monotonic_inputs *x, int sequence, int head)
{
    return (struct reader){a,
                           x,
                           sequence,
                           head,
                           key_head_of(a, head),
                           oracle_monotonic_queries(a, sequence),
                           oracle_monotonic_keys(a, sequence)};
}

static double factor(const rapt_monotonic_attention *a, float scale)
{
    return scale != 0 ? (double)scale : 1 / sqrt(a->key_width);
}

static double energy(const struct reader *r, int t, int key)
{
    const rapt_monotonic_attention *a = r->a;
    const double *q = r->x->q + oracle_monotonic_query(a, &a->q, r->sequence, r->head, t);
    const double *k = r->x->k + oracle_monotonic_key(a, &a->k, r->sequence, r->key_head, key);
    double offset = r->x->offset ? r->x->offset[r->head] : 0;
    return factor(a, a->scale) * product(q, k, a->key_width) + offset;
}

static double stop_probability(const struct reader *r, int t, int key)
{
    if (r->a->last_stops && key == r->keys - 1) return 1;
    double e = energy(r, t, key);
    if (r->a->noise > 0) e += noise_of(r->a, r->sequence, r->head, t, key);
    return 1 / (1 + exp(-e));
}

static double chunk_energy(const struct reader *r, int t, int key)
{
    const rapt_monotonic_attention *a = r->a;
    ptrdiff_t q = oracle_monotonic_query(a, &a->chunk_q, r->sequence, r->head, t);
    ptrdiff_t k = oracle_monotonic_key(a, &a->chunk_k, r->sequence, r->key_head, key);
    return factor(a, a->chunk_scale) * product(r->x->chunk_q + q, r->x->chunk_k + k, a->key_width);
}

/* Adds the weights of a stop to a row of weights, and the values times these weights to a row of
   out. */
static void add_stop(const struct reader *r, const double *energies, int stop, double probability,
                     double *out, double *weights)
{
    const rapt_monotonic_attention *a = r->a;
    int window = a->mode == RAPT_MONOTONIC_HARD    ? 1
                 : a->mode == RAPT_MONOTONIC_CHUNK ? a->chunk
                                                   : stop + 1;
    int first = stop >= window ? stop - window + 1 : 0;
    double sum = 0, most = energies[first];
    for (int l = first; l <= stop; l++) most = fmax(most, energies[l]);
    for (int l = first; l <= stop; l++) sum += exp(energies[l] - most);
    for (int l = first; l <= stop; l++) {
        double w = probability * (exp(energies[l] - most) / sum);
        const double *v = r->x->v + oracle_monotonic_key(a, &a->v, r->sequence, r->key_head, l);
        for (int j = 0; j < a->value_width; j++) out[j] += w * v[j];
        if (weights) weights[l] += w;
    }
}

static void clear(const struct reader *r, const struct oracle_monotonic_results *to)
{
    for (int i = 0; i < r->queries * r->keys; i++) to->alpha[i] = to->weights[i] = 0;
    for (int i = 0; i < r->queries * r->a->value_width; i++) to->out[i] = 0;
}

static double *chunk_energies(const struct reader *r, int t)
{
    double *u = calloc((size_t)r->keys + 1, sizeof *u);
    for (int l = 0; l < r->keys && r->a->mode != RAPT_MONOTONIC_HARD; l++)
        u[l] = chunk_energy(r, t, l);
    return u;
}

void oracle_monotonic_head(const rapt_monotonic_attention *a,
                           const struct oracle_monotonic_inputs *x, int sequence, int head,
                           const struct oracle_monotonic_results *to)
{
    struct reader r = reader_of(a, x, sequence, head);
    double *p = calloc((size_t)r.keys + 1, sizeof *p);
    clear(&r, to);
    for (int t = 0; t < r.queries; t++) {
        double *alpha = to->alpha + t * r.keys, *u = chunk_energies(&r, t);
        to->delays[t] = 0;
        for (int j = 0; j < r.keys; j++) p[j] = stop_probability(&r, t, j);
        for (int k = 0; k < r.keys; k++) { /* equation 9: all terms of the key k of query t - 1 */
            double reached = t > 0 ? alpha[k - r.keys] : k == 0;
            for (int j = k; j < r.keys; reached *= 1 - p[j++]) alpha[j] += p[j] * reached;
        }
        for (int j = 0; j < r.keys; j++) {
            add_stop(&r, u, j, alpha[j], to->out + t * a->value_width, to->weights + t * r.keys);
            to->delays[t] += (j + 1) * alpha[j];
        }
        free(u);
    }
    free(p);
}

/* Follows all paths of queries t, t + 1, ... from a key on. `probability` is the probability of the
   path so far. */
static void follow(const struct reader *r, int t, int key, double probability,
                   const struct oracle_monotonic_results *to)
{
    if (t == r->queries) return;
    double *u = chunk_energies(r, t);
    for (; key < r->keys; key++) {
        double p = stop_probability(r, t, key), here = probability * p;
        to->alpha[t * r->keys + key] += here;
        add_stop(r, u, key, here, to->out + t * r->a->value_width, to->weights + t * r->keys);
        follow(r, t + 1, key, here, to);
        probability *= 1 - p;
    }
    free(u);
}

void oracle_monotonic_paths(const rapt_monotonic_attention *a,
                            const struct oracle_monotonic_inputs *x, int sequence, int head,
                            const struct oracle_monotonic_results *to)
{
    struct reader r = reader_of(a, x, sequence, head);
    clear(&r, to);
    follow(&r, 0, 0, 1, to);
}

double oracle_monotonic_stop(const rapt_monotonic_attention *a,
                             const struct oracle_monotonic_inputs *x, int sequence, int head, int t,
                             int *position, double *out, double *weights)
{
    struct reader r = reader_of(a, x, sequence, head);
    double nearest = INFINITY, *u = chunk_energies(&r, t);
    for (int j = 0; j < a->value_width; j++) out[j] = 0;
    for (; *position < r.keys; ++*position) {
        if (a->last_stops && *position == r.keys - 1) break;
        double e = energy(&r, t, *position);
        nearest = fmin(nearest, fabs(e));
        if (e >= 0) break;
    }
    if (*position < r.keys) add_stop(&r, u, *position, 1, out, weights);
    free(u);
    return nearest;
}
