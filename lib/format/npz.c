/* npz.c - an npz file goes in: a zip file of arrays name.npy; entries and, as metadata, Marian's
   texts come out.

       "\x93NUMPY", u8 major, u8 minor, u16 (major 1) or u32 (2, 3) length, so many bytes of header
       {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, blanks, newline
       the elements, little-endian, in C order

   Source: numpy.lib.format, "Format Version 1.0" to "3.0". */
#include "cursor.h"
#include "dtype.h"
#include "marian.h"
#include "zip.h"

#include <limits.h>
#include <string.h>

enum { HEADER_MAX = 1024 }; /* bytes of a header: a shape has at most 8 dimensions */

static const char suffix[] = ".npy";

static const struct {
    const char *descr, *dtype;
} descrs[] = {
    {"<f4", "F32"}, {"<f2", "F16"}, {"<f8", "F64"}, {"|i1", "I8"},   {"<i1", "I8"},
    {"|u1", "U8"},  {"<u1", "U8"},  {"<i2", "I16"}, {"<u2", "U16"},  {"<i4", "I32"},
    {"<u4", "U32"}, {"<i8", "I64"}, {"<u8", "U64"}, {"|b1", "BOOL"},
};

/* The header of one array. */
struct npy_reading {
    struct tensor_file *file;
    struct tensor_entry *entry;
    char text[HEADER_MAX + 1];
    char *at;
    bool seen[3];
    rapt_message *why;
};

static rapt_status bad(const struct npy_reading *r, const char *what)
{
    return rapt__tensors_bad(r->file, r->entry->name, what, r->why);
}

static void skip_blanks(struct npy_reading *r)
{
    while (*r->at == ' ') r->at++;
}

static bool take(struct npy_reading *r, const char *wanted)
{
    skip_blanks(r);
    size_t size = strlen(wanted);
    if (strncmp(r->at, wanted, size) != 0) return false;
    r->at += size;
    return true;
}

/* 'text' */
static const char *take_text(struct npy_reading *r)
{
    skip_blanks(r);
    const char quote = *r->at;
    if (quote != '\'' && quote != '"') return NULL;
    char *start = r->at + 1, *end = strchr(start, quote);
    if (!end) return NULL;
    *end = 0;
    r->at = end + 1;
    return start;
}

static rapt_status take_descr(struct npy_reading *r)
{
    const char *descr = take_text(r);
    if (!descr) return bad(r, "its descr is no text");
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++)
        if (strcmp(descrs[i].descr, descr) == 0) r->entry->dtype = descrs[i].dtype;
    if (r->entry->dtype) return RAPT_OK;
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: tensor \"%s\": elements of type \"%s\"",
                      r->file->main.source.label.text, rapt__shown(r->entry->name).text,
                      rapt__shown(descr).text);
}

static rapt_status take_order(struct npy_reading *r)
{
    if (take(r, "False")) return RAPT_OK;
    return bad(r,
               take(r, "True") ? "is in Fortran's order" : "its fortran_order is no truth value");
}

/* (), (3,), (3, 4) */
static rapt_status take_shape(struct npy_reading *r)
{
    struct tensor_entry *entry = r->entry;
    if (!take(r, "(")) return bad(r, "its shape is no tuple");
    while (!take(r, ")")) {
        size_t size = 0;
        skip_blanks(r);
        if (*r->at < '0' || *r->at > '9') return bad(r, "a dimension is no number");
        for (; *r->at >= '0' && *r->at <= '9'; r->at++)
            if (!rapt__times(size, 10, &size) || !rapt__plus(size, (size_t)(*r->at - '0'), &size))
                return bad(r, "its size is beyond all memory");
        if (entry->rank == TENSOR_RANK) return bad(r, "has more than 8 dimensions");
        entry->shape[entry->rank++] = size;
        const bool more = take(r, ",");
        if (!more && (entry->rank == 1 || !take(r, ")"))) return bad(r, "its shape is no tuple");
        if (!more) break;
    }
    return RAPT_OK;
}

typedef rapt_status take_value(struct npy_reading *r);
static const struct {
    const char *key;
    take_value *take;
} keys[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};
enum { KEYS = sizeof keys / sizeof *keys };

static rapt_status parse(struct npy_reading *r)
{
    if (!take(r, "{")) return bad(r, "its header is no dictionary");
    while (!take(r, "}")) {
        const char *key = take_text(r);
        int i = 0;
        while (key && i < KEYS && strcmp(keys[i].key, key) != 0) i++;
        if (!key || i == KEYS || r->seen[i]) return bad(r, "has a key twice or an unknown one");
        if (!take(r, ":")) return bad(r, "has a key without a value");
        r->seen[i] = true;
        rapt_status status = keys[i].take(r);
        if (status != RAPT_OK) return status;
        if (take(r, ",")) continue;
        if (take(r, "}")) break;
        return bad(r, "its header does not end");
    }
    for (int i = 0; i < KEYS; i++)
        if (!r->seen[i]) return bad(r, "its header lacks descr, fortran_order or shape");
    r->at += strspn(r->at, " \n");
    return *r->at ? bad(r, "has more text in its header") : RAPT_OK;
}

/* An array of `size` bytes from begin on of a source. */
static rapt_status read_array(struct npy_reading *r, const struct disk_source *source,
                              uint64_t begin, uint64_t size)
{
    struct cursor c = {.source = source, .at = begin, .why = r->why};
    struct tensor_entry *entry = r->entry;
    unsigned char magic[8];
    if (size < 10) return bad(r, "is too short for an array");
    rapt__cursor_bytes(&c, magic, sizeof magic, "an array");
    if (c.status != RAPT_OK) return c.status;
    if (memcmp(magic, "\x93NUMPY", 6) != 0 || magic[6] < 1 || magic[6] > 3)
        return bad(r, "is no array of a known version");
    const int wide = magic[6] == 1 ? 2 : 4;
    uint64_t length = rapt__cursor_number(&c, wide, "the length of a header");
    if (c.status != RAPT_OK) return c.status;
    if (length > HEADER_MAX || length > size - 8 - (uint64_t)wide)
        return bad(r, "its header is too long");
    rapt__cursor_bytes(&c, r->text, (size_t)length, "a header");
    if (c.status != RAPT_OK) return c.status;
    r->text[length] = 0;
    r->at = r->text;
    if (strlen(r->text) != length) return bad(r, "its header has a 0");
    rapt_status status = parse(r);
    if (status != RAPT_OK) return status;
    const struct dtype *dtype = rapt__dtype_find(entry->dtype);
    if (!rapt__tensors_count_shape(entry, dtype->bits))
        return bad(r, "its size is beyond all memory");
    if (entry->count * (dtype->bits / 8) != size - (c.at - begin))
        return bad(r, "its bytes do not fit its shape and type");
    entry->begin = (size_t)c.at;
    entry->end = (size_t)(begin + size);
    return RAPT_OK;
}

static rapt_status add_array(struct tensor_file *file, const struct zip_member *member,
                             rapt_message *why)
{
    struct tensor_entry entry = {.name = member->name};
    size_t length = strlen(member->name), tail = strlen(suffix);
    if (length < tail || strcmp(member->name + length - tail, suffix) != 0)
        return rapt__tensors_bad(file, member->name, "is no array: its name does not end in .npy",
                                 why);
    struct npy_reading r = {.file = file, .entry = &entry, .why = why};
    entry.name = rapt__tensors_text(file, member->name, length - tail, why);
    if (!entry.name) return RAPT_NO_MEMORY;
    uint64_t begin = 0;
    rapt_status status = rapt__zip_part(file, member, &entry.part, &begin, why);
    if (status == RAPT_OK)
        status = read_array(&r, &rapt__tensors_part(file, &entry)->source, begin, member->size);
    if (status != RAPT_OK) return status;
    if (strncmp(entry.name, MARIAN_SPECIAL, strlen(MARIAN_SPECIAL)) == 0 &&
        entry.end - entry.begin == entry.count)
        return rapt__tensors_add_text(file, &entry, why);
    return rapt__tensors_add(file, &entry, why);
}

rapt_status rapt__npz_read(struct tensor_file *file, const struct zip *zip, rapt_message *why)
{
    rapt_status status = rapt__tensors_reserve(file, zip->count, why);
    for (size_t i = 0; i < zip->count && status == RAPT_OK; i++)
        status = add_array(file, &zip->members[i], why);
    if (status == RAPT_OK) status = rapt__tensors_sort(file, why);
    return status == RAPT_OK ? rapt__marian_alphas(file, why) : status;
}
