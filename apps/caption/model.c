/* model.c - a Transformer in miniature, by hand: every sublayer is x += f(norm x). */
#include "caption.h"
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, HIDDEN = 64, HEADS = 2 };

struct mlp { /* f(x) = relu(x A + a) B + b */
    struct linear up, down;
};
/* The places where a stream is read: a norm, what went in, what came out. */
struct reading {
    struct norm norm;
    float *in, *out, *dout;
};
struct model {
    int batch;
    struct params params;
    struct linear patch, score;
    struct embed place, word, turn; /* of a patch; a word; and its place in the caption */
    struct reading see[3], say[3], memory, last;
    struct mlp see_first, see_second, say_mlp;
    struct attend look, listen, cross; /* patches at patches, words at words, words at patches */
    float *h, *dh;                     /* [batch][PATCHES][WIDTH] */
    float *y, *dy;                     /* [batch][MAX_WORDS][WIDTH] */
    float *up[3], *dup;                /* [rows][HIDDEN] */
    float *scores, *dscores;           /* [batch][MAX_WORDS][WORDS] */
    int *positions, *turns, *fed, *labels;
    void *owned[40];
    int owned_count;
};

static void *own(struct model *m, size_t count, size_t size)
{
    return m->owned[m->owned_count++] = xcalloc(count, size);
}

static void reading_create(struct model *m, struct reading *reading, int rows)
{
    const size_t count = (size_t)rows * WIDTH;
    norm_create(&reading->norm, &m->params, WIDTH);
    reading->in = own(m, count, sizeof(float));
    reading->out = own(m, count, sizeof(float));
    reading->dout = own(m, count, sizeof(float));
}

static void mlp_create(struct mlp *mlp, struct params *params, struct random *random)
{
    linear_create(&mlp->up, params, random, WIDTH, HIDDEN, 1);
    linear_create(&mlp->down, params, random, HIDDEN, WIDTH, 1);
}

static void make_memory(struct model *m)
{
    const int seen = m->batch * PATCHES, said = m->batch * MAX_WORDS;
    for (int i = 0; i < 3; i++) {
        reading_create(m, &m->see[i], seen);
        reading_create(m, &m->say[i], said);
        m->up[i] = own(m, (size_t)seen * HIDDEN, sizeof(float));
    }
    reading_create(m, &m->memory, seen);
    reading_create(m, &m->last, said);
    m->dup = own(m, (size_t)seen * HIDDEN, sizeof(float));
    m->h = own(m, (size_t)seen * WIDTH, sizeof(float));
    m->dh = own(m, (size_t)seen * WIDTH, sizeof(float));
    m->y = own(m, (size_t)said * WIDTH, sizeof(float));
    m->dy = own(m, (size_t)said * WIDTH, sizeof(float));
    m->scores = own(m, (size_t)said * WORDS, sizeof(float));
    m->dscores = own(m, (size_t)said * WORDS, sizeof(float));
    m->positions = own(m, (size_t)seen, sizeof(int));
    m->turns = own(m, (size_t)said, sizeof(int));
    m->fed = own(m, (size_t)said, sizeof(int));
    m->labels = own(m, (size_t)said, sizeof(int));
    for (int i = 0; i < seen; i++) m->positions[i] = i % PATCHES;
    for (int i = 0; i < said; i++) m->turns[i] = i % MAX_WORDS;
}

struct model *model_create(int batch, uint64_t seed)
{
    struct model *m = xcalloc(1, sizeof *m);
    struct random random = random_from(seed, UINT64_MAX);
    struct params *p = &m->params;
    m->batch = batch;
    params_create(p, 40000);
    linear_create(&m->patch, p, &random, PATCH, WIDTH, 1);
    embed_create(&m->place, p, &random, PATCHES, WIDTH);
    embed_create(&m->word, p, &random, WORDS, WIDTH);
    embed_create(&m->turn, p, &random, MAX_WORDS, WIDTH);
    mlp_create(&m->see_first, p, &random);
    attend_create(&m->look, p, &random, WIDTH, HEADS, 0);
    mlp_create(&m->see_second, p, &random);
    attend_create(&m->listen, p, &random, WIDTH, HEADS, 1);
    attend_create(&m->cross, p, &random, WIDTH, HEADS, 0);
    mlp_create(&m->say_mlp, p, &random);
    linear_create(&m->score, p, &random, WIDTH, WORDS, 1);
    make_memory(m);
    return m;
}

void model_free(struct model *m)
{
    if (m == NULL) return;
    for (int i = 0; i < m->owned_count; i++) free(m->owned[i]);
    attend_free(&m->look);
    attend_free(&m->listen);
    attend_free(&m->cross);
    params_free(&m->params);
    free(m);
}

size_t model_parameters(const struct model *m)
{
    return m->params.count;
}

/* Keeps what a sublayer reads, and norms it. */
static const float *read_in(struct reading *reading, int rows, const float *stream)
{
    memcpy(reading->in, stream, (size_t)(rows * WIDTH) * sizeof(float));
    norm_forward(&reading->norm, rows, stream, reading->out);
    return reading->out;
}

/* The gradient of what was read, to be added to; then back through the norm. */
static float *begin_back(struct reading *reading, int rows)
{
    return memset(reading->dout, 0, (size_t)(rows * WIDTH) * sizeof(float));
}

static void read_back(struct reading *reading, int rows, float *dstream)
{
    norm_backward(&reading->norm, rows, reading->in, reading->dout, dstream);
}

static void mlp_forward(const struct mlp *mlp, int rows, const float *x, float *up, float *y)
{
    memset(up, 0, (size_t)(rows * HIDDEN) * sizeof(float));
    linear_forward(&mlp->up, rows, x, up);
    relu_forward((size_t)(rows * HIDDEN), up, up);
    linear_forward(&mlp->down, rows, up, y);
}

static void mlp_backward(struct model *m, const struct mlp *mlp, struct reading *reading, int rows,
                         const float *up, float *dstream)
{
    float *dx = begin_back(reading, rows);
    memset(m->dup, 0, (size_t)(rows * HIDDEN) * sizeof(float));
    linear_backward(&mlp->down, rows, up, dstream, m->dup);
    for (int i = 0; i < rows * HIDDEN; i++) m->dup[i] = up[i] > 0 ? m->dup[i] : 0;
    linear_backward(&mlp->up, rows, reading->out, m->dup, dx);
    read_back(reading, rows, dstream);
}

static void see(struct model *m, const float *patches, int count)
{
    const int rows = count * PATCHES;
    memset(m->h, 0, (size_t)(rows * WIDTH) * sizeof(float));
    linear_forward(&m->patch, rows, patches, m->h);
    embed_forward(&m->place, rows, m->positions, m->h);
    mlp_forward(&m->see_first, rows, read_in(&m->see[0], rows, m->h), m->up[0], m->h);
    const float *x = read_in(&m->see[1], rows, m->h);
    attend_forward(&m->look, count, PATCHES, PATCHES, x, x, m->h);
    mlp_forward(&m->see_second, rows, read_in(&m->see[2], rows, m->h), m->up[1], m->h);
    read_in(&m->memory, rows, m->h);
}

static void say_words(struct model *m, int count)
{
    const int rows = count * MAX_WORDS;
    memset(m->y, 0, (size_t)(rows * WIDTH) * sizeof(float));
    memset(m->scores, 0, (size_t)(rows * WORDS) * sizeof(float));
    embed_forward(&m->word, rows, m->fed, m->y);
    embed_forward(&m->turn, rows, m->turns, m->y);
    const float *x = read_in(&m->say[0], rows, m->y);
    attend_forward(&m->listen, count, MAX_WORDS, MAX_WORDS, x, x, m->y);
    attend_forward(&m->cross, count, MAX_WORDS, PATCHES, read_in(&m->say[1], rows, m->y),
                   m->memory.out, m->y);
    mlp_forward(&m->say_mlp, rows, read_in(&m->say[2], rows, m->y), m->up[2], m->y);
    linear_forward(&m->score, rows, read_in(&m->last, rows, m->y), m->scores);
}

/* Everything said, backwards: from dscores to dh. */
static void unsay(struct model *m, int count)
{
    const int rows = count * MAX_WORDS, seen = count * PATCHES;
    memset(m->dy, 0, (size_t)(rows * WIDTH) * sizeof(float));
    memset(m->dh, 0, (size_t)(seen * WIDTH) * sizeof(float));
    linear_backward(&m->score, rows, m->last.out, m->dscores, begin_back(&m->last, rows));
    read_back(&m->last, rows, m->dy);
    mlp_backward(m, &m->say_mlp, &m->say[2], rows, m->up[2], m->dy);
    float *dx = begin_back(&m->say[1], rows), *dmemory = begin_back(&m->memory, seen);
    attend_backward(&m->cross, m->say[1].out, m->memory.out, m->dy, dx, dmemory);
    read_back(&m->say[1], rows, m->dy);
    read_back(&m->memory, seen, m->dh);
    dx = begin_back(&m->say[0], rows);
    attend_backward(&m->listen, m->say[0].out, m->say[0].out, m->dy, dx, dx);
    read_back(&m->say[0], rows, m->dy);
    embed_backward(&m->word, rows, m->fed, m->dy);
    embed_backward(&m->turn, rows, m->turns, m->dy);
}

static void unsee(struct model *m, const float *patches, int count)
{
    const int rows = count * PATCHES;
    mlp_backward(m, &m->see_second, &m->see[2], rows, m->up[1], m->dh);
    float *dx = begin_back(&m->see[1], rows);
    attend_backward(&m->look, m->see[1].out, m->see[1].out, m->dh, dx, dx);
    read_back(&m->see[1], rows, m->dh);
    mlp_backward(m, &m->see_first, &m->see[0], rows, m->up[0], m->dh);
    embed_backward(&m->place, rows, m->positions, m->dh);
    linear_backward(&m->patch, rows, patches, m->dh, NULL);
}

double model_learn(struct model *m, const struct scene *scenes, const float *patches, int count,
                   float rate)
{
    int predicted = 0;
    for (int b = 0; b < count; b++)
        for (int t = 0; t < MAX_WORDS; t++) {
            int i = b * MAX_WORDS + t;
            m->fed[i] = t > 0 ? scenes[b].words[t - 1] : BEGIN;
            m->labels[i] = t <= scenes[b].count ? scenes[b].words[t] : -1;
            predicted += t <= scenes[b].count;
        }
    see(m, patches, count);
    say_words(m, count);
    double loss = cross_entropy(count * MAX_WORDS, WORDS, m->scores, m->labels, m->dscores, NULL);
    unsay(m, count);
    unsee(m, patches, count);
    params_step(&m->params, rate, 1 / (float)predicted, 1);
    return loss / predicted;
}

void model_describe(struct model *m, const float *patches, int count, int *out, float *weights)
{
    for (int i = 0; i < count * MAX_WORDS; i++) m->fed[i] = BEGIN, out[i] = END;
    see(m, patches, count);
    for (int t = 0; t < MAX_WORDS; t++) {
        say_words(m, count);
        for (int b = 0; b < count; b++) {
            int i = b * MAX_WORDS + t;
            bool ended = t > 0 && out[i - 1] == END;
            out[i] = ended ? END : argmax(WORDS, m->scores + i * WORDS);
            if (t + 1 < MAX_WORDS) m->fed[i + 1] = out[i];
        }
    }
    for (int b = 0; weights != NULL && b < count; b++)
        attend_weights(&m->cross, b, weights + b * MAX_WORDS * PATCHES);
}
