/* embed.c - embedding lookup and its gradient: y[row] += table[id], dtable[id] += dy[row]. */
#include "kit/layers.h"
#include <math.h>

void embed_create(struct embed *embed, struct params *params, struct random *random, int tokens,
                  int width)
{
    size_t count = (size_t)tokens * (size_t)width;
    *embed = (struct embed){.tokens = tokens, .width = width};
    embed->table = params_take(params, count, &embed->dtable);
    for (size_t i = 0; i < count; i++)
        embed->table[i] = random_normal(random) / sqrtf((float)width);
}

void embed_forward(const struct embed *embed, int rows, const int *ids, float *y)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < embed->width; j++)
            y[r * embed->width + j] += embed->table[ids[r] * embed->width + j];
}

void embed_backward(const struct embed *embed, int rows, const int *ids, const float *dy)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < embed->width; j++)
            embed->dtable[ids[r] * embed->width + j] += dy[r * embed->width + j];
}
