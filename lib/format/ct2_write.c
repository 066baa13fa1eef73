/* ct2_write.c - writes tensors, integers and aliases to a CTranslate2 model.bin of version 6,
   replacing the file atomically. ct2.c describes the layout. Tensors are stored as F32. */
#include "dtype.h"
#include "tensors.h"

#include <string.h>

enum { CT2_VERSION = 6, CHUNK = 16384, STRING_MAX = 65534 };

struct ct2_writing {
    struct disk_target target;
    float *data; /* [CHUNK] */
    rapt_status status;
    rapt_message *why;
};

static void put_ct2(struct ct2_writing *w, const void *bytes, size_t size)
{
    if (!w->status) w->status = rapt__disk_write(&w->target, bytes, size, w->why);
}

/* Writes the low `size` bytes of a number, little-endian. */
static void put_number(struct ct2_writing *w, uint64_t number, int size)
{
    unsigned char bytes[8];
    for (int i = 0; i < size; i++) bytes[i] = (unsigned char)(number >> 8 * i);
    put_ct2(w, bytes, (size_t)size);
}

static void put_string(struct ct2_writing *w, const char *text)
{
    put_number(w, strlen(text) + 1, 2);
    put_ct2(w, text, strlen(text) + 1);
}

static void put_source(struct ct2_writing *w, const struct tensor_source *s)
{
    size_t count = rapt__source_elements(s);
    put_string(w, s->name);
    put_number(w, (uint64_t)s->rank, 1);
    for (int d = 0; d < s->rank; d++) put_number(w, s->shape[d], 4);
    put_number(w, (uint64_t)rapt__ct2_type("F32"), 1);
    put_number(w, 4 * count, 4);
    for (size_t first = 0; first < count && !w->status; first += CHUNK) {
        size_t now = rapt__min_size(count - first, CHUNK);
        s->fill(s, first, now, w->data);
        rapt__to_little(w->data, now);
        put_ct2(w, w->data, 4 * now);
    }
}

static void put_scalar(struct ct2_writing *w, const struct ct2_scalar *s)
{
    int size = (int)rapt__dtype_find(s->dtype)->bits / 8;
    put_string(w, s->name);
    put_number(w, 0, 1);
    put_number(w, (uint64_t)rapt__ct2_type(s->dtype), 1);
    put_number(w, (uint64_t)size, 4);
    put_number(w, (uint64_t)(int64_t)s->value, size);
}

static void put_all(struct ct2_writing *w, const struct ct2_contents *c)
{
    put_number(w, CT2_VERSION, 4);
    put_string(w, c->spec);
    put_number(w, (uint64_t)c->revision, 4);
    put_number(w, (uint64_t)c->source_count + (uint64_t)c->scalar_count, 4);
    for (int i = 0; i < c->source_count; i++) put_source(w, &c->sources[i]);
    for (int i = 0; i < c->scalar_count; i++) put_scalar(w, &c->scalars[i]);
    put_number(w, (uint64_t)c->alias_count, 4);
    for (int i = 0; i < c->alias_count; i++)
        put_string(w, c->aliases[i].name), put_string(w, c->aliases[i].of);
}

static rapt_status check_contents(const struct ct2_contents *c, rapt_message *why)
{
    rapt_status status = rapt__sources_check(c->sources, c->source_count, why);
    for (int i = 0; i < c->source_count && !status; i++) {
        const struct tensor_source *s = &c->sources[i];
        if (strlen(s->name) > STRING_MAX || rapt__source_elements(s) > UINT32_MAX / 4)
            status = rapt__fail(why, RAPT_BAD_ARGUMENT,
                                "tensor \"%s\" has 4 GB or more, or its name is too long",
                                rapt__shown(s->name).text);
    }
    return status;
}

rapt_status rapt__ct2_write(const char *path, const struct ct2_contents *contents,
                            const rapt_allocator *allocator, rapt_message *why)
{
    struct ct2_writing w = {.why = why};
    rapt_status status = check_contents(contents, why);
    if (status) return status;
    w.data = rapt__alloc(allocator, CHUNK * sizeof *w.data);
    if (!w.data)
        return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory", rapt__shown(path).text);
    status = rapt__disk_begin(&w.target, path, why);
    if (!status) {
        put_all(&w, contents);
        status = w.status;
        if (status)
            rapt__disk_cancel(&w.target);
        else
            status = rapt__disk_commit(&w.target, why);
    }
    rapt__free(allocator, w.data, CHUNK * sizeof *w.data);
    return status;
}
