/* caption.h - interface header of caption: scenes of two objects, their captions, an
   encoder-decoder that attends over image patches, and its evaluation. */
#ifndef CAPTION_H
#define CAPTION_H

#include "kit/demo.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "kit/svg.h"

/* ---- scene.c ---- */
enum {
    SIDE = 5,             /* patches on a side */
    PIXELS = 6,           /* pixels on a side of a patch */
    SIZE = SIDE * PIXELS, /* of the picture */
    PATCHES = SIDE * SIDE,
    PATCH = PIXELS * PIXELS * 3, /* values of a patch: red, green and blue of its pixels */
    COLORS = 4,
    SHAPES = 3,
    MAX_WORDS = 9, /* "a red square left of a blue circle", and the end */
    WORDS = 16     /* capacity of the vocabulary */
};
struct object {
    int color, shape, x, y; /* the center, in pixels */
};
struct scene {
    struct object objects[2]; /* in the order in which the caption names them */
    int above;                /* the first is above the second; else left of it */
    int words[MAX_WORDS];     /* and the end, then 0 */
    int count;                /* words before the end */
    int named[MAX_WORDS];     /* the object whose color or shape a word states; -1: none */
};
enum { BEGIN = 0, END = 1 };
extern const char *const words[WORDS];
/* held_out: draws only pairs of objects that no training scene has; else only others. */
void scene_draw(struct scene *scene, struct random *random, bool held_out);
void scene_paint(const struct scene *scene, struct random *noise, float *patches); /* [25][PATCH] */
int object_at(const struct scene *scene, int x, int y);        /* -1: background */
bool covers(const struct scene *scene, int object, int patch); /* a tenth of the patch or more */
const char *color_of(int color);                               /* "#D62728" */

/* ---- model.c ----
   encoder:  h = patches W + position     twice: h += self(norm h), h += ffn(norm h)
   decoder:  y = word + position          y += self(norm y), y += cross(norm y, norm h),
                                          y += ffn(norm y),  logits = (norm y) W */
struct model;
struct model *model_create(int batch, uint64_t seed);
void model_free(struct model *model);
size_t model_parameters(const struct model *model);
/* One training step; returns the loss per word. patches: [batch][25][PATCH]. */
double model_learn(struct model *model, const struct scene *scenes, const float *patches, int count,
                   float rate);
/* Greedy captions, out [count][MAX_WORDS], END behind the last word; weights, if not NULL:
   [count][MAX_WORDS][PATCHES], the cross-attention weights when it chose each word. */
void model_describe(struct model *model, const float *patches, int count, int *out, float *weights);

/* ---- measure.c ---- */
struct setup {
    int steps, batch, tests;
    uint64_t seed;
    bool quiet;
};
struct result {
    size_t parameters;
    double exact, exact_seen; /* share of exact captions: of held-out pairs, of others */
    double colors, shapes;    /* mean weight on the object's patches at its color and shape word */
    double chance;            /* the same of uniform weights: the share of patches it covers */
    double seconds;
};
struct model *train(const struct setup *setup);
void measure(struct result *result, struct model *model, const struct setup *setup);
/* At least 80 % of the captions of held-out pairs are exact, and an object's patches get at least
   twice the weight of uniform attention, at its color word and at its shape word. */
bool claim_holds(const struct result *result);

/* ---- show.c ---- */
enum { EXAMPLES = 3 };
struct example {
    struct scene scene;
    int out[MAX_WORDS];
    float weights[MAX_WORDS * PATCHES];
};
void example_make(struct example *example, struct model *model, const struct setup *setup,
                  int number);
void print_result(const struct result *result, const struct example *examples);
void print_result_json(const struct result *result, const struct example *examples);
int draw_result(const struct result *result, const struct example *examples, const char *path);

#endif
