/* glimpse.h - interface header of glimpse, a library that its program and a lesson use: synthetic
   pictures, a retina, an attention network over glimpses, a policy trained by REINFORCE, and its
   evaluation.

   Mnih, Heess, Graves and Kavukcuoglu 2014, "Recurrent Models of Visual Attention", here without
   recurrence: each glimpse attends to all glimpses so far instead of a carried state. */
#ifndef GLIMPSE_H
#define GLIMPSE_H

#include "kit/demo.h"
#include "kit/layers.h"
#include "kit/svg.h"
#include <rapt/rapt.h>

enum { DIGITS = 10, MAX_SIDE = 64, MAX_GLIMPSES = 8, PREVIEW_CELLS = 9, KEY = 16, HEADS = 4 };

/* The reward, which is the only difference between the tasks: the probability of the right digit
   after the last glimpse, or that the last glimpse is at the digit, whichever digit it is. */
enum aim { READ, FIND, AIMS };
extern const char *const aim_names[AIMS];

struct setup {
    enum aim aim;
    int digits;      /* classes */
    int side;        /* a picture has side x side pixels */
    int clutter;     /* number of random strokes */
    int window;      /* a glimpse has window x window pixels at full resolution */
    int cells, blur; /* and cells x cells averages of blur x blur pixels around them */
    int grid, pitch; /* candidate locations: grid x grid, pitch pixels apart */
    int glimpses;    /* glimpses per picture, the first at its center */
    int width;       /* of the network */
    int steps, batch;
    float rate;
    int tests; /* held-out pictures */
    uint64_t seed;
    bool quiet;
};
static inline int locations_of(const struct setup *setup)
{
    return setup->grid * setup->grid;
}

static inline int glimpse_rows(const struct setup *setup)
{
    return setup->glimpses * setup->batch;
}

/* ---- network.c: sizes ---- */
extern const struct setup setup_full, setup_quick; /* quick: fewer digits, a smaller network */
/* The numbers that are read from a picture. */
struct pixels {
    int sharp, blurred; /* pixels of all glimpses, and averages around them */
    int preview;        /* averages that the policy reads before the first glimpse */
    int there;          /* pixels of a picture */
};
struct pixels pixels_of(const struct setup *setup);

/* ---- draw.c ---- */
struct picture {
    int label;
    float x, y;                     /* center of the digit */
    float ink[MAX_SIDE * MAX_SIDE]; /* [side][side], 0 to 1 */
};
/* Streams of random numbers: training and held-out pictures come from different ones. */
enum stream { STREAM_WEIGHTS = 1, STREAM_TRAINING, STREAM_TESTS, STREAM_LOCATIONS };
void picture_make(const struct setup *setup, enum stream stream, uint64_t index,
                  struct picture *picture);

/* ---- sensor.c ---- */
int retina_width(const struct setup *setup);    /* values of a glimpse */
int location_center(const struct setup *setup); /* the location of the first glimpse */
/* coordinates [locations][2]: x, y in pixels */
void location_coordinates(const struct setup *setup, float *coordinates);
/* Writes to previews[locations][PREVIEW_CELLS] the 3 x 3 blurred cells around each location, which
   the policy reads before the first glimpse. */
void retina_preview(const struct setup *setup, const struct picture *picture,
                    const float *coordinates, float *previews);
/* Writes the glimpse of a picture, centered at a point, to x[retina_width]. */
void retina_sample(const struct setup *setup, const struct picture *picture, const float *point,
                   float *x);

/* ---- network.c: attention over the glimpses so far ----
   Rows are time-major: row t * batch + b is glimpse t of picture b. */
struct tape {                   /* activations of a batch, or their gradients */
    float *retina;              /* [rows][retina_width] */
    float *features;            /* [rows][2 width]    relu(retina W + b) */
    float *glimpse;             /* [rows][width]      features W + embedding[location] */
    float *attention_in;        /* [rows][width]      norm(glimpse) */
    float *query, *key, *value; /* [rows][width]      of attention to glimpses */
    float *context;             /* [rows][width]      its result */
    float *attended;            /* [rows][width]      glimpse + context W */
    float *ffn_input;           /* [rows][width]      norm(attended) */
    float *ffn_hidden;          /* [rows][2 width]    relu(ffn_input W + b) */
    float *output;              /* [rows][width]      attended + ffn_hidden W */
    float *state;               /* [rows][width]      norm(output) */
    float *logits;              /* [rows][digits]     state W + b */
    float *baseline;            /* [rows]             state W + b: the expected reward */
    float *policy_query;        /* [rows][KEY]        state W: the query of hard attention */
    float *policy_keys;         /* [batch][locations][KEY]  previews W + b + embedding[location] */
    float *block;               /* holds all of these */
    size_t count;
};
struct network {
    const struct setup *setup;
    struct params params;
    struct linear retina_in, feature_out, query, key, value, attention_out, ffn_in, ffn_out;
    struct linear classifier, baseline_out, policy_query, key_in;
    struct embed location_embed, key_embed;
    struct norm norm1, norm2, norm_out;
    struct tape tape, gradient;
    float *previews;    /* [batch][locations][PREVIEW_CELLS] */
    int *location_ids;  /* [batch][locations] 0, 1, 2, ... */
    float *coordinates; /* [locations][2] */
    float *fixation;    /* [rows][2] coordinates of each glimpse: the output of hard attention */
    int *chosen;        /* [rows] its location */
    float *lse;         /* [rows] hard attention */
    float *context_lse; /* [heads][rows] attention to glimpses */
    float *reward;      /* [rows] */
    struct workspace workspace;
};
void network_create(struct network *network, const struct setup *setup);
void network_free(struct network *network);
/* Computes the policy's keys from previews. */
void network_preview(struct network *network);
/* Computes state, logits and baseline of glimpse t from its retina values. */
void network_glimpse(struct network *network, int t);
/* Computes the gradients of all parameters from those of logits, baseline, policy_query and
   policy_keys. */
void network_backward(struct network *network);

/* ---- policy.c: the next location, by hard attention over all locations ---- */
enum policy { LEARNED, RANDOM, POLICIES };
extern const char *const policy_names[POLICIES];
/* Sets chosen and fixation of glimpse t + 1 from the states of glimpse t. If `greedy` is true,
   takes the most probable location; otherwise draws one. */
void policy_choose(struct network *network, enum policy policy, bool greedy, int t, uint64_t seed);
/* Adds the REINFORCE gradient of all choices, given reward and baseline. */
void policy_backward(struct network *network);

/* ---- train.c ---- */
enum { MAX_REPORTS = 48 };
struct viewer {
    const struct setup *setup;
    enum policy policy;
    struct network network;
    struct picture *pictures; /* [batch] */
    int *labels;              /* [rows] */
    int reports;
    double steps[MAX_REPORTS], success_curve[MAX_REPORTS]; /* on training batches */
    double accuracy;  /* share of held-out pictures that are classified correctly after the last
                         glimpse */
    double hit_rate;  /* share of glimpses at the digit, without the first */
    double last_rate; /* share of last glimpses at the digit */
};
double viewer_success(const struct viewer *viewer); /* accuracy or last_rate, as the aim demands */
void viewer_create(struct viewer *viewer, enum policy policy, const struct setup *setup);
void viewer_free(struct viewer *viewer);
void viewer_train(struct viewer *viewer);
/* Runs a batch of held-out pictures; results stay in pictures and network. */
void viewer_run(struct viewer *viewer, int batch);
void viewer_test(struct viewer *viewer);
bool viewer_found(const struct viewer *viewer, int picture); /* true if the last glimpse is at the
                                                                digit */
int viewer_prediction(const struct viewer *viewer, int picture, int glimpse); /* a digit */

/* ---- train.c: a network without attention, with one hidden layer over all pixels ---- */
struct whole {
    const struct setup *setup;
    double accuracy; /* share of held-out pictures that are classified correctly */
    size_t parameters;
};
/* Trains it on the same pictures as a viewer and tests it. Returns NULL, for run_threads. */
void *whole_train(void *whole);

/* ---- policy.c: compares the gradient estimator with the exact one of a two-armed bandit ---- */
struct bandit {
    int draws;
    double probability[2], reward[2], exact[2]; /* per arm; d E[reward] / d query */
    double mean[2][2], error[2][2]; /* means of the draws, without and with a baseline, and their
                                       standard errors */
    double worst;                   /* largest |mean - exact| in standard errors */
};
int bandit_run(struct bandit *bandit, int draws, uint64_t seed);

/* ---- sensor.c: drawings ---- */
enum { SENSOR_PANELS = 3 };
/* Draws three squares of this side, with gaps between them: the pixels of the window around a
   point, the averages around it, and those of the preview. */
void sensor_draw(struct svg *svg, const struct setup *setup, const struct picture *picture,
                 const float *point, double x, double y, double side, double gap);
/* Draws a picture of the last viewer_run and the numbered windows of its glimpses in a square. */
void path_draw(struct svg *svg, const struct viewer *viewer, int picture, double x, double y,
               double side);
const char *glimpse_color(int glimpse);

/* ---- figure.c ---- */
int figure_write(const char *path, const struct bandit *bandit, struct viewer viewers[POLICIES]);

#endif
