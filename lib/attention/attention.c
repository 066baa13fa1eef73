/* attention.c - the public calls: arguments are checked, then a team is sent down. */
#include "attention/problem.h"

size_t rapt_attention_scratch(const rapt_attention *a)
{
    if (rapt_attention_check(a, NULL) != RAPT_OK) return 0;
    return rapt__attention_scratch(a, rapt__team_size(a->threads));
}

struct call {
    const rapt_attention *a;
    const float *q, *k, *v, *out, *lse, *dout;
    float *to, *lse_to;
    const rapt_gradients *d;
    void *scratch;
};

static void forward(struct team *team, void *argument)
{
    const struct call *c = argument;
    rapt__attention_forward(team, c->a, c->q, c->k, c->v, c->to, c->lse_to, c->scratch);
}

static void backward(struct team *team, void *argument)
{
    const struct call *c = argument;
    rapt__attention_backward(team, c->a, c->q, c->k, c->v, c->out, c->lse, c->dout, c->d,
                             c->scratch);
}

rapt_status rapt_attention_forward(const rapt_attention *a, const float *q, const float *k,
                                   const float *v, float *out, float *lse, void *scratch)
{
    rapt_status status = rapt_attention_check(a, NULL);
    if (status != RAPT_OK) return status;
    bool queries = rapt__query_rows(a) > 0, keys = rapt__key_rows(a) > 0;
    if (!scratch || (queries && (!q || !out)) || (keys && (!k || !v))) return RAPT_BAD_ARGUMENT;
    struct call c = {.a = a, .q = q, .k = k, .v = v, .to = out, .lse_to = lse, .scratch = scratch};
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

rapt_status rapt_attention_backward(const rapt_attention *a, const float *q, const float *k,
                                    const float *v, const float *out, const float *lse,
                                    const float *dout, const rapt_gradients *d, void *scratch)
{
    rapt_status status = rapt_attention_check(a, NULL);
    if (status != RAPT_OK) return status;
    bool queries = rapt__query_rows(a) > 0, keys = rapt__key_rows(a) > 0;
    int key_heads = rapt__key_heads_of(a), batch_q = a->query_starts ? 1 : a->batch;
    int batch_k = a->key_starts ? 1 : a->batch;
    if (!scratch || !d || (queries && (!q || !out || !lse || !dout)) || (keys && (!k || !v)) ||
        (d->bias && !a->mask.bias) || (d->q && repeats(&a->q, batch_q, a->heads, a->queries)) ||
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
                     .scratch = scratch};
    rapt__team_run(a->threads, backward, &c);
    return RAPT_OK;
}
