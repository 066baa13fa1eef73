/* attention_talking.c - talking heads (Shazeer et al. 2020, section 4): the logits of head h are a
   mixture of the logits of all heads. attention.c mixes the weights. */
#include "attention_axes.h"

#include <math.h>

struct oracle_row oracle_row_of(const struct oracle_row *r, int h)
{
    struct oracle_row other = *r;
    int heads = r->a->heads, key_heads = r->a->key_heads ? r->a->key_heads : heads;
    other.h = h, other.g = h / (heads / key_heads);
    return other;
}

double oracle_mixed_score(const struct oracle_row *r, int s, double *size)
{
    const double *mix = r->in->talking_scores;
    double sum = 0, all = 0;
    if (!mix) return oracle_score(r, s, size);
    for (int g = 0; g < r->a->heads; g++) {
        const struct oracle_row other = oracle_row_of(r, g);
        double by = mix[r->h * r->a->heads + g], own, x = oracle_score(&other, s, &own);
        sum += by * x;
        all += fabs(by) * own + fabs(by * x);
    }
    *size = all;
    return sum;
}
