/* words.c - spans of the tokens and words of translations, and alignments and log-probabilities of
   words, agree with their definitions byte by byte: for a byte-pair tokenizer, whose tokens are
   their bytes, and for a SentencePiece model whose characters may be tokens of single bytes. */
#include "translate/small_text.h"

#include "text/spm_models.h"

enum { POSITIONS = 40, MAX_WORDS = 64 };

struct check {
    const rapt_translator *translator;
    const rapt_text *texts;
    bool bytes;        /* tokens are their bytes */
    bool logs;         /* log-probabilities are wanted */
    int words, halves; /* how many were seen: words; tokens without bytes of their own */
    int uncovered;     /* source words that no target word comes from */
};

/* Finds the words of a text, recognizing white space by its bytes. */
static int words_of(rapt_text text, rapt_span *words)
{
    static const char *const spaces[] = {" ",
                                         "\t",
                                         "\n",
                                         "\v",
                                         "\f",
                                         "\r",
                                         "\xC2\x85",
                                         "\xC2\xA0",
                                         "\xE1\x9A\x80",
                                         "\xE2\x80\x80",
                                         "\xE2\x80\x81",
                                         "\xE2\x80\x82",
                                         "\xE2\x80\x83",
                                         "\xE2\x80\x84",
                                         "\xE2\x80\x85",
                                         "\xE2\x80\x86",
                                         "\xE2\x80\x87",
                                         "\xE2\x80\x88",
                                         "\xE2\x80\x89",
                                         "\xE2\x80\x8A",
                                         "\xE2\x80\xA8",
                                         "\xE2\x80\xA9",
                                         "\xE2\x80\xAF",
                                         "\xE2\x81\x9F",
                                         "\xE3\x80\x80"};
    int count = 0;
    bool inside = false;
    for (size_t at = 0; at < text.size;) {
        size_t length = 0;
        for (int i = 0; i < COUNT(spaces) && !length; i++) {
            size_t n = strlen(spaces[i]);
            if (n <= text.size - at && memcmp(text.bytes + at, spaces[i], n) == 0) length = n;
        }
        if (!length && !inside) words[count++].begin = at;
        inside = !length;
        at += length ? length : 1;
        if (inside) words[count - 1].end = at;
    }
    assert_true(count <= MAX_WORDS);
    return count;
}

static void same_words(const rapt_span *got, int count, rapt_text text)
{
    rapt_span wanted[MAX_WORDS];
    assert_int_equal(count, words_of(text, wanted));
    for (int i = 0; i < count; i++)
        assert_true(got[i].begin == wanted[i].begin && got[i].end == wanted[i].end);
}

/* Returns the share that word `own` has of a token's bytes in words. */
static double share(const rapt_span *token, const rapt_span *words, int count, int own)
{
    int in_words = 0, in_own = 0;
    for (size_t at = token->begin; at < token->end; at++)
        for (int i = 0; i < count; i++)
            if (at >= words[i].begin && at < words[i].end) in_words++, in_own += i == own;
    return in_words ? (double)in_own / in_words : 0;
}

static double weight(const rapt_translation *t, int row, int column)
{
    double sum = 0, total = 0;
    for (int i = 0; i < t->target_count; i++) {
        double p = share(&t->target_spans[i], t->target_words, t->target_word_count, row);
        total += p;
        for (int j = 0; j < t->source_count; j++)
            sum += p * (double)t->alignment[i * (t->source_count + 1) + j] *
                   share(&t->source_spans[j], t->source_words, t->source_word_count, column);
    }
    return total > 0 ? sum / total : 0;
}

static void check_spans(const rapt_span *spans, int count, rapt_text text,
                        const rapt_tokenizer *tokenizer, const int32_t *ids, struct check *c)
{
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        assert_true(spans[i].begin == at && spans[i].end >= at && spans[i].end <= text.size);
        at = spans[i].end;
        c->halves += spans[i].begin == spans[i].end;
        if (!c->bytes) continue;
        rapt_text token = rapt_tokenizer_token(tokenizer, ids[i]);
        assert_int_equal(token.size, spans[i].end - spans[i].begin);
        assert_memory_equal(token.bytes, text.bytes + spans[i].begin, token.size);
    }
    assert_true(!c->bytes || at == text.size);
}

/* The mean of the log-probabilities of a word's tokens, by their shares. */
static double log_of(const rapt_translation *t, int word)
{
    double sum = 0, total = 0;
    for (int i = 0; i < t->target_count; i++) {
        double p = share(&t->target_spans[i], t->target_words, t->target_word_count, word);
        sum += p * (double)t->log_probabilities[i], total += p;
    }
    return sum / total;
}

static void check_logs(const rapt_translation *t, struct check *c)
{
    assert_true((t->log_probabilities != NULL) == c->logs);
    assert_true((t->word_log_probabilities != NULL) == (c->logs && t->alignment));
    for (int u = 0; u < t->target_word_count && c->logs; u++)
        assert_true(fabs((double)t->word_log_probabilities[u] - log_of(t, u)) < 1e-5);
}

/* The source word of each target word has the largest weight, and each that some target word has
   is counted once. */
static void check_sources(const rapt_translation *t, struct check *c)
{
    int covered = 0;
    for (int v = 0; v < t->source_word_count; v++) {
        bool found = false;
        for (int u = 0; u < t->target_word_count; u++) found |= t->word_sources[u] == v;
        covered += found;
    }
    assert_int_equal(t->source_words_covered, covered);
    for (int u = 0; u < t->target_word_count; u++) {
        const float *row = t->word_alignment + (ptrdiff_t)u * t->source_word_count;
        const int own = t->word_sources[u];
        assert_true(own >= -1 && own < t->source_word_count);
        for (int v = 0; v < t->source_word_count; v++)
            assert_true(own < 0 ? row[v] <= 0
                                : row[v] < row[own] || (row[v] == row[own] && v >= own));
    }
    c->uncovered += t->source_word_count - covered;
}

static int check_one(void *user, const rapt_translation *t)
{
    struct check *c = user;
    const rapt_text source = c->texts[t->sentence], target = {t->text, t->size};
    if (t->source_count > 0) check_logs(t, c);
    if (!t->alignment) {
        assert_true(!t->source_spans && !t->word_alignment && t->source_word_count == 0);
        assert_true(!t->word_sources && t->source_words_covered == 0);
        return 0;
    }
    check_sources(t, c);
    check_spans(t->source_spans, t->source_count, source, rapt_translator_source(c->translator),
                t->source, c);
    check_spans(t->target_spans, t->target_count, target, rapt_translator_target(c->translator),
                t->target, c);
    same_words(t->source_words, t->source_word_count, source);
    same_words(t->target_words, t->target_word_count, target);
    for (int u = 0; u < t->target_word_count; u++) {
        double sum = 0;
        for (int v = 0; v < t->source_word_count; v++) {
            double got = (double)t->word_alignment[u * t->source_word_count + v];
            assert_true(fabs(got - weight(t, u, v)) < 1e-6);
            sum += got;
        }
        assert_true(sum < 1 + 1e-5);
        c->words++;
    }
    return 0;
}

static const rapt_text texts[] = {
    {"the cat sees the dog", 20},
    {"  a  bird\tsings\n", 16},
    {"", 0},
    {"dogs", 4},
    {"   ", 3},
    {"a\xC2\xA0"
     "b\xE3\x80\x80"
     "c \xE2\x80\x83"
     "d\xFF e",
     17},
    {"a ab\xC3\xA4 abc cab\xF0\x9F\x98\x80 b", 18},
};

static void run(const rapt_tokenizer *tokenizer, bool bytes, uint64_t seed, struct check *c)
{
    rapt_config config = small_configs[0];
    config.source_vocab = config.target_vocab = rapt_tokenizer_vocab(tokenizer);
    config.positions = POSITIONS;
    rapt_model *model = small_model(&config, seed);
    rapt_translator *t = NULL;
    rapt_message why = {""};
    const rapt_translator_options o = {.size = sizeof o, .nbest = 3, .batch = 3, .min_length = 5};
    if (rapt_translator_create(&t, model, tokenizer, NULL, &o, NULL, &why))
        fail_msg("%s", why.text);
    c->translator = t, c->texts = texts, c->bytes = bytes;
    for (int i = 0; i < 4; i++) {
        const rapt_translate_call call = {
            .size = sizeof call, .alignments = i & 1, .log_probabilities = i & 2};
        c->logs = call.log_probabilities != 0;
        if (rapt_translate_many_with(t, texts, COUNT(texts), &call, check_one, c, &why))
            fail_msg("%s", why.text);
    }
    rapt_translator_free(t);
    rapt_model_free(model);
}

static void test_bytes(void **state)
{
    (void)state;
    rapt_tokenizer *tokenizer = small_tokenizer();
    struct check c = {.words = 0};
    for (uint64_t seed = 1; seed <= 4; seed++) run(tokenizer, true, seed, &c);
    assert_true(c.words > 50 && c.uncovered > 0);
    rapt_tokenizer_free(tokenizer);
}

static void test_sentencepiece(void **state)
{
    (void)state;
    static struct craft crafted;
    struct check c = {.words = 0};
    for (size_t i = 0; i < CRAFTED_MODELS; i++) {
        rapt_tokenizer *tokenizer = NULL;
        craft_model(&crafted, i);
        assert_int_equal(
            rapt_tokenizer_load_memory(&tokenizer, crafted.bytes, crafted.size, NULL, NULL),
            RAPT_OK);
        for (uint64_t seed = 1; seed <= 3; seed++) run(tokenizer, false, seed, &c);
        rapt_tokenizer_free(tokenizer);
    }
    assert_true(c.words > 100 && c.halves > 0);
}

static int take_all(void *user, const rapt_translation *t)
{
    (void)user, (void)t;
    return 0;
}

/* Undoing a normalization takes memory, also when the spans of target tokens are found. */
static void test_memory(void **state)
{
    (void)state;
    static struct craft crafted;
    struct counting counting = {.fails = -1};
    const rapt_allocator allocator = counting_allocator(&counting);
    rapt_tokenizer *source = NULL, *target = NULL;
    rapt_translator *t = NULL;
    rapt_status status = RAPT_NO_MEMORY;
    craft_model(&crafted, 9); /* it has a denormalizer */
    rapt_tokenizer_load_memory(&source, crafted.bytes, crafted.size, NULL, NULL);
    rapt_tokenizer_load_memory(&target, crafted.bytes, crafted.size, &allocator, NULL);
    rapt_config config = small_configs[0];
    config.source_vocab = config.target_vocab = rapt_tokenizer_vocab(source);
    rapt_model *model = small_model(&config, 1);
    const rapt_translator_options o = {.size = sizeof o, .min_length = 5};
    assert_int_equal(rapt_translator_create(&t, model, source, target, &o, NULL, NULL), RAPT_OK);
    const long living = counting.living;
    for (counting.fails = 0; status; counting.fails++) {
        rapt_message why = {""};
        counting.calls = 0;
        status = rapt_translate_many(t, texts, 1, 1, take_all, NULL, &why);
        assert_true(status == RAPT_NO_MEMORY ? why.text[0] != 0 : status == RAPT_OK);
        assert_int_equal(counting.living, living);
    }
    assert_true(counting.fails > 4);
    rapt_translator_free(t);
    rapt_tokenizer_free(source);
    rapt_tokenizer_free(target);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_sentencepiece),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
