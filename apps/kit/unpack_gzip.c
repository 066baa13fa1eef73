/* unpack_gzip.c - gzip (RFC 1952) by zlib. */
#include "kit/unpack.h"

#ifdef RAPT_HAVE_ZLIB

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum { GZIP = 15 + 16 }; /* windowBits: the largest window, with gzip's header */

struct inflation {
    z_stream stream;
    bool ended; /* a member has ended */
};

static unsigned part(size_t size)
{
    return size < UINT_MAX ? (unsigned)size : UINT_MAX;
}

static void *gzip_open(void)
{
    struct inflation *i = calloc(1, sizeof *i);
    if (i == NULL || inflateInit2(&i->stream, GZIP) == Z_OK) return i;
    free(i);
    return NULL;
}

static enum unpacked gzip_decode(void *state, struct span_in *in, struct span_out *out)
{
    struct inflation *i = state;
    const unsigned given = part(in->size), room = part(out->size);
    if (i->ended && given == 0) return UNPACKED_END;
    if (i->ended && inflateReset(&i->stream) != Z_OK) return UNPACKED_WRONG;
    i->stream.next_in = (unsigned char *)in->bytes; /* zlib does not change it */
    i->stream.avail_in = given;
    i->stream.next_out = out->bytes;
    i->stream.avail_out = room;
    const int result = inflate(&i->stream, Z_NO_FLUSH);
    i->ended = result == Z_STREAM_END;
    in->bytes += given - i->stream.avail_in, in->size -= given - i->stream.avail_in;
    out->bytes += room - i->stream.avail_out, out->size -= room - i->stream.avail_out;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return UNPACKED_WRONG;
    return i->ended ? UNPACKED_END : UNPACKED_WITHIN;
}

static void gzip_close(void *state)
{
    struct inflation *i = state;
    inflateEnd(&i->stream);
    free(i);
}

static char *gzip_pack(const char *bytes, size_t size, size_t *packed)
{
    z_stream stream = {.next_in = (unsigned char *)bytes};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return NULL;
    const size_t room = deflateBound(&stream, size);
    char *to = malloc(room);
    int result = Z_OK;
    stream.next_out = (unsigned char *)to;
    for (size_t given = 0; to != NULL && result == Z_OK;) {
        if (stream.avail_in == 0) stream.avail_in = part(size - given), given += stream.avail_in;
        stream.avail_out = part(room - stream.total_out);
        result = deflate(&stream, given == size ? Z_FINISH : Z_NO_FLUSH);
    }
    *packed = stream.total_out;
    deflateEnd(&stream);
    return to;
}

const struct packing packing_gzip = {"gzip", ".gz", gzip_open, gzip_decode, gzip_close, gzip_pack};

#else

const struct packing packing_gzip = {.name = "gzip", .suffix = ".gz"};

#endif
