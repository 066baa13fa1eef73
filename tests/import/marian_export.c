/* marian_export.c - random models written for Marian and read back: the same configuration, tokens
   and, to the bit, parameters; in 8 bits what those stand for. What Marian cannot hold is refused
   by the name of its field. */
#include "import/marian_configs.h"

/* A SentencePiece model of so many pieces: </s>, <unk>, t2 .. */
static void put_pieces(struct bytes *b, int vocab)
{
    char name[16];
    b->size = 0;
    for (int i = 0; i < vocab; i++) {
        snprintf(name, sizeof name, "t%d", i);
        const char *text = i == 0 ? "</s>" : i == 1 ? "<unk>" : name;
        size_t size = strlen(text);
        put_number(b, 0x0A, 1), put_number(b, size + 4, 1);
        put_number(b, 0x0A, 1), put_number(b, size, 1);
        put(b, text, size);
        put_number(b, 0x18, 1), put_number(b, i == 0 ? 3 : i == 1 ? 2 : 1, 1);
    }
}

static char *tokenizer_text(int vocab)
{
    static struct bytes b;
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    size_t size;
    put_pieces(&b, vocab);
    if (rapt_tokenizer_load_memory(&t, b.data, b.size, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(rapt_tokenizer_file(t).size, b.size);
    assert_memory_equal(rapt_tokenizer_file(t).bytes, b.data, b.size);
    assert_int_equal(rapt_tokenizer_write(t, NULL, 0, &size, NULL), RAPT_OK);
    char *text = malloc(size);
    assert_int_equal(rapt_tokenizer_write(t, text, size, &size, NULL), RAPT_OK);
    rapt_tokenizer_free(t);
    return text;
}

/* A random model with tokenizers as metadata. */
static rapt_model *model_of(const rapt_config *c, uint64_t seed)
{
    static char bytes[1 << 18];
    size_t size;
    char *source = tokenizer_text(c->source_vocab), *target = tokenizer_text(c->target_vocab);
    bool joint = c->tie == RAPT_TIE_ALL;
    const rapt_metadata pairs[] = {{joint ? "rapt.tokenizer" : "rapt.source_tokenizer", source},
                                   {"rapt.target_tokenizer", target}};
    rapt_model *model = small_model(c, seed), *with_pairs = NULL;
    assert_int_equal(
        rapt_model_save_memory(model, bytes, sizeof bytes, &size, pairs, joint ? 1 : 2, NULL),
        RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&with_pairs, bytes, size, NULL, NULL, NULL), RAPT_OK);
    rapt_model_free(model);
    free(source);
    free(target);
    return with_pairs;
}

static const char *const files[] = {"model.bin", "vocab.spm", "vocab.src.spm", "vocab.trg.spm"};

static rapt_model *imported(const char *folder)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_import(&model, folder, NULL, &why)) fail_msg("%s", why.text);
    return model;
}

static void test_both_ways(void **state)
{
    (void)state;
    char folder[256];
    for (int i = 0; i < COUNT(marian_configs); i++) {
        rapt_message why = {""};
        rapt_model *model = model_of(&marian_configs[i], (uint64_t)i + 2);
        folder_make(folder, "marian-export");
        if (rapt_model_export(model, RAPT_EXPORT_MARIAN, folder, &why)) fail_msg("%s", why.text);
        folder_is(folder, model);
        rapt_model *read = imported(folder);
        static const char *const keys[] = {"rapt.tokenizer", "rapt.source_tokenizer",
                                           "rapt.target_tokenizer"};
        for (int k = 0; k < COUNT(keys); k++) {
            const char *own = rapt_model_metadata(model, keys[k]),
                       *other = rapt_model_metadata(read, keys[k]);
            assert_int_equal(own != NULL, other != NULL);
            if (own) assert_string_equal(own, other);
        }
        rapt_model_free(read);
        rapt_model_free(model);
        folder_remove(folder, files, COUNT(files));
    }
}

/* No element is further away than half a step of 1/127 of the largest one; written again nothing
   changes. */
static void test_narrow(void **state)
{
    (void)state;
    char folder[256];
    rapt_model *model = model_of(&marian_configs[0], 5), *read, *again;
    folder_make(folder, "marian-narrow");
    assert_int_equal(rapt_model_export(model, RAPT_EXPORT_BERGAMOT, folder, NULL), RAPT_OK);
    read = imported(folder);
    assert_int_equal(rapt_model_export(read, RAPT_EXPORT_BERGAMOT, folder, NULL), RAPT_OK);
    again = imported(folder);
    int changed = 0;
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        size_t size = small_size(model, i);
        float *x = malloc(3 * size * sizeof *x), *y = x + size, *z = y + size, max = 0;
        assert_int_equal(rapt_model_read(model, i, x, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(read, i, y, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(again, i, z, NULL), RAPT_OK);
        for (size_t j = 0; j < size; j++) max = fmaxf(max, fabsf(x[j]));
        for (size_t j = 0; j < size; j++) {
            assert_true(fabsf(x[j] - y[j]) <= 0.5001f * max / 127);
            assert_true(fabsf(z[j] - y[j]) <= 1e-6f * max);
            changed += x[j] != y[j];
        }
        free(x);
    }
    assert_true(changed > 1000);
    rapt_model_free(model);
    rapt_model_free(read);
    rapt_model_free(again);
    folder_remove(folder, files, COUNT(files));
}

static void refused(rapt_config c, const char *field)
{
    char folder[256];
    rapt_message why = {""};
    rapt_model *model = model_of(&c, 3);
    assert_int_equal(
        rapt_model_export(model, RAPT_EXPORT_MARIAN, folder_make(folder, "marian-no"), &why),
        RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, field)) fail_msg("\"%s\" does not name %s", why.text, field);
    assert_int_equal(rmdir(folder), 0); /* nothing is in it */
    rapt_model_free(model);
}

static void test_refusals(void **state)
{
    (void)state;
#define REFUSE(field, value)                                                                       \
    do {                                                                                           \
        rapt_config c = marian_configs[1];                                                         \
        c.field = value;                                                                           \
        refused(c, #field);                                                                        \
    } while (0)
    REFUSE(activation, RAPT_ACTIVATION_GELU);
    REFUSE(position, RAPT_POSITION_INTERLEAVED);
    REFUSE(first_position, 1);
    REFUSE(decoder_start, RAPT_DECODER_START_BEGIN);
    REFUSE(norm_epsilon, 1e-5f);
    REFUSE(key_heads, 2);
    REFUSE(ffn_width, 0);
    REFUSE(ffn_gated, 1);
    REFUSE(plain_embedding, 1);
    REFUSE(no_source_end, 1);
    REFUSE(self_score, RAPT_SCORE_COSINE);
    REFUSE(cross_normalizer, RAPT_NORMALIZER_ARGMAX);
    REFUSE(rotary, RAPT_ROTARY_PAIRS);
#undef REFUSE
    rapt_message why = {""};
    rapt_model *plain = small_model(&marian_configs[0], 1);
    assert_int_equal(rapt_model_export(plain, RAPT_EXPORT_MARIAN, "/tmp", &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "rapt.source_tokenizer"));
    assert_int_equal(rapt_model_export(plain, (rapt_export)2, "/tmp", &why), RAPT_BAD_ARGUMENT);
    rapt_model_free(plain);
    plain = model_of(&marian_configs[0], 1);
    assert_int_equal(rapt_model_export(plain, RAPT_EXPORT_MARIAN, "/no/such/folder", &why),
                     RAPT_NO_FILE);
    rapt_model_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_ways),
                                       cmocka_unit_test(test_narrow),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
