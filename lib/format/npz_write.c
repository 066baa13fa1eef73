/* npz_write.c - F32 tensors and the text of model.yml go in; an npz file of stored members comes
   out, as numpy and Marian read it. Sources: as zip.c and npz.c. */
#include "marian.h"
#include "tensors.h"

#include <stdio.h>
#include <string.h>

enum {
    CHUNK = 65536,    /* floats asked of fill at a time */
    HEADER_MAX = 320, /* bytes of an array's header */
    ALIGNMENT = 64,   /* of an array's elements, from its beginning */
    LOCAL_SIZE = 30,
    HEAD_SIZE = 46,
    MEMBERS_MAX = 65535
};

static const char text_name[] = MARIAN_SPECIAL "model.yml";

/* What the directory says of a member. */
struct npz_member {
    const char *name; /* without .npy */
    uint32_t sum, size, at;
};

struct npz_writing {
    const struct tensor_source *sources;
    int count;
    const char *text; /* of model.yml; NULL: none */
    struct disk_target target;
    uint64_t at;                /* bytes written */
    float *data;                /* [CHUNK] */
    struct npz_member *members; /* [members_count] */
    size_t members_count;
    uint32_t table[256]; /* of CRC-32 */
    rapt_message *why;
};

/* ---- CRC-32, of the polynomial 0x04C11DB7 with its bits reversed (ISO 3309) ---- */

static void fill_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t sum = i;
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
        table[i] = sum;
    }
}

static uint32_t add_bytes(const struct npz_writing *w, uint32_t sum, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) sum = sum >> 8 ^ w->table[(sum ^ bytes[i]) & 0xFF];
    return sum;
}

/* ---- records ---- */

static rapt_status put(struct npz_writing *w, const void *data, size_t size)
{
    w->at += size;
    return rapt__disk_write(&w->target, data, size, w->why);
}

static unsigned char *little(unsigned char *to, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

/* What local header and directory have in common: version to flags, method, time, sum, sizes,
   length of the name. */
static unsigned char *put_common(unsigned char *to, const struct npz_member *m)
{
    to = little(to, 20, 2);         /* version 2.0 */
    to = little(to, 0x800, 2);      /* names are UTF-8 */
    to = little(to, 0, 2);          /* stored */
    to = little(to, 0x00210000, 4); /* 1980-01-01 */
    to = little(to, m->sum, 4);
    to = little(to, m->size, 4);
    to = little(to, m->size, 4);
    return little(to, (uint32_t)strlen(m->name) + 4, 2);
}

static rapt_status put_name(struct npz_writing *w, const struct npz_member *m)
{
    rapt_status status = put(w, m->name, strlen(m->name));
    return status == RAPT_OK ? put(w, ".npy", 4) : status;
}

static rapt_status put_local(struct npz_writing *w, struct npz_member *m)
{
    unsigned char head[LOCAL_SIZE] = {0};
    m->at = (uint32_t)w->at;
    put_common(little(head, 0x04034B50, 4), m);
    rapt_status status = put(w, head, sizeof head);
    return status == RAPT_OK ? put_name(w, m) : status;
}

static rapt_status put_directory(struct npz_writing *w)
{
    const uint32_t begin = (uint32_t)w->at, count = (uint32_t)w->members_count;
    rapt_status status = RAPT_OK;
    for (size_t i = 0; i < w->members_count && status == RAPT_OK; i++) {
        const struct npz_member *m = &w->members[i];
        unsigned char head[HEAD_SIZE] = {0};
        put_common(little(little(head, 0x02014B50, 4), 20, 2), m);
        little(head + 42, m->at, 4);
        status = put(w, head, sizeof head);
        if (status == RAPT_OK) status = put_name(w, m);
    }
    unsigned char end[22] = {0};
    little(end, 0x06054B50, 4);
    little(little(end + 8, count, 2), count, 2);
    little(little(end + 12, (uint32_t)w->at - begin, 4), begin, 4);
    return status == RAPT_OK ? put(w, end, sizeof end) : status;
}

/* ---- arrays ---- */

/* The header of an array, with what is before it; its size is returned. */
static size_t make_header(char header[HEADER_MAX], const char *descr, int rank, const size_t *shape)
{
    const size_t prefix = 10;
    char *text = header + prefix;
    int used = snprintf(text, HEADER_MAX - prefix,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank; i++)
        used += snprintf(text + used, HEADER_MAX - prefix - (size_t)used, "%s%zu", i ? ", " : "",
                         shape[i]);
    used +=
        snprintf(text + used, HEADER_MAX - prefix - (size_t)used, "%s), }", rank == 1 ? "," : "");
    size_t size = rapt__round_up_size(prefix + (size_t)used + 1, ALIGNMENT);
    memset(text + used, ' ', size - prefix - (size_t)used);
    header[size - 1] = '\n';
    memcpy(header, "\x93NUMPY\1\0", 8);
    little((unsigned char *)header + 8, (uint32_t)(size - prefix), 2);
    return size;
}

/* All elements through the checksum *sum, or, where that is NULL, into the file. */
static rapt_status pass(struct npz_writing *w, const struct tensor_source *source, uint32_t *sum)
{
    size_t count = rapt__source_elements(source);
    rapt_status status = RAPT_OK;
    for (size_t first = 0; first < count && status == RAPT_OK; first += CHUNK) {
        size_t now = rapt__min_size(count - first, CHUNK);
        source->fill(source, first, now, w->data);
        rapt__to_little(w->data, now);
        if (sum)
            *sum = add_bytes(w, *sum, w->data, 4 * now);
        else
            status = put(w, w->data, 4 * now);
    }
    return status;
}

static rapt_status put_array(struct npz_writing *w, const struct tensor_source *source,
                             struct npz_member *m)
{
    char header[HEADER_MAX];
    size_t size = make_header(header, "<f4", source->rank, source->shape);
    uint32_t sum = add_bytes(w, UINT32_MAX, header, size);
    rapt_status status = pass(w, source, &sum);
    *m = (struct npz_member){.name = source->name, .sum = ~sum};
    m->size = (uint32_t)(size + 4 * rapt__source_elements(source));
    if (status == RAPT_OK) status = put_local(w, m);
    if (status == RAPT_OK) status = put(w, header, size);
    return status == RAPT_OK ? pass(w, source, NULL) : status;
}

static rapt_status put_text(struct npz_writing *w, struct npz_member *m)
{
    char header[HEADER_MAX];
    size_t length = strlen(w->text) + 1, size = make_header(header, "|i1", 1, &length);
    uint32_t sum = add_bytes(w, UINT32_MAX, header, size);
    *m = (struct npz_member){.name = text_name, .size = (uint32_t)(size + length)};
    m->sum = ~add_bytes(w, sum, w->text, length);
    rapt_status status = put_local(w, m);
    if (status == RAPT_OK) status = put(w, header, size);
    return status == RAPT_OK ? put(w, w->text, length) : status;
}

static rapt_status put_all(struct npz_writing *w)
{
    rapt_status status = RAPT_OK;
    for (int i = 0; i < w->count && status == RAPT_OK; i++)
        status = put_array(w, &w->sources[i], &w->members[i]);
    if (status == RAPT_OK && w->text) status = put_text(w, &w->members[w->count]);
    return status == RAPT_OK ? put_directory(w) : status;
}

/* What the file cannot hold: its offsets have 32 bits. */
static rapt_status check(struct npz_writing *w)
{
    rapt_status status = rapt__sources_check(w->sources, w->count, w->why);
    uint64_t total = w->text ? strlen(w->text) : 0, size;
    if (status != RAPT_OK) return status;
    for (int i = 0; i < w->count; i++) {
        const struct tensor_source *s = &w->sources[i];
        if (strncmp(s->name, MARIAN_SPECIAL, strlen(MARIAN_SPECIAL)) == 0)
            return rapt__fail(w->why, RAPT_BAD_ARGUMENT, "tensor \"%s\": no tensor has such a name",
                              rapt__shown(s->name).text);
        size = rapt__source_elements(s);
        total = size < UINT32_MAX ? total + 4 * size + 2 * strlen(s->name) + 1024 : UINT64_MAX;
        if (strlen(s->name) > 1000 || total > UINT32_MAX || i >= MEMBERS_MAX - 1)
            return rapt__fail(w->why, RAPT_BAD_ARGUMENT,
                              "tensor \"%s\": a zip file without zip64 cannot hold so much",
                              rapt__shown(s->name).text);
    }
    return total <= UINT32_MAX ? RAPT_OK
                               : rapt__fail(w->why, RAPT_BAD_ARGUMENT, "model.yml is too long");
}

rapt_status rapt__npz_write(const char *path, const struct tensor_source *sources, int count,
                            const char *model_yml, const rapt_allocator *allocator,
                            rapt_message *why)
{
    struct npz_writing w = {.sources = sources, .count = count, .text = model_yml, .why = why};
    if (!path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "path: NULL");
    rapt_status status = check(&w);
    if (status != RAPT_OK) return status;
    w.members_count = (size_t)count + (model_yml != NULL);
    const size_t members = rapt__max_size(w.members_count, 1) * sizeof *w.members;
    fill_table(w.table);
    w.data = rapt__alloc(allocator, CHUNK * sizeof *w.data);
    w.members = rapt__alloc(allocator, members);
    if (!w.data || !w.members)
        status = rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory", rapt__shown(path).text);
    if (status == RAPT_OK) status = rapt__disk_begin(&w.target, path, why);
    if (status == RAPT_OK) {
        status = put_all(&w);
        if (status == RAPT_OK)
            status = rapt__disk_commit(&w.target, why);
        else
            rapt__disk_cancel(&w.target);
    }
    rapt__free(allocator, w.members, members);
    rapt__free(allocator, w.data, CHUNK * sizeof *w.data);
    return status;
}
