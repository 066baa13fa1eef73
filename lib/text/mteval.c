/* mteval.c - the 13a tokenization of NIST's mteval-v13a.pl, as defined by sacreBLEU's
   tokenizer_13a.py and tokenizer_re.py (2.x). Four substitutions are applied one after the other to
   " text ":

       each of  { | } ~ [ \ ] ^ _ ` ! " # $ % & ( ) * + : ; < = > ? @ /    ->  " x "
       [^0-9][.,]  ->  "1 2 "       [.,][^0-9]  ->  " 1 2"       [0-9]-  ->  "1 2 "

   The last three match two adjacent bytes, left to right, and continue after the match. Each
   substitution is a stage of a pipeline that delays one byte. It is sufficient to process bytes,
   since the patterns are ASCII. */
#include "text/text.h"
#include <string.h>

static bool digit(int byte)
{
    return byte >= '0' && byte <= '9';
}
static bool not_digit(int byte)
{
    return !digit(byte);
}
static bool stop(int byte)
{
    return byte == '.' || byte == ',';
}
static bool dash(int byte)
{
    return byte == '-';
}

static bool mark(int byte)
{
    if (byte == '\'' || byte == ',' || byte == '-' || byte == '.') return false;
    return (byte >= '!' && byte <= '/') || (byte >= ':' && byte <= '@') ||
           (byte >= '[' && byte <= '`') || (byte >= '{' && byte <= '~');
}

enum { STAGES = 3 };
static const struct stage {
    bool (*first)(int byte), (*second)(int byte);
    const char *shape; /* 1 and 2 are the two bytes of the match */
} stages[STAGES] = {
    {not_digit, stop, "1 2 "},
    {stop, not_digit, " 1 2"},
    {digit, dash, "1 2 "},
};

struct pipeline {
    int held[STAGES]; /* the byte that each stage holds back, or -1 */
    char *out;
    size_t size;
};

/* NOLINTNEXTLINE(misc-no-recursion): at most STAGES deep. */
static void feed(struct pipeline *pipeline, int at, int byte)
{
    if (at == STAGES) { /* a run of spaces becomes one */
        if (byte != ' ' || (pipeline->size && pipeline->out[pipeline->size - 1] != ' '))
            pipeline->out[pipeline->size++] = (char)byte;
        return;
    }
    const struct stage *stage = &stages[at];
    int held = pipeline->held[at];
    if (held >= 0 && stage->first(held) && stage->second(byte)) {
        pipeline->held[at] = -1;
        for (const char *s = stage->shape; *s; s++)
            feed(pipeline, at + 1, *s == '1' ? held : *s == '2' ? byte : ' ');
        return;
    }
    pipeline->held[at] = byte;
    if (held >= 0) feed(pipeline, at + 1, held);
}

/* Replaces every `from` by the shorter `to`, left to right, in place. */
static size_t replace(char *text, size_t size, const char *from, const char *to)
{
    size_t length = strlen(from), put = 0;
    for (size_t at = 0; at < size;) {
        if (size - at >= length && memcmp(text + at, from, length) == 0) {
            for (const char *t = to; *t; t++) text[put++] = *t;
            at += length;
        } else {
            text[put++] = text[at++];
        }
    }
    return put;
}

static size_t without_trailing_space(const char *text, size_t size)
{
    size_t end = 0;
    for (size_t at = 0; at < size;)
        if (!rapt__utf8_space(rapt__utf8_next(text, size, &at))) end = at;
    return end;
}

size_t rapt__mteval(char *text, size_t size, char *out)
{
    static const char *const replaced[][2] = {{"<skipped>", ""}, {"-\n", ""},    {"\n", " "},
                                              {"&quot;", "\""},  {"&amp;", "&"}, {"&lt;", "<"},
                                              {"&gt;", ">"}};
    size = without_trailing_space(text, size);
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        size = replace(text, size, replaced[i][0], replaced[i][1]);

    struct pipeline pipeline = {.held = {-1, -1, -1}, .out = out};
    feed(&pipeline, 0, ' ');
    for (size_t i = 0; i < size; i++) {
        int byte = (unsigned char)text[i];
        bool apart = mark(byte);
        if (apart) feed(&pipeline, 0, ' ');
        feed(&pipeline, 0, byte);
        if (apart) feed(&pipeline, 0, ' ');
    }
    feed(&pipeline, 0, ' ');
    for (int at = 0; at < STAGES; at++)
        if (pipeline.held[at] >= 0) feed(&pipeline, at + 1, pipeline.held[at]);
    return pipeline.size;
}
