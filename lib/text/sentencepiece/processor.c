/* processor.c - creates and frees a processor. The processor keeps the bytes of the model, because
   pieces point into them and because they are written to model files. */
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
