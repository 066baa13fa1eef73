/* network.c - the parameters and activations of the network, and its computation. */
#include "glimpse.h"
#include <stdlib.h>
#include <string.h>

/* All arrays are in one block, so that one memset clears them. */
static void tape_create(struct tape *tape, const struct setup *setup)
{
    const size_t rows = (size_t)glimpse_rows(setup), width = (size_t)setup->width;
    const struct {
        float **array;
        size_t columns;
    } arrays[] = {{&tape->retina, (size_t)retina_width(setup)},
                  {&tape->features, 2 * width},
                  {&tape->glimpse, width},
                  {&tape->attention_in, width},
                  {&tape->query, width},
                  {&tape->key, width},
                  {&tape->value, width},
                  {&tape->context, width},
                  {&tape->attended, width},
                  {&tape->ffn_input, width},
                  {&tape->ffn_hidden, 2 * width},
                  {&tape->output, width},
                  {&tape->state, width},
                  {&tape->logits, (size_t)setup->digits},
                  {&tape->baseline, 1},
                  {&tape->policy_query, KEY}};
    const size_t keys = (size_t)(setup->batch * locations_of(setup)) * KEY;
    const size_t many = sizeof arrays / sizeof *arrays;
    tape->count = keys;
    for (size_t i = 0; i < many; i++) tape->count += rows * arrays[i].columns;
    float *next = tape->block = xcalloc(tape->count, sizeof *tape->block);
    for (size_t i = 0; i < many; i++) {
        *arrays[i].array = next;
        next += rows * arrays[i].columns;
    }
    tape->policy_keys = next;
}

static void layers_create(struct network *n)
{
    const struct setup *s = n->setup;
    const int width = s->width, locations = locations_of(s);
    struct random random = random_from(s->seed, STREAM_WEIGHTS);
    struct params *p = &n->params;
    params_create(p, (size_t)(retina_width(s) * 2 * width + 20 * width * width +
                              locations * (width + KEY) + 4096));
    linear_create(&n->retina_in, p, &random, retina_width(s), 2 * width, 1);
    linear_create(&n->feature_out, p, &random, 2 * width, width, 0);
    embed_create(&n->location_embed, p, &random, locations, width);
    norm_create(&n->norm1, p, width);
    linear_create(&n->query, p, &random, width, width, 0);
    linear_create(&n->key, p, &random, width, width, 0);
    linear_create(&n->value, p, &random, width, width, 0);
    linear_create(&n->attention_out, p, &random, width, width, 0);
    norm_create(&n->norm2, p, width);
    linear_create(&n->ffn_in, p, &random, width, 2 * width, 1);
    linear_create(&n->ffn_out, p, &random, 2 * width, width, 0);
    norm_create(&n->norm_out, p, width);
    linear_create(&n->classifier, p, &random, width, s->digits, 1);
    linear_create(&n->baseline_out, p, &random, width, 1, 1);
    linear_create(&n->policy_query, p, &random, width, KEY, 0);
    linear_create(&n->key_in, p, &random, PREVIEW_CELLS, KEY, 1);
    embed_create(&n->key_embed, p, &random, locations, KEY);
}

void network_create(struct network *n, const struct setup *setup)
{
    const size_t rows = (size_t)glimpse_rows(setup), locations = (size_t)locations_of(setup);
    *n = (struct network){.setup = setup};
    layers_create(n);
    tape_create(&n->tape, setup);
    tape_create(&n->gradient, setup);
    n->previews = xcalloc((size_t)setup->batch * locations, PREVIEW_CELLS * sizeof(float));
    n->location_ids = xcalloc((size_t)setup->batch * locations, sizeof(int));
    for (size_t i = 0; i < (size_t)setup->batch * locations; i++)
        n->location_ids[i] = (int)(i % locations);
    n->coordinates = xcalloc(locations, 2 * sizeof(float));
    location_coordinates(setup, n->coordinates);
    n->fixation = xcalloc(rows, 2 * sizeof(float));
    n->chosen = xcalloc(rows, sizeof(int));
    n->lse = xcalloc(rows, sizeof(float));
    n->context_lse = xcalloc(HEADS * rows, sizeof(float));
    n->reward = xcalloc(rows, sizeof(float));
}

void network_free(struct network *n)
{
    params_free(&n->params);
    free(n->tape.block);
    free(n->gradient.block);
    free(n->previews);
    free(n->location_ids);
    free(n->coordinates);
    free(n->fixation);
    free(n->chosen);
    free(n->lse);
    free(n->context_lse);
    free(n->reward);
    free(n->workspace.data);
}

/* ---- sizes of pictures, sensor and network, and the numbers of pixels that follow ---- */

const char *const aim_names[AIMS] = {"read", "find"};

const struct setup setup_full = {.digits = DIGITS,
                                 .side = 60,
                                 .clutter = 8,
                                 .window = 14,
                                 .cells = 6,
                                 .blur = 10,
                                 .grid = 7,
                                 .pitch = 7,
                                 .glimpses = 4,
                                 .width = 64,
                                 .steps = 2500,
                                 .batch = 64,
                                 .rate = 2e-3F,
                                 .tests = 1024};
const struct setup setup_quick = {.digits = 5,
                                  .side = 48,
                                  .clutter = 5,
                                  .window = 12,
                                  .cells = 6,
                                  .blur = 8,
                                  .grid = 7,
                                  .pitch = 6,
                                  .glimpses = 3,
                                  .width = 32,
                                  .steps = 600,
                                  .batch = 64,
                                  .rate = 5e-3F,
                                  .tests = 512};

struct pixels pixels_of(const struct setup *s)
{
    return (struct pixels){.sharp = s->glimpses * s->window * s->window,
                           .blurred = s->glimpses * s->cells * s->cells,
                           .preview = locations_of(s) * PREVIEW_CELLS,
                           .there = s->side * s->side};
}

/* ---- a block of a Transformer over glimpses ----
   It computes the forward pass one glimpse at a time, and the backward pass of all at once.

     features = relu(retina W + b)         glimpse = features W + embedding[location]
     attended = glimpse + attention(norm(glimpse)) W        causal: over this and earlier glimpses
     output   = attended + relu(norm(attended) W + b) W     state = norm(output)

   Mnih et al. 2014 carry a recurrent state from glimpse to glimpse; here a pre-norm block (Vaswani
   et al. 2017) attends to all glimpses so far. */

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
