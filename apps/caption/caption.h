/* caption.h - interface header of caption: scenes of two objects, their captions, an
   encoder-decoder that attends over image patches, softly or hard, and its evaluation. The program
   and a lesson use it. */
#ifndef CAPTION_H
#define CAPTION_H

#include "kit/demo.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "kit/svg.h"
#include <rapt/transformer.h>

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
extern const char *const caption_words[WORDS];
/* held_out: draws only pairs of objects that no training scene has; else only others. */
void scene_draw(struct scene *scene, struct random *random, bool held_out);
void scene_paint(const struct scene *scene, struct random *noise, float *patches); /* [25][PATCH] */
int scene_object(const struct scene *scene, int x, int y); /* -1: background */
bool scene_covers(const struct scene *scene, int object,
                  int patch);       /* a tenth of the patch or more */
const char *scene_color(int color); /* "#D62728" */

/* ---- model.c ----
   encoder:  h = patches W + position     twice: h += self(norm h), h += ffn(norm h)
   decoder:  y = word + position          y += self(norm y), y += cross(norm y, norm h),
                                          y += ffn(norm y),  logits = (norm y) W */
enum { HEADS = 2 };
struct captioner;
/* normalizer: of cross-attention. In `steps` steps the arg-max is reached, if it is that. */
struct captioner *captioner_create(rapt_normalizer normalizer, int steps, int batch, uint64_t seed);
void captioner_free(struct captioner *model);
size_t captioner_parameters(const struct captioner *model);
/* One training step; returns the loss per word. patches: [batch][25][PATCH]. */
double captioner_learn(struct captioner *model, const struct scene *scenes, const float *patches,
                       int count, float rate);
/* Greedy captions, out [count][MAX_WORDS], END after the last word; weights, if not NULL:
   [count][MAX_WORDS][PATCHES], the cross-attention weights when it chose each word, the mean of
   HEADS heads: hard attention has weights of 1 and 0 in each. */
void captioner_describe(struct captioner *model, const float *patches, int count, int *out,
                        float *weights);

/* ---- measure.c ---- */
struct caption_setup {
    rapt_normalizer normalizer; /* of hard attention; softmax: there is none */
    int steps, batch, tests;
    int threads; /* 0: one per processor */
    uint64_t seed;
    bool quiet;
};
struct caption_result { /* of one model */
    rapt_normalizer normalizer;
    size_t parameters;
    double exact, exact_seen; /* share of exact captions: of held-out pairs, of others */
    double colors, shapes;    /* mean weight on the object's patches at its color and shape word */
    double chance;            /* the same of uniform weights: the share of patches it covers */
    double read;              /* patches with a weight above 0.01, mean over these words */
};
/* The same picture, as each model sees it. */
enum { SOFT, HARD, KINDS };
struct caption_view {
    int out[MAX_WORDS];
    float weights[MAX_WORDS * PATCHES];
};
struct caption_example {
    struct scene scene;
    struct caption_view views[KINDS];
};
enum { EXAMPLES = 3 };
struct caption_study {
    int kinds; /* 1: soft attention alone */
    struct caption_result results[KINDS];
    struct caption_example examples[EXAMPLES];
    double seconds;
};
/* Trains both models on the same scenes, each in a thread of its own, and measures them. */
void caption_study_make(struct caption_study *study, const struct caption_setup *setup);
bool caption_is_hard(const struct caption_result *result);
/* Soft: at least 80 % of the captions of held-out pairs are exact, and an object's patches get at
   least twice the weight of uniform attention, at its color word and at its shape word. Hard: 70 %,
   twice the weight in the mean of both words, and a patch per head is all it attends to. */
bool caption_claim(const struct caption_result *result);
bool caption_claims(const struct caption_study *study); /* of all */

/* ---- show.c, picture.c ---- */
int caption_length(const int *out); /* words before the end */
void caption_spell(char *text, size_t size, const int *out);
void caption_print(const struct caption_study *study);
void caption_print_json(const struct caption_study *study);
enum { CAPTION_SIZE = SIZE * 3, CAPTION_GAP = 14, CAPTION_HEAD = 34 };
/* The picture in pixels of that size; weights [PATCHES]: opacity of each patch relative to the
   maximum; NULL: opaque. */
void caption_draw_scene(struct svg *svg, const struct scene *scene, double x, double y,
                        double pixel, const float *weights);
/* A copy for each word, CAPTION_SIZE wide, shaded by its weights, the word above it; so many in a
   row, then the next row. A caption that is wrong is marked, with the right one. */
void caption_draw_view(struct svg *svg, const struct scene *scene, const struct caption_view *view,
                       double x, double y, int columns);
int caption_draw(const struct caption_study *study, const char *path);

#endif
