/* unseen.c - words that training has not seen, by the list in the model's file. Models without one:
   words that have probably not been seen, since they contain the vocabulary's unknown token or are
   spelled in three or more pieces of fewer than two letters. */
#include "toy.h"
#include <stdlib.h>
#include <string.h>

enum { NAMED = 12 }; /* as many are named, the others counted */

static bool is_letter(unsigned char c)
{
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Letters of a text; bytes of one character count once. */
static int letters_of(rapt_text text)
{
    int letters = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        letters += is_letter(c) && (c & 0xC0) != 0x80;
    }
    return letters;
}

static bool has_letter(rapt_text text)
{
    bool found = false;
    for (size_t i = 0; i < text.size; i++) found = found || is_letter((unsigned char)text.bytes[i]);
    return found;
}

static void add(struct unseen *unseen, rapt_text word)
{
    char *text = printable(word);
    for (size_t i = 0; i < unseen->count; i++)
        if (strcmp(unseen->words[i], text) == 0) {
            free(text);
            return;
        }
    if (unseen->count == NAMED) {
        unseen->more++;
        free(text);
        return;
    }
    unseen->words = xreallocarray(unseen->words, unseen->count + 1, sizeof *unseen->words);
    unseen->words[unseen->count++] = text;
}

void unseen_add(struct unseen *unseen, const rapt_translator *translator, const int32_t *ids,
                int count)
{
    const char *list = rapt_model_metadata(rapt_translator_model(translator), WORDS_KEY);
    const rapt_tokenizer *tokenizer = rapt_translator_source(translator);
    struct words words;
    const int32_t unknown = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_UNKNOWN);
    words_make(&words, tokenizer, ids, count);
    int *pieces = xcalloc((size_t)words.count, sizeof *pieces);
    bool *is_unknown = xcalloc((size_t)words.count, sizeof *is_unknown);
    for (int t = 0; t < count; t++) {
        pieces[words.of_token[t]] += has_letter(rapt_tokenizer_token(tokenizer, ids[t]));
        if (unknown >= 0 && ids[t] == unknown) is_unknown[words.of_token[t]] = true;
    }
    for (int w = 0; w + 1 < words.count; w++)
        if (list != NULL
                ? !seen_has(list, words.texts[w])
                : is_unknown[w] || (pieces[w] > 2 && letters_of(words.texts[w]) < 2 * pieces[w]))
            add(unseen, words.texts[w]);
    unseen->known = list != NULL;
    free(pieces);
    free(is_unknown);
    words_free(&words);
}

void unseen_report(struct unseen *unseen)
{
    if (unseen->count == 0) return;
    char *list = xasprintf("%s", unseen->words[0]);
    for (size_t i = 1; i < unseen->count; i++) {
        char *more = xasprintf("%s, %s", list, unseen->words[i]);
        free(list);
        list = more;
    }
    const char *how = unseen->known ? "" : "spelled in pieces, probably ";
    if (unseen->more > 0)
        print_message("%snever seen in training: %s, and %zu more", how, list, unseen->more);
    else
        print_message("%snever seen in training: %s", how, list);
    free(list);
    unseen_free(unseen);
}

void unseen_free(struct unseen *unseen)
{
    for (size_t i = 0; i < unseen->count; i++) free(unseen->words[i]);
    free(unseen->words);
    *unseen = (struct unseen){0};
}
