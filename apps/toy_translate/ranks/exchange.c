/* exchange.c - sums gradients over ranks. Each rank has the gradients of some subtrees of shards.
   It receives one piece of every gradient, adds these in the order of the library's tree, and sends
   the sum to all ranks. Therefore a rank that computes one subtree sends and receives about twice
   the gradient, whatever the number of ranks, and the result does not depend on which rank computed
   which subtree. */
#include "kit/program.h"
#include "ranks.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNED = 16 }; /* a piece is a multiple of this many floats */

/* ---- the plan ---- */

/* Adds the largest subtrees of the shards first .. end - 1, which rank `owner` computes. */
static void add_nodes(struct exchange *x, int owner, int first, int end)
{
    while (first < end) {
        int size = 1;
        while (first % (2 * size) == 0 && first + 2 * size <= end) size *= 2;
        x->owner[x->count] = owner;
        x->nodes[x->count++] = (rapt_subtree){first, size, NULL};
        first += size;
    }
}

static size_t own_piece(const struct exchange *x) /* bytes */
{
    return x->pieces[x->ranks->rank + 1] - x->pieces[x->ranks->rank];
}

/* Fills in everything except the memory for received gradients. */
static void plan_exchange(struct exchange *x, const struct ranks *ranks, int shards, size_t floats)
{
    int first, end, received = 0;
    size_t count = (size_t)ranks->count;
    *x = (struct exchange){.ranks = ranks, .shards = shards, .floats = floats};
    if (shards == 0) return;
    rapt_shards_range(shards, ranks->count, ranks->rank, &x->first, &x->end, NULL);
    x->nodes = xcalloc((size_t)shards, sizeof *x->nodes);
    x->owner = xcalloc((size_t)shards, sizeof *x->owner);
    x->pieces = xcalloc(count + 1, sizeof *x->pieces);
    x->seconds = xcalloc(count, sizeof *x->seconds);
    for (int r = 0; r < ranks->count; r++) {
        rapt_shards_range(shards, ranks->count, r, &first, &end, NULL);
        if (r == ranks->rank) x->own = x->count;
        add_nodes(x, r, first, end);
        if (r == ranks->rank) x->own_count = x->count - x->own;
    }
    for (size_t r = 0; r < count; r++)
        x->pieces[r] = floats / ALIGNED * r / count * ALIGNED * sizeof(float);
    x->pieces[count] = floats * sizeof(float);
    for (int i = 0; i < x->count; i++) received += x->owner[i] != ranks->rank;
    x->bytes = (size_t)received * own_piece(x);
}

void exchange_create(struct exchange *x, const struct ranks *ranks, int shards, size_t floats)
{
    plan_exchange(x, ranks, shards, floats);
    if (x->bytes > 0) x->received = xcalloc(x->bytes, 1);
}

size_t exchange_bytes(const struct ranks *ranks, int shards, size_t floats)
{
    struct exchange x;
    plan_exchange(&x, ranks, shards, floats);
    size_t bytes = x.bytes;
    exchange_free(&x);
    return bytes;
}

void exchange_free(struct exchange *x)
{
    free(x->nodes);
    free(x->owner);
    free(x->pieces);
    free(x->received);
    free(x->seconds);
    *x = (struct exchange){0};
}

/* ---- parts ---- */

int exchange_parts(const struct exchange *x, void *data, const size_t *starts)
{
    const struct ranks *ranks = x->ranks;
    struct transfer *list = xcalloc(2 * (size_t)ranks->count, sizeof *list);
    int count = 0, own = ranks->rank;
    char *bytes = data;
    for (int step = 1; step < ranks->count; step++) {
        int to = (own + step) % ranks->count, from = (own + ranks->count - step) % ranks->count;
        list[count++] =
            (struct transfer){to, true, bytes + starts[own], starts[own + 1] - starts[own], 0};
        list[count++] = (struct transfer){from, false, bytes + starts[from],
                                          starts[from + 1] - starts[from], 0};
    }
    int code = ranks_transfer(ranks, list, count);
    free(list);
    return code;
}

int exchange_records(struct exchange *x, rapt_shard *records, double seconds)
{
    const struct ranks *ranks = x->ranks;
    size_t count = (size_t)ranks->count;
    if (count < 2) return EXIT_OK;
    size_t *shards = xcalloc(count + 1, sizeof *shards);
    size_t *times = xcalloc(count + 1, sizeof *times);
    double *all = xcalloc(count, sizeof *all);
    for (size_t r = 0; r < count; r++) {
        int first, end;
        rapt_shards_range(x->shards, ranks->count, (int)r, &first, &end, NULL);
        shards[r + 1] = (size_t)end * sizeof *records;
        times[r + 1] = (r + 1) * sizeof *all;
    }
    all[ranks->rank] = x->end > x->first ? seconds / (x->end - x->first) : 0;
    int code = exchange_parts(x, records, shards);
    if (code == EXIT_OK) code = exchange_parts(x, all, times);
    for (size_t r = 0; r < count; r++) x->seconds[r] += all[r];
    x->steps++;
    free(shards);
    free(times);
    free(all);
    return code;
}

int exchange_from_first(const struct exchange *x, void *data, size_t size)
{
    size_t count = (size_t)x->ranks->count;
    size_t *starts = xcalloc(count + 1, sizeof *starts);
    for (size_t r = 1; r <= count; r++) starts[r] = size;
    int code = exchange_parts(x, data, starts);
    free(starts);
    return code;
}

/* ---- gradients ---- */

/* A piece is sent in a few chunks, each as soon as it is final. */
enum { CHUNKS = 16, CHUNK_BYTES = 1 << 16 };

static int chunks_of(const struct exchange *x, int rank)
{
    size_t bytes = x->pieces[rank + 1] - x->pieces[rank], count = bytes / CHUNK_BYTES;
    return bytes == 0 ? 0 : count < 1 ? 1 : count > CHUNKS ? CHUNKS : (int)count;
}

/* Returns the offset of a chunk in the gradient, in bytes. The chunk after the last one begins at
   the end of the piece. */
static size_t chunk_at(const struct exchange *x, int rank, int chunk)
{
    size_t piece = x->pieces[rank + 1] - x->pieces[rank], count = (size_t)chunks_of(x, rank);
    size_t unit = ALIGNED * sizeof(float);
    if (count == 0 || chunk == (int)count) return x->pieces[rank + 1];
    return x->pieces[rank] + piece / unit * (size_t)chunk / count * unit;
}

static struct transfer chunk_of(const struct exchange *x, int node, int rank, int chunk)
{
    size_t at = chunk_at(x, rank, chunk);
    return (struct transfer){.size = chunk_at(x, rank, chunk + 1) - at,
                             .number = node * CHUNKS + chunk + 1};
}

static void send_chunk(const struct exchange *x, int node, const float *gradient, int rank,
                       int chunk)
{
    struct transfer t = chunk_of(x, node, rank, chunk);
    t.rank = rank, t.sends = true;
    t.data = (char *)(uintptr_t)gradient + chunk_at(x, rank, chunk);
    ranks_begin(x->flight, &t);
}

static void receive_node(const struct exchange *x, int node)
{
    int own = x->ranks->rank;
    for (int c = 0; c < chunks_of(x, own); c++) {
        struct transfer t = chunk_of(x, node, own, c);
        t.rank = x->owner[node];
        t.data = (char *)x->nodes[node].gradient + (chunk_at(x, own, c) - x->pieces[own]);
        ranks_begin(x->flight, &t);
    }
}

/* Returns this rank's piece of a node's gradient. */
static float *piece_of(const struct exchange *x, float *gradient)
{
    return gradient + x->pieces[x->ranks->rank] / sizeof *gradient;
}

void exchange_depart(struct exchange *x, const rapt_trainer *trainer)
{
    const struct ranks *ranks = x->ranks;
    rapt_subtree *held = xcalloc((size_t)x->shards, sizeof *held);
    float *received = x->received;
    rapt_train_shard_sums(trainer, held, x->shards);
    x->flight = ranks_depart(2 * CHUNKS * x->count);
    for (int i = 0; i < x->count; i++) {
        if (x->owner[i] == ranks->rank) continue;
        x->nodes[i].gradient = received;
        received += own_piece(x) / sizeof *received;
        receive_node(x, i);
    }
    for (int n = 0; n + 1 < x->own_count; n++) {
        x->nodes[x->own + n].gradient = piece_of(x, held[n].gradient);
        for (int step = 1; step < ranks->count; step++) {
            int r = (ranks->rank + step) % ranks->count;
            for (int c = 0; c < chunks_of(x, r); c++)
                send_chunk(x, x->own + n, held[n].gradient, r, c);
        }
    }
    free(held);
}

void exchange_ready(void *user, const rapt_subtree *tree, size_t from, size_t until)
{
    struct exchange *x = user;
    const struct ranks *ranks = x->ranks;
    int node = x->own + x->own_count - 1;
    x->nodes[node].gradient = piece_of(x, tree->gradient);
    for (int step = 1; step < ranks->count; step++) {
        int r = (ranks->rank + step) % ranks->count;
        for (int c = chunks_of(x, r) - 1; c >= 0; c--) {
            size_t first = chunk_at(x, r, c) / sizeof(float);
            if (first >= from && first < until) send_chunk(x, node, tree->gradient, r, c);
        }
    }
}

void exchange_depart_whole(struct exchange *x, const rapt_trainer *trainer)
{
    rapt_subtree *held = xcalloc((size_t)x->shards, sizeof *held);
    int count = rapt_train_shard_sums(trainer, held, x->shards);
    exchange_depart(x, trainer);
    exchange_ready(x, &held[count - 1], 0, x->floats);
    free(held);
}

int exchange_arrive(struct exchange *x)
{
    struct flight *flight = x->flight;
    x->flight = NULL;
    return flight != NULL ? ranks_arrive(x->ranks, flight) : EXIT_OK;
}

int exchange_sum(struct exchange *x, rapt_trainer *trainer)
{
    rapt_message why = {""};
    size_t piece = own_piece(x) / sizeof(float);
    if (x->ranks->count < 2) return EXIT_OK;
    if (rapt_shards_sum(x->shards, x->nodes, x->count, piece, &why) != RAPT_OK)
        return failed("%s", why.text);
    float *sum = rapt_trainer_gradients(trainer, NULL, NULL);
    memmove(piece_of(x, sum), x->nodes[0].gradient, piece * sizeof *sum);
    return exchange_parts(x, sum, x->pieces);
}

/* ---- speed ---- */

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void exchange_watch(struct exchange *x)
{
    enum { STEPS = 20 };
    static const double
        slow = 1.5,
        enough = 5; /* factor of the median; seconds of computing before ranks are compared */
    int count = x->ranks->count, own = x->end - x->first;
    if (count < 2 || x->steps < STEPS || x->seconds[x->ranks->rank] * own < enough) return;
    double *sorted = xcalloc((size_t)count, sizeof *sorted);
    memcpy(sorted, x->seconds, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    double median = sorted[(count - 1) / 2];
    for (int r = 0; r < count && x->ranks->rank == 0; r++)
        if (median > 0 && x->seconds[r] > slow * median)
            print_message("rank %d is slow: it takes %.3g s per shard, others take %.3g s", r,
                          x->seconds[r] / (double)x->steps, median / (double)x->steps);
    memset(x->seconds, 0, (size_t)count * sizeof *x->seconds);
    x->steps = 0;
    free(sorted);
}

/* ---- the gradient of a step from the batches of its shards, added in the order that the library
   defines, whichever rank computes which shard. The gradients of a rank are sent while it computes
   its last shard ---- */

/* Computes the gradient of one shard and its record. */
static int compute_shard(struct exchange *x, rapt_trainer *trainer, int shard,
                         shards_batch_fn *batch, void *user, rapt_shard *record,
                         rapt_status *status, rapt_message *why)
{
    bool departs = shard + 1 == x->end && x->ranks->count > 1 && !x->waits;
    rapt_tokens source, target;
    int code = batch(user, shard, &source, &target);
    if (code != EXIT_OK) return code;
    bool empty = source.batch == 0;
    *record = (rapt_shard){.size = sizeof *record};
    if (departs) exchange_depart(x, trainer);
    *status = rapt_train_shard_early(trainer, shard, empty ? NULL : &source, empty ? NULL : &target,
                                     record, departs ? exchange_ready : NULL, x, why);
    return EXIT_OK;
}

static bool all_finite(const rapt_shard *records, int count)
{
    for (int k = 0; k < count; k++)
        if (!isfinite(records[k].loss)) return false;
    return true;
}

/* Checks for an interrupt before every shard, since mpirun gives an interrupted rank little
   time. */
int shards_gradient(struct exchange *x, rapt_trainer *trainer, shards_batch_fn *batch, void *user,
                    rapt_shard *records, rapt_status *status, rapt_message *why)
{
    double start = now();
    int code = EXIT_OK;
    *status = RAPT_OK;
    for (int k = x->first; *status == RAPT_OK && k < x->end; k++) {
        if (x->ranks->count > 1 && interrupted()) return EXIT_INTERRUPTED;
        code = compute_shard(x, trainer, k, batch, user, &records[k], status, why);
        if (code != EXIT_OK) return code;
    }
    if (*status != RAPT_OK) return EXIT_OK;
    double seconds = now() - start;
    if (x->ranks->count > 1 && x->waits) exchange_depart_whole(x, trainer);
    code = exchange_records(x, records, seconds);
    if (code == EXIT_OK) code = exchange_arrive(x);
    if (code == EXIT_OK && all_finite(records, x->shards)) code = exchange_sum(x, trainer);
    exchange_watch(x);
    return code;
}
