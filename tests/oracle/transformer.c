/* transformer.c - the Transformer of Vaswani et al. 2017, "Attention is all you need", sections 3.1
   to 3.5; grouped heads: Ainslie et al. 2023, section 2.2; norms before: Xiong et al. 2020, table
   1. */
#include "transformer_layers.h"

#include "op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one side of the model ---- */

struct side {
    struct oracle_model *m;
    const struct oracle_drop *drop;
    int decoder, sublayer;
    const struct oracle_sentence *rows, *source;
    const double *states; /* encoder output */
    double *x;            /* [rows][width] */
    double *cross;        /* the next weights of cross-attention are written here; may be NULL */
};

enum site { SITE_OUTPUT, SITE_ATTENTION, SITE_HIDDEN, SITES };

static uint64_t key_of(const struct side *s, enum site site)
{
    uint64_t batch = oracle_mix(s->drop->seed, s->drop->batches);
    return oracle_mix(batch, (uint64_t)(((s->sublayer + 1) * SITES + (int)site) * 2 + s->decoder));
}

static double kept(const struct side *s, int row, int column)
{
    if (!s->drop) return 1;
    return oracle_dropout(key_of(s, SITE_OUTPUT), s->drop->output, s->rows->first + row, column);
}

/* Returns element j of W v + b, where v is row r of a source of vectors. */
static double projected(const struct side *s, int r, int j)
{
    int width = s->m->config.source_width;
    const float *v = s->rows->vectors + (ptrdiff_t)(s->rows->first + r) * width;
    const double *w = oracle_find(s->m, "encoder.source.weight");
    double sum = oracle_find(s->m, "encoder.source.bias")[j];
    for (int i = 0; i < width; i++) sum += w[j * width + i] * (double)v[i];
    return sum;
}

static void normalize(const struct side *s, double *const pair[2], const double *x, double *y)
{
    const rapt_config *c = &s->m->config;
    double epsilon = c->norm_epsilon > 0 ? (double)c->norm_epsilon : 1e-5;
    oracle_norm(s->rows->count, c->width, x, pair[0], pair[1], epsilon, y);
}

static void embed(struct side *s)
{
    const rapt_config *c = &s->m->config;
    const double *table = oracle_find(s->m, "embedding.weight");
    const char *own = s->decoder ? "decoder.embedding.weight" : "encoder.embedding.weight";
    if (!table) table = oracle_find(s->m, own);
    double scale = c->plain_embedding ? 1 : sqrt(c->width);
    int zero = s->decoder && c->decoder_start == RAPT_DECODER_START_ZERO;
    s->sublayer = -1;
    const double *types = s->decoder ? NULL : oracle_find(s->m, "encoder.types.weight");
    for (int r = 0; r < s->rows->count; r++) {
        int id = s->rows->ids ? s->rows->ids[r] : 0, token = types ? id % c->source_vocab : id;
        const double *type = types ? types + id / c->source_vocab * c->width : NULL;
        for (int j = 0; j < c->width; j++) {
            double y = c->source_width && !s->decoder ? projected(s, r, j)
                       : zero && r == 0               ? 0
                                                      : scale * table[token * c->width + j];
            s->x[r * c->width + j] =
                y + (type ? type[j] : 0) + oracle_sinusoid(s->m, s->decoder, r, j);
        }
    }
    if (c->embedding_norm) {
        double *pair[2];
        oracle_find_pair(s->m, s->decoder ? "decoder." : "encoder.", "embedding_norm", pair);
        normalize(s, pair, s->x, s->x);
    }
    for (int r = 0; r < s->rows->count; r++)
        for (int j = 0; j < c->width; j++) s->x[r * c->width + j] *= kept(s, r, j);
    s->sublayer = 0;
}

/* Heads of self- or cross-attention: q has [T] rows of q_row numbers, k and v have [S] rows of
   k_row. */
struct heads {
    const double *q, *k, *v;
    int q_row, k_row, v_row, S, cross;
    const struct oracle_inputs *score;
    const double *log_forget;             /* [S][attentions], or NULL */
    const struct oracle_latent *latent;   /* the latent attention of q, k and v, or NULL */
    const struct oracle_vectors *vectors; /* for distances, or NULL */
};

/* Returns the numbers that are added by distance, [heads] or [heads][buckets], or NULL if there are
   none; to: space for 64. */
static const double *distances_of(const struct side *s, double *to)
{
    const rapt_config *c = &s->m->config;
    const char *table =
        s->decoder ? "decoder.relative_bias.weight" : "encoder.relative_bias.weight";
    const char *slopes = s->decoder ? "decoder.slopes" : "encoder.slopes";
    if (c->relative_bias == RAPT_RELATIVE_BIAS_T5) return oracle_find(s->m, table);
    if (c->relative_bias == RAPT_RELATIVE_BIAS_ALIBI_LEARNED) return oracle_find(s->m, slopes);
    int maps = c->heads * (c->differential ? 2 : 1);
    for (int h = 0; h < maps; h++) to[h] = (double)(float)oracle_slope(maps, h);
    return c->relative_bias == RAPT_RELATIVE_BIAS_ALIBI ? to : NULL;
}

/* The pointers of the result only tell which arrays exist. */
static rapt_relative relative_of(const struct side *s)
{
    static const float there[1];
    const rapt_config *c = &s->m->config;
    rapt_relative r = {.rotary = c->rotary,
                       .rotary_width = c->rotary_width,
                       .rotary_base = c->rotary_base,
                       .rotary_scaling = c->rotary_scaling,
                       .rotary_factor = c->rotary_factor,
                       .rotary_positions = c->rotary_positions ? c->rotary_positions : c->positions,
                       .rotary_magnitude = c->rotary_magnitude,
                       .buckets = c->relative_buckets > 0 ? c->relative_buckets : 32,
                       .distance = c->relative_distance > 0 ? c->relative_distance : 128,
                       .bidirectional = !s->decoder};
    if (c->relative_bias == RAPT_RELATIVE_BIAS_T5) r.table = there;
    if (c->relative_bias == RAPT_RELATIVE_BIAS_ALIBI ||
        c->relative_bias == RAPT_RELATIVE_BIAS_ALIBI_LEARNED)
        r.slopes = there;
    return r;
}

/* Returns the attention problem of one sentence. Because draws depend on its index, the problem has
   empty sentences before it. starts is [2][SENTENCES + 1]. */
static rapt_attention problem_of(const struct side *s, const struct heads *h, int *starts)
{
    const rapt_config *c = &s->m->config;
    int K = oracle_head_width(c), T = s->rows->count, number = s->rows->number;
    int maps = c->differential ? 2 : 1; /* attentions per head */
    rapt_attention a = {
        .batch = number + 1, .heads = maps * c->heads, .key_heads = maps * c->key_heads};
    for (int b = 0; b <= number + 1; b++) {
        starts[b] = b > number ? T : 0;
        starts[SENTENCES + 1 + b] = b > number ? h->S : 0;
    }
    a.queries = T, a.keys = h->S, a.key_width = K / maps, a.value_width = K;
    a.query_starts = starts, a.key_starts = starts + SENTENCES + 1;
    a.q = (rapt_stride){0, K / maps, h->q_row};
    a.k = (rapt_stride){0, K / maps, h->k_row};
    a.v = (rapt_stride){0, K, h->v_row};
    a.out = (rapt_stride){0, K, a.heads * K};
    a.score = h->cross ? c->cross_score : c->self_score;
    a.locality = h->cross ? c->cross_locality : c->self_locality;
    a.normalizer = h->cross ? c->cross_normalizer : c->self_normalizer;
    a.radius = h->cross ? c->cross_radius : c->self_radius;
    if (a.radius == 0) a.radius = 4;
    a.sparse.global_count = c->global_tokens ? c->global_tokens : 1;
    a.temperature = h->cross ? c->cross_temperature : c->self_temperature;
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    a.mask.causal = s->decoder && !h->cross;
    a.parameters = oracle_learned_of(c);
    a.cap = c->score_cap;
    if (!h->cross) a.relative = relative_of(s);
    static const float there[1];
    if (h->log_forget) a.log_forget = there;
    a.log_forget_stride = (rapt_stride){0, 1, a.heads};
    if (h->latent) oracle_latent_narrow(c, h->cross, h->latent, &a);
    a.noiseless = s->drop == NULL;
    if (!s->drop) return a;
    a.dropout = s->drop->attention;
    a.seed = key_of(s, SITE_ATTENTION);
    return a;
}

/* Returns the rewards and baselines of all heads and rows, [2][heads][rows], or NULL if no losses
   are known. */
static float *rewards_of(const struct side *s)
{
    const struct oracle_past *past = s->m->past;
    int T = s->rows->count, H = s->m->config.heads, number = s->rows->number;
    if (!past || !past->losses[number]) return NULL;
    float *to = calloc((size_t)(2 * H * T) + 1, sizeof *to);
    int causal = s->decoder, rows = past->rows[number];
    const double *losses = past->losses[number], *expected = s->m->expected_losses;
    for (int t = 0; t < T; t++) {
        double loss = 0, wanted = 0;
        for (int r = causal ? t : 0; r < rows; r++) {
            double counts = s->m->scale * (causal ? pow(1 - s->m->decay, r - t) : 1);
            loss += counts * losses[r];
            if (losses[r] > 0)
                wanted += counts * (expected ? expected[past->first[number] + r] : s->m->expected);
        }
        for (int h = 0; h < H; h++) {
            to[h * T + t] = s->m->count_draws ? -1 : (float)-loss;
            to[(H + h) * T + t] = s->m->count_draws ? 0 : (float)-wanted;
        }
    }
    return to;
}

/* Returns 1 if the sentence attends to expected values. This is one of the batch's draws: counter
   (index, 0) under the batch's key mixed with the letters "ex". */
static uint8_t expects(const struct side *s)
{
    uint32_t x[4];
    if (!s->drop || s->m->share > 1) return s->m->share > 1;
    uint64_t batch = oracle_mix(s->drop->seed, s->drop->batches);
    oracle_philox(oracle_mix(batch, 'e' << 8 | 'x'), (uint64_t)s->rows->number, 0, x);
    return x[0] / 4294967296.0 < s->m->share;
}

static void attend(struct side *s, const struct heads *h, double *mixed, double *weights)
{
    int starts[2 * (SENTENCES + 1)];
    uint8_t expected[SENTENCES];
    rapt_attention a = problem_of(s, h, starts);
    struct oracle_inputs in = *h->score;
    expected[s->rows->number] = expects(s);
    a.expected = expected;
    in.entropy = s->m->count_draws ? 0 : s->m->entropy;
    if (a.normalizer == RAPT_NORMALIZER_ARGMAX && s->m->anneal > 0) {
        a.normalizer = RAPT_NORMALIZER_GUMBEL_SOFTMAX, a.noiseless = 1, a.dropout = 0;
        a.temperature = (float)(1 / s->m->anneal);
    }
    struct oracle_fixed own = {0}, *fixed = &own;
    float *rewards = rewards_of(s);
    double slopes[64];
    in.slopes = in.table = h->cross ? NULL : distances_of(s, slopes);
    in.q = h->q, in.k = h->k, in.v = h->v, in.log_forget = h->log_forget;
    if (h->vectors) oracle_vectors_use(h->vectors, &s->m->config, &a, &in);
    if (s->m->past) fixed = &s->m->past->fixed[s->rows->number][s->decoder][s->sublayer];
    int first = fixed->chosen == NULL;
    if (first) *fixed = oracle_fixed_make(&a);
    if (rewards) in.reward = rewards, in.baseline = rewards + a.heads * a.queries;
    const struct oracle_results r = {.out = mixed, .weights = weights};
    s->m->terms += oracle_attention(&a, &in, NULL, fixed, first, &r);
    if (fixed == &own) oracle_fixed_free(fixed);
    free(rewards);
}

/* Computes attention to latent rows. v is not read; k has rows of p and c. */
static void attend_latent(struct side *s, const struct oracle_layer *l, const struct heads *h,
                          double *mixed, double *weights)
{
    const rapt_config *c = &s->m->config;
    const double *up[2] = {h->cross ? l->cross_up[0] : l->self_up[0],
                           h->cross ? l->cross_up[1] : l->self_up[1]};
    int T = s->rows->count, P = oracle_latent_rotary(c, h->cross);
    struct oracle_latent own =
        oracle_latent_make(s->m, up, T, h->q, h->q_row, h->S, h->k, h->k_row, P);
    struct heads all = *h;
    all.latent = &own, all.q = own.q, all.k = own.k, all.v = own.v;
    all.q_row = c->heads * own.key_width, all.k_row = own.key_heads * own.key_width;
    all.v_row = own.key_heads * own.value_width;
    attend(s, &all, own.out, weights);
    oracle_latent_finish(s->m, &own, up, T, mixed);
}

/* Computes the outputs of heads and, unless *weights is NULL, writes their weights there and
   advances *weights past them. */
static void attend_heads(struct side *s, const struct oracle_layer *l, const struct heads *h,
                         double *mixed, double **weights)
{
    const rapt_config *c = &s->m->config;
    int K = oracle_head_width(c), Q = c->heads * K, T = s->rows->count, all = c->heads * T * h->S;
    if (c->latent_width) {
        attend_latent(s, l, h, mixed, *weights);
    } else if (!c->differential) {
        attend(s, h, mixed, *weights);
    } else {
        struct heads own = *h;
        double *maps = oracle_zeros(T, 2 * Q), *two = oracle_zeros(2, all),
               *v = oracle_repeat(c, h->v, h->v_row, h->S);
        own.v = v, own.v_row = 2 * (c->key_heads ? c->key_heads : c->heads) * K;
        attend(s, &own, maps, two);
        oracle_subtract(c, h->cross ? l->cross_lambda : l->self_lambda,
                        h->cross ? l->cross_difference : l->self_difference, l->number, T, h->S,
                        maps, mixed, two, *weights);
        free(maps);
        free(two);
        free(v);
    }
    if (*weights) *weights += all;
}

static void self_attention(struct side *s, const struct oracle_layer *l, const double *in,
                           double *y)
{
    const rapt_config *c = &s->m->config;
    int D = c->width, K = oracle_head_width(c), Q = c->heads * K, T = s->rows->count;
    int G = (c->key_heads ? c->key_heads : c->heads) * K, row = Q + 2 * G, q = Q;
    int P = oracle_latent_rotary(c, 0), R = c->latent_width;
    if (R) q = c->latent_query_width ? c->latent_query_width : Q + c->heads * P, row = q + P + R;
    double *qkv = oracle_zeros(T, row), *mixed = oracle_zeros(T, Q);
    oracle_affine(s->m, TWO_TERMS, T, D, row, in, l->self_qkv[0], l->self_qkv[1], qkv);
    int M = c->differential ? K / 2 : K;
    oracle_norm_heads(c, l->self_query, Q / M, M, row, T, qkv);
    oracle_norm_heads(c, l->self_key, G / M, M, row, T, qkv + Q);
    oracle_norm_heads(c, l->self_latent, 1, R, row, T, qkv + q + P);
    double *log_forget = oracle_log_forget(s->m, l->self_forget, Q / M, T, in);
    struct oracle_vectors vectors = oracle_vectors_make(s->m, l, s->decoder);
    double *queries = oracle_latent_queries(s->m, l->self_query_up, 0, T, qkv, row);
    struct heads a = {.q = queries ? queries : qkv,
                      .k = qkv + q,
                      .v = R ? NULL : qkv + Q + G,
                      .q_row = queries ? Q + c->heads * P : row,
                      .k_row = row,
                      .v_row = row,
                      .S = T,
                      .score = &l->self_score,
                      .log_forget = log_forget,
                      .vectors = &vectors};
    attend_heads(s, l, &a, mixed, &s->m->self);
    oracle_gate_heads(s->m, l->self_gate, T, in, mixed);
    oracle_affine(s->m, ONE_TERM, T, Q, D, mixed, l->self_out[0], l->self_out[1], y);
    oracle_vectors_free(&vectors);
    free(log_forget), free(queries), free(qkv), free(mixed);
}

/* Does the same as attend_heads for monotonic cross-attention. */
static void attend_monotonic(struct side *s, const struct oracle_layer *l, const double *q,
                             const double *kv, double *mixed)
{
    uint64_t seed = s->drop ? key_of(s, SITE_ATTENTION) : 0;
    const struct oracle_monotonic all = {q, kv, l->monotonic, s->rows, s->source, seed};
    oracle_monotonic_heads(s->m, &all, mixed, s->cross);
    if (s->cross) s->cross += s->m->config.heads * s->rows->count * s->source->count;
}

static void cross_attention(struct side *s, const struct oracle_layer *l, const double *in,
                            double *y)
{
    const rapt_config *c = &s->m->config;
    int D = c->width, K = oracle_head_width(c), Q = c->heads * K;
    int G = (c->key_heads ? c->key_heads : c->heads) * K, T = s->rows->count, S = s->source->count;
    int R = c->latent_width, soft = c->monotonic > RAPT_CROSS_MONOTONIC_HARD;
    int row = R ? R : soft ? 3 * G : 2 * G, queries_row = soft ? 2 * Q : Q;
    int first = c->latent_query_width ? c->latent_query_width : queries_row;
    double *q = oracle_zeros(T, first), *kv = oracle_zeros(S, row), *mixed = oracle_zeros(T, Q);
    oracle_affine(s->m, TWO_TERMS, T, D, first, in, l->cross_q[0], l->cross_q[1], q);
    oracle_affine(s->m, TWO_TERMS, S, D, row, s->states, l->cross_kv[0], l->cross_kv[1], kv);
    int M = c->differential ? K / 2 : K;
    oracle_norm_heads(c, l->cross_query, Q / M, M, Q, T, q);
    oracle_norm_heads(c, l->cross_key, G / M, M, row, S, kv);
    oracle_norm_heads(c, l->cross_latent, 1, R, row, S, kv);
    double *queries = oracle_latent_queries(s->m, l->cross_query_up, 1, T, q, first);
    struct heads a = {.q = queries ? queries : q,
                      .k = kv,
                      .v = R ? NULL : kv + G,
                      .q_row = Q,
                      .k_row = row,
                      .v_row = row,
                      .S = S,
                      .cross = 1,
                      .score = &l->cross_score};
    if (c->monotonic)
        attend_monotonic(s, l, q, kv, mixed);
    else
        attend_heads(s, l, &a, mixed, &s->cross);
    oracle_gate_heads(s->m, l->cross_gate, T, in, mixed);
    oracle_affine(s->m, TWO_TERMS, T, Q, D, mixed, l->cross_out[0], l->cross_out[1], y);
    free(q), free(queries);
    free(kv);
    free(mixed);
}

static void recurrent(struct side *s, const struct oracle_layer *l, const double *in, double *y)
{
    oracle_recurrent(s->m, l, s->rows->count, in, y);
}

static void feedforward(struct side *s, const struct oracle_layer *l, const double *in, double *y)
{
    const rapt_config *c = &s->m->config;
    int T = s->rows->count, F = c->ffn_width, I = c->ffn_gated ? 2 * F : F;
    double *all = oracle_zeros(T, I), *h = oracle_zeros(T, F);
    oracle_affine(s->m, ONE_TERM, T, c->width, I, in, l->in[0], l->in[1], all);
    for (int r = 0; r < T; r++)
        for (int j = 0; j < F; j++) {
            double keep = 1;
            if (s->drop)
                keep =
                    oracle_dropout(key_of(s, SITE_HIDDEN), s->drop->hidden, s->rows->first + r, j);
            h[r * F + j] = keep * oracle_activation((int)c->activation, all[r * I + j]);
            if (c->ffn_gated) h[r * F + j] *= all[r * I + F + j];
        }
    oracle_affine(s->m, ONE_TERM, T, F, c->width, h, l->out[0], l->out[1], y);
    free(all);
    free(h);
}

typedef void part(struct side *s, const struct oracle_layer *l, const double *in, double *y);

/* Post-norm: x = norm(x + f(x)). Pre-norm: x = x + f(norm(x)). */
static void sublayer(struct side *s, const struct oracle_layer *l, double *const norm[2], part *f)
{
    const rapt_config *c = &s->m->config;
    int T = s->rows->count, D = c->width;
    double *in = oracle_zeros(T, D), *y = oracle_zeros(T, D);
    if (c->norm_order == RAPT_NORM_ORDER_PRE)
        normalize(s, norm, s->x, in);
    else
        memcpy(in, s->x, sizeof *in * (size_t)(T * D));
    f(s, l, in, y);
    for (int r = 0; r < T; r++)
        for (int j = 0; j < D; j++) in[r * D + j] = s->x[r * D + j] + kept(s, r, j) * y[r * D + j];
    if (c->norm_order == RAPT_NORM_ORDER_PRE)
        memcpy(s->x, in, sizeof *in * (size_t)(T * D));
    else
        normalize(s, norm, in, s->x);
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
        if (s->decoder && c->decoder_recurrence)
            sublayer(s, l, l->recurrent_norm, recurrent);
        else
            sublayer(s, l, l->self_norm, self_attention);
        if (s->source) sublayer(s, l, l->cross_norm, cross_attention);
        if (c->ffn_width) sublayer(s, l, l->norm, feedforward);
    }
    if (c->norm_order != RAPT_NORM_ORDER_PRE) return;
    double *last[2], *y = oracle_zeros(s->rows->count, c->width);
    oracle_find_pair(s->m, s->decoder ? "decoder." : "encoder.", "norm", last);
    normalize(s, last, s->x, y);
    memcpy(s->x, y, sizeof *y * (size_t)(s->rows->count * c->width));
    free(y);
}

/* ---- whole models ---- */

void oracle_encode(struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, double *states)
{
    struct side s = {.m = m, .drop = drop, .rows = source, .x = states};
    run_side(&s);
}

static void output(const struct oracle_model *m, int rows, const double *x, double *logits)
{
    const rapt_config *c = &m->config;
    const double *w = oracle_find(m, "embedding.weight"), *b = oracle_find(m, "output.bias");
    if (!w) w = oracle_find(m, "output.weight");
    if (!w) w = oracle_find(m, "decoder.embedding.weight");
    oracle_affine(m, ONE_TERM, rows, c->width, c->target_vocab, x, w, b, logits);
}

void oracle_classify(struct oracle_model *m, const struct oracle_drop *drop,
                     const struct oracle_sentence *source, double *logits)
{
    const rapt_config *c = &m->config;
    int S = source->count, D = c->width;
    double *states = oracle_zeros(S, D), *one = oracle_zeros(1, D);
    oracle_encode(m, drop, source, states);
    for (int r = 0; r < S; r++)
        for (int j = 0; j < D; j++)
            one[j] += c->pooling == RAPT_POOLING_MEAN ? states[r * D + j] / S
                      : r == 0                        ? states[j]
                                                      : 0;
    if (c->pooler) {
        double *hidden = oracle_zeros(1, D);
        oracle_affine(m, ONE_TERM, 1, D, D, one, oracle_find(m, "pooler.weight"),
                      oracle_find(m, "pooler.bias"), hidden);
        for (int j = 0; j < D; j++) one[j] = tanh(hidden[j]);
        free(hidden);
    }
    if (c->pooling)
        output(m, 1, one, logits);
    else
        output(m, S, states, logits);
    free(states);
    free(one);
}

void oracle_decode(struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, const double *states,
                   const struct oracle_sentence *target, double *logits, double *cross)
{
    struct side s = {.m = m,
                     .drop = drop,
                     .decoder = 1,
                     .rows = target,
                     .source = source,
                     .states = states,
                     .x = oracle_zeros(target->count, m->config.width),
                     .cross = cross};
    run_side(&s);
    output(m, target->count, s.x, logits);
    free(s.x);
}
