/* zstd.c - decompresses files that zstd has compressed (RFC 8878), with libzstd and the caller's
   allocator. */
#include "inflate.h"

#include <string.h>

bool rapt__is_zstd(const unsigned char first[4])
{
    static const unsigned char magic[4] = {0x28, 0xB5, 0x2F, 0xFD};
    return memcmp(first, magic, sizeof magic) == 0;
}

#ifdef RAPT_HAVE_ZSTD

#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_createDCtx_advanced */
#include <zstd.h>

static void *zstd_allocate(void *user, size_t bytes)
{
    return rapt__sized_alloc(user, bytes);
}

static void zstd_release(void *user, void *memory)
{
    rapt__sized_free(user, memory);
}

static rapt_status damaged(const struct disk_source *source, const char *what, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_FILE, "%s: the zstd file %s", source->label.text, what);
}

/* Reads the size that the frame declares. */
static rapt_status frame_size(const struct disk_source *source, const unsigned char *packed,
                              uint64_t *size, rapt_message *why)
{
    const unsigned long long declared = ZSTD_getFrameContentSize(packed, (size_t)source->size);
    if (declared == ZSTD_CONTENTSIZE_ERROR) return damaged(source, "is damaged", why);
    if (declared == ZSTD_CONTENTSIZE_UNKNOWN)
        return damaged(source, "does not say its size; decompress it first, with zstd -d", why);
    *size = declared;
    return rapt__inflated_check(source, *size, why);
}

/* Decompresses bytes that have been read to data [size]. */
static rapt_status decompress(const struct disk_source *source, const unsigned char *packed,
                              unsigned char *data, uint64_t size, const rapt_allocator *allocator,
                              rapt_message *why)
{
    rapt_allocator own = rapt__allocator(allocator);
    const ZSTD_customMem memory = {zstd_allocate, zstd_release, &own};
    ZSTD_DCtx *context = ZSTD_createDCtx_advanced(memory);
    if (!context)
        return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory to decompress",
                          source->label.text);
    const size_t made =
        ZSTD_decompressDCtx(context, data, (size_t)size, packed, (size_t)source->size);
    ZSTD_freeDCtx(context);
    if (!ZSTD_isError(made) && made == size) return RAPT_OK;
    return damaged(source, "is damaged or has several frames", why);
}

static rapt_status inflate_packed(const struct disk_source *source, const unsigned char *packed,
                                  unsigned char **data, uint64_t *size,
                                  const rapt_allocator *allocator, rapt_message *why)
{
    rapt_status status = frame_size(source, packed, size, why);
    if (status) return status;
    const size_t bytes = rapt__max_size((size_t)*size, 1);
    *data = rapt__alloc(allocator, bytes);
    if (!*data)
        return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory to decompress",
                          source->label.text);
    status = decompress(source, packed, *data, *size, allocator, why);
    if (!status) return RAPT_OK;
    rapt__free(allocator, *data, bytes);
    *data = NULL;
    return status;
}

rapt_status rapt__zstd_inflate(const struct disk_source *source, unsigned char **data,
                               uint64_t *size, const rapt_allocator *allocator, rapt_message *why)
{
    unsigned char *packed =
        source->size < SIZE_MAX ? rapt__alloc(allocator, (size_t)source->size) : NULL;
    *data = NULL;
    if (!packed)
        return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory to read", source->label.text);
    rapt_status status = rapt__disk_read(source, 0, packed, (size_t)source->size, why);
    if (!status) status = inflate_packed(source, packed, data, size, allocator, why);
    rapt__free(allocator, packed, (size_t)source->size);
    return status;
}

#else

rapt_status rapt__zstd_inflate(const struct disk_source *source, unsigned char **data,
                               uint64_t *size, const rapt_allocator *allocator, rapt_message *why)
{
    (void)data, (void)size, (void)allocator;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "%s is compressed with zstd, but rapt was built without zstd",
                      source->label.text);
}

#endif
