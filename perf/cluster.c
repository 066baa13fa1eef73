/* cluster.c - formulas: measured parts of a step in, the time of a step of many ranks out. */
#include "cluster.h"

#include <math.h>
#include <rapt/train.h>

const char *const cluster_names[TERMS] = {"shards",    "waiting for the slowest",
                                          "records",   "gradients to their sums",
                                          "adding up", "sums to all",
                                          "optimizer"};

enum { CHUNKS = 16, CHUNK_BYTES = 1 << 16 }; /* of a piece, as apps/toy_translate/exchange.c */

/* Integral of x d(Phi(x)^n), by the rule of rectangles, which is exact to 1e-9 for such a curve. */
double largest_normal(int count)
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

/* The largest complete subtrees of a rank's shards. */
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

/* ---- one machine for all ---- */

/* What a part takes while `active` cores are at work: from `alone` to `busy` as they fill. */
static double crowded(const struct cluster *c, int active, double alone, double busy)
{
    if (c->cores < 2 || active <= 1) return alone;
    return alone +
           (busy - alone) * (active < c->cores ? active - 1 : c->cores - 1) / (c->cores - 1);
}

/* How many ranks share the core that has most of them. */
static int turns_of(const struct cluster *c, int ranks)
{
    return c->cores > 0 ? (ranks + c->cores - 1) / c->cores : 1;
}

/* A part that is the same for all ranks, and too short for the system to move any. */
static double shared(const struct cluster *c, int ranks, double alone, double busy)
{
    if (c->cores == 0) return alone;
    return crowded(c, ranks, alone, busy) * turns_of(c, ranks);
}

/* Shards of ranks that take turns on their cores. */
struct turns {
    double left[CLUSTER_SHARED]; /* shards, of each rank */
    int core[CLUSTER_SHARED];
    int ranks, cores;
};

static int waiting_on(const struct turns *t, int core)
{
    int count = 0;
    for (int r = 0; r < t->ranks; r++) count += t->left[r] > 0 && t->core[r] == core;
    return count;
}

/* A core without work takes a rank from one that has several. How many cores have work? */
static int balance(struct turns *t)
{
    int active = 0;
    for (int core = 0; core < t->cores; core++)
        for (int r = t->ranks - 1; r >= 0 && waiting_on(t, core) == 0; r--)
            if (t->left[r] > 0 && waiting_on(t, t->core[r]) > 1) t->core[r] = core;
    for (int core = 0; core < t->cores; core++) active += waiting_on(t, core) > 0;
    return active;
}

/* Until the next rank has done its shards; in shards. */
static double advance(struct turns *t)
{
    double next = 0;
    int ended = 0, sharing[CLUSTER_SHARED];
    for (int r = 0; r < t->ranks; r++) {
        sharing[r] = waiting_on(t, t->core[r]);
        double end = t->left[r] * sharing[r];
        if (t->left[r] > 0 && (next <= 0 || end < next)) next = end, ended = r;
    }
    for (int r = 0; r < t->ranks; r++)
        if (t->left[r] > 0) t->left[r] = fmax(0, t->left[r] - next / sharing[r]);
    t->left[ended] = 0;
    return next;
}

static double shards_time(const struct cluster *c, int ranks)
{
    struct turns t = {.ranks = ranks, .cores = c->cores};
    double time = 0;
    int max = 0;
    for (int r = 0; r < ranks; r++) {
        int shards = shards_of(c, ranks, r);
        if (shards > max) max = shards;
        if (c->cores > 0) t.left[r] = shards, t.core[r] = r % c->cores;
    }
    if (c->cores == 0) return max * c->shard;
    for (int active; (active = balance(&t)) > 0;)
        time += advance(&t) * crowded(c, active, c->shard, c->busy_shard);
    return time;
}

/* ---- messages ---- */

static int chunks_of(double piece)
{
    double count = floor(piece / CHUNK_BYTES);
    return count < 1 ? 1 : count > CHUNKS ? CHUNKS : (int)count;
}

/* Everybody sends `messages` messages, the busiest rank `bytes` bytes of them. */
static double transfer(const struct cluster *c, int ranks, double messages, double bytes)
{
    double time = c->latency + messages * c->message + bytes / c->bandwidth;
    return time * turns_of(c, ranks);
}

/* The way of gradients to the ranks that sum them, of which the backward pass of a last shard hides
   what neither takes the processor nor is final last. */
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
    terms[TERM_SHARDS] = shards_time(c, ranks);
    terms[TERM_WAIT] =
        several ? c->spread * c->shard * sqrt(max_shards) * largest_normal(ranks) : 0;
    terms[TERM_RECORDS] = several ? 2 * transfer(c, ranks, ranks - 1, 0) : 0;
    terms[TERM_SCATTER] = several ? scatter(c, ranks, nodes) : 0;
    terms[TERM_SUM] = several ? shared(c, ranks, c->sum, c->sum) * nodes * piece : 0;
    terms[TERM_GATHER] = several ? transfer(c, ranks, ranks - 1, c->bytes - piece) : 0;
    terms[TERM_STEP] = shared(c, ranks, c->step, c->busy_step);
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
