/* inflate.c - a deflated member of a zip file goes in, its bytes come out, by zlib with the
   caller's memory. */
#include "zip.h"

#ifdef RAPT_HAVE_ZLIB

#include <limits.h>
#include <stdalign.h>
#include <stddef.h>
#include <zlib.h>

enum { AT_ONCE = 16384, INFLATED_MAX = 1 << 30 }; /* bytes for one call of zlib: in, out */

/* zlib frees without a size: it stands before the memory. */
static void *take(void *user, unsigned items, unsigned size)
{
    size_t bytes;
    const size_t before = rapt__round_up_size(sizeof bytes, alignof(max_align_t));
    if (!rapt__times(items, size, &bytes) || !rapt__plus(bytes, before, &bytes)) return Z_NULL;
    char *memory = rapt__alloc(user, bytes);
    if (!memory) return Z_NULL;
    *(size_t *)(void *)memory = bytes;
    return memory + before;
}

static void give(void *user, void *memory)
{
    char *start = (char *)memory - rapt__round_up_size(sizeof(size_t), alignof(max_align_t));
    rapt__free(user, start, *(size_t *)(void *)start);
}

static rapt_status bad(const struct disk_source *source, const struct zip_member *member,
                       const char *what, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_FILE, "%s: member \"%s\": %s", source->label.text,
                      rapt__shown(member->name).text, what);
}

/* Feeds the member to zlib until it ends; its checksum in *sum. */
static rapt_status run(z_stream *stream, const struct disk_source *source,
                       const struct zip_member *member, unsigned char *data, rapt_message *why)
{
    unsigned char chunk[AT_ONCE];
    uint64_t read = 0, left = member->size;
    uLong sum = crc32(0, Z_NULL, 0);
    stream->next_out = data;
    for (int result = Z_OK; result != Z_STREAM_END;) {
        if (stream->avail_in == 0 && read < member->stored) {
            size_t now =
                member->stored - read < AT_ONCE ? (size_t)(member->stored - read) : AT_ONCE;
            rapt_status status = rapt__disk_read(source, member->begin + read, chunk, now, why);
            if (status != RAPT_OK) return status;
            stream->next_in = chunk;
            stream->avail_in = (unsigned)now;
            read += now;
        }
        const unsigned space = left < INFLATED_MAX ? (unsigned)left : INFLATED_MAX;
        unsigned char *from = stream->next_out;
        stream->avail_out = space;
        result = inflate(stream, Z_NO_FLUSH);
        if (result == Z_MEM_ERROR)
            return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory to inflate",
                              source->label.text);
        if (result != Z_OK && result != Z_STREAM_END) return bad(source, member, "is damaged", why);
        sum = crc32(sum, from, space - stream->avail_out);
        left -= space - stream->avail_out;
    }
    if (left > 0 || stream->avail_in > 0 || read < member->stored)
        return bad(source, member, "has another size than the directory says", why);
    return sum == member->sum ? RAPT_OK : bad(source, member, "has another checksum", why);
}

rapt_status rapt__zip_inflate(const struct disk_source *source, const struct zip_member *member,
                              unsigned char *data, const rapt_allocator *allocator,
                              rapt_message *why)
{
    rapt_allocator own = rapt__allocator(allocator);
    z_stream stream = {.zalloc = take, .zfree = give, .opaque = &own};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory to inflate", source->label.text);
    rapt_status status = run(&stream, source, member, data, why);
    inflateEnd(&stream);
    return status;
}

#else

rapt_status rapt__zip_inflate(const struct disk_source *source, const struct zip_member *member,
                              unsigned char *data, const rapt_allocator *allocator,
                              rapt_message *why)
{
    (void)data, (void)allocator;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "%s: member \"%s\": is deflated, and rapt was built without zlib",
                      source->label.text, rapt__shown(member->name).text);
}

#endif
