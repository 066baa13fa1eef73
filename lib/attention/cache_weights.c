/* cache_weights.c - what a query looked at: p[s] = exp(scale q.k[s] - lse), for looking, in
   double, from the keys as the cache keeps them. */
#include "attention/cache.h"

#include <math.h>

void rapt__cache_weights(const struct cache *cache, int sequence, int key_head, const float *q,
                         rapt_score score, float lse, float share, float *weights)
{
    size_t K = (size_t)cache->key_width, panel = rapt__cache_panel(cache, sequence, key_head);
    double scale = (double)rapt__score_scale(score, 0, cache->key_width);
    for (int s = 0; s < cache->counts[sequence]; s++) {
        const float *k = rapt__cache_keys(cache, panel + (size_t)(s / LANES)) + s % LANES;
        double dot = 0;
        for (size_t n = 0; n < K; n++) dot += (double)q[n] * (double)k[n * LANES];
        weights[s] += share * (float)exp(dot * scale - (double)lse);
    }
}
