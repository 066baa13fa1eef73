/* model.c - a small pre-norm Transformer out of the toolkit's layers: an encoder over patches, a
   decoder over words, forward and backward. Every sublayer is x += f(norm x). */
#include "caption.h"
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, FFN = 64, HEADS = 2 };

struct ffn { /* f(x) = relu(x A + a) B + b */
    struct linear up, down;
};
/* The layer norm of a sublayer, with its input, output and gradient of the output. */
struct prenorm {
    struct norm norm;
    float *in, *out, *dout;
};
struct model {
    int batch;
    struct params params;
    struct linear patch, output;
    struct embed patch_embed, word_embed, position_embed; /* positions of patches; words; theirs */
    struct prenorm enc[3], dec[3], enc_out, dec_out;
    struct ffn enc_ffn1, enc_ffn2, dec_ffn;
    struct attend enc_self, dec_self, cross; /* query-key: patch-patch, word-word, word-patch */
    float *h, *dh;                           /* [batch][PATCHES][WIDTH] */
    float *y, *dy;                           /* [batch][MAX_WORDS][WIDTH] */
    float *hidden[3], *dhidden;              /* [rows][FFN] */
    float *logits, *dlogits;                 /* [batch][MAX_WORDS][WORDS] */
    int *patch_positions, *word_positions, *inputs, *labels;
    void *owned[40];
    int owned_count;
};

static void *own(struct model *m, size_t count, size_t size)
{
    return m->owned[m->owned_count++] = xcalloc(count, size);
}

static void prenorm_create(struct model *m, struct prenorm *sublayer, int rows)
{
    const size_t count = (size_t)rows * WIDTH;
    norm_create(&sublayer->norm, &m->params, WIDTH);
    sublayer->in = own(m, count, sizeof(float));
    sublayer->out = own(m, count, sizeof(float));
    sublayer->dout = own(m, count, sizeof(float));
}

static void ffn_create(struct ffn *ffn, struct params *params, struct random *random)
{
    linear_create(&ffn->up, params, random, WIDTH, FFN, 1);
    linear_create(&ffn->down, params, random, FFN, WIDTH, 1);
}

static void make_arrays(struct model *m)
{
    const int patch_rows = m->batch * PATCHES, word_rows = m->batch * MAX_WORDS;
    for (int i = 0; i < 3; i++) {
        prenorm_create(m, &m->enc[i], patch_rows);
        prenorm_create(m, &m->dec[i], word_rows);
        m->hidden[i] = own(m, (size_t)patch_rows * FFN, sizeof(float));
    }
    prenorm_create(m, &m->enc_out, patch_rows);
    prenorm_create(m, &m->dec_out, word_rows);
    m->dhidden = own(m, (size_t)patch_rows * FFN, sizeof(float));
    m->h = own(m, (size_t)patch_rows * WIDTH, sizeof(float));
    m->dh = own(m, (size_t)patch_rows * WIDTH, sizeof(float));
    m->y = own(m, (size_t)word_rows * WIDTH, sizeof(float));
    m->dy = own(m, (size_t)word_rows * WIDTH, sizeof(float));
    m->logits = own(m, (size_t)word_rows * WORDS, sizeof(float));
    m->dlogits = own(m, (size_t)word_rows * WORDS, sizeof(float));
    m->patch_positions = own(m, (size_t)patch_rows, sizeof(int));
    m->word_positions = own(m, (size_t)word_rows, sizeof(int));
    m->inputs = own(m, (size_t)word_rows, sizeof(int));
    m->labels = own(m, (size_t)word_rows, sizeof(int));
    for (int i = 0; i < patch_rows; i++) m->patch_positions[i] = i % PATCHES;
    for (int i = 0; i < word_rows; i++) m->word_positions[i] = i % MAX_WORDS;
}

struct model *model_create(int batch, uint64_t seed)
{
    struct model *m = xcalloc(1, sizeof *m);
    struct random random = random_from(seed, UINT64_MAX);
    struct params *p = &m->params;
    m->batch = batch;
    params_create(p, 40000);
    linear_create(&m->patch, p, &random, PATCH, WIDTH, 1);
    embed_create(&m->patch_embed, p, &random, PATCHES, WIDTH);
    embed_create(&m->word_embed, p, &random, WORDS, WIDTH);
    embed_create(&m->position_embed, p, &random, MAX_WORDS, WIDTH);
    ffn_create(&m->enc_ffn1, p, &random);
    attend_create(&m->enc_self, p, &random, WIDTH, HEADS, 0);
    ffn_create(&m->enc_ffn2, p, &random);
    attend_create(&m->dec_self, p, &random, WIDTH, HEADS, 1);
    attend_create(&m->cross, p, &random, WIDTH, HEADS, 0);
    ffn_create(&m->dec_ffn, p, &random);
    linear_create(&m->output, p, &random, WIDTH, WORDS, 1);
    make_arrays(m);
    return m;
}

void model_free(struct model *m)
{
    if (m == NULL) return;
    for (int i = 0; i < m->owned_count; i++) free(m->owned[i]);
    attend_free(&m->enc_self);
    attend_free(&m->dec_self);
    attend_free(&m->cross);
    params_free(&m->params);
    free(m);
}

size_t model_parameters(const struct model *m)
{
    return m->params.count;
}

/* Keeps the input of a sublayer and normalizes it. */
static const float *prenorm_forward(struct prenorm *sublayer, int rows, const float *residual)
{
    memcpy(sublayer->in, residual, (size_t)(rows * WIDTH) * sizeof(float));
    norm_forward(&sublayer->norm, rows, residual, sublayer->out);
    return sublayer->out;
}

/* Clears the gradient of the normalized input; then the backward pass of the norm. */
static float *prenorm_clear(struct prenorm *sublayer, int rows)
{
    return memset(sublayer->dout, 0, (size_t)(rows * WIDTH) * sizeof(float));
}

static void prenorm_backward(struct prenorm *sublayer, int rows, float *dresidual)
{
    norm_backward(&sublayer->norm, rows, sublayer->in, sublayer->dout, dresidual);
}

static void ffn_forward(const struct ffn *ffn, int rows, const float *x, float *hidden, float *y)
{
    memset(hidden, 0, (size_t)(rows * FFN) * sizeof(float));
    linear_forward(&ffn->up, rows, x, hidden);
    relu_forward((size_t)(rows * FFN), hidden, hidden);
    linear_forward(&ffn->down, rows, hidden, y);
}

static void ffn_backward(struct model *m, const struct ffn *ffn, struct prenorm *sublayer, int rows,
                         const float *hidden, float *dresidual)
{
    float *dx = prenorm_clear(sublayer, rows);
    memset(m->dhidden, 0, (size_t)(rows * FFN) * sizeof(float));
    linear_backward(&ffn->down, rows, hidden, dresidual, m->dhidden);
    for (int i = 0; i < rows * FFN; i++) m->dhidden[i] = hidden[i] > 0 ? m->dhidden[i] : 0;
    linear_backward(&ffn->up, rows, sublayer->out, m->dhidden, dx);
    prenorm_backward(sublayer, rows, dresidual);
}

static void encode(struct model *m, const float *patches, int count)
{
    const int rows = count * PATCHES;
    memset(m->h, 0, (size_t)(rows * WIDTH) * sizeof(float));
    linear_forward(&m->patch, rows, patches, m->h);
    embed_forward(&m->patch_embed, rows, m->patch_positions, m->h);
    ffn_forward(&m->enc_ffn1, rows, prenorm_forward(&m->enc[0], rows, m->h), m->hidden[0], m->h);
    const float *x = prenorm_forward(&m->enc[1], rows, m->h);
    attend_forward(&m->enc_self, count, PATCHES, PATCHES, x, x, m->h);
    ffn_forward(&m->enc_ffn2, rows, prenorm_forward(&m->enc[2], rows, m->h), m->hidden[1], m->h);
    prenorm_forward(&m->enc_out, rows, m->h);
}

static void decode(struct model *m, int count)
{
    const int rows = count * MAX_WORDS;
    memset(m->y, 0, (size_t)(rows * WIDTH) * sizeof(float));
    memset(m->logits, 0, (size_t)(rows * WORDS) * sizeof(float));
    embed_forward(&m->word_embed, rows, m->inputs, m->y);
    embed_forward(&m->position_embed, rows, m->word_positions, m->y);
    const float *x = prenorm_forward(&m->dec[0], rows, m->y);
    attend_forward(&m->dec_self, count, MAX_WORDS, MAX_WORDS, x, x, m->y);
    attend_forward(&m->cross, count, MAX_WORDS, PATCHES, prenorm_forward(&m->dec[1], rows, m->y),
                   m->enc_out.out, m->y);
    ffn_forward(&m->dec_ffn, rows, prenorm_forward(&m->dec[2], rows, m->y), m->hidden[2], m->y);
    linear_forward(&m->output, rows, prenorm_forward(&m->dec_out, rows, m->y), m->logits);
}

/* From dlogits to dh. */
static void decode_backward(struct model *m, int count)
{
    const int rows = count * MAX_WORDS, patch_rows = count * PATCHES;
    memset(m->dy, 0, (size_t)(rows * WIDTH) * sizeof(float));
    memset(m->dh, 0, (size_t)(patch_rows * WIDTH) * sizeof(float));
    linear_backward(&m->output, rows, m->dec_out.out, m->dlogits, prenorm_clear(&m->dec_out, rows));
    prenorm_backward(&m->dec_out, rows, m->dy);
    ffn_backward(m, &m->dec_ffn, &m->dec[2], rows, m->hidden[2], m->dy);
    float *dx = prenorm_clear(&m->dec[1], rows), *denc_out = prenorm_clear(&m->enc_out, patch_rows);
    attend_backward(&m->cross, m->dec[1].out, m->enc_out.out, m->dy, dx, denc_out);
    prenorm_backward(&m->dec[1], rows, m->dy);
    prenorm_backward(&m->enc_out, patch_rows, m->dh);
    dx = prenorm_clear(&m->dec[0], rows);
    attend_backward(&m->dec_self, m->dec[0].out, m->dec[0].out, m->dy, dx, dx);
    prenorm_backward(&m->dec[0], rows, m->dy);
    embed_backward(&m->word_embed, rows, m->inputs, m->dy);
    embed_backward(&m->position_embed, rows, m->word_positions, m->dy);
}

static void encode_backward(struct model *m, const float *patches, int count)
{
    const int rows = count * PATCHES;
    ffn_backward(m, &m->enc_ffn2, &m->enc[2], rows, m->hidden[1], m->dh);
    float *dx = prenorm_clear(&m->enc[1], rows);
    attend_backward(&m->enc_self, m->enc[1].out, m->enc[1].out, m->dh, dx, dx);
    prenorm_backward(&m->enc[1], rows, m->dh);
    ffn_backward(m, &m->enc_ffn1, &m->enc[0], rows, m->hidden[0], m->dh);
    embed_backward(&m->patch_embed, rows, m->patch_positions, m->dh);
    linear_backward(&m->patch, rows, patches, m->dh, NULL);
}

double model_learn(struct model *m, const struct scene *scenes, const float *patches, int count,
                   float rate)
{
    int predicted = 0;
    for (int b = 0; b < count; b++)
        for (int t = 0; t < MAX_WORDS; t++) {
            int i = b * MAX_WORDS + t;
            m->inputs[i] = t > 0 ? scenes[b].words[t - 1] : BEGIN;
            m->labels[i] = t <= scenes[b].count ? scenes[b].words[t] : -1;
            predicted += t <= scenes[b].count;
        }
    encode(m, patches, count);
    decode(m, count);
    double loss = cross_entropy(count * MAX_WORDS, WORDS, m->logits, m->labels, m->dlogits, NULL);
    decode_backward(m, count);
    encode_backward(m, patches, count);
    params_step(&m->params, rate, 1 / (float)predicted, 1);
    return loss / predicted;
}

void model_describe(struct model *m, const float *patches, int count, int *out, float *weights)
{
    for (int i = 0; i < count * MAX_WORDS; i++) m->inputs[i] = BEGIN, out[i] = END;
    encode(m, patches, count);
    for (int t = 0; t < MAX_WORDS; t++) {
        decode(m, count);
        for (int b = 0; b < count; b++) {
            int i = b * MAX_WORDS + t;
            bool ended = t > 0 && out[i - 1] == END;
            out[i] = ended ? END : argmax(WORDS, m->logits + i * WORDS);
            if (t + 1 < MAX_WORDS) m->inputs[i + 1] = out[i];
        }
    }
    for (int b = 0; weights != NULL && b < count; b++)
        attend_weights(&m->cross, b, weights + b * MAX_WORDS * PATCHES);
}
