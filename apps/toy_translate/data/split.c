/* split.c - chooses which training pairs are held out for validation, if validation has no files of
   its own. The marks of the training part are divided into stretches of equal length, one for each
   pair that is held out, and a pseudorandom mark is chosen in each: if the files are periodic, a
   regular choice could take only one kind of pairs. The choice depends only on the pairs, the
   vocabulary and the maximum length of sentences, so it is the same on every rank and in a resumed
   run. */
#include "index.h"
#include "kit/random.h"
#include <stdlib.h>

enum { ONE = 1 << 10 }; /* bytes per read */

/* Fills valid with the marks of train that are held out. */
static void take_marks(struct data *data)
{
    struct part *train = &data->train, *valid = &data->valid;
    part_free(valid);
    *valid = (struct part){.inputs = train->inputs, .pairs = train->pairs, .single = true};
    valid->marks = xcalloc(train->segments, sizeof *valid->marks);
    for (size_t i = 0; i < train->segments; i++)
        if (train->marks[i].held_out) {
            valid->marks[valid->segments] = train->marks[i];
            valid->marks[valid->segments++].held_out = false;
        }
    valid->count = valid->segments;
    train->count = train->pairs - valid->count;
}

void split_choose(struct data *data, size_t count)
{
    struct part *train = &data->train;
    struct random random = random_from(0, 0);
    for (size_t i = 0; i < count; i++) {
        size_t first = train->segments * i / count, end = train->segments * (i + 1) / count;
        train->marks[first + (size_t)random_below(&random, (int)(end - first))].held_out = true;
    }
    take_marks(data);
}

static int pair_fits(const struct mark *mark, const struct examples *examples,
                     struct pair_reader *reader, struct encoded *pair, bool *fits)
{
    bool more = true;
    reader_seek(reader, mark->position);
    int code = reader_next(reader, &more);
    if (code == EXIT_OK && (!more || reader_digest(reader) != mark->digest))
        code = failed("%s changed while it was being read", reader->inputs->side[0].name);
    *fits = code == EXIT_OK && encode_pair(pair, examples, reader);
    return code;
}

/* One of the marks first .. end - 1 is held out. If its pair does not fit, holds out the next one
   in cyclic order whose pair does. */
static int settle_stretch(struct data *data, size_t first, size_t end,
                          const struct examples *examples, struct pair_reader *reader,
                          struct encoded *pair)
{
    struct mark *marks = data->train.marks;
    size_t at = first, size = end - first;
    int code = EXIT_OK;
    bool fits = false;
    while (!marks[at].held_out) at++;
    marks[at].held_out = false;
    for (size_t i = 0; i < size && !fits && code == EXIT_OK; i++) {
        struct mark *mark = &marks[first + (at - first + i) % size];
        code = pair_fits(mark, examples, reader, pair, &fits);
        mark->held_out = fits;
    }
    return code;
}

int split_settle(struct data *data, const struct examples *examples)
{
    struct pair_reader reader;
    struct encoded pair = {0};
    size_t count = data->valid.count, segments = data->train.segments;
    if (data->separate) return EXIT_OK;
    int code = reader_open(&reader, data->train.inputs, ONE);
    for (size_t i = 0; i < count && code == EXIT_OK; i++)
        code = settle_stretch(data, segments * i / count, segments * (i + 1) / count, examples,
                              &reader, &pair);
    reader_close(&reader);
    encoded_free(&pair);
    if (code != EXIT_OK) return code;
    take_marks(data);
    if (data->valid.count > 0) return EXIT_OK;
    return failed("%s: no pair can be used for validation: each has a sentence of more than %zu "
                  "tokens",
                  data->train.inputs->side[0].name, examples->max_tokens);
}
