/* learn.c - how merges are learned from words and pairs. */
#include "help.h"

/* ---- types: finds distinct words in order of appearance, with their counts. ---- */

static void known_text(void **state)
{
    (void)state;
    const rapt_text texts[] = {text_of("a b a, b"), text_of(""), text_of("a a, c")};
    static const struct {
        const char *word;
        int count;
    } expected[] = {{"a", 2}, {" b", 2}, {" a", 2}, {",", 2}, {" c", 1}};
    struct counting counting = {.fails = -1};
    rapt_allocator allocator = counting_allocator(&counting);
    struct word_types types;
    assert_int_equal(rapt__word_types_create(&types, texts, 3, &allocator), RAPT_OK);
    assert_int_equal(types.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(types.types[i].size, strlen(expected[i].word));
        assert_memory_equal(types.types[i].bytes, expected[i].word, types.types[i].size);
        assert_int_equal(types.types[i].count, expected[i].count);
    }
    rapt__word_types_free(&types);
    assert_int_equal(counting.living, 0);
}

/* Word k of 5,000 occurs k % 7 + 1 times. */
static void many_words(void **state)
{
    (void)state;
    enum { WORDS = 5000 };
    char *text = malloc(WORDS * 7 * 8);
    assert_non_null(text);
    size_t size = 0;
    for (int time = 0; time < 7; time++)
        for (int k = 0; k < WORDS; k++)
            if (time <= k % 7) size += (size_t)sprintf(text + size, " %d", k);
    struct word_types types;
    const rapt_text all = {text, size};
    assert_int_equal(rapt__word_types_create(&types, &all, 1, NULL), RAPT_OK);
    assert_int_equal(types.count, WORDS);
    for (size_t i = 0; i < WORDS; i++)
        assert_int_equal(types.types[i].count, atoi(types.types[i].bytes) % 7 + 1);
    rapt__word_types_free(&types);
    free(text);
}

/* ---- pairs: pairs keep their index and are returned in order of decreasing count. ---- */

static void found_again(void **state)
{
    (void)state;
    struct pair_table pairs = {0};
    for (int32_t i = 0; i < 5000; i++) assert_int_equal(rapt__pairs_at(&pairs, i, i * 7 % 11), i);
    for (int32_t i = 0; i < 5000; i++) assert_int_equal(rapt__pairs_at(&pairs, i, i * 7 % 11), i);
    assert_int_equal(rapt__pairs_at(&pairs, 0, 1), 5000);
    assert_int_equal(rapt__pairs_at(&pairs, 1, 0), 5001);
    rapt__pairs_free(&pairs);
}

static void uses(void **state)
{
    (void)state;
    struct pair_table pairs = {0};
    rapt__pairs_at(&pairs, 5, 6);
    rapt__pairs_at(&pairs, 6, 5);
    static const uint32_t words[] = {3, 3, 4, 9, 9};
    for (size_t i = 0; i < 5; i++) assert_true(rapt__pairs_use(&pairs, 1, words[i]));
    assert_int_equal(pairs.pairs[0].uses, 0);
    static const uint32_t expected[] = {9, 4, 3}; /* each word once, the last first */
    uint32_t use = pairs.pairs[1].uses;
    for (size_t i = 0; i < 3; i++, use = pairs.uses[use - 1].next)
        assert_int_equal(pairs.uses[use - 1].word, expected[i]);
    assert_int_equal(use, 0);
    rapt__pairs_free(&pairs);
}

/* Counts may decrease after they were offered. Pairs must come out by their current counts. */
static void by_falling_count(void **state)
{
    (void)state;
    enum { PAIRS = 400 };
    uint64_t seed = 14;
    for (int round = 0; round < 20; round++) {
        struct pair_table pairs = {0};
        bool taken[PAIRS] = {false};
        for (int32_t i = 0; i < PAIRS; i++) {
            rapt__pairs_at(&pairs, i * 37 % PAIRS, i);
            pairs.pairs[i].count = below(&seed, 30);
        }
        assert_true(rapt__pairs_offer(&pairs, 0));
        for (;;) {
            size_t fallen = below(&seed, PAIRS);
            pairs.pairs[fallen].count -= below(&seed, (size_t)pairs.pairs[fallen].count + 1);
            ptrdiff_t expected = -1, got = rapt__pairs_best(&pairs);
            for (ptrdiff_t i = 0; i < PAIRS; i++) {
                const struct pair *a = &pairs.pairs[i];
                if (taken[i] || a->count < 2) continue;
                const struct pair *b = expected < 0 ? NULL : &pairs.pairs[expected];
                if (!b || a->count > b->count || (a->count == b->count && a->key < b->key))
                    expected = i;
            }
            assert_int_equal(got, expected);
            if (got < 0) break;
            taken[got] = true;
        }
        rapt__pairs_free(&pairs);
    }
}

/* ---- learn: learned merges are those of the definition, the same every time. ---- */

enum { MAX_TEXT = 2000 };

struct naive {
    int32_t tokens[MAX_TEXT];
    size_t word[MAX_TEXT]; /* the word of each token */
    size_t count;
};

static size_t times(const struct naive *n, int32_t left, int32_t right)
{
    size_t count = 0;
    for (size_t i = 0; i + 1 < n->count; i++)
        count += n->word[i] == n->word[i + 1] && n->tokens[i] == left && n->tokens[i + 1] == right;
    return count;
}

/* Finds the most frequent pair, counting anew. If counts are equal, the pair with the lowest ids
   wins. */
static size_t best(const struct naive *n, int32_t *left, int32_t *right)
{
    size_t max = 0;
    for (size_t i = 0; i + 1 < n->count; i++) {
        int32_t a = n->tokens[i], b = n->tokens[i + 1];
        if (n->word[i] != n->word[i + 1]) continue;
        size_t count = times(n, a, b);
        bool lower = a < *left || (a == *left && b < *right);
        if (count > max || (count == max && lower)) *left = a, *right = b, max = count;
    }
    return max;
}

static void start(struct naive *n, rapt_text text)
{
    n->count = 0;
    for (size_t at = 0, end, word = 0; at < text.size; at = end, word++) {
        end = rapt__word_end(text.bytes, text.size, at);
        for (size_t i = at; i < end; i++, n->count++) {
            n->tokens[n->count] = 3 + (unsigned char)text.bytes[i];
            n->word[n->count] = word;
        }
    }
}

static void merge(struct naive *n, int32_t left, int32_t right, int32_t made)
{
    size_t put = 0;
    for (size_t i = 0; i < n->count; put++) {
        bool here = i + 1 < n->count && n->word[i] == n->word[i + 1] && n->tokens[i] == left &&
                    n->tokens[i + 1] == right;
        n->word[put] = n->word[i];
        n->tokens[put] = here ? made : n->tokens[i];
        i += here ? 2 : 1;
    }
    n->count = put;
}

/* Learns as many merges as possible and compares each. Returns the size of the vocabulary. */
static int compare(rapt_text text)
{
    static struct naive n;
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    int supported = 259;
    char number[32];
    assert_int_equal(rapt_tokenizer_learn(&t, &text, 1, 1 << 20, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_null(t);
    start(&n, text);
    int32_t left = 0, right = 0;
    for (; best(&n, &left, &right) >= 2; supported++) merge(&n, left, right, supported);
    snprintf(number, sizeof number, " only %d tokens", supported);
    assert_non_null(strstr(why.text, number));

    assert_int_equal(rapt_tokenizer_learn(&t, &text, 1, supported, NULL, &why), RAPT_OK);
    assert_int_equal(rapt_tokenizer_vocab(t), supported);
    start(&n, text);
    for (int32_t m = 0; m < t->merges; m++) {
        assert_true(best(&n, &left, &right) >= 2);
        assert_int_equal(t->left[m], left);
        assert_int_equal(t->right[m], right);
        merge(&n, left, right, 259 + m);
    }
    int32_t ids[MAX_TEXT]; /* encoding the training text must give the merged tokens */
    size_t count;
    assert_int_equal(rapt_tokenizer_encode(t, text, ids, NULL, MAX_TEXT, &count, NULL), RAPT_OK);
    assert_int_equal(count, n.count);
    if (count) assert_memory_equal(ids, n.tokens, count * sizeof *ids);
    rapt_tokenizer_free(t);
    return supported;
}

static void by_definition(void **state)
{
    (void)state;
    assert_int_equal(compare(text_of("")), 259);
    assert_int_equal(compare(text_of("ab cd")), 259);
    assert_int_equal(compare(text_of("ab ab")), 260); /* the second word includes its space */
    assert_int_equal(compare(text_of(" ab ab")), 261);
    assert_int_equal(compare(text_of("aaaa")), 260);
    assert_true(compare(text_of(tale)) > 310);
    uint64_t seed = 11;
    for (int round = 0; round < 150; round++) {
        char text[300];
        size_t kinds = 2 + below(&seed, 8), size = below(&seed, sizeof text);
        for (size_t i = 0; i < size; i++) text[i] = "a bc.\xC3\xA4 1d"[below(&seed, kinds)];
        compare((rapt_text){text, size});
    }
}

static void same_again(void **state)
{
    (void)state;
    enum { PARTS = 8 };
    rapt_text parts[PARTS], shuffled[PARTS];
    size_t at = 0, size = strlen(tale);
    for (size_t i = 0; i < PARTS; i++) { /* cut before spaces, where words end anyway */
        size_t end = i + 1 == PARTS ? size : (i + 1) * size / PARTS;
        while (end < size && tale[end] != ' ') end++;
        parts[i] = (rapt_text){tale + at, end - at};
        shuffled[(i * 5 + 3) % PARTS] = parts[i];
        at = end;
    }
    rapt_tokenizer *whole = learned(tale, 310), *cut = NULL, *mixed = NULL;
    assert_int_equal(rapt_tokenizer_learn(&cut, parts, PARTS, 310, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_learn(&mixed, shuffled, PARTS, 310, NULL, NULL), RAPT_OK);
    size_t bytes = (size_t)whole->merges * sizeof *whole->left;
    assert_memory_equal(whole->left, cut->left, bytes);
    assert_memory_equal(whole->right, cut->right, bytes);
    assert_memory_equal(whole->left, mixed->left, bytes);
    assert_memory_equal(whole->right, mixed->right, bytes);
    rapt_tokenizer_free(whole);
    rapt_tokenizer_free(cut);
    rapt_tokenizer_free(mixed);
}

static void smaller_is_a_beginning(void **state)
{
    (void)state;
    rapt_tokenizer *large = learned(tale, 310), *small = learned(tale, 290);
    assert_memory_equal(large->left, small->left, 31 * sizeof *small->left);
    assert_memory_equal(large->right, small->right, 31 * sizeof *small->right);
    rapt_tokenizer_free(large);
    rapt_tokenizer_free(small);
}

static void long_texts(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *bytes = malloc(SIZE);
    assert_non_null(bytes);
    memset(bytes, 'z', SIZE);
    rapt_text text = {bytes, SIZE};
    rapt_tokenizer *t = NULL;
    assert_int_equal(rapt_tokenizer_learn(&t, &text, 1, 267, NULL, NULL), RAPT_OK);
    int32_t ids[SIZE / 256];
    size_t count;
    assert_int_equal(rapt_tokenizer_encode(t, text, ids, NULL, SIZE / 256, &count, NULL), RAPT_OK);
    assert_int_equal(count, SIZE / 256);
    rapt_tokenizer_free(t);
    t = NULL;
    uint64_t seed = 12;
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)next_random(&seed);
    assert_int_equal(rapt_tokenizer_learn(&t, &text, 1, 600, NULL, NULL), RAPT_OK);
    rapt_tokenizer_free(t);
    free(bytes);
}

static void bad_arguments(void **state)
{
    (void)state;
    static const int vocabs[] = {INT32_MIN, -1, 0, 258, (1 << 20) + 1, INT32_MAX};
    rapt_text text = text_of(tale), null = {NULL, 3};
    rapt_tokenizer *untouched = (rapt_tokenizer *)&text, *t = untouched;
    rapt_message why;
    for (size_t i = 0; i < sizeof vocabs / sizeof *vocabs; i++) {
        assert_int_equal(rapt_tokenizer_learn(&t, &text, 1, vocabs[i], NULL, &why),
                         RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "vocab"));
    }
    assert_int_equal(rapt_tokenizer_learn(NULL, &text, 1, 300, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_learn(&t, NULL, 1, 300, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_learn(&t, &null, 1, 300, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_learn(&t, &text, 1, 9999, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_ptr_equal(t, untouched);
    assert_int_equal(rapt_tokenizer_learn(&t, NULL, 0, 259, NULL, &why), RAPT_OK);
    assert_int_equal(rapt_tokenizer_vocab(t), 259);
    rapt_tokenizer_free(t);
}

static void no_memory(void **state)
{
    (void)state;
    /* Long enough that every table grows during use. */
    enum { SIZE = 12000 };
    static char bytes[SIZE];
    uint64_t seed = 13;
    for (size_t i = 0; i < SIZE; i++) bytes[i] = (char)(i % 6 ? 'a' + below(&seed, 26) : ' ');
    rapt_text text = {bytes, SIZE};
    rapt_status status = RAPT_NO_MEMORY;
    long fails = 0;
    for (; status; fails++) {
        struct counting counting = {.fails = fails};
        rapt_allocator allocator = counting_allocator(&counting);
        rapt_tokenizer *untouched = (rapt_tokenizer *)&text, *t = untouched;
        rapt_message why = {""};
        status = rapt_tokenizer_learn(&t, &text, 1, 500, &allocator, &why);
        if (status) {
            assert_int_equal(status, RAPT_NO_MEMORY);
            assert_ptr_equal(t, untouched);
            assert_true(why.text[0]);
        } else {
            rapt_tokenizer_free(t);
        }
        assert_int_equal(counting.living, 0);
    }
    assert_true(fails > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_text),       cmocka_unit_test(many_words),
        cmocka_unit_test(found_again),      cmocka_unit_test(uses),
        cmocka_unit_test(by_falling_count), cmocka_unit_test(by_definition),
        cmocka_unit_test(same_again),       cmocka_unit_test(smaller_is_a_beginning),
        cmocka_unit_test(long_texts),       cmocka_unit_test(bad_arguments),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
