/* marian_folder.c - tests folders as Marian and Mozilla leave them: which of several models is
   read, what the settings beside it mean, vocabularies longer or shorter than the table, and what
   is reported about every file. */
#include "import/marian_craft.h"
#include <rapt/text.h>
#include <rapt/translator.h>

struct reported {
    int count;
    char names[32][64], reasons[32][80];
    rapt_file_use uses[32];
};

static void report(void *user, const char *name, rapt_file_use use, const char *reason)
{
    struct reported *r = user;
    assert_true(r->count < 32);
    snprintf(r->names[r->count], sizeof r->names[0], "%s", name);
    snprintf(r->reasons[r->count], sizeof r->reasons[0], "%s", reason);
    r->uses[r->count++] = use;
}

static void check_use(const struct reported *r, const char *name, rapt_file_use use,
                      const char *reason)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->names[i], name) == 0) {
            assert_int_equal(r->uses[i], use);
            assert_string_equal(r->reasons[i], reason);
            return;
        }
    fail_msg("%s was not reported", name);
}

static void remove_all(const char *folder, const struct reported *r)
{
    char path[600];
    for (int i = 0; i < r->count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, r->names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static rapt_model *import_reported(const char *folder, struct reported *r)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    r->count = 0;
    if (rapt_model_import_with(&model, folder, NULL, report, r, NULL, &why))
        fail_msg("%s", why.text);
    return model;
}

static void move(const char *folder, const char *from, const char *to)
{
    char a[600], b[600];
    snprintf(a, sizeof a, "%s/%s", folder, from);
    snprintf(b, sizeof b, "%s/%s", folder, to);
    assert_int_equal(rename(a, b), 0);
}

/* Checks which model of a folder is chosen, and why. The other candidates are not valid models. */
static void check_choice(const char *folder, const char *model, const char *reason)
{
    static struct reported r;
    rapt_model_free(import_reported(folder, &r));
    check_use(&r, model, RAPT_FILE_USE_MODEL, reason);
    folder_without_memory(folder);
}

static void test_choice(void **state)
{
    (void)state;
    static struct reported r;
    char folder[256];
    rapt_model *model = small_model(&marian_configs[0], 1);
    folder_make(folder, "marian-choice");
    write_folder(folder, model, F32, NULL, NULL);
    move(folder, "model.intgemm.bin", "ende.npz");
    folder_text(folder, "ende.npz.optimizer.npz", "x");
    folder_text(folder, "training_args.bin", "x");
    folder_text(folder, "optimizer.bin", "x");
    folder_text(folder, "qualityModel.ende.bin", "x");
    folder_text(folder, "lex.50.50.ende.s2t.bin", "x");
    folder_text(folder, "metadata.json", "x");
    check_choice(folder, "ende.npz", "the only model");
    folder_text(folder, "ende.npz.best-bleu.npz", "x");
    check_choice(folder, "ende.npz", "the model whose name the others extend");
    folder_text(folder, "ende.npz.progress.yml", "a: [&b c\n");
    folder_text(folder, "config.yml", "experiment:\n  name: of another program\n");
    move(folder, "ende.npz", "a.npz");
    folder_refused(folder, "a.npz and ende.npz.best-bleu.npz; give the path");
    folder_text(folder, "ende.npz.best-bleu.npz.decoder.yml", "models:\n  - /home/someone/a.npz\n");
    check_choice(folder, "a.npz", "named by the decoding settings");
    folder_text(folder, "z.decoder.yml", "models: [ende.npz.best-bleu.npz]\n");
    folder_refused(folder, "a.npz and ende.npz.best-bleu.npz; give the path");
    folder_text(folder, "z.decoder.yml", "models: [ende.npz.best-bleu.npz, a.npz]\n");
    rapt_model *read = import_reported(folder, &r);
    check_use(&r, "a.npz", RAPT_FILE_USE_MODEL, "named by the decoding settings");
    check_use(&r, "ende.npz.best-bleu.npz", RAPT_FILE_USE_NONE, "another model");
    check_use(&r, "ende.npz.optimizer.npz", RAPT_FILE_USE_NONE, "training state");
    check_use(&r, "training_args.bin", RAPT_FILE_USE_NONE, "training options");
    check_use(&r, "optimizer.bin", RAPT_FILE_USE_NONE, "training state");
    check_use(&r, "qualityModel.ende.bin", RAPT_FILE_USE_NONE,
              "a quality estimator, which rapt ignores");
    check_use(&r, "lex.50.50.ende.s2t.bin", RAPT_FILE_USE_SHORTLIST,
              "a lexical shortlist, used on request");
    check_use(&r, "metadata.json", RAPT_FILE_USE_NONE, "not needed");
    check_use(&r, "config.yml", RAPT_FILE_USE_NONE,
              "decoding settings of another model or program");
    check_use(&r, "vocab.yml", RAPT_FILE_USE_VOCABULARY, "");
    rapt_model_free(read);
    remove_all(folder, &r);
    rapt_model_free(model);
}

/* Of two files that differ in ".alphas", the one with alphas is read; a usual name has priority. */
static void test_alphas(void **state)
{
    (void)state;
    static struct reported r;
    char folder[256];
    rapt_model *model = small_model(&marian_configs[0], 1);
    folder_make(folder, "marian-alphas");
    write_folder(folder, model, INTGEMM8, NULL, NULL);
    move(folder, "model.intgemm.bin", "model.intgemm.alphas.bin");
    folder_text(folder, "model.intgemm.bin", "x");
    check_choice(folder, "model.intgemm.alphas.bin", "the only model");
    folder_text(folder, "b.bin", "x");
    folder_refused(folder, "more than one model");
    move(folder, "model.intgemm.alphas.bin", "model.npz");
    check_choice(folder, "model.npz", "the usual name");
    move(folder, "model.npz", "model.bin");
    check_choice(folder, "model.bin", "the usual name");
    folder_text(folder, "config.yml", "models:\n  - b.bin\n");
    folder_refused(folder, "b.bin is not a model");
    folder_text(folder, "config.yml", "models:\n  - model.bin\n");
    check_choice(folder, "model.bin", "named by the decoding settings");
    rapt_model_free(import_reported(folder, &r));
    remove_all(folder, &r);
    rapt_model_free(model);
}

/* If training saved more models than are examined, the plain one is among those that are. */
static void test_many(void **state)
{
    (void)state;
    char folder[256], name[64], path[600];
    rapt_model *model = small_model(&marian_configs[0], 1);
    folder_make(folder, "marian-many");
    write_folder(folder, model, F32, NULL, NULL);
    move(folder, "model.intgemm.bin", "m.npz");
    for (int i = 0; i < 150; i++) {
        snprintf(name, sizeof name, "m.iter%d000.npz", i);
        folder_text(folder, name, "x");
    }
    folder_is(folder, model);
    for (int i = 0; i < 150; i++) {
        snprintf(path, sizeof path, "%s/m.iter%d000.npz", folder, i);
        unlink(path);
    }
    folder_remove(folder, (const char *const[]){"m.npz", "vocab.yml"}, 2);
    rapt_model_free(model);
}

/* If the names of two vocabularies do not tell source and target, the order in the settings
   does. */
static void test_order(void **state)
{
    (void)state;
    static struct reported r;
    static const char *const settings[] = {"model.intgemm.bin.decoder.yml", "config.yml",
                                           "config.intgemm8bit.yml", "decoder.yml"};
    static const char text[] = "models:\n  - model.intgemm.bin\nvocabs:\n  - vocab.en.yml\n"
                               "  - vocab.de.yml\nmax-length-factor: 2.5\n";
    char folder[256], path[600];
    rapt_model *model = small_model(&marian_configs[1], 1);
    folder_make(folder, "marian-order");
    write_folder(folder, model, F32, NULL, NULL);
    move(folder, "vocab.src.yml", "vocab.en.yml");
    move(folder, "vocab.trg.yml", "vocab.de.yml");
    folder_refused(folder, "shows which one is the target's");
    folder_text(folder, settings[0], "vocabs: [/data/vocab.en.yml, /data/elsewhere.yml]\n");
    folder_refused(folder, "shows which one is the target's");
    move(folder, "vocab.de.yml", "vocab.de.trg.yml"); /* as its name says */
    folder_is(folder, model);
    move(folder, "vocab.de.trg.yml", "vocab.de.yml");
    move(folder, "vocab.de.yml", "trgvocab.ende.yml"); /* Mozilla's names */
    move(folder, "vocab.en.yml", "srcvocab.ende.yml");
    move(folder, "model.intgemm.bin", "model.npz.best-chrf.npz"); /* HPLT's name */
    folder_is(folder, model);
    move(folder, "trgvocab.ende.yml", "vocab.de.yml");
    move(folder, "srcvocab.ende.yml", "vocab.en.yml");
    move(folder, "model.npz.best-chrf.npz", "model.intgemm.bin");
    for (int i = 0; i < COUNT(settings); i++) {
        folder_text(folder, settings[i], text);
        folder_is(folder, model);
        rapt_model *read = import_reported(folder, &r);
        check_use(&r, settings[i], RAPT_FILE_USE_SETTINGS, "");
        assert_string_equal(rapt_model_metadata(read, "rapt.max_length_factor"), "2.5");
        rapt_model_free(read);
        folder_without_memory(folder);
        if (i == 3) folder_text(folder, settings[i], "max-length-factor: much\n");
        if (i == 3)
            folder_refused(folder, "decoder.yml: max-length-factor is much; it must be above 0");
        snprintf(path, sizeof path, "%s/%s", folder, settings[i]);
        unlink(path);
    }
    remove_all(folder, &r);
    rapt_model_free(model);
}

/* Exported to Marian, rows without a name stay so; CTranslate2, which would produce them, is
   refused such a model. */
static void judge_exports(const rapt_translator *translator, int length)
{
    const rapt_model *model = rapt_translator_model(translator);
    char folder[256];
    rapt_message why = {""};
    folder_make(folder, "marian-again");
    if (rapt_model_export(model, RAPT_EXPORT_MARIAN, folder, &why)) fail_msg("%s", why.text);
    rapt_translator *again = NULL;
    if (rapt_translator_load(&again, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    for (int id = 0; id < 9; id++)
        assert_int_equal(rapt_tokenizer_name(rapt_translator_target(again), id).size > 0,
                         id < length);
    rapt_translator_free(again);
    folder_remove(folder, (const char *const[]){"model.bin", "vocab.yml"}, 2);
    folder_make(folder, "marian-ct2");
    rapt_status status = rapt_model_export(model, RAPT_EXPORT_CT2, folder, &why);
    assert_int_equal(status, length < 9 ? RAPT_BAD_ARGUMENT : RAPT_OK);
    if (status &&
        !strstr(why.text, "must be a vocabulary with a token for every row, including row "))
        fail_msg("%s", why.text);
    folder_remove(folder,
                  (const char *const[]){"model.bin", "config.json", "shared_vocabulary.json"}, 3);
}

/* Names beyond the table are dropped; rows without a name are never produced. */
static void test_lengths(void **state)
{
    (void)state;
    static const int lengths[] = {2, 5, 8, 9, 10, 40};
    char folder[256], out[1000];
    rapt_config c = marian_configs[0];
    c.decoder_recurrence = RAPT_RECURRENCE_NONE; /* for CTranslate2 */
    rapt_model *model = small_model(&c, 1);
    folder_make(folder, "marian-lengths");
    for (int i = 0; i < COUNT(lengths); i++) {
        write_folder(folder, model, F32, NULL, NULL);
        write_vocabulary(folder, "vocab.yml", lengths[i]);
        folder_is(folder, model);
        rapt_translator *translator = NULL;
        rapt_message why = {""};
        if (rapt_translator_load(&translator, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
        const rapt_tokenizer *target = rapt_translator_target(translator);
        assert_int_equal(rapt_tokenizer_vocab(target), 9);
        for (int id = 0; id < 9; id++)
            assert_int_equal(rapt_tokenizer_name(target, id).size > 0, id < lengths[i]);
        assert_int_equal(rapt_translate(translator, "t2 t3 t4", out, sizeof out, NULL, &why),
                         RAPT_OK);
        for (int id = lengths[i]; id < 9; id++) assert_null(strchr(out, (char)('0' + id)));
        if (lengths[i] == 2) assert_string_equal(out, "");
        judge_exports(translator, lengths[i]);
        rapt_translator_free(translator);
    }
    folder_remove(folder, (const char *const[]){"model.intgemm.bin", "vocab.yml"}, 2);
    rapt_model_free(model);
}

/* Checks the factor that the settings of the folder give, and which settings are reported. */
static void check_settings(const char *folder, const char *name, const char *factor)
{
    static struct reported r;
    rapt_model *read = import_reported(folder, &r);
    const char *got = rapt_model_metadata(read, "rapt.max_length_factor");
    if (name)
        check_use(&r, name, RAPT_FILE_USE_SETTINGS, "");
    else
        for (int i = 0; i < r.count; i++) assert_true(r.uses[i] != RAPT_FILE_USE_SETTINGS);
    assert_string_equal(got ? got : "none", factor ? factor : "none");
    rapt_model_free(read);
}

/* config.yml counts unless it names another model; settings that name several models come before
   it. */
static void test_settings(void **state)
{
    (void)state;
    static struct reported r;
    char folder[256];
    rapt_model *model = small_model(&marian_configs[0], 1);
    folder_make(folder, "marian-settings");
    write_folder(folder, model, F32, NULL, NULL);
    check_settings(folder, NULL, NULL);
    folder_text(folder, "config.yml", "models: [other.bin]\nmax-length-factor: 1.5\n");
    check_settings(folder, NULL, NULL);
    folder_text(folder, "config.yml",
                "models: [other.bin, model.intgemm.bin]\n"
                "max-length-factor: 1.25\n");
    check_settings(folder, "config.yml", "1.25");
    folder_text(folder, "config.yml", "max-length-factor: 1.5\n");
    check_settings(folder, "config.yml", "1.5");
    folder_text(folder, "ende.decoder.yml",
                "models: [model.intgemm.bin]\n"
                "max-length-factor: 2.5\n");
    check_settings(folder, "ende.decoder.yml", "2.5");
    rapt_model_free(import_reported(folder, &r));
    remove_all(folder, &r);
    rapt_model_free(model);
}

/* Replaces a file by one that zstd could have made, with one block that is not compressed. */
static void pack(const char *folder, const char *name)
{
    static struct bytes b;
    static unsigned char data[1 << 16];
    char path[600], to[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    assert_true(size < sizeof data);
    b.size = 0;
    put(&b, "\x28\xB5\x2F\xFD\xA0", 5);
    put_number(&b, size, 4);
    put_number(&b, 1 | size << 3, 3);
    put(&b, data, size);
    snprintf(to, sizeof to, "%s.zst", name);
    folder_write(folder, to, &b);
    assert_int_equal(unlink(path), 0);
}

/* A folder of files that zstd has compressed is opened, or refused for that. */
static void test_zstd(void **state)
{
    (void)state;
    static struct reported r;
    char folder[256];
    rapt_model *model = small_model(&marian_configs[0], 1), *none = NULL;
    rapt_message why = {""};
    folder_make(folder, "marian-zstd");
    write_folder(folder, model, F32, NULL, NULL);
    pack(folder, "model.intgemm.bin");
    pack(folder, "vocab.yml");
    if (rapt_model_import(&none, folder, NULL, &why) != RAPT_OK) {
        assert_non_null(strstr(why.text, "built without zstd"));
        folder_remove(folder, (const char *const[]){"model.intgemm.bin.zst", "vocab.yml.zst"}, 2);
    } else {
        rapt_model_free(none);
        check_choice(folder, "model.intgemm.bin.zst", "the only model");
        folder_is(folder, model);
        rapt_model_free(import_reported(folder, &r));
        check_use(&r, "vocab.yml.zst", RAPT_FILE_USE_VOCABULARY, "");
        remove_all(folder, &r);
    }
    rapt_model_free(model);
}

/* A compressed file that also exists uncompressed is not read. */
static void test_twins(void **state)
{
    (void)state;
    static struct reported r;
    static const char *const twins[] = {"model.intgemm.bin.gz", "vocab.yml.gz",
                                        "model.intgemm.bin.zst"};
    char folder[256];
    rapt_model *model = small_model(&marian_configs[0], 1);
    folder_make(folder, "marian-twins");
    write_folder(folder, model, F32, NULL, NULL);
    for (int i = 0; i < COUNT(twins); i++) folder_text(folder, twins[i], "x");
    check_choice(folder, "model.intgemm.bin", "the only model");
    rapt_model_free(import_reported(folder, &r));
    for (int i = 0; i < COUNT(twins); i++)
        check_use(&r, twins[i], RAPT_FILE_USE_NONE, "the same file exists uncompressed");
    folder_is(folder, model);
    remove_all(folder, &r);
    rapt_model_free(model);
}

/* The longest paths that the system opens are refused, since names of files are appended. */
static void test_long_paths(void **state)
{
    (void)state;
    enum { LONGEST = 4095 };
    static struct reported r;
    static char path[LONGEST + 1];
    char folder[256];
    rapt_model *model = small_model(&marian_configs[0], 1);
    folder_make(folder, "marian-long");
    write_folder(folder, model, F32, NULL, NULL);
    rapt_model_free(import_reported(folder, &r));
    for (int file = 0; file < 2; file++) {
        const char *name = file ? "model.intgemm.bin" : "";
        size_t size = strlen(folder);
        memcpy(path, folder, size);
        while (size + strlen(name) < 3000) path[size] = '/', path[size + 1] = '.', size += 2;
        snprintf(path + size, sizeof path - size, "/%s", name);
        folder_is(path, model);
        while (size + 1 + strlen(name) < LONGEST) path[size++] = '/';
        snprintf(path + size, sizeof path - size, "/%s", name);
        assert_int_equal(strlen(path), LONGEST);
        assert_int_equal(access(path, R_OK), 0);
        folder_refused(path, "the path is too long");
    }
    remove_all(folder, &r);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),     cmocka_unit_test(test_alphas),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_order),
        cmocka_unit_test(test_lengths),    cmocka_unit_test(test_settings),
        cmocka_unit_test(test_twins),      cmocka_unit_test(test_zstd),
        cmocka_unit_test(test_long_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
