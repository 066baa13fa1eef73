/* glimpse.h - what the files of this program share: pictures, a retina, a small network of
   attention, the one hard decision it learns, and how all of it is trained and shown.

   Mnih, Heess, Graves and Kavukcuoglu 2014, "Recurrent Models of Visual Attention", here without
   recurrence: instead of a state that is carried along, every look attends to all looks so far. */
#ifndef GLIMPSE_H
#define GLIMPSE_H

#include "kit/layers.h"
#include "kit/program.h"
#include "kit/svg.h"
#include <rapt/rapt.h>

enum { DIGITS = 10, MAX_SIDE = 64, MAX_GLIMPSES = 8, MARKS = 9, KEY = 16, HEADS = 4 };

struct setup {
    int digits;      /* how many of the ten there are */
    int side;        /* a picture has side x side pixels */
    int clutter;     /* loose strokes in it */
    int window;      /* a glimpse is window x window sharp pixels, */
    int cells, blur; /* and cells x cells squares of blur x blur pixels around, averaged */
    int grid, pitch; /* candidate places: grid x grid, pitch pixels apart */
    int glimpses;    /* glimpses of a picture, the first in its middle */
    int width;       /* of the network */
    int steps, batch;
    float rate;
    int tests; /* pictures held out */
    uint64_t seed;
    bool quiet;
};
static inline int locations_of(const struct setup *setup)
{
    return setup->grid * setup->grid;
}

static inline int rows_of(const struct setup *setup)
{
    return setup->glimpses * setup->batch;
}

/* ---- draw.c ---- */
struct picture {
    int label;
    float x, y;                     /* the middle of the digit */
    float ink[MAX_SIDE * MAX_SIDE]; /* [side][side], 0 to 1 */
};
/* Picture `index` of a stream: training and held-out pictures come from different ones. */
enum stream {
    STREAM_WEIGHTS = 1,
    STREAM_TRAINING,
    STREAM_TESTS,
    STREAM_LOCATIONS,
    STREAM_PERMUTED
};
void picture_draw(const struct setup *setup, enum stream stream, uint64_t index,
                  struct picture *picture);

/* ---- retina.c ---- */
int retina_width(const struct setup *setup);                 /* numbers of a glimpse */
int place_middle(const struct setup *setup);                 /* where the first look goes */
void place_points(const struct setup *setup, float *points); /* [places][2]: x, y in pixels */
/* marks[places][MARKS]: the 3 x 3 blurred squares around each place, which the corner of the eye
   sees before any look. */
void retina_preview(const struct setup *setup, const struct picture *picture, const float *points,
                    float *marks);
/* x[retina_width] of a picture, seen from a point. */
void retina_see(const struct setup *setup, const struct picture *picture, const float *point,
                float *x);

/* ---- network.c, core.c: attention over the glimpses so far ----
   All rows are by time: row t * batch + b is look t at picture b. */
struct tape {                   /* what is computed from a batch, or its gradients */
    float *seen;                /* [rows][retina_width] */
    float *what;                /* [rows][2 width]    relu(seen W + b) */
    float *glimpse;             /* [rows][width]      what W + table[place] */
    float *calm;                /* [rows][width]      norm(glimpse) */
    float *query, *key, *value; /* [rows][width]      of attention over looks */
    float *mixed;               /* [rows][width]      its result */
    float *known;               /* [rows][width]      glimpse + mixed W */
    float *calmer;              /* [rows][width]      norm(known) */
    float *hidden;              /* [rows][2 width]    relu(calmer W + b) */
    float *thought;             /* [rows][width]      known + hidden W */
    float *state;               /* [rows][width]      norm(thought) */
    float *logits;              /* [rows][digits]     state W + b */
    float *expected;            /* [rows]             state W + b: the baseline */
    float *ask;                 /* [rows][KEY]        state W: the query of hard attention */
    float *locations;           /* [batch][places][KEY]   marks W + b + table[place]: its keys */
    float *block;               /* all of these */
    size_t count;
};
struct network {
    const struct setup *setup;
    struct params params;
    struct linear see, tell, query, key, value, mix, think, conclude, classify, expect;
    struct linear ask, mark;
    struct embed where, location;
    struct norm calm, calmer, last;
    struct tape tape, gradient;
    float *marks;     /* [batch][places][MARKS] */
    int *numbers;     /* [batch][places] of places */
    float *points;    /* [places][2] */
    float *glimpsed;  /* [rows][2] where: the result of hard attention */
    int *chosen;      /* [rows] */
    float *lse;       /* [rows] of hard attention */
    float *mixed_lse; /* [heads][rows] of attention over looks */
    float *reward;    /* [rows] */
    void *workspace;
    size_t workspace_bytes;
};
void network_create(struct network *network, const struct setup *setup);
void network_free(struct network *network);
void *network_workspace(struct network *network, const rapt_attention *a);
/* From marks to the keys of places. */
void network_preview(struct network *network);
/* From what is seen at look t to its state, its logits and its baseline. */
void network_glimpse(struct network *network, int t);
/* Gradients of everything, from those of logits, expected, ask and places. */
void network_back(struct network *network);

/* ---- decide.c: where to look next, as hard attention over places ---- */
enum looker { LEARNED, RANDOM, LOOKERS };
extern const char *const looker_names[LOOKERS];
/* Sets chosen and looked of look t + 1 from the states of look t. */
void decide(struct network *network, enum looker looker, bool greedy, int t, uint64_t seed);
/* Adds the score-function gradient of all decisions, given reward and baseline. */
void decide_back(struct network *network);

/* ---- learn.c ---- */
enum { MAX_REPORTS = 48 };
struct learner {
    const struct setup *setup;
    enum looker looker;
    struct network network;
    struct picture *pictures; /* [batch] */
    int *labels;              /* [rows] */
    int reports;
    double steps[MAX_REPORTS], share[MAX_REPORTS]; /* right while learning */
    double right;  /* share of held-out pictures that are read rightly */
    double landed; /* share of looks after the first that are near the digit */
};
void learner_create(struct learner *learner, enum looker looker, const struct setup *setup);
void learner_free(struct learner *learner);
void learner_train(struct learner *learner);
/* Looks at a batch of held-out pictures; then pictures and network tell what was seen. */
void learner_watch(struct learner *learner, int batch);
void learner_test(struct learner *learner);
int learner_says(const struct learner *learner, int picture, int look); /* the likeliest digit */

/* ---- toy.c: the estimator against the truth, where the truth can be computed ---- */
struct toy {
    int draws;
    double chance[2], exact[2];     /* of the places; d (expected reward) / d query */
    double mean[2][2], error[2][2]; /* of the draws, without and with a baseline; standard errors */
    double worst;                   /* distance of a mean from the exact value in standard errors */
};
int toy_run(struct toy *toy, int draws, uint64_t seed);

/* ---- page.c ---- */
int page_draw(const char *path, const struct toy *toy, struct learner learners[LOOKERS]);

#endif
