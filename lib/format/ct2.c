/* ct2.c - reads a CTranslate2 model.bin into entries and attaches the scales of quantized weights;
   writes F32 tensors, integers and aliases to a model.bin of version 6.

       u32 version; from version 2 on: string spec, u32 revision
       u32 number of variables; for each:
           string name, u8 rank, u32 dimensions[rank]
           up to version 3: u8 bytes per element, u32 number of elements
           from version 4 on: u8 type, u32 number of bytes
           data
       from version 3 on: u32 number of aliases; for each: string alias, string variable
       string = u16 number of bytes, including the 0; bytes; 0

   A quantized weight has the value q x (1 / scale). The scales are in the variable "<name>_scale":
   F32, either a single number or one per row. An int16 weight without that variable has the scale
   1000. Source: CTranslate2 4.8, model_spec.py (_serialize), model.cc, dequantize_cpu.cc. */
#include "disk.h"
#include "tensors.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    VERSION_MAX = 6,
    VARIABLE_MIN = 11, /* size of the shortest variable with a name: a scalar of one byte */
    ALIAS_MIN = 8,     /* size of the shortest alias */
    INT16_SCALE = 1000 /* default scale of int16 weights */
};

static const char *const types[] = {"F32", "I8", "I16", "I32", "F16", "BF16"};
static const char scale_suffix[] = "_scale";
static const char *const weight_suffixes[] = {"weight", "kernel:0",
                                              "w_embs:0"}; /* the last two occur in version 1 */

int rapt__ct2_type(const char *dtype)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], dtype) == 0) return (int)i;
    return -1;
}

struct ct2_reading {
    struct tensor_file *file;
    struct cursor cursor;
    unsigned version;
    rapt_message *why;
};

static rapt_status bad_variable(const struct ct2_reading *r, const struct tensor_entry *entry,
                                const char *what)
{
    return rapt__tensors_bad(r->file, entry->name, what, r->why);
}

/* Reads a string into the file's pool. Returns NULL on error; the cursor's status holds the
   reason. */
static const char *take_string(struct ct2_reading *r, const char *what)
{
    static const char no_end[] = "a string is not null-terminated";
    struct cursor *c = &r->cursor;
    size_t size = (size_t)rapt__cursor_number(c, 2, what);
    if (!rapt__cursor_has(c, size, what)) return NULL;
    if (size == 0) return rapt__cursor_fail(c, no_end), NULL;
    char *text = rapt__pool_take(&r->file->pool, size, &r->file->allocator);
    if (!text) {
        c->status = rapt__tensors_no_memory(r->file, r->why);
        return NULL;
    }
    rapt__cursor_bytes(c, text, size, what);
    if (c->status != RAPT_OK) return NULL;
    if (text[size - 1]) return rapt__cursor_fail(c, no_end), NULL;
    if (strlen(text) != size - 1)
        return rapt__cursor_fail(c, "a string contains a NUL byte before its end"), NULL;
    if (!rapt__is_utf8(text)) return rapt__cursor_fail(c, "a string is not UTF-8"), NULL;
    return text;
}

/* Reads the number of items that follow. Fails if the rest of the file is too short for that many
   items of `min` bytes each. */
static size_t take_count(struct ct2_reading *r, size_t min, const char *what)
{
    uint64_t count = rapt__cursor_number(&r->cursor, 4, what);
    return rapt__cursor_has(&r->cursor, count * min, what) ? (size_t)count : 0;
}

/* ---- variables ---- */

/* Reads the type and size of a variable and skips its data. */
static rapt_status take_data(struct ct2_reading *r, struct tensor_entry *entry)
{
    struct cursor *c = &r->cursor;
    unsigned type = (unsigned)rapt__cursor_number(c, 1, "the type of a variable");
    uint64_t size = rapt__cursor_number(c, 4, "the size of a variable");
    if (c->status != RAPT_OK) return c->status;
    if (r->version < 4) {
        size *= type;
        type = type == 4 ? 0 : type == 1 ? 1 : type == 2 ? 2 : UINT_MAX;
    }
    if (type >= sizeof types / sizeof *types) return bad_variable(r, entry, "has an unknown type");
    const struct dtype *dtype = rapt__dtype_find(types[type]);
    entry->dtype = dtype->name;
    if (!rapt__tensors_count_shape(entry, dtype->bits))
        return bad_variable(r, entry, "has a size that overflows");
    if (size != entry->count * (dtype->bits / 8))
        return bad_variable(r, entry, "has a size that does not match its shape and type");
    entry->begin = (size_t)c->at;
    rapt__cursor_skip(c, size, entry->name);
    entry->end = (size_t)c->at;
    return c->status;
}

static rapt_status take_variable(struct ct2_reading *r)
{
    struct cursor *c = &r->cursor;
    struct tensor_entry entry = {.name = take_string(r, "the name of a variable")};
    entry.rank = (int)rapt__cursor_number(c, 1, "the rank of a variable");
    if (c->status != RAPT_OK) return c->status;
    if (entry.rank > TENSOR_RANK) return bad_variable(r, &entry, "has more than 8 dimensions");
    for (int i = 0; i < entry.rank; i++)
        entry.shape[i] = (size_t)rapt__cursor_number(c, 4, "a dimension of a variable");
    rapt_status status = c->status == RAPT_OK ? take_data(r, &entry) : c->status;
    return status == RAPT_OK ? rapt__tensors_add(r->file, &entry, r->why) : status;
}

/* ---- scales ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool whole_numbers(const struct tensor_entry *entry)
{
    return entry->rank > 0 && entry->dtype[0] == 'I' && strcmp(entry->dtype, "I32") != 0;
}

static bool is_weight(const char *name)
{
    for (size_t i = 0; i < sizeof weight_suffixes / sizeof *weight_suffixes; i++)
        if (ends_with(name, weight_suffixes[i])) return true;
    return false;
}

/* Attaches the scales stored in the entry `scales` to `entry`. */
static rapt_status attach(struct ct2_reading *r, struct tensor_entry *scales,
                          struct tensor_entry *entry)
{
    size_t rows = 1;
    for (int i = 0; i + 1 < entry->rank; i++) rows *= entry->shape[i];
    if (strcmp(scales->dtype, "F32") != 0)
        return bad_variable(r, scales, "holds scales, but is not F32");
    if (scales->count != 1 && scales->count != rows)
        return bad_variable(r, scales, "has neither one scale nor one per row");
    scales->use = TENSOR_SCALES;
    if (entry->count == 0) return RAPT_OK;
    entry->scale_begin = scales->begin;
    rapt_status status = RAPT_OK;
    if (scales->count == 1)
        status = rapt__tensors_read(r->file, scales, 0, 1, &entry->scale, r->why);
    entry->scales = scales->count;
    return status;
}

static rapt_status attach_all(struct ct2_reading *r)
{
    struct tensor_file *file = r->file;
    for (size_t i = 0; i < file->count; i++) {
        struct tensor_entry *entry = &file->entries[i];
        if (!ends_with(entry->name, scale_suffix)) continue;
        size_t size = strlen(entry->name) - strlen(scale_suffix);
        struct tensor_entry *of = rapt__tensors_named(file, entry->name, size);
        rapt_status status = of && whole_numbers(of) ? attach(r, entry, of) : RAPT_OK;
        if (status != RAPT_OK) return status;
    }
    for (size_t i = 0; i < file->count; i++) {
        struct tensor_entry *entry = &file->entries[i];
        if (!whole_numbers(entry) || !is_weight(entry->name)) continue;
        if (entry->scales > 0 || entry->count == 0) continue;
        if (strcmp(entry->dtype, "I16") != 0) return bad_variable(r, entry, "has no scale");
        entry->scales = 1;
        entry->scale = INT16_SCALE;
    }
    return RAPT_OK;
}

/* ---- aliases ---- */

static rapt_status take_aliases(struct ct2_reading *r)
{
    struct cursor *c = &r->cursor;
    struct tensor_file *file = r->file;
    size_t variables = file->count, aliases = take_count(r, ALIAS_MIN, "aliases");
    if (c->status == RAPT_OK) c->status = rapt__tensors_reserve(file, variables + aliases, r->why);
    for (size_t i = 0; i < aliases && c->status == RAPT_OK; i++) {
        const char *alias = take_string(r, "the name of an alias");
        const char *name = take_string(r, "the variable of an alias");
        if (c->status != RAPT_OK) break;
        size_t all = file->count;
        file->count = variables; /* search only among the variables, which are sorted */
        const struct tensor_entry *of = rapt__tensors_find(file, name);
        file->count = all;
        if (!of)
            return rapt__fail(
                r->why, RAPT_BAD_FILE, "%s: alias \"%s\": there is no variable \"%s\"",
                file->main.source.label.text, rapt__shown(alias).text, rapt__shown(name).text);
        struct tensor_entry entry = *of;
        entry.name = alias;
        entry.use = TENSOR_ALIAS;
        c->status = rapt__tensors_add(file, &entry, r->why);
    }
    return c->status;
}

/* ---- the file ---- */

static rapt_status add_number(struct ct2_reading *r, const char *key, unsigned number)
{
    char text[16];
    int size = snprintf(text, sizeof text, "%u", number);
    const char *value = rapt__tensors_text(r->file, text, (size_t)size, r->why);
    return value ? rapt__tensors_add_metadata(r->file, key, value, r->why) : RAPT_NO_MEMORY;
}

/* Reads version, spec and revision into the metadata. */
static rapt_status take_start(struct ct2_reading *r)
{
    struct cursor *c = &r->cursor;
    const char *spec = "";
    unsigned revision = 1;
    r->version = (unsigned)rapt__cursor_number(c, 4, "the version");
    if (c->status == RAPT_OK && (r->version < 1 || r->version > VERSION_MAX))
        return rapt__fail(
            r->why, RAPT_BAD_FILE,
            "%s: version %u of CTranslate2's model.bin is not supported; only versions 1 to %d are",
            r->file->main.source.label.text, r->version, VERSION_MAX);
    if (r->version >= 2) {
        spec = take_string(r, "the name of the specification");
        revision = (unsigned)rapt__cursor_number(c, 4, "the revision");
    }
    rapt_status status = c->status;
    if (status == RAPT_OK) status = add_number(r, "binary_version", r->version);
    if (status == RAPT_OK) status = add_number(r, "revision", revision);
    return status == RAPT_OK ? rapt__tensors_add_metadata(r->file, "spec", spec, r->why) : status;
}

rapt_status rapt__ct2_read(struct tensor_file *file, rapt_message *why)
{
    file->container = CONTAINER_CTRANSLATE2;
    const struct disk_source *source = &file->main.source;
    struct ct2_reading r = {.file = file, .cursor = {.source = source, .why = why}, .why = why};
    struct cursor *c = &r.cursor;
    rapt_status status = take_start(&r);
    if (status != RAPT_OK) return status;
    if (source->size > SIZE_MAX / 2)
        return rapt__fail(why, RAPT_BAD_FILE, "%s is too large for this machine",
                          source->label.text);
    size_t variables = take_count(&r, VARIABLE_MIN, "variables");
    if (c->status != RAPT_OK) return c->status;
    status = rapt__tensors_reserve(file, variables, why);
    for (size_t i = 0; i < variables && status == RAPT_OK; i++) status = take_variable(&r);
    if (status == RAPT_OK) status = rapt__tensors_sort(file, why);
    if (status == RAPT_OK) status = attach_all(&r);
    if (status == RAPT_OK && r.version >= 3) status = take_aliases(&r);
    if (status == RAPT_OK && rapt__cursor_left(c) > 0)
        status = rapt__cursor_fail(c, r.version >= 3 ? "there are bytes after the last alias"
                                                     : "there are bytes after the last variable");
    return status == RAPT_OK ? rapt__tensors_sort(file, why) : status;
}

/* ---- writing ---- */

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
                                "tensor \"%s\" is 4 GB or larger, or its name is too long",
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
