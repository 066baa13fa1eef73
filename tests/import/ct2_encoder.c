/* ct2_encoder.c - folders of encoders that CTranslate2's converter wrote: their vectors, recorded
   in golden/ct2_encoders.txt, and the files from which their tokenizers are made. The folders are
   seeds of the fuzz target import, in the form of fuzz/import.c; golden/make_transformers.py made
   both. exchange/ct2_converter.py compares larger models. */
#include "import/folder.h"

#include "golden/records.h"

#include <rapt/encoder.h>

enum { WIDTH = 8, TEXTS = 3 };
static const char *const texts[TEXTS] = {"the cats!", "a", ""};

static int read_all(void **state)
{
    (void)state;
    return read_records(RAPT_TESTS_DIR "/golden/ct2_encoders.txt", NULL) ? 0 : -1;
}

/* ---- folders ---- */

static const char *const models[] = {"bert", "distilbert", "roberta"};
/* Files of a seed by their numbers in fuzz/import.c, in their order. */
static const struct {
    const char *name;
    int number;
} contents[] = {
    {"model.bin", 0}, {"config.json", 1}, {"tokenizer.json", 17}, {"vocabulary.json", 24}};
static const char *const files[] = {"model.bin",    "config.json",     "tokenizer.json",
                                    "modules.json", "vocabulary.json", "sentence_bert_config.json",
                                    "inner"};

static size_t read_number(FILE *file, int bytes)
{
    size_t number = 0;
    for (int i = 0; i < bytes; i++) number |= (size_t)fgetc(file) << 8 * i;
    return number;
}

/* Reads one of the files of a model. */
static void read_file(const char *model, const char *name, struct bytes *b)
{
    char path[600];
    snprintf(path, sizeof path, RAPT_UNPACKED_DIR "/fuzz/seeds/import/ct2-%s", model);
    FILE *seed = fopen(path, "rb");
    assert_non_null(seed);
    for (int i = 0; i < COUNT(contents); i++) {
        assert_int_equal(read_number(seed, 1), contents[i].number);
        b->size = read_number(seed, 4);
        assert_true(b->size <= sizeof b->data);
        assert_int_equal(fread(b->data, 1, b->size, seed), b->size);
        if (strcmp(contents[i].name, name) == 0) break;
    }
    fclose(seed);
}

/* Writes the folder of a model, and its tokenizer to another folder. */
static void write_model(const char *model, const char *folder, const char *of_tokenizer)
{
    static struct bytes b;
    for (int i = 0; i < COUNT(contents); i++) {
        const char *name = contents[i].name;
        read_file(model, name, &b);
        folder_write(strcmp(name, "tokenizer.json") == 0 ? of_tokenizer : folder, name, &b);
    }
}

static void remove_file(const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

/* ---- vectors ---- */

static void check_vectors(const char *folder, const char *model)
{
    const rapt_encoder_options options = {.size = sizeof options, .precision = RAPT_PRECISION_F32};
    rapt_encoder *e = NULL;
    rapt_message why = {""};
    if (rapt_encoder_load(&e, folder, &options, NULL, &why)) fail_msg("%s", why.text);
    for (int n = 0; n < TEXTS; n++) {
        const rapt_text text = {texts[n], strlen(texts[n])};
        float vector[WIDTH];
        char number[16];
        snprintf(number, sizeof number, "%d", n);
        assert_int_equal(rapt_encoder_embed(e, &text, 1, vector, NULL), RAPT_OK);
        compare(model, number, vector, WIDTH);
    }
    rapt_encoder_free(e);
}

/* The numbers are stored as int8, float32 and bfloat16. */
static void test_vectors(void **state)
{
    (void)state;
    char folder[256];
    for (int i = 0; i < COUNT(models); i++) {
        folder_make(folder, "ct2-encoder");
        write_model(models[i], folder, folder);
        check_vectors(folder, models[i]);
        folder_precisions(folder);
        rapt_model *read = folder_import(folder);
        const char *ends = rapt_model_metadata(read, "rapt.pair_ends");
        assert_string_equal(rapt_model_metadata(read, "rapt.source_begin"), "1");
        assert_string_equal(ends ? ends : "1", strcmp(models[i], "roberta") == 0 ? "2" : "1");
        assert_int_equal(rapt_model_config(read)->pooling, RAPT_POOLING_MEAN);
        rapt_model_free(read);
        folder_remove(folder, files, COUNT(files));
    }
}

/* ---- the files of the original model ---- */

static void check_limit(const char *folder, const char *wanted)
{
    rapt_model *read = folder_import(folder);
    const char *got = rapt_model_metadata(read, "rapt.max_tokens");
    assert_string_equal(got ? got : "none", wanted);
    rapt_model_free(read);
}

/* They may be in the folder around that of CTranslate2, whose own files go first. */
static void test_around(void **state)
{
    (void)state;
    static struct bytes b;
    char folder[256], inner[300];
    folder_make(folder, "ct2-around");
    snprintf(inner, sizeof inner, "%s/inner", folder);
    assert_int_equal(mkdir(inner, 0700), 0);
    write_model("roberta", inner, folder);
    check_vectors(inner, "roberta");
    check_limit(inner, "none");
    folder_text(folder, "sentence_bert_config.json", "{\"max_seq_length\": 7}");
    check_limit(inner, "7");
    folder_without_memory(inner);
    read_file("roberta", "tokenizer.json", &b);
    folder_write(inner, "tokenizer.json", &b);
    check_limit(inner, "none");
    folder_text(folder, "tokenizer.json", "not JSON");
    check_vectors(inner, "roberta");
    remove_file(inner, "tokenizer.json");
    folder_refused(inner, "tokenizer.json");
    folder_remove(inner, files, COUNT(files));
    folder_remove(folder, files, COUNT(files));
}

/* ---- refusals ---- */

/* Removes a file without which the model cannot be opened. */
static void check_needed(const char *folder, const char *name)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    remove_file(folder, name);
    assert_int_equal(rapt_model_import(&model, folder, NULL, &why), RAPT_NO_FILE);
    assert_non_null(strstr(why.text, name));
}

static void test_vocabularies_refused(void **state)
{
    (void)state;
    char folder[256];
    folder_make(folder, "ct2-names");
    write_model("bert", folder, folder);
    folder_text(folder, "vocabulary.json", "[\"[PAD]\", \"[UNK]\"]");
    folder_refused(folder, "vocabulary.json has 2 names, but the model's table has 12 rows");
    folder_text(folder, "vocabulary.json",
                "[\"[PAD]\", \"[UNK]\", \"[CLS]\", \"[SEP]\", \"[MASK]\", \"the\", \"a\", \"dog\", "
                "\"##s\", \"!\", \"<extra_id_0>\", \"<extra_id_1>\"]");
    folder_refused(folder, "vocabulary.json: token 7 is \"dog\", but \"cat\" in the tokenizer");
    remove_file(folder, "vocabulary.json");
    folder_text(folder, "vocabulary.txt",
                "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\na\ncat\n##s\n!\nx\ny\n");
    check_vectors(folder, "bert");
    check_needed(folder, "vocabulary.txt");
    remove_file(folder, "tokenizer.json");
    folder_refused(folder, "its vocabulary has no rules for splitting texts; copy the original "
                           "model's tokenizer.json");
    folder_remove(folder, files, COUNT(files));
}

/* Replaces a byte of model.bin: that of a number of 8 bits, after its name, rank, type and size. */
static void change_number(const char *folder, const char *name, int value)
{
    static struct bytes b;
    const size_t size = strlen(name) + 1;
    size_t at = 0;
    read_file("bert", "model.bin", &b);
    while (at + size + 6 < b.size && memcmp(b.data + at, name, size) != 0) at++;
    assert_true(at + size + 6 < b.size);
    b.data[at + size + 6] = (unsigned char)value;
    folder_write(folder, "model.bin", &b);
}

static void test_models_refused(void **state)
{
    (void)state;
    char folder[256];
    folder_make(folder, "ct2-settings");
    write_model("bert", folder, folder);
    folder_text(folder, "config.json", "{\"layer_norm_epsilon\": \"x\"}");
    folder_refused(folder, "layer_norm_epsilon is x");
    check_needed(folder, "config.json");
    write_model("bert", folder, folder);
    change_number(folder, "encoder/embeddings_merge", 0);
    folder_refused(folder, "encoder/embeddings_merge is 0, not 1: its embeddings are not added");
    change_number(folder, "encoder/activation", 5);
    folder_refused(folder, "its activation is tanh");
    change_number(folder, "encoder/pre_norm", 1);
    folder_refused(folder, "the tensor for encoder.norm.weight is missing");
    folder_remove(folder, files, COUNT(files));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_around),
        cmocka_unit_test(test_vocabularies_refused),
        cmocka_unit_test(test_models_refused),
    };
    return cmocka_run_group_tests(tests, read_all, free_records);
}
