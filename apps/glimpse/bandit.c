/* bandit.c - REINFORCE on a two-armed bandit with known rewards, where the gradient is exact:

     J = p[0] r[0] + p[1] r[1]      dJ/dq = sum over s of p[s] (r[s] - J) key[s] / sqrt(2)

   The mean of the estimates of many draws must agree with it. A baseline, here J itself, does not
   change the mean and reduces the variance. */
#include "glimpse.h"
#include <math.h>
#include <stdlib.h>

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
