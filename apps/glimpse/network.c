/* network.c - what is learned, and room for what a batch leaves behind. */
#include "glimpse.h"
#include <stdlib.h>

/* One block for all arrays, so that one memset empties them. */
static void tape_create(struct tape *tape, const struct setup *setup)
{
    const size_t rows = (size_t)rows_of(setup), width = (size_t)setup->width;
    const struct {
        float **array;
        size_t columns;
    } arrays[] = {{&tape->seen, (size_t)retina_width(setup)},
                  {&tape->what, 2 * width},
                  {&tape->glimpse, width},
                  {&tape->calm, width},
                  {&tape->query, width},
                  {&tape->key, width},
                  {&tape->value, width},
                  {&tape->mixed, width},
                  {&tape->known, width},
                  {&tape->calmer, width},
                  {&tape->hidden, 2 * width},
                  {&tape->thought, width},
                  {&tape->state, width},
                  {&tape->logits, (size_t)setup->digits},
                  {&tape->expected, 1},
                  {&tape->ask, KEY}};
    const size_t keys = (size_t)(setup->batch * locations_of(setup)) * KEY;
    const size_t many = sizeof arrays / sizeof *arrays;
    tape->count = keys;
    for (size_t i = 0; i < many; i++) tape->count += rows * arrays[i].columns;
    float *next = tape->block = xcalloc(tape->count, sizeof *tape->block);
    for (size_t i = 0; i < many; i++) {
        *arrays[i].array = next;
        next += rows * arrays[i].columns;
    }
    tape->locations = next;
}

static void layers_create(struct network *n)
{
    const struct setup *s = n->setup;
    const int width = s->width, locations = locations_of(s);
    struct random random = random_from(s->seed, STREAM_WEIGHTS);
    struct params *p = &n->params;
    params_create(p, (size_t)(retina_width(s) * 2 * width + 20 * width * width +
                              locations * (width + KEY) + 4096));
    linear_create(&n->see, p, &random, retina_width(s), 2 * width, 1);
    linear_create(&n->tell, p, &random, 2 * width, width, 0);
    embed_create(&n->where, p, &random, locations, width);
    norm_create(&n->calm, p, width);
    linear_create(&n->query, p, &random, width, width, 0);
    linear_create(&n->key, p, &random, width, width, 0);
    linear_create(&n->value, p, &random, width, width, 0);
    linear_create(&n->mix, p, &random, width, width, 0);
    norm_create(&n->calmer, p, width);
    linear_create(&n->think, p, &random, width, 2 * width, 1);
    linear_create(&n->conclude, p, &random, 2 * width, width, 0);
    norm_create(&n->last, p, width);
    linear_create(&n->classify, p, &random, width, s->digits, 1);
    linear_create(&n->expect, p, &random, width, 1, 1);
    linear_create(&n->ask, p, &random, width, KEY, 0);
    linear_create(&n->mark, p, &random, MARKS, KEY, 1);
    embed_create(&n->location, p, &random, locations, KEY);
}

void network_create(struct network *n, const struct setup *setup)
{
    const size_t rows = (size_t)rows_of(setup), locations = (size_t)locations_of(setup);
    *n = (struct network){.setup = setup};
    layers_create(n);
    tape_create(&n->tape, setup);
    tape_create(&n->gradient, setup);
    n->marks = xcalloc((size_t)setup->batch * locations, MARKS * sizeof(float));
    n->numbers = xcalloc((size_t)setup->batch * locations, sizeof(int));
    for (size_t i = 0; i < (size_t)setup->batch * locations; i++)
        n->numbers[i] = (int)(i % locations);
    n->points = xcalloc(locations, 2 * sizeof(float));
    place_points(setup, n->points);
    n->glimpsed = xcalloc(rows, 2 * sizeof(float));
    n->chosen = xcalloc(rows, sizeof(int));
    n->lse = xcalloc(rows, sizeof(float));
    n->mixed_lse = xcalloc(HEADS * rows, sizeof(float));
    n->reward = xcalloc(rows, sizeof(float));
}

void network_free(struct network *n)
{
    params_free(&n->params);
    free(n->tape.block);
    free(n->gradient.block);
    free(n->marks);
    free(n->numbers);
    free(n->points);
    free(n->glimpsed);
    free(n->chosen);
    free(n->lse);
    free(n->mixed_lse);
    free(n->reward);
    free(n->workspace);
}

void *network_workspace(struct network *n, const rapt_attention *a)
{
    rapt_message why = {""};
    if (rapt_attention_check(a, &why) != RAPT_OK) exit(failed("attention: %s", why.text));
    size_t bytes = (rapt_attention_workspace(a) + 63) & ~(size_t)63;
    if (bytes <= n->workspace_bytes) return n->workspace;
    free(n->workspace);
    n->workspace = aligned_alloc(64, bytes);
    n->workspace_bytes = bytes;
    if (n->workspace == NULL) exit(failed("out of memory"));
    return n->workspace;
}
