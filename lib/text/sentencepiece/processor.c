/* processor.c - creates and frees a processor, and converts text to ids and back. The processor
   keeps the bytes of the model, because pieces point into them and rapt's model files store
   them. */
#include "text/sentencepiece/sentencepiece.h"

#include <string.h>

static void lay_out_pieces(struct spm *spm, struct arena *arena)
{
    size_t count = (size_t)spm->count;
    spm->pieces = rapt__arena_take(arena, count, sizeof *spm->pieces);
    spm->scores = rapt__arena_take(arena, count, sizeof *spm->scores);
    spm->surface = rapt__arena_take(arena, count + 1, sizeof *spm->surface);
}

static rapt_status fill_processor(struct spm *spm, const void *bytes, size_t size,
                                  rapt_message *why)
{
    struct arena arena = {0};
    spm->file = rapt__alloc(&spm->allocator, size);
    if (!spm->file && size > 0)
        return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a SentencePiece model");
    spm->file_size = size;
    if (size > 0) memcpy(spm->file, bytes, size);
    rapt_status status = rapt__spm_read(spm, why);
    if (status) return status;
    lay_out_pieces(spm, &arena);
    status = rapt__arena_reserve(&arena, &spm->allocator);
    if (status) return rapt__fail(why, status, "no memory for %d pieces", spm->count);
    lay_out_pieces(spm, &arena);
    spm->arena = arena;
    status = rapt__spm_read(spm, why);
    if (!status) status = rapt__spm_index(spm, why);
    if (status) return status;
    if (spm->kind == SPM_UNIGRAM && rapt__trie_empty(&spm->chosen))
        return rapt__fail(why, RAPT_BAD_FILE, "the model has no normal piece");
    if (!rapt__trie_empty(&spm->user)) spm->normalizer.untouched = &spm->user;
    status = rapt__spm_normalizer_create(&spm->normalizer, &spm->allocator, why);
    if (status) return status;
    spm->spread = rapt__spm_normalizer_spread(&spm->normalizer, spm->byte_fallback);
    return rapt__spm_normalizer_create(&spm->denormalizer, &spm->allocator, why);
}

rapt_status rapt__spm_create(struct spm **created, const void *bytes, size_t size,
                             const rapt_allocator *allocator, rapt_message *why)
{
    rapt_allocator memory = rapt__allocator(allocator);
    struct spm *spm = rapt__alloc(&memory, sizeof *spm);
    if (!spm) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a SentencePiece model");
    *spm = (struct spm){.allocator = memory};
    rapt_status status = fill_processor(spm, bytes, size, why);
    if (status)
        rapt__spm_free(spm);
    else
        *created = spm;
    return status;
}

void rapt__spm_free(struct spm *spm)
{
    if (!spm) return;
    rapt_allocator memory = spm->allocator;
    rapt__charsmap_free(&spm->normalizer.map, &memory);
    rapt__charsmap_free(&spm->denormalizer.map, &memory);
    rapt__trie_free(&spm->chosen, &memory);
    rapt__trie_free(&spm->reserved, &memory);
    rapt__trie_free(&spm->user, &memory);
    if (spm->surfaces) rapt__free(&memory, spm->surfaces, spm->surface[spm->count]);
    rapt__arena_free(&spm->arena, &memory);
    rapt__free(&memory, spm->file, spm->file_size);
    rapt__free(&memory, spm, sizeof *spm);
}

/* ---- encoding ----

   Normalizes text and segments it according to the model's kind. Adjacent unknown pieces are joined
   into one or, with byte_fallback, replaced by byte pieces. */

/* Records where the last token ends, in the text and in the normalized text. */
static void put_end(struct spm_output *out, size_t end, size_t inner)
{
    size_t at = out->count - 1;
    if (at >= out->capacity) return;
    if (out->ends) out->ends[at] = end;
    if (out->inner) out->inner[at] = inner;
}

static void put_id(struct spm_output *out, int32_t id, size_t end, size_t inner)
{
    size_t at = out->count++;
    if (at < out->capacity) out->ids[at] = id;
    put_end(out, end, inner);
}

void rapt__spm_put(struct spm_output *out, size_t start, size_t end, int32_t id)
{
    const struct spm *spm = out->spm;
    const uint32_t *origin = out->text->origin;
    bool before = out->unknown;
    size_t from = origin ? origin[start] : 0, to = origin ? origin[end] : 0;
    out->unknown = id == spm->unknown;
    if (out->unknown && spm->byte_fallback) {
        for (size_t i = start; i < end; i++)
            put_id(out, spm->bytes[(unsigned char)out->text->bytes[i]], i + 1 < end ? from : to,
                   i + 1);
    } else if (out->unknown && before) {
        put_end(out, to, end);
    } else {
        put_id(out, id, to, end);
    }
}

size_t rapt__spm_bound(const struct spm *spm, size_t bytes)
{
    size_t bound;
    if (!rapt__times(bytes, spm->spread, &bound)) return SIZE_MAX;
    return rapt__plus(bound, SPM_SPACE_SIZE, &bound) ? bound : SIZE_MAX;
}

rapt_status rapt__spm_encode_normalized(struct spm_output *out)
{
    if (out->text->size == 0) return RAPT_OK;
    switch (out->spm->kind) {
    case SPM_UNIGRAM:
        return rapt__spm_unigram(out);
    case SPM_BPE:
        return rapt__spm_bpe(out);
    case SPM_WORD:
        rapt__spm_words(out);
        return RAPT_OK;
    case SPM_CHARACTER:
        break;
    }
    rapt__spm_characters(out);
    return RAPT_OK;
}

rapt_status rapt__spm_encode(const struct spm *spm, rapt_text text, int32_t *ids, size_t *ends,
                             size_t capacity, size_t *count, rapt_message *why)
{
    struct spm_normalized normalized = {.allocator = spm->allocator};
    struct spm_output out = {
        .spm = spm, .text = &normalized, .ids = ids, .ends = ends, .capacity = capacity};
    rapt_status status = rapt__spm_normalize(&spm->normalizer, text, ends != NULL, &normalized);
    if (!status) status = rapt__spm_encode_normalized(&out);
    rapt__spm_normalized_free(&normalized);
    if (status == RAPT_NO_MEMORY)
        return rapt__fail(why, status, "not enough memory to encode text");
    if (status) return rapt__fail(why, status, "the text is too long (%zu bytes)", text.size);
    *count = out.count;
    if (out.count <= capacity) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but the text has %zu tokens",
                      capacity, out.count);
}

/* ---- decoding ----

   spm_space becomes a space, except for the one that normalization inserts, which is dropped. Byte
   pieces are joined into UTF-8 characters, and a byte that is not part of a character becomes
   U+FFFD. Control pieces are dropped, and the unknown piece becomes the text that the model
   defines. Finally the denormalizer's rules are applied, if the model has any. */

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
    if (status == RAPT_NO_MEMORY)
        return rapt__fail(why, status, "not enough memory to decode text");
    if (status) return rapt__fail(why, status, "the text is too long (%zu tokens)", count);
    *size = to.size;
    if (to.size <= capacity) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but the tokens have %zu bytes",
                      capacity, to.size);
}
