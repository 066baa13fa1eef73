/* decide.c - where to look next: hard attention over the candidate places.

     query = state W       key[s] = marks[s] W + b + table[s]
     score[s] = query . key[s]                     one place is drawn from softmax(score)
     out      = the coordinates of that place, since these are the values attended to

   Keys come from what the corner of the eye sees of a place, blurred; the query from all looks so
   far. Which place is drawn cannot be differentiated; the expected reward can (Williams 1992; Mnih
   et al. 2014, section 3.2):

     d E[reward] = E[(reward - baseline) d log p(place)]

   and that is what rapt_attention_backward adds, turned to descend. Used and not trained, the best
   place is taken: the same problem with RAPT_NORMALIZER_ARGMAX. */
#include "glimpse.h"
#include <stdlib.h>

const char *const looker_names[LOOKERS] = {"learned", "random"};

static rapt_attention over_locations(const struct setup *s)
{
    rapt_attention a = rapt_attention_make(s->batch, 1, 1, locations_of(s), KEY);
    a.value_width = 2;
    a.v = (rapt_stride){.row = 2}; /* the same for every picture: batch stride 0 */
    a.out = (rapt_stride){.batch = 2, .row = 2};
    a.score = RAPT_SCORE_DOT;
    a.normalizer = RAPT_NORMALIZER_SAMPLE;
    a.threads = 1;
    return a;
}

static void decide_blindly(struct network *n, int t, uint64_t seed)
{
    const int rows = n->setup->batch;
    struct random random = random_from(seed, STREAM_LOCATIONS);
    for (int i = (t + 1) * rows; i < (t + 2) * rows; i++) {
        n->chosen[i] = random_below(&random, locations_of(n->setup));
        n->glimpsed[2 * i] = n->points[2 * n->chosen[i]];
        n->glimpsed[2 * i + 1] = n->points[2 * n->chosen[i] + 1];
    }
}

void decide(struct network *n, enum looker looker, bool greedy, int t, uint64_t seed)
{
    const int rows = n->setup->batch;
    if (looker == RANDOM) {
        decide_blindly(n, t, seed);
        return;
    }
    rapt_attention a = over_locations(n->setup);
    a.normalizer = greedy ? RAPT_NORMALIZER_ARGMAX : RAPT_NORMALIZER_SAMPLE;
    a.seed = seed;
    a.chosen = n->chosen + (t + 1) * rows;
    rapt_attention_forward(&a, n->tape.ask + t * rows * KEY, n->tape.locations, n->points,
                           n->glimpsed + 2 * (t + 1) * rows, n->lse + (t + 1) * rows,
                           network_workspace(n, &a));
}

void decide_back(struct network *n)
{
    const int rows = n->setup->batch;
    float *nothing = xcalloc((size_t)rows, 2 * sizeof(float)); /* out itself has no gradient */
    rapt_attention a = over_locations(n->setup);
    for (int t = 0; t + 1 < n->setup->glimpses; t++) {
        const rapt_gradients to = {.q = n->gradient.ask + t * rows * KEY,
                                   .k = n->gradient.locations};
        a.chosen = n->chosen + (t + 1) * rows;
        a.reward = n->reward + t * rows;
        a.baseline = n->tape.expected + t * rows;
        rapt_attention_backward(&a, n->tape.ask + t * rows * KEY, n->tape.locations, n->points,
                                n->glimpsed + 2 * (t + 1) * rows, n->lse + (t + 1) * rows, nothing,
                                &to, network_workspace(n, &a));
    }
    free(nothing);
}
