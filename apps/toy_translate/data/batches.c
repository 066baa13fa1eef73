/* batches.c - batches of sentences of similar length. Either side of a batch has at most `budget`
   tokens, and a batch has at most MAX_SENTENCES sentences.

   For each epoch, the examples are sorted by length in classes of four tokens, in random order
   within a class; a new batch begins where the token budget is full; and the batches are shuffled.
   Everything is a function of seed and epoch, so a resumed run continues with the same batches.
   Memory holds only one number per example: the random ranks by which examples are sorted are a
   function of the index, and are computed again for every comparison. */
#include "data.h"
#include "kit/random.h"
#include <stdlib.h>
#include <string.h>

int batches_create(struct batches *batches, struct examples *examples, size_t budget)
{
    if (examples->count > UINT32_MAX) return failed("too many sentence pairs");
    size_t max = budget / 2 + 2;
    *batches = (struct batches){.examples = examples, .budget = budget};
    batches->order = xcalloc(examples->count, sizeof *batches->order);
    batches->source_ids = xcalloc(budget, sizeof *batches->source_ids);
    batches->target_ids = xcalloc(budget, sizeof *batches->target_ids);
    batches->source_starts = xcalloc(max, sizeof *batches->source_starts);
    batches->target_starts = xcalloc(max, sizeof *batches->target_starts);
    return EXIT_OK;
}

size_t batches_bytes(size_t examples, size_t budget)
{
    return examples * sizeof(uint32_t) + budget * 2 * sizeof(int32_t) + budget * sizeof(int);
}

/* ---- order ---- */

static size_t class_of(const struct batches *batches, size_t index)
{
    return examples_length(batches->examples, index) / 4;
}

/* Sorts indices by length class, and by index within a class: a counting sort. Returns the end of
   each class, which the caller frees. */
static size_t *by_class(struct batches *batches, size_t *classes)
{
    size_t count = batches->examples->count, longest = 0, before = 0;
    for (size_t i = 0; i < count; i++)
        if (class_of(batches, i) > longest) longest = class_of(batches, i);
    size_t *ends = xcalloc(longest + 1, sizeof *ends);
    for (size_t i = 0; i < count; i++) ends[class_of(batches, i)]++;
    for (size_t c = 0; c <= longest; c++) {
        size_t own = ends[c];
        ends[c] = before;
        before += own;
    }
    for (size_t i = 0; i < count; i++) batches->order[ends[class_of(batches, i)]++] = (uint32_t)i;
    *classes = longest + 1;
    return ends;
}

struct rank {
    uint64_t number;
    uint32_t index;
};

/* Returns the rank of an example: the result of draw number `index`. */
static struct rank rank_of(struct random start, uint32_t index)
{
    start.index += index;
    return (struct rank){random_bits(&start), index};
}

static bool rank_below(struct rank a, struct rank b)
{
    return a.number != b.number ? a.number < b.number : a.index < b.index;
}

static void insertion_sort(uint32_t *order, size_t count, struct random start)
{
    for (size_t i = 1; i < count; i++) {
        struct rank rank = rank_of(start, order[i]);
        size_t at = i;
        for (; at > 0 && rank_below(rank, rank_of(start, order[at - 1])); at--)
            order[at] = order[at - 1];
        order[at] = rank.index;
    }
}

/* Quicksort by rank (Hoare 1962). Since ranks are random, any element is a good pivot. */
static void by_rank(uint32_t *order, size_t count, struct random start)
{
    enum { FEW = 16 };
    while (count > FEW) {
        struct rank pivot = rank_of(start, order[count / 2]);
        size_t i = 0, j = count - 1;
        for (;; i++, j--) {
            while (rank_below(rank_of(start, order[i]), pivot)) i++;
            while (rank_below(pivot, rank_of(start, order[j]))) j--;
            if (i >= j) break;
            uint32_t other = order[i];
            order[i] = order[j];
            order[j] = other;
        }
        /* order[0 .. i - 1] <= pivot <= order[i ..], and neither part is empty. Recursing into the
           shorter one bounds the depth. */
        if (i < count - i) {
            by_rank(order, i, start);
            order += i;
            count -= i;
        } else {
            by_rank(order + i, count - i, start);
            count = i;
        }
    }
    insertion_sort(order, count, start);
}

static void sort_examples(struct batches *batches, struct random *random, bool shuffled)
{
    size_t classes, from = 0, *ends = by_class(batches, &classes);
    for (size_t c = 0; shuffled && c < classes; c++) {
        by_rank(batches->order + from, ends[c] - from, *random);
        from = ends[c];
    }
    free(ends);
    if (shuffled) random->index += batches->examples->count;
}

/* ---- batches ---- */

static void add_batch(struct batches *batches, size_t start)
{
    if (batches->count + 1 >= batches->capacity) {
        batches->capacity = batches->capacity + batches->capacity / 2 + 64;
        batches->starts =
            xreallocarray(batches->starts, batches->capacity, sizeof *batches->starts);
        batches->shuffled =
            xreallocarray(batches->shuffled, batches->capacity, sizeof *batches->shuffled);
    }
    batches->shuffled[batches->count] = (uint32_t)batches->count;
    batches->starts[batches->count++] = (uint32_t)start;
}

static void split_batches(struct batches *batches)
{
    const struct examples *examples = batches->examples;
    size_t sources = 0, targets = 0, start = 0;
    batches->count = 0;
    for (size_t i = 0; i < examples->count; i++) {
        size_t source = examples->source[batches->order[i]];
        size_t target = examples->target[batches->order[i]];
        if (i == 0 || sources + source > batches->budget || targets + target > batches->budget ||
            i - start == MAX_SENTENCES) {
            add_batch(batches, start = i);
            sources = targets = 0;
        }
        sources += source;
        targets += target;
    }
    batches->starts[batches->count] = (uint32_t)examples->count;
}

/* Shuffles whole batches (Fisher and Yates). */
static void shuffle_batches(struct batches *batches, struct random *random)
{
    uint32_t *position = batches->shuffled;
    for (size_t b = batches->count; b > 1; b--) {
        size_t other = (size_t)(random_bits(random) % b);
        uint32_t last = position[b - 1];
        position[b - 1] = position[other];
        position[other] = last;
    }
}

void batches_plan(struct batches *batches, uint64_t seed, int epoch)
{
    struct random random = {seed, 0};
    random = (struct random){random_bits(&random) ^ (uint64_t)epoch, 0};
    sort_examples(batches, &random, epoch > 0);
    split_batches(batches);
    if (epoch > 0) shuffle_batches(batches, &random);
}

/* ---- the tokens of a batch ---- */

/* Reads the tokens of examples order[from .. end - 1]. */
static int gather_tokens(struct batches *batches, size_t from, size_t end, rapt_tokens *source,
                         rapt_tokens *target)
{
    struct examples *examples = batches->examples;
    int sources = 0, targets = 0, count = 0, code = EXIT_OK;
    batches->from = from, batches->end = end;
    for (size_t i = from; i < end && code == EXIT_OK; i++, count++) {
        uint32_t example = batches->order[i];
        code = examples_get(examples, example, batches->source_ids + sources,
                            batches->target_ids + targets);
        batches->source_starts[count] = sources;
        batches->target_starts[count] = targets;
        sources += (int)examples->source[example];
        targets += (int)examples->target[example];
    }
    batches->source_starts[count] = sources;
    batches->target_starts[count] = targets;
    *source =
        (rapt_tokens){.batch = count, .ids = batches->source_ids, .starts = batches->source_starts};
    *target =
        (rapt_tokens){.batch = count, .ids = batches->target_ids, .starts = batches->target_starts};
    return code;
}

/* Returns the tokens of both sides of example order[i]. */
static size_t example_tokens(const struct batches *batches, size_t i)
{
    const struct examples *examples = batches->examples;
    return (size_t)examples->source[batches->order[i]] + examples->target[batches->order[i]];
}

/* Returns the first example of sorted batch b that has at least part / parts of the batch's tokens
   before it. */
static size_t part_start(const struct batches *batches, size_t b, size_t part, size_t parts)
{
    size_t end = batches->starts[b + 1], at = batches->starts[b], all = 0, before = 0;
    for (size_t i = at; i < end; i++) all += example_tokens(batches, i);
    while (at < end && before * parts < all * part) before += example_tokens(batches, at++);
    return at;
}

size_t batches_part_budget(size_t budget, size_t max_tokens, size_t parts)
{
    size_t part = 2 * budget / parts + max_tokens + 2;
    return parts > 1 && part < budget ? part : budget;
}

int batches_get_part(struct batches *batches, size_t b, size_t part, size_t parts,
                     rapt_tokens *source, rapt_tokens *target)
{
    size_t sorted = batches->shuffled[b];
    return gather_tokens(batches, part_start(batches, sorted, part, parts),
                         part_start(batches, sorted, part + 1, parts), source, target);
}

int batches_get(struct batches *batches, size_t b, rapt_tokens *source, rapt_tokens *target)
{
    return batches_get_part(batches, b, 0, 1, source, target);
}

void batches_free(struct batches *batches)
{
    free(batches->order);
    free(batches->starts);
    free(batches->shuffled);
    free(batches->source_ids);
    free(batches->target_ids);
    free(batches->source_starts);
    free(batches->target_starts);
    *batches = (struct batches){0};
}
