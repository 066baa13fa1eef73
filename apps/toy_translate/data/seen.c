/* seen.c - the source words that a model was trained on: collects the words of sentences, turns
   them into a sorted list with one word per line for the model's file, and looks up words in such a
   list. Numbers and punctuation are not words, and digits and punctuation at the ends of a word are
   ignored. In scripts without spaces every character is a word. NUL separates words like a space,
   since the list is a string. */
#include "data.h"
#include "kit/random.h"
#include "kit/text.h"
#include <stdlib.h>
#include <string.h>

enum { LIST_BYTES = 1 << 20 }; /* longer lists are not kept */

/* Returns the slot of the word, or the free slot where it belongs. */
static size_t word_slot(const struct seen *set, rapt_text word)
{
    uint64_t hash = hash_bytes(HASH_EMPTY, word.bytes, word.size);
    size_t slot = (size_t)(hash ^ hash >> 32) & (set->capacity - 1);
    while (set->slots[slot] != NULL && (strlen(set->slots[slot]) != word.size ||
                                        memcmp(set->slots[slot], word.bytes, word.size) != 0))
        slot = (slot + 1) & (set->capacity - 1);
    return slot;
}

static void grow_set(struct seen *set)
{
    struct seen larger = {.capacity = set->capacity > 0 ? 2 * set->capacity : 1024};
    larger.slots = xcalloc(larger.capacity, sizeof *larger.slots);
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i] != NULL)
            larger.slots[word_slot(&larger, (rapt_text){set->slots[i], strlen(set->slots[i])})] =
                set->slots[i];
    free(set->slots);
    set->slots = larger.slots;
    set->capacity = larger.capacity;
}

static void add_word(struct seen *set, rapt_text word)
{
    if (2 * set->count >= set->capacity) grow_set(set);
    size_t slot = word_slot(set, word);
    if (set->slots[slot] != NULL) return;
    set->slots[slot] = xasprintf("%.*s", (int)word.size, word.bytes);
    set->count++;
    set->bytes += word.size + 1;
}

static bool is_letter(uint32_t c)
{
    return script_of(c) == SCRIPT_SPACED && c > ' ' && !(c >= '0' && c <= '9');
}

bool word_next(rapt_text text, size_t *at, rapt_text *word)
{
    size_t first = text.size, end = text.size;
    while (*at < text.size) {
        size_t here = *at;
        uint32_t c = unicode_next(text, at);
        enum script script = script_of(c);
        bool inside = first < text.size, alone = script == SCRIPT_HAN || script == SCRIPT_UNSPACED;
        if (inside && (alone || c == ' ' || c == 0)) {
            *at = here;
            break;
        }
        if (!inside && (alone || is_letter(c))) first = here;
        if (alone || is_letter(c)) end = *at;
        if (alone) break;
    }
    *word = (rapt_text){text.bytes + first, end - first};
    return first < text.size;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the words of the set as text, and empties the set. */
static char *word_list(struct seen *set)
{
    char *text = xcalloc(set->bytes + 1, 1), *at = text;
    char **words = xcalloc(set->count, sizeof *words);
    size_t count = 0;
    for (size_t i = 0; i < set->capacity; i++)
        if (set->slots[i] != NULL) words[count++] = set->slots[i];
    if (count > 0) qsort(words, count, sizeof *words, by_bytes);
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(words[i]);
        memcpy(at, words[i], size);
        at[size] = '\n';
        at += size + 1;
        free(words[i]);
    }
    free(words);
    if (set->capacity > 0) memset(set->slots, 0, set->capacity * sizeof *set->slots);
    set->count = set->bytes = 0;
    return text;
}

/* Writes the text of tokens to seen->text and returns its size. */
static size_t write_text(struct seen *seen, const rapt_tokenizer *tokenizer, const int32_t *ids,
                         int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        rapt_text token = rapt_tokenizer_token(tokenizer, ids[i]);
        if (seen->text_capacity < size + token.size)
            seen->text = xreallocarray(
                seen->text, seen->text_capacity = 2 * seen->text_capacity + token.size + 256, 1);
        if (token.size > 0) memcpy(seen->text + size, token.bytes, token.size);
        size += token.size;
    }
    return size;
}

void seen_add(struct seen *seen, const rapt_tokenizer *tokenizer, const int32_t *ids, int count)
{
    if (seen->bytes >= LIST_BYTES) return;
    rapt_text word, text = {NULL, write_text(seen, tokenizer, ids, count)};
    text.bytes = seen->text;
    for (size_t at = 0; word_next(text, &at, &word);) add_word(seen, word);
}

void seen_add_list(struct seen *seen, const char *list)
{
    if (list == NULL) seen->bytes = LIST_BYTES;
    while (seen->bytes < LIST_BYTES && *list != 0) {
        rapt_text word, line = {list, strcspn(list, "\n")};
        for (size_t at = 0; word_next(line, &at, &word);) add_word(seen, word);
        list += line.size + 1;
    }
}

char *seen_list(struct seen *seen)
{
    size_t bytes = seen->bytes;
    char *list = word_list(seen);
    if (bytes < LIST_BYTES) return list;
    free(list);
    return NULL;
}

void seen_free(struct seen *seen)
{
    for (size_t i = 0; i < seen->capacity; i++) free(seen->slots[i]);
    free(seen->slots);
    free(seen->text);
    *seen = (struct seen){0};
}

/* Compares the word with a line of the list, like strcmp. */
static int compare_word(rapt_text word, const char *line, size_t size)
{
    int order = memcmp(word.bytes, line, word.size < size ? word.size : size);
    return order != 0 ? order : (word.size > size) - (word.size < size);
}

static bool list_has(const char *list, rapt_text word)
{
    size_t low = 0, high = strlen(list); /* offsets at which lines begin */
    while (low < high) {
        size_t at = low + (high - low) / 2;
        while (at > low && list[at - 1] != '\n') at--;
        size_t size = strcspn(list + at, "\n");
        int order = compare_word(word, list + at, size);
        if (order == 0) return true;
        if (order < 0)
            high = at;
        else
            low = at + size + (list[at + size] == '\n');
    }
    return false;
}

bool seen_has(const char *list, rapt_text text)
{
    bool all = true;
    rapt_text word;
    for (size_t at = 0; all && word_next(text, &at, &word);) all = list_has(list, word);
    return all;
}

char *seen_update(const char *list)
{
    struct seen seen = {0};
    bool same = true;
    rapt_text word;
    for (const char *line = list; same && *line; line += strcspn(line, "\n") + 1) {
        size_t at = 0, size = strcspn(line, "\n");
        same = word_next((rapt_text){line, size}, &at, &word) && word.size == size;
    }
    if (same) return NULL;
    seen_add_list(&seen, list);
    char *updated = seen_list(&seen);
    seen_free(&seen);
    return updated;
}
