/* attention.c - the public calls: arguments are checked, then a team is sent down. */
#include "attention/score/score.h"

size_t rapt_attention_workspace(const rapt_attention *a)
{
    if (rapt_attention_check(a, NULL) != RAPT_OK) return 0;
    return rapt__attention_workspace(a, rapt__team_size(a->threads));
}

struct call {
    const rapt_attention *a;
    const float *q, *k, *v, *out, *lse, *dout;
    float *to, *lse_to;
    const rapt_gradients *d;
    void *workspace;
};

static void forward(struct team *team, void *argument)
{
    const struct call *c = argument;
    rapt__attention_forward(team, c->a, c->q, c->k, c->v, c->to, c->lse_to, c->workspace);
}

static void backward(struct team *team, void *argument)
{
    const struct call *c = argument;
    rapt__attention_backward(team, c->a, c->q, c->k, c->v, c->out, c->lse, c->dout, c->d,
                             c->workspace);
}

/* Whether all arrays of queries, or of keys, are there that will be read. */
static bool has_keys(const rapt_attention *a, const float *k, const float *v)
{
    return rapt__key_rows(a) == 0 || ((k || rapt__score(a->score)->keyless) && v);
}

rapt_status rapt_attention_forward(const rapt_attention *a, const float *q, const float *k,
                                   const float *v, float *out, float *lse, void *workspace)
{
    rapt_status status = rapt_attention_check(a, NULL);
    if (status != RAPT_OK) return status;
    if (!workspace || (rapt__query_rows(a) > 0 && (!q || !out)) || !has_keys(a, k, v))
        return RAPT_BAD_ARGUMENT;
    struct call c = {
        .a = a, .q = q, .k = k, .v = v, .to = out, .lse_to = lse, .workspace = workspace};
    rapt__team_run(a->threads, forward, &c);
    return RAPT_OK;
}

/* Rows that repeat cannot receive a gradient each. */
static bool repeats(const rapt_stride *s, int batch, int heads, int rows)
{
    bool one =
        (batch <= 1 || s->batch != 0) && (heads <= 1 || s->head != 0) && (rows <= 1 || s->row != 0);
    return rows > 0 && !one;
}

/* Whether a gradient is wanted of something that is not there. What is there and not read by the
   score gets a gradient of 0. */
static bool wants_more(const rapt_attention *a, const rapt_gradients *d)
{
    for (int i = 0; i < RAPT_LEARNED_COUNT; i++)
        if (d->learned[i] && !a->learned.array[i]) return true;
    return (d->bias && !a->mask.bias) || (d->slopes && !a->relative.slopes) ||
           (d->table && !a->relative.table);
}

rapt_status rapt_attention_backward(const rapt_attention *a, const float *q, const float *k,
                                    const float *v, const float *out, const float *lse,
                                    const float *dout, const rapt_gradients *d, void *workspace)
{
    rapt_status status = rapt_attention_check(a, NULL);
    if (status != RAPT_OK) return status;
    bool queries = rapt__query_rows(a) > 0;
    int key_heads = rapt__key_heads_of(a), batch_q = a->query_starts ? 1 : a->batch;
    int batch_k = a->key_starts ? 1 : a->batch;
    if (!workspace || !d || (queries && (!q || !out || !lse || !dout)) || !has_keys(a, k, v) ||
        wants_more(a, d) || (queries && a->normalizer == RAPT_NORMALIZER_SAMPLE && !a->reward) ||
        (d->q && repeats(&a->q, batch_q, a->heads, a->queries)) ||
        (d->k && repeats(&a->k, batch_k, key_heads, a->keys)) ||
        (d->v && repeats(&a->v, batch_k, key_heads, a->keys)))
        return RAPT_BAD_ARGUMENT;
    struct call c = {.a = a,
                     .q = q,
                     .k = k,
                     .v = v,
                     .out = out,
                     .lse = lse,
                     .dout = dout,
                     .d = d,
                     .workspace = workspace};
    rapt__team_run(a->threads, backward, &c);
    return RAPT_OK;
}

struct weights_call {
    const rapt_attention *a;
    const float *q, *k, *lse;
    int sequence, head, first, rows;
    float *weights;
    void *workspace;
};

static void weights_of(struct team *team, void *argument)
{
    const struct weights_call *c = argument;
    rapt__attention_weights(team, c->a, c->q, c->k, c->lse, c->sequence, c->head, c->first, c->rows,
                            c->weights, c->workspace);
}

rapt_status rapt_attention_weights(const rapt_attention *a, const float *q, const float *k,
                                   const float *lse, int sequence, int head, int first, int rows,
                                   float *weights, void *workspace)
{
    rapt_status status = rapt_attention_check(a, NULL);
    if (status != RAPT_OK) return status;
    if (sequence < 0 || sequence >= a->batch || head < 0 || head >= a->heads || first < 0 ||
        rows < 0)
        return RAPT_BAD_ARGUMENT;
    struct sequence b = rapt__sequence(a, sequence);
    if (first > b.queries || rows > b.queries - first) return RAPT_BAD_ARGUMENT;
    if (rows == 0 || b.keys == 0) return RAPT_OK;
    if (!q || (!k && !rapt__score(a->score)->keyless) || !lse || !weights || !workspace)
        return RAPT_BAD_ARGUMENT;
    struct weights_call call = {a, q, k, lse, sequence, head, first, rows, weights, workspace};
    rapt__team_run(a->threads, weights_of, &call);
    return RAPT_OK;
}
