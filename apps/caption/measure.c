/* measure.c - trains the models and measures exact captions and attention weights on scenes of
   held-out pairs. */
#include "caption.h"
#include <stdlib.h>
#include <string.h>

static const uint64_t TEST_STREAM = UINT64_MAX / 2; /* training draws from streams 0 .. steps - 1 */

static void captions_draw(struct scene *scenes, float *patches, int count, struct random random,
                          bool held_out)
{
    for (int i = 0; i < count; i++) {
        scene_draw(&scenes[i], &random, held_out);
        scene_paint(&scenes[i], &random, patches + i * PATCHES * PATCH);
    }
}

/* One model of the study, which a thread of its own trains and measures. */
struct job {
    const struct caption_setup *setup;
    struct caption_study *study;
    int kind;
    struct captioner *model;
};

static void captions_train(const struct job *job)
{
    const struct caption_setup *setup = job->setup;
    struct scene *scenes = xcalloc((size_t)setup->batch, sizeof *scenes);
    float *patches = xcalloc((size_t)setup->batch * PATCHES * PATCH, sizeof *patches);
    for (int step = 0; step < setup->steps; step++) {
        float rate = 4e-3F * schedule_factor(step, setup->steps, 20, 0.02F);
        captions_draw(scenes, patches, setup->batch, random_from(setup->seed, (uint64_t)step),
                      false);
        double loss = captioner_learn(job->model, scenes, patches, setup->batch, rate);
        if (setup->quiet) training_progress("", step + 1, setup->steps);
        if (!setup->quiet && tenth_done(step, setup->steps))
            print_message("%s: %6d scenes, loss %.4f per word",
                          rapt_normalizer_name(job->study->results[job->kind].normalizer),
                          (step + 1) * setup->batch, loss);
    }
    free(scenes);
    free(patches);
}

/* Adds the weight on an object's patches at each correct word about it. */
static void add_weights(struct caption_result *result, const struct scene *scene, const int *out,
                        const float *weights, int counts[2])
{
    for (int t = 0; t < scene->count; t++) {
        if (scene->named[t] < 0 || out[t] != scene->words[t]) continue;
        int shape = t > 0 && scene->named[t - 1] == scene->named[t], covered = 0;
        double mass = 0;
        for (int p = 0; p < PATCHES; p++) {
            result->read += weights[t * PATCHES + p] > 0.01F;
            if (!scene_covers(scene, scene->named[t], p)) continue;
            mass += (double)weights[t * PATCHES + p];
            covered++;
        }
        *(shape ? &result->shapes : &result->colors) += mass;
        result->chance += (double)covered / PATCHES;
        counts[shape]++;
    }
}

/* Returns the share of exact captions; with counts, also adds up the attention weights. */
static double evaluate(struct caption_result *result, struct captioner *model,
                       const struct caption_setup *setup, bool held_out, int counts[2])
{
    struct scene *scenes = xcalloc((size_t)setup->batch, sizeof *scenes);
    float *patches = xcalloc((size_t)setup->batch * PATCHES * PATCH, sizeof *patches);
    int *out = xcalloc((size_t)setup->batch * MAX_WORDS, sizeof *out);
    float *weights = xcalloc((size_t)setup->batch * MAX_WORDS * PATCHES, sizeof *weights);
    int exact = 0, batches = setup->tests / setup->batch;
    for (int i = 0; i < batches; i++) {
        struct random random = random_from(setup->seed, TEST_STREAM + (uint64_t)i);
        captions_draw(scenes, patches, setup->batch, random, held_out);
        captioner_describe(model, patches, setup->batch, out, weights);
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

static void captions_measure(const struct job *job)
{
    int counts[2] = {0};
    struct caption_result *r = &job->study->results[job->kind];
    r->parameters = captioner_parameters(job->model);
    r->exact_seen = evaluate(r, job->model, job->setup, false, NULL);
    r->exact = evaluate(r, job->model, job->setup, true, counts);
    int all = counts[0] + counts[1];
    r->chance /= all ? all : 1, r->read /= all ? all : 1;
    r->colors /= counts[0] ? counts[0] : 1;
    r->shapes /= counts[1] ? counts[1] : 1;
}

/* Describes the scenes of the examples, random ones of held-out pairs. */
static void describe_examples(const struct job *job)
{
    static const uint64_t shown[EXAMPLES] = {14, 11, 22}; /* the others follow from 32 on */
    float *patches = xcalloc(PATCHES * PATCH, sizeof *patches);
    for (int i = 0; i < CANDIDATES; i++) {
        const uint64_t stream = i < EXAMPLES ? shown[i] : 32 + (uint64_t)i;
        struct caption_example *example = &job->study->examples[i];
        struct caption_view *view = &example->views[job->kind];
        struct scene scene;
        captions_draw(&scene, patches, 1, random_from(job->setup->seed, TEST_STREAM - 1 - stream),
                      true);
        captioner_describe(job->model, patches, 1, view->out, view->weights);
        if (job->kind == SOFT) example->scene = scene;
    }
    free(patches);
}

static void *captions_work(void *argument)
{
    struct job *job = argument;
    const struct caption_setup *setup = job->setup;
    job->model = captioner_create(job->study->results[job->kind].normalizer, setup->steps,
                                  setup->batch, setup->seed);
    captions_train(job);
    captions_measure(job);
    describe_examples(job);
    captioner_free(job->model);
    return NULL;
}

void caption_study_make(struct caption_study *study, const struct caption_setup *setup)
{
    struct job jobs[KINDS];
    double start = now();
    *study = (struct caption_study){.kinds = setup->normalizer == RAPT_NORMALIZER_SOFTMAX ? 1 : 2};
    study->results[HARD].normalizer = setup->normalizer;
    for (int kind = 0; kind < KINDS; kind++) jobs[kind] = (struct job){setup, study, kind, NULL};
    run_threads(captions_work, jobs, study->kinds, sizeof *jobs, threads_used(setup->threads));
    study->seconds = now() - start;
}

static bool view_is_clear(const struct scene *scene, const struct caption_view *view)
{
    if (memcmp(view->out, scene->words, (size_t)(scene->count + 1) * sizeof *view->out) != 0)
        return false;
    for (int t = 0; t < scene->count; t++) {
        const float *weights = view->weights + t * PATCHES;
        const float most = weights[argmax(PATCHES, weights)];
        for (int p = 0; p < PATCHES && scene->named[t] >= 0; p++)
            if (weights[p] >= most && !scene_covers(scene, scene->named[t], p)) return false;
    }
    return true;
}

bool caption_is_clear(const struct caption_study *study, const struct caption_example *example)
{
    bool clear = true;
    for (int kind = 0; kind < study->kinds; kind++)
        clear = clear && view_is_clear(&example->scene, &example->views[kind]);
    return clear;
}

bool caption_is_hard(const struct caption_result *r)
{
    return r->normalizer == RAPT_NORMALIZER_SAMPLE || r->normalizer == RAPT_NORMALIZER_ARGMAX;
}

bool caption_claim(const struct caption_result *r)
{
    if (caption_is_hard(r))
        return r->exact >= 0.7 && r->colors + r->shapes >= 4 * r->chance && r->read <= HEADS;
    return r->exact >= 0.8 && r->colors >= 2 * r->chance && r->shapes >= 2 * r->chance;
}

bool caption_claims(const struct caption_study *study)
{
    bool hold = true;
    for (int kind = 0; kind < study->kinds; kind++)
        hold = caption_claim(&study->results[kind]) && hold;
    return hold;
}
