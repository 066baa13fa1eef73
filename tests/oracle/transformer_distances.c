/* transformer_distances.c - the vectors for distances of a layer, in double: parameters of the
   layer (Shaw et al. 2018), projected sinusoids (Dai et al. 2019, section 3.3) or projected rows
   that the layers share (He et al. 2021, section 3.1), for distances or their buckets. */
#include "attention_axes.h"
#include "transformer_layers.h"

#include <math.h>
#include <stdlib.h>

/* Dai et al. 2019: row i - j of R is the encoding of position i - j of Vaswani et al. 2017, with
   all sines before all cosines. Row n of the result is for key j = i + n - before. */
static double *sinusoids(const rapt_config *c, int before, int rows)
{
    int D = c->width;
    double *R = oracle_zeros(rows, D);
    for (int n = 0; n < rows; n++)
        for (int i = 0; i < D / 2; i++) {
            double angle = (before - n) / pow(10000, 2.0 * i / D);
            R[n * D + i] = (double)(float)sin(angle);
            R[n * D + D / 2 + i] = (double)(float)cos(angle);
        }
    return R;
}

/* Sets the buckets of the distances of v. */
static void bucket(struct oracle_vectors *v, const rapt_config *c)
{
    rapt_distances *d = &v->shape;
    int B = c->relative_buckets, rows = d->before + 1 + d->after;
    v->buckets = malloc((size_t)rows * sizeof *v->buckets);
    for (int n = 0; n < rows; n++)
        v->buckets[n] = oracle_log_bucket(n - d->before, B, d->before) + B - 1;
    d->buckets = v->buckets, d->bucket_count = d->after ? 2 * B - 1 : B;
}

struct oracle_vectors oracle_vectors_make(const struct oracle_model *m,
                                          const struct oracle_layer *l, int decoder)
{
    static const float there[1];
    const rapt_config *c = &m->config;
    struct oracle_vectors v = {.shape.before = 0};
    rapt_distances *d = &v.shape;
    int D = c->width, Q = c->heads * oracle_head_width(c);
    if (!l->distance_keys && !l->distance_key) return v;
    int C = c->relative_distance > 0 ? c->relative_distance : 128;
    d->before = C, d->after = decoder ? 0 : C;
    int rows = d->before + 1 + d->after, all_rows = 2 * C + 1;
    if (c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA && c->relative_buckets) {
        bucket(&v, c);
        rows = d->bucket_count, all_rows = 2 * c->relative_buckets - 1;
    }
    d->shared = l->distance_keys != NULL;
    d->keys = there;
    v.in.distance_keys = l->distance_keys;
    if (l->distance_values) d->values = there, v.in.distance_values = l->distance_values;
    if (l->content_bias) d->content_bias = there, v.in.content_bias = l->content_bias;
    if (l->position_bias) d->position_bias = there, v.in.position_bias = l->position_bias;
    if (!l->distance_key) return v;
    double *own = l->distances ? NULL : sinusoids(c, d->before, rows);
    const double *all = own ? own : l->distances;
    v.in.distance_keys = v.keys = oracle_zeros(rows, Q);
    oracle_affine(m, TWO_TERMS, rows, D, Q, all, l->distance_key, NULL, v.keys);
    if (l->distance_query) {
        double *y = oracle_zeros(rows, Q);
        d->queries = there, v.in.distance_queries = v.queries = oracle_zeros(rows, Q);
        /* row n is for j - i = n - C, or for that bucket; K_r is indexed by i - j, so Q_r, indexed
           by j - i, runs the other way: from C down to -C or, in a decoder, to 0 */
        oracle_affine(m, TWO_TERMS, rows, D, Q, all + (all_rows - rows) * D, l->distance_query,
                      NULL, y);
        for (int n = 0; n < rows; n++)
            for (int i = 0; i < Q; i++) v.queries[n * Q + i] = y[(rows - 1 - n) * Q + i];
        free(y);
    }
    free(own);
    return v;
}

void oracle_vectors_free(struct oracle_vectors *v)
{
    free(v->keys), free(v->queries), free(v->buckets);
}

/* He et al. 2021, equation 4: three terms divide the score by sqrt(3 d). */
void oracle_vectors_use(const struct oracle_vectors *v, const rapt_config *c, rapt_attention *a,
                        struct oracle_inputs *in)
{
    a->distances = v->shape;
    double d = a->score == RAPT_SCORE_SCALED_DOT ? a->key_width : 1;
    if (c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA) a->scale = (float)(1 / sqrt(3 * d));
    in->distance_keys = v->in.distance_keys, in->distance_queries = v->in.distance_queries;
    in->distance_values = v->in.distance_values;
    in->content_bias = v->in.content_bias, in->position_bias = v->in.position_bias;
}
