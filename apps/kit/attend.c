/* attend.c - multi-head attention as a layer: four linear layers around rapt_attention_forward and
   _backward. */
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
    float *all[] = {a->q, a->k, a->v, a->context, a->lse, a->dq, a->dk, a->dv, a->dcontext};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

void attend_free(struct attend *attend)
{
    release(attend);
    free(attend->workspace.data);
    *attend = (struct attend){0};
}

static void reserve(struct attend *a, size_t queries, size_t keys)
{
    if (queries <= a->capacity[0] && keys <= a->capacity[1]) return;
    float **by_query[] = {&a->q, &a->context, &a->dq, &a->dcontext};
    float **by_key[] = {&a->k, &a->v, &a->dk, &a->dv};
    size_t width = (size_t)a->width;
    release(a);
    a->capacity[0] = queries > a->capacity[0] ? queries : a->capacity[0];
    a->capacity[1] = keys > a->capacity[1] ? keys : a->capacity[1];
    for (int i = 0; i < 4; i++) {
        *by_query[i] = xcalloc(a->capacity[0] * width, sizeof(float));
        *by_key[i] = xcalloc(a->capacity[1] * width, sizeof(float));
    }
    a->lse = xcalloc(a->capacity[0] * (size_t)a->heads, sizeof(float));
}

/* Heads interleaved: head h of row r begins at r * width + h * width / heads. */
static void describe(struct attend *a, int batch, int queries, int keys)
{
    const int head_width = a->width / a->heads;
    const rapt_stride of_queries = {(ptrdiff_t)queries * a->width, head_width, a->width};
    const rapt_stride of_keys = {(ptrdiff_t)keys * a->width, head_width, a->width};
    rapt_attention_init(&a->problem, sizeof a->problem, batch, a->heads, queries, keys, head_width);
    a->problem.q = a->problem.out = of_queries;
    a->problem.k = a->problem.v = of_keys;
    a->problem.mask.causal = a->causal;
    a->problem.mask.causal_alignment =
        a->causal ? RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT : RAPT_CAUSAL_ALIGNMENT_NONE;
    a->problem.threads = 1;
}

void attend_forward(struct attend *attend, int batch, int queries, int keys, const float *x,
                    const float *source, float *y)
{
    struct attend *a = attend;
    const int query_rows = batch * queries, key_rows = batch * keys;
    describe(a, batch, queries, keys);
    reserve(a, (size_t)query_rows, (size_t)key_rows);
    memset(a->q, 0, (size_t)(query_rows * a->width) * sizeof(float));
    memset(a->k, 0, (size_t)(key_rows * a->width) * sizeof(float));
    memset(a->v, 0, (size_t)(key_rows * a->width) * sizeof(float));
    linear_forward(&a->query, query_rows, x, a->q);
    linear_forward(&a->key, key_rows, source, a->k);
    linear_forward(&a->value, key_rows, source, a->v);
    void *workspace = workspace_for(&a->workspace, &a->problem);
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = a->lse};
    rapt_attention_forward(&a->problem, a->q, a->k, a->v, a->context, &saved, workspace, NULL);
    linear_forward(&a->out, query_rows, a->context, y);
}

void attend_backward(struct attend *attend, const float *x, const float *source, const float *dy,
                     float *dx, float *dsource)
{
    struct attend *a = attend;
    const int query_rows = a->problem.batch * a->problem.queries;
    const int key_rows = a->problem.batch * a->problem.keys;
    memset(a->dcontext, 0, (size_t)(query_rows * a->width) * sizeof(float));
    memset(a->dq, 0, (size_t)(query_rows * a->width) * sizeof(float));
    memset(a->dk, 0, (size_t)(key_rows * a->width) * sizeof(float));
    memset(a->dv, 0, (size_t)(key_rows * a->width) * sizeof(float));
    linear_backward(&a->out, query_rows, a->context, dy, a->dcontext);
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = a->lse};
    const rapt_gradients d = {.size = sizeof d, .q = a->dq, .k = a->dk, .v = a->dv};
    rapt_attention_backward(&a->problem, a->q, a->k, a->v, a->context, &saved, a->dcontext, NULL,
                            &d, a->workspace.data, NULL);
    linear_backward(&a->query, query_rows, x, a->dq, dx);
    linear_backward(&a->key, key_rows, source, a->dk, dsource);
    linear_backward(&a->value, key_rows, source, a->dv, dsource);
}

void attend_weights(struct attend *attend, int sequence, float *weights)
{
    struct attend *a = attend;
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = a->lse};
    size_t count = (size_t)a->problem.queries * (size_t)a->problem.keys;
    float *head = xcalloc(count, sizeof *head);
    memset(weights, 0, count * sizeof *weights);
    for (int h = 0; h < a->heads; h++) {
        rapt_attention_weights(&a->problem, a->q, a->k, &saved, sequence, h, 0, a->problem.queries,
                               head, a->workspace.data, NULL);
        for (size_t i = 0; i < count; i++) weights[i] += head[i] / (float)a->heads;
    }
    free(head);
}
