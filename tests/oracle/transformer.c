/* transformer.c - Vaswani et al. 2017, "Attention is all you need", sections 3.1 to 3.5; grouped
   heads: Ainslie et al. 2023, section 2.2; norms before: Xiong et al. 2020, table 1. */
#include "transformer.h"

#include "op.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct oracle_layer { /* pairs of matrix and vector: weight and bias, or gain and bias */
    double *self_qkv[2], *self_out[2], *self_norm[2];
    double *cross_q[2], *cross_kv[2], *cross_out[2], *cross_norm[2];
    double *in[2], *out[2], *norm[2];
};

static double *room(int rows, int columns)
{
    return calloc((size_t)rows * (size_t)columns + 1, sizeof(double));
}

static double *find(const struct oracle_model *m, const char *name)
{
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->tensors[i].name, name) == 0) return m->tensors[i].data;
    return NULL;
}

static void find_pair(const struct oracle_model *m, const char *scope, const char *name,
                      double *pair[2])
{
    char full[128];
    snprintf(full, sizeof full, "%s%s.weight", scope, name);
    pair[0] = find(m, full);
    snprintf(full, sizeof full, "%s%s.bias", scope, name);
    pair[1] = find(m, full);
}

static struct oracle_layer *find_layers(const struct oracle_model *m, const char *side, int count)
{
    struct oracle_layer *layers = calloc((size_t)count + 1, sizeof *layers);
    for (int i = 0; i < count; i++) {
        struct oracle_layer *l = &layers[i];
        char scope[64];
        snprintf(scope, sizeof scope, "%s.layers.%d.", side, i);
        find_pair(m, scope, "self_attn.qkv", l->self_qkv);
        find_pair(m, scope, "self_attn.out", l->self_out);
        find_pair(m, scope, "self_attn.norm", l->self_norm);
        find_pair(m, scope, "cross_attn.q", l->cross_q);
        find_pair(m, scope, "cross_attn.kv", l->cross_kv);
        find_pair(m, scope, "cross_attn.out", l->cross_out);
        find_pair(m, scope, "cross_attn.norm", l->cross_norm);
        find_pair(m, scope, "feedforward.in", l->in);
        find_pair(m, scope, "feedforward.out", l->out);
        find_pair(m, scope, "feedforward.norm", l->norm);
    }
    return layers;
}

struct oracle_model *oracle_model_read(const rapt_model *model)
{
    struct oracle_model *m = calloc(1, sizeof *m);
    m->config = rapt_model_config(model);
    m->count = rapt_model_tensors(model);
    m->tensors = calloc((size_t)m->count, sizeof *m->tensors);
    for (int i = 0; i < m->count; i++) {
        rapt_tensor t = rapt_model_tensor(model, i);
        size_t size = (size_t)t.rows * (size_t)t.columns;
        float *data = calloc(size, sizeof *data);
        rapt_model_read(model, i, data);
        m->tensors[i] = (struct oracle_tensor){t.name, t.rows, t.columns, room(t.rows, t.columns)};
        for (size_t j = 0; j < size; j++) m->tensors[i].data[j] = (double)data[j];
        free(data);
    }
    m->encoder = find_layers(m, "encoder", m->config.encoder_layers);
    m->decoder = find_layers(m, "decoder", m->config.decoder_layers);
    return m;
}

void oracle_model_free(struct oracle_model *m)
{
    for (int i = 0; i < m->count; i++) free(m->tensors[i].data);
    free(m->tensors);
    free(m->encoder);
    free(m->decoder);
    free(m);
}

/* ---- one side of the model ---- */

struct side {
    const struct oracle_model *m;
    const struct oracle_drop *drop;
    int decoder, sublayer;
    const struct oracle_sentence *rows, *source;
    const double *states; /* of the source */
    double *x;            /* [rows][width] */
    double *cross;        /* where the next weights of cross-attention go, or NULL */
};

/* PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(the same): section 3.5; the other orders
   of columns as rapt_position describes them. */
static double place(const struct side *s, int p, int column)
{
    const rapt_config *c = &s->m->config;
    int half = c->width / 2, sine, i;
    if (c->position == RAPT_POSITION_NONE) return 0;
    if (c->position == RAPT_POSITION_LEARNED)
        return find(s->m, s->decoder ? "decoder.positions.weight"
                                     : "encoder.positions.weight")[p * c->width + column];
    if (c->position == RAPT_POSITION_INTERLEAVED)
        i = column / 2, sine = column % 2 == 0;
    else
        i = column % half, sine = column < half;
    double exponent = (double)i / half;
    if (c->position == RAPT_POSITION_CONCATENATED_N1)
        exponent = half > 1 ? (double)i / (half - 1) : 0;
    double angle = p / pow(10000, exponent);
    return sine ? sin(angle) : cos(angle);
}

static double kept(const struct side *s, int row, int column)
{
    if (!s->drop) return 1;
    return s->drop->output(s->drop->user, s->decoder, s->sublayer, s->rows->first + row, column);
}

static void embed(struct side *s)
{
    const rapt_config *c = &s->m->config;
    const double *table = find(s->m, "embedding.weight");
    if (!table)
        table = find(s->m, s->decoder ? "decoder.embedding.weight" : "encoder.embedding.weight");
    double scale = c->plain_embedding ? 1 : sqrt(c->width);
    s->sublayer = -1;
    for (int r = 0; r < s->rows->count; r++)
        for (int j = 0; j < c->width; j++)
            s->x[r * c->width + j] =
                kept(s, r, j) * (scale * table[s->rows->ids[r] * c->width + j] + place(s, r, j));
    s->sublayer = 0;
}

static void normalise(const struct side *s, double *const pair[2], const double *x, double *y)
{
    const rapt_config *c = &s->m->config;
    double epsilon = c->norm_epsilon > 0 ? (double)c->norm_epsilon : 1e-5;
    oracle_norm(s->rows->count, c->width, x, pair[0], pair[1], epsilon, y);
}

/* Heads of self- or cross-attention: q [T] rows of q_row numbers, k and v [S] rows of k_row. */
struct heads {
    const double *q, *k, *v;
    int q_row, k_row, S, causal;
    rapt_score score;
};

/* Weights of query t in head h. */
static void weigh(const struct side *s, const struct heads *a, int h, int t, double *p)
{
    const rapt_config *c = &s->m->config;
    int K = c->width / c->heads, g = h / (c->heads / (c->key_heads ? c->key_heads : c->heads));
    int S = a->causal ? t + 1 : a->S;
    double most = -INFINITY, sum = 0;
    for (int k = 0; k < S; k++) {
        p[k] = 0;
        for (int i = 0; i < K; i++)
            p[k] += a->q[t * a->q_row + h * K + i] * a->k[k * a->k_row + g * K + i];
        if (a->score == RAPT_SCORE_SCALED_DOT) p[k] /= sqrt(K);
        most = fmax(most, p[k]);
    }
    for (int k = 0; k < S; k++) sum += p[k] = exp(p[k] - most);
    for (int k = 0; k < a->S; k++) p[k] = k < S ? p[k] / sum : 0;
}

static void attend(struct side *s, const struct heads *a, double *mixed, double *weights)
{
    const rapt_config *c = &s->m->config;
    int K = c->width / c->heads, group = c->heads / (c->key_heads ? c->key_heads : c->heads);
    double *p = room(1, a->S);
    for (int h = 0; h < c->heads; h++)
        for (int t = 0; t < s->rows->count; t++) {
            double *to = mixed + t * c->width + h * K;
            weigh(s, a, h, t, p);
            if (weights)
                memcpy(weights + (h * s->rows->count + t) * a->S, p, sizeof *p * (size_t)a->S);
            for (int k = 0; k < a->S; k++) {
                double w = p[k];
                if (s->drop)
                    w *= s->drop->weight(s->drop->user, s->decoder, s->sublayer, s->rows->number, h,
                                         t, k);
                for (int i = 0; i < K; i++) to[i] += w * a->v[k * a->k_row + h / group * K + i];
            }
        }
    free(p);
}

static void self_attention(struct side *s, const struct oracle_layer *l, const double *in,
                           double *y)
{
    const rapt_config *c = &s->m->config;
    int D = c->width, T = s->rows->count;
    int G = (c->key_heads ? c->key_heads : c->heads) * (D / c->heads), row = D + 2 * G;
    double *qkv = room(T, row), *mixed = room(T, D);
    oracle_linear(T, D, row, in, l->self_qkv[0], l->self_qkv[1], qkv);
    struct heads a = {qkv, qkv + D, qkv + D + G, row, row, T, s->decoder, c->self_score};
    attend(s, &a, mixed, NULL);
    oracle_linear(T, D, D, mixed, l->self_out[0], l->self_out[1], y);
    free(qkv);
    free(mixed);
}

static void cross_attention(struct side *s, const struct oracle_layer *l, const double *in,
                            double *y)
{
    const rapt_config *c = &s->m->config;
    int D = c->width, T = s->rows->count, S = s->source->count;
    int G = (c->key_heads ? c->key_heads : c->heads) * (D / c->heads);
    double *q = room(T, D), *kv = room(S, 2 * G), *mixed = room(T, D);
    oracle_linear(T, D, D, in, l->cross_q[0], l->cross_q[1], q);
    oracle_linear(S, D, 2 * G, s->states, l->cross_kv[0], l->cross_kv[1], kv);
    struct heads a = {q, kv, kv + G, D, 2 * G, S, 0, c->cross_score};
    attend(s, &a, mixed, s->cross);
    if (s->cross) s->cross += c->heads * T * S;
    oracle_linear(T, D, D, mixed, l->cross_out[0], l->cross_out[1], y);
    free(q);
    free(kv);
    free(mixed);
}

static void feedforward(struct side *s, const struct oracle_layer *l, const double *in, double *y)
{
    const rapt_config *c = &s->m->config;
    int T = s->rows->count, F = c->hidden;
    double *h = room(T, F);
    oracle_linear(T, c->width, F, in, l->in[0], l->in[1], h);
    for (int r = 0; r < T; r++)
        for (int j = 0; j < F; j++) {
            double keep = 1;
            if (s->drop)
                keep =
                    s->drop->hidden(s->drop->user, s->decoder, s->sublayer, s->rows->first + r, j);
            h[r * F + j] = keep * oracle_activation((int)c->activation, h[r * F + j]);
        }
    oracle_linear(T, F, c->width, h, l->out[0], l->out[1], y);
    free(h);
}

typedef void part(struct side *s, const struct oracle_layer *l, const double *in, double *y);

/* Norm after: x = norm(x + f(x)). Norm before: x = x + f(norm(x)). */
static void sublayer(struct side *s, const struct oracle_layer *l, double *const norm[2], part *f)
{
    const rapt_config *c = &s->m->config;
    int T = s->rows->count, D = c->width;
    double *in = room(T, D), *y = room(T, D);
    if (c->norm == RAPT_NORM_BEFORE)
        normalise(s, norm, s->x, in);
    else
        memcpy(in, s->x, sizeof *in * (size_t)(T * D));
    f(s, l, in, y);
    for (int r = 0; r < T; r++)
        for (int j = 0; j < D; j++) in[r * D + j] = s->x[r * D + j] + kept(s, r, j) * y[r * D + j];
    if (c->norm == RAPT_NORM_BEFORE)
        memcpy(s->x, in, sizeof *in * (size_t)(T * D));
    else
        normalise(s, norm, in, s->x);
    s->sublayer++;
    free(in);
    free(y);
}

static void run_side(struct side *s)
{
    const rapt_config *c = &s->m->config;
    int layers = s->decoder ? c->decoder_layers : c->encoder_layers;
    embed(s);
    for (int i = 0; i < layers; i++) {
        const struct oracle_layer *l = s->decoder ? &s->m->decoder[i] : &s->m->encoder[i];
        sublayer(s, l, l->self_norm, self_attention);
        if (s->source) sublayer(s, l, l->cross_norm, cross_attention);
        if (c->hidden) sublayer(s, l, l->norm, feedforward);
    }
    if (c->norm != RAPT_NORM_BEFORE) return;
    double *last[2], *y = room(s->rows->count, c->width);
    find_pair(s->m, s->decoder ? "decoder." : "encoder.", "norm", last);
    normalise(s, last, s->x, y);
    memcpy(s->x, y, sizeof *y * (size_t)(s->rows->count * c->width));
    free(y);
}

/* ---- the whole ---- */

void oracle_encode(const struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, double *states)
{
    struct side s = {.m = m, .drop = drop, .rows = source, .x = states};
    run_side(&s);
}

static void output(const struct oracle_model *m, int rows, const double *x, double *logits)
{
    const rapt_config *c = &m->config;
    const double *w = find(m, "embedding.weight");
    if (!w) w = find(m, "output.weight");
    if (!w) w = find(m, "decoder.embedding.weight");
    oracle_linear(rows, c->width, c->target_vocab, x, w, find(m, "output.bias"), logits);
}

void oracle_decode(const struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, const double *states,
                   const struct oracle_sentence *target, double *logits, double *cross)
{
    struct side s = {.m = m,
                     .drop = drop,
                     .decoder = 1,
                     .rows = target,
                     .source = source,
                     .states = states,
                     .x = room(target->count, m->config.width),
                     .cross = cross};
    run_side(&s);
    output(m, target->count, s.x, logits);
    free(s.x);
}

static struct oracle_sentence sentence(const rapt_tokens *t, int b)
{
    return (struct oracle_sentence){b, t->starts[b], t->starts[b + 1] - t->starts[b],
                                    t->ids + t->starts[b]};
}

static double rows_loss(const struct oracle_model *m, const double *logits, int rows,
                        const int32_t *labels, double smoothing, double *likelihood)
{
    double loss = 0, one;
    for (int r = 0; r < rows; r++) {
        if (labels[r] < 0) continue;
        loss += oracle_loss(m->config.target_vocab, logits + r * m->config.target_vocab, labels[r],
                            smoothing, &one);
        if (likelihood) *likelihood += one;
    }
    return loss;
}

/* b tokens of a target sequence are one fewer than given: the last is not fed. */
double oracle_batch_loss(const struct oracle_model *m, const struct oracle_drop *drop,
                         const rapt_tokens *source, const rapt_tokens *target, double smoothing,
                         double *likelihood)
{
    const rapt_config *c = &m->config;
    double loss = 0;
    if (likelihood) *likelihood = 0;
    for (int b = 0, fed = 0; b < target->batch; b++) {
        struct oracle_sentence s = {0}, t = sentence(target, b);
        double *states = NULL;
        if (c->kind != RAPT_DECODER_ONLY) {
            s = sentence(source, b);
            states = room(s.count, c->width);
            oracle_encode(m, drop, &s, states);
        }
        double *logits = room(t.count, c->target_vocab);
        const int32_t *labels = t.ids;
        if (c->kind == RAPT_ENCODER_ONLY) {
            output(m, s.count, states, logits);
        } else {
            labels++, t.first = fed, t.count = t.count > 0 ? t.count - 1 : 0;
            oracle_decode(m, drop, states ? &s : NULL, states, &t, logits, NULL);
            fed += t.count;
        }
        loss += rows_loss(m, logits, t.count, labels, smoothing, likelihood);
        free(states);
        free(logits);
    }
    return loss;
}
