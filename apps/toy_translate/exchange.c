/* exchange.c - sums over ranks: each rank has the gradients of subtrees of shards, and sums one
   piece of the floats over all of them in the order of the library's tree; then the pieces go to
   all. So every rank sends and receives at most about twice the gradient, whatever the number of
   ranks, and which rank had which subtree changes no bit. */
#include "exchange.h"

#include "kit/program.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGNED = 16 }; /* floats of a piece are a multiple of these */

/* ---- the plan ---- */

/* The largest subtrees of shards first .. end - 1, which rank `owner` will have. */
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

void exchange_create(struct exchange *x, const struct ranks *ranks, int shards, size_t floats)
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
        add_nodes(x, r, first, end);
    }
    for (size_t r = 0; r < count; r++)
        x->pieces[r] = floats / ALIGNED * r / count * ALIGNED * sizeof(float);
    x->pieces[count] = floats * sizeof(float);
    for (int i = 0; i < x->count; i++) received += x->owner[i] != ranks->rank;
    x->bytes = (size_t)received * own_piece(x);
    if (received > 0) x->received = xcalloc((size_t)received, own_piece(x));
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
            (struct transfer){to, true, bytes + starts[own], starts[own + 1] - starts[own]};
        list[count++] =
            (struct transfer){from, false, bytes + starts[from], starts[from + 1] - starts[from]};
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

/* This rank's piece of all nodes, into x->nodes, and what must move for that; returns how much. */
static int plan_sum(struct exchange *x, const rapt_subtree *held, struct transfer *list)
{
    const struct ranks *ranks = x->ranks;
    size_t at = x->pieces[ranks->rank], piece = own_piece(x);
    char *received = (char *)x->received;
    int count = 0, own = 0;
    for (int i = 0; i < x->count; i++) {
        if (x->owner[i] != ranks->rank) {
            x->nodes[i].gradient = (float *)(void *)received;
            list[count++] = (struct transfer){x->owner[i], false, received, piece};
            received += piece;
            continue;
        }
        char *block = (char *)held[own++].gradient;
        x->nodes[i].gradient = (float *)(void *)(block + at);
        for (int step = 1; step < ranks->count; step++) {
            int r = (ranks->rank + step) % ranks->count;
            list[count++] =
                (struct transfer){r, true, block + x->pieces[r], x->pieces[r + 1] - x->pieces[r]};
        }
    }
    return count;
}

int exchange_gradients(struct exchange *x, rapt_trainer *trainer)
{
    const struct ranks *ranks = x->ranks;
    if (ranks->count < 2) return EXIT_OK;
    size_t capacity = (size_t)x->count * (size_t)ranks->count;
    struct transfer *list = xcalloc(capacity, sizeof *list);
    rapt_subtree *held = xcalloc((size_t)x->shards, sizeof *held);
    rapt_train_shards_held(trainer, held, x->shards);
    int code = ranks_transfer(ranks, list, plan_sum(x, held, list));
    free(list);
    free(held);
    if (code != EXIT_OK) return code;
    rapt_message why = {""};
    size_t at = x->pieces[ranks->rank], piece = own_piece(x);
    if (rapt_shards_sum(x->shards, x->nodes, x->count, piece / sizeof(float), &why) != RAPT_OK)
        return failed("%s", why.text);
    char *sum = (char *)rapt_trainer_gradients(trainer, NULL, NULL);
    memmove(sum + at, x->nodes[0].gradient, piece);
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
    static const double slow = 1.5,
                        enough = 5; /* times the median; seconds of shards to judge by */
    int count = x->ranks->count, own = x->end - x->first;
    if (count < 2 || x->steps < STEPS || x->seconds[x->ranks->rank] * own < enough) return;
    double *sorted = xcalloc((size_t)count, sizeof *sorted);
    memcpy(sorted, x->seconds, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    double median = sorted[(count - 1) / 2];
    for (int r = 0; r < count && x->ranks->rank == 0; r++)
        if (median > 0 && x->seconds[r] > slow * median)
            print_message("rank %d is slow: it needs %.3g s for a shard, others %.3g s", r,
                          x->seconds[r] / (double)x->steps, median / (double)x->steps);
    memset(x->seconds, 0, (size_t)count * sizeof *x->seconds);
    x->steps = 0;
    free(sorted);
}
