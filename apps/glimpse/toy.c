/* toy.c - two places, known rewards: here the gradient of the expected reward can be written down,

     J = p[0] r[0] + p[1] r[1]      dJ/dq = sum over s of p[s] (r[s] - J) key[s] / sqrt(2)

   and the mean of the gradients of many draws must come to it. A baseline, here J itself, changes
   nothing about the mean, but makes the draws differ less from each other. */
#include "glimpse.h"
#include <math.h>
#include <stdlib.h>

static const float query[2] = {0.6F, -0.4F}, key[2][2] = {{1, 0.5F}, {-0.7F, 1.2F}};
static const float reward_of[2] = {1, 0.2F};

static float find_exact(struct toy *toy)
{
    float x[2], expected = 0;
    for (int s = 0; s < 2; s++) x[s] = (query[0] * key[s][0] + query[1] * key[s][1]) / sqrtf(2);
    softmax(1, 2, x, x);
    for (int s = 0; s < 2; s++) expected += x[s] * reward_of[s];
    for (int s = 0; s < 2; s++) {
        toy->chance[s] = (double)x[s];
        for (int i = 0; i < 2; i++)
            toy->exact[i] += (double)(x[s] * (reward_of[s] - expected) * key[s][i] / sqrtf(2));
    }
    return expected;
}

struct draws {
    float *query, *dquery, *out, *dout, *lse, *reward, *baseline; /* one row for each draw */
    int *chosen;
    void *workspace;
};

/* Mean and standard error of one number of all rows [2], turned to ascend. */
static void summarise(struct toy *toy, int with, const float *gradient)
{
    for (int i = 0; i < 2; i++) {
        double sum = 0, square = 0;
        for (int n = 0; n < toy->draws; n++) sum -= (double)gradient[2 * n + i];
        double mean = sum / toy->draws;
        for (int n = 0; n < toy->draws; n++) {
            double off = -(double)gradient[2 * n + i] - mean;
            square += off * off;
        }
        toy->mean[with][i] = mean;
        toy->error[with][i] = sqrt(square / (toy->draws - 1.0) / toy->draws);
        double far = fabs(mean - toy->exact[i]) / toy->error[with][i];
        toy->worst = far > toy->worst ? far : toy->worst;
    }
}

/* The same query as often as there are draws: each draws its own place. */
static rapt_status draw(struct toy *toy, struct draws *d, uint64_t seed)
{
    static const float value[2] = {0, 1};
    rapt_attention a = rapt_attention_make(1, 1, toy->draws, 2, 2);
    const rapt_gradients to = {.q = d->dquery};
    a.value_width = 1;
    a.v = a.out = (rapt_stride){.row = 1};
    a.normalizer = RAPT_NORMALIZER_SAMPLE;
    a.seed = seed;
    a.threads = 1;
    a.chosen = d->chosen;
    d->workspace = aligned_alloc(64, (rapt_attention_workspace(&a) + 64) & ~(size_t)63);
    if (d->workspace == NULL) return RAPT_NO_MEMORY;
    rapt_status status =
        rapt_attention_forward(&a, d->query, key[0], value, d->out, d->lse, d->workspace);
    for (int n = 0; n < toy->draws; n++) d->reward[n] = reward_of[d->chosen[n] == 1];
    a.reward = d->reward;
    for (int with = 0; with < 2 && status == RAPT_OK; with++) {
        a.baseline = with ? d->baseline : NULL;
        for (int n = 0; n < 2 * toy->draws; n++) d->dquery[n] = 0;
        status = rapt_attention_backward(&a, d->query, key[0], value, d->out, d->lse, d->dout, &to,
                                         d->workspace);
        summarise(toy, with, d->dquery);
    }
    return status;
}

int toy_run(struct toy *toy, int draws, uint64_t seed)
{
    const size_t rows = (size_t)draws;
    *toy = (struct toy){.draws = draws};
    const float expected = find_exact(toy);
    float *block = xcalloc(9 * rows, sizeof *block);
    struct draws d = {block,
                      block + 2 * rows,
                      block + 4 * rows,
                      block + 5 * rows,
                      block + 6 * rows,
                      block + 7 * rows,
                      block + 8 * rows,
                      NULL,
                      NULL};
    d.chosen = xcalloc(rows, sizeof *d.chosen);
    for (size_t n = 0; n < rows; n++) {
        d.query[2 * n] = query[0];
        d.query[2 * n + 1] = query[1];
        d.baseline[n] = expected;
    }
    rapt_status status = draw(toy, &d, seed);
    free(block);
    free(d.chosen);
    free(d.workspace);
    return status == RAPT_OK ? EXIT_OK : failed("attention: %s", rapt_status_text(status));
}
