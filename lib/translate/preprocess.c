/* preprocess.c - preprocesses text as requested by the translator's options, and tokenizes it. */
#include "translate/translate.h"

rapt_status rapt__text_encode(const rapt_translator *t, const rapt_tokenizer *tokenizer,
                              rapt_text text, int32_t *ids, size_t *ends, size_t capacity,
                              size_t *count)
{
    if (t->options.preprocess == RAPT_PREPROCESS_NONE || text.size == 0)
        return rapt_tokenizer_encode(tokenizer, text, ids, ends, capacity, count, NULL);
    size_t offsets = ends ? text.size * sizeof(size_t) : 0, size = 0;
    char *bytes = rapt__alloc(&t->allocator, text.size);
    size_t *from = rapt__alloc(&t->allocator, offsets);
    rapt_status status = RAPT_NO_MEMORY;
    *count = 0;
    if (bytes && (from || !ends))
        status =
            rapt_text_preprocess(t->options.preprocess, text, bytes, from, text.size, &size, NULL);
    if (!status && size > 0)
        status = rapt_tokenizer_encode(tokenizer, (rapt_text){bytes, size}, ids, ends, capacity,
                                       count, NULL);
    /* The ends that were written become offsets in the original text. */
    for (size_t i = 0; ends && i < rapt__min_size(*count, capacity); i++)
        if (ends[i] > 0) ends[i] = from[ends[i] - 1];
    rapt__free(&t->allocator, from, offsets);
    rapt__free(&t->allocator, bytes, text.size);
    return status;
}
