/* breaks.c - finds the places in a block of text where sentences may end. By our own rules, a
   sentence may end after a terminator that is followed by white space, with or without closing
   punctuation in between (some terminators need no space), and after the characters U+0085, U+2028
   and U+2029, which end lines or paragraphs. ICU finds more ends by the rules in UAX #29 (Unicode),
   which cover the terminators of more scripts. By itself, ICU finds no end after the ellipsis
   U+2026 or after a full stop that is followed by a number and then a lower-case letter. */
#include "document/document.h"

#ifdef RAPT_HAVE_ICU
#include <unicode/ubrk.h>
#include <unicode/utext.h>

/* Converts an ICU error code to a status. */
static rapt_status icu_status(UErrorCode code, rapt_message *why)
{
    if (U_SUCCESS(code)) return RAPT_OK;
    if (code == U_MEMORY_ALLOCATION_ERROR)
        return rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to find sentences");
    return rapt__fail(why, RAPT_BAD_FILE, "ICU cannot find sentences: %s; is its data installed?",
                      u_errorName(code));
}

rapt_status rapt__breaks_open(struct breaks *breaks, bool rules, rapt_message *why)
{
    UErrorCode code = U_ZERO_ERROR;
    *breaks = (struct breaks){.rules = rules};
    if (rules) return RAPT_OK;
    breaks->sentences = ubrk_open(UBRK_SENTENCE, "en", NULL, 0, &code);
    return icu_status(code, why);
}

void rapt__breaks_close(struct breaks *breaks)
{
    if (breaks->sentences) ubrk_close(breaks->sentences);
    if (breaks->lines) ubrk_close(breaks->lines);
    if (breaks->text) utext_close(breaks->text);
    *breaks = (struct breaks){.rules = true};
}

static void read_text(struct breaks *breaks, UBreakIterator *iterator, rapt_text text,
                      UErrorCode *code)
{
    breaks->text = utext_openUTF8(breaks->text, text.bytes, (int64_t)text.size, code);
    ubrk_setUText(iterator, breaks->text, code);
}

rapt_status rapt__breaks_set(struct breaks *breaks, rapt_text block, rapt_message *why)
{
    UErrorCode code = U_ZERO_ERROR;
    breaks->block = block;
    breaks->rule = 0;
    if (!breaks->rules) read_text(breaks, breaks->sentences, block, &code);
    return icu_status(code, why);
}

static size_t icu_next(struct breaks *breaks, size_t from)
{
    int32_t at = ubrk_following(breaks->sentences, (int32_t)from);
    return at == UBRK_DONE ? breaks->block.size : (size_t)at;
}

size_t rapt__breaks_line(struct breaks *breaks, rapt_text text, size_t limit)
{
    enum { AHEAD = 256 }; /* bytes after the limit that may affect where lines can be broken */
    UErrorCode code = U_ZERO_ERROR;
    if (breaks->rules || limit == 0) return 0;
    text.size = limit + rapt__min_size(text.size - limit, AHEAD);
    if (!breaks->lines) breaks->lines = ubrk_open(UBRK_LINE, "en", NULL, 0, &code);
    if (U_SUCCESS(code)) read_text(breaks, breaks->lines, text, &code);
    int32_t at = U_SUCCESS(code) ? ubrk_preceding(breaks->lines, (int32_t)limit + 1) : 0;
    return at > 0 ? (size_t)at : 0;
}
#else
rapt_status rapt__breaks_open(struct breaks *breaks, bool rules, rapt_message *why)
{
    (void)rules, (void)why;
    *breaks = (struct breaks){.rules = true};
    return RAPT_OK;
}

void rapt__breaks_close(struct breaks *breaks)
{
    (void)breaks;
}

rapt_status rapt__breaks_set(struct breaks *breaks, rapt_text block, rapt_message *why)
{
    (void)why;
    breaks->block = block;
    breaks->rule = 0;
    return RAPT_OK;
}

static size_t icu_next(struct breaks *breaks, size_t from)
{
    (void)from;
    return breaks->block.size;
}

size_t rapt__breaks_line(struct breaks *breaks, rapt_text text, size_t limit)
{
    (void)breaks, (void)text, (void)limit;
    return 0;
}
#endif

static bool is_paragraph_end(uint32_t c)
{
    return c == 0x85 || c == 0x2028 || c == 0x2029;
}

/* Returns the end of the run of characters at `at` for which `is` returns true. */
static size_t skip(rapt_text text, size_t at, bool (*is)(uint32_t))
{
    for (size_t next = at; at < text.size; at = next)
        if (!is(rapt__utf8_next(text.bytes, text.size, &next))) break;
    return at;
}

/* Returns true if the character at `at` is in a script without spaces. */
static bool unspaced_follows(rapt_text text, size_t at)
{
    return at < text.size && rapt__is_unspaced(rapt__utf8_next(text.bytes, text.size, &at));
}

/* Returns the end of the closing punctuation at `at`. Some quotation marks, such as U+201C, open
   quotations in one language and close them in another. Directly after its counterpart (U+201D),
   such a mark counts as opening. */
static size_t skip_closers(rapt_text text, size_t at)
{
    uint32_t before = 0;
    for (size_t next = at; at < text.size; at = next) {
        const uint32_t c = rapt__utf8_next(text.bytes, text.size, &next);
        const bool opens = (c == 0x201C && before == 0x201D) || (c == 0x2018 && before == 0x2019) ||
                           (c == 0xAB && before == 0xBB);
        if (opens || !rapt__is_closer(c)) break;
        before = c;
    }
    return at;
}

static size_t rules_next(rapt_text text, size_t from)
{
    for (size_t at = from; at < text.size;) {
        uint32_t c = rapt__utf8_next(text.bytes, text.size, &at);
        if (is_paragraph_end(c)) return at;
        if (!rapt__is_terminator(c)) continue;
        at = skip(text, at, rapt__is_terminator);
        size_t closed = skip_closers(text, at);
        size_t begin = skip(text, closed, rapt__utf8_space);
        if (begin > closed || begin == text.size) return begin;
        if (rapt__is_full_terminator(c) && (c != 0xFF0E || unspaced_follows(text, begin)))
            return begin;
    }
    return text.size;
}

size_t rapt__breaks_next(struct breaks *breaks, size_t from)
{
    if (from >= breaks->rule) breaks->rule = rules_next(breaks->block, from);
    return breaks->rules ? breaks->rule : rapt__min_size(breaks->rule, icu_next(breaks, from));
}
