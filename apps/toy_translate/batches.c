/* batches.c - batches of at most so many tokens on either side, of sentences of similar length.

   Each epoch: sort by length in classes of four tokens, in random order within a class; start a new
   batch where the token budget is full; shuffle the batches. All is a function of seed and epoch,
   so a resumed run continues with the same batches. */
#include "kit/random.h"
#include "toy.h"
#include <stdlib.h>
#include <string.h>

struct batch_key {
    uint64_t rank;   /* random */
    uint32_t length; /* its class */
    uint32_t index;
};

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
    batches->starts = xcalloc(count + 1, sizeof *batches->starts);
    batches->keys = xcalloc(count, sizeof *batches->keys);
    batches->source_ids = xcalloc(budget, sizeof *batches->source_ids);
    batches->target_ids = xcalloc(budget, sizeof *batches->target_ids);
    batches->source_starts = xcalloc(max, sizeof *batches->source_starts);
    batches->target_starts = xcalloc(max, sizeof *batches->target_starts);
    return EXIT_OK;
}

static void sort(struct batches *batches, struct random *random, bool shuffled)
{
    for (size_t i = 0; i < batches->examples->count; i++)
        batches->keys[i] = (struct batch_key){
            .rank = shuffled ? random_bits(random) : 0,
            .length = (uint32_t)(examples_length(batches->examples, i) / 4),
            .index = (uint32_t)i,
        };
    qsort(batches->keys, batches->examples->count, sizeof *batches->keys, by_length);
    for (size_t i = 0; i < batches->examples->count; i++)
        batches->order[i] = batches->keys[i].index;
}

static void split(struct batches *batches)
{
    size_t sources = 0, targets = 0;
    batches->count = 0;
    for (size_t i = 0; i < batches->examples->count; i++) {
        size_t source = length_of(&batches->examples->source, batches->order[i]);
        size_t target = length_of(&batches->examples->target, batches->order[i]);
        if (i == 0 || sources + source > batches->budget || targets + target > batches->budget) {
            batches->starts[batches->count++] = i;
            sources = targets = 0;
        }
        sources += source;
        targets += target;
    }
    batches->starts[batches->count] = batches->examples->count;
}

/* Fisher and Yates' shuffle of whole batches. keys serves as temporary storage. */
static void shuffle(struct batches *batches, struct random *random)
{
    size_t *position = xcalloc(batches->count + 1, sizeof *position);
    size_t *starts = xcalloc(batches->count + 1, sizeof *starts);
    size_t at = 0;
    for (size_t b = 0; b < batches->count; b++) position[b] = b;
    for (size_t b = batches->count; b > 1; b--) {
        size_t other = (size_t)(random_bits(random) % b), last = position[b - 1];
        position[b - 1] = position[other];
        position[other] = last;
    }
    for (size_t b = 0; b < batches->count; b++) {
        starts[b] = at;
        for (size_t i = batches->starts[position[b]]; i < batches->starts[position[b] + 1]; i++)
            batches->keys[at++].index = (uint32_t)batches->order[i];
    }
    starts[batches->count] = at;
    for (size_t i = 0; i < at; i++) batches->order[i] = batches->keys[i].index;
    memcpy(batches->starts, starts, (batches->count + 1) * sizeof *starts);
    free(position);
    free(starts);
}

void batches_plan(struct batches *batches, uint64_t seed, int epoch)
{
    struct random random = {seed, 0};
    random = (struct random){random_bits(&random) ^ (uint64_t)epoch, 0};
    sort(batches, &random, epoch > 0);
    split(batches);
    if (epoch > 0) shuffle(batches, &random);
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

/* Of both sides of an example. */
static size_t tokens_of(const struct batches *batches, size_t i)
{
    size_t example = batches->order[i];
    return length_of(&batches->examples->source, example) +
           length_of(&batches->examples->target, example);
}

/* The first example of a batch before which there are at least part/parts of its tokens. */
static size_t part_start(const struct batches *batches, size_t b, size_t part, size_t parts)
{
    size_t end = batches->starts[b + 1], at = batches->starts[b], all = 0, before = 0;
    for (size_t i = at; i < end; i++) all += tokens_of(batches, i);
    while (at < end && before * parts < all * part) before += tokens_of(batches, at++);
    return at;
}

size_t batches_part_budget(size_t budget, size_t max_tokens, size_t parts)
{
    size_t part = 2 * budget / parts + max_tokens + 2;
    return parts > 1 && part < budget ? part : budget;
}

void batches_get_part(struct batches *batches, size_t b, size_t part, size_t parts,
                      rapt_tokens *source, rapt_tokens *target)
{
    size_t from = part_start(batches, b, part, parts);
    const size_t *order = batches->order + from;
    size_t count = part_start(batches, b, part + 1, parts) - from;
    gather(&batches->examples->source, order, count, batches->source_ids, batches->source_starts,
           source);
    gather(&batches->examples->target, order, count, batches->target_ids, batches->target_starts,
           target);
}

void batches_get(struct batches *batches, size_t b, rapt_tokens *source, rapt_tokens *target)
{
    batches_get_part(batches, b, 0, 1, source, target);
}

void batches_free(struct batches *batches)
{
    free(batches->order);
    free(batches->starts);
    free(batches->keys);
    free(batches->source_ids);
    free(batches->target_ids);
    free(batches->source_starts);
    free(batches->target_starts);
    *batches = (struct batches){0};
}
