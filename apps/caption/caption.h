/* caption.h - what the files of this program share: scenes, their captions, and the model that
   writes a caption while it looks at the parts of a scene. */
#ifndef CAPTION_H
#define CAPTION_H

#include "kit/attend.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "kit/svg.h"

/* ---- scene.c ---- */
enum {
    SIDE = 5,             /* patches on a side */
    PIXELS = 6,           /* pixels on a side of a patch */
    SIZE = SIDE * PIXELS, /* of the picture */
    PATCHES = SIDE * SIDE,
    PATCH = PIXELS * PIXELS * 3, /* numbers of a patch: red, green and blue of its pixels */
    COLORS = 4,
    SHAPES = 3,
    MAX_WORDS = 9, /* "a red square left of a blue circle", and the end */
    WORDS = 16     /* room for the vocabulary */
};
struct thing {
    int color, shape, x, y; /* the center, in pixels */
};
struct scene {
    struct thing things[2]; /* in the order in which the caption names them */
    int above;              /* the first is above the second; else left of it */
    int words[MAX_WORDS];   /* and the end, then 0 */
    int count;              /* words before the end */
    int named[MAX_WORDS];   /* the thing whose color or shape a word says; -1: none */
};
enum { BEGIN = 0, END = 1 };
extern const char *const words[WORDS];
/* held_out: of those pairs of things that no scene for learning has. */
void scene_draw(struct scene *scene, struct random *random, bool held_out);
void scene_paint(const struct scene *scene, struct random *noise, float *patches); /* [25][PATCH] */
int thing_at(const struct scene *scene, int x, int y);        /* whose pixel it is; -1: nobody's */
bool covers(const struct scene *scene, int thing, int patch); /* a tenth of the patch or more */
const char *color_of(int color);                              /* "#D62728" */

/* ---- model.c ----
   picture:  h = patches W + place        h += mlp(norm h), h += self(norm h), h += mlp(norm h)
   caption:  y = word + place             y += self(norm y), y += cross(norm y, norm h),
                                          y += mlp(norm y),  scores = (norm y) W */
struct model;
struct model *model_create(int batch, uint64_t seed);
void model_free(struct model *model);
size_t model_parameters(const struct model *model);
/* One step of learning; returns the loss per word. patches: [batch][25][PATCH]. */
double model_learn(struct model *model, const struct scene *scenes, const float *patches, int count,
                   float rate);
/* Greedy captions, out [count][MAX_WORDS], END behind the last word; weights, if not NULL:
   [count][MAX_WORDS][PATCHES], where the model looked when it chose each word. */
void model_describe(struct model *model, const float *patches, int count, int *out, float *weights);

/* ---- measure.c ---- */
struct setup {
    int steps, batch, tests;
    uint64_t seed;
    bool quiet;
};
struct result {
    size_t parameters;
    double exact, seen; /* share of captions without a mistake: of pairs held out, and of others */
    double colors, shapes; /* mean weight on the thing's patches while its color or shape is said */
    double chance;         /* the share of patches that a thing covers */
    double seconds;
};
struct model *learn(const struct setup *setup);
void measure(struct result *result, struct model *model, const struct setup *setup);
/* Four of five captions of pairs never seen are right, and a thing's patches get twice
   the weight they would get by chance, while its color and while its shape is said. */
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
