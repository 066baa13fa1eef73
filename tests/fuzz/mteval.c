/* mteval.c - compares the tokenization of mteval-v13a with its substitutions applied one after the
   other to the whole text. The text consists of pieces that matter to the rules, chosen by the
   input. */
#include "fuzz.h"
#include "text/text.h"

enum { BYTES = 200, SPACE = 4 * BYTES };

static size_t take_text(struct feed *in, char *text)
{
    static const char *const pieces[] = {"<skipped>", "-\n",      "\n",  "&quot;",   "&amp;",
                                         "&lt;",      "&gt;",     "...", "1,000",    "3.14",
                                         ",.",        "a-b",      "1-2", "\xC2\xA0", "\xE3\x80\x80",
                                         " ",         "&amp;lt;", "-"};
    bool raw = take_byte(in) % 2;
    size_t size = 0;
    while (in->left && size + 12 < BYTES) {
        uint8_t byte = take_byte(in);
        if (raw || byte < 128) {
            text[size++] = (char)byte;
            continue;
        }
        const char *piece = pieces[byte % (sizeof pieces / sizeof *pieces)];
        memcpy(text + size, piece, strlen(piece));
        size += strlen(piece);
    }
    return size;
}

struct text {
    char bytes[SPACE];
    size_t size;
};

static void put(struct text *t, const char *bytes, size_t size)
{
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
}

static void replace(struct text *t, const char *from, const char *to)
{
    struct text out = {.size = 0};
    size_t length = strlen(from);
    for (size_t at = 0; at < t->size;) {
        bool here = t->size - at >= length && memcmp(t->bytes + at, from, length) == 0;
        put(&out, here ? to : t->bytes + at, here ? strlen(to) : 1);
        at += here ? length : 1;
    }
    *t = out;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool first_rule(char a, char b) /* [^0-9][.,] */
{
    return !is_digit(a) && (b == '.' || b == ',');
}

static bool second_rule(char a, char b) /* [.,][^0-9] */
{
    return (a == '.' || a == ',') && !is_digit(b);
}

static bool third_rule(char a, char b) /* [0-9]- */
{
    return is_digit(a) && b == '-';
}

/* Replaces every match of two bytes, left to right, by the shape, in which 1 and 2 stand for the
   bytes. */
static void substitute(struct text *t, bool (*rule)(char a, char b), const char *shape)
{
    struct text out = {.size = 0};
    for (size_t at = 0; at < t->size; at++) {
        bool here = at + 1 < t->size && rule(t->bytes[at], t->bytes[at + 1]);
        for (const char *s = shape; here && *s; s++)
            put(&out, *s == '1' ? t->bytes + at : *s == '2' ? t->bytes + at + 1 : " ", 1);
        if (!here) put(&out, t->bytes + at, 1);
        at += here;
    }
    *t = out;
}

static void set_marks_apart(struct text *t)
{
    struct text out = {.size = 0};
    put(&out, " ", 1);
    for (size_t at = 0; at < t->size; at++) {
        char c = t->bytes[at];
        bool apart = c && strchr("{|}~[\\]^_`!\"#$%&()*+:;<=>?@/", c);
        if (apart) put(&out, " ", 1);
        put(&out, t->bytes + at, 1);
        if (apart) put(&out, " ", 1);
    }
    put(&out, " ", 1);
    *t = out;
}

/* Deletes leading spaces and reduces runs of spaces to one, since only words are compared. */
static void squash(struct text *t)
{
    size_t put_at = 0;
    for (size_t at = 0; at < t->size; at++)
        if (t->bytes[at] != ' ' || (put_at && t->bytes[put_at - 1] != ' '))
            t->bytes[put_at++] = t->bytes[at];
    t->size = put_at;
}

static void by_rules(struct text *t)
{
    size_t end = 0;
    for (size_t at = 0; at < t->size;)
        if (!rapt__utf8_space(rapt__utf8_next(t->bytes, t->size, &at))) end = at;
    t->size = end;
    replace(t, "<skipped>", "");
    replace(t, "-\n", "");
    replace(t, "\n", " ");
    replace(t, "&quot;", "\"");
    replace(t, "&amp;", "&");
    replace(t, "&lt;", "<");
    replace(t, "&gt;", ">");
    set_marks_apart(t);
    substitute(t, first_rule, "1 2 ");
    substitute(t, second_rule, " 1 2");
    substitute(t, third_rule, "1 2 ");
    squash(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    static struct text wanted;
    wanted.size = take_text(&in, wanted.bytes);
    char *text = exact_copy(wanted.bytes, wanted.size), *out = malloc(2 * wanted.size + 2);
    require(out != NULL, "memory for the test itself");
    size_t limit = 2 * wanted.size + 2,
           length = rapt__bleu_tokens(RAPT_BLEU_TOKENS_13A, text, wanted.size, out);
    require(length <= limit, "at most two bytes for each, and two");
    by_rules(&wanted);
    require(length == wanted.size && memcmp(out, wanted.bytes, length) == 0, "the rules' words");
    free(out);
    free(text);
    return 0;
}
