/* core.c - the core: what was seen, where, and attention over all looks so far.

     what    = relu(seen W + b)               glimpse = what W + table[place]
     known   = glimpse + attention(norm(glimpse)) W      each look attends to itself and those
   before thought = known + relu(norm(known) W + b) W         state = norm(thought)

   Where Mnih et al. 2014 carry a recurrent state from look to look, a block of a Transformer
   (Vaswani et al. 2017, with its norms before) reads the looks anew: nothing has to be remembered,
   because nothing is forgotten. */
#include "glimpse.h"
#include <stdlib.h>
#include <string.h>

/* Attention of looks [first, looks) to all up to themselves. Strides say that rows go by time. */
static rapt_attention over_glimpses(const struct setup *s, int first, int glimpses)
{
    const int width = s->width / HEADS;
    const rapt_stride by_time = {s->width, width, (ptrdiff_t)s->batch * s->width};
    rapt_attention a = rapt_attention_make(s->batch, HEADS, glimpses - first, glimpses, width);
    a.q = a.k = a.v = a.out = by_time;
    a.mask.causal = 1;
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    a.threads = 1;
    return a;
}

void network_preview(struct network *n)
{
    const int rows = n->setup->batch * locations_of(n->setup);
    linear_forward(&n->mark, rows, n->marks, n->tape.locations);
    embed_forward(&n->location, rows, n->numbers, n->tape.locations);
}

void network_glimpse(struct network *n, int t)
{
    const struct setup *s = n->setup;
    const struct tape *v = &n->tape;
    const int rows = s->batch, width = s->width, seen = retina_width(s);
    const size_t from = (size_t)(t * rows), at = from * (size_t)width;
    float *what = v->what + 2 * at, *hidden = v->hidden + 2 * at;
    linear_forward(&n->see, rows, v->seen + from * (size_t)seen, what);
    relu_forward(2 * (size_t)(rows * width), what, what);
    linear_forward(&n->tell, rows, what, v->glimpse + at);
    embed_forward(&n->where, rows, n->chosen + from, v->glimpse + at);
    norm_forward(&n->calm, rows, v->glimpse + at, v->calm + at);
    linear_forward(&n->query, rows, v->calm + at, v->query + at);
    linear_forward(&n->key, rows, v->calm + at, v->key + at);
    linear_forward(&n->value, rows, v->calm + at, v->value + at);
    const rapt_attention a = over_glimpses(s, t, t + 1);
    rapt_attention_forward(&a, v->query + at, v->key, v->value, v->mixed + at, NULL,
                           network_workspace(n, &a));
    memcpy(v->known + at, v->glimpse + at, (size_t)(rows * width) * sizeof(float));
    linear_forward(&n->mix, rows, v->mixed + at, v->known + at);
    norm_forward(&n->calmer, rows, v->known + at, v->calmer + at);
    linear_forward(&n->think, rows, v->calmer + at, hidden);
    relu_forward(2 * (size_t)(rows * width), hidden, hidden);
    memcpy(v->thought + at, v->known + at, (size_t)(rows * width) * sizeof(float));
    linear_forward(&n->conclude, rows, hidden, v->thought + at);
    norm_forward(&n->last, rows, v->thought + at, v->state + at);
    linear_forward(&n->classify, rows, v->state + at, v->logits + from * (size_t)s->digits);
    linear_forward(&n->expect, rows, v->state + at, v->expected + from);
    linear_forward(&n->ask, rows, v->state + at, v->ask + from * KEY);
}

static void add(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] += from[i];
}

/* All looks at once: what was computed one query at a time has the same bits. */
static void mix_back(struct network *n)
{
    const struct tape *v = &n->tape, *d = &n->gradient;
    const rapt_attention a = over_glimpses(n->setup, 0, n->setup->glimpses);
    const rapt_gradients to = {.q = d->query, .k = d->key, .v = d->value};
    void *workspace = network_workspace(n, &a);
    rapt_attention_forward(&a, v->query, v->key, v->value, v->mixed, n->mixed_lse, workspace);
    rapt_attention_backward(&a, v->query, v->key, v->value, v->mixed, n->mixed_lse, d->mixed, &to,
                            workspace);
}

void network_back(struct network *n)
{
    const struct setup *s = n->setup;
    const struct tape *v = &n->tape, *d = &n->gradient;
    const int rows = rows_of(s), keys = s->batch * locations_of(s);
    const size_t all = (size_t)(rows * s->width);
    linear_backward(&n->mark, keys, n->marks, d->locations, NULL);
    embed_backward(&n->location, keys, n->numbers, d->locations);
    linear_backward(&n->ask, rows, v->state, d->ask, d->state);
    linear_backward(&n->classify, rows, v->state, d->logits, d->state);
    linear_backward(&n->expect, rows, v->state, d->expected, NULL);
    norm_backward(&n->last, rows, v->thought, d->state, d->thought);
    linear_backward(&n->conclude, rows, v->hidden, d->thought, d->hidden);
    add(d->known, d->thought, all);
    float *hidden = xcalloc(2 * all, sizeof *hidden), *what = xcalloc(2 * all, sizeof *what);
    relu_backward(2 * all, v->hidden, d->hidden, hidden);
    linear_backward(&n->think, rows, v->calmer, hidden, d->calmer);
    norm_backward(&n->calmer, rows, v->known, d->calmer, d->known);
    linear_backward(&n->mix, rows, v->mixed, d->known, d->mixed);
    add(d->glimpse, d->known, all);
    mix_back(n);
    linear_backward(&n->query, rows, v->calm, d->query, d->calm);
    linear_backward(&n->key, rows, v->calm, d->key, d->calm);
    linear_backward(&n->value, rows, v->calm, d->value, d->calm);
    norm_backward(&n->calm, rows, v->glimpse, d->calm, d->glimpse);
    embed_backward(&n->where, rows, n->chosen, d->glimpse);
    linear_backward(&n->tell, rows, v->what, d->glimpse, d->what);
    relu_backward(2 * all, v->what, d->what, what);
    linear_backward(&n->see, rows, v->seen, what, NULL);
    free(hidden);
    free(what);
}
