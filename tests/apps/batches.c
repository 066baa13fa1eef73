/* batches.c - compares the batches of toy_translate with their definition, computed with plain
   arrays: examples are sorted by length class and then by the draws in order, split where the
   budget of a side or a batch is full, and whole batches are shuffled by the draws that follow.
   Also checks the sample that a vocabulary is learned from. */
#define _POSIX_C_SOURCE 200809L
#include "data/data.h"
#include "kit/random.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char program_name[] = "batches";

struct key {
    uint64_t rank;
    size_t length, index;
};

static int by_length(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Whole batches, one after the other; batch b has lengths[b] examples. */
struct expected {
    size_t *order, *lengths, count;
};

static size_t longer(const struct examples *e, size_t i)
{
    return e->source[i] > e->target[i] ? e->source[i] : e->target[i];
}

static struct key *sorted(const struct examples *e, struct random *random, bool shuffled)
{
    struct key *keys = xcalloc(e->count, sizeof *keys);
    for (size_t i = 0; i < e->count; i++)
        keys[i] = (struct key){shuffled ? random_bits(random) : 0, longer(e, i) / 4, i};
    qsort(keys, e->count, sizeof *keys, by_length);
    return keys;
}

static struct expected expect(const struct examples *e, size_t budget, uint64_t seed, int epoch)
{
    struct random random = {seed, 0};
    random = (struct random){random_bits(&random) ^ (uint64_t)epoch, 0};
    struct key *keys = sorted(e, &random, epoch > 0);
    struct expected x = {xcalloc(e->count, sizeof *x.order), xcalloc(e->count, sizeof *x.lengths),
                         0};
    size_t *begins = xcalloc(e->count + 1, sizeof *begins), sources = 0, targets = 0, at = 0;
    for (size_t i = 0; i < e->count; i++) {
        sources += e->source[keys[i].index];
        targets += e->target[keys[i].index];
        bool many = x.count > 0 && i - begins[x.count - 1] == MAX_SENTENCES;
        if (i == 0 || sources > budget || targets > budget || many) {
            begins[x.count++] = i;
            sources = e->source[keys[i].index];
            targets = e->target[keys[i].index];
        }
    }
    begins[x.count] = e->count;
    size_t *position = xcalloc(x.count, sizeof *position);
    for (size_t b = 0; b < x.count; b++) position[b] = b;
    for (size_t b = x.count; b > 1 && epoch > 0; b--) {
        size_t other = (size_t)(random_bits(&random) % b), last = position[b - 1];
        position[b - 1] = position[other];
        position[other] = last;
    }
    for (size_t b = 0; b < x.count; b++) {
        x.lengths[b] = begins[position[b] + 1] - begins[position[b]];
        for (size_t i = begins[position[b]]; i < begins[position[b] + 1]; i++)
            x.order[at++] = keys[i].index;
    }
    free(keys);
    free(begins);
    free(position);
    return x;
}

/* Makes examples without text whose lengths are drawn. */
static void draw(struct examples *e, size_t count, int longest, uint64_t seed)
{
    struct random random = random_from(seed, count);
    *e = (struct examples){.count = count};
    e->source = xcalloc(count, sizeof *e->source);
    e->target = xcalloc(count, sizeof *e->target);
    for (size_t i = 0; i < count; i++) {
        e->source[i] = 2 + (uint32_t)random_below(&random, longest - 1);
        e->target[i] = 2 + (uint32_t)random_below(&random, longest - 1);
    }
}

static void check(struct batches *batches, size_t budget, uint64_t seed, int epoch)
{
    struct expected x = expect(batches->examples, budget, seed, epoch);
    size_t at = 0;
    batches_plan(batches, seed, epoch);
    assert_int_equal(batches->count, x.count);
    for (size_t b = 0; b < x.count; b++) {
        size_t from = batches->starts[batches->shuffled[b]];
        assert_int_equal(batches->starts[batches->shuffled[b] + 1] - from, x.lengths[b]);
        for (size_t i = 0; i < x.lengths[b]; i++)
            assert_int_equal(batches->order[from + i], x.order[at++]);
    }
    assert_int_equal(at, batches->examples->count);
    free(x.order);
    free(x.lengths);
}

static void check_all(size_t count, int longest, size_t budget, int epochs)
{
    struct examples examples;
    struct batches batches;
    draw(&examples, count, longest, count);
    assert_int_equal(batches_create(&batches, &examples, budget), EXIT_OK);
    for (int epoch = 0; epoch < epochs; epoch++) check(&batches, budget, count + 1, epoch);
    batches_free(&batches);
    examples_free(&examples);
}

static void plans(void **state)
{
    static const size_t counts[] = {1, 2, 3, 16, 17, 18, 40, 333, 5000, 70000};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int longest = 2; longest <= 60; longest += 29) check_all(counts[c], longest, 100, 4);
}

/* Short examples, so that MAX_SENTENCES limits a batch before the budget does. */
static void many(void **state)
{
    (void)state;
    check_all(MAX_SENTENCES + 3, 2, 4 * MAX_SENTENCES, 2);
}

static char *numbered(size_t count, size_t padding, size_t *size)
{
    char *bytes = NULL;
    FILE *file = open_memstream(&bytes, size);
    for (size_t i = 0; i < count; i++) fprintf(file, "%zu\t%*zu\n", i, (int)padding, i);
    fclose(file);
    return bytes;
}

/* Returns the pairs of a spaced sample that are not held out. */
static size_t expected_sample(const struct data *data, size_t *expected)
{
    size_t n = 0;
    for (size_t i = 0; i < data->train.pairs; i += data->sample_spacing) {
        bool held_out = false;
        for (size_t k = 0; k < data->valid.segments; k++)
            held_out = held_out || data->valid.marks[k].pair == i;
        if (!held_out) expected[n++] = i;
    }
    return n;
}

/* The sample is all training pairs while they are few, and evenly spaced ones later. */
static void samples(void **state)
{
    static const size_t counts[] = {2, 99, 200, 1000, 2100};
    size_t expected[2100];
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct data data;
        size_t count = counts[c], padding = c == 4 ? MAX_BYTES : 10, size;
        char *bytes = numbered(count, padding, &size);
        assert_int_equal(data_over(&data, "numbers", bytes, size, 1000), EXIT_OK);
        size_t valid = count / 100 > 0 ? count / 100 : 1;
        assert_int_equal(data.valid.count, valid);
        assert_int_equal(data.train.count, count - valid);
        assert_int_equal(data.sample_spacing, padding > 10 ? 4 : 1);
        assert_int_equal(data.sample->count, expected_sample(&data, expected));
        for (size_t i = 0; i < data.sample->count; i++) {
            char text[32];
            snprintf(text, sizeof text, "%zu", expected[i]);
            assert_int_equal(data.sample->source[i].size, strlen(text));
            assert_memory_equal(data.sample->source[i].bytes, text, strlen(text));
            assert_int_equal(data.sample->target[i].size, padding);
            assert_int_equal(data.sample->line[i], expected[i] + 1);
        }
        assert_true(data.sample->used <= SAMPLE_BYTES);
        data_close(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans), cmocka_unit_test(many),
                                       cmocka_unit_test(samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
