/* zip.c - reads the directory of a zip file, and makes members available as parts of a tensor file.
   Every offset and length is checked against the file, and no two members may share a byte.

   The file ends with a record of 22 bytes and a comment. If a size, offset or count is too large
   for this record, and always in PyTorch's files, a zip64 record and its locator precede it. For
   each member, the directory has 46 bytes plus the name, extra fields and comment. The bytes of a
   member are preceded by a 30-byte header, the member's name, and extra fields. Source: APPNOTE.TXT
   6.3.10 (PKWARE), sections 4.3 and 4.5.3. */
#include "zip.h"

#include "disk.h"

#include <string.h>

enum {
    END_SIZE = 22,
    LOCATOR_SIZE = 20,
    END64_SIZE = 56,
    HEAD_SIZE = 46,  /* size of the fixed part of a member's entry in the directory */
    LOCAL_SIZE = 30, /* size of the fixed part of the header before a member's bytes */
    COMMENT_MAX = 65535,
    GROWTH_MAX = 1032 /* maximum expansion by deflate: 258 bytes from 2 bits */
};

struct zip_reading {
    struct zip *zip;
    struct string_pool *pool;
    const rapt_allocator *allocator;
    struct cursor cursor;
    uint64_t members, begin, size; /* number of members, and offset and size of the directory */
    rapt_message *why;
};

static rapt_status bad_member(struct zip_reading *r, const char *name, const char *what)
{
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: member \"%s\" %s", r->cursor.source->label.text,
                      rapt__shown(name).text, what);
}

static rapt_status no_zip_memory(const struct zip_reading *r)
{
    return rapt__fail(r->why, RAPT_NO_MEMORY, "%s: out of memory for the directory",
                      r->cursor.source->label.text);
}

static uint64_t little(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* ---- the end of the file ---- */

/* Finds the end record: the last one whose comment extends to the end of the file. */
static rapt_status find_end(struct zip_reading *r, uint64_t *at)
{
    const struct disk_source *source = r->cursor.source;
    unsigned char block[1024];
    uint64_t last = source->size < END_SIZE ? 0 : source->size - END_SIZE;
    uint64_t first = last > COMMENT_MAX ? last - COMMENT_MAX : 0;
    /* blocks overlap by END_SIZE - 1 bytes, so that no record is missed between them */
    for (uint64_t to = source->size; source->size >= END_SIZE && to >= first + END_SIZE;) {
        uint64_t from = to > first + sizeof block ? to - sizeof block : first;
        rapt_status status = rapt__disk_read(source, from, block, (size_t)(to - from), r->why);
        if (status != RAPT_OK) return status;
        for (uint64_t i = to - from - END_SIZE + 1; i-- > 0;) {
            const unsigned char *b = block + i;
            if (memcmp(b, "PK\5\6", 4) != 0) continue;
            *at = from + i;
            if (*at + END_SIZE + little(b + 20, 2) == source->size) return RAPT_OK;
        }
        if (from == first) break;
        to = from + END_SIZE - 1;
    }
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: the end of the zip directory is missing",
                      source->label.text);
}

/* If there is a locator before *end, reads the zip64 record and sets *end to the record's
   offset. */
static rapt_status read_end64(struct zip_reading *r, uint64_t *end)
{
    struct cursor *c = &r->cursor;
    unsigned char locator[LOCATOR_SIZE], record[END64_SIZE];
    if (*end < LOCATOR_SIZE) return RAPT_OK;
    c->at = *end - LOCATOR_SIZE;
    rapt__cursor_bytes(c, locator, sizeof locator, "the end of the directory");
    if (c->status != RAPT_OK || memcmp(locator, "PK\6\7", 4) != 0) return c->status;
    uint64_t at = little(locator + 8, 8);
    if (at > *end) return rapt__cursor_fail(c, "the zip64 record comes after the end record");
    c->at = at;
    rapt__cursor_bytes(c, record, sizeof record, "the zip64 record");
    if (c->status != RAPT_OK) return c->status;
    if (memcmp(record, "PK\6\6", 4) != 0)
        return rapt__cursor_fail(c, "the zip64 record is missing");
    r->members = little(record + 32, 8);
    r->size = little(record + 40, 8);
    r->begin = little(record + 48, 8);
    *end = at;
    return RAPT_OK;
}

static rapt_status read_end(struct zip_reading *r)
{
    struct cursor *c = &r->cursor;
    unsigned char record[END_SIZE];
    uint64_t end = 0;
    rapt_status status = find_end(r, &end);
    if (status != RAPT_OK) return status;
    c->at = end;
    rapt__cursor_bytes(c, record, sizeof record, "the end of the directory");
    if (c->status != RAPT_OK) return c->status;
    r->members = little(record + 10, 2);
    r->size = little(record + 12, 4);
    r->begin = little(record + 16, 4);
    if (little(record + 4, 4) != 0 || little(record + 8, 2) != r->members)
        return rapt__cursor_fail(c, "multi-part zip files are not supported");
    status = read_end64(r, &end);
    if (status != RAPT_OK) return status;
    if (r->begin > end || r->size > end - r->begin || r->members > r->size / HEAD_SIZE)
        return rapt__cursor_fail(c, "the directory does not fit into the file");
    return RAPT_OK;
}

/* ---- members ---- */

/* Reads the numbers that do not fit in 32 bits. They are in extra field 1, in the order of
   numbers[]. */
static rapt_status read_extra(struct zip_reading *r, struct zip_member *member, unsigned size)
{
    struct cursor *c = &r->cursor;
    uint64_t *const numbers[] = {&member->size, &member->stored, &member->head};
    for (unsigned left = size; left >= 4 && c->status == RAPT_OK;) {
        unsigned id = (unsigned)rapt__cursor_number(c, 2, "an extra field");
        unsigned length = (unsigned)rapt__cursor_number(c, 2, "an extra field"), used = 0;
        left -= 4;
        if (length > left)
            return bad_member(r, member->name, "has an extra field that is too long");
        for (int i = 0; i < 3 && id == 1; i++) {
            if (*numbers[i] != UINT32_MAX || used + 8 > length) continue;
            *numbers[i] = rapt__cursor_number(c, 8, "a zip64 number");
            used += 8;
        }
        rapt__cursor_skip(c, length - used, "an extra field");
        left -= length;
        if (left < 4) rapt__cursor_skip(c, left, "an extra field"), left = 0;
    }
    return c->status;
}

static rapt_status read_name(struct zip_reading *r, unsigned size, const char **name)
{
    struct cursor *c = &r->cursor;
    if (!rapt__cursor_has(c, size, "a name")) return c->status;
    char *text = rapt__pool_take(r->pool, (size_t)size + 1, r->allocator);
    if (!text) return no_zip_memory(r);
    rapt__cursor_bytes(c, text, size, "a name");
    if (c->status != RAPT_OK) return c->status;
    text[size] = 0;
    if (strlen(text) != size || !rapt__is_utf8(text))
        return rapt__cursor_fail(c, "a name is not UTF-8 or contains a NUL byte");
    *name = text;
    return RAPT_OK;
}

static rapt_status check_member(struct zip_reading *r, const struct zip_member *member,
                                unsigned flags, unsigned method)
{
    if (flags & 1) return bad_member(r, member->name, "is encrypted");
    if (method != 0 && method != 8)
        return rapt__fail(r->why, RAPT_BAD_FILE,
                          "%s: member \"%s\" is compressed with method %u; only stored (0) and "
                          "deflate (8) are supported",
                          r->cursor.source->label.text, rapt__shown(member->name).text, method);
    if (!member->deflated && member->stored != member->size)
        return bad_member(r, member->name,
                          "is stored, but its compressed and uncompressed sizes differ");
    if (member->deflated && member->size / GROWTH_MAX > member->stored)
        return bad_member(r, member->name, "declares a size that deflate cannot reach");
    return RAPT_OK;
}

static rapt_status read_member(struct zip_reading *r, struct zip_member *member)
{
    struct cursor *c = &r->cursor;
    unsigned char head[HEAD_SIZE];
    rapt__cursor_bytes(c, head, sizeof head, "an entry of the directory");
    if (c->status != RAPT_OK) return c->status;
    if (memcmp(head, "PK\1\2", 4) != 0)
        return rapt__cursor_fail(c, "an entry of the directory is missing");
    unsigned method = (unsigned)little(head + 10, 2);
    *member = (struct zip_member){.deflated = method != 0,
                                  .sum = (uint32_t)little(head + 16, 4),
                                  .stored = little(head + 20, 4),
                                  .size = little(head + 24, 4),
                                  .head = little(head + 42, 4)};
    rapt_status status = read_name(r, (unsigned)little(head + 28, 2), &member->name);
    if (status == RAPT_OK) status = read_extra(r, member, (unsigned)little(head + 30, 2));
    if (status != RAPT_OK) return status;
    rapt__cursor_skip(c, little(head + 32, 2), "a comment");
    return c->status == RAPT_OK ? check_member(r, member, (unsigned)little(head + 8, 2), method)
                                : c->status;
}

/* Finds the bytes of a member, which follow its local header. The name in the local header must be
   the one in the directory. */
static rapt_status find_bytes(struct zip_reading *r, struct zip_member *member)
{
    struct cursor c = {.source = r->cursor.source, .at = member->head, .why = r->why};
    unsigned char local[LOCAL_SIZE], name[256];
    if (member->head > r->begin) return bad_member(r, member->name, "begins after the directory");
    rapt__cursor_bytes(&c, local, sizeof local, "a member");
    if (c.status != RAPT_OK) return c.status;
    size_t length = strlen(member->name);
    if (memcmp(local, "PK\3\4", 4) != 0 || little(local + 26, 2) != length)
        return bad_member(r, member->name, "is not where the directory says it is");
    for (size_t at = 0; at < length; at += sizeof name) {
        size_t now = rapt__min_size(length - at, sizeof name);
        rapt__cursor_bytes(&c, name, now, "a name");
        if (c.status != RAPT_OK) return c.status;
        if (memcmp(name, member->name + at, now) != 0)
            return bad_member(r, member->name, "has a different name in the directory");
    }
    rapt__cursor_skip(&c, little(local + 28, 2), "an extra field");
    if (c.status != RAPT_OK) return c.status;
    member->begin = c.at;
    if (member->begin > r->begin || member->stored > r->begin - member->begin)
        return bad_member(r, member->name, "ends within or after the directory");
    return RAPT_OK;
}

static int by_head(const void *context, const void *a, const void *b)
{
    (void)context;
    const struct zip_member *x = a, *y = b;
    return (x->head > y->head) - (x->head < y->head);
}

static int by_member_name(const void *context, const void *a, const void *b)
{
    (void)context;
    return strcmp(((const struct zip_member *)a)->name, ((const struct zip_member *)b)->name);
}

static rapt_status sort(struct zip_reading *r)
{
    struct zip *zip = r->zip;
    rapt__sort(zip->members, zip->count, sizeof *zip->members, by_head, NULL);
    for (size_t i = 1; i < zip->count; i++)
        if (zip->members[i].head < zip->members[i - 1].begin + zip->members[i - 1].stored)
            return bad_member(r, zip->members[i].name, "overlaps another member");
    rapt__sort(zip->members, zip->count, sizeof *zip->members, by_member_name, NULL);
    for (size_t i = 1; i < zip->count; i++)
        if (strcmp(zip->members[i - 1].name, zip->members[i].name) == 0)
            return bad_member(r, zip->members[i].name, "occurs twice");
    return RAPT_OK;
}

rapt_status rapt__zip_read(struct zip *zip, const struct disk_source *source,
                           struct string_pool *pool, const rapt_allocator *allocator,
                           rapt_message *why)
{
    struct zip_reading r = {.zip = zip, .pool = pool, .allocator = allocator, .why = why};
    r.cursor = (struct cursor){.source = source, .why = why};
    *zip = (struct zip){0};
    rapt_status status = read_end(&r);
    if (status != RAPT_OK) return status;
    if (r.members > SIZE_MAX / sizeof *zip->members) return no_zip_memory(&r);
    size_t count = (size_t)r.members;
    if (count > 0) zip->members = rapt__alloc(allocator, count * sizeof *zip->members);
    if (count > 0 && !zip->members) return no_zip_memory(&r);
    r.cursor.at = r.begin;
    zip->count = count;
    for (size_t i = 0; i < count && status == RAPT_OK; i++) {
        status = read_member(&r, &zip->members[i]);
        if (status == RAPT_OK) status = find_bytes(&r, &zip->members[i]);
    }
    if (status == RAPT_OK && r.cursor.at != r.begin + r.size)
        status = rapt__cursor_fail(
            &r.cursor, "the size of the directory differs from the total size of its entries");
    if (status == RAPT_OK) status = sort(&r);
    if (status != RAPT_OK) rapt__zip_free(zip, allocator);
    return status;
}

void rapt__zip_free(struct zip *zip, const rapt_allocator *allocator)
{
    rapt__free(allocator, zip->members, zip->count * sizeof *zip->members);
    *zip = (struct zip){0};
}

const struct zip_member *rapt__zip_find(const struct zip *zip, const char *name)
{
    const struct zip_member wanted = {.name = name};
    size_t low = 0, high = zip->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = by_member_name(NULL, &wanted, &zip->members[middle]);
        if (order == 0) return &zip->members[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

rapt_status rapt__zip_part(struct tensor_file *file, const struct zip_member *member,
                           unsigned *part, uint64_t *begin, rapt_message *why)
{
    const struct disk_source *source = &file->main.source;
    *part = 0;
    *begin = member->begin;
    if (!member->deflated) return RAPT_OK;
    size_t size = rapt__max_size((size_t)member->size, 1);
    if (member->size > SIZE_MAX / 2) return rapt__tensors_no_memory(file, why);
    unsigned char *memory = NULL;
    rapt_status status = rapt__zip_inflate(source, member, &memory, &file->allocator, why);
    if (status != RAPT_OK) return status;
    struct tensor_part made = {.source = {.file = -1, .bytes = memory, .size = member->size},
                               .memory = memory,
                               .memory_size = size};
    made.source.label = source->label;
    status = rapt__tensors_add_part(file, &made, part, why);
    if (status != RAPT_OK) rapt__free(&file->allocator, memory, size);
    *begin = 0;
    return status;
}
