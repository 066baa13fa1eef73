/* heads.c - by how much the heads of one layer differ in what they read. */
#include "inside.h"
#include <math.h>
#include <stdlib.h>

enum { SENTENCES = 64, WEIGHTS = ROWS * ROWS };

struct pair_of_heads { /* the two heads of one layer that differ most, and by how much */
    int layer, heads[2];
    double distance;
};

/* Adds to `sums` for each pair of heads the mean distance of their rows in one sentence. */
static void add_distances(struct learner *small, const struct ids_pair *pair, int layer,
                          float (*weights)[WEIGHTS], double sums[HEADS][HEADS])
{
    const int rows = pair->target.count + 1, columns = pair->source.count + 1;
    for (int h = 0; h < HEADS; h++)
        small_weights(small, pair, RAPT_WEIGHTS_CROSS, layer, h, weights[h]);
    for (int a = 0; a < HEADS; a++)
        for (int b = 0; b < a; b++)
            for (int i = 0; i < rows * columns; i++)
                sums[a][b] += fabs((double)(weights[a][i] - weights[b][i])) / 2 / rows;
}

static struct pair_of_heads most_different(struct learner *small, uint64_t seed)
{
    struct pair_of_heads most = {0, {0, 0}, -1};
    float(*weights)[WEIGHTS] = xcalloc(HEADS, sizeof *weights);
    for (int layer = 0; layer < DECODER_LAYERS; layer++) {
        struct random random = random_from(seed, 85);
        double sums[HEADS][HEADS] = {{0}};
        for (int i = 0; i < SENTENCES; i++) {
            struct chase_pair pair;
            chase_draw(&random, true, &pair);
            add_distances(small, &pair.ids, layer, weights, sums);
        }
        for (int a = 0; a < HEADS; a++)
            for (int b = 0; b < a; b++)
                if (sums[a][b] / SENTENCES > most.distance)
                    most = (struct pair_of_heads){layer, {b, a}, sums[a][b] / SENTENCES};
    }
    free(weights);
    return most;
}

static double largest_distance(struct learner *small, const void *seed)
{
    return most_different(small, *(const uint64_t *)seed).distance;
}

void show_head_distances(struct page *page, struct learner *small, uint64_t seed)
{
    const struct pair_of_heads most = most_different(small, seed);
    page_paragraph(
        page, SHORT,
        "Do the heads of one layer ask different questions? In %d sentences that were kept out of "
        "training, we compare the rows of two heads of cross-attention word by word. Their "
        "distance is 0 if they read the same, and 1 if they have nothing in common. Heads %d and "
        "%d of layer %d differ most, by %.2f on average.",
        SENTENCES, most.heads[0] + 1, most.heads[1] + 1, most.layer + 1, most.distance);
    learner_claim(small, page,
                  "cross-attention: distance of the two heads of a layer that differ most",
                  largest_distance, &seed, AT_LEAST, 0.4);
}
