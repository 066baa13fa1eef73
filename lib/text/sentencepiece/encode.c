/* encode.c - converts text to ids: normalizes it and segments it according to the model's kind.
   Adjacent unknown pieces are joined into one or, with byte_fallback, replaced by byte pieces. */
#include "text/sentencepiece/sentencepiece.h"

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
    if (status == RAPT_NO_MEMORY) return rapt__fail(why, status, "no memory to encode text");
    if (status) return rapt__fail(why, status, "the text of %zu bytes is too long", text.size);
    *count = out.count;
    if (out.count <= capacity) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but the text has %zu tokens",
                      capacity, out.count);
}
