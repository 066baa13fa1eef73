/* encode.c - a text to ids: normalized, cut into pieces by the model's kind, then neighbors that
   are unknown become one, or each byte of them a byte piece. */
#include "text/sentencepiece/sentencepiece.h"

static void put_id(struct spm_output *out, int32_t id, size_t end)
{
    size_t at = out->count++;
    if (at >= out->capacity) return;
    out->ids[at] = id;
    if (out->ends) out->ends[at] = end;
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
            put_id(out, spm->bytes[(unsigned char)out->text->bytes[i]], i + 1 < end ? from : to);
    } else if (out->unknown && before) {
        if (out->ends && out->count <= out->capacity) out->ends[out->count - 1] = to;
    } else {
        put_id(out, id, to);
    }
}

size_t rapt__spm_bound(const struct spm *spm, size_t bytes)
{
    size_t bound;
    if (!rapt__times(bytes, spm->spread, &bound)) return SIZE_MAX;
    return rapt__plus(bound, SPM_SPACE_SIZE, &bound) ? bound : SIZE_MAX;
}

static rapt_status put_all(struct spm_output *out)
{
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
    struct spm_output out = {spm, &normalized, ids, ends, capacity, 0, false};
    rapt_status status = rapt__spm_normalize(&spm->normalizer, text, ends != NULL, &normalized);
    if (!status && normalized.size > 0) status = put_all(&out);
    rapt__spm_normalized_free(&normalized);
    if (status == RAPT_NO_MEMORY) return rapt__fail(why, status, "no memory to encode a text");
    if (status) return rapt__fail(why, status, "a text of %zu bytes is too long", text.size);
    *count = out.count;
    if (out.count <= capacity) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but the text has %zu tokens",
                      capacity, out.count);
}
