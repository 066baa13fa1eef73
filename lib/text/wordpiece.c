/* wordpiece.c - prepares text as BERT's tokenizer does: removes control characters, separates
   Chinese characters and punctuation, and in uncased models removes accents and converts text to
   lower case. The properties of characters come from utf8proc.

   The reference is the Rust library `tokenizers` of Hugging Face (0.23). It classifies punctuation
   and nonspacing marks by Unicode 8 of 2015, so characters that later versions added are
   neither. */
#include "text/list.h"

#ifdef RAPT_HAVE_UTF8PROC
#include <utf8proc.h>

struct code_run {
    uint32_t first, last;
};

static bool in_runs(const struct code_run *runs, size_t count, uint32_t c)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c > runs[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && c >= runs[low].first;
}
#define IN_RUNS(runs, c) in_runs(runs, sizeof(runs) / sizeof *(runs), c)

/* The nonspacing marks in these runs were not yet marks in Unicode 8. */
static const struct code_run later_marks[] = {
    {0x7FD, 0x7FD},     {0x898, 0x8E1},     {0x9FE, 0x9FE},     {0xAFA, 0xAFF},
    {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xD00, 0xD00},     {0xD3B, 0xD3C},
    {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},     {0x180F, 0x1886},
    {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFB},   {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},
    {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x11241},
    {0x1133B, 0x1133B}, {0x11438, 0x1145E}, {0x1182F, 0x13455}, {0x16F4F, 0x16F4F},
    {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF}, {0x1E944, 0x1E94A},
};
/* The punctuation in these runs was not yet punctuation in Unicode 8. */
static const struct code_run later_punctuation[] = {
    {0x61D, 0x61D},     {0x9FD, 0xA76},     {0xC77, 0xC84},     {0x1B7D, 0x1B7E},
    {0x2E43, 0x2E5D},   {0x10EAD, 0x10F89}, {0x1144B, 0x1145D}, {0x11660, 0x116B9},
    {0x1183B, 0x11FFF}, {0x12FF1, 0x12FF2}, {0x16E97, 0x16FE2}, {0x1E95E, 0x1E95F},
};
/* Format characters that were added after Unicode 8. */
static const struct code_run later_formats[] = {
    {0x890, 0x891}, {0x8E2, 0x8E2}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}};
/* The blocks of Chinese characters that BERT separates. U+2B820 to U+2B91F and later extensions are
   missing. */
static const struct code_run han[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                      {0x20000, 0x2A6DF}, {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF},
                                      {0x2F800, 0x2FA1F}};

static utf8proc_category_t category(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c);
}

/* Returns true if a character is removed: U+FFFD, bytes that are not UTF-8, control characters
   other than tabs and line ends, the format characters of Unicode 8, and private characters. */
static bool dropped(uint32_t c)
{
    switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
        return c != '\t' && c != '\n' && c != '\r';
    case UTF8PROC_CATEGORY_CF:
        return !IN_RUNS(later_formats, c);
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
    return c == 0x1734 || (category(c) == UTF8PROC_CATEGORY_MN && !IN_RUNS(later_marks, c));
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
        return !IN_RUNS(later_punctuation, c);
    return c == 0x166D || c == 0x111C9;
}

bool rapt__wordpiece_available(void)
{
    return true;
}

bool rapt__wordpiece_space(uint32_t c)
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

size_t rapt__wordpiece_prepare(const struct wordpiece *w, uint32_t c,
                               struct wordpiece_character to[WORDPIECE_GROWTH])
{
    utf8proc_int32_t parts[WORDPIECE_GROWTH] = {(utf8proc_int32_t)c};
    utf8proc_ssize_t count = 1;
    const bool chinese = !w->keep_han && IN_RUNS(han, c);
    int ignored = 0;
    size_t size = 0;
    if (dropped(c)) return 0;
    /* Canonical order is not restored, because it concerns almost only marks, which are removed. */
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

bool rapt__wordpiece_space(uint32_t c)
{
    return rapt__utf8_space(c);
}

size_t rapt__wordpiece_prepare(const struct wordpiece *w, uint32_t c,
                               struct wordpiece_character to[WORDPIECE_GROWTH])
{
    (void)w, (void)c, (void)to;
    return 0;
}
#endif
