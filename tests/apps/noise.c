/* noise.c - the noise that toy_translate train --augment adds: each kind on given texts; that the
   rates are kept, and that the noise of an example is a function of the seed, the epoch and the
   example, wherever its tokens are held; and that tags enclose a word and its translation. */
#define _POSIX_C_SOURCE 200809L
#include "../temporary.h"
#include "data/data.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char program_name[] = "noise";

static rapt_text text_of(const char *text)
{
    return (rapt_text){text, strlen(text)};
}

/* ---- each kind ---- */

/* Checks what a pair becomes with some kinds of noise. */
static void becomes(unsigned kinds, const size_t words[2], const char *source, const char *target,
                    const char *noisy_source, const char *noisy_target)
{
    const char *const wanted[2] = {noisy_source, noisy_target};
    struct noisy_pair pair = {0};
    struct random random = {1, 0};
    noisy_append(&pair, text_of(source), text_of(target));
    noise_add(&pair, kinds, words, &random);
    for (int side = 0; side < 2; side++) {
        assert_int_equal(pair.size[side], strlen(wanted[side]));
        assert_memory_equal(pair.bytes[side], wanted[side], pair.size[side]);
    }
    noisy_free(&pair);
}

enum {
    CAPS = 1 << NOISE_CAPS,
    TITLE = 1 << NOISE_TITLE,
    TAGS = 1 << NOISE_TAGS,
    NO_END = 1 << NOISE_NO_END_PUNCTUATION
};

static void test_kinds(void **state)
{
    (void)state;
    becomes(0, NULL, "A b.", "C d.", "A b.", "C d.");
    becomes(CAPS, NULL,
            "Stra\xC3\x9F"
            "e \xC3\xA9 \xC3\xBF \xC4\xB1 \xC5\x82 3.",
            "\xCF\x83\xCF\x82 \xCF\x8C \xD0\xB6\xD1\x91 \xD5\xA1 \xE1\xBA\xA1 \xE4\xBA\xBA",
            "STRASSE \xC3\x89 \xC5\xB8 I \xC5\x81 3.",
            "\xCE\xA3\xCE\xA3 \xCE\x8C \xD0\x96\xD0\x81 \xD4\xB1 \xE1\xBA\xA0 \xE4\xBA\xBA");
    becomes(TITLE, NULL, "it's a (red) dog-house", "\xC3\xA9t\xC3\xA9 3x", "It's A (Red) Dog-House",
            "\xC3\x89t\xC3\xA9 3X");
    becomes(CAPS | TITLE, NULL, "a bc", "d ef", "A BC", "D EF");
    becomes(NO_END, NULL, "Why not?!", "Warum nicht ...", "Why not", "Warum nicht");
    becomes(NO_END, NULL, "Yes.", "Ja", "Yes.", "Ja");
    becomes(NO_END, NULL, "\xE4\xBA\xBA\xE3\x80\x82", "Man.", "\xE4\xBA\xBA", "Man");
    becomes(NO_END, NULL, "...", "Oh.", "...", "Oh.");
    becomes(TAGS, NULL, "a b", "c", "<i>a b</i>", "<i>c</i>");
    becomes(TAGS, (const size_t[2]){1, 0}, "a b  c", "d e", "a <i>b</i>  c", "<i>d</i> e");
    becomes(TAGS, (const size_t[2]){3, 0}, "a b  c", "d e", "a b  c", "d e");
    becomes(TAGS | CAPS, NULL, "a", "b", "<i>A</i>", "<i>B</i>");
}

static void test_joining(void **state)
{
    (void)state;
    struct noisy_pair pair = {0};
    noisy_append(&pair, text_of("\xE4\xBA\xBA\xE3\x80\x82"), text_of("A man."));
    noisy_append(&pair, text_of("\xE7\x8A\xAC\xE3\x80\x82"), text_of("A dog."));
    assert_int_equal(pair.size[0], 12);
    assert_memory_equal(pair.bytes[0], "\xE4\xBA\xBA\xE3\x80\x82\xE7\x8A\xAC\xE3\x80\x82", 12);
    assert_int_equal(pair.size[1], 13);
    assert_memory_equal(pair.bytes[1], "A man. A dog.", 13);
    noisy_free(&pair);
}

/* A typo changes the source, by a few letters, and neither its words nor the target. */
static void test_typos(void **state)
{
    (void)state;
    static const char source[] = "the qu\xC3\xADz brown f\xC3\xB6x jumps over a lazy dog, I say";
    int shorter = 0, longer = 0, equal = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        struct noisy_pair pair = {0};
        struct random random = random_from(7, i);
        size_t blanks = 0;
        noisy_append(&pair, text_of(source), text_of("x"));
        noise_add(&pair, 1 << NOISE_TYPOS, NULL, &random);
        for (size_t at = 0; at < pair.size[0]; at++) blanks += pair.bytes[0][at] == ' ';
        assert_int_equal(blanks, 10);
        assert_int_equal(rapt_utf8_valid(noisy_text(&pair, 0)), pair.size[0]);
        assert_true(pair.size[0] != strlen(source) ||
                    memcmp(pair.bytes[0], source, pair.size[0]) != 0);
        assert_true(pair.size[1] == 1 && pair.bytes[1][0] == 'x');
        shorter += pair.size[0] < strlen(source);
        longer += pair.size[0] > strlen(source);
        equal += pair.size[0] == strlen(source);
        noisy_free(&pair);
    }
    assert_true(shorter > 150 && longer > 200 && equal > 350);
    becomes(1 << NOISE_TYPOS, NULL, "3 + 4", "x", "3 + 4", "x");
}

/* ---- lists ---- */

static void test_lists(void **state)
{
    (void)state;
    struct noise noise;
    assert_int_equal(noise_read(&noise, "caps=.25,typos", false, "train", "augment"), EXIT_OK);
    assert_true(noise.rates[NOISE_CAPS] == 0.25 && noise.rates[NOISE_TYPOS] == 0.05);
    char *text = noise_text(&noise);
    assert_string_equal(text, "caps=0.25,typos=0.05");
    free(text);
    assert_int_equal(noise_read(&noise, "all,tags=0", false, "train", "augment"), EXIT_OK);
    text = noise_text(&noise);
    assert_string_equal(text, "caps=0.07,title=0.05,typos=0.05,no-end-punctuation=0.2,concat=0.05");
    free(text);
    assert_int_equal(noise_read(&noise, "title", true, "evaluate", "noise"), EXIT_OK);
    assert_true(noise.rates[NOISE_TITLE] == 1 && noise_any(&noise));
    assert_int_equal(noise_read(&noise, NULL, false, "train", "augment"), EXIT_OK);
    assert_false(noise_any(&noise));
    static const char *const bad[] = {"",         "cap",     "caps,",    "caps=",   "caps=x",
                                      "caps=1.5", "caps=-1", "caps=nan", "caps=.1x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(noise_read(&noise, bad[i], false, "train", "augment"), EXIT_USAGE);
}

/* Checks a number of draws against the mean and four standard deviations of its binomial
   distribution. */
static void assert_rate(size_t hits, size_t draws, double rate)
{
    const double mean = rate * (double)draws, deviation = sqrt(mean * (1 - rate));
    if (fabs((double)hits - mean) > 4 * deviation)
        fail_msg("%zu of %zu draws, but the rate is %g", hits, draws, rate);
}

static void test_rates(void **state)
{
    (void)state;
    enum { DRAWS = 100000 };
    struct noise noise;
    size_t hits[NOISE_KINDS] = {0}, both = 0;
    noise_read(&noise, "all", false, "train", "augment");
    for (uint64_t i = 0; i < DRAWS; i++) {
        struct random random = random_from(3, i);
        const unsigned kinds = noise_draw(&noise, &random);
        for (int kind = 0; kind < NOISE_KINDS; kind++) hits[kind] += kinds >> kind & 1;
        both += (kinds & (CAPS | NO_END)) == (CAPS | NO_END);
    }
    for (int kind = 0; kind < NOISE_KINDS; kind++)
        assert_rate(hits[kind], DRAWS, noise.rates[kind]);
    assert_rate(both, DRAWS, 0.07 * 0.2);
}

/* ---- examples ---- */

enum { PAIRS = 2000, LONGEST = 60 };
static const char *const words[2][6] = {{"red", "blue", "green", "old", "new", "big"},
                                        {"rot", "blau", "gruen", "alt", "neu", "gross"}};

struct fixture {
    char *bytes;
    size_t size;
    struct data data;
    struct vocabulary vocabulary;
    char folder[TEMPORARY];
    char links[TEMPORARY + 8]; /* a file with the alignments of the pairs */
};

/* Writes pairs of one to five words, in reverse order, and their alignments. */
static void write_pairs(FILE *pairs, FILE *links)
{
    struct random random = {5, 0};
    for (int i = 0; i < PAIRS; i++) {
        int numbers[5], count = 1 + random_below(&random, 5);
        for (int w = 0; w < count; w++) numbers[w] = random_below(&random, 6);
        for (int w = 0; w < count; w++)
            fprintf(pairs, "%s%s", w > 0 ? " " : "", words[0][numbers[w]]);
        for (int w = count; w-- > 0;)
            fprintf(pairs, "%s%s", w + 1 < count ? " " : "\t", words[1][numbers[w]]);
        for (int w = 0; w < count; w++)
            fprintf(links, "%s%d-%d", w > 0 ? " " : "", w, count - 1 - w);
        fputc('\n', pairs);
        fputc('\n', links);
    }
}

static int begin(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    assert_non_null(temporary_folder(f->folder));
    snprintf(f->links, sizeof f->links, "%s/links", f->folder);
    FILE *pairs = open_memstream(&f->bytes, &f->size), *links = fopen(f->links, "w");
    assert_true(pairs != NULL && links != NULL);
    write_pairs(pairs, links);
    fclose(pairs);
    fclose(links);
    assert_int_equal(data_over(&f->data, "pairs", f->bytes, f->size, 20), EXIT_OK);
    assert_int_equal(vocabulary_learn(&f->vocabulary, f->data.sample, 280, false, false), EXIT_OK);
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    unlink(f->links);
    rmdir(f->folder);
    vocabulary_free(&f->vocabulary);
    data_close(&f->data);
    free(f);
    return 0;
}

static struct examples examples_of(const struct fixture *f, size_t max_ids)
{
    struct examples examples = {.vocabulary = &f->vocabulary,
                                .frames = {.source = {.after = {RAPT_TOKEN_END}, .after_count = 1},
                                           .target = {.before = {RAPT_TOKEN_BEGIN},
                                                      .before_count = 1,
                                                      .after = {RAPT_TOKEN_END},
                                                      .after_count = 1}},
                                .max_tokens = LONGEST,
                                .max_ids = max_ids,
                                .threads = 2};
    assert_int_equal(examples_make(&examples, &f->data.train, NULL), EXIT_OK);
    return examples;
}

struct pair_ids {
    int32_t source[LONGEST], target[LONGEST];
};

static struct pair_ids get(struct examples *examples, size_t i)
{
    struct pair_ids ids;
    memset(&ids, -1, sizeof ids);
    assert_true(examples->source[i] <= LONGEST && examples->target[i] <= LONGEST);
    assert_int_equal(examples_get(examples, i, ids.source, ids.target), EXIT_OK);
    return ids;
}

/* Returns the text of a side of an example, which the caller frees. */
static char *side_text(struct examples *examples, size_t i, int side)
{
    const rapt_tokenizer *tokenizer =
        side == 0 ? examples->vocabulary->source : examples->vocabulary->target;
    const struct pair_ids ids = get(examples, i);
    char bytes[1024];
    size_t size = 0;
    const size_t count = side == 0 ? examples->source[i] - 1 : examples->target[i] - 2;
    assert_int_equal(rapt_tokenizer_decode(tokenizer, side == 0 ? ids.source : ids.target + 1,
                                           count, bytes, sizeof bytes, &size, NULL),
                     RAPT_OK);
    return xasprintf("%.*s", (int)size, bytes);
}

static bool same_ids(const struct pair_ids *a, const struct pair_ids *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void test_examples(void **state)
{
    const struct fixture *f = *state;
    struct noise noise;
    struct examples held = examples_of(f, 1 << 20), read = examples_of(f, 50),
                    clean = examples_of(f, 1 << 20), other = examples_of(f, 1 << 20);
    noise_read(&noise, "caps=.2,title=.1,typos=.1,tags=.1,concat=.1", false, "train", "augment");
    examples_augment(&held, &noise, 9, NULL);
    examples_augment(&read, &noise, 9, NULL);
    examples_augment(&other, &noise, 10, NULL);
    assert_int_equal(examples_epoch(&other, 1), EXIT_OK);
    size_t first = 0, both = 0;
    for (int epoch = 1; epoch <= 2; epoch++) {
        size_t noisy = 0, changed = 0, seeds = 0;
        assert_int_equal(examples_epoch(&held, epoch), EXIT_OK);
        assert_int_equal(examples_epoch(&read, epoch), EXIT_OK);
        for (size_t i = 0; i < held.count; i++) {
            const struct pair_ids a = get(&held, i), b = get(&read, i), c = get(&clean, i);
            assert_true(same_ids(&a, &b));
            assert_true(examples_noisy(&held, i) || same_ids(&a, &c));
            noisy += examples_noisy(&held, i);
            changed += !same_ids(&a, &c);
            seeds += examples_noisy(&held, i) != examples_noisy(&other, i);
        }
        assert_rate(noisy, held.count, 1 - 0.8 * 0.9 * 0.9 * 0.9 * 0.9);
        assert_true(changed > noisy * 9 / 10); /* the others would become too long */
        assert_true(seeds > held.count / 4);
        first = epoch == 1 ? noisy : first;
    }
    /* The noise of an epoch does not depend on the epochs before. */
    assert_int_equal(examples_epoch(&read, 1), EXIT_OK);
    for (size_t i = 0; i < held.count; i++)
        both += examples_noisy(&held, i) && examples_noisy(&read, i);
    assert_true(both < first);
    examples_free(&held);
    examples_free(&read);
    examples_free(&clean);
    examples_free(&other);
}

/* Returns the number of the word that tags enclose in a text, or -1. */
static int tagged_word(const char *text, int side)
{
    const char *open = strchr(text, '<'), *close = open != NULL ? strchr(open, '>') : NULL;
    assert_true(open == NULL || close != NULL);
    for (int w = 0; w < 6 && open != NULL; w++) {
        const size_t size = strlen(words[side][w]);
        if (strncmp(close + 1, words[side][w], size) == 0 && close[1 + size] == '<') return w;
    }
    return -1;
}

static void test_tags(void **state)
{
    const struct fixture *f = *state;
    struct alignments alignments = {0};
    struct noise noise = {.rates = {[NOISE_TAGS] = 1}};
    struct examples examples = examples_of(f, 1 << 20);
    assert_int_equal(alignments_open(&alignments, f->links), EXIT_OK);
    assert_int_equal(alignments_make(&alignments, &examples, &f->data.train), EXIT_OK);
    examples_augment(&examples, &noise, 1, &alignments);
    assert_int_equal(examples_epoch(&examples, 1), EXIT_OK);
    for (size_t i = 0; i < examples.count; i++) {
        char *source = side_text(&examples, i, 0), *target = side_text(&examples, i, 1);
        const int word = tagged_word(source, 0);
        assert_true(word >= 0);
        assert_int_equal(word, tagged_word(target, 1));
        free(source);
        free(target);
    }
    /* Noisy examples have no links, since their tokens are others. */
    struct batches batches;
    rapt_tokens source, target;
    assert_int_equal(batches_create(&batches, &examples, 512), EXIT_OK);
    batches_plan(&batches, 1, 1);
    assert_int_equal(batches_get(&batches, 0, &source, &target), EXIT_OK);
    const rapt_alignment none = alignments_batch(&alignments, &batches);
    assert_int_equal(none.starts[target.starts[target.batch] - target.batch], 0);
    batches_free(&batches);
    alignments_free(&alignments);
    examples_free(&examples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds), cmocka_unit_test(test_joining),
        cmocka_unit_test(test_typos), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_rates), cmocka_unit_test(test_examples),
        cmocka_unit_test(test_tags),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
