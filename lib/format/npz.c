/* npz.c - reads an npz file, a zip file whose members are arrays called NAME.npy, into entries.
   Marian's strings become metadata.

       "\x93NUMPY", u8 major, u8 minor, u16 (major 1) or u32 (major 2, 3) length, header:
       {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, spaces, newline
       the elements: in either byte order, row by row or (Fortran) column by column

   descr consists of the byte order (<, > or, if it does not matter, |), a letter for the kind, and
   the size of an element in bytes. Marian's strings are either arrays of bytes or single elements
   of kind S or V.

   Source: numpy.lib.format, "Format Version 1.0" to "3.0"; the array interface, "typestr". */
#include "disk.h"
#include "tensors.h"
#include "zip.h"

#include <limits.h>
#include <string.h>

enum { HEADER_MAX = 1024 }; /* maximum size of a header in bytes; enough for 8 dimensions */

static const char suffix[] = ".npy";

static const struct {
    const char *kind, *dtype;
} kinds[] = {
    {"f4", "F32"}, {"f2", "F16"}, {"f8", "F64"}, {"i1", "I8"},  {"u1", "U8"},  {"i2", "I16"},
    {"u2", "U16"}, {"i4", "I32"}, {"u4", "U32"}, {"i8", "I64"}, {"u8", "U64"}, {"b1", "BOOL"},
};

/* State while the header of one array is being read. */
struct npy_reading {
    struct tensor_file *file;
    struct tensor_entry *entry;
    bool special;     /* the array is one of Marian's strings, not a parameter */
    size_t text_size; /* size of an element of kind S or V; 0 for other kinds */
    bool fortran;
    char text[HEADER_MAX + 1];
    char *at;
    bool seen[3];
    rapt_message *why;
};

static rapt_status bad_array(const struct npy_reading *r, const char *what)
{
    return rapt__tensors_bad(r->file, r->entry->name, what, r->why);
}

static void skip_blanks(struct npy_reading *r)
{
    while (*r->at == ' ') r->at++;
}

static bool take_token(struct npy_reading *r, const char *wanted)
{
    skip_blanks(r);
    size_t size = strlen(wanted);
    if (strncmp(r->at, wanted, size) != 0) return false;
    r->at += size;
    return true;
}

/* Reads a quoted string and terminates it in place. Returns NULL if the next token is something
   else. */
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

/* Reads the digits at *at and moves *at past them. Returns false if there are none or if the number
   is too large. */
static bool take_size(const char **at, size_t *size)
{
    const char *start = *at;
    *size = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (!rapt__times(*size, 10, size) || !rapt__plus(*size, (size_t)(**at - '0'), size))
            return false;
    return *at > start;
}

static rapt_status take_descr(struct npy_reading *r)
{
    const char *descr = take_text(r);
    if (!descr) return bad_array(r, "has a descr that is not a string");
    const char *kind = descr + (*descr && strchr("<>|", *descr));
    r->entry->big_endian = *descr == '>';
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kind > descr && strcmp(kinds[i].kind, kind) == 0) r->entry->dtype = kinds[i].dtype;
    const char *at = kind + 1;
    if (r->special && (*kind == 'S' || *kind == 'V') && take_size(&at, &r->text_size) && !*at)
        r->entry->dtype = "U8";
    if (r->entry->dtype) return RAPT_OK;
    return rapt__fail(
        r->why, RAPT_BAD_FILE, "%s: tensor \"%s\": elements of type \"%s\" are not supported",
        r->file->main.source.label.text, rapt__shown(r->entry->name).text, rapt__shown(descr).text);
}

static rapt_status take_order(struct npy_reading *r)
{
    r->fortran = take_token(r, "True");
    if (r->fortran || take_token(r, "False")) return RAPT_OK;
    return bad_array(r, "has a fortran_order that is neither True nor False");
}

/* Reads a shape, such as (), (3,) or (3, 4). */
static rapt_status take_shape(struct npy_reading *r)
{
    struct tensor_entry *entry = r->entry;
    if (!take_token(r, "(")) return bad_array(r, "has a shape that is not a tuple");
    while (!take_token(r, ")")) {
        size_t size = 0;
        skip_blanks(r);
        if (*r->at < '0' || *r->at > '9')
            return bad_array(r, "has a dimension that is not a number");
        const char *at = r->at;
        if (!take_size(&at, &size)) return bad_array(r, "has a size that overflows");
        r->at += at - r->at;
        if (entry->rank == TENSOR_RANK) return bad_array(r, "has more than 8 dimensions");
        entry->shape[entry->rank++] = size;
        const bool more = take_token(r, ",");
        if (!more && (entry->rank == 1 || !take_token(r, ")")))
            return bad_array(r, "has a shape that is not a tuple");
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
    if (!take_token(r, "{")) return bad_array(r, "has a header that is not a dictionary");
    while (!take_token(r, "}")) {
        const char *key = take_text(r);
        int i = 0;
        while (key && i < KEYS && strcmp(keys[i].key, key) != 0) i++;
        if (!key || i == KEYS || r->seen[i])
            return bad_array(r, "has a header with an unknown or duplicate key");
        if (!take_token(r, ":")) return bad_array(r, "has a key without a value in its header");
        r->seen[i] = true;
        rapt_status status = keys[i].take(r);
        if (status != RAPT_OK) return status;
        if (take_token(r, ",")) continue;
        if (take_token(r, "}")) break;
        return bad_array(r, "has a header without a closing brace");
    }
    for (int i = 0; i < KEYS; i++)
        if (!r->seen[i]) return bad_array(r, "has a header without descr, fortran_order or shape");
    r->at += strspn(r->at, " \n");
    return *r->at ? bad_array(r, "has a header that continues after the dictionary") : RAPT_OK;
}

/* Turns a string stored as a single element into a one-dimensional array of bytes. */
static rapt_status spread_text(struct npy_reading *r)
{
    struct tensor_entry *entry = r->entry;
    for (int i = 0; i < entry->rank; i++)
        if (entry->shape[i] != 1) return bad_array(r, "has more than one string");
    entry->rank = 1;
    entry->shape[0] = r->text_size;
    return RAPT_OK;
}

/* Marks a matrix in Fortran order as transposed. Arrays with more dimensions must be in C order,
   unless at most one dimension differs from 1, in which case both orders are the same. */
static rapt_status check_order(struct npy_reading *r)
{
    struct tensor_entry *entry = r->entry;
    int wide = 0;
    for (int i = 0; i < entry->rank; i++) wide += entry->shape[i] != 1;
    if (!r->fortran || wide <= 1) return RAPT_OK;
    if (entry->rank > 2)
        return bad_array(r, "has more than 2 dimensions in Fortran order; save it in C order "
                            "(numpy.ascontiguousarray)");
    entry->transposed = true;
    return RAPT_OK;
}

/* Reads the header of an array that occupies `size` bytes of a source, starting at offset
   `begin`. */
static rapt_status read_array(struct npy_reading *r, const struct disk_source *source,
                              uint64_t begin, uint64_t size)
{
    struct cursor c = {.source = source, .at = begin, .why = r->why};
    struct tensor_entry *entry = r->entry;
    unsigned char magic[8];
    if (size < 10) return bad_array(r, "is too short for an array");
    rapt__cursor_bytes(&c, magic, sizeof magic, "an array");
    if (c.status != RAPT_OK) return c.status;
    if (memcmp(magic, "\x93NUMPY", 6) != 0 || magic[6] < 1 || magic[6] > 3)
        return bad_array(r, "is not an array of .npy version 1, 2 or 3");
    const int wide = magic[6] == 1 ? 2 : 4;
    uint64_t length = rapt__cursor_number(&c, wide, "the length of a header");
    if (c.status != RAPT_OK) return c.status;
    if (length > HEADER_MAX || length > size - 8 - (uint64_t)wide)
        return bad_array(r, "has a header that is too long");
    rapt__cursor_bytes(&c, r->text, (size_t)length, "a header");
    if (c.status != RAPT_OK) return c.status;
    r->text[length] = 0;
    r->at = r->text;
    if (strlen(r->text) != length) return bad_array(r, "has a NUL byte in its header");
    rapt_status status = parse(r);
    if (status == RAPT_OK && r->text_size > 0) status = spread_text(r);
    if (status == RAPT_OK) status = check_order(r);
    if (status != RAPT_OK) return status;
    const struct dtype *dtype = rapt__dtype_find(entry->dtype);
    if (!rapt__tensors_count_shape(entry, dtype->bits))
        return bad_array(r, "has a size that overflows");
    if (entry->count * (dtype->bits / 8) != size - (c.at - begin))
        return bad_array(r, "has a size that does not match its shape and type");
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
        return rapt__tensors_bad(file, member->name,
                                 "is not an array: its name does not end in .npy", why);
    struct npy_reading r = {.file = file, .entry = &entry, .why = why};
    entry.name = rapt__tensors_text(file, member->name, length - tail, why);
    if (!entry.name) return RAPT_NO_MEMORY;
    r.special = strncmp(entry.name, MARIAN_SPECIAL, strlen(MARIAN_SPECIAL)) == 0;
    uint64_t begin = 0;
    rapt_status status = rapt__zip_part(file, member, &entry.part, &begin, why);
    if (status == RAPT_OK)
        status = read_array(&r, &rapt__tensors_part(file, &entry)->source, begin, member->size);
    if (status != RAPT_OK) return status;
    if (r.special && entry.end - entry.begin == entry.count)
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
