/* markup.c - laws for random documents with markup, whose words change their order: the tags that
   come out are those of the document, each is closed in the right order, and without tags the
   result is the translation of the document without tags. */
#include "../counting.h"
#include "document_help.h"

enum { DOCUMENTS = 2000, BYTES = 1 << 14, DEPTH = 4 };

/* A document that is being made, with and without the tags within sentences. */
struct made {
    char full[BYTES], bare[BYTES];
    size_t full_size, bare_size;
    int tags; /* within sentences, so far; each has its number */
};

static void add(char *bytes, size_t *size, const char *text)
{
    assert_true(*size + strlen(text) < BYTES);
    strcpy(bytes + *size, text);
    *size += strlen(text);
}

static void add_tag(struct made *m, const char *text)
{
    add(m->full, &m->full_size, text);
}

static void add_text(struct made *m, const char *text)
{
    add(m->full, &m->full_size, text);
    add(m->bare, &m->bare_size, text);
}

/* ---- formats ---- */

/* How a format spells what the documents consist of. */
struct dialect {
    rapt_document_format format;
    const char *begin, *end; /* of the document */
    const char *paragraph_begin, *paragraph_end;
    const char *names;  /* of elements; each is one letter */
    const char *quote;  /* around the values of attributes */
    bool empty;         /* a tag that stands by itself ends in /> */
    bool references;    /* &amp; is text */
    const char *source; /* how a line begins that is kept and has its translation elsewhere */
};

static const struct dialect dialects[] = {
    {RAPT_DOCUMENT_FORMAT_HTML, "<!DOCTYPE html>\n<title>t</title>\n", "", "<p>", "</p>\n",
     "abiusq", "\"", false, true, NULL},
    {RAPT_DOCUMENT_FORMAT_PO, "# text\nmsgid \"\"\nmsgstr \"\"\n\"Language: de\"\n\n", "",
     "msgid \"", "\"\nmsgstr \"\"\n\n", "abiusq", "", false, false, "msgid "},
    {RAPT_DOCUMENT_FORMAT_XLIFF, "<?xml version=\"1.0\"?>\n<xliff>\n", "</xliff>\n", "<source>",
     "</source>\n", "gpmqrs", "\"", true, true, "<source>"},
    {RAPT_DOCUMENT_FORMAT_MARKDOWN, "# t\n\n", "", "", "\n\n", "abiusq", "\"", false, true, NULL},
    {RAPT_DOCUMENT_FORMAT_SRT, "", "", "1\n00:00:01,000 --> 00:00:02,000\n", "\n\n", "abius", "'",
     false, false, NULL},
};

/* ---- random documents ---- */

static const char *const words[] = {"one",   "two", "three", "four.",    "five!", "six,", "(seven)",
                                    "eight", "9",   "ten?",  "\xC3\xA9", "&amp;", "it's"};

/* Adds elements, words and tags by themselves. */
static void add_words(struct made *m, const struct dialect *d, uint64_t *random, int depth)
{
    for (int i = (int)(draw(random) % 6); i >= 0; i--) {
        char tag[40];
        const char name = d->names[draw(random) % strlen(d->names)];
        const uint64_t kind = draw(random) % 8;
        if (kind == 0) {
            snprintf(tag, sizeof tag, "<%s id=%s%d%s%s>", d->empty ? "x" : "img", d->quote,
                     m->tags++, d->quote, d->empty ? "/" : "");
            add_tag(m, tag);
        } else if (kind < 4 && depth < DEPTH) {
            snprintf(tag, sizeof tag, "<%c id=%s%d%s>", name, d->quote, m->tags++, d->quote);
            add_tag(m, tag);
            add_words(m, d, random, depth + 1);
            snprintf(tag, sizeof tag, "</%c>", name);
            add_tag(m, tag);
        } else {
            const char *word = words[draw(random) % COUNT(words)];
            add_text(m, *word == '&' && !d->references ? "eleven" : word);
            if (draw(random) % 8) add_text(m, " "); /* or the next tag splits a word */
        }
    }
}

static void make_document(struct made *m, const struct dialect *d, uint64_t *random)
{
    *m = (struct made){.tags = 0};
    add_text(m, d->begin);
    for (int i = 0; i < 4; i++) {
        add_text(m, d->paragraph_begin);
        add_text(m, "zero "); /* a message without a letter would not be translated */
        add_words(m, d, random, 0);
        add_text(m, d->paragraph_end);
    }
    add_text(m, d->end);
}

/* ---- the laws ---- */

/* Returns the size of the tag at text[0] that is one of those within sentences, or 0. */
static size_t inline_tag(const struct dialect *d, const char *text)
{
    const size_t slash = text[0] == '<' && text[1] == '/';
    const char name = text[0] == '<' ? text[1 + slash] : 0;
    const bool element = name && strchr(d->names, name) && (text[2 + slash] == ' ' || slash) &&
                         text[2 + slash] != 0 && strchr(" >", text[2 + slash]);
    const bool single = strncmp(text, "<img id", 7) == 0 || strncmp(text, "<x id", 5) == 0;
    return element || single ? strcspn(text, ">") + 1 : 0;
}

/* Checks the tags of a text: each element is closed, by its name, within those around it, and each
   number occurs once. */
static void check_tags(const struct dialect *d, const char *text, int tags)
{
    char open[BYTES];
    int depth = 0, seen = 0;
    char *found = calloc((size_t)tags + 1, 1);
    assert_non_null(found);
    for (size_t size; *text; text += size) {
        if ((size = inline_tag(d, text)) == 0) {
            size = 1;
        } else if (text[1] == '/') {
            assert_true(depth > 0 && open[--depth] == text[2]);
        } else {
            const int number = atoi(strchr(text, '=') + 1 + strlen(d->quote));
            assert_true(number < tags && !found[number]);
            found[number] = 1, seen++;
            if (strchr(d->names, text[1]) && text[2] == ' ') open[depth++] = text[1];
        }
    }
    assert_int_equal(depth, 0);
    assert_int_equal(seen, tags);
    free(found);
}

/* Removes lines whose translation is elsewhere. */
static void drop_sources(const struct dialect *d, char *text)
{
    char *out = text;
    while (*text) {
        const size_t size = strcspn(text, "\n") + (strchr(text, '\n') != NULL);
        const bool dropped = d->source && strncmp(text, d->source, strlen(d->source)) == 0;
        if (!dropped) memmove(out, text, size), out += size;
        text += size;
    }
    *out = 0;
}

/* Writes one space for several, and none at the edges of a paragraph. There may be one on each side
   of a tag. */
static void join_spaces(char *text)
{
    char *out = text, before = '\n';
    for (; *text; text++) {
        const bool drop = *text == ' ' && (strchr(" >\n\"", before) || strchr(" <\n\"", text[1]));
        if (!drop) before = *out++ = *text;
    }
    *out = 0;
}

/* Removes the tags within sentences. */
static void strip(const struct dialect *d, char *text)
{
    char *out = text;
    for (size_t size; *text;) {
        size = inline_tag(d, text);
        if (size == 0) *out++ = *text++;
        text += size;
    }
    *out = 0;
}

static void check_laws(const struct dialect *d)
{
    static const enum order orders[] = {IN_ORDER, REVERSED, SHUFFLED};
    struct made *m = calloc(1, sizeof *m);
    uint64_t random = 0x9E3779B97F4A7C15u;
    int tags = 0;
    assert_non_null(m);
    for (int i = 0; i < DOCUMENTS; i++) {
        const struct reordering how = {orders[i % 3], i % 4 == 3};
        make_document(m, d, &random);
        struct record full = reorder_document(d->format, how, (rapt_text){m->full, m->full_size});
        struct record bare = reorder_document(d->format, how, (rapt_text){m->bare, m->bare_size});
        drop_sources(d, full.text);
        drop_sources(d, bare.text);
        check_tags(d, full.text, m->tags);
        strip(d, full.text);
        join_spaces(full.text);
        join_spaces(bare.text);
        assert_string_equal(full.text, bare.text);
        tags += m->tags;
        free(full.text);
        free(bare.text);
    }
    assert_true(tags > 10 * DOCUMENTS); /* the documents are worth a test */
    free(m);
}

static void test_laws(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(dialects); i++) check_laws(&dialects[i]);
}

/* ---- failing allocations ---- */

static void test_memory(void **state)
{
    (void)state;
    for (int f = 0; f < COUNT(dialects); f++) {
        struct reordering how = {REVERSED, false};
        const rapt_document_options options = {.size = sizeof options,
                                               .format = dialects[f].format};
        const rapt_document_engine engine = {
            .size = sizeof engine, .translate = reorder_sentences, .user = &how};
        rapt_status status = RAPT_NO_MEMORY;
        char text[500];
        const int size = snprintf(text, sizeof text,
                                  "%s%sOne <b>two <i>three</i></b>. Four %%s <code>five</code> six "
                                  "&amp; <u>seven</u>%s%s",
                                  dialects[f].begin, dialects[f].paragraph_begin,
                                  dialects[f].paragraph_end, dialects[f].end);
        int n = 0;
        for (; status == RAPT_NO_MEMORY; n++) {
            struct counting counting = {.fails = n};
            const rapt_allocator allocator = counting_allocator(&counting);
            struct record r = {.document = {text, (size_t)size}, .text = calloc(1, 1)};
            rapt_message why = {""};
            status = rapt_document_translate_with(&engine, r.document, &options, record_piece, &r,
                                                  &allocator, &why);
            assert_true(counting.living == 0 && (status == RAPT_OK) == (why.text[0] == 0));
            free(r.text);
        }
        assert_true(status == RAPT_OK && n > 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
