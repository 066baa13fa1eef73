/* list.c - vocabularies that are lists of names. Encoding and decoding are compared with looking
   names up one by one, with and without a SentencePiece model. Also tests writing, reading, damage,
   refusals and lack of memory. */
#include "text/list.h"
#include "spm_models.h"

enum { MAX = 64 };

static const char *const plain[] = {"<blank>", "<s>", "</s>", "a", "bb", "\xD8\xA2", "", "<unk>"};

static rapt_tokenizer *list_of(const char *const *names, int count, const rapt_tokenizer *pieces)
{
    rapt_text texts[MAX];
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    for (int i = 0; i < count; i++) texts[i] = text_of(names[i]);
    if (rapt_tokenizer_create_list(&t, texts, count, pieces, NULL, &why)) fail_msg("%s", why.text);
    return t;
}

/* Checks that a text gives these ids and ends, and that the ids give the text `back`. */
static void judge(const rapt_tokenizer *t, const char *text, const int32_t *ids, const size_t *ends,
                  size_t count, const char *back)
{
    int32_t got[MAX];
    size_t got_ends[MAX], n = 0, size = 0;
    char bytes[MAX];
    rapt_message why = {""};
    if (rapt_tokenizer_encode(t, text_of(text), got, got_ends, MAX, &n, &why))
        fail_msg("%s: %s", text, why.text);
    assert_int_equal(n, count);
    assert_true(n <= rapt_tokenizer_bound(t, strlen(text)));
    assert_memory_equal(got, ids, n * sizeof *ids);
    assert_memory_equal(got_ends, ends, n * sizeof *ends);
    for (size_t capacity = 0; capacity < n; capacity++) {
        assert_int_equal(rapt_tokenizer_encode(t, text_of(text), got, NULL, capacity, &n, &why),
                         RAPT_BAD_ARGUMENT);
        assert_int_equal(n, count);
    }
    assert_int_equal(rapt_tokenizer_decode(t, ids, count, bytes, MAX, &size, &why), RAPT_OK);
    assert_int_equal(size, strlen(back));
    assert_memory_equal(bytes, back, size);
    for (size_t capacity = 0; capacity < strlen(back); capacity++) {
        memset(bytes, '#', MAX);
        assert_int_equal(rapt_tokenizer_decode(t, ids, count, bytes, capacity, &size, &why),
                         RAPT_BAD_ARGUMENT);
        assert_int_equal(size, strlen(back));
        assert_memory_equal(bytes, back, capacity);
        assert_true(bytes[capacity] == '#');
    }
}

#define JUDGE(t, text, back, ids_, ends_)                                                          \
    do {                                                                                           \
        const int32_t ids[] = ids_;                                                                \
        const size_t ends[] = ends_;                                                               \
        judge(t, text, ids, ends, sizeof ids / sizeof *ids, back);                                 \
    } while (0)
#define ARRAY(...)                                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void judge_plain(const rapt_tokenizer *t)
{
    JUDGE(t, "a bb", "a bb", ARRAY(3, 4), ARRAY(1, 4));
    JUDGE(t, "  bb   a ", "bb a", ARRAY(4, 3), ARRAY(4, 8));
    JUDGE(t, "\xD8\xA2 ab </s> a", "\xD8\xA2 <unk> a", ARRAY(5, 7, 2, 3), ARRAY(2, 5, 10, 12));
    judge(t, "", NULL, NULL, 0, "");
    judge(t, "   ", NULL, NULL, 0, "");
    assert_int_equal(rapt_tokenizer_vocab(t), 8);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_UNKNOWN), 7);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_PAD), 0);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_BEGIN), 1);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_END), 2);
    for (int i = 0; i < 8; i++) {
        const rapt_text name = rapt_tokenizer_name(t, i), token = rapt_tokenizer_token(t, i);
        assert_int_equal(name.size, strlen(plain[i]));
        assert_memory_equal(name.bytes, plain[i], name.size);
        assert_int_equal(token.size, i > 2 ? name.size : 0);
        assert_int_equal(rapt_tokenizer_find(t, name), name.size ? i : -1);
    }
    assert_int_equal(rapt_tokenizer_find(t, text_of("ab")), -1);
}

static void test_names(void **state)
{
    (void)state;
    rapt_tokenizer *t = list_of(plain, 8, NULL), *cut = list_of(plain + 2, 4, NULL);
    judge_plain(t);
    rapt_message why = {""};
    int32_t ids[MAX];
    size_t count;
    refused(rapt_tokenizer_encode(cut, text_of("a nn"), ids, NULL, MAX, &count, &why), &why,
            "\"nn\" is not in the vocabulary");
    assert_int_equal(rapt_tokenizer_special(cut, RAPT_TOKEN_BEGIN),
                     0); /* the end token serves as begin token */
    assert_int_equal(rapt_tokenizer_special(cut, RAPT_TOKEN_PAD), -1);
    assert_int_equal(rapt_tokenizer_file(cut).size, 0);
    rapt_tokenizer_free(cut);
    rapt_tokenizer_free(t);
}

static rapt_tokenizer *pieces_of_letters(void)
{
    static struct craft model;
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    memset(&model, 0, sizeof model);
    craft_piece(&model, "<unk>", 0, SPM_UNKNOWN);
    craft_piece(&model, "a", -1, 0);
    craft_piece(&model,
                "\xE2\x96\x81"
                "a",
                -1, 0);
    craft_piece(&model, "\xE2\x96\x81", -2, 0);
    craft_piece(&model, "b", -1, 0);
    if (rapt_tokenizer_load_memory(&t, model.bytes, model.size, NULL, &why))
        fail_msg("%s", why.text);
    return t;
}

static const char *const words[] = {"</s>", "<unk>",  "b", "\u2581", "\u2581a",
                                    "z",    ">>ab<<", "a", "<pad>"};

static void judge_pieces(const rapt_tokenizer *t)
{
    JUDGE(t, "a aab", "a aab", ARRAY(4, 4, 7, 2), ARRAY(1, 3, 4, 5));
    JUDGE(t, "b", "b", ARRAY(3, 2), ARRAY(0, 1));
    JUDGE(t, "zb y", "zb ", ARRAY(3, 5, 2, 3, 1),
          ARRAY(0, 1, 2, 3, 4)); /* z is a name but not a piece */
    JUDGE(t, ">>ab<< a", ">>ab<< a", ARRAY(6, 4), ARRAY(6, 8));
    JUDGE(t, ">>ab<<", ">>ab<<", ARRAY(6), ARRAY(6));
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_PAD), 8);
    assert_int_equal(rapt_tokenizer_token(t, 4).size, 2);
    assert_int_equal(rapt_tokenizer_token(t, 1).size, 0);
}

static void test_pieces(void **state)
{
    (void)state;
    rapt_tokenizer *pieces = pieces_of_letters(), *t = list_of(words, 9, pieces);
    const rapt_text file = rapt_tokenizer_file(t), wanted = rapt_tokenizer_file(pieces);
    assert_int_equal(file.size, wanted.size);
    assert_memory_equal(file.bytes, wanted.bytes, file.size);
    rapt_tokenizer *cut = list_of(words, 1, pieces); /* has no unknown token */
    rapt_tokenizer_free(pieces);                     /* the list has its own copy */
    int32_t ids[MAX];
    size_t count;
    rapt_message why = {""};
    judge_pieces(t);
    refused(rapt_tokenizer_encode(cut, text_of("a"), ids, NULL, MAX, &count, &why), &why,
            "piece 0 is not in the vocabulary");
    assert_int_equal(rapt_tokenizer_encode(t, text_of(">>zz<< a"), ids, NULL, MAX, &count, NULL),
                     RAPT_OK);
    assert_true(ids[0] == 3); /* an unknown language is text */
    assert_int_equal(rapt_tokenizer_encode(t, text_of(">>ab a"), ids, NULL, MAX, &count, NULL),
                     RAPT_OK);
    assert_true(ids[0] == 3); /* it is not terminated */
    refused(rapt_tokenizer_encode(t, (rapt_text){"a", SIZE_MAX / 2}, ids, NULL, MAX, &count, &why),
            &why, "is too long");
    rapt_tokenizer_free(t);
    rapt_tokenizer_free(cut);
}

/* The marks of T5 and languages are found anywhere in a text. The texts around them are encoded one
   by one. Languages have no text. */
static void test_marks(void **state)
{
    (void)state;
    static const char *const names[] = {
        "</s>",         "<unk>",         "b",        "\u2581", "\u2581a", "a",
        "<extra_id_1>", "<extra_id_10>", "abc_Defg", "__ab__", "__abc__"};
    static const char *const others[] = {"<extra_id_2>", "<extra_id_1", "<extra_id_>", "<extra_id_",
                                         "abc_Defh",     "abc_Def",     "abc_defg",    "Abc_Defg",
                                         "__ab_",        "__a__",       "__abcd__",    "__aB__"};
    rapt_tokenizer *pieces = pieces_of_letters(), *t = list_of(names, 11, pieces);
    JUDGE(t, "a<extra_id_1>a", "a<extra_id_1> a", ARRAY(4, 6, 4), ARRAY(1, 13, 14));
    JUDGE(t, "<extra_id_10> <extra_id_1>", "<extra_id_10><extra_id_1>", ARRAY(7, 6), ARRAY(13, 26));
    JUDGE(t, "<extra_id_1>", "<extra_id_1>", ARRAY(6), ARRAY(12));
    JUDGE(t, "abc_Defg aabc_Defga", "a a", ARRAY(8, 4, 8, 4), ARRAY(8, 10, 18, 19));
    JUDGE(t, "__ab____abc__b", "b", ARRAY(9, 10, 3, 2), ARRAY(6, 13, 13, 14));
    for (int i = 0; i < (int)(sizeof others / sizeof *others);
         i++) { /* not in the list, or not whole */
        int32_t ids[MAX];
        size_t count;
        assert_int_equal(rapt_tokenizer_encode(t, text_of(others[i]), ids, NULL, MAX, &count, NULL),
                         RAPT_OK);
        assert_true(ids[0] == 3 || ids[0] == 4);
    }
    rapt_tokenizer_free(t);
    rapt_tokenizer_free(pieces);
}

static rapt_tokenizer *pieces_of(bool bytes)
{
    static struct craft model;
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    memset(&model, 0, sizeof model);
    craft_specials(&model);
    craft_piece(&model, "a", -1, 0);
    craft_piece(&model, "\u2581a", -1, 0);
    craft_piece(&model, "\u2581", -2, 0);
    if (bytes) craft_byte_pieces(&model);
    craft_trainer(&model, SPM_UNIGRAM, false, bytes);
    craft_normalizer(&model, 3, true, NULL, 0);
    if (rapt_tokenizer_load_memory(&t, model.bytes, model.size, NULL, &why))
        fail_msg("%s", why.text);
    return t;
}

/* Text that is not a piece may be a name in its normalized form: "e" and an accent, which become
   one letter; two faces, of which the first is a piece of the text. */
static void test_normalized(void **state)
{
    (void)state;
    static const char *const names[] = {"</s>",   "<unk>", "a",       "\u2581a",
                                        "\u2581", ":)",    "\xC3\xA9"};
    rapt_tokenizer *pieces = pieces_of(false), *t = list_of(names, 7, pieces);
    JUDGE(t, "ae\u0301a",
          "a\xC3\xA9"
          "a",
          ARRAY(3, 6, 2), ARRAY(1, 4, 5));
    JUDGE(t, "\U0001F600", ":) :)", ARRAY(4, 5, 4, 5), ARRAY(0, 0, 0, 4));
    rapt_tokenizer_free(t);
    rapt_tokenizer_free(pieces);
}

/* Byte pieces must be joined to characters. */
static void test_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {"</s>",   "<unk>",  "a",       "<0xE2>",
                                        "<0x98>", "<0x83>", "\u2581a", "\u2581"};
    rapt_tokenizer *pieces = pieces_of(true), *t = list_of(names, 8, pieces);
    JUDGE(t, "a\u2603a", "a\u2603a", ARRAY(6, 3, 4, 5, 2), ARRAY(1, 1, 1, 4, 5));
    const int32_t broken[] = {6, 3, 4, 2, 5};
    char bytes[MAX];
    size_t size;
    assert_int_equal(rapt_tokenizer_decode(t, broken, 5, bytes, MAX, &size, NULL), RAPT_OK);
    const char wanted[] = "a\uFFFD\uFFFDa\uFFFD";
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(bytes, wanted, size);
    assert_int_equal(rapt_tokenizer_token(t, 4).size, 1);
    assert_memory_equal(rapt_tokenizer_token(t, 4).bytes, "\x98", 1);
    rapt_tokenizer_free(t);
    rapt_tokenizer_free(pieces);
}

static char *write_list(const rapt_tokenizer *t, size_t *size)
{
    assert_int_equal(rapt_tokenizer_write(t, NULL, 0, size, NULL), RAPT_OK);
    char *text = malloc(*size);
    assert_int_equal(rapt_tokenizer_write(t, text, *size, size, NULL), RAPT_OK);
    assert_int_equal(strlen(text), *size - 1);
    return text;
}

/* Writing and reading must preserve it, and any changed byte must be reported. */
static void test_written(void **state)
{
    (void)state;
    rapt_tokenizer *pieces = pieces_of_letters(), *read, *again;
    rapt_tokenizer *all[] = {list_of(plain, 8, NULL), list_of(words, 9, pieces)};
    for (int i = 0; i < 2; i++) {
        size_t size, other;
        char *text = write_list(all[i], &size), *second;
        rapt_message why = {""};
        assert_int_equal(rapt_tokenizer_create(&read, text, size - 1, NULL, &why), RAPT_OK);
        (i ? judge_pieces : judge_plain)(read);
        second = write_list(read, &other);
        assert_string_equal(text, second);
        for (size_t at = 0; at < size - 1; at++) {
            text[at] ^= 1;
            assert_int_equal(rapt_tokenizer_create(&again, text, size - 1, NULL, &why),
                             RAPT_BAD_FILE);
            text[at] ^= 1;
            assert_int_equal(rapt_tokenizer_create(&again, text, at, NULL, &why), RAPT_BAD_FILE);
        }
        rapt_tokenizer_free(read);
        rapt_tokenizer_free(all[i]);
        free(text);
        free(second);
    }
    rapt_tokenizer_free(pieces);
}

/* Creates a list from a text, to which it adds the correct checksum. */
static rapt_status create_from(const char *body, rapt_message *why)
{
    char text[256];
    rapt_tokenizer *t = NULL;
    snprintf(text, sizeof text, "%s#%08lx", body, (unsigned long)rapt__hash(body, strlen(body)));
    rapt_status status = rapt_tokenizer_create(&t, text, strlen(text), NULL, why);
    rapt_tokenizer_free(t);
    return status;
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *body, *phrase;
    } wrong[] = {
        {"rapt-list 1 x 2 YQA= 0  ", "number of names"},
        {"rapt-list 1 1 9 YQA= 0  ", "size"},
        {"rapt-list 1 1 2 YQA! 0  ", "base64"},
        {"rapt-list 1 2 2 YQA= 0  ", "2 names"},
        {"rapt-list 1 0 0  0  ", "0 names"},
        {"rapt-list 1 1 2 YWE= 0  ", "1 names"},
        {"rapt-list 1 1 2 YQA= 0  x", "ends at byte 24, but has 25 bytes"},
        {"rapt-list 1 1 2 YQA= 2 YQA= ", ""},
        {"rapt-list 1 2 4 YQBhAA== 0  ", "both \"a\""},
        {"rapt-wordpiece 1 1 6 W1VOS10A 8 ", "options are wrong"},
    };
    rapt_message why = {""};
    assert_int_equal(create_from("rapt-list 1 1 2 YQA= 0  ", &why), RAPT_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(create_from(wrong[i].body, &why), RAPT_BAD_FILE);
        refused(RAPT_BAD_ARGUMENT, &why, wrong[i].phrase);
    }
    rapt_tokenizer *t = NULL, *pairs = learned(tale, 270);
    const rapt_text two[] = {{"a", 1}, {"a", 1}}, zero = {"a\0b", 3}, good = {"a", 1};
    refused(rapt_tokenizer_create_list(&t, two, 2, NULL, NULL, &why), &why, "names 0 and 1");
    refused(rapt_tokenizer_create_list(&t, &zero, 1, NULL, NULL, &why), &why, "names[0]");
    refused(rapt_tokenizer_create_list(&t, &good, 0, NULL, NULL, &why), &why, "count");
    refused(rapt_tokenizer_create_list(&t, &good, 1, pairs, NULL, &why), &why, "SentencePiece");
    assert_null(t);
    rapt_tokenizer_free(pairs);
}

/* Names chosen so that FNV-1a puts them into one slot must spread like any others: no run of slots
   is long. */
static void test_colliding(void **state)
{
    (void)state;
    enum { NAMES = 500, SLOTS = 1024, SIZE = 12 };
    static char names[NAMES * SIZE];
    size_t size = 0, longest = 0, run = 0;
    int count = 0;
    for (unsigned i = 0; count < NAMES; i++) {
        char name[SIZE];
        int length = snprintf(name, sizeof name, "n%u", i);
        if (rapt__hash(name, (size_t)length) % SLOTS != 7) continue;
        memcpy(names + size, name, (size_t)length + 1);
        size += (size_t)length + 1, count++;
    }
    const rapt_allocator allocator = rapt__allocator(NULL);
    struct list *list = NULL;
    rapt_message why = {""};
    const struct list_source source = {.names = names, .size = size, .count = NAMES};
    if (rapt__list_create(&list, &source, &allocator, &why)) fail_msg("%s", why.text);
    assert_int_equal(list->slots, SLOTS);
    for (size_t i = 0; i < 2 * list->slots; i++) {
        run = list->table[i % list->slots] >= 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    assert_in_range(longest, 2, 200);
    for (size_t at = 0, id = 0; at < size; at += strlen(names + at) + 1, id++)
        assert_int_equal(rapt__list_find(list, text_of(names + at)), id);
    rapt__list_free(list);
}

typedef rapt_status make_fn(rapt_tokenizer **t, const void *from, const rapt_allocator *allocator);

static rapt_status make_names(rapt_tokenizer **t, const void *from, const rapt_allocator *allocator)
{
    rapt_text texts[9];
    for (int i = 0; i < 9; i++) texts[i] = text_of(words[i]);
    return rapt_tokenizer_create_list(t, texts, 9, from, allocator, NULL);
}

static rapt_status make_written(rapt_tokenizer **t, const void *from,
                                const rapt_allocator *allocator)
{
    return rapt_tokenizer_create(t, from, strlen(from), allocator, NULL);
}

/* Lets each allocation fail once. */
static void judge_memory(make_fn *make, const void *from)
{
    rapt_tokenizer *t = NULL;
    for (long fails = 0; !t; fails++) {
        struct counting counting = {.fails = fails};
        rapt_allocator allocator = counting_allocator(&counting);
        rapt_status status = make(&t, from, &allocator);
        assert_int_equal(status, t ? RAPT_OK : RAPT_NO_MEMORY);
        rapt_tokenizer_free(t);
        assert_int_equal(counting.living, 0);
    }
}

/* Encodes a text with pieces under failing allocations until it gives its tokens. */
static void judge_encoding(const rapt_tokenizer *pieces)
{
    struct counting counting = {.fails = -1};
    rapt_allocator allocator = counting_allocator(&counting);
    rapt_tokenizer *t = NULL;
    rapt_status status = RAPT_NO_MEMORY;
    assert_int_equal(make_names(&t, pieces, &allocator), RAPT_OK);
    long living = counting.living;
    for (long fails = 0; status; fails++) {
        int32_t ids[MAX];
        size_t ends[MAX], count = 0;
        rapt_message why = {""};
        counting.calls = 0, counting.fails = fails;
        status = rapt_tokenizer_encode(t, text_of("zb a"), ids, ends, MAX, &count, &why);
        assert_int_equal(status, fails < counting.calls ? RAPT_NO_MEMORY : RAPT_OK);
        assert_true(status ? why.text[0] && count == 0 : count == 4);
        assert_int_equal(counting.living, living);
    }
    rapt_tokenizer_free(t);
}

static void test_memory(void **state)
{
    (void)state;
    size_t size;
    rapt_tokenizer *pieces = pieces_of_letters(), *t = list_of(words, 9, pieces);
    char *text = write_list(t, &size);
    judge_memory(make_names, pieces);
    judge_memory(make_written, text);
    judge_encoding(pieces);
    rapt_tokenizer_free(pieces);
    rapt_tokenizer_free(t);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_written), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory),  cmocka_unit_test(test_colliding),
        cmocka_unit_test(test_bytes),   cmocka_unit_test(test_normalized),
        cmocka_unit_test(test_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
