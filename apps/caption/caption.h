/* caption.h - interface header of caption: scenes of two objects and their captions, an
   encoder-decoder with soft or hard attention to image patches, and its evaluation. The program and
   a lesson use it. */
#ifndef CAPTION_H
#define CAPTION_H

#include "kit/demo.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "kit/svg.h"
#include <rapt/transformer.h>

/* ---- scene.c ---- */
enum {
    SIDE = 5,             /* patches per side */
    PIXELS = 6,           /* pixels per side of a patch */
    SIZE = SIDE * PIXELS, /* pixels per side of the picture */
    PATCHES = SIDE * SIDE,
    PATCH = PIXELS * PIXELS * 3, /* numbers of a patch: red, green and blue of its pixels */
    COLORS = 4,
    SHAPES = 3,
    MAX_WORDS = 9, /* "a red square left of a blue circle", including the end */
    WORDS = 16     /* capacity of the vocabulary */
};
struct object {
    int color, shape, x, y; /* center in pixels */
};
struct scene {
    struct object objects[2]; /* in the order of the caption */
    int above;                /* the first object is above the second; otherwise left of it */
    int words[MAX_WORDS];     /* including the end, then 0 */
    int count;                /* words before the end */
    int named[MAX_WORDS];     /* the object whose color or shape the word names; -1 means none */
};
enum { BEGIN = 0, END = 1 };
extern const char *const caption_words[WORDS];
/* Draws a scene. If held_out is true, its pair of objects is one that is held out of training;
   otherwise it is one of the others. */
void scene_draw(struct scene *scene, struct random *random, bool held_out);
void scene_paint(const struct scene *scene, struct random *noise, float *patches); /* [25][PATCH] */
int scene_object(const struct scene *scene, int x, int y); /* -1 means background */
bool scene_covers(const struct scene *scene, int object,
                  int patch);       /* covers at least a tenth of the patch */
const char *scene_color(int color); /* "#D62728" */

/* ---- model.c ----
   encoder:  h = patches W + position     twice: h += self(norm h), h += ffn(norm h)
   decoder:  y = word + position          y += self(norm y), y += cross(norm y, norm h),
                                          y += ffn(norm y),  logits = (norm y) W */
enum { HEADS = 2 };
struct captioner;
/* normalizer is that of cross-attention. With argmax, the model begins with a softmax, which
   becomes an argmax within `steps` steps. */
struct captioner *captioner_create(rapt_normalizer normalizer, int steps, int batch, uint64_t seed);
void captioner_free(struct captioner *model);
size_t captioner_parameters(const struct captioner *model);
/* Makes one training step with patches [batch][25][PATCH], and returns the loss per word. */
double captioner_learn(struct captioner *model, const struct scene *scenes, const float *patches,
                       int count, float rate);
/* Writes greedy captions out [count][MAX_WORDS], with END after the last word. weights
   [count][MAX_WORDS][PATCHES], which may be NULL, receives the cross-attention weights of each
   word, averaged over HEADS heads. With hard attention the weights of a head are 1 and 0. */
void captioner_describe(struct captioner *model, const float *patches, int count, int *out,
                        float *weights);

/* ---- measure.c ---- */
struct caption_setup {
    rapt_normalizer normalizer; /* that of hard attention; softmax leaves the hard
                                   model out */
    int steps, batch, tests;
    int threads; /* 0 means one per processor */
    uint64_t seed;
    bool quiet;
};
struct caption_result { /* of one model */
    rapt_normalizer normalizer;
    size_t parameters;
    double exact, exact_seen; /* shares of exact captions, for held-out pairs and for other pairs */
    double colors, shapes;    /* mean weight on the object's patches at its color and shape word */
    double chance; /* the same if all weights were equal: the share of patches that the object
                      covers */
    double read;   /* number of patches with a weight above 0.01, averaged over these words */
};
/* One picture, as each model sees it. */
enum { SOFT, HARD, KINDS };
struct caption_view {
    int out[MAX_WORDS];
    float weights[MAX_WORDS * PATCHES];
};
struct caption_example {
    struct scene scene;
    struct caption_view views[KINDS];
};
enum { EXAMPLES = 3, CANDIDATES = 64 };
struct caption_study {
    int kinds; /* 1 means only soft attention */
    struct caption_result results[KINDS];
    struct caption_example examples[CANDIDATES]; /* the first EXAMPLES are those of the figure */
    double seconds;
};
/* Trains both models on the same scenes, each in a thread of its own, and measures them. */
void caption_study_make(struct caption_study *study, const struct caption_setup *setup);
/* Returns true if every model of the study describes the example exactly and each color and shape
   word has its largest weight on its object. */
bool caption_is_clear(const struct caption_study *study, const struct caption_example *example);
bool caption_is_hard(const struct caption_result *result);
/* Returns true if the claim holds. With soft attention, at least 80 % of the captions of held-out
   pairs must be exact, and an object's patches must get at least twice the weight of uniform
   attention, both at its color word and at its shape word. With hard attention, 70 % must be exact,
   the mean weight at both words must be twice that of uniform attention, and each head must attend
   to one patch. */
bool caption_claim(const struct caption_result *result);
bool caption_claims(const struct caption_study *study); /* all claims */

/* ---- show.c ---- */
int caption_length(const int *out); /* number of words before the end */
void caption_spell(char *text, size_t size, const int *out);
void caption_print(const struct caption_study *study);
void caption_print_json(const struct caption_study *study);
enum { CAPTION_SIZE = SIZE * 3, CAPTION_GAP = 14, CAPTION_HEAD = 34 };
/* Draws the picture with pixels `pixel` wide. The opacity of a patch is its weight in weights
   [PATCHES], relative to the largest; NULL means opaque. */
void caption_draw_scene(struct svg *svg, const struct scene *scene, double x, double y,
                        double pixel, const float *weights);
/* Draws a copy for each word, CAPTION_SIZE wide and shaded by its weights, with the word above it,
   in rows of several. A wrong caption is marked, and the right one added. */
void caption_draw_view(struct svg *svg, const struct scene *scene, const struct caption_view *view,
                       double x, double y, int columns);
int caption_draw(const struct caption_study *study, const char *path);

#endif
