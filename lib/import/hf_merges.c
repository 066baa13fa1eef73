/* hf_merges.c - creates a tokenizer of byte-level byte pairs from vocab.json, which contains the
   names of tokens, and merges.txt, each line of which contains the names of two tokens:

       #version: 0.2
       Ġ t
       h e

   Source: tokenizers 0.23, models/bpe; tokenization_bart_fast.py of transformers 4.57. */
#include "import/hf.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

static const char merges_txt[] = "merges.txt";

/* ---- merges ---- */

/* Splits a line into two names, which it terminates by zero bytes. Returns false if the line does
   not consist of two names. */
static bool split_merge(char *line, const char **left, const char **right)
{
    char *space = strchr(line, ' ');
    if (!space || space == line || !space[1] || strchr(space + 1, ' ')) return false;
    *space = 0;
    *left = line, *right = space + 1;
    return true;
}

/* Takes the next line of *text, without its end. Returns NULL after the last one. */
static char *next_line(char **text)
{
    char *line = *text, *end = line + strcspn(line, "\n");
    if (!*line) return NULL;
    *text = *end ? end + 1 : end;
    *end = 0;
    if (end > line && end[-1] == '\r') end[-1] = 0;
    return line;
}

/* Stores the ids of the two tokens of each merge in pairs[2 * most] and sets *count to the number
   of merges. */
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

/* ---- the tokenizer ---- */

static rapt_status read_space_first(struct import *i, bool *first)
{
    static const char file[] = "tokenizer_config.json";
    struct import_settings s = {0};
    rapt_status status = RAPT_OK;
    *first = false;
    if (rapt__import_has(i, HF_ADDED_TOKENS))
        return rapt__import_bad(i, "%s: added tokens are not supported in models with %s",
                                HF_ADDED_TOKENS, merges_txt);
    if (rapt__import_has(i, file)) status = rapt__import_settings(i, file, &s);
    if (status) return status;
    status = rapt__import_flag(i, &s, "add_prefix_space", false, first);
    rapt__import_settings_free(i, &s);
    return status;
}

/* Joins the names of the table's rows, each terminated by a zero byte; rows without a token have
   empty names. Returns their size. If `to` is NULL, only returns the size. */
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
    static const char file[] = "vocab.json";
    char path[2 * IMPORT_PATH], *text = NULL;
    struct vocabulary *v = NULL;
    size_t size = 0;
    bool space_first;
    rapt_status status = read_space_first(i, &space_first);
    if (status) return status;
    snprintf(path, sizeof path, "%s%s", i->folder, file);
    status = rapt__vocabulary_open(&v, path, &i->allocator, i->why);
    if (status) return status;
    rapt__import_record(i, file, RAPT_FILE_USE_VOCABULARY);
    status = rapt__import_read(i, merges_txt, &text, &size);
    if (!status) rapt__import_record(i, merges_txt, RAPT_FILE_USE_VOCABULARY);
    if (!status && memchr(text, 0, size))
        status = rapt__import_bad(i, "%s contains a zero byte", merges_txt);
    if (!status) status = make_byte_pairs(i, v, text, size, space_first);
    if (text) rapt__free(&i->allocator, text, size + 1);
    rapt__vocabulary_close(v);
    return status;
}
