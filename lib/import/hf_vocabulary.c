/* hf_vocabulary.c - reads the names of a MarianMT model's tokens from vocab.json and
   added_tokens.json, in which transformers stores tokens that were added to a tokenizer before
   resize_token_embeddings:

       {"<first>": 54776, "<second>": 54777}

   Source: tokenization_utils.py of transformers 4.30, unchanged in 4.57 and 5.24. */
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

static const char added_tokens[] = HF_ADDED_TOKENS;

static bool same(rapt_text name, const char *text)
{
    return name.size == strlen(text) && memcmp(name.bytes, text, name.size) == 0;
}

/* Stores the added tokens in names[vocab]. */
static rapt_status take_added(struct import *i, const struct import_settings *s, rapt_text *names,
                              int vocab)
{
    for (size_t n = 0; n < s->count; n++) {
        const char *key = s->all[n].key;
        int id = 0;
        rapt_status status = rapt__import_whole(i, s, key, vocab, &id);
        if (status) return status;
        if (id >= vocab)
            return rapt__import_bad(i, "%s: %.60s has the id %d, but the model's table has %d rows",
                                    added_tokens, key, id, vocab);
        if (names[id].bytes && !same(names[id], key))
            return rapt__import_bad(i, "%s: %.60s has the id %d, which belongs to %.60s",
                                    added_tokens, key, id, names[id].bytes);
        names[id] = (rapt_text){key, strlen(key)};
    }
    return RAPT_OK;
}

/* Makes a tokenizer from the tokens of a vocabulary and the added tokens. names has memory for
   vocab entries. */
static rapt_status make_list(struct import *i, const char *file, const struct vocabulary *v,
                             const struct import_settings *added, rapt_text *names, int vocab,
                             const rapt_tokenizer *pieces, rapt_tokenizer **tokenizer)
{
    int count = rapt__vocabulary_count(v), missing = 0;
    for (int id = 0; id < vocab; id++) {
        const char *name = rapt__vocabulary_token(v, id);
        names[id] = (rapt_text){name, name ? strlen(name) : 0};
    }
    rapt_status status = take_added(i, added, names, vocab);
    for (int id = 0; id < vocab && !status; id++) missing += !names[id].bytes;
    if (!status && (missing > 0 || count > vocab))
        return rapt__import_bad(i, "%s and %s have %d names, but the model's table has %d rows",
                                file, added_tokens, rapt__max(count, vocab - missing), vocab);
    if (!status)
        status = rapt_tokenizer_create_list(tokenizer, names, vocab, pieces, &i->allocator, i->why);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}

static rapt_status read_both(struct import *i, const char *file, const struct vocabulary *v,
                             int vocab, const rapt_tokenizer *pieces, rapt_tokenizer **tokenizer)
{
    struct import_settings added;
    rapt_status status = rapt__import_settings(i, added_tokens, &added);
    if (status) return status;
    size_t bytes = (size_t)vocab * sizeof(rapt_text);
    rapt_text *names = rapt__alloc(&i->allocator, bytes);
    status = names ? make_list(i, file, v, &added, names, vocab, pieces, tokenizer)
                   : rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for a vocabulary");
    rapt__free(&i->allocator, names, bytes);
    rapt__import_settings_free(i, &added);
    return status;
}

rapt_status rapt__hf_names(struct import *i, const char *name, int vocab,
                           const rapt_tokenizer *pieces, rapt_tokenizer **tokenizer)
{
    char path[2 * IMPORT_PATH];
    struct vocabulary *v;
    if (!rapt__import_has(i, added_tokens))
        return rapt__import_names(i, name, vocab, pieces, tokenizer);
    snprintf(path, sizeof path, "%s%s", i->folder, name);
    rapt_status status = rapt__vocabulary_open(&v, path, &i->allocator, i->why);
    if (status) return status;
    status = read_both(i, name, v, vocab, pieces, tokenizer);
    rapt__vocabulary_close(v);
    return status;
}
