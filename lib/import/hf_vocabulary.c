/* hf_vocabulary.c - makes tokenizers from the names of tokens in vocab.json (for MarianMT's target
   side, possibly in target_vocab.json) and one more file.

   For MarianMT: added_tokens.json, in which transformers stores tokens that were added to a
   tokenizer before resize_token_embeddings:

       {"<first>": 54776, "<second>": 54777}

   For byte-level BPE: merges.txt, each line of which contains the names of two tokens:

       #version: 0.2
       Ġ t
       h e

   Sources: tokenization_utils.py of transformers 4.30, unchanged in 4.57 and 5.24;
   tokenization_bart_fast.py of transformers 4.57; tokenizers 0.23, models/bpe. */
#include "import/hf.h"
#include "text/text.h"

#include <string.h>

static const char added_tokens[] = HF_ADDED_TOKENS;
static const char merges_txt[] = "merges.txt";

/* ---- token names for MarianMT ---- */

static bool is_name(rapt_text name, const char *text)
{
    return name.size == strlen(text) && memcmp(name.bytes, text, name.size) == 0;
}

/* Stores the added tokens in `names`, which has `vocab` entries. */
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
        if (names[id].bytes && !is_name(names[id], key))
            return rapt__import_bad(i, "%s: %.60s has the id %d, which belongs to %.60s",
                                    added_tokens, key, id, names[id].bytes);
        names[id] = (rapt_text){key, strlen(key)};
    }
    return RAPT_OK;
}

/* Makes a tokenizer from the tokens of a vocabulary and the added tokens. `names` has room for
   `vocab` entries. */
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
    struct vocabulary *v;
    if (!rapt__import_has(i, added_tokens))
        return rapt__import_names(i, name, vocab, pieces, tokenizer);
    rapt_status status = rapt__import_open_names(i, name, &v);
    if (status) return status;
    status = read_both(i, name, v, vocab, pieces, tokenizer);
    rapt__vocabulary_close(v);
    return status;
}

/* ---- merges ---- */

/* Splits a line into two names, each terminated by a zero byte. Returns false if the line does not
   consist of two names with a space between them. */
static bool split_merge(char *line, const char **left, const char **right)
{
    char *space = strchr(line, ' ');
    if (!space || space == line || !space[1] || strchr(space + 1, ' ')) return false;
    *space = 0;
    *left = line, *right = space + 1;
    return true;
}

/* Takes the next line of *text, without its line ending. Returns NULL after the last one. */
static char *next_line(char **text)
{
    char *line = *text, *end = line + strcspn(line, "\n");
    if (!*line) return NULL;
    *text = *end ? end + 1 : end;
    *end = 0;
    if (end > line && end[-1] == '\r') end[-1] = 0;
    return line;
}

/* Stores the ids of the two tokens of each merge in `pairs`, which has room for `most` merges, and
   sets *count to the number of merges. */
static rapt_status read_pairs(struct import *i, char *text, const struct vocabulary *v,
                              int32_t *pairs, int most, int *count)
{
    int number = 0;
    char *line;
    *count = 0;
    while ((line = next_line(&text))) {
        const char *left, *right;
        number++;
        if (!*line || strncmp(line, "#version", 8) == 0) continue;
        if (*count == most || !split_merge(line, &left, &right))
            return rapt__import_bad(i, "%s: line %d does not have two names", merges_txt, number);
        for (int n = 0; n < 2; n++) {
            const char *name = n ? right : left;
            const int id = rapt__vocabulary_find(v, name);
            if (id < 0)
                return rapt__import_bad(i, "%s: line %d: \"%.60s\" is not in vocab.json",
                                        merges_txt, number, name);
            pairs[2 * *count + n] = id;
        }
        ++*count;
    }
    return RAPT_OK;
}

/* ---- the byte-level BPE tokenizer ---- */

static rapt_status read_space_first(struct import *i, bool *first)
{
    static const char file[] = "tokenizer_config.json";
    struct import_settings s = {0};
    rapt_status status = RAPT_OK;
    *first = false;
    if (rapt__import_has(i, added_tokens))
        return rapt__import_bad(i, "%s: added tokens are not supported in models with %s",
                                added_tokens, merges_txt);
    if (rapt__import_has(i, file)) status = rapt__import_settings(i, file, &s);
    if (status) return status;
    status = rapt__import_flag(i, &s, "add_prefix_space", false, first);
    rapt__import_settings_free(i, &s);
    return status;
}

/* Joins the names of the table's rows, each terminated by a zero byte; rows without a token have
   empty names. Returns their total size. If `to` is NULL, only returns the size. */
static size_t join_names(const struct vocabulary *v, int rows, char *to)
{
    size_t at = 0;
    for (int id = 0; id < rows; id++) {
        const char *name = rapt__vocabulary_token(v, id);
        const size_t size = name ? strlen(name) : 0;
        if (to && size) memcpy(to + at, name, size);
        if (to) to[at + size] = 0;
        at += size + 1;
    }
    return at;
}

static rapt_status make_byte_pairs(struct import *i, const struct vocabulary *v, char *text,
                                   size_t text_size, bool space_first)
{
    const int rows = i->config.source_vocab, most = (int)(text_size / 3);
    const size_t names_size = join_names(v, rows, NULL),
                 pairs_size = 2 * (size_t)most * sizeof(int32_t);
    struct list_source source = {.size = names_size, .count = rows};
    char *names = rapt__alloc(&i->allocator, names_size);
    int32_t *pairs = rapt__alloc(&i->allocator, pairs_size);
    rapt_status status = RAPT_OK;
    if (!names || (!pairs && pairs_size))
        status = rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for a vocabulary");
    source.merges = (struct list_merges){true, space_first, pairs, 0};
    if (!status) status = read_pairs(i, text, v, pairs, most, &source.merges.count);
    if (!status) {
        join_names(v, rows, names);
        source.names = names;
        status = rapt__tokenizer_list(&i->source, &source, &i->allocator, i->why);
    }
    rapt__free(&i->allocator, names, names_size);
    rapt__free(&i->allocator, pairs, pairs_size);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}

rapt_status rapt__hf_merges(struct import *i)
{
    char *text = NULL;
    struct vocabulary *v = NULL;
    size_t size = 0;
    bool space_first;
    rapt_status status = read_space_first(i, &space_first);
    if (status) return status;
    status = rapt__import_open_names(i, "vocab.json", &v);
    if (status) return status;
    status = rapt__import_read(i, merges_txt, &text, &size);
    if (!status) rapt__import_record(i, merges_txt, RAPT_FILE_USE_VOCABULARY);
    if (!status && memchr(text, 0, size))
        status = rapt__import_bad(i, "%s contains a zero byte", merges_txt);
    if (!status) status = make_byte_pairs(i, v, text, size, space_first);
    if (text) rapt__free(&i->allocator, text, size + 1);
    rapt__vocabulary_close(v);
    return status;
}
