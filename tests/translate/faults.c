/* faults.c - translations with faults: which are found, and what a second search makes of them. A
   callback that changes logits makes the faults. */
#include "translate/small_text.h"

#include <setjmp.h>

enum { POSITIONS = 64, TEXTS = 12, BEAMS = 3, END = 2, FIRST = 68 /* the letter A */ };

/* ---- what is a fault ---- */

struct spelled {
    const char *target; /* one byte per token */
    size_t source_count;
    int faults;
};

static void spell(void *user, int source, const int32_t *ids, int count, float *logits, int vocab)
{
    const struct spelled *s = user;
    const bool ends = (size_t)count >= strlen(s->target);
    (void)source, (void)ids, (void)vocab;
    logits[ends ? END : FIRST + (unsigned char)s->target[count] - 'A'] += 1000;
}

static int take_faults(void *user, const rapt_translation *t)
{
    struct spelled *s = user;
    assert_int_equal(t->source_count, s->source_count);
    s->faults = t->faults & ~RAPT_FAULT_REMAINS;
    return 0;
}

/* Returns the faults of a translation of a source; both are written as one byte per token. Bytes
   `opaque` of the source must be copied. */
static int faults_with(const char *source, rapt_span opaque, const char *target)
{
    const rapt_translator_options made = {.size = sizeof made, .beams = 1, .max_length_factor = 40};
    const size_t starts[] = {0, opaque.end > opaque.begin};
    const rapt_translate_call call = {.size = sizeof call,
                                      .logits = spell,
                                      .mend = 1,
                                      .copy = 1,
                                      .opaque = &opaque,
                                      .opaque_starts = starts};
    struct spelled s = {target, strlen(source), 0};
    const rapt_text text = {source, strlen(source)};
    rapt_translator *t = small_translator_make("faults", POSITIONS, &made);
    rapt_message why = {""};
    if (rapt_translate_many_with(t, &text, 1, &call, take_faults, &s, &why))
        fail_msg("%s", why.text);
    rapt_translator_free(t);
    return s.faults;
}

static int faults_of(const char *source, const char *target)
{
    return faults_with(source, (rapt_span){0, 0}, target);
}

static void test_repeats(void **state)
{
    (void)state;
    assert_int_equal(faults_of("ABCDEFGHIJK", "ABCDEFGH"), 0);
    assert_int_equal(faults_of("ABCDEFGHIJK", "XXXXXXX"), 0); /* 7 tokens */
    assert_int_equal(faults_of("ABCDEFGHIJK", "XXXXXXXX"), RAPT_FAULT_REPEATS);
    assert_int_equal(faults_of("ABCDEFGHIJK", "AXYXYXYXYB"), RAPT_FAULT_REPEATS);
    assert_int_equal(faults_of("ABCDEFGHIJK", "AXYXYXYXB"), 0); /* 3 times */
    assert_int_equal(faults_of("ABCDEFGHIJK", "AXYZAXYZAXYZAXYZ"), RAPT_FAULT_REPEATS);
    assert_int_equal(faults_of("ABCCDEFGHIJ", "AXYXYXYXYB"), 0); /* the source repeats, too */
    assert_int_equal(faults_of("ABCCDEFGHIJ", "AXYXYXYXYXYB"), RAPT_FAULT_REPEATS);
    assert_int_equal(faults_of("ABCBCBCDEFG", "AXYXYXYXYXYXYB"), 0);
    assert_int_equal(faults_of("ABCBCBCDEFG", "AXYXYXYXYXYXYXYB"), RAPT_FAULT_REPEATS);
}

/* With the end, a source has one token more than letters. */
static void test_lengths(void **state)
{
    (void)state;
    assert_int_equal(faults_of("A", "ABCDEFGHIJKL"), 0);
    assert_int_equal(faults_of("A", "ABCDEFGHIJKLM"), RAPT_FAULT_LONG);
    assert_int_equal(faults_of("ABCDEFG", "ABCDEFGHIJKLMNOPQRSTUVWX"), 0);
    assert_int_equal(faults_of("ABCDEFG", "ABCDEFGHIJKLMNOPQRSTUVWXY"), RAPT_FAULT_LONG);
    assert_int_equal(faults_of("ABCDEFGH", "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGH"), 0);
    assert_int_equal(faults_of("A", "XXXXXXXXXXXXX"), RAPT_FAULT_LONG | RAPT_FAULT_REPEATS);
    assert_int_equal(faults_of("ABCDEFGHIJKL", ""), RAPT_FAULT_EMPTY);
}

/* A part of a longer word is not a copy. Scripts without spaces have no longer words. */
static void test_copies(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        int faults;
    } cases[] = {
        {"HAT", 0},
        {"A (HAT)", 0},
        {"HATS HAT", 0},
        {"\xE7\x8B\xACHAT\xE7\x8B\xAC", 0}, /* U+72AC */
        {"CAP", RAPT_FAULT_LOST},
        {"HATS", RAPT_FAULT_LOST},
        {"TOPHAT", RAPT_FAULT_LOST},
        {"A HATBAND", RAPT_FAULT_LOST},
        {"HAT\xC3\xA9 A", RAPT_FAULT_LOST}, /* U+00E9 */
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_int_equal(faults_with("ABCDE HAT", (rapt_span){6, 9}, cases[i].target),
                         cases[i].faults);
}

/* ---- what a second search makes of them ---- */

enum kind { LOOP, LONG, NONE };
struct heard {
    enum kind kind;
    int period; /* of a loop */
    int faults[TEXTS], counts[TEXTS], ended[TEXTS], calls;
    int32_t ids[TEXTS][POSITIONS];
};

/* Makes every third text loop, become long, or end at once. */
static void push(void *user, int source, const int32_t *ids, int count, float *logits, int vocab)
{
    const struct heard *h = user;
    (void)ids;
    if (source % 3) return;
    if (h->kind == LOOP) logits[FIRST + count % h->period] += 1000;
    if (h->kind == LONG) {
        for (int i = 0; i < vocab; i++) logits[i] = -1000;
        logits[FIRST + count] = count == 30 ? -1000 : 0;
        logits[END] = count == 4 ? -1 : count == 30 ? 0 : -9000;
    }
    if (h->kind == NONE && count < 2) logits[END] += 1000;
}

static int hear(void *user, const rapt_translation *t)
{
    struct heard *h = user;
    h->calls++;
    if (t->rank > 0) return 0;
    assert_true(t->target_count <= POSITIONS);
    h->faults[t->sentence] = t->faults;
    h->counts[t->sentence] = t->target_count;
    h->ended[t->sentence] = t->ended;
    memset(h->ids[t->sentence], 0, sizeof *h->ids);
    if (t->target_count)
        memcpy(h->ids[t->sentence], t->target, sizeof(int32_t) * (size_t)t->target_count);
    return 0;
}

static void hear_with(rapt_translator *t, const rapt_text *texts, int mend,
                      const rapt_translator_options *o, struct heard *h)
{
    const rapt_translate_call call = {
        .size = sizeof call, .options = o, .logits = push, .mend = mend, .alignments = 1};
    rapt_message why = {""};
    h->calls = 0;
    if (rapt_translate_many_with(t, texts, TEXTS, &call, hear, h, &why)) fail_msg("%s", why.text);
}

static void hear_all(rapt_translator *t, const rapt_text *texts, int mend, int nbest,
                     struct heard *h)
{
    const rapt_translator_options o = {.size = sizeof o, .nbest = nbest, .max_length_factor = 30};
    hear_with(t, texts, mend, &o, h);
}

static void hear_limited(rapt_translator *t, const rapt_text *texts, float factor, struct heard *h)
{
    const rapt_translator_options o = {.size = sizeof o, .max_length_factor = factor};
    hear_with(t, texts, 0, &o, h);
}

/* Returns the number of pairs of equal runs of 4 tokens. */
static int equal_runs(const struct heard *h, int sentence)
{
    int count = 0;
    for (int i = 0; i + 4 <= h->counts[sentence]; i++)
        for (int j = i + 1; j + 4 <= h->counts[sentence]; j++)
            count += memcmp(&h->ids[sentence][i], &h->ids[sentence][j], 4 * sizeof(int32_t)) == 0;
    return count;
}

/* Translates texts with faults with and without `mend`, and checks that it changes only those. */
static void compare(rapt_translator *t, const rapt_text *texts, int nbest, struct heard *plain,
                    struct heard *mended, int faults)
{
    mended->kind = plain->kind, mended->period = plain->period;
    hear_all(t, texts, 0, nbest, plain);
    hear_all(t, texts, 1, nbest, mended);
    assert_true(plain->calls >= TEXTS && mended->calls >= TEXTS);
    for (int i = 0; i < TEXTS; i++) {
        assert_int_equal(plain->faults[i], 0);
        if (i % 3 == 0) assert_int_equal(mended->faults[i], faults);
        if (mended->faults[i]) continue;
        assert_int_equal(plain->counts[i], mended->counts[i]);
        assert_memory_equal(plain->ids[i], mended->ids[i], sizeof plain->ids[i]);
    }
}

static void test_mended_loops(void **state)
{
    (void)state;
    static const char source[] = "the cat does not see a dog sleep and the bird sings";
    static struct heard plain, mended;
    for (int rules = RAPT_SEARCH_RULES_RAPT; rules <= RAPT_SEARCH_RULES_CT2; rules++) {
        const rapt_translator_options made = {.size = sizeof made,
                                              .beams = BEAMS,
                                              .batch = 5,
                                              .search_rules = (rapt_search_rules)rules,
                                              .max_length_factor = 6};
        rapt_translator *t = small_translator_make("faults", POSITIONS, &made);
        rapt_text texts[TEXTS];
        for (int i = 0; i < TEXTS; i++)
            texts[i] = (rapt_text){source, sizeof source - 1 - (size_t)i};
        plain.kind = LOOP;
        for (plain.period = 1; plain.period < 5; plain.period++) {
            compare(t, texts, plain.period % 2 + 1, &plain, &mended, RAPT_FAULT_REPEATS);
            for (int i = 0; i < TEXTS; i += 3)
                assert_true(equal_runs(&plain, i) > 0 && equal_runs(&mended, i) == 0);
        }
        rapt_translator_free(t);
    }
}

static void test_mended_lengths(void **state)
{
    (void)state;
    static struct heard plain, mended;
    const rapt_text texts[TEXTS] = {{"the", 3}, {"cat", 3}, {"dog", 3}, {"the", 3},
                                    {"cat", 3}, {"dog", 3}, {"the", 3}, {"cat", 3},
                                    {"dog", 3}, {"the", 3}, {"cat", 3}, {"dog", 3}};
    for (int rules = RAPT_SEARCH_RULES_RAPT; rules <= RAPT_SEARCH_RULES_CT2; rules++) {
        const rapt_translator_options made = {.size = sizeof made,
                                              .beams = BEAMS,
                                              .search_rules = (rapt_search_rules)rules,
                                              .max_length_factor = 40};
        rapt_translator *t = small_translator_make("faults", POSITIONS, &made);
        plain.kind = LONG;
        compare(t, texts, 1, &plain, &mended, RAPT_FAULT_LONG);
        for (int i = 0; i < TEXTS; i += 3) {
            assert_int_equal(plain.counts[i], 30);
            assert_true(mended.counts[i] == 4 && mended.ended[i]);
        }
        plain.kind = NONE;
        if (rules != RAPT_SEARCH_RULES_CT2) compare(t, texts, 2, &plain, &mended, RAPT_FAULT_EMPTY);
        for (int i = 0; i < TEXTS && rules != RAPT_SEARCH_RULES_CT2; i += 3)
            assert_true(plain.counts[i] == 0 && mended.counts[i] > 0);
        rapt_translator_free(t);
    }
}

/* A greedy search finds no short translation, so the long one remains. */
static void test_remaining(void **state)
{
    (void)state;
    static struct heard h;
    const rapt_translator_options made = {.size = sizeof made, .beams = 1, .max_length_factor = 40};
    const rapt_text texts[TEXTS] = {{"the", 3}};
    rapt_translator *t = small_translator_make("faults", POSITIONS, &made);
    h.kind = LONG;
    hear_all(t, texts, 1, 1, &h);
    assert_int_equal(h.faults[0], RAPT_FAULT_LONG | RAPT_FAULT_REMAINS);
    assert_true(h.counts[0] == 30 && h.ended[0]);
    rapt_translator_free(t);
}

/* ---- leaving a second search ---- */

struct leaving {
    struct heard heard; /* the first member, for push */
    jmp_buf back;
    int searches; /* second searches so far */
};

/* Leaves the first second search, which begins with an empty translation like the others. */
static void push_and_leave(void *user, int source, const int32_t *ids, int count, float *logits,
                           int vocab)
{
    struct leaving *l = user;
    if (source == 0 && count == 0 && ++l->searches == 2) longjmp(l->back, 1);
    push(user, source, ids, count, logits, vocab);
}

/* After a callback has left the search for a shorter translation, a call that truncates still gives
   the truncated translation, although another one has finished. */
static void test_left(void **state)
{
    (void)state;
    static struct heard before, after;
    static struct leaving l;
    const rapt_translator_options made = {
        .size = sizeof made, .beams = BEAMS, .max_length_factor = 40};
    const rapt_text texts[TEXTS] = {{"the", 3}};
    const rapt_translate_call call = {.size = sizeof call, .logits = push_and_leave, .mend = 1};
    rapt_translator *t = small_translator_make("faults", POSITIONS, &made);
    before.kind = after.kind = l.heard.kind = LONG;
    hear_limited(t, texts, 6, &before);
    assert_true(before.counts[0] < 30 && before.counts[0] > 4 && !before.ended[0]);
    if (!setjmp(l.back)) {
        assert_int_equal(rapt_translate_many_with(t, texts, 1, &call, hear, &l.heard, NULL),
                         RAPT_OK);
        fail_msg("there was no second search");
    }
    hear_limited(t, texts, 6, &after);
    assert_memory_equal(&before, &after, sizeof before);
    rapt_translator_free(t);
}

static int announce(void *user, int source, int32_t id, float log_probability)
{
    (void)user, (void)source, (void)id, (void)log_probability;
    return 0;
}

static void test_refusal(void **state)
{
    (void)state;
    static struct heard h;
    const rapt_translate_call call = {.size = sizeof call, .token = announce, .mend = 1};
    const rapt_text text = {"the", 3};
    rapt_translator *t = small_translator_make("faults", POSITIONS, NULL);
    rapt_message why = {""};
    assert_int_equal(rapt_translate_many_with(t, &text, 1, &call, hear, &h, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "mend cannot be used with token"));
    rapt_translator_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeats),        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_copies),         cmocka_unit_test(test_mended_loops),
        cmocka_unit_test(test_mended_lengths), cmocka_unit_test(test_remaining),
        cmocka_unit_test(test_left),           cmocka_unit_test(test_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
