/* zstd.c - decompresses zstd files (RFC 8878) with libzstd and the caller's allocator. */
#include "disk.h"

#include <string.h>

bool rapt__is_zstd(const unsigned char first[4])
{
    static const unsigned char frame[4] = {0x28, 0xB5, 0x2F, 0xFD}, skipped[3] = {0x2A, 0x4D, 0x18};
    return memcmp(first, frame, sizeof frame) == 0 ||
           (first[0] >> 4 == 5 && memcmp(first + 1, skipped, sizeof skipped) == 0);
}

#ifdef RAPT_HAVE_ZSTD

#define ZSTD_STATIC_LINKING_ONLY /* for ZSTD_createDCtx_advanced */
#include <zstd.h>
#include <zstd_errors.h>

/* A file that is being decompressed. Frames need not declare their size, so the buffer for the
   result grows as needed. */
struct decompression {
    const struct disk_source *source;
    const rapt_allocator *allocator;
    unsigned char *data; /* [capacity] */
    size_t size, capacity;
    size_t frame_left; /* last result of ZSTD_decompressStream: 0 at the end of a frame */
};

static void *zstd_allocate(void *user, size_t bytes)
{
    return rapt__sized_alloc(user, bytes);
}

static void zstd_release(void *user, void *memory)
{
    rapt__sized_free(user, memory);
}

static rapt_status no_memory(const struct disk_source *source, rapt_message *why)
{
    return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory while decompressing",
                      source->label.text);
}

/* Moves the result to a buffer of `capacity` bytes. */
static rapt_status resize(struct decompression *d, size_t capacity, rapt_message *why)
{
    unsigned char *data = rapt__alloc(d->allocator, capacity);
    if (!data) return no_memory(d->source, why);
    if (d->size) memcpy(data, d->data, d->size);
    rapt__free(d->allocator, d->data, d->capacity);
    d->data = data, d->capacity = capacity;
    return RAPT_OK;
}

/* Makes room for more of the result, up to the maximum for a file of this size. */
static rapt_status grow(struct decompression *d, rapt_message *why)
{
    enum { START = 1 << 16 };
    const uint64_t max = rapt__inflated_max(d->source);
    uint64_t more = d->capacity ? 2 * (uint64_t)d->capacity : d->source->size + START;
    if (more > max) more = max;
    if (d->size >= more) return rapt__inflated_check(d->source, (uint64_t)d->size + 1, why);
    return more < SIZE_MAX ? resize(d, (size_t)more, why) : no_memory(d->source, why);
}

static rapt_status explain(const struct disk_source *source, size_t code, rapt_message *why)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation:
        return no_memory(source, why);
    case ZSTD_error_frameParameter_windowTooLarge:
        return rapt__fail(why, RAPT_BAD_FILE,
                          "%s: the zstd file needs more memory than any model should; if you trust "
                          "the file, decompress it first",
                          source->label.text);
    default:
        return rapt__fail(why, RAPT_BAD_FILE, "%s: the zstd file is damaged", source->label.text);
    }
}

/* Decompresses the next `size` bytes of the file. */
static rapt_status feed(ZSTD_DCtx *context, struct decompression *d, const unsigned char *packed,
                        size_t size, rapt_message *why)
{
    ZSTD_inBuffer in = {packed, size, 0};
    do {
        if (d->size == d->capacity) {
            rapt_status status = grow(d, why);
            if (status) return status;
        }
        ZSTD_outBuffer out = {d->data, d->capacity, d->size};
        d->frame_left = ZSTD_decompressStream(context, &out, &in);
        if (ZSTD_isError(d->frame_left)) return explain(d->source, d->frame_left, why);
        d->size = out.pos;
    } while (in.pos < in.size || (d->frame_left > 0 && d->size == d->capacity));
    return RAPT_OK;
}

/* Limits the window size of frames to the maximum size of the result, rounded up to a power of two,
   but at least 8 MB and at most 128 MB. Level 19, the highest one without --ultra, uses 8 MB. */
static void limit_window(ZSTD_DCtx *context, const struct disk_source *source)
{
    int bits = 23;
    while (bits < 27 && (uint64_t)1 << bits < rapt__inflated_max(source)) bits++;
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, bits);
}

static rapt_status decompress(struct decompression *d, rapt_message *why)
{
    unsigned char packed[1 << 14];
    rapt_allocator own = rapt__allocator(d->allocator);
    const ZSTD_customMem memory = {zstd_allocate, zstd_release, &own};
    ZSTD_DCtx *context = ZSTD_createDCtx_advanced(memory);
    if (!context) return no_memory(d->source, why);
    limit_window(context, d->source);
    rapt_status status = RAPT_OK;
    for (uint64_t at = 0; at < d->source->size && !status;) {
        const size_t now =
            d->source->size - at < sizeof packed ? (size_t)(d->source->size - at) : sizeof packed;
        status = rapt__disk_read(d->source, at, packed, now, why);
        if (!status) status = feed(context, d, packed, now, why);
        at += now;
    }
    ZSTD_freeDCtx(context);
    if (!status && d->frame_left > 0)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: the zstd file is truncated",
                          d->source->label.text);
    return status;
}

rapt_status rapt__zstd_inflate(const struct disk_source *source, unsigned char **data,
                               uint64_t *size, const rapt_allocator *allocator, rapt_message *why)
{
    struct decompression d = {.source = source, .allocator = allocator};
    rapt_status status = decompress(&d, why);
    if (!status) status = resize(&d, rapt__max_size(d.size, 1), why);
    if (status) {
        rapt__free(allocator, d.data, d.capacity);
        return status;
    }
    *data = d.data, *size = d.size;
    return RAPT_OK;
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
