/* translator.c - models and tokenizers that do not fit each other, targets longer than those of a
   full batch and up to each project's limit, tokens that a project never produces, and texts that
   cannot be encoded for lack of memory. */
#include "import/folder.h"

enum { VOCAB = 6, POSITIONS = 400, BYTES = 1 << 14 };

static const rapt_config config = {.size = sizeof config,
                                   .source_vocab = VOCAB,
                                   .target_vocab = VOCAB,
                                   .positions = POSITIONS,
                                   .width = 8,
                                   .heads = 2,
                                   .ffn_width = 8,
                                   .encoder_layers = 1,
                                   .decoder_layers = 1};

static const char *const whole[] = {"</s>", "<unk>", "a", "b", "c", "d"};

static rapt_tokenizer *list_of(const char *const names[VOCAB])
{
    rapt_text texts[VOCAB];
    rapt_tokenizer *t = NULL;
    for (int i = 0; i < VOCAB; i++) texts[i] = (rapt_text){names[i], strlen(names[i])};
    assert_int_equal(rapt_tokenizer_create_list(&t, texts, VOCAB, NULL, NULL, NULL), RAPT_OK);
    return t;
}

/* ---- special tokens ---- */

static void refuse(const rapt_config *c, const char *const source[VOCAB],
                   const char *const target[VOCAB], const char *phrase)
{
    rapt_model *model = small_model(c, 1);
    rapt_tokenizer *from = list_of(source), *to = list_of(target);
    rapt_translator *t = (rapt_translator *)(uintptr_t)64;
    rapt_message why = {""};
    assert_int_equal(rapt_translator_create(&t, model, from, to, NULL, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_true((uintptr_t)t == 64);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not say %s", why.text, phrase);
    rapt_tokenizer_free(from);
    rapt_tokenizer_free(to);
    rapt_model_free(model);
}

static void test_specials(void **state)
{
    (void)state;
    static const char *const endless[] = {"<s>", "<unk>", "a", "b", "c", "d"};
    rapt_config padded = config;
    padded.decoder_start = RAPT_DECODER_START_PAD;
    refuse(&config, endless, whole, "the source tokenizer has no end token (</s>)");
    refuse(&config, whole, endless, "the target tokenizer has no end token (</s>)");
    refuse(&padded, whole, whole, "decoder_start is pad, but the tokenizer has no such token");
}

/* One tokenizer in a model with two vocabularies, as a file and as a model. */
static void test_two_vocabularies(void **state)
{
    (void)state;
    char path[256], *text = pieces_text(VOCAB, PIECES_BEGIN);
    const rapt_metadata metadata[] = {{"rapt.tokenizer", text}};
    rapt_translator *t = NULL;
    for (int more = 0; more < 2; more++) {
        rapt_config c = config;
        rapt_message why[2] = {{""}, {""}};
        c.target_vocab += more;
        rapt_model *model = small_model(&c, 1), *read = NULL;
        small_path(path, "vocabularies");
        assert_int_equal(rapt_model_save(model, path, metadata, 1, NULL), RAPT_OK);
        assert_int_equal(rapt_model_load(&read, path, NULL, NULL), RAPT_OK);
        rapt_status wanted = more ? RAPT_BAD_FILE : RAPT_OK;
        assert_int_equal(rapt_translator_load(&t, path, NULL, NULL, &why[0]), wanted);
        if (!more) rapt_translator_free(t);
        assert_int_equal(rapt_translator_create(&t, read, NULL, NULL, NULL, NULL, &why[1]), wanted);
        if (!more) rapt_translator_free(t);
        for (int i = 0; more && i < 2; i++)
            assert_non_null(strstr(why[i].text, "the vocabularies have 6 and 7 tokens"));
        rapt_model_free(read);
        rapt_model_free(model);
        assert_int_equal(unlink(path), 0);
    }
    free(text);
}

/* ---- translations ---- */

static int keep(void *user, const rapt_translation *translation)
{
    char *text = user;
    assert_true(translation->size < BYTES);
    memcpy(text, translation->text, translation->size);
    text[translation->size] = 0;
    return 0;
}

/* Translates 160 words by a model of this seed. */
static void translate(uint64_t seed, const rapt_translator_options *options, char text[BYTES])
{
    char line[321] = "";
    rapt_model *model = small_model(&config, seed);
    rapt_tokenizer *names = list_of(whole);
    rapt_translator *t = NULL;
    rapt_message why = {""};
    for (int i = 0; i < 160; i++) strcat(line, i % 3 ? "a " : "d ");
    const rapt_text source = {line, strlen(line)};
    if (rapt_translator_create(&t, model, names, NULL, options, NULL, &why))
        fail_msg("%s", why.text);
    if (rapt_translate_many(t, &source, 1, 1, keep, text, &why)) fail_msg("%s", why.text);
    rapt_translator_free(t);
    rapt_tokenizer_free(names);
    rapt_model_free(model);
}

/* 300 tokens, by a translator whose batches have one sentence and by one for many. */
static void test_long(void **state)
{
    (void)state;
    static char one[BYTES], many[BYTES];
    const rapt_translator_options alone = {
        .size = sizeof alone, .beams = 2, .batch = 1, .min_length = 300, .threads = 1};
    rapt_translator_options usual = alone;
    usual.batch = 0;
    translate(1, &alone, one);
    translate(1, &usual, many);
    assert_string_equal(one, many);
    int words = 1;
    for (const char *at = one; *at; at++) words += *at == ' ';
    assert_true(words >= 300);
}

static int count_of_target(void *user, const rapt_translation *translation)
{
    *(int *)user = translation->target_count + translation->ended;
    return 0;
}

/* Returns the tokens of a translation, its end included, of `source` tokens by a model that never
   (end: -1e6) or always (1e6) wants to end. factor: in the options; metadata: of the model, or
   NULL. */
static int length_by(rapt_search_rules like, int positions, int source, float end, float factor,
                     const char *metadata)
{
    rapt_config c = config;
    float bias[VOCAB] = {end};
    char line[64] = "";
    int count = -1;
    c.positions = positions, c.output_bias = 1;
    rapt_model *model = small_model(&c, 1);
    rapt_tokenizer *names = list_of(whole);
    rapt_translator *t = NULL;
    const rapt_translator_options o = {.size = sizeof o,
                                       .beams = 1,
                                       .threads = 1,
                                       .search_rules = like,
                                       .max_length_factor = factor};
    const rapt_metadata pair = {"rapt.max_length_factor", metadata};
    int index = rapt_model_find(model, "output.bias");
    if (metadata) {
        char path[256];
        assert_int_equal(rapt_model_save(model, small_path(path, "factor"), &pair, 1, NULL),
                         RAPT_OK);
        rapt_model_free(model);
        assert_int_equal(rapt_model_load(&model, path, NULL, NULL), RAPT_OK);
        unlink(path);
    }
    assert_int_equal(rapt_model_write(model, index, bias, NULL), RAPT_OK);
    for (int i = 0; i < source; i++) strcat(line, "a ");
    const rapt_text text = {line, strlen(line)};
    assert_int_equal(rapt_translator_create(&t, model, names, NULL, &o, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_translate_many(t, &text, 1, 0, count_of_target, &count, NULL), RAPT_OK);
    rapt_translator_free(t);
    rapt_tokenizer_free(names);
    rapt_model_free(model);
    return count;
}

static int length_of(rapt_search_rules like, int positions, int source, float end)
{
    return length_by(like, positions, source, end, 0, NULL);
}

/* A factor replaces the project's rule; Marian's model may say its own, and the option wins. */
static void test_factor(void **state)
{
    (void)state;
    static const struct {
        rapt_search_rules search_rules;
        float factor;
        const char *metadata;
        int limits[2]; /* of sources of 1 and 20 tokens, and their ends */
    } all[] = {
        {RAPT_SEARCH_RULES_RAPT, 2, NULL, {4, 42}},
        {RAPT_SEARCH_RULES_RAPT, 1.4f, NULL, {2, 29}},
        {RAPT_SEARCH_RULES_MARIAN, 1.4f, NULL, {3, 30}},
        {RAPT_SEARCH_RULES_MARIAN, 4.0f / 3, NULL, {3, 28}}, /* 28 in float, a bit more exactly */
        {RAPT_SEARCH_RULES_MARIAN, 0, "2.5", {5, 53}},
        {RAPT_SEARCH_RULES_MARIAN, 2, "2.5", {4, 42}},
        {RAPT_SEARCH_RULES_RAPT, 0, "2.5", {20, 58}},
        {RAPT_SEARCH_RULES_HF, 0.1f, NULL, {1, 2}},
        {RAPT_SEARCH_RULES_HF, 0, "2.5", {511, 511}},
        {RAPT_SEARCH_RULES_CT2, 3, NULL, {6, 63}},
        {RAPT_SEARCH_RULES_MARIAN, 0, "0", {6, 63}},
        {RAPT_SEARCH_RULES_MARIAN, 0, "x", {6, 63}},
        {RAPT_SEARCH_RULES_MARIAN, 0, "1e9", {6, 63}},
        {RAPT_SEARCH_RULES_MARIAN, 1e9f, NULL, {600, 600}}};
    for (int i = 0; i < COUNT(all); i++)
        for (int n = 0; n < 2; n++)
            assert_int_equal(length_by(all[i].search_rules, 600, n ? 20 : 1, -1e6f, all[i].factor,
                                       all[i].metadata),
                             all[i].limits[n]);
}

/* Each project's limit, at most the positions; and CTranslate2's one token before the end. */
static void test_limits(void **state)
{
    (void)state;
    static const struct {
        rapt_search_rules search_rules;
        int limits[2], min; /* for sources of 1 and 20 tokens */
    } all[] = {{RAPT_SEARCH_RULES_RAPT, {20, 58}, 1},
               {RAPT_SEARCH_RULES_MARIAN, {6, 63}, 1},
               {RAPT_SEARCH_RULES_HF, {511, 511}, 1},
               {RAPT_SEARCH_RULES_CT2, {256, 256}, 2}};
    for (int i = 0; i < COUNT(all); i++)
        for (int n = 0; n < 2; n++) {
            int source = n ? 20 : 1, limit = all[i].limits[n];
            assert_int_equal(length_of(all[i].search_rules, 600, source, -1e6f), limit);
            assert_int_equal(length_of(all[i].search_rules, 50, source, -1e6f),
                             limit < 50 ? limit : 50);
            assert_int_equal(length_of(all[i].search_rules, 600, source, 1e6f), all[i].min);
        }
}

/* Marian's search never produces <unk>; that of this library may. */
static void test_unknown(void **state)
{
    (void)state;
    static char text[BYTES];
    int unknown = 0;
    for (uint64_t seed = 1; seed < 12; seed++) {
        rapt_translator_options o = {.size = sizeof o, .beams = 1, .threads = 1};
        translate(seed, &o, text);
        unknown += strstr(text, "<unk>") != NULL;
        o.search_rules = RAPT_SEARCH_RULES_MARIAN;
        translate(seed, &o, text);
        assert_null(strstr(text, "<unk>"));
    }
    assert_true(unknown > 0);
}

/* ---- memory ---- */

static int ignore(void *user, const rapt_text_score *score)
{
    *(int *)user += score->status == RAPT_OK;
    return 0;
}

/* A SentencePiece model needs memory to encode a text: each allocation fails once. */
static void test_memory(void **state)
{
    (void)state;
    static struct bytes b;
    struct counting c = {.fails = -1};
    const rapt_allocator allocator = {counting_alloc, counting_free, &c};
    rapt_tokenizer *pieces = NULL;
    rapt_translator *t = NULL;
    rapt_model *model = small_model(&config, 1);
    const rapt_text text = {"t2 t3", 5};
    put_pieces(&b, VOCAB, PIECES_BEGIN);
    assert_int_equal(rapt_tokenizer_load_memory(&pieces, b.data, b.size, &allocator, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_translator_create(&t, model, pieces, NULL, NULL, &allocator, NULL),
                     RAPT_OK);
    long living = c.living;
    int scored = 0, fails = 0;
    for (rapt_status status = RAPT_NO_MEMORY; status; fails++) {
        rapt_message why = {""};
        c.calls = 0, c.fails = fails;
        status = rapt_translator_score(t, &text, &text, 1, ignore, &scored, &why);
        assert_true(status == RAPT_OK || (status == RAPT_NO_MEMORY && why.text[0]));
        assert_int_equal(c.living, living);
        assert_int_equal(scored, status == RAPT_OK);
    }
    assert_true(fails > 3);
    rapt_translator_free(t);
    rapt_tokenizer_free(pieces);
    rapt_model_free(model);
    assert_int_equal(c.living, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_specials), cmocka_unit_test(test_two_vocabularies),
        cmocka_unit_test(test_long),     cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
