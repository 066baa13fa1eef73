/* language.c - converts phrases of a small language to tokens and back. */
#include "recurrent.h"
#include <string.h>

/* Returns the token of a word, or count if the vocabulary does not contain it. */
static int token_of(const struct vocabulary *vocabulary, const char *word, size_t size)
{
    int token = RAPT_TOKEN_SPECIALS;
    while (token < vocabulary->count && (strlen(vocabulary->words[token]) != size ||
                                         memcmp(vocabulary->words[token], word, size) != 0))
        token++;
    return token;
}

void vocabulary_add(struct vocabulary *vocabulary, const char *phrase)
{
    while (*phrase) {
        size_t size = strcspn(phrase, " ");
        if (token_of(vocabulary, phrase, size) == vocabulary->count)
            snprintf(vocabulary->words[vocabulary->count++], MAX_WORD, "%.*s", (int)size, phrase);
        phrase += size + (phrase[size] == ' ');
    }
}

void words_append(const struct vocabulary *vocabulary, struct words *words, const char *phrase)
{
    while (*phrase) {
        size_t size = strcspn(phrase, " ");
        words->tokens[words->count++] = token_of(vocabulary, phrase, size);
        phrase += size + (phrase[size] == ' ');
    }
}

void words_spell(const struct vocabulary *vocabulary, const int *tokens, int count, char *text,
                 size_t size)
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? " " : "",
                               vocabulary->words[tokens[i]]);
}
