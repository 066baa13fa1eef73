/* words.c - groups tokens into words, which are separated by spaces. A token belongs to the word of
   its first byte that is not a space. The end token is a word of its own. */
#include "commands.h"
#include <stdlib.h>
#include <string.h>

/* Returns true if the tokenizer puts a space between tokens, as one that consists of a list of
   words does. */
static bool is_spaced(const rapt_tokenizer *tokenizer, const int32_t *ids, int count)
{
    for (int i = 0; i < count; i++) {
        const int32_t twice[2] = {ids[i], ids[i]};
        size_t own = rapt_tokenizer_token(tokenizer, ids[i]).size, size = 0;
        char none[1];
        if (own == 0) continue;
        rapt_tokenizer_decode(tokenizer, twice, 2, none, 0, &size, NULL);
        return size == 2 * own + 1;
    }
    return false;
}

static size_t lay_out_tokens(const rapt_tokenizer *tokenizer, const int32_t *ids, int count,
                             char *bytes, size_t *starts)
{
    size_t at = 0;
    bool spaced = is_spaced(tokenizer, ids, count);
    for (int i = 0; i < count; i++) {
        rapt_text token = rapt_tokenizer_token(tokenizer, ids[i]);
        if (spaced && bytes != NULL) bytes[at] = ' ';
        at += spaced;
        if (bytes != NULL && token.size > 0) memcpy(bytes + at, token.bytes, token.size);
        starts[i] = at;
        at += token.size;
    }
    starts[count] = at;
    return at;
}

/* Finds the words and assigns each token to the word of its first byte that is not a space. */
static void find_words(struct words *words, const size_t *starts)
{
    const char *bytes = words->bytes;
    size_t end = starts[words->tokens - 1];
    int token = 0;
    bool inside = false;
    words->texts = xcalloc(end + 2, sizeof *words->texts);
    for (size_t at = 0; at < end; at++) {
        if (bytes[at] == ' ') {
            inside = false;
            continue;
        }
        if (!inside) words->texts[words->count++] = (rapt_text){bytes + at, 0};
        inside = true;
        words->texts[words->count - 1].size++;
        /* Tokens that begin here or in the spaces before belong to this word. */
        while (token < words->tokens - 1 && starts[token] <= at)
            words->of_token[token++] = words->count - 1;
    }
    words->texts[words->count++] = (rapt_text){"(end)", 5};
    for (; token < words->tokens; token++) words->of_token[token] = words->count - 1;
}

void words_make(struct words *words, const rapt_tokenizer *tokenizer, const int32_t *ids, int count)
{
    size_t *starts = xcalloc((size_t)count + 1, sizeof *starts);
    *words = (struct words){.tokens = count + 1};
    words->bytes = xcalloc(lay_out_tokens(tokenizer, ids, count, NULL, starts), 1);
    lay_out_tokens(tokenizer, ids, count, words->bytes, starts);
    words->of_token = xcalloc((size_t)count + 1, sizeof *words->of_token);
    find_words(words, starts);
    free(starts);
}

void words_no_end(struct words *words)
{
    words->tokens--;
    if (words->count > 1) words->count--; /* spaces after the last word belong to it */
    for (int t = 0; t < words->tokens; t++)
        if (words->of_token[t] >= words->count) words->of_token[t] = words->count - 1;
}

void words_begin(struct words *words)
{
    /* All words move back by one. (begin) comes first, and the end is dropped, so that trailing
       spaces belong to the last word. */
    for (int t = words->tokens - 1; t > 0; t--) {
        int word = words->of_token[t - 1] + 1;
        words->of_token[t] = word < words->count ? word : words->count - 1;
    }
    memmove(words->texts + 1, words->texts, (size_t)(words->count - 1) * sizeof *words->texts);
    words->of_token[0] = 0;
    words->texts[0] = (rapt_text){"(begin)", 7};
}

void words_free(struct words *words)
{
    free(words->of_token);
    free(words->texts);
    free(words->bytes);
    *words = (struct words){0};
}

void words_fold(const struct words *source, const struct words *target, const float *weights,
                float *grid)
{
    size_t columns = (size_t)source->count;
    int *tokens = xcalloc((size_t)target->count, sizeof *tokens);
    memset(grid, 0, (size_t)target->count * columns * sizeof *grid);
    for (int t = 0; t < target->tokens; t++) {
        float *row = grid + (size_t)target->of_token[t] * columns;
        tokens[target->of_token[t]]++;
        for (int s = 0; s < source->tokens; s++)
            row[source->of_token[s]] += weights[(size_t)t * (size_t)source->tokens + (size_t)s];
    }
    for (int w = 0; w < target->count; w++)
        for (size_t s = 0; s < columns; s++)
            grid[(size_t)w * columns + s] /= (float)(tokens[w] ? tokens[w] : 1);
    free(tokens);
}
