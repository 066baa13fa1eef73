/* network.c - parameters of the network, and memory for the activations and gradients of a
   batch. */
#include "glimpse.h"
#include <stdlib.h>

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
