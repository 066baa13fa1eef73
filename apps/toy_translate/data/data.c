/* data.c - surveys the files of a training run in one pass: which pairs are for training and which
   for validation, a hash of all pairs, and an evenly spaced sample of at most SAMPLE_BYTES to
   learn a vocabulary from. */
#include "data.h"
#include "kit/random.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 18 };
enum { ENDS = 2 }; /* bytes of a pair besides its sentences: a tab and a line feed */

static void add_to_sample(struct data *data, const struct pair_reader *reader, size_t index)
{
    struct pairs *sample = data->sample;
    if (sample == NULL || index % data->sample_spacing != 0) return;
    pairs_add(sample, reader->source, reader->target, reader_lines(reader));
    while (sample->used > SAMPLE_BYTES && sample->count > 1) {
        pairs_thin(sample);
        data->sample_spacing *= 2;
    }
}

/* ---- segments ---- */

static uint64_t bytes_before(const struct mark *mark)
{
    return mark->position.at[0] + mark->position.at[1];
}

/* Adds a mark for the pair last read if it is at part->next or later. At first every pair has a
   mark. When there are too many, every second one is dropped, and further marks are as far apart as
   the remaining ones: part->spacing bytes on average. */
static void add_mark(struct part *part, const struct pair_reader *reader, uint64_t hash)
{
    struct mark mark = {.position = reader->position, .pair = part->pairs, .hash = hash};
    uint64_t at = bytes_before(&mark);
    if (part->segments == 0) {
        part->marks = xcalloc(SEGMENTS, sizeof *part->marks);
        part->spacing = 1;
    }
    if (at < part->next) return;
    if (part->segments == SEGMENTS) {
        part->segments = SEGMENTS / 2;
        for (size_t i = 0; i < part->segments; i++) part->marks[i] = part->marks[2 * i];
        part->spacing = (at - bytes_before(part->marks)) / part->segments;
        part->next = at;
    }
    part->next += (at - part->next) / part->spacing * part->spacing + part->spacing;
    mark.digest = reader_digest(reader);
    part->marks[part->segments++] = mark;
}

/* Reads all pairs of a part, sets its marks and continues *hash. `data` receives a sample, unless
   it is NULL. */
static int survey(struct part *part, uint64_t *hash, struct data *data)
{
    struct pair_reader reader;
    bool more = true;
    int code = reader_open(&reader, part->inputs, CHUNK);
    while (code == EXIT_OK) {
        code = reader_next(&reader, &more);
        if (code != EXIT_OK || !more) break;
        add_mark(part, &reader, *hash);
        if (data != NULL) add_to_sample(data, &reader, part->pairs);
        *hash = reader_hash(*hash, &reader);
        part->bytes += reader.source.size + reader.target.size + ENDS;
        part->pairs++;
    }
    part->count = part->pairs;
    part->end = *hash;
    if (code == EXIT_OK) reader_report(&reader);
    if (code == EXIT_OK && part->count == 0)
        code = failed("%s: no sentence pairs in this file", part->inputs->side[0].name);
    reader_close(&reader);
    return code;
}

int part_survey(struct part *part, const struct pair_inputs *inputs, uint64_t *hash)
{
    *part = (struct part){.inputs = inputs};
    return survey(part, hash, NULL);
}

void part_free(struct part *part)
{
    free(part->marks);
    part->marks = NULL;
    part->segments = 0;
}

/* ---- training and validation ---- */

/* Chooses the pairs of train that are held out. */
static int hold_out(struct data *data, size_t max)
{
    const struct part *train = &data->train;
    if (train->count < 2)
        return failed(
            "%s: one pair is not enough: add pairs, or give validation pairs with --valid",
            train->inputs->side[0].name);
    size_t count = train->count / 100;
    if (count > max) count = max;
    split_choose(data, count > 0 ? count : 1);
    return EXIT_OK;
}

/* Removes the pairs that are held out from the sample. */
static void clean_sample(struct data *data)
{
    const struct part *train = &data->train;
    bool *drop = xcalloc(data->sample->count, sizeof *drop);
    for (size_t i = 0; i < train->segments; i++) {
        const struct mark *mark = &train->marks[i];
        if (mark->held_out && mark->pair % data->sample_spacing == 0)
            drop[mark->pair / data->sample_spacing] = true;
    }
    pairs_drop(data->sample, drop);
    free(drop);
}

static int survey_all(struct data *data, size_t max)
{
    int code = survey(&data->train, &data->hash, data);
    if (code == EXIT_OK)
        code = data->separate ? survey(&data->valid, &data->hash, NULL) : hold_out(data, max);
    if (code == EXIT_OK && data->sample != NULL) clean_sample(data);
    return code;
}

static void begin_data(struct data *data, bool sample)
{
    *data = (struct data){.hash = HASH_EMPTY, .sample_spacing = 1};
    data->train.inputs = &data->train_inputs;
    data->valid.inputs = &data->valid_inputs;
    if (sample) data->sample = xcalloc(1, sizeof *data->sample);
}

int data_open(struct data *data, const struct pair_files *train, const struct pair_files *valid,
              size_t max, bool sample)
{
    begin_data(data, sample);
    data->separate = valid->data != NULL || valid->source != NULL;
    int code = pair_inputs_open(&data->train_inputs, train);
    if (code == EXIT_OK && data->separate) code = pair_inputs_open(&data->valid_inputs, valid);
    return code == EXIT_OK ? survey_all(data, max) : code;
}

int data_over(struct data *data, const char *name, char *bytes, size_t size, size_t max)
{
    begin_data(data, true);
    data->train_inputs.side[0] = input_over(name, bytes, size);
    return survey_all(data, max);
}

int part_sample(const struct part *part, size_t max, struct pairs *pairs)
{
    struct pair_reader reader = {0};
    size_t seen = 0;
    *pairs = (struct pairs){.name = part->inputs->side[0].name};
    int code = reader_open(&reader, part->inputs, CHUNK);
    for (size_t s = 0; s < part->segments && code == EXIT_OK; s++) {
        const struct mark *mark = &part->marks[s];
        bool more = true, last = s + 1 == part->segments;
        size_t end = part->single ? mark->pair + 1 : last ? part->pairs : mark[1].pair;
        reader_seek(&reader, mark->position);
        for (size_t i = mark->pair; i < end && more && code == EXIT_OK; i++) {
            code = reader_next(&reader, &more);
            if (code != EXIT_OK || !more || (i == mark->pair && mark->held_out)) continue;
            if (part->count <= max || (seen + 1) * max / part->count > seen * max / part->count)
                pairs_add(pairs, reader.source, reader.target, reader_lines(&reader));
            seen++;
        }
    }
    pairs->lines = reader_lines(&reader);
    reader_close(&reader);
    return code;
}

void data_forget_sample(struct data *data)
{
    if (data->sample != NULL) pairs_free(data->sample);
    free(data->sample);
    data->sample = NULL;
}

void data_close(struct data *data)
{
    data_forget_sample(data);
    part_free(&data->train);
    part_free(&data->valid);
    pair_inputs_close(&data->train_inputs);
    pair_inputs_close(&data->valid_inputs);
}

/* ---- the training pairs that are held out for validation if no validation files are given. The
   marks of the training part are divided into stretches of equal length, one for each pair that is
   held out, and a pseudorandom mark is chosen in each: if the files are periodic, a regular choice
   could take pairs of only one kind ---- */

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
