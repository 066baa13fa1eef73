/* index.c - compares the index that several threads make of a part's segments with the pairs read
   in order by one reader: lengths, ids, places and digests, seen words and skipped pairs, for any
   number of held ids. Also changes pairs between survey and index, and checks which pairs are held
   out for validation. */
#define _POSIX_C_SOURCE 200809L
#include "data/data.h"
#include "kit/random.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char program_name[] = "index";

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

static struct examples create(const struct fixture *f, size_t max_ids, int threads)
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
            struct examples examples = create(f, held[h], threads);
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
static void valid(void **state)
{
    struct fixture *f = *state;
    const struct part *part = &f->data.valid;
    struct examples examples = create(f, 100, 3);
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
    struct examples examples = create(f, 0, 1);
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
        struct examples examples = create(f, 1000, 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_threads),      cmocka_unit_test(valid),
        cmocka_unit_test(changed),          cmocka_unit_test(too_long),
        cmocka_unit_test(words_of_scripts), cmocka_unit_test(lists_of_0_2)};
    return cmocka_run_group_tests(tests, begin, end);
}
