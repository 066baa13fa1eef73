/* cluster.c - formulas for the time of a step of many ranks, given its measured parts. */
#include "machines.h"

#include <math.h>
#include <rapt/train.h>

const char *const cluster_names[TERMS] = {"shards",    "waiting for the slowest",
                                          "records",   "gradients to their sums",
                                          "adding up", "sums to all",
                                          "optimizer"};

enum { CHUNKS = 16, CHUNK_BYTES = 1 << 16 }; /* as in apps/toy_translate/ranks/exchange.c */

/* Returns the mean of the largest of `count` independent standard normal variables: the integral of
   x d(Phi(x)^count) by the rectangle rule, which is accurate to 1e-9 for this smooth function. */
static double largest_normal(int count)
{
    const double step = 1.0 / 64, pi = 3.14159265358979323846;
    double sum = 0;
    for (double x = -9; x < 9; x += step) {
        double density = exp(-x * x / 2) / sqrt(2 * pi), below = erfc(-x / sqrt(2)) / 2;
        sum += x * count * pow(below, count - 1) * density * step;
    }
    return sum;
}

/* ---- the plan ---- */

static int shards_of(const struct cluster *c, int ranks, int rank)
{
    int first = 0, end = 0;
    rapt_shards_range(c->shards, ranks, rank, &first, &end, NULL);
    return end - first;
}

/* Returns the number of maximal complete subtrees that a rank's shards form. */
static int nodes_of(const struct cluster *c, int ranks, int rank)
{
    int first = 0, end = 0, nodes = 0;
    rapt_shards_range(c->shards, ranks, rank, &first, &end, NULL);
    for (; first < end; nodes++) {
        int size = 1;
        while (first % (2 * size) == 0 && first + 2 * size <= end) size *= 2;
        first += size;
    }
    return nodes;
}

/* ---- all ranks on one machine ---- */

/* Returns the number of ranks on the core with the most ranks. */
static int turns_of(const struct cluster *c, int ranks)
{
    return c->cores > 0 ? (ranks + c->cores - 1) / c->cores : 1;
}

/* How long ranks that share the cores of one machine take for their shards. The scheduler is
   modeled on the average behavior of Linux: it spreads ranks over cores when they begin, the ranks
   on a core share it equally, and a core that runs out of work takes a rank from the core with the
   most ranks. Which ranks begin on the same core is chance, so the mean over all rotations is
   returned. */
struct ranks_on_cores {
    int ranks, cores;
    double left[CLUSTER_SHARED]; /* shards of each rank */
    int core[CLUSTER_SHARED];    /* core of each rank with shards left, else -1 */
    int on[CLUSTER_SHARED];      /* number of ranks on each core */
};

/* Assigns ranks to cores in turn, starting from rank `first`. */
static void spread_ranks(struct ranks_on_cores *x, const struct cluster *c, int ranks, int first)
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

/* Returns the seconds until all of `ranks` ranks (at most CLUSTER_SHARED) that share c->cores > 0
   cores have computed their shards. */
static double shared_shards(const struct cluster *c, int ranks)
{
    double time = 0;
    for (int first = 0; first < ranks; first++) {
        struct ranks_on_cores x;
        spread_ranks(&x, c, ranks, first);
        for (double part = 1; part > 0;) {
            balance(&x);
            part = go_on(&x, c);
            time += part;
        }
    }
    return time / ranks;
}

/* Returns the time of the optimizer, as measured with 1, 2, ... ranks at once; more ranks share the
   same cores. */
static double shared_step(const struct cluster *c, int ranks)
{
    int known = ranks < c->together ? ranks : c->together;
    int own = known > c->cores ? known : c->cores;
    return c->step_of[known - 1] * (ranks > own ? (double)ranks / own : 1);
}

static double shards_time(const struct cluster *c, int ranks, int max)
{
    return c->cores > 0 ? shared_shards(c, ranks) : max * c->shard;
}

/* Returns the time spent waiting for the slowest rank. The deviations of shards that are computed
   one after the other, by a rank or by the ranks that share a core, add up. */
static double wait_time(const struct cluster *c, int ranks, int max)
{
    int cores = c->cores > 0 && c->cores < ranks ? c->cores : ranks;
    double shards = max * (double)ranks / cores;
    return cores > 1 ? c->spread * c->shard * sqrt(shards) * largest_normal(cores) : 0;
}

/* ---- messages ---- */

static int chunks_of(double piece)
{
    double count = floor(piece / CHUNK_BYTES);
    return count < 1 ? 1 : count > CHUNKS ? CHUNKS : (int)count;
}

/* Returns the bandwidth of each rank while all send. */
static double bandwidth_among(const struct cluster *c, int ranks)
{
    if (c->cores > 0 && ranks <= c->together && c->bandwidth_of[ranks - 1] > 0)
        return c->bandwidth_of[ranks - 1];
    return c->bandwidth / turns_of(c, ranks);
}

/* Returns the time of a transfer in which every rank sends `messages` messages, the busiest rank
   `bytes` bytes. */
static double transfer(const struct cluster *c, int ranks, double messages, double bytes)
{
    double time = c->latency + messages * c->message;
    return time * turns_of(c, ranks) + bytes / bandwidth_among(c, ranks);
}

/* Returns the time for gradients to reach the ranks that sum them, without the part that the last
   shard's backward pass hides: what becomes final before its end and does not take the
   processor. */
static double scatter(const struct cluster *c, int ranks, int all_nodes)
{
    double piece = c->bytes / ranks, busiest = 0, messages = 0;
    for (int r = 0; r < ranks; r++) {
        int own = nodes_of(c, ranks, r);
        double out = own * (c->bytes - piece), in = (all_nodes - own) * piece;
        busiest = fmax(busiest, fmax(out, in));
        messages = fmax(messages, (double)own * (ranks - 1) * chunks_of(piece));
    }
    double time = transfer(c, ranks, messages, busiest), free = (1 - c->copying) * time;
    return c->copying * time + c->last * free +
           fmax(0, (1 - c->last) * free - c->window * c->shard);
}

double cluster_time(const struct cluster *c, int ranks, double terms[TERMS])
{
    double piece = c->bytes / ranks, total = 0;
    int nodes = 0, max_shards = 0;
    for (int r = 0; r < ranks; r++) {
        nodes += nodes_of(c, ranks, r);
        if (shards_of(c, ranks, r) > max_shards) max_shards = shards_of(c, ranks, r);
    }
    bool several = ranks > 1;
    terms[TERM_SHARDS] = shards_time(c, ranks, max_shards);
    terms[TERM_WAIT] = wait_time(c, ranks, max_shards);
    terms[TERM_RECORDS] = several ? 2 * transfer(c, ranks, ranks - 1, 0) : 0;
    terms[TERM_SCATTER] = several ? scatter(c, ranks, nodes) : 0;
    terms[TERM_SUM] = several ? c->sum * turns_of(c, ranks) * nodes * piece : 0;
    terms[TERM_GATHER] = several ? transfer(c, ranks, ranks - 1, c->bytes - piece) : 0;
    terms[TERM_STEP] = c->cores > 0 ? shared_step(c, ranks) : c->step;
    for (int i = 0; i < TERMS; i++) total += terms[i];
    return total;
}

double cluster_efficiency(const struct cluster *c, int ranks)
{
    double terms[TERMS];
    return cluster_time(c, 1, terms) / (ranks * cluster_time(c, ranks, terms));
}

enum cluster_term cluster_excess(const struct cluster *c, int ranks)
{
    double one[TERMS], all[TERMS];
    int largest = 0;
    cluster_time(c, 1, one);
    cluster_time(c, ranks, all);
    for (int i = 1; i < TERMS; i++)
        if (all[i] - one[i] / ranks > all[largest] - one[largest] / ranks) largest = i;
    return (enum cluster_term)largest;
}

int cluster_limit(const struct cluster *c, double threshold)
{
    for (int ranks = 1; ranks <= c->shards; ranks *= 2)
        if (cluster_efficiency(c, ranks) < threshold) return ranks;
    return 0;
}
