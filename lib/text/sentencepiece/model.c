/* model.c - reads the protobuf of a SentencePiece model (sentencepiece_model.proto). Options that
   affect processing are either supported or rejected; options that only describe training are
   skipped. As usual in Protocol Buffers, the last occurrence of an option is used. */
#include "format/format.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/text.h"

#include <math.h>
#include <string.h>

static rapt_status damaged(rapt_message *why, const char *what, const struct protobuf *message)
{
    return rapt__fail(why, RAPT_BAD_FILE, "%s is damaged at byte %zu: %s", what, message->at,
                      message->error);
}

/* Checks that a known field has the expected wire type. */
static rapt_status expect(const struct protobuf_field *field, enum protobuf_wire wire,
                          const char *what, rapt_message *why)
{
    if (field->wire == wire) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_FILE, "field %u of %s has the wrong wire type",
                      (unsigned)field->number, what);
}

/* ---- trainer_spec ---- */

enum { MODEL_TYPE = 3, SUFFIX = 24, BYTE_FALLBACK = 35, UNK_SURFACE = 44, UNK_PIECE = 45 };

static rapt_text text_in(const struct protobuf_field *field)
{
    const char *end = field->size ? memchr(field->bytes, 0, field->size) : NULL;
    return (rapt_text){field->bytes, end ? (size_t)(end - field->bytes) : field->size};
}

static rapt_status set_kind(struct spm *spm, uint64_t kind, rapt_message *why)
{
    if (kind < SPM_UNIGRAM || kind > SPM_CHARACTER)
        return rapt__fail(why, RAPT_BAD_FILE, "model_type %llu is unknown",
                          (unsigned long long)kind);
    spm->kind = (enum spm_kind)kind;
    return RAPT_OK;
}

static rapt_status read_trainer(struct spm *spm, const struct protobuf_field *from,
                                rapt_message *why)
{
    struct protobuf m = {from->bytes, from->size, 0, NULL};
    struct protobuf_field f;
    rapt_status status = RAPT_OK;
    while (!status && rapt__protobuf_next(&m, &f)) {
        bool name = f.number >= UNK_PIECE && f.number < UNK_PIECE + SPM_NAMES;
        if (name || f.number == UNK_SURFACE) {
            status = expect(&f, PROTOBUF_BYTES, "trainer_spec", why);
            rapt_text text = {0};
            if (!status) text = text_in(&f);
            if (!name)
                spm->unknown_surface = text;
            else if (text.size > 0)
                spm->names[f.number - UNK_PIECE] = text;
        } else if (f.number == MODEL_TYPE || f.number == SUFFIX || f.number == BYTE_FALLBACK) {
            status = expect(&f, PROTOBUF_VARINT, "trainer_spec", why);
            if (f.number == SUFFIX) spm->normalizer.suffix = f.value != 0;
            if (f.number == BYTE_FALLBACK) spm->byte_fallback = f.value != 0;
            if (!status && f.number == MODEL_TYPE) status = set_kind(spm, f.value, why);
        }
    }
    return status || !m.error ? status : damaged(why, "trainer_spec", &m);
}

/* ---- normalizer_spec, denormalizer_spec ---- */

enum {
    NAME = 1,
    CHARSMAP = 2,
    ADD_DUMMY_PREFIX = 3,
    REMOVE_EXTRA_WHITESPACES = 4,
    ESCAPE_WHITESPACES = 5,
    RULE_TSV = 6,
    ENCODE_CASE = 7, /* only in Marian's fork, like decode_case */
    DECODE_CASE = 8
};

static rapt_status set_rule(struct spm_normalizer *n, const struct protobuf_field *f,
                            const char *what, rapt_message *why)
{
    rapt_status status = expect(f, PROTOBUF_VARINT, what, why);
    bool on = f->value != 0;
    if (status) return status;
    if (f->number == ADD_DUMMY_PREFIX) n->dummy_prefix = on;
    if (f->number == REMOVE_EXTRA_WHITESPACES) n->trim_spaces = on;
    if (f->number == ESCAPE_WHITESPACES) n->escape_spaces = on;
    if (f->number >= ENCODE_CASE && on)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: %s is not supported", what,
                          f->number == ENCODE_CASE ? "encode_case" : "decode_case");
    return RAPT_OK;
}

static rapt_status read_normalizer(struct spm_normalizer *n, const struct protobuf_field *from,
                                   const char *what, rapt_message *why)
{
    struct protobuf m = {from->bytes, from->size, 0, NULL};
    struct protobuf_field f;
    rapt_status status = RAPT_OK;
    while (!status && rapt__protobuf_next(&m, &f)) {
        if (f.number == NAME || f.number == RULE_TSV) continue;
        if (f.number > DECODE_CASE)
            return rapt__fail(why, RAPT_BAD_FILE, "%s: option %u is unknown", what,
                              (unsigned)f.number);
        if (f.number != CHARSMAP) {
            status = set_rule(n, &f, what, why);
            continue;
        }
        status = expect(&f, PROTOBUF_BYTES, what, why);
        n->rules = (rapt_text){f.bytes, f.size};
    }
    return status || !m.error ? status : damaged(why, what, &m);
}

/* ---- pieces ---- */

enum { PIECE = 1, SCORE = 2, TYPE = 3 };

static rapt_status check_piece(const struct spm_piece *piece, int id, uint64_t type,
                               rapt_message *why)
{
    if (piece->size == 0) return rapt__fail(why, RAPT_BAD_FILE, "piece %d is empty", id);
    if (!isfinite(piece->score))
        return rapt__fail(why, RAPT_BAD_FILE, "the score of piece %d is not finite", id);
    if (type < SPM_NORMAL || type > SPM_BYTE)
        return rapt__fail(why, RAPT_BAD_FILE, "piece %d has the unknown type %llu", id,
                          (unsigned long long)type);
    return RAPT_OK;
}

static rapt_status read_piece(struct spm_piece *piece, int id, const struct protobuf_field *from,
                              rapt_message *why)
{
    struct protobuf m = {from->bytes, from->size, 0, NULL};
    struct protobuf_field f;
    uint64_t type = SPM_NORMAL;
    rapt_status status = RAPT_OK;
    *piece = (struct spm_piece){.reading = id};
    while (!status && rapt__protobuf_next(&m, &f)) {
        if (f.number < PIECE || f.number > TYPE) continue;
        static const enum protobuf_wire wires[] = {PROTOBUF_BYTES, PROTOBUF_FIXED32,
                                                   PROTOBUF_VARINT};
        status = expect(&f, wires[f.number - PIECE], "a piece", why);
        if (f.number == PIECE) piece->bytes = f.bytes, piece->size = (uint32_t)f.size;
        if (f.number == SCORE) piece->score = rapt__protobuf_float(&f);
        if (f.number == TYPE) type = f.value;
    }
    if (!status && m.error) status = damaged(why, "a piece", &m);
    if (!status) status = check_piece(piece, id, type, why);
    if (!status) piece->type = (enum spm_type)type;
    return status;
}

/* ---- the model ---- */

enum { PIECES = 1, TRAINER_SPEC = 2, NORMALIZER_SPEC = 3, DENORMALIZER_SPEC = 5 };

static void set_defaults(struct spm *spm)
{
    static const char *const names[SPM_NAMES] = {"<unk>", "<s>", "</s>", "<pad>"};
    const struct spm_normalizer usual = {
        .dummy_prefix = true, .trim_spaces = true, .escape_spaces = true};
    spm->kind = SPM_UNIGRAM;
    spm->byte_fallback = false;
    spm->unknown_surface = (rapt_text){" \xE2\x81\x87 ", 5};
    for (int i = 0; i < SPM_NAMES; i++) spm->names[i] = (rapt_text){names[i], strlen(names[i])};
    spm->normalizer = spm->denormalizer = usual;
    spm->count = 0;
}

static rapt_status read_field(struct spm *spm, const struct protobuf_field *f, rapt_message *why)
{
    if (f->number < PIECES || f->number > DENORMALIZER_SPEC) return RAPT_OK;
    rapt_status status = expect(f, PROTOBUF_BYTES, "the model", why);
    if (status) return status;
    switch (f->number) {
    case PIECES:
        if (spm->count == RAPT__VOCAB_MAX)
            return rapt__fail(why, RAPT_BAD_FILE, "there are more than %d pieces", RAPT__VOCAB_MAX);
        if (spm->pieces) status = read_piece(&spm->pieces[spm->count], spm->count, f, why);
        spm->count++;
        return status;
    case TRAINER_SPEC:
        return read_trainer(spm, f, why);
    case NORMALIZER_SPEC:
        return read_normalizer(&spm->normalizer, f, "normalizer_spec", why);
    case DENORMALIZER_SPEC:
        return read_normalizer(&spm->denormalizer, f, "denormalizer_spec", why);
    default:
        return RAPT_OK; /* self_test_data */
    }
}

rapt_status rapt__spm_read(struct spm *spm, rapt_message *why)
{
    struct protobuf m = {spm->file, spm->file_size, 0, NULL};
    struct protobuf_field f;
    rapt_status status = RAPT_OK;
    set_defaults(spm);
    while (!status && rapt__protobuf_next(&m, &f)) status = read_field(spm, &f, why);
    return status || !m.error ? status : damaged(why, "the SentencePiece model", &m);
}
