/* pieces.c - computes the data derived from all pieces of a model: the tries that find pieces, the
   byte pieces, the scores of a unigram model, and the text of each piece. */
#include "text/sentencepiece/sentencepiece.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const float unknown_penalty = 10;

static bool is_chosen(const struct spm_piece *piece)
{
    return piece->type == SPM_NORMAL || piece->type == SPM_USER_DEFINED ||
           piece->type == SPM_UNUSED;
}
static bool is_reserved(const struct spm_piece *piece)
{
    return !is_chosen(piece);
}
static bool is_user_defined(const struct spm_piece *piece)
{
    return piece->type == SPM_USER_DEFINED;
}

static rapt_status build_trie(const struct spm *spm, struct trie *trie, struct trie_key *keys,
                              bool (*in)(const struct spm_piece *), rapt_message *why)
{
    size_t count = 0;
    for (int i = 0; i < spm->count; i++)
        if (in(&spm->pieces[i]))
            keys[count++] = rapt__trie_key(spm->pieces[i].bytes, spm->pieces[i].size, i);
    return rapt__trie_build(trie, keys, count, &spm->allocator, why);
}

static rapt_status build_tries(struct spm *spm, rapt_message *why)
{
    size_t bytes = ((size_t)spm->count + 1) * sizeof(struct trie_key);
    struct trie_key *keys = rapt__alloc(&spm->allocator, bytes);
    if (!keys) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for %d pieces", spm->count);
    rapt_status status = build_trie(spm, &spm->chosen, keys, is_chosen, why);
    if (!status) status = build_trie(spm, &spm->reserved, keys, is_reserved, why);
    if (!status) status = build_trie(spm, &spm->user, keys, is_user_defined, why);
    rapt__free(&spm->allocator, keys, bytes);
    return status;
}

/* ---- bytes ---- */

static int hex(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

/* Returns the byte that a piece named <0xNN> represents, or -1 for any other name. */
static int byte_of(const struct spm_piece *piece)
{
    const char *b = piece->bytes;
    if (piece->size != 6 || memcmp(b, "<0x", 3) != 0 || b[5] != '>') return -1;
    return hex(b[3]) < 0 || hex(b[4]) < 0 ? -1 : 16 * hex(b[3]) + hex(b[4]);
}

static rapt_status find_bytes(struct spm *spm, rapt_message *why)
{
    for (int byte = 0; byte < 256; byte++) spm->bytes[byte] = -1;
    for (int i = 0; i < spm->count; i++) {
        if (spm->pieces[i].type != SPM_BYTE) continue;
        int byte = byte_of(&spm->pieces[i]);
        if (byte < 0)
            return rapt__fail(why, RAPT_BAD_FILE, "byte piece %d is not of the form <0xNN>", i);
        if (!spm->byte_fallback)
            return rapt__fail(why, RAPT_BAD_FILE, "piece %d is a byte, but byte_fallback is off",
                              i);
        spm->bytes[byte] = i;
    }
    for (int byte = 0; spm->byte_fallback && byte < 256; byte++)
        if (spm->bytes[byte] < 0)
            return rapt__fail(why, RAPT_BAD_FILE,
                              "byte_fallback is on, but there is no piece <0x%02X>",
                              (unsigned)byte);
    return RAPT_OK;
}

static rapt_status find_unknown(struct spm *spm, rapt_message *why)
{
    spm->unknown = -1;
    for (int i = 0; i < spm->count; i++) {
        if (spm->pieces[i].type != SPM_UNKNOWN) continue;
        if (spm->unknown >= 0)
            return rapt__fail(why, RAPT_BAD_FILE, "pieces %d and %d are both the unknown piece",
                              (int)spm->unknown, i);
        spm->unknown = i;
    }
    if (spm->unknown >= 0) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_FILE, "there is no unknown piece");
}

/* ---- scores ---- */

/* Computes the scores of a unigram model. The score of a USER_DEFINED piece is its size times the
   maximum score, minus 0.1, so that it is preferred over other pieces. The reference implementation
   initializes the maximum with FLT_MIN, so the maximum of negative scores is nearly 0. It computes
   in float, except that 0.1 is subtracted in double. */
static void find_scores(struct spm *spm)
{
    float min = FLT_MAX, max = FLT_MIN;
    for (int i = 0; i < spm->count; i++) {
        const struct spm_piece *piece = &spm->pieces[i];
        if (piece->type != SPM_NORMAL) continue;
        if (piece->score < min) min = piece->score;
        if (piece->score > max) max = piece->score;
    }
    spm->unknown_score = min - unknown_penalty;
    for (int i = 0; i < spm->count; i++) {
        const struct spm_piece *piece = &spm->pieces[i];
        spm->scores[i] = (double)piece->score;
        if (piece->type == SPM_UNUSED) spm->scores[i] = -(double)INFINITY;
        if (piece->type == SPM_USER_DEFINED) {
            float reward = (float)piece->size * max;
            spm->scores[i] = (double)reward - 0.1;
        }
    }
}

/* ---- surfaces ---- */

/* Writes the text of a piece, unless `out` is NULL, and returns the size of the text. */
static size_t put_surface(const struct spm *spm, const struct spm_piece *piece, char *out)
{
    size_t size = 0;
    if (piece->type == SPM_CONTROL) return 0;
    if (piece->type == SPM_UNKNOWN) {
        if (out && spm->unknown_surface.size)
            memcpy(out, spm->unknown_surface.bytes, spm->unknown_surface.size);
        return spm->unknown_surface.size;
    }
    if (piece->type == SPM_BYTE) {
        if (out) *out = (char)byte_of(piece);
        return 1;
    }
    for (uint32_t i = 0; i < piece->size; size++) {
        bool space = piece->size - i >= SPM_SPACE_SIZE &&
                     memcmp(piece->bytes + i, spm_space, SPM_SPACE_SIZE) == 0;
        if (out) out[size] = space ? ' ' : piece->bytes[i];
        i += space ? SPM_SPACE_SIZE : 1;
    }
    return size;
}

static rapt_status find_surfaces(struct spm *spm, rapt_message *why)
{
    size_t size = 0;
    for (int i = 0; i < spm->count; i++) {
        spm->surface[i] = (uint32_t)size;
        size += put_surface(spm, &spm->pieces[spm->pieces[i].reading], NULL);
        if (size > SPM_TEXT_MAX)
            return rapt__fail(why, RAPT_BAD_FILE, "the pieces have too many bytes in total");
    }
    spm->surface[spm->count] = (uint32_t)size;
    spm->surfaces = rapt__alloc(&spm->allocator, size);
    if (!spm->surfaces && size > 0)
        return rapt__fail(why, RAPT_NO_MEMORY, "no memory for %d pieces", spm->count);
    for (int i = 0; i < spm->count; i++)
        put_surface(spm, &spm->pieces[spm->pieces[i].reading], spm->surfaces + spm->surface[i]);
    return RAPT_OK;
}

rapt_text rapt__spm_surface(const struct spm *spm, int32_t id)
{
    uint32_t start = spm->surface[id];
    return (rapt_text){spm->surfaces + start, spm->surface[id + 1] - start};
}

/* ---- index ---- */

rapt_status rapt__spm_index(struct spm *spm, rapt_message *why)
{
    rapt_status status = find_unknown(spm, why);
    if (!status) status = find_bytes(spm, why);
    if (!status) status = build_tries(spm, why);
    if (status) return status;
    spm->unused = 0;
    for (int i = 0; i < spm->count; i++) {
        struct spm_piece *piece = &spm->pieces[i];
        int32_t reserved = rapt__trie_find(&spm->reserved, piece->bytes, piece->size);
        if (reserved >= 0) piece->reading = reserved;
        if (piece->type == SPM_UNUSED) piece->split = (uint32_t)++spm->unused;
    }
    find_scores(spm);
    return find_surfaces(spm, why);
}

int32_t rapt__spm_find(const struct spm *spm, rapt_text name)
{
    int32_t id = rapt__trie_find(&spm->reserved, name.bytes, name.size);
    return id >= 0 ? id : rapt__trie_find(&spm->chosen, name.bytes, name.size);
}

int32_t rapt__spm_special(const struct spm *spm, int which)
{
    enum spm_type type = which == 0 ? SPM_UNKNOWN : SPM_CONTROL;
    int32_t id = rapt__spm_find(spm, spm->names[which]);
    return id >= 0 && spm->pieces[id].type == type ? id : -1;
}

int32_t rapt__spm_id(const struct spm *spm, const char *bytes, size_t size)
{
    int32_t id = rapt__spm_find(spm, (rapt_text){bytes, size});
    return id < 0 || spm->pieces[id].type == SPM_CONTROL ? spm->unknown : id;
}
