/* read_ct2.h - reads the variables of a CTranslate2 model.bin of any version as bytes. */
#ifndef RAPT_TESTS_IMPORT_READ_CT2_H
#define RAPT_TESTS_IMPORT_READ_CT2_H

#include "model/small.h"

enum { VARIABLES = 400 };
struct ct2_variable {
    char name[100], of[100]; /* of: the variable that this is an alias of; else "" */
    int rank, type;
    unsigned dims[4];
    const unsigned char *data;
    size_t size;
};
struct ct2_file {
    unsigned version, revision;
    char spec[40];
    unsigned char *bytes;
    size_t size, at;
    int count;
    struct ct2_variable all[VARIABLES];
};

static inline unsigned ct2_number(struct ct2_file *f, int bytes)
{
    unsigned number = 0;
    assert_true(f->size - f->at >= (size_t)bytes);
    for (int i = 0; i < bytes; i++) number |= (unsigned)f->bytes[f->at++] << 8 * i;
    return number;
}

static inline void ct2_string(struct ct2_file *f, char *text, size_t capacity)
{
    unsigned size = ct2_number(f, 2);
    assert_true(size > 0 && size <= capacity && f->size - f->at >= size);
    memcpy(text, f->bytes + f->at, size);
    assert_int_equal(text[size - 1], 0);
    f->at += size;
}

static inline void ct2_variable(struct ct2_file *f)
{
    assert_true(f->count < VARIABLES);
    struct ct2_variable *v = &f->all[f->count++];
    ct2_string(f, v->name, sizeof v->name);
    v->rank = (int)ct2_number(f, 1);
    for (int i = 0; i < v->rank; i++) v->dims[i] = ct2_number(f, 4);
    v->type = (int)ct2_number(f, 1);
    v->size = ct2_number(f, 4);
    if (f->version < 4) v->size *= (size_t)v->type, v->type = v->type == 4 ? 0 : v->type;
    assert_true(f->size - f->at >= v->size);
    v->data = f->bytes + f->at;
    f->at += v->size;
}

static inline struct ct2_file *ct2_read(const char *folder)
{
    char path[600];
    struct ct2_file *f = calloc(1, sizeof *f);
    snprintf(path, sizeof path, "%s/model.bin", folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    f->size = (size_t)ftell(file);
    rewind(file);
    f->bytes = malloc(f->size);
    assert_int_equal(fread(f->bytes, 1, f->size, file), f->size);
    fclose(file);
    f->version = ct2_number(f, 4);
    ct2_string(f, f->spec, sizeof f->spec);
    f->revision = ct2_number(f, 4);
    for (unsigned i = ct2_number(f, 4); i-- > 0;) ct2_variable(f);
    for (unsigned i = f->version < 3 ? 0 : ct2_number(f, 4); i-- > 0;) {
        struct ct2_variable *v = &f->all[f->count++];
        ct2_string(f, v->name, sizeof v->name);
        ct2_string(f, v->of, sizeof v->of);
    }
    assert_int_equal(f->at, f->size);
    return f;
}

static inline void ct2_close(struct ct2_file *f)
{
    free(f->bytes);
    free(f);
}

static inline const struct ct2_variable *ct2_find(const struct ct2_file *f, const char *name)
{
    for (int i = 0; i < f->count; i++)
        if (strcmp(f->all[i].name, name) == 0) return &f->all[i];
    return NULL;
}

#endif
