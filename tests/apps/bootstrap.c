/* bootstrap.c - compares intervals and p-values of kit/random.c with their definition, computed
   from the texts of each resampled corpus: the library's BLEU of that corpus, sorted by
   selection. */
#include "kit/program.h"
#include "kit/random.h"
#include <math.h>
#include <rapt/metrics.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

const char program_name[] = "bootstrap";

enum { SENTENCES = 7, RESAMPLES = 80, SEED = 3 };
static const char *const references[SENTENCES] = {
    "the cat sits on the mat today",    "a dog runs through the deep snow",
    "two men are playing the guitar",   "the old woman calls her sister now",
    "a child eats an apple on a bench", "there is no one in the garden",
    "the train leaves at five o'clock"};
static const char *const one[SENTENCES] = {
    "the cat sits on the mat today",  "a dog runs in the deep snow",     "two men play the guitar",
    "the old woman calls her sister", "a child eats an apple on a bank", "no one is in the garden",
    "the train leaves at five"};
static const char *const other[SENTENCES] = {
    "the cat sits on a mat",          "the dog runs through snow",
    "two men are playing the guitar", "an old woman is calling her sister",
    "a child is eating apples",       "there is no one in the garden",
    "a train is leaving at five"};

static rapt_text text(const char *bytes)
{
    return (rapt_text){bytes, strlen(bytes)};
}

static void add(rapt_bleu *bleu, const char *const *hypotheses, size_t i)
{
    assert_int_equal(rapt_bleu_add(bleu, RAPT_BLEU_TOKENS_13A, 0, text(hypotheses[i]),
                                   text(references[i]), NULL, NULL),
                     RAPT_OK);
}

static double score(const long long *sums)
{
    rapt_bleu bleu = {{0}, {0}, sums[8], sums[9]};
    memcpy(bleu.matches, sums, sizeof bleu.matches);
    memcpy(bleu.totals, sums + 4, sizeof bleu.totals);
    return rapt_bleu_score(&bleu);
}

static struct bootstrap_corpus corpus_of(const char *const *hypotheses,
                                         long long counts[SENTENCES][10])
{
    for (size_t i = 0; i < SENTENCES; i++) {
        rapt_bleu bleu = {{0}, {0}, 0, 0};
        add(&bleu, hypotheses, i);
        memcpy(counts[i], bleu.matches, sizeof bleu.matches);
        memcpy(counts[i] + 4, bleu.totals, sizeof bleu.totals);
        counts[i][8] = bleu.hypothesis_length;
        counts[i][9] = bleu.reference_length;
    }
    return (struct bootstrap_corpus){SENTENCES, 10, counts[0], score};
}

/* Returns the BLEU of resample r, from its texts. */
static double resampled(const char *const *hypotheses, int r)
{
    rapt_bleu bleu = {{0}, {0}, 0, 0};
    for (size_t i = 0; i < SENTENCES; i++)
        add(&bleu, hypotheses, bootstrap_index(SEED, r, i, SENTENCES));
    return rapt_bleu_score(&bleu);
}

/* Returns the value with `rank` smaller ones. Values may be equal. */
static double ranked(const double *values, int rank)
{
    for (int i = 0; i < RESAMPLES; i++) {
        int less = 0, equal = 0;
        for (int j = 0; j < RESAMPLES; j++) {
            less += values[j] < values[i];
            equal += values[j] <= values[i] && values[j] >= values[i];
        }
        if (less <= rank && rank < less + equal) return values[i];
    }
    fail();
    return 0;
}

static void test_interval(void **state)
{
    long long counts[SENTENCES][10];
    double values[RESAMPLES];
    struct bootstrap_corpus corpus = corpus_of(one, counts);
    (void)state;
    for (int r = 0; r < RESAMPLES; r++) values[r] = resampled(one, r);
    struct bootstrap_interval interval = bootstrap_interval(&corpus, RESAMPLES, SEED);
    assert_true(interval.low == ranked(values, 2));
    assert_true(interval.high == ranked(values, RESAMPLES - 3));
    assert_true(interval.low < bootstrap_score(&corpus) &&
                bootstrap_score(&corpus) < interval.high);
    struct bootstrap_interval again = bootstrap_interval(&corpus, RESAMPLES, SEED + 1);
    assert_true(again.low != interval.low || again.high != interval.high);
}

static void test_p(void **state)
{
    long long a_counts[SENTENCES][10], b_counts[SENTENCES][10];
    struct bootstrap_corpus a = corpus_of(one, a_counts), b = corpus_of(other, b_counts);
    double differences[RESAMPLES], mean = 0;
    double real = fabs(bootstrap_score(&a) - bootstrap_score(&b));
    int farther = 0;
    (void)state;
    for (int r = 0; r < RESAMPLES; r++) {
        differences[r] = resampled(one, r) - resampled(other, r);
        mean += differences[r] / RESAMPLES;
    }
    for (int r = 0; r < RESAMPLES; r++) farther += fabs(differences[r] - mean) >= real;
    assert_true(farther > 0 && farther < RESAMPLES);
    double wanted = (1.0 + farther) / (1.0 + RESAMPLES);
    assert_true(bootstrap_p(&a, &b, RESAMPLES, SEED) == wanted);
    assert_true(bootstrap_p(&b, &a, RESAMPLES, SEED) == wanted);
    assert_true(bootstrap_p(&a, &a, RESAMPLES, SEED) == 1);
}

/* Every sentence is drawn about equally often. */
static void test_index(void **state)
{
    int drawn[SENTENCES] = {0};
    (void)state;
    for (int r = 0; r < 1000; r++)
        for (size_t i = 0; i < SENTENCES; i++) drawn[bootstrap_index(SEED, r, i, SENTENCES)]++;
    for (int s = 0; s < SENTENCES; s++) assert_true(drawn[s] > 880 && drawn[s] < 1120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_p),
        cmocka_unit_test(test_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
