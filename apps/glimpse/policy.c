/* policy.c - the next location by hard attention, and a check of its gradient. */
#include "glimpse.h"
#include <math.h>
#include <stdlib.h>

/* ---- the next location: hard attention over all locations, trained by REINFORCE ----

     query = state W       key[s] = previews[s] W + b + embedding[s]
     score[s] = query . key[s]             one location is drawn from softmax(score)
     fixation = the coordinates of that location, which are the values attended to

   The draw is not differentiable, but the expected reward is (Williams 1992; Mnih et al. 2014,
   section 3.2):

     d E[reward] = E[(reward - baseline) d log p(location)]

   rapt_attention_backward adds its negative, for gradient descent. At inference the most probable
   location is taken: the same problem with RAPT_NORMALIZER_ARGMAX. */

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

/* ---- REINFORCE on a two-armed bandit ----
   The rewards are known, so the exact gradient is, too:

     J = p[0] r[0] + p[1] r[1]      dJ/dq = sum over s of p[s] (r[s] - J) key[s] / sqrt(2)

   The mean of the estimates of many draws must agree with it. A baseline, here J itself, does not
   change the mean and reduces the variance. */

static const float query[2] = {0.6F, -0.4F}, key[2][2] = {{1, 0.5F}, {-0.7F, 1.2F}};
static const float reward_of[2] = {1, 0.2F};

static float find_exact(struct bandit *bandit)
{
    float x[2], expected = 0;
    for (int s = 0; s < 2; s++) x[s] = (query[0] * key[s][0] + query[1] * key[s][1]) / sqrtf(2);
    softmax(1, 2, x, x);
    for (int s = 0; s < 2; s++) expected += x[s] * reward_of[s];
    for (int s = 0; s < 2; s++) {
        bandit->probability[s] = (double)x[s];
        bandit->reward[s] = (double)reward_of[s];
        for (int i = 0; i < 2; i++)
            bandit->exact[i] += (double)(x[s] * (reward_of[s] - expected) * key[s][i] / sqrtf(2));
    }
    return expected;
}

struct draws {
    float *query, *dquery, *out, *dout, *lse, *reward, *baseline; /* one row per draw */
    int *chosen;
    struct workspace workspace;
};

/* Computes mean and standard error of the ascent direction over all rows [2]. */
static void summarize(struct bandit *bandit, int with, const float *gradient)
{
    for (int i = 0; i < 2; i++) {
        double sum = 0, square = 0;
        for (int n = 0; n < bandit->draws; n++) sum -= (double)gradient[2 * n + i];
        double mean = sum / bandit->draws;
        for (int n = 0; n < bandit->draws; n++) {
            double off = -(double)gradient[2 * n + i] - mean;
            square += off * off;
        }
        bandit->mean[with][i] = mean;
        bandit->error[with][i] = sqrt(square / (bandit->draws - 1.0) / bandit->draws);
        double distance = fabs(mean - bandit->exact[i]) / bandit->error[with][i];
        bandit->worst = distance > bandit->worst ? distance : bandit->worst;
    }
}

/* Makes one row per draw, all with the same query. */
static rapt_status bandit_draw(struct bandit *bandit, struct draws *d, uint64_t seed)
{
    static const float value[2] = {0, 1};
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, 1, 1, bandit->draws, 2, 2);
    const rapt_gradients to = {.size = sizeof to, .q = d->dquery};
    a.value_width = 1;
    a.v = a.out = (rapt_stride){.row = 1};
    a.normalizer = RAPT_NORMALIZER_SAMPLE;
    a.seed = seed;
    a.threads = 1;
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = d->lse, .chosen = d->chosen};
    rapt_reinforce reinforce = {.size = sizeof reinforce, .reward = d->reward};
    void *workspace = workspace_for(&d->workspace, &a);
    rapt_status status =
        rapt_attention_forward(&a, d->query, key[0], value, d->out, &saved, workspace, NULL);
    for (int n = 0; n < bandit->draws; n++) d->reward[n] = reward_of[d->chosen[n] == 1];
    for (int with = 0; with < 2 && status == RAPT_OK; with++) {
        reinforce.baseline = with ? d->baseline : NULL;
        for (int n = 0; n < 2 * bandit->draws; n++) d->dquery[n] = 0;
        status = rapt_attention_backward(&a, d->query, key[0], value, d->out, &saved, d->dout,
                                         &reinforce, &to, workspace, NULL);
        summarize(bandit, with, d->dquery);
    }
    return status;
}

int bandit_run(struct bandit *bandit, int draws, uint64_t seed)
{
    const size_t rows = (size_t)draws;
    *bandit = (struct bandit){.draws = draws};
    const float expected = find_exact(bandit);
    float *block = xcalloc(9 * rows, sizeof *block);
    struct draws d = {block,
                      block + 2 * rows,
                      block + 4 * rows,
                      block + 5 * rows,
                      block + 6 * rows,
                      block + 7 * rows,
                      block + 8 * rows,
                      NULL,
                      {0}};
    d.chosen = xcalloc(rows, sizeof *d.chosen);
    for (size_t n = 0; n < rows; n++) {
        d.query[2 * n] = query[0];
        d.query[2 * n + 1] = query[1];
        d.baseline[n] = expected;
    }
    rapt_status status = bandit_draw(bandit, &d, seed);
    free(block);
    free(d.chosen);
    free(d.workspace.data);
    return status == RAPT_OK ? EXIT_OK : failed("attention: %s", rapt_status_text(status));
}
