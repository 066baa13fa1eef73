/* policy.c - the next location: hard attention over all locations, trained by REINFORCE.

     query = state W       key[s] = previews[s] W + b + embedding[s]
     score[s] = query . key[s]             one location is drawn from softmax(score)
     fixation = the coordinates of that location, which are the values attended to

   The draw is not differentiable, but the expected reward is (Williams 1992; Mnih et al. 2014,
   section 3.2):

     d E[reward] = E[(reward - baseline) d log p(location)]

   rapt_attention_backward adds its negative, for gradient descent. At inference the most probable
   location is taken: the same problem with RAPT_NORMALIZER_ARGMAX. */
#include "glimpse.h"
#include <stdlib.h>

const char *const policy_names[POLICIES] = {"learned", "random"};

static rapt_attention over_locations(const struct setup *s)
{
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, s->batch, 1, 1, locations_of(s), KEY);
    a.value_width = 2;
    a.v = (rapt_stride){.row = 2}; /* shared by all pictures: batch stride 0 */
    a.out = (rapt_stride){.batch = 2, .row = 2};
    a.score = RAPT_SCORE_DOT;
    a.normalizer = RAPT_NORMALIZER_SAMPLE;
    a.threads = 1;
    return a;
}

static void choose_randomly(struct network *n, int t, uint64_t seed)
{
    const int rows = n->setup->batch;
    struct random random = random_from(seed, STREAM_LOCATIONS);
    for (int i = (t + 1) * rows; i < (t + 2) * rows; i++) {
        n->chosen[i] = random_below(&random, locations_of(n->setup));
        n->fixation[2 * i] = n->coordinates[2 * n->chosen[i]];
        n->fixation[2 * i + 1] = n->coordinates[2 * n->chosen[i] + 1];
    }
}

/* Returns what the choice after glimpse t saved for the backward pass. */
static rapt_attention_saved saved_of(const struct network *n, int t)
{
    const int next = (t + 1) * n->setup->batch;
    return (rapt_attention_saved){
        .size = sizeof(rapt_attention_saved), .lse = n->lse + next, .chosen = n->chosen + next};
}

void policy_choose(struct network *n, enum policy policy, bool greedy, int t, uint64_t seed)
{
    const int rows = n->setup->batch;
    if (policy == RANDOM) {
        choose_randomly(n, t, seed);
        return;
    }
    rapt_attention a = over_locations(n->setup);
    a.normalizer = greedy ? RAPT_NORMALIZER_ARGMAX : RAPT_NORMALIZER_SAMPLE;
    a.seed = seed;
    const rapt_attention_saved saved = saved_of(n, t);
    must(rapt_attention_forward(&a, n->tape.policy_query + t * rows * KEY, n->tape.policy_keys,
                                n->coordinates, n->fixation + 2 * (t + 1) * rows, &saved,
                                workspace_for(&n->workspace, &a), NULL));
}

void policy_backward(struct network *n)
{
    const int rows = n->setup->batch;
    float *zero =
        xcalloc((size_t)rows, 2 * sizeof(float)); /* dout is 0: the reward does not depend on out */
    rapt_attention a = over_locations(n->setup);
    for (int t = 0; t + 1 < n->setup->glimpses; t++) {
        const rapt_gradients to = {.size = sizeof to,
                                   .q = n->gradient.policy_query + t * rows * KEY,
                                   .k = n->gradient.policy_keys};
        const rapt_attention_saved saved = saved_of(n, t);
        const rapt_reinforce reinforce = {.size = sizeof reinforce,
                                          .reward = n->reward + t * rows,
                                          .baseline = n->tape.baseline + t * rows};
        must(rapt_attention_backward(&a, n->tape.policy_query + t * rows * KEY, n->tape.policy_keys,
                                     n->coordinates, n->fixation + 2 * (t + 1) * rows, &saved, zero,
                                     &reinforce, &to, workspace_for(&n->workspace, &a), NULL));
    }
    free(zero);
}
