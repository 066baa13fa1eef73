/* spm_craft.h - writes the protobuf bytes of SentencePiece models for tests, with any pieces,
   options and normalization rules, including some that no trainer writes. */
#ifndef RAPT_TESTS_TEXT_SPM_CRAFT_H
#define RAPT_TESTS_TEXT_SPM_CRAFT_H

#include "format/format.h"
#include "help.h"
#include "text/sentencepiece/sentencepiece.h"

/* A buffer that is appended to. */
struct craft {
    char bytes[1 << 17];
    size_t size;
};

static inline void craft_bytes(struct craft *to, const void *bytes, size_t size)
{
    assert_true(size <= sizeof to->bytes - to->size);
    if (size > 0) memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static inline void craft_varint(struct craft *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) craft_bytes(to, &(char){(char)(value | 0x80)}, 1);
    craft_bytes(to, &(char){(char)value}, 1);
}

static inline void craft_number(struct craft *to, unsigned field, uint64_t value)
{
    craft_varint(to, field << 3 | 0);
    craft_varint(to, value);
}

static inline void craft_string(struct craft *to, unsigned field, const void *bytes, size_t size)
{
    craft_varint(to, field << 3 | 2);
    craft_varint(to, size);
    craft_bytes(to, bytes, size);
}

static inline void craft_float(struct craft *to, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const unsigned char four[] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                                  (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
    craft_varint(to, field << 3 | 5);
    craft_bytes(to, four, 4);
}

static inline void craft_message(struct craft *to, unsigned field, const struct craft *message)
{
    craft_string(to, field, message->bytes, message->size);
}

/* Adds a piece. Type 0 omits the field, as in normal pieces. */
static inline void craft_piece(struct craft *model, const char *text, float score, unsigned type)
{
    static struct craft piece;
    piece.size = 0;
    craft_string(&piece, 1, text, strlen(text));
    craft_float(&piece, 2, score);
    if (type) craft_number(&piece, 3, type);
    craft_message(model, 1, &piece);
}

/* Adds the three special pieces that most models begin with. */
static inline void craft_specials(struct craft *model)
{
    craft_piece(model, "<unk>", 0, SPM_UNKNOWN);
    craft_piece(model, "<s>", 0, SPM_CONTROL);
    craft_piece(model, "</s>", 0, SPM_CONTROL);
}

static inline void craft_byte_pieces(struct craft *model)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        craft_piece(model, name, 0, SPM_BYTE);
    }
}

struct craft_rule {
    const char *from, *to;
};

enum { CRAFT_BLOCKS = 60, CRAFT_UNUSED = 1 << 30 };
struct craft_trie {
    uint32_t units[CRAFT_BLOCKS * 256];
    uint32_t block[CRAFT_BLOCKS * 256]; /* block of a unit's children; 0: none yet */
    uint32_t blocks;
};

/* Finds or adds the child of a unit for a byte. Each unit has its own block of children, which
   makes the simplest double array. */
static inline uint32_t craft_child(struct craft_trie *trie, uint32_t at, unsigned char byte)
{
    if (trie->block[at] == 0) {
        assert_true(trie->blocks < CRAFT_BLOCKS);
        trie->block[at] = trie->blocks++;
        trie->units[at] |= (at ^ (trie->block[at] * 256 + 1)) << 10;
    }
    uint32_t child = (trie->block[at] * 256 + 1) ^ byte;
    if (trie->units[child] >> 31) trie->units[child] = byte;
    return child;
}

/* Adds the precompiled_charsmap of some rules. */
static inline void craft_charsmap(struct craft *to, const struct craft_rule *rules, size_t count)
{
    static struct craft_trie trie;
    static struct craft strings;
    trie = (struct craft_trie){.blocks = 1};
    strings.size = 0;
    for (size_t i = 1; i < sizeof trie.units / sizeof *trie.units; i++)
        trie.units[i] = 1u << 31 | CRAFT_UNUSED;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = 0;
        for (const char *c = rules[i].from; *c; c++) at = craft_child(&trie, at, (unsigned char)*c);
        trie.units[craft_child(&trie, at, 0)] = 1u << 31 | (uint32_t)strings.size;
        trie.units[at] |= 1u << 8;
        craft_bytes(&strings, rules[i].to, strlen(rules[i].to) + 1);
    }
    uint32_t size = trie.blocks * 1024;
    for (int shift = 0; shift < 32; shift += 8) craft_bytes(to, &(char){(char)(size >> shift)}, 1);
    for (size_t i = 0; i < size / 4; i++)
        for (int shift = 0; shift < 32; shift += 8)
            craft_bytes(to, &(char){(char)(trie.units[i] >> shift)}, 1);
    craft_bytes(to, strings.bytes, strings.size);
}

#endif
