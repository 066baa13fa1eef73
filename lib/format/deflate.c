/* deflate.c - writes gzip files with zlib and the caller's allocator. */
#include "inflate.h"

#include <rapt/file.h>
#include <string.h>

#ifdef RAPT_HAVE_ZLIB

#include <zlib.h>

bool rapt__gzip_writes(void)
{
    return true;
}

enum { AT_ONCE = 1 << 20, GZIP_BITS = 15 + 16 /* a window of 2^15 bytes, and a gzip header */ };

/* Compresses a source into out[capacity] and sets *size to the number of bytes written. */
static rapt_status compress_source(const struct disk_source *source, z_stream *z,
                                   unsigned char *chunk, unsigned char *out, size_t capacity,
                                   size_t *size, rapt_message *why)
{
    int result = Z_OK;
    *size = 0;
    for (uint64_t at = 0; result == Z_OK;) {
        const size_t count = rapt__min_size((size_t)(source->size - at), AT_ONCE);
        rapt_status status = rapt__disk_read(source, at, chunk, count, why);
        if (status) return status;
        at += count;
        z->next_in = chunk, z->avail_in = (unsigned)count;
        do { /* deflateBound guarantees that the result fits */
            const size_t room = rapt__min_size(capacity - *size, AT_ONCE);
            z->next_out = out + *size, z->avail_out = (unsigned)room;
            result = deflate(z, at == source->size ? Z_FINISH : Z_NO_FLUSH);
            *size += room - z->avail_out;
        } while (result == Z_OK && (z->avail_in > 0 || at == source->size) && *size < capacity);
        if (result == Z_OK && at == source->size) result = Z_BUF_ERROR;
    }
    return result == Z_STREAM_END
               ? RAPT_OK
               : rapt__fail(why, RAPT_BAD_FILE, "%s: zlib cannot compress it", source->label.text);
}

static rapt_status compress_open(const struct disk_source *source, const char *to,
                                 const rapt_allocator *allocator, rapt_message *why)
{
    rapt_allocator own = rapt__allocator(allocator);
    z_stream z = {.zalloc = rapt__zlib_allocate, .zfree = rapt__zlib_release, .opaque = &own};
    rapt_status status = RAPT_NO_MEMORY;
    const bool begun =
        deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    const size_t capacity = begun ? deflateBound(&z, (unsigned long)source->size) : 0;
    unsigned char *out = begun ? rapt__alloc(allocator, capacity) : NULL,
                  *chunk = out ? rapt__alloc(allocator, AT_ONCE) : NULL;
    size_t size = 0;
    if (chunk) status = compress_source(source, &z, chunk, out, capacity, &size, why);
    if (begun) deflateEnd(&z);
    if (!chunk)
        rapt__fail(why, status, "%s: no memory to compress it", source->label.text);
    else if (!status)
        status = rapt_file_write(to, out, size, why);
    rapt__free(allocator, chunk, AT_ONCE);
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
