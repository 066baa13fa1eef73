/* unseen.c - reports words that training has not seen, and text that the tokenizer cannot read. */
#include "commands.h"
#include <stdlib.h>
#include <string.h>

/* ---- words that training has not seen, by the list in the model's file ----
   For our own models without a list, they are guessed: a word is probably new if it contains the
   vocabulary's unknown token, or is split into three or more pieces of fewer than two letters on
   average. For models of other projects, nothing is guessed, since their vocabularies also split
   words that they have seen. */

enum { NAMED = 12 }; /* words to name; the others are counted */

static bool is_letter(unsigned char c)
{
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Counts letters. A character of several bytes counts once. */
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

static void add_unseen(struct unseen *unseen, rapt_text word)
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

/* Returns true if the text is in a script without spaces, in which words cannot be told apart. */
static bool has_unspaced(rapt_text text)
{
    bool found = false;
    for (size_t at = 0; at < text.size && !found;) {
        enum script script = script_of(unicode_next(text, &at));
        found = script == SCRIPT_HAN || script == SCRIPT_UNSPACED;
    }
    return found;
}

/* Guesses which words have not been seen. */
static void guess_unseen(const rapt_tokenizer *tokenizer, const int32_t *ids, int count,
                         const struct words *words, bool *unseen)
{
    const int32_t unknown = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_UNKNOWN);
    int *pieces = xcalloc((size_t)words->count, sizeof *pieces);
    for (int t = 0; t < count; t++) {
        pieces[words->of_token[t]] += has_letter(rapt_tokenizer_token(tokenizer, ids[t]));
        if (unknown >= 0 && ids[t] == unknown) unseen[words->of_token[t]] = true;
    }
    for (int w = 0; w < words->count; w++) {
        unseen[w] |= pieces[w] > 2 && letters_of(words->texts[w]) < 2 * pieces[w];
        unseen[w] &= !has_unspaced(words->texts[w]);
    }
    free(pieces);
}

void unseen_open(struct unseen *unseen, const rapt_translator *translator)
{
    const char *list = rapt_model_metadata(rapt_translator_model(translator), WORDS_KEY);
    *unseen = (struct unseen){.translator = translator, .list = list};
    unseen->updated = list != NULL ? seen_update(list) : NULL;
    if (unseen->updated != NULL) unseen->list = unseen->updated;
}

bool *unseen_find(const struct unseen *unseen, const int32_t *ids, int count, struct words *words)
{
    const rapt_model *model = rapt_translator_model(unseen->translator);
    const rapt_tokenizer *tokenizer = rapt_translator_source(unseen->translator);
    words_make(words, tokenizer, ids, count);
    bool *found = xcalloc((size_t)words->count, sizeof *found);
    if (unseen->list != NULL)
        for (int w = 0; w < words->count; w++) found[w] = !seen_has(unseen->list, words->texts[w]);
    else if (rapt_model_metadata(model, "rapt.origin") == NULL)
        guess_unseen(tokenizer, ids, count, words, found);
    found[words->count - 1] = false; /* the end token */
    return found;
}

/* Finds the next word of the text that is not in the list. Without a list, finds the next word. */
static bool next_unseen(const struct unseen *unseen, rapt_text text, size_t *at, rapt_text *word)
{
    while (word_next(text, at, word))
        if (unseen->list == NULL || !seen_has(unseen->list, *word)) return true;
    return false;
}

json_t *unseen_json(const struct unseen *unseen, const struct words *words, const bool *found)
{
    json_t *list = json_array();
    rapt_text word;
    for (int w = 0; unseen->list != NULL && w < words->count; w++)
        for (size_t at = 0; found[w] && next_unseen(unseen, words->texts[w], &at, &word);) {
            char *text = printable(word);
            put_item(list, json_string(text));
            free(text);
        }
    return list;
}

void unseen_add(struct unseen *unseen, const int32_t *ids, int count)
{
    struct words words;
    rapt_text word;
    bool *found = unseen_find(unseen, ids, count, &words);
    for (int w = 0; w < words.count; w++)
        for (size_t at = 0; found[w] && next_unseen(unseen, words.texts[w], &at, &word);)
            add_unseen(unseen, word);
    free(found);
    words_free(&words);
}

static void forget_words(struct unseen *unseen)
{
    for (size_t i = 0; i < unseen->count; i++) free(unseen->words[i]);
    free(unseen->words);
    unseen->words = NULL;
    unseen->count = unseen->more = 0;
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
    const char *how = unseen->list != NULL ? "" : "probably ";
    if (unseen->more > 0)
        print_message("%snever seen in training: %s, and %zu more", how, list, unseen->more);
    else
        print_message("%snever seen in training: %s", how, list);
    free(list);
    forget_words(unseen);
}

void unseen_free(struct unseen *unseen)
{
    forget_words(unseen);
    free(unseen->updated);
    *unseen = (struct unseen){0};
}

/* ---- raw text that is given to a model without a tokenizer, such as a folder of CTranslate2 ----
   Most of its words are not in the vocabulary, and results are arbitrary. */

void raw_add(struct raw *raw, const rapt_tokenizer *tokenizer, const int32_t *ids, int count)
{
    const int32_t unknown = rapt_tokenizer_special(tokenizer, RAPT_TOKEN_UNKNOWN);
    if (rapt_tokenizer_file(tokenizer).size > 0) return; /* SentencePiece splits the text */
    raw->tokens += (size_t)count;
    for (int i = 0; i < count; i++) raw->unknown += ids[i] == unknown;
}

static bool contains(rapt_text text, const char *mark)
{
    size_t size = strlen(mark);
    for (size_t i = 0; i + size <= text.size; i++)
        if (memcmp(text.bytes + i, mark, size) == 0) return true;
    return false;
}

/* Returns whether more than a tenth of the vocabulary's names contain the mark. */
static bool is_marked(const rapt_tokenizer *tokenizer, const char *mark)
{
    int vocab = rapt_tokenizer_vocab(tokenizer), marked = 0;
    for (int32_t id = 0; id < vocab; id++)
        marked += contains(rapt_tokenizer_name(tokenizer, id), mark);
    return 10 * marked > vocab;
}

/* Returns true if the tokenizer splits text into words itself, as those of Argos Translate with
   bpe.model do: the text of a token then lacks a mark that is part of its name ("gar@@"). */
static bool splits_words(const rapt_tokenizer *tokenizer)
{
    for (int32_t id = 0; id < rapt_tokenizer_vocab(tokenizer); id++) {
        const rapt_text text = rapt_tokenizer_token(tokenizer, id);
        if (text.size > 0 && text.size < rapt_tokenizer_name(tokenizer, id).size) return true;
    }
    return false;
}

void raw_report(struct raw *raw, const rapt_tokenizer *tokenizer, const char *model,
                const char *consequence)
{
    static const struct {
        const char *mark, *advice;
    } kinds[] = {
        {"\xE2\x96\x81",
         ", such as \"\xE2\x96\x81The \xE2\x96\x81house\", which spm_encode gives; or "
         "copy its SentencePiece models into the folder, as source.spm and target.spm"},
        {"@@", ", such as \"gar@@ den\", which subword-nmt gives with the model's codes"},
        {"\xEF\xBF\xAD", ", such as \"garden \xEF\xBF\xAD.\", which OpenNMT's tokenizer gives"},
    };
    if (raw->reported || 2 * raw->unknown <= raw->tokens || splits_words(tokenizer)) return;
    const char *advice = "";
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !*advice; k++)
        if (is_marked(tokenizer, kinds[k].mark)) advice = kinds[k].advice;
    print_message("%s: %zu of %zu tokens are not in its vocabulary, so %s. The model has no "
                  "tokenizer: give tokens separated by spaces%s",
                  model, raw->unknown, raw->tokens, consequence, advice);
    raw->reported = true;
}
