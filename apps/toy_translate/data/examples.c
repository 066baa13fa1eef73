/* examples.c - access to the pairs of a part as token ids. The places and lengths of all pairs are
   in memory, and the ids of the first ones, as many as allowed. The others are read from their
   files when they are needed, and their digests are compared with those of the text that was read
   first. */
#include "index.h"
#include <stdlib.h>
#include <string.h>

size_t examples_index_bytes(const struct part *part)
{
    size_t each = (part->inputs->two ? 2 : 1) * sizeof(uint64_t) + 3 * sizeof(uint32_t);
    return part->count * each;
}

size_t examples_length(const struct examples *examples, size_t index)
{
    uint32_t source = examples->source[index], target = examples->target[index];
    return source > target ? source : target;
}

static int read_one(struct examples *examples, size_t index, int32_t *source, int32_t *target)
{
    struct encoded pair = {0};
    struct position position = {{examples->where[0][index]}, 0};
    size_t counts[2];
    bool same;
    examples_clean_counts(examples, index, counts);
    if (examples->where[1] != NULL) position.at[1] = examples->where[1][index];
    int code = reader_again(&examples->reader, position, &same);
    if (code != EXIT_OK) return code;
    same = same && reader_digest(&examples->reader) == examples->digests[index];
    same = same && encode_pair(&pair, examples, &examples->reader) &&
           pair.source.count == counts[0] && pair.target.count == counts[1];
    if (same) {
        memcpy(source, pair.source.ids, counts[0] * sizeof *source);
        memcpy(target, pair.target.ids, counts[1] * sizeof *target);
    }
    encoded_free(&pair);
    if (same) return EXIT_OK;
    return failed("%s has changed since training began: different pairs at byte %llu",
                  examples->reader.inputs->side[0].name, (unsigned long long)position.at[0]);
}

int examples_get_clean(struct examples *examples, size_t index, int32_t *source, int32_t *target)
{
    size_t counts[2];
    if (index >= examples->held) return read_one(examples, index, source, target);
    const int32_t *ids = examples->ids + examples->where[0][index];
    examples_clean_counts(examples, index, counts);
    memcpy(source, ids, counts[0] * sizeof *ids);
    memcpy(target, ids + counts[0], counts[1] * sizeof *ids);
    return EXIT_OK;
}

int examples_get(struct examples *examples, size_t index, int32_t *source, int32_t *target)
{
    return examples_noisy(examples, index) ? augmented_get(examples, index, source, target)
                                           : examples_get_clean(examples, index, source, target);
}

void examples_free(struct examples *examples)
{
    reader_close(&examples->reader);
    free(examples->where[0]);
    free(examples->where[1]);
    free(examples->source);
    free(examples->target);
    free(examples->digests);
    free(examples->ids);
    augmented_free(examples->augmented);
    *examples = (struct examples){0};
}
