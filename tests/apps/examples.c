/* examples.c - the examples that toy_translate train makes of pairs, and their batches, compared
   with plain readings of the same pairs. */
#define _POSIX_C_SOURCE 200809L
#include "data/data.h"
#include "kit/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char program_name[] = "examples";

/* ---- index: what several threads make of a part's segments, compared with the pairs read in order
   by one reader: lengths, ids, places and digests, seen words and skipped pairs, for any number of
   held ids. Pairs change between survey and index, and some are held out for validation. ---- */

enum { PAIRS = 6000, LONGEST = 24 };

struct fixture {
    char *bytes; /* the corpus, owned by data */
    size_t size;
    struct data data;
    struct vocabulary vocabulary;
};

/* Writes pairs of 1 to 30 words, some with an empty side, some with one longer than a segment, some
   with a NUL in a word. */
static void write_corpus(FILE *file)
{
    static const char *const words[] = {"red", "blue", "river", "tree", "of", "the", "sees", "cat"};
    struct random random = {5, 0};
    for (int i = 0; i < PAIRS; i++) {
        int count = i % 700 == 13 ? 0 : i % 900 == 17 ? 700 : 1 + (int)(random_bits(&random) % 12);
        for (int side = 0; side < 2; side++) {
            for (int w = 0; w < count; w++)
                fprintf(file, "%s%s", w > 0 ? " " : "", words[random_bits(&random) % 8]);
            if (count > 0 && i % 9 == 0) fprintf(file, " oak%celm", 0);
            fprintf(file, "%s", side == 0 ? "\t" : "\n");
        }
    }
}

static int begin(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    FILE *file = open_memstream(&f->bytes, &f->size);
    write_corpus(file);
    fclose(file);
    assert_int_equal(data_over(&f->data, "words", f->bytes, f->size, 1000), EXIT_OK);
    assert_int_equal(vocabulary_learn(&f->vocabulary, f->data.sample, 300, false, false), EXIT_OK);
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    vocabulary_free(&f->vocabulary);
    data_close(&f->data);
    free(f);
    return 0;
}

static struct examples create_examples(const struct fixture *f, size_t max_ids, int threads)
{
    return (struct examples){.vocabulary = &f->vocabulary,
                             .frames = {.source = {.after = {RAPT_TOKEN_END}, .after_count = 1},
                                        .target = {.before = {RAPT_TOKEN_BEGIN},
                                                   .before_count = 1,
                                                   .after = {RAPT_TOKEN_END},
                                                   .after_count = 1}},
                             .max_tokens = LONGEST,
                             .max_ids = max_ids,
                             .threads = threads};
}

/* Returns whether a pair of the files belongs to the part. */
static bool has_pair(const struct part *part, size_t pair)
{
    bool held_out = false;
    for (size_t i = 0; i < part->segments; i++) {
        const struct mark *mark = &part->marks[i];
        if (mark->pair == pair && part->single) return true;
        held_out = held_out || (mark->pair == pair && mark->held_out);
    }
    return !part->single && !held_out;
}

/* Checks every pair of the part in order. Returns how many are not too long. */
static size_t check_pairs(const struct part *part, struct examples *examples)
{
    struct pair_reader reader;
    struct encoded pair = {0};
    int32_t source[LONGEST], target[LONGEST];
    size_t n = 0, members = 0;
    bool more = true;
    assert_int_equal(reader_open(&reader, part->inputs, 1 << 16), EXIT_OK);
    for (size_t i = 0; i < part->pairs; i++) {
        assert_int_equal(reader_next(&reader, &more), EXIT_OK);
        assert_true(more);
        if (!has_pair(part, i)) continue;
        members++;
        if (!encode_pair(&pair, examples, &reader)) continue;
        assert_int_equal(examples->source[n], pair.source.count);
        assert_int_equal(examples->target[n], pair.target.count);
        assert_int_equal(examples->digests[n], reader_digest(&reader));
        if (n >= examples->held) assert_int_equal(examples->where[0][n], reader.position.at[0]);
        assert_int_equal(examples_get(examples, n, source, target), EXIT_OK);
        assert_memory_equal(source, pair.source.ids, pair.source.count * sizeof *source);
        assert_memory_equal(target, pair.target.ids, pair.target.count * sizeof *target);
        n++;
    }
    assert_int_equal(members, part->count);
    encoded_free(&pair);
    reader_close(&reader);
    return n;
}

/* Returns the number of first pairs whose ids fit. */
static size_t fitting(const struct examples *examples)
{
    size_t n = 0, used = 0;
    for (; n < examples->count; n++) {
        used += (size_t)examples->source[n] + examples->target[n];
        if (used > examples->max_ids) break;
    }
    return n;
}

static void any_threads(void **state)
{
    struct fixture *f = *state;
    static const size_t held[] = {0, 5, 3000, 1 << 20};
    char *words = NULL;
    assert_in_range(f->data.train.segments, SEGMENTS / 2, SEGMENTS);
    assert_true(f->data.train.segments < f->data.train.pairs);
    for (int threads = 0; threads < 6; threads++)
        for (size_t h = 0; h < sizeof held / sizeof *held; h++) {
            struct seen seen = {0};
            struct examples examples = create_examples(f, held[h], threads);
            assert_int_equal(examples_make(&examples, &f->data.train, &seen), EXIT_OK);
            size_t count = check_pairs(&f->data.train, &examples);
            assert_int_equal(examples.count, count);
            assert_true(count < f->data.train.count);
            assert_int_equal(examples.own, count);
            assert_int_equal(examples.held, fitting(&examples));
            char *list = seen_list(&seen);
            if (words == NULL) words = list;
            assert_string_equal(list, words);
            if (list != words) free(list);
            seen_free(&seen);
            examples_free(&examples);
        }
    assert_string_equal(words, "blue\ncat\nelm\noak\nof\nred\nriver\nsees\nthe\ntree\n");
    assert_true(seen_has(words, (rapt_text){"elm\0oak", 7}));
    assert_false(seen_has(words, (rapt_text){"oak\0ash", 7}));
    free(words);
}

/* Validation takes pairs that are not too long from the whole file. */
static void valid_pairs(void **state)
{
    struct fixture *f = *state;
    const struct part *part = &f->data.valid;
    struct examples examples = create_examples(f, 100, 3);
    size_t pairs = f->data.train.pairs;
    assert_int_equal(split_settle(&f->data, &examples), EXIT_OK);
    assert_int_equal(part->count, pairs / 100);
    assert_int_equal(f->data.train.count, pairs - pairs / 100);
    for (size_t i = 0; i < part->count; i++) /* evenly over the bytes of the file */
        assert_in_range(part->marks[i].position.at[0] + f->size / part->count,
                        i * f->size / part->count, (i + 3) * f->size / part->count);
    assert_int_equal(examples_make(&examples, part, NULL), EXIT_OK);
    assert_int_equal(examples.count, part->count);
    assert_int_equal(examples.count, check_pairs(part, &examples));
    examples_free(&examples);
}

/* Splits `pairs` pairs, of which only first .. end - 1 have no more than LONGEST tokens. Returns
   the number of validation pairs, or 0 if splitting fails. */
static size_t split_some(const struct fixture *f, size_t pairs, size_t first, size_t end)
{
    struct data data;
    struct examples examples = create_examples(f, 0, 1);
    char *bytes = NULL;
    size_t size = 0, count = 0;
    FILE *file = open_memstream(&bytes, &size);
    for (size_t i = 0; i < pairs; i++)
        fprintf(file, "%zu\t%*zu\n", i, i >= first && i < end ? 1 : LONGEST, i);
    fclose(file);
    assert_int_equal(data_over(&data, "numbers", bytes, size, 1000), EXIT_OK);
    if (split_settle(&data, &examples) == EXIT_OK) {
        count = data.valid.count;
        assert_int_equal(examples_make(&examples, &data.valid, NULL), EXIT_OK);
        assert_int_equal(examples.count, count);
        assert_int_equal(data.train.count + count, pairs);
        examples_free(&examples);
    }
    data_close(&data);
    return count;
}

/* Wherever the pairs are that can be used, validation gets some. */
static void too_long(void **state)
{
    const struct fixture *f = *state;
    assert_int_equal(split_some(f, 1000, 0, 990), 10); /* the last 1 % are too long */
    assert_int_equal(split_some(f, 1000, 10, 1000), 10);
    assert_int_equal(split_some(f, 1000, 0, 100), 1);
    assert_int_equal(split_some(f, 1000, 499, 501), 2);
    assert_int_equal(split_some(f, 199, 198, 199), 1);
    for (size_t i = 0; i < 3; i++) assert_int_equal(split_some(f, 3, i, i + 1), 1);
    assert_in_range(split_some(f, 50000, 0, 50000), 500, 500);
    assert_in_range(split_some(f, 50000, 20000, 20100), 1, 2);
    assert_int_equal(split_some(f, 1000, 0, 0), 0);
}

/* Changes a letter in each segment. */
static void changed(void **state)
{
    struct fixture *f = *state;
    const struct part *train = &f->data.train;
    for (size_t s = 0; s < train->segments; s += 1 + train->segments / 5) {
        struct examples examples = create_examples(f, 1000, 2);
        char *letter = f->bytes + train->marks[s].position.at[0], was = *letter;
        *letter = 'x';
        assert_int_not_equal(examples_make(&examples, train, NULL), EXIT_OK);
        *letter = was;
        examples_free(&examples);
    }
}

/* The words of a text, with a bar after each. */
static void check_words(const char *bytes, const char *expected)
{
    char found[200] = "";
    rapt_text text = {bytes, strlen(bytes)}, word;
    for (size_t at = 0; word_next(text, &at, &word);)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%.*s|", (int)word.size,
                 word.bytes);
    assert_string_equal(found, expected);
}

/* Punctuation is no part of a word, and in scripts without spaces every character is a word. */
static void words_of_scripts(void **state)
{
    (void)state;
    check_words("", "");
    check_words("the garden.", "the|garden|");
    check_words(" (garden), \"garden\"... 42 don't 3rd", "garden|garden|don't|rd|");
    check_words("„Garten“ – «jardin» ¿qué? … 5€", "Garten|jardin|qué|");
    check_words("小猫睡在window上。", "小|猫|睡|在|window|上|");
    check_words("猫は寝る、ｱｲ！", "猫|は|寝|る|ｱ|ｲ|");
    check_words("Кот, «спит».", "Кот|спит|");
    check_words("القطة، تنام؟", "القطة|تنام|");
    check_words("한국어 문장.", "한국어|문장|");
}

static void lists_of_0_2(void **state)
{
    char *list = seen_update("Hund\n„Katze“\n小猫睡。\n");
    (void)state;
    assert_string_equal(list, "Hund\nKatze\n小\n猫\n睡\n");
    assert_true(seen_has(list, (rapt_text){"猫睡 Katze.", 14}));
    assert_false(seen_has(list, (rapt_text){"猫跑", 6}));
    assert_null(seen_update(list));
    assert_null(seen_update(""));
    free(list);
}

/* ---- batches: examples are sorted by length class and then by the draws in order, split where the
   budget of a side or a batch is full, and whole batches are shuffled by the draws that follow.
   Also the sample that a vocabulary is learned from. ---- */

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
static void draw_examples(struct examples *e, size_t count, int longest, uint64_t seed)
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

static void check_batches(struct batches *batches, size_t budget, uint64_t seed, int epoch)
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

static void check_all_batches(size_t count, int longest, size_t budget, int epochs)
{
    struct examples examples;
    struct batches batches;
    draw_examples(&examples, count, longest, count);
    assert_int_equal(batches_create(&batches, &examples, budget), EXIT_OK);
    for (int epoch = 0; epoch < epochs; epoch++) check_batches(&batches, budget, count + 1, epoch);
    batches_free(&batches);
    examples_free(&examples);
}

static void plans(void **state)
{
    static const size_t counts[] = {1, 2, 3, 16, 17, 18, 40, 333, 5000, 70000};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int longest = 2; longest <= 60; longest += 29)
            check_all_batches(counts[c], longest, 100, 4);
}

/* Short examples, so that MAX_SENTENCES limits a batch before the budget does. */
static void many(void **state)
{
    (void)state;
    check_all_batches(MAX_SENTENCES + 3, 2, 4 * MAX_SENTENCES, 2);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_threads),
                                       cmocka_unit_test(valid_pairs),
                                       cmocka_unit_test(changed),
                                       cmocka_unit_test(too_long),
                                       cmocka_unit_test(words_of_scripts),
                                       cmocka_unit_test(lists_of_0_2),
                                       cmocka_unit_test(plans),
                                       cmocka_unit_test(many),
                                       cmocka_unit_test(samples)};
    return cmocka_run_group_tests(tests, begin, end);
}
