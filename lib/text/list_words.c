/* list_words.c - encodes text as names of a list, using WordPiece (Schuster and Nakajima 2012;
   Devlin et al. 2019). Special tokens that the text spells out, such as "[MASK]", are found first.
   No memory is allocated.

   Text is prepared as in BERT's tokenizer: control characters are removed, and punctuation becomes
   separate words. Depending on the options, Chinese characters also become separate words, accents
   are removed, and text is converted to lower case. The properties of characters come from
   utf8proc. The reference is Hugging Face's Rust library `tokenizers` (0.23). It classifies
   punctuation, nonspacing marks and format characters according to Unicode 8 (2015), so characters
   that were added in later versions belong to none of these classes.

   A word becomes the longest name that it begins with, then the longest name "##..." that the rest
   begins with, and so on. A word that cannot be split in this way, or that has more than 100
   characters, becomes the unknown token. */
#include "text/list.h"

#include <string.h>

/* ---- preparation of characters ---- */

/* A character of prepared text. */
struct wordpiece_character {
    uint32_t code;
    bool apart; /* true if the character is a separate word: punctuation or Chinese */
};
/* Maximum number of characters that come from one character of the original text. */
enum { WORDPIECE_GROWTH = 4 };

#ifdef RAPT_HAVE_UTF8PROC
#include <utf8proc.h>

#define IN_RANGES(ranges, c) rapt__in_ranges(ranges, sizeof(ranges) / sizeof *(ranges), c)

/* The nonspacing marks in these ranges were not yet marks in Unicode 8. */
static const struct character_range later_marks[] = {
    {0x7FD, 0x7FD},     {0x898, 0x8E1},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},
    {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xD00, 0xD00},     {0xD3B, 0xD3C},
    {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x180F, 0x1886},
    {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFB},   {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},
    {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x11241},
    {0x1133B, 0x1133B}, {0x11438, 0x1145E}, {0x1182F, 0x13455}, {0x16F4F, 0x16F4F},
    {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF}, {0x1E944, 0x1E94A},
};
/* The punctuation in these ranges was not yet punctuation in Unicode 8. */
static const struct character_range later_punctuation[] = {
    {0x61D, 0x61D},     {0x9FD, 0xA76},     {0xC77, 0xC84},     {0x1B7D, 0x1B7E},
    {0x2E43, 0x2E5D},   {0x10EAD, 0x10F89}, {0x1144B, 0x1145D}, {0x11660, 0x116B9},
    {0x1183B, 0x11FFF}, {0x12FF1, 0x12FF2}, {0x16E97, 0x16FE2}, {0x1E95E, 0x1E95F},
};
/* Format characters that were added after Unicode 8. */
static const struct character_range later_formats[] = {
    {0x890, 0x891}, {0x8E2, 0x8E2}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}};
/* The Chinese characters that the reference separates. It omits U+2B820 to U+2B91F and the later
   extensions, and so does this table. */
static const struct character_range han[] = {
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},  {0x20000, 0x2A6DF},
    {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};

static utf8proc_category_t category(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c);
}

/* Returns true if a character is removed: U+FFFD, bytes that are not UTF-8, control characters
   other than tab, line feed and carriage return, the format characters of Unicode 8, and
   private-use characters. */
static bool dropped(uint32_t c)
{
    switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
        return c != '\t' && c != '\n' && c != '\r';
    case UTF8PROC_CATEGORY_CF:
        return !IN_RANGES(later_formats, c);
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
        return true; /* CS: a byte that is not UTF-8 */
    default:
        return c == 0xFFFD;
    }
}

/* Returns true for the nonspacing marks of Unicode 8. U+1734 became a spacing mark later. */
static bool is_mark(uint32_t c)
{
    return c == 0x1734 || (category(c) == UTF8PROC_CATEGORY_MN && !IN_RANGES(later_marks, c));
}

/* Returns true for ASCII symbols and for the punctuation of Unicode 8. U+166D and U+111C9 ceased to
   be punctuation later. */
static bool is_punctuation(uint32_t c)
{
    if (c < 0x80)
        return (c > ' ' && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') ||
               (c > 'z' && c < 0x7F);
    const utf8proc_category_t is = category(c);
    if (is >= UTF8PROC_CATEGORY_PC && is <= UTF8PROC_CATEGORY_PO)
        return !IN_RANGES(later_punctuation, c);
    return c == 0x166D || c == 0x111C9;
}

bool rapt__wordpiece_available(void)
{
    return true;
}

/* Returns true if a character separates words. */
static bool is_separator(uint32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r') return true;
    return rapt__utf8_space(c) && category(c) != UTF8PROC_CATEGORY_CC;
}

/* Writes a character in lower case, unless the options preserve case. Returns the number of
   characters written. */
static size_t put_lower(const struct wordpiece *w, uint32_t c, struct wordpiece_character *to)
{
    uint32_t low[2] = {c};
    size_t count = w->keep_case ? 1 : rapt__lower_character(c, low);
    for (size_t i = 0; i < count; i++) to[i].code = low[i];
    return count;
}

/* Prepares a character of the original text. Drops the characters for which `dropped` returns true.
   Removes accents and converts to lower case, unless the options in w preserve accents or case.
   Returns the number of resulting characters. */
static size_t prepare(const struct wordpiece *w, uint32_t c,
                      struct wordpiece_character to[WORDPIECE_GROWTH])
{
    utf8proc_int32_t parts[WORDPIECE_GROWTH] = {(utf8proc_int32_t)c};
    utf8proc_ssize_t count = 1;
    const bool chinese = !w->keep_han && IN_RANGES(han, c);
    int ignored = 0;
    size_t size = 0;
    if (dropped(c)) return 0;
    /* Canonical order is not restored, because it affects almost nothing but marks, which are
       removed. */
    if (!w->keep_accents)
        count = utf8proc_decompose_char((utf8proc_int32_t)c, parts, WORDPIECE_GROWTH,
                                        UTF8PROC_DECOMPOSE, &ignored);
    for (utf8proc_ssize_t i = 0; i < count && i < WORDPIECE_GROWTH; i++)
        if (w->keep_accents || !is_mark((uint32_t)parts[i]))
            size += put_lower(w, (uint32_t)parts[i], to + size);
    for (size_t i = 0; i < size; i++) to[i].apart = chinese || is_punctuation(to[i].code);
    return size;
}
#else
bool rapt__wordpiece_available(void)
{
    return false;
}

static bool is_separator(uint32_t c)
{
    return rapt__utf8_space(c);
}

static size_t prepare(const struct wordpiece *w, uint32_t c,
                      struct wordpiece_character to[WORDPIECE_GROWTH])
{
    (void)w, (void)c, (void)to;
    return 0;
}
#endif

/* ---- splitting words into names ---- */

enum { WORD_MAX = 100 };

struct split_word {
    size_t count; /* number of characters; only the first WORD_MAX are stored */
    uint32_t code[WORD_MAX];
    size_t end[WORD_MAX]; /* offset in the text after the bytes that a character came from */
    size_t last;          /* end of the last character */
};

/* Finds the longest name that characters [first, count) begin with. Character i begins at offset
   at[i] in `bytes`. Returns the index of the character after the name, or 0 if there is no such
   name. If `first` is above 0, the two bytes before at[first] are overwritten with "##". */
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

/* Splits a word into names. Sets ids [WORD_MAX], and sets ends [WORD_MAX] to the offsets in the
   text at which the names end. Returns the number of names, or 0 if the word cannot be split. */
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
    const size_t count = prepare(&l->wordpiece, c, made);
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
        if (is_separator(c))
            put_word(l, &word, out);
        else
            take_character(l, c, at, &word, out);
    }
    put_word(l, &word, out);
}
