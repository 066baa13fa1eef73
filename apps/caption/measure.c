/* measure.c - trains the model; then exact captions and attention weights on scenes of held-out
   pairs. */
#include "caption.h"
#include <stdlib.h>
#include <string.h>

static const uint64_t TEST_STREAM = UINT64_MAX / 2; /* training draws from 0 .. steps - 1 */

static void draw(struct scene *scenes, float *patches, int count, struct random random,
                 bool held_out)
{
    for (int i = 0; i < count; i++) {
        scene_draw(&scenes[i], &random, held_out);
        scene_paint(&scenes[i], &random, patches + i * PATCHES * PATCH);
    }
}

struct model *train(const struct setup *setup)
{
    struct model *model = model_create(setup->batch, setup->seed);
    struct scene *scenes = xcalloc((size_t)setup->batch, sizeof *scenes);
    float *patches = xcalloc((size_t)setup->batch * PATCHES * PATCH, sizeof *patches);
    for (int step = 0; step < setup->steps; step++) {
        float rate = 4e-3F * schedule_factor(step, setup->steps, 20, 0.02F);
        draw(scenes, patches, setup->batch, random_from(setup->seed, (uint64_t)step), false);
        double loss = model_learn(model, scenes, patches, setup->batch, rate);
        if (!setup->quiet && tenth_done(step, setup->steps))
            print_message("%6d scenes, loss %.4f per word", (step + 1) * setup->batch, loss);
    }
    free(scenes);
    free(patches);
    return model;
}

/* Adds the weight on an object's patches at each correct word about it. */
static void add_weights(struct result *result, const struct scene *scene, const int *out,
                        const float *weights, int counts[2])
{
    for (int t = 0; t < scene->count; t++) {
        if (scene->named[t] < 0 || out[t] != scene->words[t]) continue;
        int shape = t > 0 && scene->named[t - 1] == scene->named[t], covered = 0;
        double mass = 0;
        for (int p = 0; p < PATCHES; p++) {
            if (!covers(scene, scene->named[t], p)) continue;
            mass += (double)weights[t * PATCHES + p];
            covered++;
        }
        *(shape ? &result->shapes : &result->colors) += mass;
        result->chance += (double)covered / PATCHES;
        counts[shape]++;
    }
}

/* The share of exact captions; with counts also the attention weights. */
static double evaluate(struct result *result, struct model *model, const struct setup *setup,
                       bool held_out, int counts[2])
{
    struct scene *scenes = xcalloc((size_t)setup->batch, sizeof *scenes);
    float *patches = xcalloc((size_t)setup->batch * PATCHES * PATCH, sizeof *patches);
    int *out = xcalloc((size_t)setup->batch * MAX_WORDS, sizeof *out);
    float *weights = xcalloc((size_t)setup->batch * MAX_WORDS * PATCHES, sizeof *weights);
    int exact = 0, batches = setup->tests / setup->batch;
    for (int i = 0; i < batches; i++) {
        struct random random = random_from(setup->seed, TEST_STREAM + (uint64_t)i);
        draw(scenes, patches, setup->batch, random, held_out);
        model_describe(model, patches, setup->batch, out, weights);
        for (int b = 0; b < setup->batch; b++) {
            const int *caption = out + b * MAX_WORDS;
            size_t bytes = (size_t)(scenes[b].count + 1) * sizeof *caption;
            exact += memcmp(caption, scenes[b].words, bytes) == 0;
            if (counts != NULL)
                add_weights(result, &scenes[b], caption, weights + b * MAX_WORDS * PATCHES, counts);
        }
    }
    free(scenes);
    free(patches);
    free(out);
    free(weights);
    return (double)exact / (batches * setup->batch);
}

void measure(struct result *result, struct model *model, const struct setup *setup)
{
    int counts[2] = {0};
    *result = (struct result){.parameters = model_parameters(model)};
    result->exact_seen = evaluate(result, model, setup, false, NULL);
    result->exact = evaluate(result, model, setup, true, counts);
    result->chance /= counts[0] + counts[1] ? counts[0] + counts[1] : 1;
    result->colors /= counts[0] ? counts[0] : 1;
    result->shapes /= counts[1] ? counts[1] : 1;
}

bool claim_holds(const struct result *result)
{
    return result->exact >= 0.8 && result->colors >= 2 * result->chance &&
           result->shapes >= 2 * result->chance;
}

void example_make(struct example *example, struct model *model, const struct setup *setup,
                  int number)
{
    float *patches = xcalloc(PATCHES * PATCH, sizeof *patches);
    draw(&example->scene, patches, 1, random_from(setup->seed, TEST_STREAM - 1 - (uint64_t)number),
         true);
    model_describe(model, patches, 1, example->out, example->weights);
    free(patches);
}
