/* sinks.c - gradients of the logits of sinks. A sink is a key with the value 0, so its dp is 0, and
   the gradient of its logit is the sum over the queries of -p delta, where p is its weight and
   delta = out.dout. Both come from what forward saved. One member sums a head, in the order of
   sequences and queries. */
#include "attention/flash/backward.h"

#include <math.h>

/* Returns the sum over the queries of a sequence. Statistics and the score of a sink are multiplied
   by `scale`. */
static double sink_gradient(const struct flash_backward *f, const struct sequence *b, int h,
                            float scale)
{
    const rapt_attention *a = f->a;
    size_t at = (size_t)h * (size_t)rapt__query_rows(a) + (size_t)b->query_first;
    const float *statistics = f->statistics + at * STATISTICS;
    double score = (double)rapt__sink_score(*rapt__sink_of(f->c, h), scale), sum = 0;
    for (int t = 0; t < b->queries; t++, statistics += STATISTICS) {
        double max = (double)statistics[0], l = (double)statistics[1];
        if (l == 0) continue; /* fully masked */
        ptrdiff_t out = rapt__query_at(&a->out, b, h, t);
        float delta = f->kernels->dot(f->out + out, f->dout + out, a->value_width);
        sum -= rapt__exp((double)scale * (score - max)) / l * (double)delta;
    }
    return sum;
}

void rapt__flash_sink_gradients(struct team *team, const struct flash_backward *f)
{
    const struct projected *c = f->c;
    bool biased = f->a->mask.bias || c->relative;
    float scale = rapt__statistics_scale(c->scale, f->a->cap, biased);
    for (int h; (h = rapt__team_take(team)) < f->a->heads;) {
        double sum = 0;
        for (int i = 0; i < f->a->batch; i++) {
            struct sequence b = rapt__sequence(f->a, i);
            sum += sink_gradient(f, &b, h, scale);
        }
        f->d->sinks[h] += (float)sum;
    }
    rapt__team_barrier(team);
}
