/* position.c - the slopes of ALiBi, and sinusoids (Vaswani et al. 2017, section 3.5) in three
   common layouts.

   The angle of pair i at position p is p / 10000^(2i / D), or p / 10000^(i / (D/2 - 1)) with
   RAPT_POSITION_CONCATENATED_N1. rapt_position defines the columns of its sine and cosine. */
#include "model/model.h"

static double rate(rapt_position position, int pair, int pairs)
{
    int span = position == RAPT_POSITION_CONCATENATED_N1 && pairs > 1 ? pairs - 1 : pairs;
    return rapt__exp(-rapt__log(10000.0) * pair / span);
}

/* Returns a slope as defined by Press, Smith and Lewis 2022, section 3, or by the authors' code if
   the number of heads is not a power of two. */
double rapt__slope(int heads, int head)
{
    int power = 1;
    while (power <= heads / 2) power *= 2;
    if (head < power) return rapt__pow(2, -8.0 * (head + 1) / power);
    return rapt__pow(2, -8.0 * (2 * (head - power) + 1) / (2 * power));
}

void rapt__positions_fill(const rapt_config *config, float *table)
{
    enum { SOME = 64 }; /* pairs whose frequencies are held at a time */
    const struct kernels *k = rapt__kernels();
    const int width = config->width, pairs = width / 2;
    const bool interleaved = config->position == RAPT_POSITION_INTERLEAVED;
    const int step = interleaved ? 2 : 1, cosines = interleaved ? 1 : pairs;
    double rates[SOME];
    float sine[SOME], cosine[SOME];
    for (int i0 = 0, count; i0 < pairs; i0 += count) {
        count = rapt__min(pairs - i0, SOME);
        for (int i = 0; i < count; i++) rates[i] = rate(config->position, i0 + i, pairs);
        for (int p = 0; p < config->positions; p++) {
            float *to = table + (size_t)p * (size_t)width + i0 * step;
            k->sine_cosine_row((double)config->first_position + p, rates, count, sine, cosine);
            for (int i = 0; i < count; i++) {
                to[i * step] = sine[i];
                to[i * step + cosines] = cosine[i];
            }
        }
    }
}
