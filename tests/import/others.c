/* others.c - tests the export to a folder that already has a model. A model of the same format is
   replaced. If there is a model of another format, or a file that would be read with the new ones,
   the message names it, and nothing is written. */
#include "import/ct2_configs.h"
#include "import/pieces.h"

static const char *const files[] = {"model.bin",
                                    "model.safetensors",
                                    "config.json",
                                    "generation_config.json",
                                    "tokenizer_config.json",
                                    "vocab.json",
                                    "vocab.spm",
                                    "source.spm",
                                    "target.spm",
                                    "shared_vocabulary.json",
                                    "source_vocabulary.json",
                                    "target_vocabulary.json",
                                    "decoder.yml",
                                    "added_tokens.json",
                                    "my.npz"};

/* clang-format off */
static const rapt_config of_hf = {.size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 9, .positions = 20, .width = 16,
    .heads = 2, .ffn_width = 24, .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED,
    .tie = RAPT_TIE_ALL, .output_bias = 1, .decoder_start = RAPT_DECODER_START_PAD};
static const rapt_config of_marian = {.size = sizeof(rapt_config), .source_vocab = 8, .target_vocab = 8, .positions = 1024,
    .width = 16, .heads = 2, .ffn_width = 16, .encoder_layers = 1, .decoder_layers = 1,
    .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_ALL, .output_bias = 1, .norm_epsilon = 1e-6f,
    .decoder_start = RAPT_DECODER_START_ZERO, .alignment_layer = 1};
/* clang-format on */

static const struct {
    rapt_export format;
    const rapt_config *config;
    int specials;
    bool narrow; /* the imported parameters differ from the exported ones */
} all[] = {{RAPT_EXPORT_MARIAN, &of_marian, 0, false},
           {RAPT_EXPORT_BERGAMOT, &of_marian, 0, true},
           {RAPT_EXPORT_HF, &of_hf, PIECES_PAD, true}, /* bias of the pad token */
           {RAPT_EXPORT_CT2, &ct2_configs[1], 0, false}};

static rapt_model *model_of(int which, uint64_t seed)
{
    return pieces_model(all[which].config, seed, all[which].specials);
}

static void export(const rapt_model *model, rapt_export format, const char *folder)
{
    rapt_message why = {""};
    if (rapt_model_export(model, format, folder, &why)) fail_msg("%s", why.text);
}

/* Returns a checksum of the names and bytes of the files. */
static uint64_t contents(const char *folder)
{
    uint64_t sum = 0;
    char path[600];
    for (int i = 0; i < COUNT(files); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        FILE *file = fopen(path, "rb");
        for (int c = 0; file && c != EOF; c = fgetc(file))
            sum = (sum + (unsigned)c + (unsigned)i) * 0x9E3779B97F4A7C15u;
        if (file) fclose(file);
    }
    return sum;
}

/* name: the file that the message must name; NULL: any. */
static void stays(const rapt_model *model, rapt_export format, const char *folder, const char *name)
{
    rapt_message why = {""};
    uint64_t before = contents(folder);
    assert_int_equal(rapt_model_export(model, format, folder, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, "is a file of another model") || (name && !strstr(why.text, name)))
        fail_msg("\"%s\" does not name %s", why.text, name ? name : "a file");
    assert_true(contents(folder) == before);
}

static void test_formats(void **state)
{
    (void)state;
    char folder[256];
    for (int a = 0; a < COUNT(all); a++)
        for (int b = 0; b < COUNT(all); b++) {
            rapt_model *first = model_of(a, 2), *second = model_of(b, 3);
            bool same = a == b || (a < 2 && b < 2); /* Marian in float and in 8 bits */
            folder_make(folder, "others-formats");
            export(first, all[a].format, folder);
            if (same)
                export(second, all[b].format, folder);
            else
                stays(second, all[b].format, folder, NULL);
            if (!all[same ? b : a].narrow) folder_is(folder, same ? second : first);
            rapt_model_free(folder_import(folder));
            folder_remove(folder, files, COUNT(files));
            rapt_model_free(first);
            rapt_model_free(second);
        }
}

/* Files of the same format that the new model does not have. */
static void test_left(void **state)
{
    (void)state;
    char folder[256];
    rapt_model *shared = model_of(3, 2), *separate = pieces_model(&ct2_configs[0], 3, PIECES_BEGIN);
    folder_make(folder, "others-left");
    export(shared, RAPT_EXPORT_CT2, folder);
    stays(separate, RAPT_EXPORT_CT2, folder, "shared_vocabulary.json");
    folder_remove(folder, files, COUNT(files));
    rapt_model *marian = model_of(0, 4);
    static const char *const names[] = {"decoder.yml", "my.npz", "source.spm", "vocab.json"};
    for (int i = 0; i < COUNT(names); i++) {
        folder_make(folder, "others-left");
        folder_text(folder, names[i], "x");
        stays(marian, RAPT_EXPORT_MARIAN, folder, names[i]);
        folder_remove(folder, files, COUNT(files));
    }
    rapt_model *hf = model_of(2, 4);
    folder_make(folder, "others-left");
    folder_text(folder, "added_tokens.json", "{}");
    stays(hf, RAPT_EXPORT_HF, folder, "added_tokens.json");
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(hf);
    rapt_model_free(marian);
    rapt_model_free(shared);
    rapt_model_free(separate);
}

/* A file of tensors without the other files: of another format, of our own, or of none. */
static void test_tensors(void **state)
{
    (void)state;
    char folder[256], path[600];
    rapt_model *marian = model_of(0, 2), *ct2 = model_of(3, 3), *hf = model_of(2, 4);
    folder_make(folder, "others-tensors");
    export(ct2, RAPT_EXPORT_CT2, folder);
    for (int i = 0; i < COUNT(files); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (strcmp(files[i], "model.bin") != 0) unlink(path);
    }
    stays(marian, RAPT_EXPORT_MARIAN, folder, "model.bin");
    folder_text(folder, "model.bin", "nothing that is known");
    export(marian, RAPT_EXPORT_MARIAN, folder);
    folder_is(folder, marian);
    folder_remove(folder, files, COUNT(files));
    folder_make(folder, "others-tensors");
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(rapt_model_save(hf, path, NULL, 0, NULL), RAPT_OK);
    stays(hf, RAPT_EXPORT_HF, folder, "model.safetensors");
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(marian);
    rapt_model_free(ct2);
    rapt_model_free(hf);
}

/* Folders that cannot be listed: one that does not exist, and one whose name is invalid on every
   system. */
static void test_folders(void **state)
{
    (void)state;
    char folder[256], name[600];
    rapt_model *marian = model_of(0, 2);
    for (int length = 4; length <= 300; length += 296) {
        rapt_message why = {""};
        folder_make(folder, "others-folders");
        snprintf(name, sizeof name, "%s/%0*d", folder, length, 7);
        assert_int_equal(rapt_model_export(marian, RAPT_EXPORT_MARIAN, name, &why), RAPT_NO_FILE);
        if (!strstr(why.text, folder)) fail_msg("\"%s\" does not name it", why.text);
        folder_remove(folder, files, COUNT(files));
    }
    rapt_model_free(marian);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
