/* attend.c - multi-head attention as a layer. */
#include "kit/attend.h"
#include "kit/program.h"
#include <stdlib.h>
#include <string.h>

void attend_create(struct attend *attend, struct params *params, struct random *random, int width,
                   int heads, int causal)
{
    *attend = (struct attend){.width = width, .heads = heads, .causal = causal};
    linear_create(&attend->query, params, random, width, width, 1);
    linear_create(&attend->key, params, random, width, width, 0);
    linear_create(&attend->value, params, random, width, width, 1);
    linear_create(&attend->out, params, random, width, width, 1);
}

static void release(struct attend *a)
{
    float *all[] = {a->q, a->k, a->v, a->mixed, a->lse, a->dq, a->dk, a->dv, a->dmixed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

void attend_free(struct attend *attend)
{
    release(attend);
    free(attend->workspace);
    *attend = (struct attend){0};
}

static void reserve(struct attend *a, size_t queries, size_t keys)
{
    if (queries > a->capacity[0] || keys > a->capacity[1]) {
        size_t width = (size_t)a->width;
        release(a);
        a->capacity[0] = queries > a->capacity[0] ? queries : a->capacity[0];
        a->capacity[1] = keys > a->capacity[1] ? keys : a->capacity[1];
        float **wide[] = {&a->q, &a->mixed, &a->dq, &a->dmixed};
        float **long_[] = {&a->k, &a->v, &a->dk, &a->dv};
        for (int i = 0; i < 4; i++) {
            *wide[i] = xcalloc(a->capacity[0] * width, sizeof(float));
            *long_[i] = xcalloc(a->capacity[1] * width, sizeof(float));
        }
        a->lse = xcalloc(a->capacity[0] * (size_t)a->heads, sizeof(float));
    }
    size_t bytes = (rapt_attention_workspace(&a->problem) + 63) & ~(size_t)63;
    if (bytes <= a->workspace_bytes) return;
    free(a->workspace);
    a->workspace = aligned_alloc(64, bytes);
    a->workspace_bytes = bytes;
    if (a->workspace == NULL) exit(failed("out of memory"));
}

/* A head is a part of a row: head h of row r begins at r * width + h * width / heads. */
static void describe(struct attend *a, int batch, int queries, int keys)
{
    const int part = a->width / a->heads;
    const rapt_stride of_queries = {(ptrdiff_t)queries * a->width, part, a->width};
    const rapt_stride of_keys = {(ptrdiff_t)keys * a->width, part, a->width};
    a->problem = rapt_attention_make(batch, a->heads, queries, keys, part);
    a->problem.q = a->problem.out = of_queries;
    a->problem.k = a->problem.v = of_keys;
    a->problem.mask.causal = a->causal;
    a->problem.mask.causal_alignment =
        a->causal ? RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT : RAPT_CAUSAL_ALIGNMENT_NONE;
    a->problem.threads = 1;
}

void attend_forward(struct attend *attend, int batch, int queries, int keys, const float *x,
                    const float *memory, float *y)
{
    struct attend *a = attend;
    const int asking = batch * queries, told = batch * keys;
    describe(a, batch, queries, keys);
    reserve(a, (size_t)asking, (size_t)told);
    memset(a->q, 0, (size_t)(asking * a->width) * sizeof(float));
    memset(a->k, 0, (size_t)(told * a->width) * sizeof(float));
    memset(a->v, 0, (size_t)(told * a->width) * sizeof(float));
    linear_forward(&a->query, asking, x, a->q);
    linear_forward(&a->key, told, memory, a->k);
    linear_forward(&a->value, told, memory, a->v);
    rapt_message why = {""};
    if (rapt_attention_check(&a->problem, &why) != RAPT_OK) exit(failed("%s", why.text));
    rapt_attention_forward(&a->problem, a->q, a->k, a->v, a->mixed, a->lse, a->workspace);
    linear_forward(&a->out, asking, a->mixed, y);
}

void attend_backward(struct attend *attend, const float *x, const float *memory, const float *dy,
                     float *dx, float *dmemory)
{
    struct attend *a = attend;
    const int asking = a->problem.batch * a->problem.queries;
    const int told = a->problem.batch * a->problem.keys;
    memset(a->dmixed, 0, (size_t)(asking * a->width) * sizeof(float));
    memset(a->dq, 0, (size_t)(asking * a->width) * sizeof(float));
    memset(a->dk, 0, (size_t)(told * a->width) * sizeof(float));
    memset(a->dv, 0, (size_t)(told * a->width) * sizeof(float));
    linear_backward(&a->out, asking, a->mixed, dy, a->dmixed);
    const rapt_gradients d = {.q = a->dq, .k = a->dk, .v = a->dv};
    rapt_attention_backward(&a->problem, a->q, a->k, a->v, a->mixed, a->lse, a->dmixed, &d,
                            a->workspace);
    linear_backward(&a->query, asking, x, a->dq, dx);
    linear_backward(&a->key, told, memory, a->dk, dmemory);
    linear_backward(&a->value, told, memory, a->dv, dmemory);
}

void attend_weights(struct attend *attend, int sequence, float *weights)
{
    struct attend *a = attend;
    size_t count = (size_t)a->problem.queries * (size_t)a->problem.keys;
    float *one = xcalloc(count, sizeof *one);
    memset(weights, 0, count * sizeof *weights);
    for (int h = 0; h < a->heads; h++) {
        rapt_attention_weights(&a->problem, a->q, a->k, a->lse, sequence, h, 0, a->problem.queries,
                               one, a->workspace);
        for (size_t i = 0; i < count; i++) weights[i] += one[i] / (float)a->heads;
    }
    free(one);
}
