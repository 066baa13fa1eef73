/* folder.h - helpers to write folders of other projects: growing bytes, files of a folder, and
   random models whose parameters they contain. */
#ifndef RAPT_TESTS_IMPORT_FOLDER_H
#define RAPT_TESTS_IMPORT_FOLDER_H

#include "../counting.h"
#include "model/small.h"

#include <sys/stat.h>

struct bytes {
    unsigned char data[1 << 17];
    size_t size;
};

static inline void put(struct bytes *b, const void *data, size_t size)
{
    assert_true(size <= sizeof b->data - b->size);
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* Appends a number of `size` bytes, little-endian. */
static inline void put_number(struct bytes *b, uint64_t number, int size)
{
    for (int i = 0; i < size; i++) put(b, &(unsigned char){(unsigned char)(number >> 8 * i)}, 1);
}

/* Appends floats, little-endian. */
static inline void put_floats(struct bytes *b, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        put_number(b, bits, sizeof bits);
    }
}

static inline void put_text(struct bytes *b, const char *text)
{
    put(b, text, strlen(text));
}

/* Makes a temporary folder. Files written to it replace existing ones. */
static inline const char *folder_make(char path[256], const char *name)
{
    small_path(path, name);
    unlink(path);
    if (mkdir(path, 0700) != 0) assert_int_equal(access(path, W_OK), 0);
    return path;
}

static inline void folder_write(const char *folder, const char *name, const struct bytes *b)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b->data, 1, b->size, file), b->size);
    assert_int_equal(fclose(file), 0);
}

static inline void folder_text(const char *folder, const char *name, const char *text)
{
    static struct bytes b;
    b.size = 0;
    put_text(&b, text);
    folder_write(folder, name, &b);
}

static inline void folder_remove(const char *folder, const char *const *names, int count)
{
    char path[600];
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static inline rapt_model *folder_import(const char *folder)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_import(&model, folder, NULL, &why)) fail_msg("%s", why.text);
    return model;
}

/* Checks that the imported model has the configuration and, bit for bit, the parameters of a
   model. */
static inline void folder_is(const char *folder, const rapt_model *model)
{
    rapt_model *read = folder_import(folder);
    const char *wanted = rapt_model_metadata(model, "rapt.config"),
               *got = rapt_model_metadata(read, "rapt.config");
    assert_string_equal(got, wanted);
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        size_t size = small_size(model, i);
        float *a = malloc(size * sizeof *a), *b = malloc(size * sizeof *b);
        assert_int_equal(rapt_model_read(model, i, a, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(read, i, b, NULL), RAPT_OK);
        for (size_t j = 0; j < size; j++)
            if (!(a[j] == b[j]))
                fail_msg("%s[%zu]: %.9g, not %.9g", rapt_model_tensor(model, i).name, j,
                         (double)b[j], (double)a[j]);
        free(a);
        free(b);
    }
    rapt_model_free(read);
}

/* Checks that a folder, opened in each precision, gives the model that is opened in floats and then
   converted. */
static inline void folder_precisions(const char *folder)
{
    for (rapt_precision p = RAPT_PRECISION_INT8; rapt_precision_name(p); p++) {
        const rapt_load_options f32 = {.size = sizeof f32, .precision = RAPT_PRECISION_F32},
                                own = {.size = sizeof own, .precision = p};
        rapt_model *floats = NULL, *opened = NULL;
        rapt_message why = {""};
        if (rapt_model_import_with(&floats, folder, &f32, NULL, NULL, NULL, &why) ||
            rapt_model_set_precision(floats, p, 1, &why) ||
            rapt_model_import_with(&opened, folder, &own, NULL, NULL, NULL, &why))
            fail_msg("%s: %s", rapt_precision_name(p), why.text);
        assert_int_equal(rapt_model_precision(opened), p);
        small_same_models(floats, opened);
        rapt_model_free(floats);
        rapt_model_free(opened);
    }
}

/* Each allocation fails once: the only error is RAPT_NO_MEMORY, and nothing leaks. */
static inline void folder_without_memory(const char *folder)
{
    rapt_model *model = NULL;
    for (long fails = 0; !model; fails++) {
        struct counting c = {.fails = fails};
        const rapt_allocator allocator = {counting_alloc, counting_free, &c};
        rapt_message why = {""};
        rapt_status status = rapt_model_import(&model, folder, &allocator, &why);
        if (status != (model ? RAPT_OK : RAPT_NO_MEMORY)) fail_msg("%ld: %s", fails, why.text);
        assert_true(model || why.text[0]);
        rapt_model_free(model);
        assert_int_equal(c.living, 0);
    }
}

/* Checks that the folder is refused and that the message contains this text. */
static inline void folder_refused(const char *folder, const char *phrase)
{
    rapt_model *none = (rapt_model *)(uintptr_t)64;
    rapt_message why = {""};
    if (rapt_model_import(&none, folder, NULL, &why) != RAPT_BAD_FILE)
        fail_msg("not refused for %s: %s", phrase, why.text);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not name %s", why.text, phrase);
    assert_true((uintptr_t)none == 64);
}

#endif
