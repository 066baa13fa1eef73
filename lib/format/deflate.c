/* deflate.c - inflates gzip files and deflated zip members, and writes gzip files, with zlib and
   the caller's allocator; also opens files that may be compressed with gzip or zstd (zstd.c). */
#include "disk.h"
#include "zip.h"

#include <rapt/file.h>
#include <stdalign.h>
#include <stddef.h>
#include <string.h>

/* A compressed file may inflate to at most RATIO times its size plus MORE bytes. Compression
   shrinks models to about three quarters of their size, and vocabularies and shortlists to between
   a third and a half. */
enum { RATIO = 4, MORE = 1 << 22, GZIP_MIN = 18 /* size of header and trailer in bytes */ };

void *rapt__sized_alloc(const rapt_allocator *allocator, size_t bytes)
{
    const size_t before = rapt__round_up_size(sizeof bytes, alignof(max_align_t));
    if (!rapt__plus(bytes, before, &bytes)) return NULL;
    char *memory = rapt__alloc(allocator, bytes);
    if (!memory) return NULL;
    *(size_t *)(void *)memory = bytes;
    return memory + before;
}

void rapt__sized_free(const rapt_allocator *allocator, void *memory)
{
    if (!memory) return;
    char *start = (char *)memory - rapt__round_up_size(sizeof(size_t), alignof(max_align_t));
    rapt__free(allocator, start, *(size_t *)(void *)start);
}

uint64_t rapt__inflated_max(const struct disk_source *source)
{
    return source->size * RATIO + MORE;
}

rapt_status rapt__inflated_check(const struct disk_source *source, uint64_t size, rapt_message *why)
{
    if (size <= rapt__inflated_max(source) && size < SIZE_MAX) return RAPT_OK;
    return rapt__fail(
        why, RAPT_BAD_FILE,
        "%s: %llu bytes inflate to at least %llu, more than any model needs; if you trust the "
        "file, decompress it first",
        source->label.text, (unsigned long long)source->size, (unsigned long long)size);
}

#ifdef RAPT_HAVE_ZLIB

#include <limits.h>
#include <zlib.h>

/* Maximum numbers of input and output bytes per call to inflate. */
enum { AT_ONCE = 16384, INFLATED_MAX = 1 << 30 };

static void *zlib_allocate(void *user, unsigned items, unsigned size)
{
    size_t bytes;
    return rapt__times(items, size, &bytes) ? rapt__sized_alloc(user, bytes) : Z_NULL;
}

static void zlib_release(void *user, void *memory)
{
    rapt__sized_free(user, memory);
}

/* Deflated bytes [begin, begin + stored) of a source, which declares that they inflate to `size`
   bytes. The buffer for the result starts out large enough for most streams and grows with the
   output, so a damaged stream that declares a large size costs little memory. */
struct deflated {
    const struct disk_source *source;
    uint64_t begin, stored, size;
    const rapt_allocator *allocator;
    unsigned char *data; /* [capacity] */
    size_t capacity;
};

static rapt_status no_inflate_memory(const struct deflated *d, rapt_message *why)
{
    return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory while inflating",
                      d->source->label.text);
}

static void drop(struct deflated *d)
{
    rapt__free(d->allocator, d->data, d->capacity);
    d->data = NULL, d->capacity = 0;
}

/* Makes room for more of the declared bytes, or for one byte if none are declared. */
static rapt_status grow(struct deflated *d, rapt_message *why)
{
    enum { START = 1 << 16 };
    uint64_t more = d->capacity ? 2 * (uint64_t)d->capacity : RATIO * d->stored + START;
    if (more > d->size) more = d->size > 0 ? d->size : 1;
    unsigned char *data = more < SIZE_MAX ? rapt__alloc(d->allocator, (size_t)more) : NULL;
    if (!data) return no_inflate_memory(d, why);
    if (d->data) memcpy(data, d->data, d->capacity);
    drop(d);
    d->data = data, d->capacity = (size_t)more;
    return RAPT_OK;
}

/* Feeds the bytes to zlib until the stream ends. If they are damaged, do not inflate to the
   declared size, or continue after the end of the stream, sets *wrong and returns RAPT_BAD_FILE
   without a message. */
static rapt_status feed(z_stream *stream, struct deflated *d, const char **wrong, rapt_message *why)
{
    unsigned char chunk[AT_ONCE];
    uint64_t read = 0;
    size_t made = 0;
    rapt_status status = grow(d, why);
    for (int result = Z_OK; result != Z_STREAM_END && status == RAPT_OK;) {
        if (stream->avail_in == 0 && read < d->stored) {
            size_t now = d->stored - read < AT_ONCE ? (size_t)(d->stored - read) : AT_ONCE;
            status = rapt__disk_read(d->source, d->begin + read, chunk, now, why);
            stream->next_in = chunk;
            stream->avail_in = (unsigned)now;
            read += now;
        }
        if (status == RAPT_OK && made == d->capacity && made < d->size) status = grow(d, why);
        if (status != RAPT_OK) return status;
        size_t left = d->size > made ? d->capacity - made : 0;
        const unsigned space = left < INFLATED_MAX ? (unsigned)left : INFLATED_MAX;
        stream->next_out = d->data + made;
        stream->avail_out = space;
        result = inflate(stream, Z_NO_FLUSH);
        if (result == Z_MEM_ERROR) return no_inflate_memory(d, why);
        if (result != Z_OK && result != Z_STREAM_END) return *wrong = "is damaged", RAPT_BAD_FILE;
        made += space - stream->avail_out;
    }
    if (status != RAPT_OK) return status;
    if (made == d->size && stream->avail_in == 0 && read == d->stored) return RAPT_OK;
    return *wrong = "does not inflate to the size that it declares, or has trailing data",
           RAPT_BAD_FILE;
}

/* Inflates the bytes into d->data, which is NULL after a failure. `window` is the windowBits
   argument of inflateInit2. */
static rapt_status inflate_all(struct deflated *d, int window, const char **wrong,
                               rapt_message *why)
{
    rapt_allocator own = rapt__allocator(d->allocator);
    z_stream stream = {.zalloc = zlib_allocate, .zfree = zlib_release, .opaque = &own};
    if (inflateInit2(&stream, window) != Z_OK) return no_inflate_memory(d, why);
    rapt_status status = feed(&stream, d, wrong, why);
    inflateEnd(&stream);
    if (status != RAPT_OK) drop(d);
    return status;
}

static uLong checksum(const unsigned char *data, uint64_t size)
{
    uLong sum = crc32(0, Z_NULL, 0);
    for (uint64_t at = 0; at < size;) {
        const unsigned now = size - at < INFLATED_MAX ? (unsigned)(size - at) : INFLATED_MAX;
        sum = crc32(sum, data + at, now);
        at += now;
    }
    return sum;
}

rapt_status rapt__zip_inflate(const struct disk_source *source, const struct zip_member *member,
                              unsigned char **data, const rapt_allocator *allocator,
                              rapt_message *why)
{
    struct deflated d = {source, member->begin, member->stored, member->size, allocator, NULL, 0};
    const char *wrong = NULL;
    rapt_status status = inflate_all(&d, -MAX_WBITS, &wrong, why);
    if (status == RAPT_OK && checksum(d.data, member->size) != member->sum) {
        drop(&d);
        wrong = "has the wrong checksum";
    }
    *data = d.data;
    if (!wrong) return status;
    return rapt__fail(why, RAPT_BAD_FILE, "%s: member \"%s\" %s", source->label.text,
                      rapt__shown(member->name).text, wrong);
}

/* Inflates a gzip file, which must have a single member, into *data. zlib verifies the checksum and
   size. */
static rapt_status gunzip(const struct disk_source *source, uint64_t size, unsigned char **data,
                          const rapt_allocator *allocator, rapt_message *why)
{
    struct deflated d = {source, 0, source->size, size, allocator, NULL, 0};
    const char *wrong = NULL;
    rapt_status status = inflate_all(&d, 16 + MAX_WBITS, &wrong, why);
    *data = d.data;
    if (!wrong) return status;
    return rapt__fail(why, RAPT_BAD_FILE, "%s: the gzip file %s", source->label.text, wrong);
}

/* ---- writing gzip files ---- */

bool rapt__gzip_writes(void)
{
    return true;
}

enum {
    PACKED_AT_ONCE = 1 << 20, /* maximum number of input and of output bytes per call to deflate */
    GZIP_BITS = 15 + 16       /* a window of 2^15 bytes, and a gzip header */
};

/* Compresses a source into out[capacity] and sets *size to the number of bytes written. */
static rapt_status compress_source(const struct disk_source *source, z_stream *z,
                                   unsigned char *chunk, unsigned char *out, size_t capacity,
                                   size_t *size, rapt_message *why)
{
    int result = Z_OK;
    *size = 0;
    for (uint64_t at = 0; result == Z_OK;) {
        const size_t count = rapt__min_size((size_t)(source->size - at), PACKED_AT_ONCE);
        rapt_status status = rapt__disk_read(source, at, chunk, count, why);
        if (status) return status;
        at += count;
        z->next_in = chunk, z->avail_in = (unsigned)count;
        do { /* deflateBound guarantees that the result fits */
            const size_t room = rapt__min_size(capacity - *size, PACKED_AT_ONCE);
            z->next_out = out + *size, z->avail_out = (unsigned)room;
            result = deflate(z, at == source->size ? Z_FINISH : Z_NO_FLUSH);
            *size += room - z->avail_out;
        } while (result == Z_OK && (z->avail_in > 0 || at == source->size) && *size < capacity);
        if (result == Z_OK && at == source->size) result = Z_BUF_ERROR;
    }
    return result == Z_STREAM_END
               ? RAPT_OK
               : rapt__fail(why, RAPT_BAD_FILE, "%s: zlib could not compress the file",
                            source->label.text);
}

static rapt_status compress_open(const struct disk_source *source, const char *to,
                                 const rapt_allocator *allocator, rapt_message *why)
{
    rapt_allocator own = rapt__allocator(allocator);
    z_stream z = {.zalloc = zlib_allocate, .zfree = zlib_release, .opaque = &own};
    rapt_status status = RAPT_NO_MEMORY;
    const bool begun =
        deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    const size_t capacity = begun ? deflateBound(&z, (unsigned long)source->size) : 0;
    unsigned char *out = begun ? rapt__alloc(allocator, capacity) : NULL,
                  *chunk = out ? rapt__alloc(allocator, PACKED_AT_ONCE) : NULL;
    size_t size = 0;
    if (chunk) status = compress_source(source, &z, chunk, out, capacity, &size, why);
    if (begun) deflateEnd(&z);
    if (!chunk)
        rapt__fail(why, status, "%s: out of memory while compressing", source->label.text);
    else if (!status)
        status = rapt_file_write(to, out, size, why);
    rapt__free(allocator, chunk, PACKED_AT_ONCE);
    rapt__free(allocator, out, capacity);
    return status;
}

rapt_status rapt__gzip_write(const char *from, const char *to, const rapt_allocator *allocator,
                             rapt_message *why)
{
    struct disk_source source;
    rapt_status status = rapt__disk_open(&source, from, why);
    if (status) return status;
    status = compress_open(&source, to, allocator, why);
    rapt__disk_close(&source);
    return status;
}

#else

rapt_status rapt__zip_inflate(const struct disk_source *source, const struct zip_member *member,
                              unsigned char **data, const rapt_allocator *allocator,
                              rapt_message *why)
{
    (void)data, (void)allocator;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "%s: member \"%s\" is deflated, but rapt was built without zlib",
                      source->label.text, rapt__shown(member->name).text);
}

static rapt_status gunzip(const struct disk_source *source, uint64_t size, unsigned char **data,
                          const rapt_allocator *allocator, rapt_message *why)
{
    (void)size, (void)data, (void)allocator;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "%s is compressed with gzip, but rapt was built without zlib",
                      source->label.text);
}

bool rapt__gzip_writes(void)
{
    return false;
}

rapt_status rapt__gzip_write(const char *from, const char *to, const rapt_allocator *allocator,
                             rapt_message *why)
{
    (void)to, (void)allocator;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: rapt was built without zlib", from);
}

#endif

/* ---- files that may be compressed ---- */

/* Reads the inflated size of a gzip file, modulo 2^32, from its last four bytes, and checks that it
   is not too large. */
static rapt_status gzip_size(const struct disk_source *source, uint64_t *size, rapt_message *why)
{
    unsigned char last[4];
    rapt_status status = rapt__disk_read(source, source->size - sizeof last, last, 4, why);
    if (status != RAPT_OK) return status;
    *size = 0;
    for (int i = 4; i-- > 0;) *size = *size << 8 | last[i];
    return rapt__inflated_check(source, *size, why);
}

static rapt_status replace_by_inflated(struct disk_source *source, bool zstd,
                                       const rapt_allocator *allocator, rapt_message *why)
{
    uint64_t size = 0;
    struct disk_source made = *source;
    rapt_status status = zstd ? rapt__zstd_inflate(source, &made.memory, &size, allocator, why)
                              : gzip_size(source, &size, why);
    if (!status && !zstd) status = gunzip(source, size, &made.memory, allocator, why);
    if (status != RAPT_OK) return status;
    made.file = -1;
    made.size = size;
    made.allocator = rapt__allocator(allocator);
    made.memory_size = rapt__max_size((size_t)size, 1);
    made.bytes = made.memory;
    rapt__disk_close(source);
    *source = made;
    return RAPT_OK;
}

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

/* Sets *by to how the contents are compressed, according to their first bytes. */
static rapt_status find_packing(const struct disk_source *source, enum packing *by,
                                rapt_message *why)
{
    static const unsigned char gzip[2] = {0x1F, 0x8B};
    unsigned char first[4];
    *by = PACKING_NONE;
    if (source->size < sizeof first) return RAPT_OK;
    rapt_status status = rapt__disk_read(source, 0, first, sizeof first, why);
    if (status) return status;
    if (rapt__is_zstd(first))
        *by = PACKING_ZSTD;
    else if (source->size >= GZIP_MIN && memcmp(first, gzip, sizeof gzip) == 0)
        *by = PACKING_GZIP;
    return RAPT_OK;
}

rapt_status rapt__disk_open_inflated(struct disk_source *source, const char *path,
                                     const rapt_allocator *allocator, rapt_message *why)
{
    enum packing by, again = PACKING_NONE;
    rapt_status status = rapt__disk_open(source, path, why);
    if (status != RAPT_OK) return status;
    rapt__budget_add(allocator, source->size);
    status = find_packing(source, &by, why);
    if (!status && by) {
        status = replace_by_inflated(source, by == PACKING_ZSTD, allocator, why);
        if (!status) status = find_packing(source, &again, why);
        if (again)
            status = rapt__fail(why, RAPT_BAD_FILE, "%s is compressed twice: decompress it once",
                                source->label.text);
    }
    if (status != RAPT_OK) rapt__disk_close(source);
    return status;
}
