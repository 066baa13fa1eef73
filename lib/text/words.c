/* words.c - finds where words end, and counts how often each word occurs in texts. */
#include "text/text.h"

#include <string.h>

/* ---- ends of words, for learning and encoding ----

   A word is a run of letters, of digits or of other bytes, together with the space before it, if
   any. Any other space is a word by itself. Bytes of 0x80 or more count as letters, except those of
   U+2000..U+207F (dashes, quotes), which count as other bytes. A word longer than RAPT__WORD_MAX
   bytes is split after that many bytes, or up to three bytes earlier so that no character is
   cut. */

enum kind { SPACE, LETTER, DIGIT, MARK };

static enum kind kind_at(const char *bytes, size_t size, size_t at, size_t *length)
{
    unsigned char byte = (unsigned char)bytes[at];
    *length = 1;
    if (byte == ' ') return SPACE;
    if (byte >= '0' && byte <= '9') return DIGIT;
    if ((byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')) return LETTER;
    if (byte < 0x80) return MARK;
    bool general_punctuation = byte == 0xE2 && size - at >= 3 &&
                               ((unsigned char)bytes[at + 1] & 0xFE) == 0x80 &&
                               rapt__utf8_continues(bytes[at + 2]);
    if (general_punctuation) *length = 3;
    return general_punctuation ? MARK : LETTER;
}

static size_t shortened(const char *bytes, size_t at)
{
    size_t end = at + RAPT__WORD_MAX;
    for (int back = 0; back < 4; back++)
        if (!rapt__utf8_continues(bytes[end - (size_t)back])) return end - (size_t)back;
    return end;
}

size_t rapt__word_end(const char *bytes, size_t size, size_t at)
{
    size_t end = bytes[at] == ' ' ? at + 1 : at, length;
    if (end == size) return end;
    enum kind kind = kind_at(bytes, size, end, &length);
    if (kind == SPACE) return end;
    do {
        end += length;
        if (end - at > RAPT__WORD_MAX) return shortened(bytes, at);
    } while (end < size && kind_at(bytes, size, end, &length) == kind);
    return end;
}

/* ---- word types: the distinct words of texts and their counts, in a hash table with linear
   probing ---- */

static size_t slot_of_word(const struct word_types *types, uint32_t hash, const char *bytes,
                           size_t size)
{
    for (size_t slot = hash & (types->slots - 1);; slot = (slot + 1) & (types->slots - 1)) {
        if (types->table[slot] == 0) return slot;
        const struct word_type *type = &types->types[types->table[slot] - 1];
        if (type->hash == hash && type->size == size && memcmp(type->bytes, bytes, size) == 0)
            return slot;
    }
}

static rapt_status widen(struct word_types *types)
{
    size_t slots = types->slots ? 2 * types->slots : 1024;
    uint32_t *table = rapt__alloc(types->allocator, slots * sizeof *table);
    if (!table) return RAPT_NO_MEMORY;
    memset(table, 0, slots * sizeof *table);
    rapt__free(types->allocator, types->table, types->slots * sizeof *table);
    types->table = table;
    types->slots = slots;
    for (size_t i = 0; i < types->count; i++) {
        const struct word_type *type = &types->types[i];
        types->table[slot_of_word(types, type->hash, type->bytes, type->size)] = (uint32_t)i + 1;
    }
    return RAPT_OK;
}

static rapt_status count_word(struct word_types *types, const char *bytes, size_t size)
{
    if (2 * types->count >= types->slots && widen(types)) return RAPT_NO_MEMORY;
    uint32_t hash = rapt__hash_from(types, bytes, size);
    size_t slot = slot_of_word(types, hash, bytes, size);
    if (types->table[slot] == 0) {
        if (types->count == UINT32_MAX - 1) return RAPT_NO_MEMORY;
        if (types->count == types->capacity) {
            void *grown =
                rapt__grown(types->allocator, types->types, &types->capacity, sizeof *types->types);
            if (!grown) return RAPT_NO_MEMORY;
            types->types = grown;
        }
        types->types[types->count] = (struct word_type){bytes, 0, hash, (uint32_t)size};
        types->table[slot] = (uint32_t)++types->count;
    }
    types->types[types->table[slot] - 1].count++;
    return RAPT_OK;
}

rapt_status rapt__word_types_create(struct word_types *types, const rapt_text *texts, size_t count,
                                    const rapt_allocator *allocator)
{
    *types = (struct word_types){.allocator = allocator};
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0, end; at < texts[i].size; at = end) {
            end = rapt__word_end(texts[i].bytes, texts[i].size, at);
            if (count_word(types, texts[i].bytes + at, end - at)) {
                rapt__word_types_free(types);
                return RAPT_NO_MEMORY;
            }
        }
    }
    return RAPT_OK;
}

void rapt__word_types_free(struct word_types *types)
{
    rapt__free(types->allocator, types->types, types->capacity * sizeof *types->types);
    rapt__free(types->allocator, types->table, types->slots * sizeof *types->table);
    *types = (struct word_types){.allocator = types->allocator};
}
