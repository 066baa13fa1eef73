/* unpack_zstd.c - zstd (RFC 8878) by libzstd. */
#include "kit/unpack.h"

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
