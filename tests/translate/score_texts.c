/* score_texts.c - scores of pairs of texts have the bits of the scores of their tokens, in order
   and in any batches; some pairs cannot be scored. */
#include "translate/small_text.h"

enum { POSITIONS = 24, PAIRS = 30, TOKENS = 64 };

struct seen {
    double sums[PAIRS];
    float logs[PAIRS][TOKENS];
    int counts[PAIRS];
    rapt_status status[PAIRS];
    size_t calls, stop_at;
};

static int see(void *user, const rapt_text_score *score)
{
    struct seen *seen = user;
    size_t i = score->pair;
    assert_true(i == seen->calls && i < PAIRS);
    seen->status[i] = score->status;
    seen->sums[i] = score->sum;
    seen->counts[i] = score->status ? -1 : score->target_count;
    if (!score->status)
        memcpy(seen->logs[i], score->log_probabilities,
               sizeof(float) * (size_t)(score->target_count + 1));
    return ++seen->calls == seen->stop_at;
}

static const char longest[] = "xyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzy"; /* one token per byte */

static void make(rapt_text sources[PAIRS], rapt_text targets[PAIRS])
{
    for (int i = 0; i < PAIRS; i++) {
        const char *a = small_lines[i % COUNT(small_lines)];
        const char *b = small_lines[i * 5 % COUNT(small_lines)];
        sources[i] = (rapt_text){a, strlen(a)};
        targets[i] = (rapt_text){b, strlen(b) - (size_t)i % 7};
    }
    sources[3] = (rapt_text){NULL, 0};
    targets[4] = (rapt_text){NULL, 0};
    sources[6] = (rapt_text){longest, POSITIONS};
    targets[8] = (rapt_text){longest, POSITIONS};
    sources[10] = (rapt_text){longest, POSITIONS - 1};
    targets[12] = (rapt_text){longest, POSITIONS - 1};
}

/* Scores the tokens of a pair. */
static double by_tokens(const rapt_translator *t, rapt_text a, rapt_text b, float *logs)
{
    const rapt_tokenizer *s = rapt_translator_source(t), *d = rapt_translator_target(t);
    int32_t source[TOKENS], target[TOKENS];
    size_t sources = 0, targets = 0;
    double sum;
    rapt_session *session = NULL;
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = POSITIONS,
                                .target_length = POSITIONS,
                                .threads = 1};
    assert_int_equal(rapt_session_create(&session, rapt_translator_model(t), &limits, NULL, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_tokenizer_encode(s, a, source, NULL, TOKENS - 1, &sources, NULL),
                     RAPT_OK);
    if (b.size)
        assert_int_equal(rapt_tokenizer_encode(d, b, target, NULL, TOKENS, &targets, NULL),
                         RAPT_OK);
    source[sources++] = rapt_tokenizer_special(s, RAPT_TOKEN_END);
    const rapt_tokens from = {.batch = 1, .ids = source, .starts = (const int[]){0, (int)sources}};
    const rapt_tokens to = {.batch = 1, .ids = target, .starts = (const int[]){0, (int)targets}};
    assert_int_equal(
        rapt_score_targets(session, &from, &to, rapt_tokenizer_special(d, RAPT_TOKEN_BEGIN),
                           rapt_tokenizer_special(d, RAPT_TOKEN_END), logs, &sum, NULL),
        RAPT_OK);
    rapt_session_free(session);
    return sum;
}

static void test_pairs(void **state)
{
    (void)state;
    static const rapt_translator_options ways[] = {
        {.size = sizeof *ways},
        {.size = sizeof *ways, .batch = 1, .threads = 1},
        {.size = sizeof *ways, .batch = 3, .beams = 2, .batch_tokens = 20, .threads = 2}};
    char path[256];
    rapt_text sources[PAIRS], targets[PAIRS];
    small_translator_file(small_path(path, "scores"), POSITIONS, 4);
    make(sources, targets);
    for (int w = 0; w < COUNT(ways); w++) {
        static struct seen seen;
        rapt_translator *t = NULL;
        seen = (struct seen){.calls = 0};
        assert_int_equal(rapt_translator_load(&t, path, &ways[w], NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_translator_score(t, sources, targets, PAIRS, see, &seen, NULL),
                         RAPT_OK);
        assert_int_equal(seen.calls, PAIRS);
        for (int i = 0; i < PAIRS; i++) {
            float logs[TOKENS];
            bool refused = i == 3 || i == 6 || i == 8;
            assert_int_equal(seen.status[i], refused ? RAPT_BAD_ARGUMENT : RAPT_OK);
            if (refused) continue;
            double sum = by_tokens(t, sources[i], targets[i], logs);
            assert_true(sum == seen.sums[i] && sum < 0);
            assert_memory_equal(logs, seen.logs[i], sizeof(float) * (size_t)(seen.counts[i] + 1));
        }
        seen = (struct seen){.stop_at = 5};
        assert_int_equal(rapt_translator_score(t, sources, targets, PAIRS, see, &seen, NULL),
                         RAPT_OK);
        assert_int_equal(seen.calls, 5);
        assert_int_equal(rapt_translator_score(t, NULL, NULL, 0, see, &seen, NULL), RAPT_OK);
        rapt_translator_free(t);
    }
    unlink(path);
}

static int take(void *user, const rapt_text_score *score)
{
    double *sums = user;
    assert_int_equal(score->status, RAPT_OK);
    sums[score->pair] = score->sum;
    return 0;
}

/* A target longer than any translation can be scored too, also one pair at a time. */
static void test_long(void **state)
{
    (void)state;
    enum { LONG = 300 };
    char path[256], text[LONG + 1] = "";
    double sums[2][2];
    for (int i = 0; i < LONG - 10; i++) text[i] = "xyz"[i % 3];
    const rapt_text sources[] = {{"a", 1}, {"b", 1}}, targets[] = {{text, LONG - 10}, {"b", 1}};
    small_translator_file(small_path(path, "long"), LONG, 4);
    for (int batch = 1; batch <= 2; batch++) {
        const rapt_translator_options o = {
            .size = sizeof o, .batch = batch, .beams = 1, .search_rules = RAPT_SEARCH_RULES_CT2};
        rapt_translator *t = NULL;
        rapt_message why = {""};
        assert_int_equal(rapt_translator_load(&t, path, &o, NULL, NULL), RAPT_OK);
        if (rapt_translator_score(t, sources, targets, 2, take, sums[batch - 1], &why))
            fail_msg("%s", why.text);
        rapt_translator_free(t);
    }
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs), cmocka_unit_test(test_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
