/* bleu_tokens.c - tokenizes text for BLEU as sacreBLEU 2.6 does. A tokenizer is a list of
   substitutions, which are applied one after the other:

       13a   as in NIST's mteval-v13a.pl, applied after the replacements of without_markup, with a
             space added at each end of the text:
             each of  { | } ~ [ \ ] ^ _ ` ! " # $ % & ( ) * + : ; < = > ? @ /    ->  " x "
             [^0-9][.,]  ->  "1 2 "       [.,][^0-9]  ->  " 1 2"       [0-9]-  ->  "1 2 "
       zh    each Chinese character  ->  " x ", then the substitutions of 13a, without the added
             spaces or the replacements of without_markup
       intl  as in mteval-v14.pl:
             \P{N}\p{P}  ->  "1 2 "       \p{P}\P{N}  ->  " 1 2"       \p{S}  ->  " x "
       char  each character  ->  " x "

   White space at the end of the text is removed first, and zh also removes it at the beginning. A
   substitution replaces one character or two adjacent characters. In the replacement, x stands for
   a single character, and 1 and 2 stand for the first and the second of two. Matches are found from
   left to right and do not overlap. Each substitution is a stage of a pipeline and holds back at
   most one character. */
#include "text/text.h"
#include <string.h>

#ifdef RAPT_HAVE_UTF8PROC
#include <utf8proc.h>
#endif

/* ---- kinds of characters ---- */

static bool digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}
static bool not_digit(uint32_t c)
{
    return !digit(c);
}
static bool stop(uint32_t c)
{
    return c == '.' || c == ',';
}
static bool dash(uint32_t c)
{
    return c == '-';
}

static bool mark(uint32_t c)
{
    if (c == '\'' || c == ',' || c == '-' || c == '.') return false;
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

/* Uses sacreBLEU's ranges, including a bug: in Python, "\u20000" is U+2000 followed by a zero, so
   U+2001..U+2A6D count as Chinese instead of U+20000..U+2A6D6. */
static bool chinese(uint32_t c)
{
    static const uint16_t ranges[][2] = {
        {0x2001, 0x2A6D}, {0x2E80, 0x2EFF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x303F},
        {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0x31C0, 0x31EF}, {0x3200, 0x33FF},
        {0x3400, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
        {0xFA70, 0xFAD9}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return false;
}

static bool any(uint32_t c)
{
    (void)c;
    return true;
}

#ifdef RAPT_HAVE_UTF8PROC
enum { KNOWS_UNICODE = 1 };

static bool within(uint32_t c, utf8proc_category_t first, utf8proc_category_t last)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= first && category <= last;
}

static bool number(uint32_t c)
{
    return within(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}
static bool punctuation(uint32_t c)
{
    return within(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}
static bool symbol(uint32_t c)
{
    return within(c, UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO);
}
#else
/* Without utf8proc, rapt__bleu_tokens_check rejects intl, the only tokenizer that calls these
   functions. */
enum { KNOWS_UNICODE = 0 };

static bool number(uint32_t c)
{
    return digit(c);
}
static bool punctuation(uint32_t c)
{
    return mark(c);
}
static bool symbol(uint32_t c)
{
    return mark(c);
}
#endif
static bool not_number(uint32_t c)
{
    return !number(c);
}

/* ---- substitutions ---- */

enum { STAGES = 5 };
static const struct tokenizer {
    bool padded; /* a space is added at each end of the text */
    int stages;
    struct stage {
        bool (*first)(uint32_t c), (*second)(uint32_t c); /* `second` is NULL for one character */
        const char *shape; /* replacement; 1 and 2 stand for the characters */
    } stage[STAGES];
} tokenizers[] = {
    [RAPT_BLEU_TOKENS_13A] = {true,
                              4,
                              {{mark, NULL, " 1 "},
                               {not_digit, stop, "1 2 "},
                               {stop, not_digit, " 1 2"},
                               {digit, dash, "1 2 "}}},
    [RAPT_BLEU_TOKENS_ZH] = {false,
                             5,
                             {{chinese, NULL, " 1 "},
                              {mark, NULL, " 1 "},
                              {not_digit, stop, "1 2 "},
                              {stop, not_digit, " 1 2"},
                              {digit, dash, "1 2 "}}},
    [RAPT_BLEU_TOKENS_INTL] = {false,
                               3,
                               {{not_number, punctuation, "1 2 "},
                                {punctuation, not_number, " 1 2"},
                                {symbol, NULL, " 1 "}}},
    [RAPT_BLEU_TOKENS_CHAR] = {false, 1, {{any, NULL, " 1 "}}},
};
enum { TOKENIZERS = sizeof tokenizers / sizeof *tokenizers };

rapt_status rapt__bleu_tokens_check(rapt_bleu_tokens tokens, rapt_message *why)
{
    if ((int)tokens < 0 || (int)tokens >= TOKENIZERS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "tokens is %d, not a rapt_bleu_tokens",
                          (int)tokens);
    if (tokens == RAPT_BLEU_TOKENS_INTL && !KNOWS_UNICODE)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "the tokenizer intl needs utf8proc, and rapt was built without it");
    return RAPT_OK;
}

struct pipeline {
    const struct tokenizer *tokenizer;
    bool holds[STAGES];    /* true if the stage holds back a character */
    uint32_t held[STAGES]; /* that character */
    char *out;
    size_t size;
};

/* Writes a character, unless it is a space that follows another space or begins the text. */
static void put(struct pipeline *pipeline, uint32_t c)
{
    char *to = pipeline->out + pipeline->size;
    if (c == ' ' && (pipeline->size == 0 || to[-1] == ' ')) return;
    if (c >= 0xDC80 && c <= 0xDCFF) { /* a byte that is not valid UTF-8 (rapt__utf8_next) */
        *to = (char)(unsigned char)(c - 0xDC00);
        pipeline->size++;
    } else {
        pipeline->size += rapt__utf8_encode(c, to);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): at most STAGES levels deep. */
static void feed(struct pipeline *pipeline, int at, uint32_t c)
{
    if (at == pipeline->tokenizer->stages) {
        put(pipeline, c);
        return;
    }
    const struct stage *stage = &pipeline->tokenizer->stage[at];
    bool pair = stage->second != NULL, holds = pipeline->holds[at];
    uint32_t held = pipeline->held[at];
    if (pair ? holds && stage->first(held) && stage->second(c) : stage->first(c)) {
        pipeline->holds[at] = false;
        for (const char *s = stage->shape; *s; s++)
            feed(pipeline, at + 1, *s == ' ' ? ' ' : *s == '1' && pair ? held : c);
        return;
    }
    if (!pair) {
        feed(pipeline, at + 1, c);
        return;
    }
    pipeline->holds[at] = true;
    pipeline->held[at] = c;
    if (holds) feed(pipeline, at + 1, held);
}

/* ---- the whole text ---- */

/* Replaces every `from` with `to`, which must not be longer, from left to right and in place.
   Returns the new size. */
static size_t replace(char *text, size_t size, const char *from, const char *to)
{
    size_t length = strlen(from), put_at = 0;
    for (size_t at = 0; at < size;) {
        if (size - at >= length && memcmp(text + at, from, length) == 0) {
            for (const char *t = to; *t; t++) text[put_at++] = *t;
            at += length;
        } else {
            text[put_at++] = text[at++];
        }
    }
    return put_at;
}

/* Makes the replacements that mteval-v13a.pl makes before it tokenizes the text. Returns the new
   size. */
static size_t without_markup(char *text, size_t size)
{
    static const char *const replaced[][2] = {{"<skipped>", ""}, {"-\n", ""},    {"\n", " "},
                                              {"&quot;", "\""},  {"&amp;", "&"}, {"&lt;", "<"},
                                              {"&gt;", ">"}};
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        size = replace(text, size, replaced[i][0], replaced[i][1]);
    return size;
}

/* Returns the end of the last character that is not white space, and sets *begin to the beginning
   of the first one. */
static size_t trimmed(const char *text, size_t size, size_t *begin)
{
    size_t end = 0;
    *begin = size;
    for (size_t at = 0, next = 0; at < size; at = next) {
        if (rapt__utf8_space(rapt__utf8_next(text, size, &next))) continue;
        if (*begin == size) *begin = at;
        end = next;
    }
    return end;
}

size_t rapt__bleu_tokens(rapt_bleu_tokens tokens, char *text, size_t size, char *out)
{
    struct pipeline pipeline = {.tokenizer = &tokenizers[tokens], .out = out};
    int stages = pipeline.tokenizer->stages;
    bool padded = pipeline.tokenizer->padded;
    size_t at, end = trimmed(text, size, &at);
    if (tokens != RAPT_BLEU_TOKENS_ZH) at = 0; /* only zh ignores leading white space */
    if (tokens == RAPT_BLEU_TOKENS_13A) end = without_markup(text, end);
    if (padded) feed(&pipeline, 0, ' ');
    while (at < end) feed(&pipeline, 0, rapt__utf8_next(text, end, &at));
    if (padded) feed(&pipeline, 0, ' ');
    for (int s = 0; s < stages; s++)
        if (pipeline.holds[s]) feed(&pipeline, s + 1, pipeline.held[s]);
    return pipeline.size;
}
