/* decode.c - converts ids to text. spm_space becomes a space, except for the spm_space that
   normalization inserts, which is dropped. Byte pieces are joined into UTF-8 characters, and a byte
   that is not part of a character becomes U+FFFD. Control pieces are dropped. Finally the
   denormalizer's rules are applied, if the model has any. */
#include "text/sentencepiece/sentencepiece.h"

#include <string.h>

struct writer {
    char *bytes; /* [capacity] */
    size_t capacity, size;
};

static void write_bytes(struct writer *to, const char *bytes, size_t size)
{
    size_t space = to->size < to->capacity ? to->capacity - to->size : 0;
    size_t part = rapt__min_size(size, space);
    if (to->bytes && part > 0) memcpy(to->bytes + to->size, bytes, part);
    to->size += size;
}

static const struct spm_piece *piece_of(const struct spm *spm, int32_t id)
{
    return &spm->pieces[spm->pieces[id].reading];
}

rapt_text rapt__spm_join_bytes(const char *bytes, size_t size, size_t *used)
{
    uint32_t code;
    size_t length = rapt__utf8_decode(bytes, size, &code);
    *used = rapt__max_size(length, 1);
    return length ? (rapt_text){bytes, length} : (rapt_text){"\xEF\xBF\xBD", 3};
}

/* Writes the character formed by the leading byte pieces and returns the number of pieces used. */
static size_t write_character(const struct spm *spm, const int32_t *ids, size_t count,
                              struct writer *to)
{
    char bytes[CHARACTER_BYTES];
    size_t size = 0, used;
    for (; size < CHARACTER_BYTES && size < count; size++) {
        if (piece_of(spm, ids[size])->type != SPM_BYTE) break;
        bytes[size] = *rapt__spm_surface(spm, ids[size]).bytes;
    }
    const rapt_text text = rapt__spm_join_bytes(bytes, size, &used);
    write_bytes(to, text.bytes, text.size);
    return used;
}

/* Writes a piece that is not a byte piece. `front` is true as long as nothing has been written and
   a space may be dropped. Returns true if a space was dropped and no further space may be
   dropped. */
static bool write_piece(const struct spm *spm, int32_t id, bool front, struct writer *to)
{
    const struct spm_normalizer *n = &spm->normalizer;
    const struct spm_piece *piece = piece_of(spm, id);
    rapt_text surface = rapt__spm_surface(spm, id);
    bool text = piece->type != SPM_CONTROL && piece->type != SPM_UNKNOWN;
    bool drop = text && front && (n->dummy_prefix || n->trim_spaces) &&
                piece->size >= SPM_SPACE_SIZE &&
                memcmp(piece->bytes, spm_space, SPM_SPACE_SIZE) == 0;
    if (drop) surface.bytes++, surface.size--;
    write_bytes(to, surface.bytes, surface.size);
    return drop && !n->trim_spaces;
}

static void write_all(const struct spm *spm, const int32_t *ids, size_t count, struct writer *to)
{
    bool front = true, dropped = false;
    for (size_t i = 0; i < count;) {
        if (piece_of(spm, ids[i])->type == SPM_BYTE) {
            i += write_character(spm, ids + i, count - i, to);
            continue;
        }
        if (dropped || to->size > 0) front = false;
        dropped = write_piece(spm, ids[i++], front, to);
    }
}

/* Applies the denormalizer's rules. */
static rapt_status denormalize(const struct spm *spm, const int32_t *ids, size_t count,
                               struct writer *to)
{
    struct writer first = {0};
    write_all(spm, ids, count, &first);
    size_t size = first.size;
    if (size == 0) return RAPT_OK;
    first = (struct writer){rapt__alloc(&spm->allocator, size), size, 0};
    if (!first.bytes) return RAPT_NO_MEMORY;
    write_all(spm, ids, count, &first);
    struct spm_normalized out = {.allocator = spm->allocator};
    rapt_status status =
        rapt__spm_normalize(&spm->denormalizer, (rapt_text){first.bytes, size}, false, &out);
    if (!status) write_bytes(to, out.bytes, out.size);
    rapt__spm_normalized_free(&out);
    rapt__free(&spm->allocator, first.bytes, size);
    return status;
}

rapt_status rapt__spm_decode(const struct spm *spm, const int32_t *ids, size_t count, char *bytes,
                             size_t capacity, size_t *size, rapt_message *why)
{
    struct writer to = {bytes, capacity, 0};
    rapt_status status = RAPT_OK;
    if (spm->denormalizer.map.count)
        status = denormalize(spm, ids, count, &to);
    else
        write_all(spm, ids, count, &to);
    if (status == RAPT_NO_MEMORY) return rapt__fail(why, status, "no memory to decode text");
    if (status) return rapt__fail(why, status, "a text of %zu tokens is too long", count);
    *size = to.size;
    if (to.size <= capacity) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but the tokens have %zu bytes",
                      capacity, to.size);
}
