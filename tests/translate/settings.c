/* settings.c - defaults that a translator takes from its model's metadata: beams, penalties, limits
   on lengths, and tokens that it never produces. */
#include "import/pieces.h"

#include <math.h>

enum { VOCAB = 7, POSITIONS = 60, BYTES = 1 << 14 };

static const rapt_config config = {.size = sizeof config,
                                   .source_vocab = VOCAB,
                                   .target_vocab = VOCAB,
                                   .positions = POSITIONS,
                                   .width = 8,
                                   .heads = 2,
                                   .ffn_width = 8,
                                   .encoder_layers = 1,
                                   .decoder_layers = 1,
                                   .output_bias = 1};

static const rapt_search_rules all_rules[] = {RAPT_SEARCH_RULES_RAPT, RAPT_SEARCH_RULES_MARIAN,
                                              RAPT_SEARCH_RULES_HF, RAPT_SEARCH_RULES_CT2};

/* Makes a model whose biases decide, with metadata. */
static rapt_model *model_of(const float bias[VOCAB], const rapt_metadata *metadata, int count)
{
    static char bytes[BYTES];
    size_t size;
    rapt_model *plain = small_model(&config, 1), *model = NULL;
    int index = rapt_model_find(plain, "output.bias");
    assert_int_equal(rapt_model_write(plain, index, bias, NULL), RAPT_OK);
    assert_int_equal(
        rapt_model_save_memory(plain, bytes, sizeof bytes, &size, metadata, count, NULL), RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&model, bytes, size, NULL, NULL, NULL), RAPT_OK);
    rapt_model_free(plain);
    return model;
}

static rapt_tokenizer *names_of(const char *const names[VOCAB])
{
    rapt_text texts[VOCAB];
    rapt_tokenizer *t = NULL;
    for (int i = 0; i < VOCAB; i++) texts[i] = (rapt_text){names[i], strlen(names[i])};
    assert_int_equal(rapt_tokenizer_create_list(&t, texts, VOCAB, NULL, NULL, NULL), RAPT_OK);
    return t;
}

struct seen {
    int count, tokens[VOCAB];
};

static int count_tokens(void *user, const rapt_translation *t)
{
    struct seen *seen = user;
    seen->count = t->target_count;
    for (int i = 0; i < t->target_count; i++) seen->tokens[t->target[i]]++;
    return 0;
}

static struct seen translate(const rapt_model *model, const char *const names[VOCAB],
                             const rapt_translator_options *options)
{
    struct seen seen = {0};
    rapt_tokenizer *list = names_of(names);
    rapt_translator *t = NULL;
    rapt_message why = {""};
    const rapt_text text = {"a b", 3};
    if (rapt_translator_create(&t, model, list, NULL, options, NULL, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rapt_translate_many(t, &text, 1, 0, count_tokens, &seen, NULL), RAPT_OK);
    rapt_translator_free(t);
    rapt_tokenizer_free(list);
    return seen;
}

static const char *const words[] = {"</s>", "<unk>", "a", "b", "c", "d", "e"};

static void test_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        rapt_translator_options wanted;
    } all[] = {
        {"rapt.beams", "3", {.beams = 3}},
        {"rapt.beams", "1025", {.beams = 0}},
        {"rapt.beams", "0", {.beams = 0}},
        {"rapt.beams", "many", {.beams = 0}},
        {"rapt.length_penalty", "0.5", {.length_penalty = 0.5f}},
        {"rapt.length_penalty", "1e30", {.length_penalty = 0}},
        {"rapt.min_length", "4", {.min_length = 4}},
        {"rapt.min_length", "-4", {.min_length = 0}},
        {"rapt.no_repeat_ngram", "2", {.no_repeat_ngram = 2}},
        {"rapt.repetition_penalty", "1.25", {.repetition_penalty = 1.25f}},
        {"rapt.repetition_penalty", "-1", {.repetition_penalty = 0}},
        {"rapt.max_length", "2", {.beams = 0}},
    };
    const float bias[VOCAB] = {0};
    for (int i = 0; i < COUNT(all); i++) {
        const rapt_metadata pair = {all[i].key, all[i].value};
        rapt_model *model = model_of(bias, &pair, 1);
        rapt_translator_options got, wanted = all[i].wanted;
        memset(&got, 1, sizeof got);
        rapt_translator_options_default(&got, sizeof got, model);
        wanted.size = sizeof wanted;
        assert_memory_equal(&got, &wanted, sizeof got);
        rapt_translator_options_default(&got, sizeof got, NULL);
        assert_int_equal(got.beams + got.min_length + got.no_repeat_ngram, 0);
        rapt_model_free(model);
    }
}

/* Without options, a translator follows the metadata; with options, only the limit on lengths. */
static void test_followed(void **state)
{
    (void)state;
    const float bias[VOCAB] = {-100, -100, 40, 20, -100, -100, -100};
    const rapt_metadata pairs[] = {{"rapt.origin", "MarianMT of Hugging Face"},
                                   {"rapt.max_length", "9"},
                                   {"rapt.beams", "1"},
                                   {"rapt.no_repeat_ngram", "1"},
                                   {"rapt.min_length", "5"}};
    const rapt_translator_options given = {.size = sizeof given, .beams = 1};
    rapt_model *model = model_of(bias, pairs, COUNT(pairs));
    struct seen seen = translate(model, words, &given);
    assert_int_equal(seen.tokens[2], 8); /* and the forced end */
    seen = translate(model, words, NULL);
    assert_int_equal(seen.tokens[2], 1);
    assert_int_equal(seen.tokens[3], 1);
    assert_int_equal(seen.count, 5); /* each of the other three tokens once */
    rapt_model_free(model);
}

/* Tokens without a name, and those that the metadata list, are excluded whichever rules hold. */
static void test_never(void **state)
{
    (void)state;
    static const char *const nameless[] = {"</s>", "<unk>", "a", "b", "c", "d", ""};
    static const char *const lists[] = {"2", "2 5", "5 2 99", "2,5", "5  2"};
    const float likely[VOCAB] = {-9, -100, 20, 10, -50, 15, 30};
    for (int r = 0; r < COUNT(all_rules); r++)
        for (int beams = 1; beams <= 4; beams += 3) {
            const rapt_translator_options o = {.size = sizeof o,
                                               .beams = beams,
                                               .length_penalty = 1,
                                               .search_rules = all_rules[r]};
            for (int i = 0; i < COUNT(lists); i++) {
                const rapt_metadata pair = {"rapt.suppressed", lists[i]};
                rapt_model *model = model_of(likely, &pair, 1);
                struct seen seen = translate(model, nameless, &o);
                assert_int_equal(seen.tokens[6], 0);
                assert_true(seen.count > 0 && (seen.tokens[2] == 0) == (i < 4));
                rapt_model_free(model);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults),
                                       cmocka_unit_test(test_followed),
                                       cmocka_unit_test(test_never)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
