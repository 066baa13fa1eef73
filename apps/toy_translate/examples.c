/* examples.c - the pairs of a part as token ids: source x1 .. xn end, target begin y1 .. ym end. In
   memory are where each one is and its lengths, and the ids of the first ones, as many as allowed;
   the others are read from their files when they are asked for, and compared with what was there
   first. */
#include "learner.h"
#include <stdlib.h>
#include <string.h>

enum { IN_ORDER = 1 << 18, ONE = 1 << 10 }; /* bytes of a read */

/* ---- one sentence ---- */

struct ids {
    int32_t *ids;
    size_t count, capacity;
};

/* With `begin` in front, unless it is -1, and the end token; more tokens than max_tokens are not
   written, only counted. */
static void encode(struct ids *to, const rapt_tokenizer *tokenizer, rapt_text text, int32_t begin,
                   size_t max_tokens)
{
    size_t bound = rapt_tokenizer_bound(tokenizer, text.size), first = begin >= 0;
    if (bound > max_tokens) bound = max_tokens;
    if (to->capacity < bound + 2)
        to->ids = xreallocarray(to->ids, to->capacity = bound + 2, sizeof *to->ids);
    if (begin >= 0) to->ids[0] = begin;
    rapt_tokenizer_encode(tokenizer, text, to->ids + first, NULL, bound, &to->count, NULL);
    to->count += first;
    if (to->count <= max_tokens + first)
        to->ids[to->count] = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_END);
    to->count++;
}

struct encoded {
    struct ids source, target;
};

/* false: a side has more than max_tokens, with begin and end. */
static bool encode_pair(const struct examples *examples, struct encoded *pair)
{
    const struct pair_reader *reader = &examples->reader;
    size_t max = examples->max_tokens;
    encode(&pair->source, examples->vocabulary->source, reader->source, -1, max);
    encode(&pair->target, examples->vocabulary->target, reader->target, examples->begin, max);
    return pair->source.count <= max && pair->target.count <= max;
}

static void free_encoded(struct encoded *pair)
{
    free(pair->source.ids);
    free(pair->target.ids);
}

static uint32_t digest(const struct pair_reader *reader)
{
    uint64_t hash = reader_hash(PAIR_HASH, reader);
    return (uint32_t)(hash ^ hash >> 32);
}

/* ---- all, in order ---- */

size_t examples_index_bytes(const struct part *part)
{
    size_t each = (part->inputs->two ? 2 : 1) * sizeof(uint64_t) + 3 * sizeof(uint32_t);
    return part->count * each;
}

static void create(struct examples *examples, const struct part *part)
{
    size_t count = part->count;
    examples->where[0] = xcalloc(count, sizeof *examples->where[0]);
    if (part->inputs->two) examples->where[1] = xcalloc(count, sizeof *examples->where[1]);
    examples->source = xcalloc(count, sizeof *examples->source);
    examples->target = xcalloc(count, sizeof *examples->target);
    examples->digests = xcalloc(count, sizeof *examples->digests);
}

static void hold(struct examples *examples, const struct ids *ids)
{
    size_t used = examples->ids_count, capacity = examples->ids_capacity;
    if (capacity - used < ids->count) {
        capacity = capacity + capacity / 2 + ids->count + 1024;
        if (capacity > examples->max_ids) capacity = examples->max_ids;
        examples->ids = xreallocarray(examples->ids, capacity, sizeof *examples->ids);
        examples->ids_capacity = capacity;
    }
    memcpy(examples->ids + used, ids->ids, ids->count * sizeof *ids->ids);
    examples->ids_count += ids->count;
}

static void add(struct examples *examples, const struct encoded *pair)
{
    size_t n = examples->count++, count = pair->source.count + pair->target.count;
    examples->source[n] = (uint32_t)pair->source.count;
    examples->target[n] = (uint32_t)pair->target.count;
    examples->digests[n] = digest(&examples->reader);
    examples->where[0][n] = examples->reader.position.at[0];
    if (examples->where[1] != NULL) examples->where[1][n] = examples->reader.position.at[1];
    if (examples->held < n || examples->max_ids - examples->ids_count < count) return;
    examples->where[0][n] = examples->ids_count;
    examples->held = n + 1;
    hold(examples, &pair->source);
    hold(examples, &pair->target);
}

/* The files have been read once: whoever changes them meanwhile gets another hash. */
static int read_all(struct examples *examples, const struct part *part, uint64_t *hash,
                    struct seen *seen)
{
    struct encoded pair = {0};
    size_t skipped = 0, first = 0;
    bool more = true;
    int code = EXIT_OK;
    for (size_t i = 0; i < part->count && more && code == EXIT_OK; i++) {
        code = reader_next(&examples->reader, &more);
        if (code != EXIT_OK || !more) break;
        *hash = reader_hash(*hash, &examples->reader);
        if (encode_pair(examples, &pair)) {
            add(examples, &pair);
            if (seen != NULL)
                seen_add(seen, examples->vocabulary->source, pair.source.ids,
                         (int)pair.source.count - 1);
        } else if (skipped++ == 0) {
            first = reader_lines(&examples->reader);
        }
    }
    free_encoded(&pair);
    const char *name = part->inputs->side[0].name;
    if (skipped > 0 && code == EXIT_OK)
        print_message("%s:%zu: a sentence has more than %zu tokens; %zu such %s skipped", name,
                      first, examples->max_tokens, skipped, skipped == 1 ? "pair is" : "pairs are");
    if (code == EXIT_OK && examples->count == 0)
        code = failed("%s: no sentence pair is left", name);
    return code;
}

int examples_make(struct examples *examples, const struct part *part, uint64_t *hash,
                  struct seen *seen)
{
    int code = reader_open(&examples->reader, part->inputs, IN_ORDER);
    if (code == EXIT_OK) {
        reader_seek(&examples->reader, part->start);
        create(examples, part);
        code = read_all(examples, part, hash, seen);
    }
    reader_close(&examples->reader);
    if (code == EXIT_OK && examples->held < examples->count)
        code = reader_open(&examples->reader, part->inputs, ONE);
    return code;
}

/* ---- one by one ---- */

size_t examples_length(const struct examples *examples, size_t index)
{
    uint32_t source = examples->source[index], target = examples->target[index];
    return source > target ? source : target;
}

static int read_one(struct examples *examples, size_t index, int32_t *source, int32_t *target)
{
    struct encoded pair = {0};
    struct position position = {{examples->where[0][index]}, 0};
    size_t sources = examples->source[index], targets = examples->target[index];
    bool same;
    if (examples->where[1] != NULL) position.at[1] = examples->where[1][index];
    int code = reader_again(&examples->reader, position, &same);
    if (code != EXIT_OK) return code;
    same = same && digest(&examples->reader) == examples->digests[index];
    same = same && encode_pair(examples, &pair) && pair.source.count == sources &&
           pair.target.count == targets;
    if (same) {
        memcpy(source, pair.source.ids, sources * sizeof *source);
        memcpy(target, pair.target.ids, targets * sizeof *target);
    }
    free_encoded(&pair);
    if (same) return EXIT_OK;
    return failed("%s has changed since training began: other pairs are in it at byte %llu",
                  examples->reader.inputs->side[0].name, (unsigned long long)position.at[0]);
}

int examples_get(struct examples *examples, size_t index, int32_t *source, int32_t *target)
{
    if (index >= examples->held) return read_one(examples, index, source, target);
    const int32_t *ids = examples->ids + examples->where[0][index];
    size_t sources = examples->source[index];
    memcpy(source, ids, sources * sizeof *ids);
    memcpy(target, ids + sources, examples->target[index] * sizeof *ids);
    return EXIT_OK;
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
    *examples = (struct examples){0};
}
