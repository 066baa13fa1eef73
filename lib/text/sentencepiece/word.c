/* word.c - segments text for the two kinds of models that need no search: words, each of which
   begins with a space, and characters. */
#include "text/sentencepiece/sentencepiece.h"

#include <string.h>

size_t rapt__spm_character(const struct spm *spm, const char *text, size_t size, bool *user)
{
    size_t length = rapt__trie_longest(&spm->user, text, size);
    if (user) *user = length > 0;
    return length > 0 ? length : rapt__min_size(rapt__spm_length(text[0]), size);
}

static void put_word(struct spm_output *out, size_t start, size_t end)
{
    rapt__spm_put(out, start, end, rapt__spm_id(out->spm, out->text->bytes + start, end - start));
}

void rapt__spm_words(struct spm_output *out)
{
    const struct spm_normalized *text = out->text;
    size_t start = 0;
    for (size_t at = 0, length; at < text->size; at += length) {
        length = rapt__min_size(rapt__spm_length(text->bytes[at]), text->size - at);
        if (at == start || length != SPM_SPACE_SIZE ||
            memcmp(text->bytes + at, spm_space, SPM_SPACE_SIZE) != 0)
            continue;
        put_word(out, start, at);
        start = at;
    }
    put_word(out, start, text->size);
}

void rapt__spm_characters(struct spm_output *out)
{
    const struct spm_normalized *text = out->text;
    for (size_t at = 0, length; at < text->size; at += length) {
        length = rapt__spm_character(out->spm, text->bytes + at, text->size - at, NULL);
        put_word(out, at, at + length);
    }
}
