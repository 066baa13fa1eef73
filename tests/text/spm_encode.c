/* spm_encode.c - encodes text with SentencePiece models: results of the reference, bounds of the
   output, long texts, tokenizers written and created again, and queries. */
#include "spm_known.h"
#include "spm_models.h"

static struct craft model; /* of the current test */

static rapt_tokenizer *crafted(size_t number)
{
    rapt_tokenizer *t = NULL;
    craft_model(&model, number);
    assert_int_equal(rapt_tokenizer_load_memory(&t, model.bytes, model.size, NULL, NULL), RAPT_OK);
    return t;
}

static void test_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spm_known / sizeof *spm_known; i++) {
        rapt_tokenizer *t = crafted(spm_known[i].model);
        int32_t ids[100];
        size_t ends[100], count = 0, size = 0;
        char text[1000] = "";
        assert_int_equal(
            rapt_tokenizer_encode(t, text_of(spm_known[i].text), ids, ends, 100, &count, NULL),
            RAPT_OK);
        for (size_t k = 0; k < count; k++)
            size += (size_t)sprintf(text + size, k ? " %d:%zu" : "%d:%zu", (int)ids[k], ends[k]);
        assert_string_equal(text, spm_known[i].ids);
        assert_int_equal(
            rapt_tokenizer_encode(t, text_of(spm_known[i].text), ids, NULL, 100, &count, NULL),
            RAPT_OK);
        assert_int_equal(rapt_tokenizer_decode(t, ids, count, text, 999, &size, NULL), RAPT_OK);
        text[size] = 0;
        assert_string_equal(text, spm_known[i].decoded);
        rapt_tokenizer_free(t);
    }
}

/* The count must be the same for every capacity, and nothing may be written beyond it. */
static void test_capacity(void **state)
{
    const rapt_text text = text_of("qqq abc \xF0\x9F\x98\x80 aaaa");
    int32_t all[100], ids[100];
    size_t all_ends[100], ends[100], full = 0, count, size, decoded;
    char out[200], cut[200];
    rapt_message why = {""};
    (void)state;
    for (size_t m = 0; m < CRAFTED_MODELS; m++) {
        rapt_tokenizer *t = crafted(m);
        assert_int_equal(rapt_tokenizer_encode(t, text, all, all_ends, 100, &full, NULL), RAPT_OK);
        for (size_t capacity = 0; capacity < full; capacity++) {
            memset(ids, -1, sizeof ids);
            refused(rapt_tokenizer_encode(t, text, ids, ends, capacity, &count, &why), &why,
                    "but the text has ");
            assert_int_equal(count, full);
            if (capacity > 0) assert_memory_equal(ids, all, capacity * sizeof *ids);
            assert_int_equal(ids[capacity], -1);
        }
        assert_int_equal(rapt_tokenizer_decode(t, all, full, out, 200, &size, NULL), RAPT_OK);
        for (size_t capacity = 0; capacity < size; capacity++) {
            memset(cut, '#', sizeof cut);
            refused(rapt_tokenizer_decode(t, all, full, cut, capacity, &decoded, &why), &why,
                    "but the tokens have ");
            assert_int_equal(decoded, size);
            assert_memory_equal(cut, out, capacity);
            assert_int_equal(cut[capacity], '#');
        }
        rapt_tokenizer_free(t);
    }
}

/* Encodes one word of 256 KB. A quadratic algorithm would not finish. */
static void test_long(void **state)
{
    enum { SIZE = 1 << 18 };
    static const char *const patterns[] = {"a", "ab", "q", "abc", "\xF0\x9F\x98\x80", " "};
    char *text = malloc(SIZE);
    int32_t *ids = malloc(sizeof *ids * (SIZE + 3) * 18);
    (void)state;
    assert_true(text && ids);
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        for (size_t i = 0; i < SIZE; i++) text[i] = patterns[p][i % strlen(patterns[p])];
        for (size_t m = 0; m < 6; m++) {
            rapt_tokenizer *t = crafted(m);
            size_t count = 0, bound = rapt_tokenizer_bound(t, SIZE);
            assert_true(bound <= (SIZE + 3) * 18);
            assert_int_equal(
                rapt_tokenizer_encode(t, (rapt_text){text, SIZE}, ids, NULL, bound, &count, NULL),
                RAPT_OK);
            assert_int_equal(count == 0, patterns[p][0] == ' ' && m != 5);
            rapt_tokenizer_free(t);
        }
    }
    free(text);
    free(ids);
}

static void test_written(void **state)
{
    uint64_t seed = 3;
    char text[30 * HARD_PART];
    (void)state;
    for (size_t m = 0; m < CRAFTED_MODELS; m++) {
        rapt_tokenizer *t = crafted(m), *back = NULL;
        size_t size;
        assert_int_equal(rapt_tokenizer_write(t, NULL, 0, &size, NULL), RAPT_OK);
        char *string = malloc(size);
        assert_non_null(string);
        assert_int_equal(rapt_tokenizer_write(t, string, size, &size, NULL), RAPT_OK);
        assert_int_equal(strlen(string), size - 1);
        for (const char *c = string; *c; c++)
            assert_true(*c >= ' ' && *c <= '~' && *c != '"' && *c != '\\');
        assert_int_equal(rapt_tokenizer_create(&back, string, size - 1, NULL, NULL), RAPT_OK);
        for (int i = 0; i < 200; i++) {
            int32_t ids[2][1000];
            size_t counts[2];
            rapt_text hard = {text, hard_text(&seed, 30, text)};
            assert_int_equal(rapt_tokenizer_encode(t, hard, ids[0], NULL, 1000, &counts[0], NULL),
                             RAPT_OK);
            assert_int_equal(
                rapt_tokenizer_encode(back, hard, ids[1], NULL, 1000, &counts[1], NULL), RAPT_OK);
            assert_int_equal(counts[0], counts[1]);
            if (counts[0]) assert_memory_equal(ids[0], ids[1], counts[0] * sizeof **ids);
        }
        for (size_t i = 0; i < size - 1; i += 1 + i / 8) { /* any change must be found */
            rapt_tokenizer *none = NULL;
            string[i] ^= 1;
            assert_int_equal(rapt_tokenizer_create(&none, string, size - 1, NULL, NULL),
                             RAPT_BAD_FILE);
            string[i] ^= 1;
            assert_int_equal(rapt_tokenizer_create(&none, string, i, NULL, NULL), RAPT_BAD_FILE);
        }
        free(string);
        rapt_tokenizer_free(t);
        rapt_tokenizer_free(back);
    }
}

/* Tests queries of names, texts and special tokens. */
static void test_asked(void **state)
{
    rapt_tokenizer *t = crafted(4);
    (void)state;
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_UNKNOWN), 0);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_BEGIN), 1);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_END), 2);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_PAD), -1);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_SPECIALS), -1);
    assert_int_equal(rapt_tokenizer_special(t, -2), -1);
    for (int32_t id = 0; id < rapt_tokenizer_vocab(t); id++)
        assert_int_equal(rapt_tokenizer_find(t, rapt_tokenizer_name(t, id)), id);
    assert_int_equal(rapt_tokenizer_find(t, text_of("nothing of this name")), -1);
    assert_int_equal(rapt_tokenizer_find(t, text_of("")), -1);
    static const struct {
        const char *name, *token;
    } pieces[] = {{"<s>", ""},     {"<unk>", " \xE2\x81\x87 "}, {SPACE "abc", " abc"},
                  {"<0x41>", "A"}, {"x" SPACE "1", "x 1"},      {"<user>", "<user>"}};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        rapt_text token = rapt_tokenizer_token(t, rapt_tokenizer_find(t, text_of(pieces[i].name)));
        assert_int_equal(token.size, strlen(pieces[i].token));
        if (token.size) assert_memory_equal(token.bytes, pieces[i].token, token.size);
    }
    assert_int_equal(rapt_tokenizer_token(t, -1).size, 0);
    assert_int_equal(rapt_tokenizer_name(t, rapt_tokenizer_vocab(t)).size, 0);
    rapt_tokenizer_free(t);
}

/* Special tokens are found by name and type, at any index. Without a begin token, a text begins
   with the end token. */
static void test_specials(void **state)
{
    static struct craft spec;
    rapt_tokenizer *t = NULL;
    (void)state;
    model.size = spec.size = 0;
    craft_piece(&model, "a", -1, 0);
    craft_piece(&model, "<s>", -1, 0); /* a normal piece with that name */
    craft_piece(&model, "stop", 0, SPM_CONTROL);
    craft_piece(&model, "<pad>", 0, SPM_CONTROL);
    craft_piece(&model, "<unk>", 0, SPM_UNKNOWN);
    craft_string(&spec, 47, "stop", 4); /* the name of the end token */
    craft_message(&model, 2, &spec);
    assert_int_equal(rapt_tokenizer_load_memory(&t, model.bytes, model.size, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_UNKNOWN), 4);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_PAD), 3);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_END), 2);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_BEGIN), 2);
    rapt_tokenizer_free(t);
}

/* Compares lookups of keys with a plain search. */
static void test_trie(void **state)
{
    enum { KEYS = 3000 };
    static char bytes[KEYS][8];
    static struct trie_key keys[KEYS];
    struct trie trie = {0};
    uint64_t seed = 4;
    size_t count = 0;
    (void)state;
    while (count < KEYS) {
        size_t size = 1 + below(&seed, 7);
        for (size_t i = 0; i < size; i++)
            bytes[count][i] = (char)(below(&seed, 3) ? below(&seed, 4) : below(&seed, 256));
        bool old = false;
        for (size_t i = 0; i < count && !old; i++)
            old = keys[i].size == size && memcmp(keys[i].bytes, bytes[count], size) == 0;
        if (!old) {
            keys[count] = rapt__trie_key(bytes[count], size, (int32_t)count);
            count++;
        }
    }
    static struct trie_key copy[KEYS];
    memcpy(copy, keys, sizeof copy);
    assert_int_equal(rapt__trie_build(&trie, copy, KEYS, NULL, NULL), RAPT_OK);
    assert_false(rapt__trie_empty(&trie));
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(rapt__trie_find(&trie, keys[i].bytes, keys[i].size), i);
    for (int round = 0; round < 2000; round++) {
        char text[8];
        size_t longest = 0;
        int32_t whole = -1;
        for (size_t i = 0; i < 8; i++)
            text[i] = (char)(below(&seed, 8) ? below(&seed, 4) : below(&seed, 256));
        for (size_t i = 0; i < KEYS; i++) {
            if (memcmp(keys[i].bytes, text, keys[i].size) != 0) continue;
            longest = rapt__max_size(longest, keys[i].size);
            if (keys[i].size == 4) whole = (int32_t)i;
        }
        assert_int_equal(rapt__trie_longest(&trie, text, 8), longest);
        assert_int_equal(rapt__trie_find(&trie, text, 4), whole);
    }
    rapt__trie_free(&trie, NULL);
}

static void test_base64(void **state)
{
    static const char *const known[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar"};
    static const char *const texts[] = {
        "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"}; /* RFC 4648, section 10 */
    static const char *const wrong[] = {"Zh==", "Zg=a", "Z===", "Zg= ", "Z\xE9==", "Zm9="};
    char text[16], bytes[16];
    (void)state;
    for (size_t i = 0; i < 7; i++) {
        size_t size = rapt__base64_size(i);
        assert_int_equal(size, strlen(texts[i]));
        rapt__base64_write(known[i], i, text);
        assert_memory_equal(text, texts[i], size);
        assert_true(rapt__base64_read(text, i, bytes));
        assert_memory_equal(bytes, known[i], i);
    }
    for (size_t i = 0; i < 6; i++) assert_false(rapt__base64_read(wrong[i], i < 5 ? 1 : 2, bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known), cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_long),  cmocka_unit_test(test_written),
        cmocka_unit_test(test_asked), cmocka_unit_test(test_specials),
        cmocka_unit_test(test_trie),  cmocka_unit_test(test_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
