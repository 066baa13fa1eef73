/* translate_call.c - options, prefixes and callbacks of one call, compared with a translator made
   with these options, with rapt_generate sentence by sentence, and with the index of each sentence;
   stops; refusals. */
#include "translate/small_text.h"
#include <limits.h>

enum { POSITIONS = 24, TEXTS = 30, MANY = 1100, TOKENS = 64 };

struct one { /* a translation */
    int seen, ended, count;
    rapt_status status;
    float score;
    int32_t ids[TOKENS];
    char text[1000];
};
struct heard { /* what the callbacks of a call got */
    struct one ones[TEXTS];
    int calls;
    int count[MANY]; /* tokens announced, the end included */
    float log[MANY];
    int32_t ids[MANY][TOKENS];
    int steps, stop_at_step, stop_at_token, tokens;
};
static struct heard heard, others;

static int keep(void *user, const rapt_translation *t)
{
    struct heard *h = user;
    h->calls++;
    if (t->rank || t->sentence >= TEXTS) return 0;
    struct one *one = &h->ones[t->sentence];
    *one = (struct one){1, t->ended, t->target_count, t->status, t->score, {0}, ""};
    if (t->target_count) memcpy(one->ids, t->target, sizeof(int32_t) * (size_t)t->target_count);
    snprintf(one->text, sizeof one->text, "%s", t->text);
    return 0;
}

static int hear(void *user, int source, int32_t id, float log_probability)
{
    struct heard *h = user;
    assert_true(source >= 0 && source < MANY && h->count[source] < TOKENS);
    h->ids[source][h->count[source]++] = id;
    h->log[source] += log_probability;
    return ++h->tokens == h->stop_at_token;
}

static int poll(void *user)
{
    struct heard *h = user;
    return h->steps++ == h->stop_at_step;
}

static rapt_translator *make(const rapt_translator_options *options)
{
    return small_translator_make("call", POSITIONS, options);
}

static const struct heard *translate(rapt_translator *t, const rapt_text *texts, int count,
                                     const rapt_translate_call *call, struct heard *h)
{
    rapt_message why = {""};
    h->calls = h->steps = h->tokens = 0;
    memset(h->ones, 0, sizeof h->ones), memset(h->count, 0, sizeof h->count);
    memset(h->log, 0, sizeof h->log);
    if (rapt_translate_many_with(t, texts, (size_t)count, call, keep, h, &why))
        fail_msg("%s", why.text);
    return h;
}

/* A call with options gives what a translator made with them gives, and leaves its own as is. */
static void test_options(void **state)
{
    (void)state;
    static const rapt_translator_options made = {.size = sizeof made, .beams = 4, .batch = 7};
    static const rapt_text avoided[] = {{"the", 3}, {"cat", 3}};
    static const rapt_translator_options ways[] = {
        {.size = sizeof *ways, .beams = 1},
        {.size = sizeof *ways, .beams = 3, .nbest = 2, .length_penalty = 1},
        {.size = sizeof *ways, .nbest = 4, .min_length = 9},
        {.size = sizeof *ways, .beams = 2, .no_repeat_ngram = 1},
        {.size = sizeof *ways, .repetition_penalty = 1.5f, .coverage_penalty = 0.5f},
        {.size = sizeof *ways, .suppressed_texts = avoided, .suppressed_text_count = 2},
        {.size = sizeof *ways, .max_length_factor = 1.5f}};
    rapt_text texts[TEXTS];
    rapt_translator *t = make(&made);
    small_texts(texts, TEXTS);
    for (int w = 0; w < COUNT(ways); w++) {
        rapt_translator_options own = ways[w];
        own.beams = own.beams ? own.beams : made.beams;
        rapt_translator *alone = make(&own);
        const rapt_translate_call call = {.size = sizeof call, .options = &ways[w]};
        translate(t, texts, TEXTS, &call, &heard);
        translate(alone, texts, TEXTS, NULL, &others);
        assert_memory_equal(heard.ones, others.ones, sizeof heard.ones);
        assert_true(heard.calls == others.calls && heard.calls >= TEXTS);
        rapt_translator_free(alone);
    }
    rapt_translator *fresh = make(&made);
    translate(t, texts, TEXTS, NULL, &heard), translate(fresh, texts, TEXTS, NULL, &others);
    assert_memory_equal(heard.ones, others.ones, sizeof heard.ones);
    rapt_translator_free(fresh);
    rapt_translator_free(t);
}

struct aligned { /* by sentence */
    bool is;
    float sums[2]; /* of the alignment by tokens, weighted by place, and by words */
};

static int keep_sums(void *user, const rapt_translation *t)
{
    struct aligned *a = (struct aligned *)user + t->sentence;
    const int all = (t->target_count + 1) * (t->source_count + 1);
    *a = (struct aligned){.is = t->alignment != NULL};
    for (int i = 0; a->is && i < all; i++) a->sums[0] += (float)(i % 7 + 1) * t->alignment[i];
    for (int i = 0; a->is && i < t->source_word_count * t->target_word_count; i++)
        a->sums[1] += (float)(i % 5 + 1) * t->word_alignment[i];
    assert_true(a->is == (t->source_spans != NULL));
    return 0;
}

/* Some sentences of a batch are aligned, with the bits of a call that aligns all of them. */
static void test_aligned(void **state)
{
    (void)state;
    static const rapt_translator_options made = {.size = sizeof made, .beams = 3, .threads = 2};
    static const float penalties[] = {0, 0.5f};
    rapt_text texts[TEXTS];
    unsigned char wanted[TEXTS];
    rapt_translator *t = make(&made);
    small_texts(texts, TEXTS);
    for (int i = 0; i < TEXTS; i++) wanted[i] = i % 3 == 1;
    for (int p = 0; p < 2; p++) {
        struct aligned all[TEXTS] = {{0}}, some[TEXTS] = {{0}};
        const rapt_translator_options o = {.size = sizeof o, .coverage_penalty = penalties[p]};
        rapt_translate_call call = {.size = sizeof call, .alignments = 1, .options = &o};
        int count = 0;
        assert_int_equal(rapt_translate_many_with(t, texts, TEXTS, &call, keep_sums, all, NULL),
                         RAPT_OK);
        call.aligned = wanted;
        assert_int_equal(rapt_translate_many_with(t, texts, TEXTS, &call, keep_sums, some, NULL),
                         RAPT_OK);
        for (int i = 0; i < TEXTS; i++) {
            assert_true(some[i].is == (all[i].is && wanted[i]));
            if (some[i].is) assert_memory_equal(some[i].sums, all[i].sums, sizeof all[i].sums);
            count += some[i].is && some[i].sums[1] > 0;
        }
        assert_true(count > 5);
    }
    rapt_translator_free(t);
}

/* Encodes a text and returns whether `one` contains its tokens. */
static bool has_tokens(const rapt_translator *t, const struct one *one, rapt_text text)
{
    int32_t ids[TOKENS];
    size_t count = 0;
    assert_int_equal(
        rapt_tokenizer_encode(rapt_translator_target(t), text, ids, NULL, TOKENS, &count, NULL),
        RAPT_OK);
    for (int i = 0; i + (int)count <= one->count; i++)
        if (memcmp(one->ids + i, ids, sizeof *ids * count) == 0) return true;
    return false;
}

/* Returns the text of two tokens of a translation that is encoded as these tokens, in bytes [64],
   or an empty text. */
static rapt_text two_tokens(const rapt_translator *t, const struct one *one, char *bytes)
{
    for (int i = 0; i + 2 <= one->count; i++) {
        size_t size = 0;
        rapt_tokenizer_decode(rapt_translator_target(t), one->ids + i, 2, bytes, 64, &size, NULL);
        const rapt_text text = {bytes, size};
        if (size > 0 && size < 64 && rapt_utf8_valid(text) == size && has_tokens(t, one, text))
            return text;
    }
    return (rapt_text){NULL, 0};
}

/* A translation does not contain a text that it would contain otherwise. */
static void test_suppressed(void **state)
{
    (void)state;
    static const rapt_translator_options made = {.size = sizeof made, .beams = 3};
    rapt_text texts[TEXTS];
    rapt_translator *t = make(&made);
    int tried = 0;
    small_texts(texts, TEXTS);
    translate(t, texts, TEXTS, NULL, &heard);
    for (int i = 0; i < TEXTS; i++) {
        char bytes[64];
        const rapt_text text = two_tokens(t, &heard.ones[i], bytes);
        const rapt_translator_options o = {
            .size = sizeof o, .suppressed_texts = &text, .suppressed_text_count = 1};
        const rapt_translate_call call = {.size = sizeof call, .options = &o};
        if (text.size == 0) continue;
        translate(t, &texts[i], 1, &call, &others);
        assert_false(has_tokens(t, &others.ones[0], text));
        tried++;
    }
    assert_true(tried > 5);
    static char long_text[256] = {'a'};
    const struct {
        rapt_text text;
        const char *phrase;
    } bad[] = {{{long_text, 0}, "must have 1 to 255"},
               {{long_text, 256}, "must have 1 to 255"},
               {{"a\xFF", 2}, "suppressed_texts[0] is not valid UTF-8"}};
    for (int i = 0; i < COUNT(bad); i++) {
        const rapt_text text = bad[i].text;
        const rapt_translator_options o = {
            .size = sizeof o, .suppressed_texts = &text, .suppressed_text_count = 1};
        const rapt_translate_call call = {.size = sizeof call, .options = &o};
        rapt_message why = {""};
        assert_int_equal(rapt_translate_many_with(t, texts, 1, &call, keep, &heard, &why),
                         RAPT_BAD_ARGUMENT);
        if (!strstr(why.text, bad[i].phrase)) fail_msg("%s", why.text);
    }
    rapt_translator_free(t);
}

/* Returns a text without the spaces at its end, which belong to the next word. */
static rapt_text trimmed(rapt_text text)
{
    while (text.size && text.bytes[text.size - 1] == ' ') text.size--;
    return text;
}

/* Translates one sentence by rapt_generate; prefix: the beginning of its translation. */
static void by_tokens(const rapt_translator *t, rapt_session *session, rapt_text text,
                      rapt_text prefix, struct one *one)
{
    const rapt_tokenizer *tokenizer = rapt_translator_source(t);
    int32_t ids[TOKENS], given[TOKENS];
    size_t count = 0, given_count = 0;
    int32_t specials[] = {rapt_tokenizer_special(tokenizer, RAPT_TOKEN_PAD),
                          rapt_tokenizer_special(tokenizer, RAPT_TOKEN_BEGIN)};
    rapt_generate_options o;
    *one = (struct one){.seen = 1};
    assert_int_equal(rapt_tokenizer_encode(tokenizer, text, ids, NULL, TOKENS - 1, &count, NULL),
                     RAPT_OK);
    if (prefix.size)
        assert_int_equal(
            rapt_tokenizer_encode(tokenizer, prefix, given, NULL, TOKENS, &given_count, NULL),
            RAPT_OK);
    ids[count++] = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_END);
    if (given_count > 2 * count + 16 || given_count > POSITIONS) {
        one->status = RAPT_BAD_ARGUMENT;
        return;
    }
    const rapt_tokens source = {.batch = 1, .ids = ids, .starts = (const int[]){0, (int)count}};
    const rapt_tokens begin = {
        .batch = 1, .ids = given, .starts = (const int[]){0, (int)given_count}};
    rapt_generate_options_default(&o, sizeof o, specials[1], ids[count - 1]);
    o.beams = 3, o.suppressed = specials, o.suppressed_count = 2, o.prefix = &begin;
    o.max_ratio = 2, o.max_extra = 16;
    const rapt_generate_outputs out = {.size = sizeof out,
                                       .ids = one->ids,
                                       .counts = &one->count,
                                       .scores = &one->score,
                                       .ended = &one->ended};
    assert_int_equal(rapt_generate(session, &source, &o, &out, NULL), RAPT_OK);
    memset(one->ids + one->count, 0, sizeof(int32_t) * (size_t)(TOKENS - one->count));
    assert_int_equal(rapt_tokenizer_decode(tokenizer, one->ids, (size_t)one->count, one->text,
                                           sizeof one->text, &count, NULL),
                     RAPT_OK);
}

static void test_prefixes(void **state)
{
    (void)state;
    static const char longest[] = "xyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzy"; /* one token per byte */
    static const rapt_translator_options made = {.size = sizeof made, .beams = 3, .batch = 8};
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .beams = 3,
                                .source_tokens = POSITIONS,
                                .target_length = POSITIONS};
    rapt_text texts[TEXTS], prefixes[TEXTS] = {{NULL, 0}};
    rapt_translator *t = make(&made);
    rapt_session *session = NULL;
    int begun = 0, spaces = 0;
    assert_int_equal(rapt_session_create(&session, rapt_translator_model(t), &limits, NULL, NULL),
                     RAPT_OK);
    small_texts(texts, TEXTS);
    for (int i = 0; i < TEXTS; i++)
        if (i % 3) prefixes[i] = (rapt_text){small_lines[i % 5], (size_t)(i % 11)};
    prefixes[4] = (rapt_text){longest, POSITIONS};
    prefixes[5] = (rapt_text){longest, POSITIONS + 1};
    prefixes[7] = (rapt_text){longest, POSITIONS - 1};
    const rapt_translate_call call = {.size = sizeof call, .prefixes = prefixes, .alignments = 1};
    translate(t, texts, TEXTS, &call, &heard);
    for (int i = 0; i < TEXTS; i++) {
        struct one one;
        by_tokens(t, session, texts[i], trimmed(prefixes[i]), &one);
        assert_memory_equal(&one, &heard.ones[i], sizeof one);
        if (!prefixes[i].size || one.status) continue;
        assert_memory_equal(one.text, prefixes[i].bytes, trimmed(prefixes[i]).size);
        spaces += trimmed(prefixes[i]).size < prefixes[i].size;
        begun++;
    }
    assert_true(spaces > 0 && begun > TEXTS / 2 && heard.ones[5].status && !heard.ones[4].status);
    rapt_session_free(session);
    rapt_translator_free(t);
}

/* All tokens of each sentence, its end included, are announced, also beyond one window. */
static void test_tokens(void **state)
{
    (void)state;
    static rapt_text texts[MANY];
    const rapt_translate_call call = {.size = sizeof call, .token = hear};
    for (int beams = 1; beams <= 3; beams += 2) {
        const rapt_translator_options made = {.size = sizeof made, .beams = beams, .batch = 200};
        rapt_translator *t = make(&made);
        int32_t end = rapt_tokenizer_special(rapt_translator_target(t), RAPT_TOKEN_END);
        small_texts(texts, MANY);
        texts[3] = (rapt_text){NULL, 0};
        translate(t, texts, MANY, &call, &heard);
        assert_int_equal(heard.calls, MANY);
        for (int i = 0; i < TEXTS; i++) {
            const struct one *one = &heard.ones[i];
            assert_int_equal(heard.count[i], one->count + one->ended);
            assert_memory_equal(heard.ids[i], one->ids, sizeof(int32_t) * (size_t)one->count);
            if (one->ended) assert_int_equal(heard.ids[i][one->count], end);
            assert_true(fabsf(heard.log[i] - one->score) <= 1e-5f * fabsf(one->score));
        }
        for (int i = 24; i < MANY; i++)
            assert_memory_equal(heard.ids[i], heard.ids[i - 12], sizeof(int32_t) * 4);
        rapt_translator_free(t);
    }
}

/* Makes sentence i end after i % 4 tokens. */
static void push(void *user, int source, const int32_t *ids, int count, float *logits, int vocab)
{
    (void)user, (void)ids;
    for (int i = 0; count < source % 4 ? i < 4 : i < vocab; i++)
        logits[i] += count >= source % 4 && i == 2 ? 1000 : -1000;
}

static void test_logits(void **state)
{
    (void)state;
    static rapt_text texts[MANY];
    const rapt_translate_call call = {.size = sizeof call, .logits = push, .token = hear};
    const rapt_translator_options made = {.size = sizeof made, .beams = 1, .batch = 100};
    rapt_translator *t = make(&made);
    assert_int_equal(rapt_tokenizer_special(rapt_translator_target(t), RAPT_TOKEN_END), 2);
    small_texts(texts, MANY);
    translate(t, texts, MANY, &call, &heard);
    for (int i = 0; i < MANY; i++) assert_int_equal(heard.count[i], i % 4 + 1);
    for (int i = 0; i < TEXTS; i++)
        assert_true(heard.ones[i].count == i % 4 && heard.ones[i].ended);
    rapt_translator_free(t);
}

/* If a call is stopped, it gives the first batch as far as that has come, and nothing else. */
static void test_stop(void **state)
{
    (void)state;
    const rapt_translator_options made = {.size = sizeof made, .beams = 1, .batch = 8};
    const rapt_translate_call by_poll = {.size = sizeof by_poll, .stop = poll},
                              by_token = {.size = sizeof by_token, .token = hear};
    rapt_text texts[TEXTS];
    rapt_translator *t = make(&made);
    small_texts(texts, TEXTS);
    texts[2] = (rapt_text){NULL, 0};
    translate(t, texts, TEXTS, NULL, &others);
    assert_int_equal(others.calls, TEXTS);
    for (int steps = 0; steps < 4; steps++) {
        heard.stop_at_step = steps;
        translate(t, texts, TEXTS, &by_poll, &heard);
        assert_int_equal(heard.calls, 8);
        for (int i = 0; i < TEXTS; i++) {
            const struct one *one = &heard.ones[i], *whole = &others.ones[i];
            if (!one->seen) continue;
            assert_int_equal(one->count, whole->count < steps ? whole->count : steps);
            assert_int_equal(one->ended, whole->ended && whole->count < steps);
            assert_memory_equal(one->ids, whole->ids, sizeof(int32_t) * (size_t)one->count);
        }
    }
    heard.stop_at_token = 5;
    translate(t, texts, TEXTS, &by_token, &heard);
    assert_true(heard.calls == 8 && heard.tokens == 5);
    heard.stop_at_token = 0;
    rapt_translator_free(t);
}

/* With beams, tokens are announced after the stop too, which does not undo it. */
static void test_stop_of_beams(void **state)
{
    (void)state;
    const rapt_translator_options made = {.size = sizeof made, .beams = 3, .batch = 8};
    const rapt_translate_call both = {.size = sizeof both, .stop = poll, .token = hear};
    rapt_text texts[TEXTS];
    rapt_translator *t = make(&made);
    small_texts(texts, TEXTS);
    for (int steps = 0; steps < 4; steps++) {
        heard.stop_at_step = steps;
        translate(t, texts, TEXTS, &both, &heard);
        assert_int_equal(heard.calls, 8);
    }
    rapt_translator_free(t);
}

static void test_refusals(void **state)
{
    (void)state;
    const rapt_translator_options made = {.size = sizeof made, .beams = 2};
    static const struct {
        rapt_translator_options options;
        const char *word;
    } wrong[] = {{{.size = 0}, "size"},
                 {{.size = sizeof made, .beams = 3}, "beams is 3"},
                 {{.size = sizeof made, .beams = -1}, "beams"},
                 {{.size = sizeof made, .nbest = 3}, "nbest"},
                 {{.size = sizeof made, .batch = 1}, "options.batch cannot"},
                 {{.size = sizeof made, .batch_tokens = 1}, "options.batch_tokens cannot"},
                 {{.size = sizeof made, .threads = 1}, "options.threads cannot"},
                 {{.size = sizeof made, .max_length_factor = -1}, "max_length_factor"},
                 {{.size = sizeof made, .max_length_factor = NAN}, "max_length_factor"},
                 {{.size = sizeof made, .length_penalty = NAN}, "length_penalty"}};
    rapt_text texts[TEXTS];
    rapt_translator *t = make(&made);
    rapt_message why;
    small_texts(texts, TEXTS);
    for (int i = 0; i < COUNT(wrong); i++) {
        const rapt_translate_call call = {.size = sizeof call, .options = &wrong[i].options};
        assert_int_equal(rapt_translate_many_with(t, texts, 1, &call, keep, &heard, &why),
                         RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, wrong[i].word));
    }
    const rapt_translate_call unset = {.alignments = 1},
                              token = {.size = sizeof token, .token = hear};
    assert_int_equal(rapt_translate_many_with(t, texts, 1, &unset, keep, &heard, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "rapt_translate_call"));
    assert_int_equal(
        rapt_translate_many_with(t, texts, (size_t)INT_MAX + 1, &token, keep, &heard, &why),
        RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "if token is set"));
    rapt_translator_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),  cmocka_unit_test(test_suppressed),
        cmocka_unit_test(test_aligned),  cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_tokens),   cmocka_unit_test(test_logits),
        cmocka_unit_test(test_stop),     cmocka_unit_test(test_stop_of_beams),
        cmocka_unit_test(test_refusals),
    };
    heard.stop_at_step = others.stop_at_step = -1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
