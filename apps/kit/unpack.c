/* unpack.c - reads files that may be compressed, in a format that their first bytes identify. A
   file may consist of several members, such as one made by cat or bgzip. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "kit/text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 1 << 16, MAGIC = 4, RATIO = 100, MORE = 1 << 24 };

static const struct magic {
    const char *bytes; /* '?' stands for 0x50 to 0x5F */
    size_t size;
    const struct packing *packing;
} magics[] = {
    {"\x1F\x8B", 2, &packing_gzip},
    {"\x28\xB5\x2F\xFD", 4, &packing_zstd},
    {"?\x2A\x4D\x18", 4, &packing_zstd}, /* a skippable frame; files of pzstd begin with one */
};

const struct packing *packing_of(const char *name)
{
    static const struct packing *const all[] = {&packing_gzip, &packing_zstd};
    const size_t size = strlen(name);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t end = strlen(all[i]->suffix);
        if (size > end && strcmp(name + size - end, all[i]->suffix) == 0) return all[i];
    }
    return NULL;
}

/* Returns the format of a compressed file that begins with these bytes, or NULL. Sets *unknown to
   true if that depends on further bytes. */
static const struct packing *recognize(const unsigned char *bytes, size_t size, bool *unknown)
{
    *unknown = false;
    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
        const struct magic *m = &magics[i];
        size_t same = 0;
        while (same < size && same < m->size &&
               (m->bytes[same] == '?' ? bytes[same] >> 4 == 5
                                      : bytes[same] == (unsigned char)m->bytes[same]))
            same++;
        if (m->packing->open != NULL && same == m->size) return m->packing;
        *unknown = *unknown || (m->packing->open != NULL && same == size);
    }
    return NULL;
}

bool is_packed(const char *bytes, size_t size)
{
    bool unknown;
    return recognize((const unsigned char *)bytes, size, &unknown) != NULL;
}

void unpack_open(struct unpack *unpack, int file)
{
    *unpack = (struct unpack){.file = file};
}

void unpack_close(struct unpack *unpack)
{
    if (unpack->state != NULL) unpack->packing->close(unpack->state);
    free(unpack->in);
    unpack->state = unpack->in = NULL;
}

/* Appends more bytes of the file to u->in. */
static ssize_t read_in(struct unpack *u)
{
    if (u->in == NULL) u->in = xreallocarray(NULL, AT_ONCE, 1);
    const ssize_t got = read(u->file, u->in + u->size, AT_ONCE - u->size);
    if (got > 0) u->size += (size_t)got, u->read += (uint64_t)got;
    return got;
}

/* Reads until it is clear whether the file is compressed. */
static int begin(struct unpack *u)
{
    bool unknown = true;
    while (!u->begun) {
        const ssize_t got = read_in(u);
        if (got < 0) return -1;
        u->packing = recognize(u->in, u->size, &unknown);
        u->begun = got == 0 || u->packing != NULL || !unknown;
    }
    if (u->packing == NULL) return 0;
    u->state = u->packing->open();
    if (u->state == NULL) exit(failed("out of memory"));
    return 0;
}

static ssize_t refuse(struct unpack *u, const char *wrong)
{
    u->wrong = wrong;
    errno = EIO;
    return -1;
}

/* Copies bytes that were read to recognize the file, or reads more. */
static ssize_t read_plain(struct unpack *u, void *bytes, size_t size)
{
    size_t left = u->size - u->at;
    if (left == 0) {
        const ssize_t got = read(u->file, bytes, size);
        if (got > 0) u->read += (uint64_t)got, u->made = u->read;
        return got;
    }
    if (left > size) left = size;
    memcpy(bytes, u->in + u->at, left);
    u->at += left, u->made += left;
    return (ssize_t)left;
}

/* Decodes bytes that have been read. Returns the number of bytes made, or -1. */
static ssize_t decode(struct unpack *u, void *bytes, size_t size)
{
    struct span_in in = {u->in + u->at, u->size - u->at};
    struct span_out out = {bytes, size};
    enum unpacked now = UNPACKED_WITHIN;
    while (out.size > 0 && (in.size > 0 || u->full)) {
        const size_t before = in.size + out.size;
        now = u->packing->decode(u->state, &in, &out);
        if (now == UNPACKED_WRONG) return refuse(u, "its compressed data is damaged");
        if (in.size + out.size == before) break;
        u->within = now != UNPACKED_END;
    }
    u->full = out.size == 0;
    u->at = u->size - in.size;
    u->made += size - out.size;
    if (u->made > RATIO * u->read + MORE)
        return refuse(u, "it inflates to more than 100 times its size; if you trust the file, "
                         "decompress it first");
    return (ssize_t)(size - out.size);
}

ssize_t unpack_read(struct unpack *u, void *bytes, size_t size)
{
    if (u->wrong != NULL) return refuse(u, u->wrong);
    if (!u->begun && begin(u) < 0) return -1;
    if (u->packing == NULL) return read_plain(u, bytes, size);
    for (;;) {
        const ssize_t made = decode(u, bytes, size);
        if (made != 0) return made;
        u->at = u->size = 0;
        const ssize_t got = read_in(u);
        if (got == 0 && u->within) return refuse(u, "its compressed data is cut off");
        if (got <= 0) return got;
    }
}

bool unpack_ready(const struct unpack *u)
{
    return u->at < u->size || u->full;
}

const char *unpack_error(const struct unpack *u, int error)
{
    return u->wrong != NULL ? u->wrong : strerror(error);
}

double unpack_ratio(const struct unpack *u)
{
    return u->packing != NULL && u->read > 0 ? (double)u->made / (double)u->read : 1;
}

/* ---- gzip (RFC 1952) by zlib ---- */

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

/* ---- zstd (RFC 8878) by libzstd ---- */

#ifdef RAPT_HAVE_ZSTD

#include <stdlib.h>
#include <zstd.h>

static void *zstd_open(void)
{
    return ZSTD_createDCtx();
}

static enum unpacked zstd_decode(void *state, struct span_in *in, struct span_out *out)
{
    ZSTD_inBuffer from = {in->bytes, in->size, 0};
    ZSTD_outBuffer to = {out->bytes, out->size, 0};
    const size_t left = ZSTD_decompressStream(state, &to, &from);
    if (ZSTD_isError(left)) return UNPACKED_WRONG;
    in->bytes += from.pos, in->size -= from.pos;
    out->bytes += to.pos, out->size -= to.pos;
    return left == 0 ? UNPACKED_END : UNPACKED_WITHIN;
}

static void zstd_close(void *state)
{
    ZSTD_freeDCtx(state);
}

static char *zstd_pack(const char *bytes, size_t size, size_t *packed)
{
    const size_t room = ZSTD_compressBound(size);
    char *to = malloc(room);
    if (to == NULL) return NULL;
    *packed = ZSTD_compress(to, room, bytes, size, ZSTD_CLEVEL_DEFAULT);
    if (!ZSTD_isError(*packed)) return to;
    free(to);
    return NULL;
}

const struct packing packing_zstd = {"zstd", ".zst", zstd_open, zstd_decode, zstd_close, zstd_pack};

#else

const struct packing packing_zstd = {.name = "zstd", .suffix = ".zst"};

#endif
