/* batches.c - batches of at most so many tokens on either side, sentences of like length together.

   Each epoch deals the sentences into batches anew: sorted by length in classes of four tokens,
   in random order within a class, cut where the budget is full, and the batches shuffled. All
   of it follows from seed and epoch, so a run that resumes within an epoch goes on as before. */
#include "toy.h"
#include <stdlib.h>
#include <string.h>

struct batch_key {
    uint64_t rank;   /* random */
    uint32_t length; /* class of it */
    uint32_t index;
};

/* SplitMix64: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators". */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

static int by_length(const void *a, const void *b)
{
    const struct batch_key *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static size_t length_of(const struct side *side, size_t index)
{
    return side->starts[index + 1] - side->starts[index];
}

int batches_create(struct batches *batches, const struct examples *examples, size_t budget)
{
    if (examples->count > UINT32_MAX) return failed("too many sentence pairs");
    size_t count = examples->count, max = budget / 2 + 2;
    *batches = (struct batches){.examples = examples, .budget = budget};
    batches->order = xcalloc(count, sizeof *batches->order);
    batches->cuts = xcalloc(count + 1, sizeof *batches->cuts);
    batches->keys = xcalloc(count, sizeof *batches->keys);
    batches->source_ids = xcalloc(budget, sizeof *batches->source_ids);
    batches->target_ids = xcalloc(budget, sizeof *batches->target_ids);
    batches->source_starts = xcalloc(max, sizeof *batches->source_starts);
    batches->target_starts = xcalloc(max, sizeof *batches->target_starts);
    return EXIT_OK;
}

static void sort(struct batches *batches, uint64_t *state, bool random)
{
    for (size_t i = 0; i < batches->examples->count; i++)
        batches->keys[i] = (struct batch_key){
            .rank = random ? draw(state) : 0,
            .length = (uint32_t)(examples_length(batches->examples, i) / 4),
            .index = (uint32_t)i,
        };
    qsort(batches->keys, batches->examples->count, sizeof *batches->keys, by_length);
    for (size_t i = 0; i < batches->examples->count; i++)
        batches->order[i] = batches->keys[i].index;
}

static void cut(struct batches *batches)
{
    size_t sources = 0, targets = 0;
    batches->count = 0;
    for (size_t i = 0; i < batches->examples->count; i++) {
        size_t source = length_of(&batches->examples->source, batches->order[i]);
        size_t target = length_of(&batches->examples->target, batches->order[i]);
        if (i == 0 || sources + source > batches->budget || targets + target > batches->budget) {
            batches->cuts[batches->count++] = i;
            sources = targets = 0;
        }
        sources += source;
        targets += target;
    }
    batches->cuts[batches->count] = batches->examples->count;
}

/* Fisher and Yates' shuffle of whole batches. keys serves as room for the new order. */
static void shuffle(struct batches *batches, uint64_t *state)
{
    size_t *position = xcalloc(batches->count + 1, sizeof *position);
    size_t *cuts = xcalloc(batches->count + 1, sizeof *cuts);
    size_t at = 0;
    for (size_t b = 0; b < batches->count; b++) position[b] = b;
    for (size_t b = batches->count; b > 1; b--) {
        size_t other = (size_t)(draw(state) % b), kept = position[b - 1];
        position[b - 1] = position[other];
        position[other] = kept;
    }
    for (size_t b = 0; b < batches->count; b++) {
        cuts[b] = at;
        for (size_t i = batches->cuts[position[b]]; i < batches->cuts[position[b] + 1]; i++)
            batches->keys[at++].index = (uint32_t)batches->order[i];
    }
    cuts[batches->count] = at;
    for (size_t i = 0; i < at; i++) batches->order[i] = batches->keys[i].index;
    memcpy(batches->cuts, cuts, (batches->count + 1) * sizeof *cuts);
    free(position);
    free(cuts);
}

void batches_plan(struct batches *batches, uint64_t seed, int epoch)
{
    uint64_t state = seed;
    state = draw(&state) ^ (uint64_t)epoch;
    sort(batches, &state, epoch > 0);
    cut(batches);
    if (epoch > 0) shuffle(batches, &state);
}

static void gather(const struct side *side, const size_t *order, size_t count, int32_t *ids,
                   int *starts, rapt_tokens *tokens)
{
    int at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = length_of(side, order[i]);
        memcpy(ids + at, side->ids + side->starts[order[i]], length * sizeof *ids);
        starts[i] = at;
        at += (int)length;
    }
    starts[count] = at;
    *tokens = (rapt_tokens){(int)count, ids, starts};
}

void batches_get(struct batches *batches, size_t b, rapt_tokens *source, rapt_tokens *target)
{
    const size_t *order = batches->order + batches->cuts[b];
    size_t count = batches->cuts[b + 1] - batches->cuts[b];
    gather(&batches->examples->source, order, count, batches->source_ids, batches->source_starts,
           source);
    gather(&batches->examples->target, order, count, batches->target_ids, batches->target_starts,
           target);
}

void batches_free(struct batches *batches)
{
    free(batches->order);
    free(batches->cuts);
    free(batches->keys);
    free(batches->source_ids);
    free(batches->target_ids);
    free(batches->source_starts);
    free(batches->target_starts);
    *batches = (struct batches){0};
}
