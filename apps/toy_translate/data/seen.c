/* seen.c - the source words that a model was trained on: collects the words of sentences, turns
   them into a sorted list with one word per line for the model's file, and looks up words in such a
   list. Numbers and punctuation are not words, and punctuation at the ends of a word is ignored.
   Since the list is text, NUL separates words like a space. */
#include "data.h"
#include "kit/hash.h"
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

static bool is_letter(unsigned char c)
{
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the word from its first to its last letter, or an empty text. */
static rapt_text letters_of(rapt_text word)
{
    size_t from = 0, to = word.size;
    while (from < to && !is_letter((unsigned char)word.bytes[from])) from++;
    while (to > from && !is_letter((unsigned char)word.bytes[to - 1])) to--;
    return (rapt_text){word.bytes + from, to - from};
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
    size_t size = write_text(seen, tokenizer, ids, count);
    for (size_t at = 0, end; at < size; at = end + 1) {
        for (end = at; end < size && seen->text[end] != ' ' && seen->text[end] != 0;) end++;
        rapt_text word = letters_of((rapt_text){seen->text + at, end - at});
        if (word.size > 0) add_word(seen, word);
    }
}

void seen_add_list(struct seen *seen, const char *list)
{
    if (list == NULL) seen->bytes = LIST_BYTES;
    while (seen->bytes < LIST_BYTES && *list != 0) {
        size_t size = strcspn(list, "\n");
        add_word(seen, (rapt_text){list, size});
        list += size + 1;
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

/* word must not contain NUL. */
static bool list_has(const char *list, rapt_text word)
{
    size_t low = 0, high = strlen(list); /* offsets at which lines begin */
    word = letters_of(word);
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
    return word.size == 0;
}

bool seen_has(const char *list, rapt_text word)
{
    bool all = true;
    for (size_t at = 0, end; all && at < word.size; at = end + 1) {
        for (end = at; end < word.size && word.bytes[end] != 0;) end++;
        all = list_has(list, (rapt_text){word.bytes + at, end - at});
    }
    return all;
}
