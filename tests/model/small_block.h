/* small_block.h - helpers of the tests of blocks: a model whose embeddings and output are the
   identity, and its layers as blocks with the same parameters, forward and backward. */
#ifndef RAPT_TESTS_MODEL_SMALL_BLOCK_H
#define RAPT_TESTS_MODEL_SMALL_BLOCK_H

#include "model/small.h"

enum { BATCH = 3, MAX_ROWS = 16, MAX_WIDTH = 24, CAPACITY = MAX_ROWS * MAX_WIDTH };
static const int source_starts[] = {0, 3, 4, 8}, target_starts[] = {0, 3, 7, 8};
enum { SOURCES = 8, TARGETS = 8, TOKENS = TARGETS + BATCH };

/* Returns the configuration of a model with one layer on each side whose embeddings and output are
   the identity: its inputs and outputs are those of its layers. */
static inline rapt_config around(const rapt_config *given)
{
    rapt_config c = *given;
    bool encoder = c.kind != RAPT_KIND_DECODER_ONLY;
    c.source_vocab = 0, c.source_width = encoder ? c.width : 0;
    c.token_types = c.embedding_norm = 0;
    c.target_vocab = c.width;
    c.encoder_layers = encoder, c.decoder_layers = c.kind != RAPT_KIND_ENCODER_ONLY;
    c.position = RAPT_POSITION_NONE, c.first_position = 0;
    c.tie = RAPT_TIE_NONE, c.output_bias = 0, c.plain_embedding = 1;
    c.decoder_start = RAPT_DECODER_START_BEGIN, c.pooling = RAPT_POOLING_NONE;
    return c;
}

static inline void write_identity(rapt_model *model, const char *name, int width)
{
    float data[MAX_WIDTH * MAX_WIDTH] = {0};
    int index = rapt_model_find(model, name);
    if (index < 0) return;
    for (int i = 0; i < width; i++) data[i * width + i] = 1;
    assert_int_equal(rapt_model_write(model, index, data, NULL), RAPT_OK);
}

/* One side of the model as a block, with a copy of its parameters, and its last norm. */
struct side {
    rapt_block *block;
    float *parameters, *gradients;
    const char *scope; /* "encoder", "decoder" */
    rapt_block_rows rows;
    int count;                                     /* rows */
    float x[CAPACITY], y[CAPACITY], out[CAPACITY]; /* out: after the last norm of pre-norm */
    float dx[CAPACITY], dout[CAPACITY], dsource[CAPACITY];
};

struct trial {
    rapt_config config;
    rapt_model *model;
    rapt_trainer *trainer;
    struct side encoder, decoder; /* block is NULL if the model lacks this side */
    int32_t ids[TOKENS];          /* the decoder's inputs, and after each sequence its last label */
    int starts[BATCH + 1];
};

static inline const char *name_in_model(const struct side *s, const char *name, char text[128])
{
    bool of_stack = strncmp(name, "relative", 8) == 0 || strncmp(name, "slopes", 6) == 0 ||
                    strncmp(name, "distances", 9) == 0;
    snprintf(text, 128, of_stack ? "%s.%s" : "%s.layers.0.%s", s->scope, name);
    return text;
}

static inline int index_in_model(const struct trial *t, const struct side *s, const char *name)
{
    char text[128];
    int index = rapt_model_find(t->model, name_in_model(s, name, text));
    if (index < 0) fail_msg("the model has no %s", text);
    return index;
}

static inline void make_side(struct trial *t, struct side *s, const char *scope,
                             rapt_block_kind kind, int threads)
{
    const rapt_block_limits limits = {.size = sizeof limits,
                                      .batch = BATCH,
                                      .rows = MAX_ROWS,
                                      .source_rows = kind == RAPT_BLOCK_KIND_DECODER ? MAX_ROWS : 0,
                                      .threads = threads};
    rapt_message why = {""};
    *s = (struct side){.scope = scope, .rows.size = sizeof s->rows};
    if (rapt_block_create(&s->block, kind, &t->config, &limits, NULL, &why))
        fail_msg("%s", why.text);
    size_t bytes = (rapt_block_floats(s->block) * sizeof(float) + 63) / 64 * 64;
    s->parameters = aligned_alloc(64, bytes), s->gradients = aligned_alloc(64, bytes);
    memset(s->gradients, 0, bytes);
    assert_int_equal(rapt_block_init(s->block, 1, s->parameters, NULL), RAPT_OK);
    float data[4096];
    for (int i = 0; i < rapt_block_tensors(s->block); i++) {
        int index = index_in_model(t, s, rapt_block_tensor(s->block, i).name);
        assert_true(small_size(t->model, index) <= 4096);
        assert_int_equal(rapt_model_read(t->model, index, data, NULL), RAPT_OK);
        assert_int_equal(rapt_block_write(s->block, s->parameters, i, data, NULL), RAPT_OK);
    }
}

static inline void begin(struct trial *t, const rapt_config *given, int threads)
{
    static const rapt_block_kind kinds[] = {RAPT_BLOCK_KIND_DECODER, RAPT_BLOCK_KIND_ENCODER,
                                            RAPT_BLOCK_KIND_DECODER_ONLY};
    memset(t, 0, sizeof *t);
    t->config = around(given);
    t->model = small_model(&t->config, 3);
    write_identity(t->model, "encoder.source.weight", t->config.width);
    write_identity(t->model, "output.weight", t->config.width);
    float zeros[MAX_WIDTH] = {0};
    int bias = rapt_model_find(t->model, "encoder.source.bias");
    if (bias >= 0) assert_int_equal(rapt_model_write(t->model, bias, zeros, NULL), RAPT_OK);
    if (t->config.encoder_layers)
        make_side(t, &t->encoder, "encoder", RAPT_BLOCK_KIND_ENCODER, threads);
    if (t->config.decoder_layers)
        make_side(t, &t->decoder, "decoder", kinds[t->config.kind], threads);
    for (int b = 0; b <= BATCH; b++) t->starts[b] = target_starts[b] + b;
    for (int i = 0; i < TOKENS; i++)
        t->ids[i] = (int32_t)(small_random(5, (uint64_t)i) % (uint64_t)t->config.width);
    for (int i = 0; i < SOURCES * t->config.width; i++)
        t->encoder.x[i] = small_uniform(6, (uint64_t)i);
}

static inline void end(struct trial *t)
{
    struct side *sides[] = {&t->encoder, &t->decoder};
    for (int i = 0; i < 2; i++) {
        rapt_block_free(sides[i]->block);
        free(sides[i]->parameters);
        free(sides[i]->gradients);
    }
    rapt_trainer_free(t->trainer);
    rapt_model_free(t->model);
}

/* ---- the last norm of pre-norm, in double ---- */

struct norm {
    double gain[MAX_WIDTH], bias[MAX_WIDTH];
    bool centered;
    double epsilon;
};

static inline bool last_norm(const struct trial *t, const struct side *s, struct norm *n)
{
    const char *const names[] = {"weight", "bias"};
    double *to[] = {n->gain, n->bias};
    if (t->config.norm_order == RAPT_NORM_ORDER_POST) return false;
    *n = (struct norm){.centered = t->config.norm_type == RAPT_NORM_TYPE_LAYER};
    n->epsilon = t->config.norm_epsilon > 0 ? (double)t->config.norm_epsilon : (double)1e-5f;
    for (int i = 0; i < 1 + n->centered; i++) {
        char name[64];
        float data[MAX_WIDTH];
        snprintf(name, sizeof name, "%s.norm.%s", s->scope, names[i]);
        assert_int_equal(rapt_model_read(t->model, rapt_model_find(t->model, name), data, NULL),
                         RAPT_OK);
        for (int j = 0; j < t->config.width; j++) to[i][j] = (double)data[j];
    }
    return true;
}

/* Computes mean and inverse deviation of a row. */
static inline void moments(const struct norm *n, int width, const float *x, double *mean,
                           double *inverse)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < width && n->centered; i++) sum += (double)x[i];
    *mean = sum / width;
    for (int i = 0; i < width; i++) squares += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    *inverse = 1 / sqrt(squares / width + n->epsilon);
}

static inline void norm_forward(const struct norm *n, int rows, int width, const float *x, float *y)
{
    for (int r = 0; r < rows; r++, x += width, y += width) {
        double mean, inverse;
        moments(n, width, x, &mean, &inverse);
        for (int i = 0; i < width; i++)
            y[i] = (float)(((double)x[i] - mean) * inverse * n->gain[i] + n->bias[i]);
    }
}

/* Turns dy into dx. */
static inline void norm_backward(const struct norm *n, int rows, int width, const float *x,
                                 float *dy)
{
    for (int r = 0; r < rows; r++, x += width, dy += width) {
        double mean, inverse, sum = 0, along = 0;
        moments(n, width, x, &mean, &inverse);
        for (int i = 0; i < width; i++) {
            double d = (double)dy[i] * n->gain[i];
            sum += n->centered ? d : 0;
            along += d * ((double)x[i] - mean) * inverse;
        }
        for (int i = 0; i < width; i++)
            dy[i] = (float)(inverse * ((double)dy[i] * n->gain[i] - sum / width -
                                       ((double)x[i] - mean) * inverse * along / width));
    }
}

/* ---- values and gradients of a whole model ---- */

static inline void side_forward(const struct trial *t, struct side *s)
{
    struct norm n;
    rapt_message why = {""};
    s->rows.batch = BATCH;
    s->count = s->rows.starts[BATCH];
    if (rapt_block_forward(s->block, s->parameters, &s->rows, s->x, s->y, &why))
        fail_msg("%s", why.text);
    if (last_norm(t, s, &n))
        norm_forward(&n, s->count, t->config.width, s->y, s->out);
    else
        memcpy(s->out, s->y, sizeof s->out);
}

static inline void forward(struct trial *t, int learning)
{
    int width = t->config.width;
    float table[MAX_WIDTH * MAX_WIDTH];
    if (t->encoder.block) {
        t->encoder.rows.starts = source_starts, t->encoder.rows.learning = learning;
        side_forward(t, &t->encoder);
    }
    if (!t->decoder.block) return;
    assert_int_equal(rapt_model_read(t->model,
                                     rapt_model_find(t->model, "decoder.embedding.weight"), table,
                                     NULL),
                     RAPT_OK);
    for (int b = 0, r = 0; b < BATCH; b++)
        for (int i = t->starts[b]; i + 1 < t->starts[b + 1]; i++, r++)
            memcpy(t->decoder.x + r * width, table + t->ids[i] * width,
                   (size_t)width * sizeof(float));
    t->decoder.rows.starts = target_starts, t->decoder.rows.learning = learning;
    if (t->encoder.block)
        t->decoder.rows.source_starts = source_starts, t->decoder.rows.source = t->encoder.out;
    side_forward(t, &t->decoder);
}

static inline void side_backward(const struct trial *t, struct side *s)
{
    struct norm n;
    rapt_message why = {""};
    if (last_norm(t, s, &n)) norm_backward(&n, s->count, t->config.width, s->y, s->dout);
    if (rapt_block_backward(s->block, s->parameters, &s->rows, s->dout, s->dx,
                            s->rows.source ? s->dsource : NULL, s->gradients, &why))
        fail_msg("%s", why.text);
}

/* Computes the gradient of the summed cross-entropy of logits [count][width], softmax - one-hot. */
static inline void cross_entropy(const float *logits, const int32_t *labels, int count, int width,
                                 float *d)
{
    for (int r = 0; r < count; r++) {
        double sum = 0;
        for (int i = 0; i < width; i++) sum += exp((double)logits[r * width + i]);
        for (int i = 0; i < width; i++)
            d[r * width + i] = (float)(exp((double)logits[r * width + i]) / sum - (i == labels[r]));
    }
}

static inline void backward(struct trial *t)
{
    int width = t->config.width;
    int32_t labels[TOKENS];
    if (!t->decoder.block) {
        cross_entropy(t->encoder.out, t->ids, SOURCES, width, t->encoder.dout);
        side_backward(t, &t->encoder);
        return;
    }
    for (int b = 0, r = 0; b < BATCH; b++)
        for (int i = t->starts[b] + 1; i < t->starts[b + 1]; i++) labels[r++] = t->ids[i];
    cross_entropy(t->decoder.out, labels, TARGETS, width, t->decoder.dout);
    side_backward(t, &t->decoder);
    if (!t->encoder.block) return;
    memcpy(t->encoder.dout, t->decoder.dsource, sizeof t->encoder.dout);
    side_backward(t, &t->encoder);
}

static inline void same(const char *what, const float *got, const float *wanted, size_t count,
                        double limit)
{
    double max = 0;
    for (size_t i = 0; i < count; i++) max = fmax(max, fabs((double)wanted[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)wanted[i]) <= limit * (1 + max)))
            fail_msg("%s[%zu]: got %.9g, wanted %.9g", what, i, (double)got[i], (double)wanted[i]);
}

#endif
