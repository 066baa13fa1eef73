/* spm_model.c - SentencePiece models that are damaged, inconsistent or unsupported are refused with
   a reason and leave nothing allocated. Unusual but valid models are loaded. */
#include "spm_models.h"
#include "temporary.h"
#include "text/text.h"

#define TAIL(text) text, sizeof text - 1

static struct craft model; /* of the current test */

/* Loads the bytes from memory of exactly this size. */
static rapt_status load(const char *bytes, size_t size, rapt_tokenizer **t, rapt_message *why)
{
    struct counting counting = {.fails = -1};
    rapt_allocator allocator = counting_allocator(&counting);
    char *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    if (size) memcpy(exact, bytes, size);
    rapt_tokenizer *untouched = (rapt_tokenizer *)&counting, *made = untouched;
    rapt_status status = rapt_tokenizer_load_memory(&made, exact, size, &allocator, why);
    if (status) {
        assert_ptr_equal(made, untouched);
        assert_true(why->text[0]);
    } else {
        rapt_tokenizer_free(made);
        assert_int_equal(rapt_tokenizer_load_memory(t, exact, size, NULL, NULL), RAPT_OK);
    }
    assert_int_equal(counting.living, 0);
    free(exact);
    return status;
}

static void refuse(const char *what)
{
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    rapt_status status = load(model.bytes, model.size, &t, &why);
    if (status != RAPT_BAD_FILE || !strstr(why.text, what))
        print_error("\"%s\", not \"%s\"\n", why.text, what);
    assert_int_equal(status, RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, what));
}

static void base(bool normal)
{
    model.size = 0;
    craft_specials(&model);
    if (normal) craft_piece(&model, "a", -1, 0);
}

/* Appends fields to a valid model. */
static void test_tails(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *what;
    } tails[] = {
        {TAIL("\x0A"), "ends within a number"},
        {TAIL("\x0A\xFF"), "ends within a number"},
        {TAIL("\x0A\x05<unk"), "longer than the rest"},
        {TAIL("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), "longer than the rest"},
        {TAIL("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"), "64 bits"},
        {TAIL("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), "64 bits"},
        {TAIL("\x0B\x0C"), "a group"},
        {TAIL("\x0C"), "a group"},
        {TAIL("\x0F\x00"), "a group"},
        {TAIL("\x00\x00"), "an invalid number"},
        {TAIL("\x35\x00\x00\x00"), "ends within a number"},
        {TAIL("\x31\x00\x00\x00\x00"), "ends within a number"},
        /* wrong wire types of the model's fields */
        {TAIL("\x08\x01"), "field 1 of the model has the wrong wire type"},
        {TAIL("\x10\x01"), "field 2 of the model has the wrong wire type"},
        {TAIL("\x1D\x00\x00\x00\x00"), "field 3 of the model has the wrong wire type"},
        {TAIL("\x20\x01"), "field 4 of the model has the wrong wire type"},
        {TAIL("\x28\x01"), "field 5 of the model has the wrong wire type"},
        /* pieces */
        {TAIL("\x0A\x00"), "piece 4 is empty"},
        {TAIL("\x0A\x02\x0A\x00"), "piece 4 is empty"},
        {TAIL("\x0A\x05\x15\x00\x00\x80\x3F"), "piece 4 is empty"},
        {TAIL("\x0A\x02\x0A\x05"), "a piece is damaged"},
        {TAIL("\x0A\x04\x0A\x01z\x15"), "a piece is damaged"},
        {TAIL("\x0A\x04\x0A\x01z\x0B"), "a piece is damaged"},
        {TAIL("\x0A\x02\x08\x01"), "field 1 of a piece has the wrong wire type"},
        {TAIL("\x0A\x05\x0A\x01z\x10\x01"), "field 2 of a piece has the wrong wire type"},
        {TAIL("\x0A\x06\x0A\x01z\x1A\x01\x01"), "field 3 of a piece has the wrong wire type"},
        {TAIL("\x0A\x05\x0A\x01z\x18\x00"), "unknown type 0"},
        {TAIL("\x0A\x05\x0A\x01z\x18\x07"), "unknown type 7"},
        {TAIL("\x0A\x0A\x0A\x01z\x18\x81\x80\x80\x80\x80\x10"), "unknown type 549755813889"},
        {TAIL("\x0A\x08\x0A\x01z\x15\x00\x00\xC0\x7F"), "score of piece 4"}, /* NaN */
        {TAIL("\x0A\x08\x0A\x01z\x15\x00\x00\x80\x7F"), "score of piece 4"}, /* infinity */
        {TAIL("\x0A\x08\x0A\x01z\x15\x00\x00\x80\xFF"), "score of piece 4"},
        {TAIL("\x0A\x03\x0A\x01"
              "a"),
         "pieces 3 and 4 are the same"},
        {TAIL("\x0A\x07\x0A\x03<s>\x18\x03"), "pieces 1 and 4 are the same"},
        {TAIL("\x0A\x05\x0A\x01z\x18\x02"), "pieces 0 and 4 are both the unknown piece"},
        {TAIL("\x0A\x0A\x0A\x06<0x41>\x18\x06"), "byte_fallback is off"},
        {TAIL("\x0A\x09\x0A\x05<0x4>\x18\x06"), "is not of the form <0xNN>"},
        {TAIL("\x0A\x0A\x0A\x06<0x4G>\x18\x06"), "is not of the form <0xNN>"},
        {TAIL("\x0A\x0A\x0A\x06<0xab>\x18\x06"), "is not of the form <0xNN>"},
        {TAIL("\x0A\x0B\x0A\x07<0x411>\x18\x06"), "is not of the form <0xNN>"},
        /* trainer_spec */
        {TAIL("\x12\x02\x18\x00"), "model_type 0 is unknown"},
        {TAIL("\x12\x02\x18\x05"), "model_type 5 is unknown"},
        {TAIL("\x12\x03\x18\x81\x02"), "model_type 257 is unknown"},
        {TAIL("\x12\x03\x1A\x01\x01"), "field 3 of trainer_spec has the wrong wire type"},
        {TAIL("\x12\x04\xC2\x01\x01\x01"), "field 24 of trainer_spec has the wrong wire type"},
        {TAIL("\x12\x04\x9A\x02\x01\x01"), "field 35 of trainer_spec has the wrong wire type"},
        {TAIL("\x12\x03\xE0\x02\x01"), "field 44 of trainer_spec has the wrong wire type"},
        {TAIL("\x12\x03\xE8\x02\x01"), "field 45 of trainer_spec has the wrong wire type"},
        {TAIL("\x12\x03\x80\x03\x01"), "field 48 of trainer_spec has the wrong wire type"},
        {TAIL("\x12\x02\x18\xFF"), "trainer_spec is damaged"},
        {TAIL("\x12\x03\x98\x02\x01"), "byte_fallback is on, but there is no piece <0x00>"},
        /* normalizer_spec and denormalizer_spec */
        {TAIL("\x1A\x02\x38\x01"), "normalizer_spec: encode_case is not supported"},
        {TAIL("\x1A\x02\x40\x01"), "normalizer_spec: decode_case is not supported"},
        {TAIL("\x2A\x02\x40\x01"), "denormalizer_spec: decode_case is not supported"},
        {TAIL("\x1A\x02\x48\x01"), "normalizer_spec: option 9 is unknown"},
        {TAIL("\x1A\x03\xC0\x0C\x01"), "normalizer_spec: option 200 is unknown"},
        {TAIL("\x1A\x02\x10\x01"), "normalizer_spec has the wrong wire type"},
        {TAIL("\x1A\x03\x1A\x01\x01"), "normalizer_spec has the wrong wire type"},
        {TAIL("\x1A\x03\x22\x01\x01"), "normalizer_spec has the wrong wire type"},
        {TAIL("\x2A\x03\x2A\x01\x01"), "denormalizer_spec has the wrong wire type"},
        {TAIL("\x1A\x02\x12\x05"), "normalizer_spec is damaged"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        base(true);
        craft_bytes(&model, tails[i].bytes, tails[i].size);
        refuse(tails[i].what);
    }
}

/* Adds a map of `units` units: the given ones, then values. It has two empty replacements. */
static void put_map(const uint32_t *given, size_t count, size_t units)
{
    static struct craft map, spec;
    map.size = spec.size = 0;
    const size_t size = 4 * units;
    for (int shift = 0; shift < 32; shift += 8)
        craft_bytes(&map, &(char){(char)(size >> shift)}, 1);
    for (size_t i = 0; i < units; i++) {
        uint32_t unit = i < count ? given[i] : 1u << 31;
        for (int shift = 0; shift < 32; shift += 8)
            craft_bytes(&map, &(char){(char)(unit >> shift)}, 1);
    }
    craft_bytes(&map, "\0", 2);
    craft_message(&spec, 2, &map);
    craft_message(&model, 3, &spec);
}

static void put_raw_map(const char *bytes, size_t size)
{
    static struct craft spec;
    spec.size = 0;
    craft_string(&spec, 2, bytes, size);
    craft_message(&model, 3, &spec);
}

/* Tests wrong sizes and indices outside the arrays. */
static void test_maps(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } sizes[] = {
        {TAIL("\x04")},
        {TAIL("\x04\0\0\0")},                 /* nothing after the size */
        {TAIL("\0\0\0\0\0")},                 /* no trie */
        {TAIL("\x03\0\0\0\0\0\0\0\0")},       /* not a whole number of units */
        {TAIL("\x04\0\0\0\0\0\0\0")},         /* no replacements */
        {TAIL("\x08\0\0\0\0\0\0\0\0")},       /* longer than the rest */
        {TAIL("\xFC\xFF\xFF\xFF\0\0\0\0\0")}, /* much longer */
        {TAIL("\x04\0\0\0\0\0\0\0x")},        /* no end of the last replacement */
    };
    enum { LABEL = 'a', KEY = 1 << 8, FAR = 1 << 9, OFFSET = 10 };
    /* the root's base is 256, so its child for 'a' is unit 256 + 'a' */
    static uint32_t ways[7][512];
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        base(true);
        put_raw_map(sizes[i].bytes, sizes[i].size);
        refuse("the normalization rules are truncated or have a wrong size");
    }
    for (size_t i = 0; i < 7; i++)
        for (size_t unit = 0; unit < 512; unit++) ways[i][unit] = 1u << 31;
    for (size_t i = 0; i < 7; i++) ways[i][0] = 256u << OFFSET;
    ways[0][0] = 512u << OFFSET;                               /* the root's base is out of range */
    ways[1][0] = 1u << 31;                                     /* the root is a value */
    ways[2][256 + LABEL] = (1u << 20) << OFFSET | FAR | LABEL; /* a base is out of range */
    ways[3][256 + LABEL] =
        (256 + LABEL) << OFFSET | KEY | LABEL;            /* to unit 0, which holds no value */
    ways[4][256 + LABEL] = LABEL << OFFSET | KEY | LABEL; /* a value is out of range */
    ways[4][256] = 1u << 31 | 2;
    ways[5][256 + LABEL] = LABEL << OFFSET | LABEL;         /* a loop: base 256 again */
    ways[6][256 + LABEL] = (256 + LABEL) << OFFSET | LABEL; /* a loop of two: base 0, */
    ways[6][LABEL] = (256 + LABEL) << OFFSET | LABEL;       /* base 256 */
    for (size_t i = 0; i < 7; i++) {
        base(true);
        put_map(ways[i], 512, 512);
        refuse(i < 5 ? "the normalization rules point outside their arrays"
                     : "the normalization rules contain a cycle");
    }
    base(true);
    put_map((const uint32_t[]){1u << OFFSET}, 1, 1); /* valid: one unit without children */
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    assert_int_equal(load(model.bytes, model.size, &t, &why), RAPT_OK);
    rapt_tokenizer_free(t);
}

static void test_whole_models(void **state)
{
    (void)state;
    model.size = 0;
    refuse("there is no unknown piece");
    craft_piece(&model, "a", -1, 0);
    refuse("there is no unknown piece");
    base(false);
    refuse("the model has no normal piece");
    base(true);
    craft_piece(&model, "<0x41>", 0, SPM_BYTE);
    craft_trainer(&model, SPM_BPE, false, true);
    refuse("byte_fallback is on, but there is no piece <0x00>");
    base(true);
    craft_byte_pieces(&model);
    craft_piece(&model, "<0x41>", 0, SPM_BYTE);
    craft_trainer(&model, SPM_BPE, false, true);
    refuse("are the same");
    char missing[TEMPORARY];
    temporary_missing(missing);
    assert_int_equal(rapt_tokenizer_load(&(rapt_tokenizer *){NULL}, missing, NULL, NULL),
                     RAPT_NO_FILE);
}

/* However a model is truncated or changed, it must be refused with a reason or work. */
static void use(rapt_tokenizer *t, uint64_t *seed)
{
    enum { TEXT = 20 * HARD_PART };
    char text[TEXT], out[64];
    size_t size = hard_text(seed, 20, text), count = 0, written;
    size_t bound = rapt_tokenizer_bound(t, size);
    int32_t *ids = malloc(bound * sizeof *ids);
    size_t *ends = malloc(bound * sizeof *ends);
    assert_true(ids && ends);
    assert_int_equal(
        rapt_tokenizer_encode(t, (rapt_text){text, size}, ids, ends, bound, &count, NULL), RAPT_OK);
    assert_true(count <= rapt__tokenizer_most(t, (rapt_text){text, size}));
    for (size_t i = 0; i < count; i++)
        assert_true(ends[i] <= size && ids[i] >= 0 && ids[i] < rapt_tokenizer_vocab(t));
    rapt_tokenizer_decode(t, ids, count, out, sizeof out, &written, NULL);
    free(ids);
    free(ends);
    rapt_tokenizer_free(t);
}

static void test_damage(void **state)
{
    uint64_t seed = 1;
    rapt_message why = {""};
    int loaded = 0;
    (void)state;
    for (size_t round = 0; round < 1000; round++) {
        rapt_tokenizer *t = NULL;
        craft_model(&model, round % CRAFTED_MODELS);
        size_t size = round % 3 ? model.size : below(&seed, model.size);
        /* Most of the bytes are rules, so half of the damage is limited to the pieces. */
        size_t within = round % 2 ? size : rapt__min_size(size, 800);
        for (size_t n = below(&seed, 4); n > 0 && within > 0; n--)
            model.bytes[below(&seed, within)] = (char)below(&seed, 256);
        rapt_status status = load(model.bytes, size, &t, &why);
        assert_true(status == RAPT_OK || status == RAPT_BAD_FILE);
        loaded += status == RAPT_OK;
        if (status == RAPT_OK) use(t, &seed);
    }
    assert_in_range(loaded, 100, 950);
}

/* ---- unusual but valid ---- */

static void loads(void)
{
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    uint64_t seed = 2;
    rapt_status status = load(model.bytes, model.size, &t, &why);
    if (status) print_error("%s\n", why.text);
    assert_int_equal(status, RAPT_OK);
    use(t, &seed);
}

static void test_odd(void **state)
{
    static const char odd_pieces[] = "\x0A\x05\x0A\x03z\0z"     /* a NUL within */
                                     "\x0A\x03\x0A\x01\0"       /* and by itself */
                                     "\x0A\x04\x0A\x02\xFF\xE2" /* not UTF-8 */
                                     "\x0A\x05\x0A\x03<s>"      /* a reserved name */
                                     "\x0A\x0B\xC0\x0C\x01\x0A\x01q\x20\x05\x0A\x01r"; /* twice */
    static char longest[100000];
    (void)state;
    base(true);
    craft_bytes(&model, odd_pieces, sizeof odd_pieces - 1);
    craft_bytes(&model, TAIL("\x12\x05\xE2\x02\x00\x68\x00")); /* an empty surface; field 13 */
    craft_bytes(&model, TAIL("\x12\x00\x1A\x00\x2A\x00\x22\x03xyz\xC2\x0C\x00"));
    craft_bytes(&model, TAIL("\x1A\x06\x12\x00\x38\x00\x40\x00")); /* options with value 0 */
    loads();
    base(true);
    memset(longest, 'a', sizeof longest - 1);
    craft_piece(&model, longest, -2, 0);
    loads();
    base(true);
    craft_piece(&model, longest, -2, SPM_UNUSED);
    craft_trainer(&model, SPM_BPE, false, false);
    loads();
}

/* Lets every allocation fail once. Nothing may stay allocated, and the arguments must not
   change. */
static void test_memory(void **state)
{
    struct counting counting = {.fails = 0};
    rapt_allocator allocator = counting_allocator(&counting);
    rapt_tokenizer *untouched = (rapt_tokenizer *)&counting, *t = untouched;
    const rapt_text text = text_of("abc \xEF\xAC\x81 aaaa aaaa aaaaaaaaaa x\xC2\xBD");
    int32_t ids[100];
    size_t ends[100], count = 77, size = 0;
    char out[200];
    (void)state;
    for (int which = 0; which < 2; which++) {
        craft_model(&model, which ? 9 : 0); /* unigram; BPE with a denormalizer */
        rapt_status status;
        for (t = untouched, counting.fails = 0;; counting.fails++) {
            rapt_message why = {""};
            counting.calls = 0;
            status = rapt_tokenizer_load_memory(&t, model.bytes, model.size, &allocator, &why);
            if (status == RAPT_OK) break;
            assert_int_equal(status, RAPT_NO_MEMORY);
            assert_ptr_equal(t, untouched);
            assert_true(why.text[0]);
            assert_int_equal(counting.living, 0);
        }
        assert_true(counting.fails > 10);
        long living = counting.living;
        for (counting.fails = 0;; counting.fails++) {
            counting.calls = 0;
            status = rapt_tokenizer_encode(t, text, ids, ends, 100, &count, NULL);
            assert_int_equal(counting.living, living);
            if (status == RAPT_OK) break;
            assert_int_equal(status, RAPT_NO_MEMORY);
            assert_int_equal(count, 77);
        }
        assert_true(counting.fails > 2 && count < 77);
        for (counting.fails = 0;; counting.fails++) {
            counting.calls = 0;
            status = rapt_tokenizer_decode(t, ids, count, out, sizeof out, &size, NULL);
            assert_int_equal(counting.living, living);
            if (status == RAPT_OK) break;
            assert_int_equal(status, RAPT_NO_MEMORY);
        }
        assert_int_equal(counting.fails > 0, which == 1);
        rapt_tokenizer_free(t);
        assert_int_equal(counting.living, 0);
        count = 77;
    }
}

/* Tests rules that begin with ASCII letters. Only these sequences are replaced, not the letters by
   themselves. */
static void test_ascii_rules(void **state)
{
    static const struct craft_rule rules[] = {{"ab", "b"}, {"bcd", "a"}};
    static const struct {
        const char *text, *back;
    } rows[] = {{"a", "a"}, {"ab", "b"}, {"aab", "ab"}, {"bc", "bc"}, {"bcdb", "ab"}, {"ca", "ca"}};
    static struct craft spec, map;
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    (void)state;
    spec.size = map.size = model.size = 0;
    craft_charsmap(&map, rules, sizeof rules / sizeof *rules);
    craft_message(&spec, 2, &map);
    craft_piece(&model, "<unk>", 0, SPM_UNKNOWN);
    for (int i = 0; i < 3; i++) craft_piece(&model, (char[]){(char)('a' + i), 0}, -1, 0);
    craft_piece(&model, "\xE2\x96\x81", -1, 0);
    craft_message(&model, 3, &spec);
    if (rapt_tokenizer_load_memory(&t, model.bytes, model.size, NULL, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t ids[8];
        size_t count, size;
        char bytes[16] = "";
        assert_int_equal(
            rapt_tokenizer_encode(t, text_of(rows[i].text), ids, NULL, 8, &count, NULL), RAPT_OK);
        assert_int_equal(rapt_tokenizer_decode(t, ids, count, bytes, 15, &size, NULL), RAPT_OK);
        assert_string_equal(bytes, rows[i].back);
    }
    rapt_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tails),        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_whole_models), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_odd),          cmocka_unit_test(test_memory),
        cmocka_unit_test(test_ascii_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
