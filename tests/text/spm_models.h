/* spm_models.h - crafted SentencePiece models, one for each kind and set of options, and texts that
   are hard for them. */
#ifndef RAPT_TESTS_TEXT_SPM_MODELS_H
#define RAPT_TESTS_TEXT_SPM_MODELS_H

#include "format/format.h"
#include "help.h"
#include "text/sentencepiece/sentencepiece.h"

/* ---- bytes: writes the protobuf bytes of SentencePiece models for tests, with any pieces, options
   and normalization rules, including some that no trainer writes. ---- */

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

/* ---- models: crafted SentencePiece models, one for each kind and set of options, for the tests
   that compare them with the reference, and texts that are hard for them. ---- */

#define SPACE "\xE2\x96\x81"

enum { DUMMY_PREFIX = 3, TRIM = 4, ESCAPE = 5 }; /* fields of normalizer_spec */

/* Rules that replace, lengthen, delete, make spaces and have common prefixes. */
static const struct craft_rule crafted_rules[] = {
    {"\xEF\xAC\x81", "fi"}, /* the ligature */
    {"\xE3\x80\x80", " "},  /* the ideographic space */
    {"\t", " "},
    {"\xC2\xAD", ""},           /* the soft hyphen */
    {"e\xCC\x81", "\xC3\xA9"},  /* e and an accent */
    {"e\xCC\x81\xCC\xA7", "E"}, /* and a cedilla */
    {"\xE2\x84\xA2", " TM "},
    {"x\xC2\xBD", "x 1/2"},
    {"\xF0\x9F\x98\x80", ":) :)"}, /* an emoji */
};

static inline void craft_normalizer(struct craft *model, unsigned field, bool rules,
                                    const unsigned *off, size_t count)
{
    static struct craft spec, map;
    spec.size = map.size = 0;
    if (rules) {
        craft_charsmap(&map, crafted_rules, sizeof crafted_rules / sizeof *crafted_rules);
        craft_message(&spec, 2, &map);
    }
    for (size_t i = 0; i < count; i++) craft_number(&spec, off[i], 0);
    craft_message(model, field, &spec);
}

static inline void craft_trainer(struct craft *model, enum spm_kind kind, bool suffix, bool bytes)
{
    static struct craft spec;
    spec.size = 0;
    if (kind != SPM_UNIGRAM) craft_number(&spec, 3, kind);
    if (suffix) craft_number(&spec, 24, 1);
    if (bytes) craft_number(&spec, 35, 1);
    craft_message(model, 2, &spec);
}

/* Adds words and their parts, with ties, prefixes of each other, unused and user-defined ones. */
static inline void craft_vocabulary(struct craft *model)
{
    static const struct {
        const char *text;
        float score;
        unsigned type;
    } pieces[] = {
        {SPACE, -2, 0},
        {"a", -3, 0},
        {"b", -3.5f, 0},
        {"c", -3.25f, 0},
        {"ab", -4, 0},
        {"bc", -4, 0},
        {"abc", -6.5f, 0},
        {SPACE "a", -3.5f, 0},
        {SPACE "abc", -7, 0},
        {"f", -5, 0},
        {"i", -5, 0},
        {"fi", -5, 0},
        {"T", -6, 0},
        {"M", -6, 0},
        {"TM", -7, SPM_UNUSED},
        {SPACE "TM", -9, 0},
        {"1/2", -8, 0},
        {"x", -4, 0},
        {"x" SPACE "1", -9.5f, 0},
        {"<user>", 0, SPM_USER_DEFINED},
        {"bcb", 0, SPM_USER_DEFINED},
        {"\xC3\xA9", -6, 0},
        {":)", -5, SPM_UNUSED},
        {":", -7, 0},
        {")", -7, 0},
        {"aa", -4.5f, 0},
        {"aaaa", -5, SPM_UNUSED},
        {"aaa", -6, 0},
        {"\xE6\x97\xA5", -7, 0},
        {"\xE6\x97\xA5\xE6\x9C\xAC", -8, 0},
        {"1", -5, 0},
        {"/", -6, 0},
        {SPACE SPACE, -3, 0},
        {"E", -9, 0},
        {" ", -2.5f, 0},
        {"x ", -5.5f, 0},
        {"bcba", -3, 0},
        {"a<user>", -3, 0},
    };
    craft_specials(model);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        craft_piece(model, pieces[i].text, pieces[i].score, pieces[i].type);
}

enum { CRAFTED_MODELS = 12 };

/* Writes crafted model `number` of 0 .. CRAFTED_MODELS - 1. */
static inline void craft_model(struct craft *model, size_t number)
{
    static const unsigned raw[] = {DUMMY_PREFIX, TRIM, ESCAPE};
    static const struct {
        enum spm_kind kind;
        bool rules, suffix, bytes, denormalizer;
        unsigned first, count; /* range of the options in `raw` that are switched off */
    } models[CRAFTED_MODELS] = {
        {SPM_UNIGRAM, true, false, false, false, 0, 0},
        {SPM_BPE, true, false, false, false, 0, 0},
        {SPM_WORD, true, false, false, false, 0, 0},
        {SPM_CHARACTER, true, false, false, false, 0, 0},
        {SPM_UNIGRAM, true, true, true, false, 0, 0},
        {SPM_BPE, false, false, true, false, 1, 1},
        {SPM_UNIGRAM, true, false, false, false, 0, 3},
        {SPM_WORD, false, false, true, false, 1, 1},
        {SPM_CHARACTER, true, true, false, true, 2, 1},
        {SPM_BPE, true, true, false, true, 0, 1},
        {SPM_UNIGRAM, false, true, false, false, 1, 1},
        {SPM_BPE, true, false, false, false, 0, 3},
    };
    model->size = 0;
    craft_vocabulary(model);
    if (models[number].bytes) craft_byte_pieces(model);
    craft_trainer(model, models[number].kind, models[number].suffix, models[number].bytes);
    craft_normalizer(model, 3, models[number].rules, raw + models[number].first,
                     models[number].count);
    if (models[number].denormalizer) craft_normalizer(model, 5, true, raw, 3);
}

/* Writes a text of at most `parts` parts without line breaks: pieces that the models know and parts
   that are hard for any. Returns its size. */
static inline size_t hard_text(uint64_t *state, size_t parts, char *out)
{
    static const char *const known[] = {
        "a",
        "b",
        "c",
        "abc",
        "aaaaa",
        "bcb",
        "<user>",
        " ",
        "  ",
        "x",
        "TM",
        "fi",
        ":)",
        "1/2",
        SPACE,
        SPACE SPACE,
        "\xEF\xAC\x81",
        "\xE3\x80\x80",
        "\t",
        "\xC2\xAD",
        "e\xCC\x81",
        "e\xCC\x81\xCC\xA7",
        "e\xCC",
        "\xE2\x84\xA2",
        "x\xC2\xBD",
        "\xF0\x9F\x98\x80",
        "\xE6\x97\xA5",
        "\xE6\x97\xA5\xE6\x9C\xAC",
        "<unk>",
        "<s>",
        "</s>",
        "<0x41>",
        "\xE2\x96",
        "\xC0\x80",
        "\xED\xA0\x80",
        "\xF4\x90\x80\x80",
        "\xFF",
        "\xEF\xB7\xBA",
        "\xEF\xBC\xA1",
        "\xEF\xBD\xB6\xEF\xBE\x9E",
        "\xCD\x85",
        "\xE2\x80\x8B",
        "\xEF\xBB\xBF",
        "\xC2\x85",
        "\x01",
        "\x7F",
        "\r",
        "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9",
        "\xE2\x91\xB3",
        "\xEF\xB7\xBA",
        "\xE1\xB8\x8B\xCC\xA3",
        "\xF0\xAF\xA0\x80",
        "\xE2\x81\x87",
        "the",
        "Haus",
        ",",
        "\xC3\x9F",
    };
    static const struct {
        uint32_t first, count;
    } ranges[] = {
        {0x20, 0x5F},        {0xA0, 0x1B0},    {0x300, 0x70},    {0x370, 0x390},  {0x900, 0x80},
        {0x1100, 0x100},     {0x1E00, 0x100},  {0x2000, 0x70},   {0x2100, 0x90},  {0x2460, 0xA0},
        {0x3000, 0x400},     {0x4E00, 0x5200}, {0xAC00, 0x2BA4}, {0xF900, 0x700}, {0xFF00, 0xF0},
        {0x1D400, 0x400},    {0x1F300, 0x400}, {0x2F800, 0x21E}, {0xE0000, 0x80}, {1, 9},
        {0x10000, 0x100000},
    };
    size_t size = 0, count = below(state, parts + 1);
    for (size_t i = 0; i < count; i++) {
        size_t kind = below(state, 10);
        if (kind < 4) {
            const char *part = known[below(state, sizeof known / sizeof *known)];
            memcpy(out + size, part, strlen(part));
            size += strlen(part);
        } else if (kind < 9) {
            size_t range = below(state, sizeof ranges / sizeof *ranges);
            uint32_t code = ranges[range].first + (uint32_t)below(state, ranges[range].count);
            size += rapt__utf8_encode(code, out + size);
        } else {
            char byte = (char)below(state, 256);
            out[size++] = byte == '\n' ? ' ' : byte;
        }
    }
    return size;
}
enum { HARD_PART = 12 }; /* largest size of a part in bytes */

#endif
