/* hf_pieces.c - composes SentencePiece models (sentencepiece_model.proto) for vocabularies that are
   stored in other formats. */
#include "import/hf.h"

#include <string.h>

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 }; /* wire types */

static void put_byte(struct pieces_writer *w, int byte)
{
    if (w->bytes) w->bytes[w->size] = (unsigned char)byte;
    w->size++;
}

static void put_varint(struct pieces_writer *w, uint64_t value)
{
    for (; value > 0x7F; value >>= 7) put_byte(w, (int)(value & 0x7F) | 0x80);
    put_byte(w, (int)value);
}

static void put_tag(struct pieces_writer *w, unsigned number, unsigned wire)
{
    put_varint(w, number << 3 | wire);
}

static void put_bytes(struct pieces_writer *w, unsigned number, rapt_text text)
{
    put_tag(w, number, BYTES);
    put_varint(w, text.size);
    if (w->bytes && text.size) memcpy(w->bytes + w->size, text.bytes, text.size);
    w->size += text.size;
}

static void put_number(struct pieces_writer *w, unsigned number, uint64_t value)
{
    put_tag(w, number, VARINT);
    put_varint(w, value);
}

/* Writes the fields of a piece. */
static void put_piece(struct pieces_writer *w, rapt_text text, float score, int type)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    put_bytes(w, 1, text);
    put_tag(w, 2, FIXED32);
    for (int shift = 0; shift < 32; shift += 8) put_byte(w, (int)(bits >> shift & 0xFF));
    put_number(w, 3, (uint64_t)type);
}

void rapt__pieces_put(struct pieces_writer *w, rapt_text text, float score, int type)
{
    struct pieces_writer inner = {.bytes = NULL};
    put_piece(&inner, text, score, type);
    put_tag(w, 1, BYTES);
    put_varint(w, inner.size);
    put_piece(w, text, score, type);
}

static void put_trainer(struct pieces_writer *w, const struct pieces_options *o)
{
    put_number(w, 3, (uint64_t)o->kind);
    put_number(w, 35, o->byte_fallback);
}

static void put_normalizer(struct pieces_writer *w, const struct pieces_options *o)
{
    put_bytes(w, 2, o->rules);
    put_number(w, 3, o->dummy_prefix);
    put_number(w, 4, o->trim_spaces);
    put_number(w, 5, o->escape_spaces);
}

void rapt__pieces_finish(struct pieces_writer *w, const struct pieces_options *o)
{
    struct pieces_writer trainer = {.bytes = NULL}, normalizer = {.bytes = NULL};
    put_trainer(&trainer, o);
    put_normalizer(&normalizer, o);
    put_tag(w, 2, BYTES);
    put_varint(w, trainer.size);
    put_trainer(w, o);
    put_tag(w, 3, BYTES);
    put_varint(w, normalizer.size);
    put_normalizer(w, o);
}
