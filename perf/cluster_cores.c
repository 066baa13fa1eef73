/* cluster_cores.c - computes how long ranks that share the cores of one machine take for their
   shards. The scheduler is modeled on the average behavior of Linux: it spreads ranks over cores
   when they begin, the ranks on a core share it equally, and a core that runs out of work takes a
   rank from the core with the most ranks. Which ranks begin on the same core is chance, so the mean
   over all rotations is returned. */
#include "cluster.h"

#include <math.h>
#include <rapt/train.h>

struct ranks_on_cores {
    int ranks, cores;
    double left[CLUSTER_SHARED]; /* shards of each rank */
    int core[CLUSTER_SHARED];    /* core of each rank with shards left, else -1 */
    int on[CLUSTER_SHARED];      /* number of ranks on each core */
};

/* Assigns ranks to cores in turn, starting from rank `first`. */
static void spread(struct ranks_on_cores *x, const struct cluster *c, int ranks, int first)
{
    *x = (struct ranks_on_cores){.ranks = ranks, .cores = c->cores};
    for (int i = 0; i < ranks; i++) {
        int rank = (first + i) % ranks, begin = 0, end = 0;
        rapt_shards_range(c->shards, ranks, rank, &begin, &end, NULL);
        x->left[rank] = end - begin;
        x->core[rank] = end > begin ? i % c->cores : -1;
        if (end > begin) x->on[i % c->cores]++;
    }
}

/* Lets each idle core take a rank from the core with the most ranks. */
static void balance(struct ranks_on_cores *x)
{
    for (int idle = 0; idle < x->cores; idle++) {
        int fullest = 0, r = 0;
        if (x->on[idle] > 0) continue;
        for (int i = 1; i < x->cores; i++)
            if (x->on[i] > x->on[fullest]) fullest = i;
        if (x->on[fullest] < 2) return;
        while (x->core[r] != fullest) r++;
        x->core[r] = idle;
        x->on[fullest]--, x->on[idle]++;
    }
}

/* Advances until the next rank is done. Returns the time until then, or 0 if all are done. */
static double go_on(struct ranks_on_cores *x, const struct cluster *c)
{
    int busy = 0;
    double min = INFINITY;
    for (int i = 0; i < x->cores; i++) busy += x->on[i] > 0;
    if (busy == 0) return 0;
    double shard = c->shard_of[(busy < c->together ? busy : c->together) - 1];
    for (int r = 0; r < x->ranks; r++)
        if (x->core[r] >= 0) min = fmin(min, x->left[r] * x->on[x->core[r]]);
    for (int r = 0; r < x->ranks; r++)
        if (x->core[r] >= 0) x->left[r] -= min / x->on[x->core[r]];
    for (int r = 0; r < x->ranks; r++) {
        if (x->core[r] < 0 || x->left[r] > 1e-9) continue;
        x->on[x->core[r]]--;
        x->core[r] = -1;
    }
    return min * shard;
}

double cluster_shared_shards(const struct cluster *c, int ranks)
{
    double time = 0;
    for (int first = 0; first < ranks; first++) {
        struct ranks_on_cores x;
        spread(&x, c, ranks, first);
        for (double part = 1; part > 0;) {
            balance(&x);
            part = go_on(&x, c);
            time += part;
        }
    }
    return time / ranks;
}
