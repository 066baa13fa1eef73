/* list_words.c - encodes text as names of a list with WordPiece (Schuster and Nakajima 2012; Devlin
   et al. 2019). A word becomes the longest name that it begins with, then the longest name "##..."
   that the rest begins with, and so on. A word that cannot be divided in this way, or that has more
   than 100 characters, becomes the unknown token. Special tokens that the text spells out, such as
   "[MASK]", are found first. Nothing is allocated. */
#include "text/list.h"

#include <string.h>

enum { WORD_MAX = 100 };

struct split_word {
    size_t count; /* number of characters; only the first WORD_MAX are stored */
    uint32_t code[WORD_MAX];
    size_t end[WORD_MAX]; /* offset in the text after the bytes that a character came from */
    size_t last;          /* end of the last character */
};

/* Finds the longest name at the beginning of characters [first, count), whose bytes begin at
   at[first]. Returns the index of the character after the name, or 0 if there is none. If `first`
   is above 0, the two bytes before at[first] are overwritten with "##". */
static size_t longest_name(const struct list *l, char *bytes, const size_t *at, size_t first,
                           size_t count, int32_t *id)
{
    size_t begin = at[first];
    if (first > 0) {
        begin -= 2;
        memcpy(bytes + begin, "##", 2);
    }
    for (size_t end = count; end > first; end--) {
        *id = rapt__list_find(l, (rapt_text){bytes + begin, at[end] - begin});
        if (*id >= 0) return end;
    }
    return 0;
}

/* Divides a word into names, with ids [WORD_MAX] and ends [WORD_MAX] in the text. Returns the
   number of names, or 0 if the word cannot be divided. */
static size_t divide(const struct list *l, const struct split_word *word, int32_t *ids,
                     size_t *ends)
{
    char bytes[2 + 4 * WORD_MAX];
    size_t at[WORD_MAX + 1] = {2}, names = 0;
    if (word->count > WORD_MAX) return 0;
    for (size_t i = 0; i < word->count; i++)
        at[i + 1] = at[i] + rapt__utf8_encode(word->code[i], bytes + at[i]);
    for (size_t first = 0, end; first < word->count; first = end) {
        end = longest_name(l, bytes, at, first, word->count, &ids[names]);
        if (end == 0) return 0;
        ends[names++] = word->end[end - 1];
    }
    return names;
}

/* Outputs the names of a word, and empties the word. */
static void put_word(const struct list *l, struct split_word *word, struct list_output *out)
{
    int32_t ids[WORD_MAX];
    size_t ends[WORD_MAX], names;
    if (word->count == 0) return;
    names = divide(l, word, ids, ends);
    for (size_t i = 0; i < names; i++) rapt__list_put(out, ids[i], ends[i]);
    if (names == 0) rapt__list_put(out, l->special[0], word->last);
    word->count = 0;
}

static void add_character(struct split_word *word, uint32_t code, size_t end)
{
    if (word->count < WORD_MAX) word->code[word->count] = code, word->end[word->count] = end;
    word->count++;
    word->last = end;
}

/* If the text spells out a special token at this offset, sets *id and returns the size of the
   token. Otherwise returns 0. */
static size_t spelled_at(const struct list *l, rapt_text text, size_t at, int32_t *id)
{
    enum { NAMES = 6 };
    static const char *const all[2][NAMES] = {{"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]", ""},
                                              {"[UNK]", "<s>", "<pad>", "</s>", "<unk>", "<mask>"}};
    const char *const *names = all[l->angled];
    if (text.bytes[at] != '[' && text.bytes[at] != '<') return 0;
    for (size_t i = 0; i < NAMES; i++) {
        const size_t size = strlen(names[i]);
        if (size == 0 || text.size - at < size || memcmp(text.bytes + at, names[i], size) != 0)
            continue;
        *id = rapt__list_find(l, (rapt_text){names[i], size});
        return *id < 0 ? 0 : size;
    }
    return 0;
}

/* Adds the prepared form of a character to the word, or outputs it as a separate word. */
static void take_character(const struct list *l, uint32_t c, size_t end, struct split_word *word,
                           struct list_output *out)
{
    struct wordpiece_character made[WORDPIECE_GROWTH];
    const size_t count = rapt__wordpiece_prepare(&l->wordpiece, c, made);
    for (size_t i = 0; i < count; i++) {
        if (made[i].apart) put_word(l, word, out);
        add_character(word, made[i].code, end);
        if (made[i].apart) put_word(l, word, out);
    }
}

void rapt__list_encode_words(const struct list *l, rapt_text text, struct list_output *out)
{
    struct split_word word = {.count = 0};
    for (size_t at = 0; at < text.size;) {
        int32_t id;
        const size_t spelled = spelled_at(l, text, at, &id);
        if (spelled) {
            put_word(l, &word, out);
            rapt__list_put(out, id, at += spelled);
            continue;
        }
        const uint32_t c = rapt__utf8_next(text.bytes, text.size, &at);
        if (rapt__wordpiece_space(c))
            put_word(l, &word, out);
        else
            take_character(l, c, at, &word, out);
    }
    put_word(l, &word, out);
}
