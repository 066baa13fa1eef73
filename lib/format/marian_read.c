/* marian_read.c - reads the tensors of a Marian model.bin into entries and its strings into
   metadata; defines the type codes and special names of Marian's files.

       u64 version = 1; u64 number of items
       for each item: u64 length of its name, including the 0; u64 type; u64 rank; u64 size in bytes
       all names; all dimensions as i32; u64 size of the padding; padding
       the bytes of all items, in the same order

   An item may have more bytes than its elements need (Marian pads to a multiple of 256). intgemm8
   and intgemm16 items are integers followed by their scale. They are stored column by column unless
   their name contains "Wemb". The value of an integer q is q x (1 / scale). The prefix "F0::" is
   dropped from names. A type code is the sum of a class and a size; Bergamot's fork, which Firefox
   uses, has different classes for quantized types. Source: src/common/binary.cpp,
   src/common/types.h and src/tensors/cpu/expression_graph_packable.h of marian-nmt/marian-dev 1.12
   and of browsermt/marian-dev. */
#include "disk.h"
#include "tensors.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

struct marian_reading {
    struct tensor_file *file;
    struct cursor heads, names, shapes, data;
    size_t items;
    rapt_message *why;
};

/* One item while it is being read. */
struct marian_item {
    struct tensor_entry entry;
    const struct marian_type *type;
    uint64_t size; /* bytes, including padding */
};

static rapt_status bad_item(const struct marian_reading *r, const struct tensor_entry *entry,
                            const char *what)
{
    return rapt__tensors_bad(r->file, entry->name, what, r->why);
}

/* Reads a name of `size` bytes, including the terminating 0, into the file's pool. */
static rapt_status take_name(struct marian_reading *r, uint64_t size, const char **name)
{
    static const char no_end[] = "a name is not null-terminated";
    struct cursor *c = &r->names;
    if (size == 0) return rapt__cursor_fail(c, no_end);
    if (!rapt__cursor_has(c, size, "a name")) return c->status;
    char *text = rapt__pool_take(&r->file->pool, (size_t)size, &r->file->allocator);
    if (!text) return rapt__tensors_no_memory(r->file, r->why);
    rapt__cursor_bytes(c, text, (size_t)size, "a name");
    if (c->status != RAPT_OK) return c->status;
    if (text[size - 1]) return rapt__cursor_fail(c, no_end);
    if (strlen(text) != size - 1 || !rapt__is_utf8(text))
        return rapt__cursor_fail(c, "a name is not UTF-8 or contains a NUL byte before its end");
    *name = strncmp(text, "F0::", 4) == 0 ? text + 4 : text;
    return RAPT_OK;
}

static rapt_status take_shape(struct marian_reading *r, uint64_t rank, struct tensor_entry *entry)
{
    if (rank > TENSOR_RANK) return bad_item(r, entry, "has more than 8 dimensions");
    entry->rank = (int)rank;
    for (int i = 0; i < entry->rank; i++) {
        uint64_t size = rapt__cursor_number(&r->shapes, 4, "a dimension");
        if (size > INT32_MAX)
            return bad_item(r, entry, "has a dimension that is negative or too large");
        entry->shape[i] = (size_t)size;
    }
    return r->shapes.status;
}

static rapt_status take_item(struct marian_reading *r, struct marian_item *item)
{
    struct cursor *c = &r->heads;
    struct tensor_entry *entry = &item->entry;
    uint64_t name_size = rapt__cursor_number(c, 8, "the length of a name");
    uint64_t code = rapt__cursor_number(c, 8, "a type");
    uint64_t rank = rapt__cursor_number(c, 8, "a rank");
    item->size = rapt__cursor_number(c, 8, "a size");
    if (c->status != RAPT_OK) return c->status;
    rapt_status status = take_name(r, name_size, &entry->name);
    if (status == RAPT_OK) status = take_shape(r, rank, entry);
    if (status != RAPT_OK) return status;
    item->type = rapt__marian_type(code);
    if (item->type && item->type->dtype) {
        entry->dtype = item->type->dtype;
        return RAPT_OK;
    }
    if (item->type)
        return rapt__fail(r->why, RAPT_BAD_FILE,
                          "%s: tensor \"%s\" has type %s, a processor-specific memory layout; "
                          "convert the model to float32, intgemm8 or intgemm16",
                          r->file->main.source.label.text, rapt__shown(entry->name).text,
                          item->type->name);
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: tensor \"%s\" has the unknown type 0x%llx",
                      r->file->main.source.label.text, rapt__shown(entry->name).text,
                      (unsigned long long)code);
}

/* Finds the bytes and the scale of an item, and adds the item to the file as an entry or as
   metadata. */
static rapt_status locate_item(struct marian_reading *r, struct marian_item *item)
{
    struct tensor_entry *entry = &item->entry;
    const struct dtype *dtype = rapt__dtype_find(entry->dtype);
    size_t bytes, needed;
    if (!rapt__tensors_count_shape(entry, dtype->bits))
        return bad_item(r, entry, "has a size that overflows");
    bytes = entry->count * (dtype->bits / 8);
    if (!rapt__plus(bytes, item->type->scaled ? 4 : 0, &needed) || needed > item->size)
        return bad_item(r, entry, "has too few bytes for its shape and type");
    entry->begin = (size_t)r->data.at;
    entry->end = entry->begin + bytes;
    rapt__cursor_skip(&r->data, item->size, entry->name);
    if (r->data.status != RAPT_OK) return r->data.status;
    if (strncmp(entry->name, MARIAN_SPECIAL, strlen(MARIAN_SPECIAL)) == 0 && dtype->bits == 8)
        return rapt__tensors_add_text(r->file, entry, r->why);
    if (!item->type->scaled || entry->count == 0) return rapt__tensors_add(r->file, entry, r->why);
    struct cursor scale = {.source = &r->file->main.source, .at = entry->end, .why = r->why};
    uint32_t bits = (uint32_t)rapt__cursor_number(&scale, 4, "a scale");
    if (scale.status != RAPT_OK) return scale.status;
    memcpy(&entry->scale, &bits, sizeof bits);
    entry->scales = 1;
    if (entry->rank != 2) return bad_item(r, entry, "is quantized, but not a matrix");
    entry->transposed = rapt__marian_transposed(entry->name);
    return rapt__tensors_add(r->file, entry, r->why);
}

/* Sets r->items, and moves the cursors to the beginning of the headers, names, shapes and data. */
static rapt_status measure_items(struct marian_reading *r)
{
    struct cursor *c = &r->data;
    uint64_t version = rapt__cursor_number(c, 8, "the version");
    uint64_t items = rapt__cursor_number(c, 8, "the number of tensors");
    if (c->status == RAPT_OK && version != MARIAN_VERSION)
        return rapt__fail(
            r->why, RAPT_BAD_FILE,
            "%s: version %llu of Marian's model.bin is not supported; only version %d is",
            c->source->label.text, (unsigned long long)version, MARIAN_VERSION);
    if (c->status == RAPT_OK && items > rapt__cursor_left(c) / MARIAN_HEADER)
        return rapt__cursor_fail(c, "the file is too short for its number of tensors");
    r->items = (size_t)items;
    r->heads = *c;
    uint64_t names = 0, dimensions = 0, limit = c->source->size;
    for (size_t i = 0; i < r->items && c->status == RAPT_OK; i++) {
        uint64_t name = rapt__cursor_number(c, 8, "the length of a name");
        rapt__cursor_skip(c, 8, "a type");
        uint64_t rank = rapt__cursor_number(c, 8, "a rank");
        rapt__cursor_skip(c, 8, "a size");
        if (name > limit - names || rank > limit - dimensions)
            return rapt__cursor_fail(c, "names or shapes are longer than the file");
        names += name;
        dimensions += rank;
    }
    r->names = *c;
    rapt__cursor_skip(c, names, "the names");
    r->shapes = *c;
    if (dimensions > limit / 4) return rapt__cursor_fail(c, "shapes are longer than the file");
    rapt__cursor_skip(c, 4 * dimensions, "the shapes");
    rapt__cursor_skip(c, rapt__cursor_number(c, 8, "the padding"), "the padding");
    return c->status;
}

rapt_status rapt__marian_read(struct tensor_file *file, rapt_message *why)
{
    file->container = CONTAINER_MARIAN;
    struct marian_reading r = {.file = file, .why = why};
    r.data = (struct cursor){.source = &file->main.source, .why = why};
    if (file->main.source.size > SIZE_MAX / 2)
        return rapt__fail(why, RAPT_BAD_FILE, "%s is too large for this machine",
                          file->main.source.label.text);
    rapt_status status = measure_items(&r);
    if (status == RAPT_OK) status = rapt__tensors_reserve(file, r.items, why);
    for (size_t i = 0; i < r.items && status == RAPT_OK; i++) {
        struct marian_item item = {0};
        status = take_item(&r, &item);
        if (status == RAPT_OK) status = locate_item(&r, &item);
    }
    if (status == RAPT_OK && rapt__cursor_left(&r.data) > 0)
        status = rapt__cursor_fail(&r.data, "there are bytes after the last tensor");
    if (status == RAPT_OK) status = rapt__tensors_sort(file, why);
    return status == RAPT_OK ? rapt__marian_alphas(file, why) : status;
}

/* ---- type codes and special names ---- */

static const struct marian_type types[] = {
    {0x404, "F32", "float32", false},
    {0x408, "F64", "float64", false},
    {0x402, "F16", "float16", false},
    {0x101, "I8", "int8", false},
    {0x102, "I16", "int16", false},
    {0x104, "I32", "int32", false},
    {0x108, "I64", "int64", false},
    {0x201, "U8", "uint8", false},
    {0x202, "U16", "uint16", false},
    {0x204, "U32", "uint32", false},
    {0x208, "U64", "uint64", false},
    {0x4101, "I8", "intgemm8", true},
    {0x4102, "I16", "intgemm16", true},
    {0x10001, "I8", "intgemm8", true},
    {0x10002, "I16", "intgemm16", true},
    {0x802, NULL, "packed16", false},
    {0x1801, NULL, "packed8avx2", false},
    {0x2801, NULL, "packed8avx512", false},
    {0x18001, NULL, "intgemm8ssse3", false},
    {0x11001, NULL, "intgemm8avx2", false},
    {0x12001, NULL, "intgemm8avx512", false},
    {0x13001, NULL, "intgemm8avx512vnni", false},
    {0x14002, NULL, "intgemm16sse2", false},
    {0x11002, NULL, "intgemm16avx2", false},
    {0x12002, NULL, "intgemm16avx512", false},
};

const struct marian_type *rapt__marian_type(uint64_t code)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) return &types[i];
    return NULL;
}

bool rapt__marian_narrow(const char *name)
{
    const char *found = strstr(name, "_W");
    size_t tail = found ? strlen(found) : 0;
    return tail == 2 || tail == 3 || strstr(name, "Wemb");
}

bool rapt__marian_transposed(const char *name)
{
    return !strstr(name, "Wemb");
}

/* Returns whether an entry can be an alpha, the scale for quantizing the inputs of a matrix.
   Marian's converter quantizes everything with "Wemb" in its name, including the alpha of the
   embeddings: a value m is stored as the integer 127 with the scale 127 / m. */
static bool is_alpha(const struct tensor_entry *entry)
{
    return entry->count == 1 && (strcmp(entry->dtype, "F32") == 0 || entry->scales == 1);
}

rapt_status rapt__marian_alphas(struct tensor_file *file, rapt_message *why)
{
    const size_t tail = strlen(MARIAN_ALPHA);
    for (size_t i = 0; i < file->count; i++) {
        struct tensor_entry *entry = &file->entries[i];
        size_t size = strlen(entry->name);
        if (size < tail || strcmp(entry->name + size - tail, MARIAN_ALPHA) != 0) continue;
        if (!is_alpha(entry))
            return rapt__tensors_bad(file, entry->name,
                                     "is not a single F32, intgemm8 or intgemm16 number", why);
        entry->use = TENSOR_ALPHA;
        struct tensor_entry *of = rapt__tensors_named(file, entry->name, size - tail);
        float alpha;
        rapt_status status = rapt__tensors_read(file, entry, 0, 1, &alpha, why);
        if (status != RAPT_OK) return status;
        if (!(alpha > 0 && alpha <= FLT_MAX))
            return rapt__tensors_bad(file, entry->name, "is not positive and finite", why);
        if (of) of->alpha = alpha;
    }
    return RAPT_OK;
}
