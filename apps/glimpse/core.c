/* core.c - a block of a Transformer over glimpses, forward one glimpse at a time, backward all at
   once.

     features = relu(retina W + b)         glimpse = features W + embedding[location]
     attended = glimpse + attention(norm(glimpse)) W        causal: over this and earlier glimpses
     output   = attended + relu(norm(attended) W + b) W     state = norm(output)

   Mnih et al. 2014 carry a recurrent state from glimpse to glimpse; here a pre-norm block (Vaswani
   et al. 2017) attends to all glimpses so far. */
#include "glimpse.h"
#include <stdlib.h>
#include <string.h>

/* Describes attention of glimpses [first, glimpses) to all glimpses up to themselves. Strides:
   time-major rows. */
static rapt_attention over_glimpses(const struct setup *s, int first, int glimpses)
{
    const int width = s->width / HEADS;
    const rapt_stride by_time = {s->width, width, (ptrdiff_t)s->batch * s->width};
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, s->batch, HEADS, glimpses - first, glimpses, width);
    a.q = a.k = a.v = a.out = by_time;
    a.mask.causal = 1;
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    a.threads = 1;
    return a;
}

void network_preview(struct network *n)
{
    const int rows = n->setup->batch * locations_of(n->setup);
    linear_forward(&n->key_in, rows, n->previews, n->tape.policy_keys);
    embed_forward(&n->key_embed, rows, n->location_ids, n->tape.policy_keys);
}

void network_glimpse(struct network *n, int t)
{
    const struct setup *s = n->setup;
    const struct tape *v = &n->tape;
    const int rows = s->batch, width = s->width, retina_values = retina_width(s);
    const size_t from = (size_t)(t * rows), at = from * (size_t)width;
    float *what = v->features + 2 * at, *hidden = v->ffn_hidden + 2 * at;
    linear_forward(&n->retina_in, rows, v->retina + from * (size_t)retina_values, what);
    relu_forward(2 * (size_t)(rows * width), what, what);
    linear_forward(&n->feature_out, rows, what, v->glimpse + at);
    embed_forward(&n->location_embed, rows, n->chosen + from, v->glimpse + at);
    norm_forward(&n->norm1, rows, v->glimpse + at, v->attention_in + at);
    linear_forward(&n->query, rows, v->attention_in + at, v->query + at);
    linear_forward(&n->key, rows, v->attention_in + at, v->key + at);
    linear_forward(&n->value, rows, v->attention_in + at, v->value + at);
    const rapt_attention a = over_glimpses(s, t, t + 1);
    must(rapt_attention_forward(&a, v->query + at, v->key, v->value, v->context + at, NULL,
                                workspace_for(&n->workspace, &a), NULL));
    memcpy(v->attended + at, v->glimpse + at, (size_t)(rows * width) * sizeof(float));
    linear_forward(&n->attention_out, rows, v->context + at, v->attended + at);
    norm_forward(&n->norm2, rows, v->attended + at, v->ffn_input + at);
    linear_forward(&n->ffn_in, rows, v->ffn_input + at, hidden);
    relu_forward(2 * (size_t)(rows * width), hidden, hidden);
    memcpy(v->output + at, v->attended + at, (size_t)(rows * width) * sizeof(float));
    linear_forward(&n->ffn_out, rows, hidden, v->output + at);
    norm_forward(&n->norm_out, rows, v->output + at, v->state + at);
    linear_forward(&n->classifier, rows, v->state + at, v->logits + from * (size_t)s->digits);
    linear_forward(&n->baseline_out, rows, v->state + at, v->baseline + from);
    linear_forward(&n->policy_query, rows, v->state + at, v->policy_query + from * KEY);
}

static void core_add(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] += from[i];
}

/* Processes all glimpses at once, with the same bits as one query at a time. */
static void attention_backward(struct network *n)
{
    const struct tape *v = &n->tape, *d = &n->gradient;
    const rapt_attention a = over_glimpses(n->setup, 0, n->setup->glimpses);
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = n->context_lse};
    const rapt_gradients to = {.size = sizeof to, .q = d->query, .k = d->key, .v = d->value};
    void *workspace = workspace_for(&n->workspace, &a);
    must(rapt_attention_forward(&a, v->query, v->key, v->value, v->context, &saved, workspace,
                                NULL));
    must(rapt_attention_backward(&a, v->query, v->key, v->value, v->context, &saved, d->context,
                                 NULL, &to, workspace, NULL));
}

void network_backward(struct network *n)
{
    const struct setup *s = n->setup;
    const struct tape *v = &n->tape, *d = &n->gradient;
    const int rows = glimpse_rows(s), keys = s->batch * locations_of(s);
    const size_t all = (size_t)(rows * s->width);
    linear_backward(&n->key_in, keys, n->previews, d->policy_keys, NULL);
    embed_backward(&n->key_embed, keys, n->location_ids, d->policy_keys);
    linear_backward(&n->policy_query, rows, v->state, d->policy_query, d->state);
    linear_backward(&n->classifier, rows, v->state, d->logits, d->state);
    linear_backward(&n->baseline_out, rows, v->state, d->baseline, NULL);
    norm_backward(&n->norm_out, rows, v->output, d->state, d->output);
    linear_backward(&n->ffn_out, rows, v->ffn_hidden, d->output, d->ffn_hidden);
    core_add(d->attended, d->output, all);
    float *hidden = xcalloc(2 * all, sizeof *hidden), *what = xcalloc(2 * all, sizeof *what);
    relu_backward(2 * all, v->ffn_hidden, d->ffn_hidden, hidden);
    linear_backward(&n->ffn_in, rows, v->ffn_input, hidden, d->ffn_input);
    norm_backward(&n->norm2, rows, v->attended, d->ffn_input, d->attended);
    linear_backward(&n->attention_out, rows, v->context, d->attended, d->context);
    core_add(d->glimpse, d->attended, all);
    attention_backward(n);
    linear_backward(&n->query, rows, v->attention_in, d->query, d->attention_in);
    linear_backward(&n->key, rows, v->attention_in, d->key, d->attention_in);
    linear_backward(&n->value, rows, v->attention_in, d->value, d->attention_in);
    norm_backward(&n->norm1, rows, v->glimpse, d->attention_in, d->glimpse);
    embed_backward(&n->location_embed, rows, n->chosen, d->glimpse);
    linear_backward(&n->feature_out, rows, v->features, d->glimpse, d->features);
    relu_backward(2 * all, v->features, d->features, what);
    linear_backward(&n->retina_in, rows, v->retina, what, NULL);
    free(hidden);
    free(what);
}
