/* data.c - surveys the files of a training run in one pass: which pairs are for training and which
   for validation, a hash of all pairs, and an evenly spaced sample to learn a vocabulary from,
   small enough for any memory. */
#include "data.h"
#include "kit/hash.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 18, TAIL = 1000, SEGMENT_BYTES = 1 << 10 };
enum { ENDS = 2 }; /* bytes of a pair besides its sentences: a tab and a line feed */

/* The positions at which the last pairs begin. */
struct tail {
    struct mark marks[TAIL]; /* pair i is at marks[i % TAIL] */
};

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

/* Adds a mark. If there are too many, every second one is dropped. */
static void add_mark(struct part *part, const struct mark *mark)
{
    if (part->segments > 0 &&
        bytes_before(mark) - bytes_before(&part->marks[part->segments - 1]) < part->spacing)
        return;
    if (part->segments == 0) part->marks = xcalloc(SEGMENTS, sizeof *part->marks);
    if (part->segments == SEGMENTS) {
        for (size_t i = 0; i < SEGMENTS / 2; i++) part->marks[i] = part->marks[2 * i];
        part->segments = SEGMENTS / 2;
        part->spacing *= 2;
    }
    part->marks[part->segments++] = *mark;
}

/* tail: NULL, or gets the positions of the last pairs. data: NULL, or gets a sample. */
static int survey(struct part *part, uint64_t *hash, struct tail *tail, struct data *data)
{
    struct pair_reader reader;
    bool more = true;
    part->spacing = SEGMENT_BYTES;
    int code = reader_open(&reader, part->inputs, CHUNK);
    while (code == EXIT_OK) {
        code = reader_next(&reader, &more);
        if (code != EXIT_OK || !more) break;
        struct mark mark = {reader.position, part->count, *hash};
        add_mark(part, &mark);
        if (tail != NULL) tail->marks[part->count % TAIL] = mark;
        if (data != NULL) add_to_sample(data, &reader, part->count);
        *hash = reader_hash(*hash, &reader);
        part->bytes += reader.source.size + reader.target.size + ENDS;
        part->count++;
    }
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
    return survey(part, hash, NULL, NULL);
}

void part_free(struct part *part)
{
    free(part->marks);
    part->marks = NULL;
    part->segments = 0;
}

/* ---- training and validation ---- */

/* Takes the last pairs of train for valid. */
static int take_tail(struct data *data, const struct tail *tail, size_t max)
{
    struct part *train = &data->train, *valid = &data->valid;
    if (train->count < 2)
        return failed("%s: one pair is not enough for training and validation",
                      train->inputs->side[0].name);
    size_t count = train->count / 100;
    if (max > TAIL) max = TAIL;
    if (count > max) count = max;
    if (count == 0) count = 1;
    train->count -= count;
    *valid = (struct part){train->inputs, .count = count, .segments = 1, .end = train->end};
    valid->marks = xcalloc(1, sizeof *valid->marks);
    valid->marks[0] = tail->marks[train->count % TAIL];
    valid->marks[0].pair = 0;
    train->end = valid->marks[0].hash;
    while (train->marks[train->segments - 1].pair >= train->count) train->segments--;
    return EXIT_OK;
}

static int survey_all(struct data *data, bool separate, size_t max)
{
    struct tail *tail = separate ? NULL : xcalloc(1, sizeof *tail);
    int code = survey(&data->train, &data->hash, tail, data);
    if (code == EXIT_OK)
        code =
            separate ? survey(&data->valid, &data->hash, NULL, NULL) : take_tail(data, tail, max);
    free(tail);
    size_t spacing = data->sample_spacing;
    if (code == EXIT_OK && data->sample != NULL)
        pairs_cut(data->sample, (data->train.count + spacing - 1) / spacing);
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
    bool separate = valid->data != NULL || valid->source != NULL;
    begin_data(data, sample);
    int code = pair_inputs_open(&data->train_inputs, train);
    if (code == EXIT_OK && separate) code = pair_inputs_open(&data->valid_inputs, valid);
    return code == EXIT_OK ? survey_all(data, separate, max) : code;
}

int data_over(struct data *data, const char *name, char *bytes, size_t size, size_t max)
{
    begin_data(data, true);
    data->train_inputs.side[0] = input_over(name, bytes, size);
    return survey_all(data, false, max);
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
