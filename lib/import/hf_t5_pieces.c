/* hf_t5_pieces.c - the pieces of T5's vocabularies, to which extra ids are added. ByT5 has no file:
   its pieces are <pad>, </s>, <unk> and the 256 bytes, for which a SentencePiece model is made that
   knows nothing else. Source: transformers 4.57, tokenization_t5.py, tokenization_byt5.py. */
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

/* ---- a SentencePiece model of bytes ---- */

enum {
    TYPE_UNKNOWN = 2,
    TYPE_CONTROL = 3,
    TYPE_BYTE = 6,
    NAME_BYTES = 8,                                /* for "<0x00>" */
    PIECE_BYTES = 2 + 2 + NAME_BYTES + 2,          /* of a message */
    MODEL_BYTES = (3 + 256) * PIECE_BYTES + 2 * 16 /* at most */
};

struct model_bytes {
    unsigned char bytes[MODEL_BYTES];
    size_t size;
};

static void put_byte(struct model_bytes *m, int byte)
{
    m->bytes[m->size++] = (unsigned char)byte;
}

/* Writes a field of the wire type 2: its tag, size and bytes. */
static void put_field(struct model_bytes *m, int number, const void *bytes, size_t size)
{
    put_byte(m, number << 3 | 2);
    put_byte(m, (int)size);
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

/* Writes a piece, of which field 1 is the text and field 3 the type. */
static void put_piece(struct model_bytes *m, const char *text, int type)
{
    struct model_bytes piece = {.size = 0};
    put_field(&piece, 1, text, strlen(text));
    put_byte(&piece, 3 << 3), put_byte(&piece, type);
    put_field(m, 1, piece.bytes, piece.size);
}

static void make_bytes(struct model_bytes *m)
{
    /* model_type (3) is char, byte_fallback (35) is true */
    static const unsigned char trainer[] = {3 << 3, 4, 0x98, 0x02, 1};
    /* neither a dummy prefix (3), nor removed (4) nor escaped spaces (5) */
    static const unsigned char normalizer[] = {3 << 3, 0, 4 << 3, 0, 5 << 3, 0};
    m->size = 0;
    put_piece(m, "<pad>", TYPE_CONTROL);
    put_piece(m, "</s>", TYPE_CONTROL);
    put_piece(m, "<unk>", TYPE_UNKNOWN);
    for (int byte = 0; byte < 256; byte++) {
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)byte);
        put_piece(m, name, TYPE_BYTE);
    }
    put_field(m, 2, trainer, sizeof trainer);
    put_field(m, 3, normalizer, sizeof normalizer);
}

/* ---- the choice ---- */

/* Returns whether the tokenizer of a folder is ByT5's, according to the settings of
   tokenizer_config.json or, if these do not name it, of config.json. */
static bool is_byt5(const struct import_settings *tokenizer, const struct import_settings *config)
{
    const char *name = rapt__import_setting(tokenizer, "tokenizer_class");
    if (!name) name = rapt__import_setting(config, "tokenizer_class");
    return name && strcmp(name, "ByT5Tokenizer") == 0;
}

rapt_status rapt__hf_t5_pieces(struct import *i, const struct import_settings *config,
                               rapt_tokenizer **pieces, int *extra, bool *ascending)
{
    static const char file[] = "tokenizer_config.json";
    struct import_settings s = {0};
    struct model_bytes model;
    rapt_status status = RAPT_OK;
    if (rapt__import_has(i, file)) status = rapt__import_settings(i, file, &s);
    if (status) return status;
    *ascending = is_byt5(&s, config);
    status = rapt__import_whole(i, &s, "extra_ids", *ascending ? HF_BYTE_EXTRA : 100, extra);
    rapt__import_settings_free(i, &s);
    if (status) return status;
    if (!*ascending) return rapt__import_pieces(i, "spiece.model", pieces);
    if (!*extra) *extra = HF_BYTE_EXTRA; /* as transformers writes it for any number */
    make_bytes(&model);
    return rapt_tokenizer_load_memory(pieces, model.bytes, model.size, &i->allocator, i->why);
}
